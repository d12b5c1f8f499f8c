"""The effect of the loss of each rack, as a table."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rackwise.core.blast import blast_radius as core_blast
from rackwise.core.policy import Policy
from rackwise.core.policy.model import RackPolicy
from small_fleets import DAY, DEMO_READERS, GIB, cluster, parsed, price

pytestmark = pytest.mark.spark
LEVELS = Policy(racks=RackPolicy(levels=("region", "zone")))


PRICES = (price(), price(level="region"))


def rows_of(spark, clusters):
    from rackwise.pipeline.audit.blast import blast_radius, blast_rows
    from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
    from rackwise.pipeline.fleet.snapshots import read_snapshots

    fleet = fleet_of_snapshots(read_snapshots(*parsed(clusters))[0])
    rows = blast_rows(
        fleet, LEVELS, prices=PRICES, day=DAY, rack_of=lambda _cluster, _group, member: member.rack
    )
    table = [row.asDict() for row in blast_radius(spark, rows).collect()]
    assert table == [row | {"usd_to_restore": nine(row["usd_to_restore"])} for row in rows]
    return table


def nine(dollars):
    return None if dollars is None else dollars.quantize(Decimal("0.000000001"))


def test_the_demo_cluster(spark):
    table = rows_of(spark, {"demo.json": cluster(groups=[DEMO_READERS], size=GIB)})
    by_rack = {row["rack"]: row for row in table}
    assert list(by_rack) == ["/eu", "/eu/a", "/eu/b", "/eu/c"]
    assert by_rack["/eu/a"] == {
        "cluster": "demo",
        "rack": "/eu/a",
        "level": 2,
        "partitions_offline": 0,
        "partitions_below_min_isr": 2,
        "leaders_lost": 1,
        "top_survivor_leader_share": 2 / 3,
        "replicas_lost": 2,
        "bytes_to_restore": 2 * GIB,
        "cross_bytes_to_restore": 2 * GIB,
        "usd_to_restore": Decimal("0.040000000"),
        "groups_lost": 0,
        "member_share_lost": 1 / 3,
    }
    eu = by_rack["/eu"]
    assert (eu["partitions_offline"], eu["leaders_lost"], eu["groups_lost"]) == (3, 3, 1)
    assert (eu["top_survivor_leader_share"], eu["usd_to_restore"]) == (None, Decimal(0))


def test_counts_are_those_of_core(spark):
    made = cluster(
        {1: "/eu/a", 2: "/eu/b", 3: "/us/a", 4: "/us/a"},
        {"t": [(1, 2, 3), (3, 4), (4,), (2, 9), (), (1, 3)]},
        size=GIB,
    )
    table = rows_of(spark, {"demo.json": made})
    for row, loss in zip(table, core_blast(made, LEVELS), strict=True):
        assert row["rack"] == loss.rack
        assert row["partitions_offline"] == len(loss.offline)
        assert row["partitions_below_min_isr"] == len(loss.under_min_isr)
        assert row["leaders_lost"] == loss.leaders_lost
        assert row["replicas_lost"] == loss.replicas_lost
        assert row["bytes_to_restore"] == loss.bytes_to_restore


def test_unknown_values_are_null(spark):
    (row,) = rows_of(spark, {"demo.json": cluster({1: "/eu/a"}, {"t": [(1,)]})})[1:]
    assert row["bytes_to_restore"] is None
    assert row["cross_bytes_to_restore"] is None
    assert row["usd_to_restore"] is None
    assert row["member_share_lost"] is None


def test_rows_are_in_order_of_cluster_names_and_need_racks(spark):
    clusters = {
        "b.json": cluster({1: "/eu/a"}, cluster_id="b"),
        "a.json": cluster({1: "/eu/b"}, cluster_id="a"),
        "none.json": cluster({1: None}, cluster_id="none"),
    }
    table = rows_of(spark, clusters)
    assert [(row["cluster"], row["rack"]) for row in table] == [
        *(("a", "/eu"), ("a", "/eu/b")),
        *(("b", "/eu"), ("b", "/eu/a")),
    ]
