"""The table of savings has the rows of core for each cluster, in any Spark task."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

import pytest

from rackwise.core.model import Cluster, Configs, GroupMember
from rackwise.core.racks import Rack
from rackwise.core.savings import CONDITIONS, Flow, Layout
from rackwise.core.savings import savings as core_savings
from small_fleets import DAY, DEMO_READERS, GIB, cluster, parsed, price

pytestmark = pytest.mark.spark
A, B, C = "/eu/a", "/eu/b", "/eu/c"
LEVELS = ("region", "zone")
PRICES = (price(),)
SECONDS = 86_400


def flows(size):
    """The demo's flows, `size` GiB each; one flow is from an unknown rack."""
    kinds = {
        "produce": ((A, A), (A, B), (A, C)),
        "fetch": ((A, B), (B, A), (C, C), (A, None)),
        "replicate": ((A, B), (B, C), (C, A)),
    }
    return [
        Flow(DAY, kind, "orders", "readers", "measured", *ends, size * GIB + 1)
        for kind, pairs in kinds.items()
        for ends in pairs
    ]


def cross_rack(spark, by_cluster):
    """The columns of CROSS_RACK that savings need."""
    from rackwise.pipeline.schemas import CROSS_RACK, UNKNOWN_RACK

    rows = [
        {
            **one._asdict(),
            "cluster": name,
            "from_rack": one.from_rack or UNKNOWN_RACK,
            "to_rack": one.to_rack or UNKNOWN_RACK,
        }
        for name, found in by_cluster.items()
        for one in found
    ]
    names = CROSS_RACK.fieldNames()
    return spark.createDataFrame([tuple(row.get(n) for n in names) for row in rows], CROSS_RACK)


def test_rows_equal_those_of_core_for_each_cluster(spark, tmp_path):
    from rackwise.pipeline.bill.savings import saving_rows, savings
    from rackwise.pipeline.fleet.fleet import frames
    from rackwise.pipeline.fleet.snapshots import read_snapshots

    made = {
        "two": cluster(groups=[DEMO_READERS], cluster_id="two"),
        "one": cluster(groups=[DEMO_READERS], cluster_id="one"),
        "idle": cluster(cluster_id="idle"),
    }
    given = {"two": flows(2), "one": flows(1)}
    fleet = frames(spark, read_snapshots(*parsed({f"{n}.json": c for n, c in made.items()}))[0])
    saved = savings(
        cross_rack(spark, given),
        fleet,
        prices=PRICES,
        levels=LEVELS,
        seconds=SECONDS,
        rack_of=lambda _, member: member.rack,
        eps=(0.1, math.inf),
    )
    rows = saving_rows(spark, saved, str(tmp_path / "savings"))
    assert list(dict.fromkeys(row["cluster"] for row in rows)) == ["one", "two"]
    for name, found in given.items():
        layout = Layout.of(made[name], lambda _, member: member.rack)
        wanted = core_savings(found, layout, prices=PRICES, levels=LEVELS, eps=(0.1, math.inf))
        assert [row for row in rows if row["cluster"] == name] == [
            {
                "cluster": name,
                "topic": one.topic,
                "client_group": one.client_group,
                "saving": one.saving,
                "view": one.view,
                "eps": one.eps,
                "bytes_saved": one.bytes_saved,
                "usd_saved": Decimal(one.usd_nano).scaleb(-9),
                "usd_saved_30d": Decimal(30 * one.usd_nano).scaleb(-9),
                "load_factor": one.load_factor,
                "condition": one.condition,
                "quality": "estimated",
            }
            for one in wanted.rows
        ]
    written = spark.read.parquet(str(tmp_path / "savings"))
    assert [row.asDict() for row in written.collect()] == [
        row | {name: nine(row[name]) for name in ("usd_saved", "usd_saved_30d")} for row in rows
    ]


def nine(dollars):
    return dollars.quantize(Decimal("0.000000001"))


def saving(name, gib, usd, **more):
    row = {
        "cluster": "demo",
        "topic": "orders",
        "client_group": "readers",
        "saving": name,
        "view": "waterfall",
        "eps": None,
        "bytes_saved": gib * GIB,
        "usd_saved": None if usd is None else Decimal(usd),
        "usd_saved_30d": None if usd is None else 30 * Decimal(usd),
        "load_factor": None,
        "condition": CONDITIONS[name],
        "quality": "estimated",
    }
    return row | more


class TestSummary:
    def test_steps_are_sums_and_the_largest_rows_come_first(self):
        from rackwise.pipeline.bill.savings import savings_part

        rows = [
            saving("follower-fetch", 1, "0.02"),
            saving("follower-fetch", 2, "0.04", cluster="other"),
            saving("producing", 3, "0.06", eps=math.inf, load_factor=1.5),
            saving("producing", 0, "0", eps=math.inf, load_factor=3.0, condition="not applied: x"),
            saving("producing", 1, "0.02", eps=0.1, view="alone"),
        ]
        part = savings_part(rows, most=2)
        assert part["total"] == {
            "bytes_saved": 6 * GIB,
            "usd_saved": "0.120000000",
            "usd_saved_30d": "3.600000000",
        }
        assert [(s["view"], s["saving"], s["eps"], s["usd_saved"]) for s in part["steps"]] == [
            ("waterfall", "follower-fetch", None, "0.060000000"),
            ("waterfall", "producing", "inf", "0.060000000"),
            ("alone", "producing", "0.1", "0.020000000"),
        ]
        assert (part["steps"][1]["load_factor"], part["steps"][1]["reasons"]) == (
            3.0,
            ["not applied: x"],
        )
        assert part["steps"][0]["load_factor"] is None
        assert part["count"] == 4
        assert [(row["saving"], row["usd_saved"], row["eps"]) for row in part["rows"]] == [
            ("producing", "0.060000000", "inf"),
            ("follower-fetch", "0.040000000", None),
        ]

    def test_dollars_without_a_price_are_null(self):
        from rackwise.pipeline.bill.savings import savings_part

        part = savings_part([saving("assignment", 1, None)], most=1)
        assert part["total"] == {"bytes_saved": GIB, "usd_saved": None, "usd_saved_30d": None}
        assert part["rows"][0]["usd_saved_30d"] is None


class Named(NamedTuple):
    name: str
    cluster: Cluster


def test_a_cluster_as_a_row_has_the_same_layout():
    from rackwise.pipeline.fleet.layouts import cluster_of, layout_table

    members = replace(
        DEMO_READERS,
        assignor="range",
        members=(
            *DEMO_READERS.members,
            GroupMember(member_id="m3", client_id="c", topics=("orders",), generation=4),
        ),
    )
    made = cluster(
        {1: A, 2: B, 3: None, 4: C},
        {"orders": [(1, 2), (2, 3, 4), (), (4, 1)], "other": [(3,)]},
        groups=[members],
    )
    selector = {
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    }
    made = replace(made, configs=Configs(brokers=dict.fromkeys((1, 2, 3, 4), selector)))
    snapshot = Named("demo", made)
    table = layout_table([snapshot], lambda _, m: Rack(B) if m.member_id == "m3" else m.rack)
    (row,) = table.to_pylist()
    again = Layout.of(cluster_of(row), lambda _, member: member.rack)
    wanted = Layout.of(made, lambda _, m: Rack(B) if m.member_id == "m3" else m.rack)
    for name in ("topics", "racks", "counts", "may_lead", "groups", "follows", "replicas"):
        assert getattr(again, name) == getattr(wanted, name), name
    for name in ("topic", "partition", "pattern"):
        assert getattr(again, name).tolist() == getattr(wanted, name).tolist(), name
    assert again.follows
