"""The outcome of a run."""

from __future__ import annotations

import pytest

from rackwise.core.applying.model import ObservedPartition, Outcome, ThrottleKey
from rackwise.core.applying.throttle_configs import LEADER_RATE

KEY = ThrottleKey("broker", "1", LEADER_RATE)


def outcome(*classes, mode="apply", **told) -> Outcome:
    """The outcome with partitions t-0, t-1, .. in these classes."""
    return Outcome(
        mode=mode, classes={("t", i): each for i, each in enumerate(classes)}, codes={}, **told
    )


def test_every_partition_is_counted_once():
    ended = outcome("done", "refused", "moving", "not_started", "dropped", "target_dead")
    assert [len(each) for each in (ended.done, ended.failed, ended.skipped, ended.dropped)] == [
        1,
        2,
        2,
        1,
    ]


@pytest.mark.parametrize(
    ("ended", "is_reached"),
    [
        (outcome("done", "dropped"), True),
        (outcome("done", "moving"), False),
        (outcome("done", "diverged"), False),
        (outcome("done", not_elected={("t", 0): "x"}), False),
        (outcome("done", throttles_left=(KEY,)), False),
        (outcome("done", stop="interrupted"), False),
        (outcome("cancelled", "not_started", "cancelled_externally", mode="cancel"), True),
        (outcome("cancelled", "moving", mode="cancel"), False),
        (outcome(mode="restore"), True),
        (outcome(mode="restore", throttles_left=(KEY,)), False),
    ],
)
def test_is_reached_when_nothing_is_left_to_do(ended, is_reached):
    assert ended.is_reached is is_reached


def test_moves_that_a_cancel_could_not_cancel():
    assert outcome("moving", "done", mode="cancel").not_cancelled == (("t", 0),)
    assert outcome("moving").not_cancelled == ()


def test_placed_and_target_replicas():
    seen = ObservedPartition(topic_id=None, replicas=(0, 1, 3, 2), adding=(3,), removing=(2,))
    assert (seen.placed, seen.target, seen.is_reassigning) == ((0, 1, 2), (0, 1, 3), True)
    assert not ObservedPartition(topic_id=None, replicas=(0,)).is_reassigning
