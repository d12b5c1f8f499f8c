"""Plans from replica lists that somebody else chose."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from rackwise.core.applying.foreign import NOT_OURS, foreign_plan, is_foreign
from rackwise.core.errors import ForeignReassignment, StalePlan
from rackwise.core.model import Broker, Cluster, Partition, PartitionTable, Topic
from rackwise.core.planning.model import SeenBroker
from rackwise.core.racks import Rack


def cluster(*partitions, **changes):
    return Cluster(
        **{
            "cluster_id": "c",
            "taken_at": "2026-11-26T00:00:00Z",
            "brokers": tuple(Broker(id=each, rack=Rack(f"r{each}")) for each in (1, 2, 3)),
            "topics": MappingProxyType({"t": Topic(name="t", id="id-t"), "u": Topic(name="u")}),
            "partitions": PartitionTable.of(partitions),
            **changes,
        }
    )


def row(topic, partition, *replicas, size=None, **fields):
    return Partition(topic=topic, partition=partition, replicas=replicas, bytes=size, **fields)


FOUR = (row("t", 0, 1, 2, size=10), row("t", 1, 1, 2, size=70), row("t", 2, 1, 2), row("u", 0, 3))
TARGETS = {("t", 0): (1, 3), ("t", 1): (1, 3), ("t", 2): (2, 1), ("u", 0): (3,)}


def test_the_lists_of_before_are_recorded_and_what_is_there_already_is_no_move():
    plan = foreign_plan(cluster(*FOUR), TARGETS)
    moves = [(each.topic, each.partition, each.before, each.after) for each in plan.moves]
    assert moves == [
        ("t", 1, (1, 2), (1, 3)),
        ("t", 0, (1, 2), (1, 3)),
        ("t", 2, (1, 2), (2, 1)),
    ]
    assert [each.topic_id for each in plan.moves] == ["id-t"] * 3
    assert (plan.cluster_id, plan.sha256, is_foreign(plan)) == ("c", "", True)
    assert plan.made_from.brokers[1] == SeenBroker(Rack("r1"), None)
    assert plan.made_from.partitions == {"t": 3, "u": 1}
    totals = plan.totals
    assert (totals.moves, totals.partitions, totals.bytes, totals.unknown_sizes) == (2, 2, 80, 0)
    assert (totals.leader_changes, totals.order_only) == (1, 1)


def test_nothing_is_claimed_about_it():
    verdict = foreign_plan(cluster(*FOUR), TARGETS).verdict
    assert (verdict.is_proved, verdict.problems) == (False, (NOT_OURS,))
    assert verdict.text == "gap 2"


def test_what_the_cluster_does_not_have_is_named():
    targets = {("t", 0): (1, 9), ("t", 7): (1, 2), ("v", 0): (1,)}
    with pytest.raises(StalePlan) as raised:
        foreign_plan(cluster(*FOUR), targets)
    assert raised.value.message == (
        "expected partitions and brokers of the cluster, got others in 3 rows: "
        "t-0: broker 9 is not listed, t-7 does not exist, v-0 does not exist"
    )


def test_of_many_the_first_ten_are_named():
    with pytest.raises(StalePlan, match=r"v-9 does not exist and 2 more"):
        foreign_plan(cluster(*FOUR), {("v", number): (1,) for number in range(12)})


@pytest.mark.parametrize("field", ["adding", "removing"])
def test_a_partition_that_is_being_reassigned_is_rejected(field):
    moving = row("t", 0, 1, 2, 3, **{field: (3,)})
    with pytest.raises(ForeignReassignment, match=r"got 1 that are: t-0"):
        foreign_plan(cluster(moving), {("t", 0): (1, 3)})
