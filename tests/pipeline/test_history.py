"""Results accumulate: a run replaces the days that it computes and keeps the others."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from canonical_flows import demo_flows, write_flows
from rackwise.core.owners import OwnerGlob, Owners
from small_fleets import CENT, DEMO_READERS, GIB, cluster, parsed, price

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

LEVELS = ("region", "zone")
FIRST, SECOND, THIRD = (date(2026, 11, day) for day in (1, 2, 3))
DEMO = cluster(groups=[DEMO_READERS], size=GIB)
UNSAFE = cluster(
    {1: "/eu/a", 2: "/eu/a", 3: "/eu/b"}, {"orders": [(1, 2), (2, 3)]}, cluster_id="other"
)


def cents(amount):
    return price(nano_usd_per_gb_out=amount * CENT, nano_usd_per_gb_in=0)


def flows_of(day, name="demo"):
    """The demo's flows of one day of November, of a cluster; 21 of 27 GiB cross."""
    start = datetime(2026, 11, day, tzinfo=UTC)
    return [
        flow | {"cluster": name, "window_start": start.replace(hour=flow["window_start"].hour)}
        for flow in demo_flows()
    ]


def analyzed(spark, tables, flows=(), clusters=None, after=None, **more):
    """A run into the same result; `after`: the run before it."""
    from rackwise.pipeline.fleet.snapshots import read_snapshots
    from rackwise.pipeline.job import analyze
    from rackwise.pipeline.plans.earlier import EarlierResult
    from rackwise.pipeline.request import AnalyzeRequest

    read, _ = read_snapshots(*parsed(clusters or {"demo.json": DEMO}))
    number = len([*Path(tables).rglob("*.parquet")])
    paths = (write_flows(Path(tables) / f"flows-{number}", flows),) if flows else ()
    request = AnalyzeRequest(
        version="0.1.0",
        snapshots=read,
        tables=str(tables),
        prices=(cents(2),),
        levels=LEVELS,
        flow_format="canonical",
        flows=paths,
        standing=after.days if after else (),
        earlier=after
        and EarlierResult(summary=after.summary, tables=after.tables, read=after.files.__getitem__),
    )
    return analyze(spark, replace(request, **more))


def days_of(summary):
    return {row["day"]: row["usd"] for row in summary["by_day"]}


def contents(folder):
    """Path -> digest of every file of a run."""
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def runs(spark, tmp_path_factory):
    """Day 1; day 2 after it; day 2 again with other prices."""
    tables = tmp_path_factory.mktemp("history")
    first = analyzed(spark, tables, flows_of(1))
    stored = contents(first.tables)
    second = analyzed(spark, tables, flows_of(2), after=first)
    again = analyzed(spark, tables, flows_of(2), after=second, prices=(cents(4),))
    return first, second, again, stored


