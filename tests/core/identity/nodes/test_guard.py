"""The guard: what an id would lose if it came back with an empty disk."""

from dataclasses import replace

import pytest

from rackwise.core.identity.nodes.guard import PartitionReplicas, at_risk, lost

NOTHING = frozenset()


def standing(isr, replicas, topic="orders", partition=4):
    return PartitionReplicas(
        topic=topic, partition=partition, replicas=frozenset(replicas), isr=frozenset(isr)
    )


@pytest.mark.parametrize(
    ("isr", "replicas", "registered", "present", "expected"),
    [
        ([7, 1], [7, 1], {1}, NOTHING, ()),
        ([7, 1], [7, 1], NOTHING, NOTHING, ("orders-4",)),
        ([7, 1], [7, 1], {7}, NOTHING, ("orders-4",)),
        ([7], [7, 1], {1}, NOTHING, ("orders-4",)),
        ([7], [7, 1], {1}, {"orders-4"}, ()),
        ([1], [7, 1], NOTHING, NOTHING, ()),
        ([7], [7], NOTHING, NOTHING, ()),
    ],
    ids=[
        "another lives",
        "the other is dead",
        "its own stale registration is no other",
        "alone in sync",
        "on a second disk",
        "not in sync",
        "one replica",
    ],
)
def test_at_risk(isr, replicas, registered, present, expected):
    found = at_risk([standing(isr, replicas)], 7, registered=registered, present=present)
    assert found == expected


@pytest.mark.parametrize(
    ("eligible", "registered", "present", "expected"),
    [
        ([7], {1}, NOTHING, ("orders-4",)),
        ([7], {1}, {"orders-4"}, ()),
        ([1], NOTHING, NOTHING, ()),
    ],
    ids=["the controller may elect it", "on a second disk", "another may be elected"],
)
def test_a_partition_without_isr_is_at_risk_of_its_eligible_leaders(
    eligible, registered, present, expected
):
    alone = replace(standing([], [7, 1]), eligible=frozenset(eligible))
    assert at_risk([alone], 7, registered=registered, present=present) == expected


def test_by_topic_then_number():
    several = [
        standing([7], [7, 1], topic, number) for topic in ("b", "a") for number in (10, 9, 2)
    ]
    found = at_risk(several, 7, registered=NOTHING, present={"a-9"})
    assert found == ("a-2", "a-10", "b-2", "b-9", "b-10")


def test_what_had_one_replica_is_lost_already():
    several = [standing([7], [7]), standing([], [7], "logs", 0), standing([7], [7, 1], "x", 1)]
    assert lost(several, 7, present=NOTHING) == ("logs-0", "orders-4")
    assert lost(several, 7, present={"logs-0"}) == ("orders-4",)
    assert lost(several, 1, present=NOTHING) == ()
