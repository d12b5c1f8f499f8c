"""The table of savings has the rows of core for each cluster, in any Spark task."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
import pytest

from rackwise.core.model import Cluster, Configs, GroupMember
from rackwise.core.racks import Rack
from rackwise.core.savings import CONDITIONS, Layout
from rackwise.pipeline.bill.gold.results import ResultOptions, all_results
from rackwise.pipeline.bill.savings import TOO_SHORT, SavingOptions, _row, savings_part
from rackwise.pipeline.engines.spark import SessionEngine
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.layouts import cluster_of, layout_table
from rackwise.pipeline.fleet.snapshots import read_snapshots
from rackwise.pipeline.schemas import CROSS_RACK, UNKNOWN_RACK, arrow_schema
from saving_flows import Flow, all_savings
from small_fleets import DAY, DEMO_READERS, GIB, cluster, parsed, price

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


def cross_rack(by_cluster):
    """The columns of CROSS_RACK that savings need."""
    rows = [
        {
            **one._asdict(),
            "cluster": name,
            "from_rack": one.from_rack or UNKNOWN_RACK,
            "to_rack": one.to_rack or UNKNOWN_RACK,
            "level": 0,
        }
        for name, found in by_cluster.items()
        for one in found
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(CROSS_RACK))


@pytest.mark.spark
def test_rows_equal_those_of_core_for_each_cluster(spark):
    made = {
        "two": cluster(groups=[DEMO_READERS], cluster_id="two"),
        "one": cluster(groups=[DEMO_READERS], cluster_id="one"),
        "idle": cluster(cluster_id="idle"),
    }
    given = {"two": flows(2), "one": flows(1), "gone": flows(1)}
    fleet = fleet_of_snapshots(
        read_snapshots(*parsed({f"{n}.json": c for n, c in made.items()}))[0]
    )
    options = ResultOptions(
        levels=LEVELS,
        savings=SavingOptions(
            prices=PRICES,
            levels=LEVELS,
            seconds=SECONDS,
            racks=tuple(fleet.codes.racks),
            eps=(0.1, math.inf),
        ),
    )
    layouts = layout_table(fleet.latest, lambda _cluster, _group, member: member.rack)
    engine = SessionEngine(spark)
    found = all_results(engine, engine.table(cross_rack(given), CROSS_RACK), layouts, options)
    assert sum(len(part) for part in found["places"]) == 3 * 3
    del given["gone"]
    rows = [row for part in found["savings"] for row in part.to_pylist()]
    assert {row["cluster"] for row in rows} == {"one", "two"}
    assert rows[0]["usd_high"] is not None
    for name, found in given.items():
        layout = Layout.of(made[name], lambda _, member: member.rack)
        wanted = all_savings(found, layout, prices=PRICES, levels=LEVELS, eps=(0.1, math.inf))
        assert [row for row in rows if row["cluster"] == name] == [
            {
                "cluster": name,
                "topic": one.topic,
                "client_group": one.client_group,
                "saving": one.saving,
                "view": one.view,
                "eps": one.eps,
                "bytes_low": one.bytes_low,
                "bytes_high": one.bytes_high,
                "bytes_saved": one.bytes_low if one.bytes_low == one.bytes_high else None,
                "usd_low": dollars(one.nano_low),
                "usd_high": dollars(one.nano_high),
                "usd_saved": dollars(exact(one)),
                "usd_low_30d": dollars(one.nano_low, 30),
                "usd_high_30d": dollars(one.nano_high, 30),
                "usd_saved_30d": dollars(exact(one), 30),
                "reason": "; ".join(one.reasons) or None,
                "load_factor": one.load_factor,
                "condition": one.condition,
                "quality": "estimated",
            }
            for one in wanted.rows
        ]


def dollars(nano, times=1):
    return None if nano is None else Decimal(times * nano).scaleb(-9)


def exact(one):
    return one.nano_low if one.nano_low == one.nano_high else None


def saving(name, low, high, **more):
    """A row of SAVINGS from its least and its greatest GiB, None where not known."""
    ends = {"low": low, "high": high, "saved": low if low == high else None}
    row = {
        "cluster": "demo",
        "topic": "orders",
        "client_group": "readers",
        "saving": name,
        "view": "waterfall",
        "eps": None,
        **{f"bytes_{end}": None if gib is None else gib * GIB for end, gib in ends.items()},
        **{f"usd_{end}": usd(gib, 1) for end, gib in ends.items()},
        **{f"usd_{end}_30d": usd(gib, 30) for end, gib in ends.items()},
        "reason": None if low == high else "the topic is not known: add --rates",
        "load_factor": None,
        "condition": CONDITIONS.get(name, ""),
        "quality": "estimated",
    }
    return row | more


def usd(gib, times):
    return None if gib is None else times * gib * Decimal("0.02")


class TestSummary:
    def test_steps_are_sums_and_the_largest_rows_come_first(self):
        rows = [
            saving("follower-fetch", 1, 1),
            saving("follower-fetch", 2, 3, cluster="other"),
            saving("producing", 4, 4, eps=0.1, load_factor=1.5),
            saving("producing", 0, 0, eps=0.1, load_factor=3.0, condition="not applied: x"),
            saving("producing", 1, 1, eps=math.inf, view="alone"),
            saving("all", 5, 5, view="total"),
            saving("all", 2, 3, view="total", cluster="other", reason="a: b; c: d"),
        ]
        part = savings_part(rows, most=2)
        assert part["total"] == {
            "bytes_low": 7 * GIB,
            "bytes_high": 8 * GIB,
            "bytes_saved": None,
            "usd_low": "0.140000000",
            "usd_high": "0.160000000",
            "usd_saved": None,
            "usd_low_30d": "4.200000000",
            "usd_high_30d": "4.800000000",
            "usd_saved_30d": None,
            "reason": "a: b; c: d",
        }
        assert [
            (s["view"], s["saving"], s["eps"], s["usd_low"], s["usd_high"], s["usd_saved"])
            for s in part["steps"]
        ] == [
            ("waterfall", "follower-fetch", None, "0.060000000", "0.080000000", None),
            ("waterfall", "producing", "0.1", *["0.080000000"] * 3),
            ("alone", "producing", "inf", *["0.020000000"] * 3),
        ]
        assert (part["steps"][1]["load_factor"], part["steps"][1]["reasons"]) == (
            3.0,
            ["not applied: x"],
        )
        assert part["steps"][0]["load_factor"] is None
        assert part["steps"][0]["reason"] == "the topic is not known: add --rates"
        assert part["steps"][1]["reason"] is None
        assert part["count"] == 4
        assert [(row["saving"], row["usd_saved"], row["eps"]) for row in part["rows"]] == [
            ("producing", "0.080000000", "0.1"),
            ("follower-fetch", None, None),
        ]

    def test_dollars_without_a_price_are_null(self):
        unpriced = dict.fromkeys(
            f"usd_{end}{month}" for end in ("low", "high", "saved") for month in ("", "_30d")
        )
        part = savings_part([saving("all", 1, 1, view="total", **unpriced)], most=1)
        assert part["total"] == {**unpriced, "reason": None} | dict.fromkeys(
            ("bytes_low", "bytes_high", "bytes_saved"), GIB
        )

    @pytest.mark.parametrize(
        "rows",
        [
            [saving("all", None, 3, view="total"), saving("all", 0, 0, view="total")],
            [saving("all", -2, 1, view="total"), saving("all", 2, 2, view="total")],
        ],
    )
    def test_a_sum_is_0_only_if_every_part_is_known(self, rows):
        total = savings_part(rows, most=1)["total"]
        assert (total["bytes_low"], total["usd_low"], total["usd_low_30d"]) == (None, None, None)
        assert (total["bytes_high"], total["usd_high"]) == (3 * GIB, "0.060000000")

    def test_less_than_an_hour_has_no_30_days(self):
        layout = Layout.of(cluster(), lambda _, member: member.rack)
        (*_, one) = all_savings(flows(1), layout, prices=PRICES, levels=LEVELS).rows
        row = _row("demo", one, None)
        assert [row[f"usd_{end}_30d"] for end in ("low", "high", "saved")] == [None] * 3
        assert row["usd_high"] is not None
        assert row["reason"].endswith(TOO_SHORT)


class Named(NamedTuple):
    name: str
    cluster: Cluster


def test_a_cluster_as_a_row_has_the_same_layout():
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
    table = layout_table(
        [snapshot], lambda _cluster, _group, m: Rack(B) if m.member_id == "m3" else m.rack
    )
    (row,) = table.to_pylist()
    again = Layout.of(cluster_of(row), lambda _, member: member.rack)
    wanted = Layout.of(made, lambda _, m: Rack(B) if m.member_id == "m3" else m.rack)
    for name in ("topics", "racks", "counts", "may_lead", "groups", "follows", "replicas"):
        assert getattr(again, name) == getattr(wanted, name), name
    for name in ("topic", "partition", "pattern"):
        assert getattr(again, name).tolist() == getattr(wanted, name).tolist(), name
    assert again.follows
