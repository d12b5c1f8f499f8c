"""The requests of a run, and how often they are repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from applied_plans import move, plan_of
from rackwise.core.applying.model import Caps, ObservedPartition, Progress
from rackwise.core.applying.requests import HORIZON, is_due, look, wait
from rackwise.core.applying.start import start

SETTLED = Progress(is_certain=True, seen=ObservedPartition(topic_id=None, replicas=(1,)))


def _state(count, **classes):
    state = start(plan_of(*(move(f"t-{i}", (1,), (2,)) for i in range(count))), Caps())
    partitions = dict.fromkeys(state.partitions, SETTLED)
    return replace(state, partitions=partitions, **classes)


def test_later_readings_cover_open_moves_and_the_horizon():
    state = start(plan_of(*(move(f"t-{i}", (1,), (2,)) for i in range(HORIZON + 5))))
    assert len(look(state, 0)[1][0].partitions) == HORIZON + 5
    _, (later,) = look(_state(HORIZON + 5), 0)
    assert later.partitions == tuple(("t", i) for i in range(HORIZON))


@pytest.mark.parametrize(
    ("progress", "is_asked"),
    [
        (Progress(class_="moving", is_certain=True), True),
        (Progress(class_="foreign_moving", is_certain=True), True),
        (Progress(class_="done", is_certain=False), True),
        (Progress(class_="done", is_certain=True), True),
        (Progress(class_="done", is_certain=True, elections=3), False),
        (Progress(class_="done", is_certain=True, is_elected=True), False),
        (Progress(class_="diverged", is_certain=True), False),
        (Progress(class_="refused", is_certain=True), False),
        (Progress(class_="dropped"), False),
    ],
)
def test_final_partitions_are_not_read_again(progress, is_asked):
    state = _state(2)
    partitions = {**state.partitions, ("t", 0): progress}
    _, (action,) = look(replace(state, partitions=partitions), 0)
    assert (("t", 0) in action.partitions) is is_asked


@pytest.mark.parametrize(("sizes_read_ms", "expected"), [(None, True), (0, False), (-1, True)])
def test_sizes_are_read_every_five_seconds(sizes_read_ms, expected):
    assert look(_state(1, sizes_read_ms=sizes_read_ms), 4_999)[1][0].sizes is expected


def test_waits_grow_while_nothing_changes():
    state, waits = _state(1), []
    for _ in range(8):
        state, (action,) = wait(state)
        waits.append(action.most_ms)
    assert waits == [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]


def test_each_repeat_waits_a_second_longer():
    progress = Progress(asked_ms=10_000)
    assert is_due(progress, 0, 0)
    assert not is_due(progress, 2, 11_999)
    assert is_due(progress, 2, 12_000)
