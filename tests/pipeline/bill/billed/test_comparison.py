"""`analyze` with the provider's own bill: shares, and notes and nulls where nothing is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet
import pytest

from canonical_flows import write_flows
from cost_reports import REGIONAL, line, written
from rackwise.adapters import files
from rackwise.core.errors import InvalidBilled
from rackwise.report import html, terminal
from small_fleets import GIB, cluster, parsed, price

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

US = cluster({1: "use1-az1", 2: "use1-az2", 3: "use1-az3"}, size=GIB)
EU = cluster({1: "a", 2: "b", 3: "c"}, cluster_id="eu", size=GIB)
START = datetime(2026, 11, 1, tzinfo=UTC)


def flows(name="demo", *, racks=("use1-az1", "use1-az2"), gib=31, hours=24, day=0):
    """Reads of `orders` across two racks, one row per hour, and as many bytes inside one."""
    first = START + timedelta(days=day)
    return [
        {
            "window_start": first + timedelta(hours=hour),
            "window_s": 3600,
            "cluster": name,
            "kind": "fetch",
            "topic": "orders",
            "broker_id": 1,
            "broker_rack": racks[0],
            "client_rack": to,
            "bytes": gib * GIB // hours + (gib * GIB % hours if hour == 0 else 0),
        }
        for hour in range(hours)
        for to in racks
    ]


def analyzed(spark, folder, rows, bill, clusters=None, **more):
    from rackwise.pipeline.fleet.snapshots import read_snapshots
    from rackwise.pipeline.job import analyze
    from rackwise.pipeline.request import AnalyzeRequest

    read, _ = read_snapshots(*parsed(clusters or {"demo.json": US}))
    paths = (write_flows(folder / f"flows-{len([*folder.iterdir()])}", rows),) if rows else ()
    request = AnalyzeRequest(
        version="0.1.0",
        snapshots=read,
        tables=str(folder / "tables"),
        prices=(price(),),
        flow_format="canonical",
        flows=paths,
        billed=(str(bill),),
    )
    return analyze(spark, replace(request, **more))


BILL = [
    line(amount="60", cost="0.6"),
    line(amount="40", cost="0.4", **{"lineItem/UsageStartDate": "2026-11-01T23:00:00Z"}),
    line(f"EU-{REGIONAL}", "5", "0.05"),
    line("USE1-BoxUsage:m5.large", "24", "2.304"),
    line(cost="-0.5", amount="0", **{"lineItem/LineItemType": "Credit"}),
    line(amount="9", cost="0.09", day="2026-10-31"),
]


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("billed")
    return analyzed(spark, folder, flows(), written(folder / "bill", BILL, "csv.gz"))


def rows_of(made):
    return {(row["day"], row["region"]): row for row in made.summary["billed"]["rows"]}


def test_kafka_explains_its_part_of_the_bill(made):
    part = made.summary["billed"]
    assert (part["days"], part["billed_bytes"], part["billed_usd"]) == (1, 100 * GIB, "1.000000000")
    assert (part["kafka_bytes"], part["kafka_usd"]) == (62 * GIB, "0.620000000")
    assert (part["share"], part["share_high"], part["reason"]) == (0.62, 0.62, None)
    assert (part["files"], part["from"], part["to"]) == (1, "2026-10-31", "2026-11-01")
    assert {row["lines"] for row in part["left_out"]} == {1}
    notes = "\n".join(made.summary["notes"])
    assert "lines of type Credit are not usage" in notes
    assert "no traffic of these days is known" in notes


def test_a_region_without_a_cluster_is_not_known(made):
    row = rows_of(made)["2026-11-01", "eu-west-1"]
    assert (row["billed_bytes"], row["kafka_bytes"], row["share"]) == (5 * GIB, None, None)
    assert row["reason"].startswith("no cluster is in this region: ")


def test_the_tables_have_the_same_rows(made):
    stored = pyarrow.parquet.read_table(f"{made.tables}/gold/billed").to_pylist()
    names, listed = made.csv["billed"]
    assert names == tuple(stored[0])
    assert [row["share"] for row in stored] == [None, 0.62]
    assert stored[1]["billed_usd"] == Decimal(1)
    assert len([*listed]) == len(stored)
    assert "csv/billed.csv" in made.summary["csv"]
    files.csv_data(*made.csv["billed"])


def test_the_report_and_the_terminal_say_the_share(made):
    said = "Kafka explains 62.0 % of the transfer between zones that AWS billed: $0.62 of $1.00"
    assert said in html.render(made.summary)
    assert said in " ".join(terminal.render(made.summary, width=200, color=False).split())


@pytest.mark.long
def test_equal_bills_have_equal_runs(spark, made, tmp_path):
    again = analyzed(spark, tmp_path, flows(), written(tmp_path / "bill", BILL, "csv"))
    assert again.summary["run_id"] != made.summary["run_id"]
    assert again.summary["billed"] == made.summary["billed"]


@pytest.mark.long
def test_without_a_bill_there_is_no_part(spark, tmp_path):
    found = analyzed(spark, tmp_path, flows(), "", billed=())
    assert found.summary["billed"] is None
    assert "billed" not in found.csv
    assert not Path(found.tables, "gold/billed").exists()


@pytest.mark.long
def test_racks_that_name_no_zone_need_a_region(spark, tmp_path):
    bill = written(tmp_path / "bill", [line(f"EUC1-{REGIONAL}", "100", "1")], "csv")
    rows = flows("eu", racks=("a", "b"))
    clusters = {"eu.json": EU}
    part = analyzed(spark, tmp_path, rows, bill, clusters).summary["billed"]
    assert part["share"] is None
    assert "--billed-region" in part["reason"]
    given = {"billed_region": "eu-central-1"}
    part = analyzed(spark, tmp_path, rows, bill, clusters, **given).summary["billed"]
    assert part["share"] == 0.62


@pytest.mark.long
def test_an_unknown_rack_makes_a_range(spark, tmp_path):
    bill = written(tmp_path / "bill", BILL[:2], "parquet")
    rows = flows()
    rows.append(rows[0] | {"client_rack": None, "bytes": 4 * GIB, "client_address": None})
    part = analyzed(spark, tmp_path, rows, bill).summary["billed"]
    assert (part["share"], part["share_high"]) == (0.62, 0.7)
    assert "the rack of one end is not known" in part["reason"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("rows", "bill", "more", "reason"),
    [
        (flows(), [line(day="2025-01-01")], {}, "the bill has no transfer between zones in this"),
        (flows(), [], {}, "the bill has no usage of type DataTransfer-Regional-Bytes"),
        (flows(hours=8), BILL[:2], {}, "the traffic of cluster demo covers 8.0 of 24 hours"),
        ([], BILL[:2], {}, "no traffic of these days is known"),
        (flows(), BILL[:2], {"provider": "gcp", "prices": (price(provider="gcp"),)}, "priced as"),
    ],
)
def test_what_cannot_be_compared_has_a_reason(spark, tmp_path, rows, bill, more, reason):
    found = analyzed(spark, tmp_path, rows, written(tmp_path / "bill", bill, "csv"), **more)
    part = found.summary["billed"]
    assert (part["days"], part["share"], part["kafka_bytes"]) == (0, None, None)
    assert reason in part["reason"]
    assert any("--billed: nothing is compared: " in note for note in found.summary["notes"])
    assert "is not known: " in html.render(found.summary)


@pytest.mark.long
def test_more_than_the_bill_is_a_finding(spark, tmp_path):
    bill = written(tmp_path / "bill", [line(amount="31", cost="0.31")], "csv")
    found = analyzed(spark, tmp_path, flows(), bill)
    assert found.summary["billed"]["share"] == 2.0
    assert found.summary["billed"]["finding"] in terminal.render(
        found.summary, width=1000, color=False
    )


@pytest.mark.long
def test_days_of_earlier_runs_are_compared_as_well(spark, tmp_path):
    bill = written(
        tmp_path / "bill",
        [*BILL[:2], line(amount="124", cost="1.24", day="2026-11-02")],
        "csv",
    )
    first = analyzed(spark, tmp_path, flows(), bill)
    second = analyzed(spark, tmp_path, flows(day=1), bill, standing=first.days)
    part = second.summary["billed"]
    assert {day: row["share"] for (day, _), row in rows_of(second).items()} == {
        "2026-11-01": 0.62,
        "2026-11-02": 0.5,
    }
    assert (part["days"], part["kafka_bytes"]) == (2, 124 * GIB)


@pytest.mark.long
def test_traffic_from_rates_is_not_compared(spark, tmp_path):
    from rackwise.core.traffic import RateRow

    rates = (RateRow(cluster="demo", topic="orders", bytes_in_per_s=10**6),)
    bill = written(tmp_path / "bill", BILL[:2], "csv")
    found = analyzed(spark, tmp_path, [], bill, rates=rates, first_day=date(2026, 11, 1))
    part = found.summary["billed"]
    assert part["share"] is None
    assert "modelled from rates" in part["reason"]


def test_a_wrong_bill_publishes_nothing(spark, tmp_path):
    bill = written(tmp_path / "bill", [line(amount="x")], "csv")
    with pytest.raises(InvalidBilled, match="expected a number"):
        analyzed(spark, tmp_path, flows(), bill)
    assert not (tmp_path / "tables").exists()