class TestDays:
    def test_both_days_are_there(self, runs):
        _, second, _, _ = runs
        assert days_of(second.summary) == {"2026-11-01": "0.420000000", "2026-11-02": "0.420000000"}
        verdict = second.summary["verdict"]
        assert (verdict["usd"], verdict["bytes_total"]) == ("0.840000000", 54 * GIB)
        assert verdict["usd_30d"] == "12.600000000"
        assert second.summary["observed"] == {
            "from": "2026-11-01T00:00:00Z",
            "to": "2026-11-03T00:00:00Z",
            "seconds": 2 * 86_400,
        }

    def test_other_prices_change_only_the_day_that_is_computed_again(self, runs):
        first, second, again, stored = runs
        assert days_of(again.summary) == {"2026-11-01": "0.420000000", "2026-11-02": "0.840000000"}
        assert contents(first.tables) == stored
        lines = {row["day"]: row for row in second.summary["history"]["clusters"]}
        after = {row["day"]: row for row in again.summary["history"]["clusters"]}
        assert after["2026-11-01"] == lines["2026-11-01"]
        assert after["2026-11-02"]["usd"] == "0.840000000"

    def test_the_days_name_the_run_that_computed_them(self, runs):
        first, second, again, _ = runs
        assert [(each.cluster, each.day, each.tables) for each in again.days] == [
            ("demo", FIRST, first.tables),
            ("demo", SECOND, again.tables),
        ]
        assert len({first.tables, second.tables, again.tables}) == 3

    def test_every_roll_up_sums_to_all_days(self, spark, runs):
        for made in runs[:3]:
            wanted = Decimal(made.summary["verdict"]["usd"])
            rows = spark.read.parquet(f"{made.tables}/gold/by_owner").collect()
            assert sum(row.usd for row in rows) == wanted
            for name in ("by_topic", "by_group", "by_owner", "by_pair", "by_kind", "by_level"):
                found = sum(Decimal(row["usd"]) for row in made.summary[name] if row["usd"])
                assert found == wanted, name

    def test_the_prices_of_both_runs_are_listed(self, runs):
        _, second, again, _ = runs
        rows = again.summary["method"]["prices"]
        assert sorted(row["usd_per_gb_out"] for row in rows) == ["0.020000000", "0.040000000"]
        assert len({row["row"] for row in rows}) == 2
        assert again.summary["quality"]["bytes_unpriced"] == 0
        assert len(second.summary["method"]["prices"]) == 1

    def test_tables_are_partitioned_by_day(self, runs):
        first, _, _, _ = runs
        folder = Path(first.tables) / "gold" / "cross_rack"
        assert [path.name for path in folder.glob("day=*")] == ["day=2026-11-01"]

    def test_savings_are_those_of_all_days(self, runs):
        first, second, again, _ = runs
        one, two, dearer = (made.summary["savings"]["total"] for made in (first, second, again))
        for key in ("bytes_low", "bytes_high"):
            assert two[key] == 2 * one[key] == dearer[key], key
        assert Decimal(two["usd_low"]) == 2 * Decimal(one["usd_low"])
        assert Decimal(dearer["usd_low"]) == 4 * Decimal(one["usd_low"])

    def test_the_same_run_again_gives_the_same_summary(self, spark, runs):
        first, second, _, _ = runs
        tables = Path(first.tables).parents[1]
        once = analyzed(spark, tables, flows_of(2), after=second)
        assert once.summary["run_id"] == second.summary["run_id"]
        assert once.summary["verdict"] == second.summary["verdict"]
        assert once.summary["history"] == second.summary["history"]


@pytest.fixture(scope="module")
def two(spark, tmp_path_factory):
    """The demo's first day; then another cluster's first and second day."""
    tables = tmp_path_factory.mktemp("two")
    first = analyzed(spark, tables, flows_of(1))
    flows = [*flows_of(1, "other"), *flows_of(2, "other")]
    flows = [flow for flow in flows if flow["kind"] == "produce"]
    second = analyzed(spark, tables, flows, clusters={"other.json": UNSAFE}, after=first)
    return first, second


