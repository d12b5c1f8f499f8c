"""The choice of the next moves, within the limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from applied_plans import move, plan_of
from rackwise.core.applying.budget import Budget, room_of
from rackwise.core.applying.model import Caps, ObservedPartition, Progress
from rackwise.core.applying.start import start
from rackwise.core.applying.window import capacity_in_use, is_pending, next_batch


def _state(*moves, **caps):
    """All partitions are read, none is started, and the first replica of `before` leads each."""
    state = start(plan_of(*moves), Caps(**caps))
    partitions = {
        which: Progress(
            is_certain=True,
            seen=ObservedPartition(topic_id=None, replicas=each.before, leader=each.before[0]),
        )
        for which, each in state.moves.items()
    }
    return replace(state, partitions=partitions, queried=tuple(partitions))


def _begun(state, foreign=None):
    ready = [
        which for which, each in state.partitions.items() if each.is_certain and is_pending(each)
    ]
    room = room_of(Budget(), (), state.moves, 0)
    batch, changes = next_batch(state, ready, foreign or {}, room)
    return [f"{topic}-{number}" for topic, number in batch], changes


def _set(state, name, **told):
    topic, number = name.rsplit("-", 1)
    which = (topic, int(number))
    partitions = {**state.partitions, which: replace(state.partitions[which], **told)}
    return replace(state, partitions=partitions)


FOUR = [
    move("t-0", (1,), (4,), 100),
    move("t-1", (2,), (4,), 100),
    move("t-2", (3,), (4,), 100),
    move("t-3", (1,), (5,), 100),
]


@pytest.mark.parametrize(
    ("caps", "expected"),
    [
        ({}, ["t-0", "t-1", "t-2", "t-3"]),
        ({"at_once": 3}, ["t-0", "t-1", "t-2"]),
        ({"per_request": 2}, ["t-0", "t-1"]),
        ({"per_broker": 2}, ["t-0", "t-1", "t-3"]),
        ({"per_leader": 1}, ["t-0", "t-1", "t-2"]),
        ({"bytes_in_flight": 250}, ["t-0", "t-1"]),
        ({"bytes_in_flight": 50}, ["t-0"]),
    ],
)
def test_limits_hold_and_smaller_moves_pass_larger_ones(caps, expected):
    assert _begun(_state(*FOUR, **caps)) == (expected, False)


def test_running_and_uncertain_moves_use_capacity():
    state = _state(*FOUR, per_broker=2)
    moving = ObservedPartition(topic_id=None, replicas=(4, 1), adding=(4,), removing=(1,), leader=1)
    assert _begun(_set(state, "t-0", class_="moving", seen=moving))[0] == ["t-1", "t-3"]
    asked = _set(state, "t-0", sent="intent", is_certain=False)
    assert capacity_in_use(asked, {}).into == {4: 1}
    assert capacity_in_use(state, {}).into == {}


def test_foreign_moves_use_capacity():
    foreign = {
        ("x", 0): ObservedPartition(
            topic_id=None, replicas=(4, 9), adding=(4,), removing=(9,), leader=9
        )
    }
    assert _begun(_state(*FOUR, per_broker=1), foreign)[0] == ["t-3"]
    theirs = _set(_state(*FOUR, at_once=1), "t-0", class_="foreign_moving")
    assert _begun(theirs)[0] == []


def test_a_new_order_uses_no_capacity_of_brokers():
    state = _state(move("t-0", (1,), (4,)), move("t-1", (1, 4), (4, 1)), per_broker=1, per_leader=1)
    assert _begun(state)[0] == ["t-0", "t-1"]


def test_unknown_sizes_move_alone_where_bytes_are_limited():
    moves = [move("t-0", (1,), (4,), None), move("t-1", (2,), (5,), 1)]
    assert _begun(_state(*moves, bytes_in_flight=100))[0] == ["t-0"]
    assert _begun(_state(*reversed(moves), bytes_in_flight=100))[0] == ["t-1"]
    assert _begun(_state(*moves))[0] == ["t-0", "t-1"]


def test_an_unknown_leader_does_not_limit():
    state = _state(*FOUR, per_leader=1)
    for name in ("t-0", "t-3"):
        state = _set(state, name, seen=ObservedPartition(topic_id=None, replicas=(1,)))
    assert _begun(state)[0] == ["t-0", "t-1", "t-2", "t-3"]
    state = _set(state, "t-0", seen=None)
    assert _begun(state)[0] == ["t-0", "t-1", "t-2", "t-3"]


def test_the_first_move_decides_whether_lengths_change():
    moves = [move("t-0", (1,), (1, 4)), move("t-1", (2,), (3,)), move("t-2", (2, 3), (3,))]
    assert _begun(_state(*moves)) == (["t-0", "t-2"], True)


def test_a_move_is_not_pending_after_five_requests():
    assert is_pending(Progress(tries=4))
    assert not is_pending(Progress(tries=5))
    assert not is_pending(Progress(class_="moving"))
