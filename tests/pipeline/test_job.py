"""The whole job, from snapshots, flows and rates to tables and a summary."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow.compute as pc
import pytest

from canonical_flows import demo_flows, flow, write_flows
from rackwise.core.errors import (
    BytesLost,
    InvalidFlows,
    InvalidPrices,
    InvalidSnapshot,
    OutputNotShared,
    QuarantineExceeded,
)
from rackwise.core.model import Broker
from rackwise.core.racks import Rack
from rackwise.core.savings.potential import KEYS
from rackwise.core.traffic import RateRow
from rackwise.pipeline.bill.savings import TOO_SHORT
from rackwise.report import terminal
from small_fleets import CENT, DEMO_READERS, GIB, cluster, parsed, price
from spark_sessions import ON_CONNECT

pytestmark = pytest.mark.spark
TWO_CENTS = price(nano_usd_per_gb_out=2 * CENT, nano_usd_per_gb_in=0)
LEVELS = ("region", "zone")
CODES = ("broker", "topic", "partition", "member", "rack", "cluster", "client", "snapshot")
"""Silver tables with the names of the codes in facts."""


DEMO = cluster(groups=[DEMO_READERS], size=GIB)


def request(tables, clusters=None, **more):
    from rackwise.pipeline.fleet.snapshots import read_snapshots
    from rackwise.pipeline.request import AnalyzeRequest

    read, failed = read_snapshots(*parsed(clusters or {"demo.json": DEMO}))
    given = {
        "version": "0.1.0",
        "snapshots": read,
        "failed": failed,
        "tables": str(tables),
        "prices": (TWO_CENTS, price(provider="other")),
        "levels": LEVELS,
        "flow_format": "canonical",
    }
    return AnalyzeRequest(**given | more)


def analyzed(spark, tables, **more):
    from rackwise.pipeline.job import analyze

    return analyze(spark, request(tables, **more))


def table(spark, made, name):
    return spark.read.parquet(f"{made.tables}/{name}")


def by(summary, roll_up, key):
    return {row[key]: row for row in summary[roll_up]}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def steps():
    return []


@pytest.fixture(scope="module")
def made(spark, home, steps):
    path = write_flows(home / "flows", demo_flows())
    return analyzed(
        spark,
        home / "tables",
        flows=[path],
        keep=("bronze", "facts"),
        progress=lambda number, of, name: steps.append(f"{number}/{of} {name}"),
    )


class TestDemo:
    @pytest.mark.connect
    def test_the_bill(self, made):
        summary = made.summary
        assert summary["verdict"] == {
            "partitions": 3,
            "partitions_unsafe": 0,
            "findings": summary["rows"]["findings"],
            "bytes_total": 27 * GIB,
            "bytes_local": 6 * GIB,
            "bytes_cross": 21 * GIB,
            "bytes_unknown": 0,
            "usd": "0.420000000",
            "usd_high": "0.420000000",
            "usd_30d": "12.600000000",
            "usd_high_30d": "12.600000000",
            "reason": None,
            "reason_30d": None,
        }
        assert summary["unattributed"]["bytes"] == 0
        assert summary["unattributed"]["usd"] == "0.000000000"
        assert summary["unattributed"]["causes"] == []
        kinds = {
            kind: (row["bytes_cross"] // GIB, row["usd"])
            for kind, row in by(summary, "by_kind", "kind").items()
        }
        assert kinds == {
            "replicate": (9, "0.180000000"),
            "produce": (6, "0.120000000"),
            "fetch": (6, "0.120000000"),
        }
        groups = by(summary, "by_group", "client_group")
        assert groups["readers"]["usd"] == "0.120000000"
        assert summary["observed"] == {
            "from": "2026-11-01T00:00:00Z",
            "to": "2026-11-02T00:00:00Z",
            "seconds": 86_400,
        }

    @pytest.mark.connect
    def test_sums_of_every_table_are_those_of_the_flows(self, spark, made):
        from pyspark.sql import functions as F  # noqa: N812

        from rackwise.pipeline import schemas

        gold = table(spark, made, "gold/cross_rack")
        assert gold.agg(F.sum("bytes"), F.sum("usd")).collect()[0] == (
            27 * GIB,
            Decimal("0.420000000"),
        )
        assert table(spark, made, "silver/flow_sum").agg(F.sum("bytes")).collect()[0][0] == 27 * GIB
        facts = table(spark, made, "silver/flow_fact")
        assert facts.agg(F.sum("bytes")).collect()[0][0] == 27 * GIB
        for name in CODES:
            assert table(spark, made, f"silver/{name}").schema == getattr(schemas, name.upper())
        named = facts.join(table(spark, made, "silver/broker").drop("cluster"), "broker").join(
            table(spark, made, "silver/rack"), "rack"
        )
        produced = named.where("kind = 0").groupBy("broker_id", "path").agg(F.sum("bytes"))
        assert sorted(map(tuple, produced.collect())) == [
            (1, "/eu/a", 3 * GIB),
            (2, "/eu/b", 3 * GIB),
            (3, "/eu/c", 3 * GIB),
        ]
        for name in (
            "by_topic",
            "by_group",
            "by_owner",
            "by_pair",
            "by_level",
            "by_day",
            "by_kind",
        ):
            rows = made.summary[name]
            whole = sum(row["bytes_local"] + row["bytes_cross"] for row in rows)
            assert whole == 27 * GIB, name
            assert sum(Decimal(row["usd"]) for row in rows) == Decimal("0.42"), name
            assert table(spark, made, f"gold/{name}").count() == len(rows)

    def test_the_matrix_of_each_level(self, made):
        cells = {
            (cell["level_name"], cell["from_rack"], cell["to_rack"]): cell
            for cell in made.summary["matrix"]
        }
        assert cells["region", "/eu", "/eu"]["bytes"] == 27 * GIB
        assert cells["region", "/eu", "/eu"]["usd"] == "0.000000000"
        assert cells["zone", "/eu/a", "/eu/b"]["usd"] == "0.180000000"
        for level in LEVELS:
            assert sum(c["bytes"] for key, c in cells.items() if key[0] == level) == 27 * GIB

    @pytest.mark.connect
    def test_the_savings_of_each_change(self, spark, made):
        part = made.summary["savings"]
        steps = [
            (step["saving"], step["eps"], step["usd_low"], step["usd_high"])
            for step in part["steps"]
            if step["view"] == "waterfall"
        ]
        assert steps == [
            ("follower-fetch", None, "0.060000000", "0.060000000"),
            ("assignment", None, "0.060000000", "0.060000000"),
            ("producing", "0.1", None, "0.006000000"),
            ("leader-moves", None, "0.000000000", "0.000000000"),
        ]
        assert part["total"] == {
            "bytes_low": 6 * GIB,
            "bytes_high": 6 * GIB + 3 * GIB // 10,
            "bytes_saved": None,
            "usd_low": "0.120000000",
            "usd_high": "0.126000000",
            "usd_saved": None,
            "usd_low_30d": "3.600000000",
            "usd_high_30d": "3.780000000",
            "usd_saved_30d": None,
            "reason": KEYS,
        }
        columns, rows = made.csv["savings"]
        listed = [dict(zip(columns, row, strict=True)) for row in rows]
        assert table(spark, made, "gold/savings").count() == len(listed)
        assert {row["quality"] for row in listed} == {"estimated"}

    @pytest.mark.connect
    def test_blast_radius_and_findings(self, made):
        losses = {row["rack"]: row for row in made.summary["blast"]}
        assert losses["/eu"]["partitions_offline"] == 3
        assert losses["/eu/a"]["usd_to_restore"] == "0.040000000"
        assert losses["/eu/a"]["member_share_lost"] == 1 / 3
        assert made.summary["findings"]["by_rule"]
        reasons = {row["rule"] for row in made.summary["findings"]["not_checked"]}
        assert "replica-balance" in reasons

    def test_the_summary_names_its_inputs(self, made):
        method = made.summary["method"]
        assert method["outcomes"] == [{"reason": "kept", "rows": 9, "bytes": 27 * GIB}]
        assert (method["rows_in"], method["bytes_in"]) == (9, 27 * GIB)
        assert [(row["rows"], row["quarantined"]) for row in method["files"]] == [(9, 0)]
        assert [row["row"] for row in method["prices"]] == [TWO_CENTS.row]
        assert {(row["kind"], row["source"]) for row in method["precedence"]} == {
            *(("produce", "otlp"), ("fetch", "otlp"), ("replicate", "otlp"))
        }
        assert set(method["versions"]) == {"rackwise", "spark", "java", "python"}
        assert made.summary["quality"]["bytes_measured"] == 27 * GIB
        assert made.summary["clusters"] == [
            {
                "name": "demo",
                "cluster_id": "demo",
                "taken_at": "2026-11-01T00:00:00Z",
                "snapshots": 1,
                "brokers": 3,
                "racks": 3,
                "topics": 1,
                "partitions": 3,
                "partitions_unsafe": 0,
                "bytes_cross": 21 * GIB,
                "bytes_cross_unattributed": 0,
                "usd": "0.420000000",
                "usd_high": "0.420000000",
            }
        ]

    def test_rows_of_the_csv_files(self, made):
        columns, rows = made.csv["by_topic"]
        assert columns[:2] == ("cluster", "topic")
        assert [row[:5] for row in rows] == [["demo", "orders", 6 * GIB, 21 * GIB, 0]]
        assert made.summary["csv"] == [f"csv/{name}.csv" for name in made.csv]
        _, found = made.csv["findings"]
        assert len(list(found)) == made.summary["rows"]["findings"]

    def test_steps_are_reported_in_order(self, made, steps):
        assert made
        assert [step.partition(" ")[2] for step in steps] == [
            *("snapshots", "bronze: flow files", "silver: flow facts", "gold: traffic"),
            *("gold: dollars", "gold: roll-ups and savings"),
            *("gold: findings", "gold: blast radius"),
        ]
        assert steps[0] == "1/11 snapshots"

    def test_bronze_is_kept_on_request(self, spark, made):
        from rackwise.pipeline.schemas import BRONZE_INPUT

        kept = table(spark, made, "bronze/flow")
        assert (kept.count(), kept.columns) == (9, BRONZE_INPUT.names)

    def test_the_same_input_gives_the_same_run(self, spark, made, home):
        from pyspark.testing import assertDataFrameEqual

        path = home / "flows" / "flows.parquet"
        again = analyzed(spark, home / "tables", flows=[str(path)], keep=("bronze", "facts"))
        assert again.summary == made.summary
        assert again.tables == f"{made.tables}-2"
        for name in (
            "gold/cross_rack",
            "silver/flow_sum",
            "silver/flow_fact",
            "gold/by_pair",
            "gold/finding",
        ):
            assertDataFrameEqual(
                table(spark, again, name), table(spark, made, name), rtol=0, atol=0
            )

    @pytest.mark.long
    def test_the_division_of_flows_into_files_changes_nothing(self, spark, made, home):
        rows = list(demo_flows())
        write_flows(home / "cut", rows[5:][::-1], "a.parquet")
        write_flows(home / "cut", rows[:5], "b.parquet")
        cut = analyzed(spark, home / "other", flows=[str(home / "cut")], keep=("bronze",))
        for name in ("verdict", "matrix", "by_topic", "by_pair", "by_kind", "by_group", "quality"):
            assert cut.summary[name] == made.summary[name], name
        assert cut.summary["run_id"] != made.summary["run_id"]


def test_without_traffic_there_are_findings_and_a_blast_radius(spark, tmp_path):
    blind = cluster({1: "/eu/a", 2: "/eu/a", 3: "/eu/b"}, {"t": [(1, 2)]}, cluster_id="blind")
    clusters = {f"c{n:03}.json": cluster(cluster_id=f"c{n:03}") for n in range(199)}
    made = analyzed(spark, tmp_path, clusters=clusters | {"blind.json": blind}, levels=())
    summary = made.summary
    assert summary["observed"] is None
    assert summary["verdict"]["partitions"] == 199 * 3 + 1
    assert summary["verdict"]["partitions_unsafe"] == 1
    assert (summary["verdict"]["usd"], summary["verdict"]["bytes_total"]) == (None, None)
    assert (summary["matrix"], summary["by_topic"]) == ([], [])
    assert len(summary["clusters"]) == 200
    assert summary["findings"]["worst"][0]["cluster"] == "blind"
    assert len(summary["blast"]) == 199 * 4 + 3
    assert summary["levels"] == ["level1", "level2"]
    assert list(made.csv) == ["findings", "blast", "history"]
    assert sorted(path.name for path in Path(made.tables, "gold").iterdir()) == ["blast", "finding"]


class TestRates:
    rates = (
        RateRow(cluster="demo", topic="orders", bytes_in_per_s=3 * GIB),
        RateRow(cluster="demo", topic="gone", bytes_in_per_s=1),
    )

    def test_only_the_requested_days_are_modelled(self, spark, tmp_path):
        days = {"first_day": date(2026, 11, 1), "last_day": date(2026, 11, 3)}
        made = analyzed(spark, tmp_path, rates=self.rates, **days)
        kinds = by(made.summary, "by_kind", "kind")
        assert kinds["produce"]["bytes_cross"] == 3 * 86_400 * 2 * GIB
        assert kinds["replicate"]["bytes_cross"] == 3 * 86_400 * 3 * GIB
        assert len(made.summary["by_day"]) == 3
        assert made.summary["observed"]["seconds"] == 3 * 86_400
        verdict = made.summary["verdict"]
        assert Decimal(verdict["usd_30d"]) == 10 * Decimal(verdict["usd"]) > 0
        assert made.summary["quality"]["bytes_estimated"] == made.summary["verdict"]["bytes_total"]
        (note,) = made.summary["notes"]
        assert note.startswith("rates of 1 topic are ignored: no snapshot has a partition")
        assert note.endswith("the first is gone of cluster demo")

    @pytest.mark.long
    def test_flows_with_the_source_rates_are_added_to_rates(self, spark, tmp_path):
        rows = [flow("replicate", 1, 90, peer_broker_id=2, source="rates")]
        path = write_flows(tmp_path / "flows", rows)
        made = analyzed(spark, tmp_path / "t", flows=[path], rates=self.rates)
        kinds = by(made.summary, "by_kind", "kind")
        assert kinds["replicate"]["bytes_cross"] == 86_400 * 3 * GIB + 90

    @pytest.mark.long
    def test_rates_fill_the_gaps_of_flows(self, spark, tmp_path):
        rows = [flow("produce", 1, 90, topic=None, client_rack="/eu/b")]
        path = write_flows(tmp_path / "flows", rows)
        made = analyzed(spark, tmp_path / "t", flows=[path], rates=self.rates)
        sources = {row["kind"]: row["source"] for row in made.summary["method"]["precedence"]}
        assert sources == {"produce": "otlp", "replicate": "rates"}
        kinds = by(made.summary, "by_kind", "kind")
        assert kinds["produce"]["bytes_cross"] == 90
        assert made.summary["quality"]["bytes_apportioned"] == 90
        assert [row["topic"] for row in made.summary["by_topic"]] == ["orders"]


class TestUnhappy:
    @pytest.mark.long
    def test_malformed_rows_are_quarantined_up_to_a_share(self, spark, tmp_path):
        rows = [*demo_flows(), flow("produce", 1, -5), flow("nonsense", 1, 7)]
        path = write_flows(tmp_path / "flows", rows)
        with pytest.raises(QuarantineExceeded, match="malformed:bytes 1, malformed:kind 1"):
            analyzed(spark, tmp_path / "t", flows=[path], max_quarantine=Decimal("0.1"))
        made = analyzed(spark, tmp_path / "t", flows=[path], max_quarantine=Decimal("0.2"))
        bad = table(spark, made, "silver/quarantine").orderBy("reason").collect()
        assert [(row.reason, row.bytes) for row in bad] == [
            ("malformed:bytes", None),
            ("malformed:kind", 7),
        ]
        assert all(row.raw and row.source_file.endswith("flows.parquet") for row in bad)
        assert made.summary["quality"]["rows_quarantined"] == 2
        assert made.summary["verdict"]["bytes_total"] == 27 * GIB

    @pytest.mark.parametrize(
        ("is_kept", "message"),
        [
            ((True, False), "expected 9 rows of all outcomes, got 0; nothing"),
            ((False, True), r"expected \d+ bytes of flow_sum for kept, got 0; nothing"),
        ],
    )
    def test_a_lost_row_stops_the_run(self, spark, tmp_path, monkeypatch, is_kept, message):
        from rackwise.pipeline.ingest import silver

        whole = silver.flow_sums

        def broken(*given):
            parts = zip(whole(*given), is_kept, strict=True)
            return [part if kept else part.frame().limit(0) for part, kept in parts]

        monkeypatch.setattr(silver, "flow_sums", broken)
        path = write_flows(tmp_path / "flows", demo_flows())
        with pytest.raises(BytesLost, match=message):
            analyzed(spark, tmp_path / "t", flows=[path])

    def test_bytes_lost_after_the_facts_stop_the_run(self, spark, tmp_path, monkeypatch):
        from rackwise.pipeline import schemas
        from rackwise.pipeline.bill.gold import result_bill

        whole = result_bill.cross_rack

        def without_fetch(batches):
            for batch in batches:
                yield batch.filter(pc.not_equal(batch["kind"], "fetch"))

        def some(engine, *given, **named):
            return engine.map(whole(engine, *given, **named), without_fetch, schemas.CROSS_RACK)

        monkeypatch.setattr(result_bill, "cross_rack", some)
        path = write_flows(tmp_path / "flows", demo_flows())
        with pytest.raises(
            BytesLost,
            match=r"expected \d+ bytes of cross_rack for fetch of demo on 2026-11-01, got 0",
        ):
            analyzed(spark, tmp_path / "t", flows=[path])

    def test_flow_logs_require_an_address_of_every_broker(self, spark, tmp_path):
        blind = replace(DEMO, brokers=(*DEMO.brokers, Broker(id=4, rack=Rack("/eu/a"))))
        with pytest.raises(InvalidSnapshot, match="got none for broker 4 of cluster demo"):
            analyzed(
                spark,
                tmp_path,
                clusters={"demo.json": blind},
                flows=[str(tmp_path)],
                flow_format="vpc",
            )

    @pytest.mark.parametrize(("level", "count"), [("zone", 1), ("region", 0)])
    def test_prices_of_single_regions_are_noted_if_they_could_apply(
        self, spark, tmp_path, level, count
    ):
        """A level called region is what prices of a region are chosen by."""
        path = write_flows(tmp_path / "flows", demo_flows())
        made = analyzed(
            spark,
            tmp_path / "tables",
            flows=[path],
            levels=("area", "zone"),
            prices=(TWO_CENTS, price(region="eu-1", level=level)),
            notes=("a note of the inputs",),
        )
        assert made.summary["notes"][0] == "a note of the inputs"
        noted = [note for note in made.summary["notes"] if "prices of single regions" in note]
        assert len(noted) == count

    def test_prices_of_several_levels_require_names(self, spark, tmp_path):
        path = write_flows(tmp_path / "flows", demo_flows())
        with pytest.raises(InvalidPrices, match="expected names of 2 rack levels"):
            analyzed(spark, tmp_path / "t", flows=[path], levels=())

    def test_sums_beyond_63_bits_are_rejected(self, spark, tmp_path):
        rows = [flow("produce", 1, 2**62), flow("produce", 1, 2**62)]
        path = write_flows(tmp_path / "flows", rows)
        with pytest.raises(
            InvalidFlows, match="expected flows of at most 9223372036854775807 bytes in all"
        ):
            analyzed(spark, tmp_path / "t", flows=[path])

    def test_flows_without_a_known_broker_are_counted_but_not_billed(self, spark, tmp_path):
        rows = [flow("produce", 1, 5, window_start=datetime(2026, 10, 1, tzinfo=UTC))]
        path = write_flows(tmp_path / "flows", rows)
        made = analyzed(spark, tmp_path / "t", flows=[path], first_day=date(2026, 11, 1))
        assert made.summary["verdict"]["bytes_total"] is None
        assert [row["reason"] for row in made.summary["method"]["outcomes"]] == ["other-day"]
        assert made.summary["notes"] == [
            "no row of the flow files is traffic of a broker in the snapshots"
        ]


@pytest.mark.connect
def test_a_tables_folder_that_spark_cannot_see(spark, tmp_path, monkeypatch):
    """`/proc/self/cwd` is a different folder in each process, like a path on two machines."""
    from rackwise.pipeline.request import check_shared

    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    check_shared(spark, str(tmp_path / "tables"))
    unseen = "/proc/self/cwd/tables"
    with pytest.raises(OutputNotShared) if ON_CONNECT else nullcontext() as refused:
        check_shared(spark, unseen)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    if ON_CONNECT:
        assert f"got {unseen}: [PATH_NOT_FOUND]" in str(refused.value)
        assert refused.value.hint.startswith("set --tables to a URI")


class TestRunId:
    def id_of(self, tmp_path, **more):
        from rackwise.pipeline.request import run_id

        files = more.pop("files", ())
        return run_id(request(tmp_path, **more), files)

    def test_it_is_twelve_hex_digits_of_the_inputs(self, tmp_path):
        from rackwise.pipeline.ingest.files import FlowFile

        file = FlowFile(uri="file:/x/a.log", path="/x/a.log", size=5)
        moved = FlowFile(uri="file:/y/a.log", path="/y/a.log", size=5)
        first = self.id_of(tmp_path, files=[file])
        assert len(first) == 12
        assert int(first, 16) >= 0
        assert self.id_of(tmp_path / "elsewhere", files=[moved]) == first
        others = [
            self.id_of(tmp_path, files=[replace(file, size=6)]),
            self.id_of(tmp_path, files=[file], side="egress"),
            self.id_of(tmp_path, files=[file], version="0.2.0"),
            self.id_of(tmp_path, files=[file], digests={"subnets": "0"}),
            self.id_of(tmp_path, files=[file], clusters={"other.json": DEMO}),
        ]
        assert len({first, *others}) == 6

    def test_an_existing_folder_is_not_used(self, spark, tmp_path):
        from rackwise.pipeline.request import claim_folder

        names = [claim_folder(spark, f"{tmp_path}/", "abc") for _ in range(3)]
        assert [name.rpartition("/")[2] for name in names] == ["abc", "abc-2", "abc-3"]
        assert Path(names[2]).is_dir()

    @pytest.mark.connect
    def test_an_existing_folder_behind_a_uri_is_not_used(self, spark, tmp_path):
        from rackwise.pipeline.request import claim_folder

        uri = f"file://{tmp_path}"
        assert claim_folder(spark, uri, "abc") == f"{uri}/runs/abc"
        spark.range(1).write.parquet(f"{uri}/runs/abc/gold")
        assert claim_folder(spark, uri, "abc") == f"{uri}/runs/abc-2"


class TestShortObservation:
    """Less than one hour is extrapolated to 30 days on request only."""

    def summary(self, spark, folder, **more):
        rows = [row | {"window_s": 1_800} for row in demo_flows()]
        path = write_flows(folder / "flows", rows)
        return analyzed(spark, folder / "tables", flows=[path], **more).summary

    def test_half_an_hour_has_no_30_days_and_says_why(self, spark, tmp_path):
        summary = self.summary(spark, tmp_path)
        assert summary["observed"]["seconds"] == 1_800
        verdict, total = summary["verdict"], summary["savings"]["total"]
        assert (verdict["usd"], verdict["usd_30d"]) == ("0.420000000", None)
        assert verdict["reason_30d"] == TOO_SHORT
        assert total["usd_high"] == "0.126000000"
        assert [total[f"usd_{end}_30d"] for end in ("low", "high", "saved")] == [None] * 3
        assert TOO_SHORT in total["reason"]
        shown = " ".join(terminal.render(summary, width=100, color=False).split())
        assert f"Cross-rack traffic cost $0.42 in 30 minutes observed ({TOO_SHORT})" in shown

    def test_it_is_extrapolated_on_request(self, spark, tmp_path):
        summary = self.summary(spark, tmp_path, extrapolate=True)
        verdict, total = summary["verdict"], summary["savings"]["total"]
        assert (verdict["usd_30d"], verdict["reason_30d"]) == ("604.800000000", None)
        assert total["usd_high_30d"] == "181.440000000"
        assert summary["method"]["options"]["extrapolate"] is True
