"""The first actions of a run, from its clusters, plans and savings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from rackwise.adapters.files import parse_snapshot, snapshot_bytes
from rackwise.core.audit import audit
from rackwise.core.savings.model import ALONE, UNKNOWN_NAME, WATERFALL
from rackwise.pipeline.audit.findings import ClusterFindings
from rackwise.pipeline.bill.model import Bill
from rackwise.pipeline.columns.table_rows import TableRows
from rackwise.pipeline.fleet.snapshots import read_snapshots
from rackwise.pipeline.plans.actions import actions_part
from rackwise.pipeline.plans.fleet_plans import Plans
from small_fleets import cluster

RACKS = {1: "a", 2: "a", 3: "b", 4: "c"}
CLUSTERS = {
    name: replace(cluster(RACKS, {"t": [lists]}), cluster_id=name)
    for name, lists in {"blind": (1, 2), "fine": (1, 3)}.items()
}


def latest():
    contents = [(f"{name}.json", snapshot_bytes(one)) for name, one in CLUSTERS.items()]
    return read_snapshots(contents, lambda data: parse_snapshot(data, where="a snapshot"))[0]


def losses(offline):
    return [
        {"cluster": name, "rack": rack, "level": 1, "partitions_offline": count}
        for name, by_rack in offline.items()
        for rack, count in by_rack.items()
    ]


OFFLINE = {"blind": {"a": 1, "b": 0, "c": 0}, "fine": {"a": 0, "b": 0, "c": 0}}


def planned(**fields):
    row = {
        "cluster": "blind",
        "moves": 1,
        "file": "plans/0001-0.json",
        "reason": None,
        "usd": Decimal("0.06"),
        "monthly_usd": Decimal("-1.5"),
    }
    return Plans(goal="repair", rows=[row | fields], files={})


TOPICS = pa.schema([("cluster", pa.string()), ("topic", pa.string()), ("bytes_cross", pa.int64())])


def saving(saving, low, high, *, view=ALONE, topic=None, group=None, eps=None, name="fine"):
    return {
        "cluster": name,
        "saving": saving,
        "view": view,
        "topic": topic,
        "client_group": group,
        "eps": eps,
        "usd_low_30d": None if low is None else Decimal(low),
        "usd_high_30d": None if high is None else Decimal(high),
    }


def bill(*savings, by_topic=()):
    now = datetime(2026, 11, 1, tzinfo=UTC)
    return Bill(
        standings=(),
        roll_ups={"by_topic": TableRows(pa.Table.from_pylist([*by_topic], schema=TOPICS))},
        matrix=(),
        precedence=(),
        period=(now, now),
        seconds=86_400,
        prices=(),
        savings=savings,
    )


def part(*, plans=None, billed=None, offline=OFFLINE):
    audits = [ClusterFindings(cluster=name, findings=audit(one)) for name, one in CLUSTERS.items()]
    return actions_part(latest(), audits, losses(offline), plans, billed)


def test_a_repair_with_its_plan_and_its_dollars():
    (found,) = part(plans=planned())
    assert (found["kind"], found["cluster"], found["partitions_offline"]) == ("repair", "blind", 1)
    assert (found["usd_once"], found["usd_monthly"]) == ("0.060000000", "-1.500000000")
    assert (found["saves_low_usd"], found["saves_high_usd"]) == (None, None)
    assert [step["line"] for step in found["steps"]] == [
        "rackwise proof plans/0001-0.json --snapshot blind.json",
        "rackwise apply plans/0001-0.json --bootstrap-server broker-1:9092 --throttle 50MB",
    ]


def test_without_plans_it_is_planned():
    (found,) = part()
    assert found["title"] == "Plan the repair of cluster blind"


def test_the_only_rack_of_a_level_cannot_be_lost_alone():
    found = part(plans=planned(), offline={"blind": {"a": 9}})
    assert [one["partitions_offline"] for one in found] == [0]


def test_a_plan_of_unknown_monthly_price_asks_for_a_measurement():
    kinds = [one["kind"] for one in part(plans=planned(monthly_usd=None))]
    assert kinds == ["repair", "measure"]
    unpriced = planned(monthly_usd=None, usd=None)
    assert [one["kind"] for one in part(plans=unpriced)] == ["repair"]


def test_savings_alone_are_summed_by_what_changes():
    found = part(
        plans=planned(),
        billed=bill(
            saving("follower-fetch", "1", "2", topic="x", group="g"),
            saving("follower-fetch", None, "3", topic="y", group=UNKNOWN_NAME),
            saving("follower-fetch", "90", "90", view=WATERFALL),
            saving("follower-fetch", "99", "99", name="of an earlier run"),
            saving("assignment", "0.5", "0.5", group="g"),
            saving("assignment", "9", "9", group=UNKNOWN_NAME),
            saving("producing", "0.25", None, topic="t", eps=0.1),
            saving("producing", "70", "70", topic="t", eps=0.2),
            by_topic=[{"cluster": "fine", "topic": UNKNOWN_NAME, "bytes_cross": 4}],
        ),
    )
    assert [(one["kind"], one["saves_low_usd"], one["saves_high_usd"]) for one in found] == [
        ("repair", None, None),
        ("follower-fetch", "1.000000000", "5.000000000"),
        ("assignment", "0.500000000", "0.500000000"),
        ("producing", "0.250000000", None),
        ("measure", None, None),
    ]


@pytest.mark.parametrize("host", [None, "broker-1"])
def test_a_cluster_without_addresses_has_a_placeholder(host, monkeypatch):
    brokers = tuple(replace(one, host=host, port=None) for one in CLUSTERS["blind"].brokers)
    monkeypatch.setitem(CLUSTERS, "blind", replace(CLUSTERS["blind"], brokers=brokers))
    (found,) = part(plans=planned())
    assert "--bootstrap-server HOST:PORT" in found["steps"][1]["line"]