class TestClusters:
    def test_the_days_of_another_cluster_stay(self, two):
        _, second = two
        places = {(row["cluster"], row["day"]) for row in second.summary["history"]["clusters"]}
        assert places == {
            ("demo", "2026-11-01"),
            ("other", "2026-11-01"),
            ("other", "2026-11-02"),
        }
        clusters = {row["cluster"] for row in second.summary["by_topic"]}
        assert clusters == {"demo", "other"}

    def test_what_was_found_about_another_cluster_stays(self, two):
        first, second = two
        rows = {row["name"]: row for row in second.summary["clusters"]}
        assert list(rows) == ["demo", "other"]
        assert rows["demo"] == first.summary["clusters"][0]
        verdict = second.summary["verdict"]
        assert verdict["partitions"] == 3 + 2
        assert verdict["partitions_unsafe"] == rows["other"]["partitions_unsafe"]
        kept = [row for row in second.summary["blast"] if row["cluster"] == "demo"]
        assert kept == first.summary["blast"]
        findings = second.summary["findings"]
        counted = sum(row["count"] for row in findings["by_rule"])
        assert counted == verdict["findings"] == second.summary["rows"]["findings"]
        before = first.summary["verdict"]["findings"]
        assert 0 < before < counted
        columns, listed = second.csv["findings"]
        names = [row[columns.index("cluster")] for row in listed]
        assert (names.count("demo"), len(names)) == (before, counted)
        whole = sum(Decimal(row["usd"]) for row in rows.values())
        assert whole == Decimal(verdict["usd"])

    def test_unsafe_partitions_of_each_day(self, two):
        _, second = two
        rows = {(r["cluster"], r["day"]): r for r in second.summary["history"]["clusters"]}
        assert rows["demo", "2026-11-01"]["partitions_unsafe"] == 0
        assert rows["other", "2026-11-02"]["partitions_unsafe"] > 0

    def test_a_new_name_renames_the_days_before(self, spark, two):
        first, _ = two
        tables = Path(first.tables).parents[1]
        named = replace(DEMO, name="prod", taken_at="2026-11-02T00:00:00Z")
        made = analyzed(
            spark, tables, flows_of(2, "prod"), clusters={"demo.json": named}, after=first
        )
        rows = [(row["cluster"], row["day"]) for row in made.summary["history"]["clusters"]]
        assert rows == [("prod", "2026-11-01"), ("prod", "2026-11-02")]
        assert {row["cluster"] for row in made.summary["by_topic"]} == {"prod"}
        assert made.summary["verdict"]["usd"] == "0.840000000"


class TestSafety:
    def test_each_day_has_the_last_snapshot_up_to_it(self, spark, tmp_path):
        bad = {1: "/eu/a", 2: "/eu/a", 3: "/eu/b"}
        clusters = {
            "demo-2026-11-02.json": cluster(bad, taken_at="2026-11-02T12:00:00Z"),
            "demo-2026-11-04.json": cluster(taken_at="2026-11-04T12:00:00Z"),
        }
        flows = [flow for day in (1, 2, 3) for flow in flows_of(day)]
        made = analyzed(spark, tmp_path, flows, clusters=clusters)
        found = {
            row["day"][-1]: (row["partitions_unsafe"], row["usd"])
            for row in made.summary["history"]["clusters"]
        }
        unsafe = found["2"][0]
        assert unsafe
        assert found == {
            "1": (None, found["1"][1]),
            "2": (unsafe, found["2"][1]),
            "3": (unsafe, found["3"][1]),
            "4": (0, None),
        }

    def test_snapshots_alone_keep_the_dollars_of_their_days(self, spark, tmp_path):
        first = analyzed(spark, tmp_path, flows_of(1))
        made = analyzed(spark, tmp_path, after=first, clusters={"demo.json": DEMO})
        assert days_of(made.summary) == {"2026-11-01": "0.420000000"}
        assert made.summary["verdict"]["usd"] == "0.420000000"
        assert made.summary["observed"] == first.summary["observed"]
        assert made.days == first.days


def test_only_the_last_days_are_kept(spark, tmp_path):
    flows = [flow for day in (1, 2, 3) for flow in flows_of(day)]
    first = analyzed(spark, tmp_path, flows)
    made = analyzed(spark, tmp_path, flows_of(3), after=first, keep_days=2)
    assert list(days_of(made.summary)) == ["2026-11-02", "2026-11-03"]
    assert made.summary["verdict"]["usd"] == "0.840000000"
    again = analyzed(spark, tmp_path, flows, keep_days=1)
    assert days_of(again.summary) == {"2026-11-03": "0.420000000"}
    assert again.summary["verdict"]["bytes_total"] == 27 * GIB


@pytest.mark.long
def test_a_day_keeps_the_owners_of_its_run(spark, tmp_path):
    shop = Owners(topics=(OwnerGlob(glob="orders", owner="shop", line=2),))
    first = analyzed(spark, tmp_path, flows_of(1), owners=shop)
    made = analyzed(spark, tmp_path, flows_of(2), after=first)
    owners = {row["owner"]: row["usd"] for row in made.summary["by_owner"]}
    assert owners == {"shop": "0.420000000", "(unowned)": "0.420000000"}
