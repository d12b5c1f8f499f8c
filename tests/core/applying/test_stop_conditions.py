"""The stop conditions of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from applied_plans import move, plan_of
from rackwise.core.applying.actions import Looked
from rackwise.core.applying.journal.lines import Go, Pause
from rackwise.core.applying.model import Baseline, Caps, ObservedPartition, Progress
from rackwise.core.applying.start import start
from rackwise.core.applying.stop_conditions import (
    brokers_down,
    can_cancel,
    dead_targets,
    is_blocked,
    may_cause_stall,
    update_pauses,
)

T0 = ("t", 0)
MOVING = ObservedPartition(
    topic_id=None, replicas=(1, 3, 2), adding=(3,), removing=(2,), leader=1, isr=(1, 2)
)


def _state(**fields):
    state = start(plan_of(move("t-0", (1, 2), (1, 3))), Caps(stall_ms=1_000, down_ms=100))
    live = frozenset({1, 2, 3})
    values = {
        "partitions": {T0: Progress(class_="moving", seen=MOVING, is_certain=True)},
        "live": live,
        "queried": (T0,),
        "baseline": Baseline(live=live),
    }
    return replace(state, **{**values, **fields})


def _guarded(state, at_ms=0, live=(1, 2, 3), **fields):
    state = replace(state, live=frozenset(live))
    return update_pauses(state, Looked(at_ms=at_ms, partitions={}, live=frozenset(live), **fields))


def test_a_healthy_cluster_pauses_nothing():
    state, lines = _guarded(_state())
    assert (state.pauses, state.paused_since_ms, lines) == ((), None, ())


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"live": (1, 2)}, "broker 3 is down"),
        ({"offline": frozenset({T0})}, "t-0 is offline"),
        (
            {"offline": frozenset({("u\x1b", 1), T0})},
            "t-0, u\\x1b-1 are offline",
        ),
        (
            {"under_min_isr": frozenset(("t", i) for i in range(5))},
            "t-0, t-1, t-2 and 2 more are under min ISR",
        ),
        ({"bad_dirs": frozenset({(2, "/a\x07")})}, "broker 2: log folder /a\\x07 has an error"),
    ],
)
def test_each_reason_names_its_cause(fields, reason):
    state, lines = _guarded(_state(), **fields)
    assert (state.pauses, lines) == ((reason,), (Pause(reasons=(reason,)),))


def test_a_pause_is_journalled_once_with_its_first_time():
    state, _ = _guarded(_state(), 10, live=(1, 2))
    state, again = _guarded(state, 20, live=(1, 2))
    assert (state.paused_since_ms, again) == (10, ())
    state, lines = _guarded(state, 30, live=(1,))
    assert (state.paused_since_ms, lines[0].reasons) == (
        10,
        ("broker 2 is down", "broker 3 is down"),
    )
    state, lines = _guarded(state, 40)
    assert (state.paused_since_ms, lines) == (None, (Go(),))


class TestStall:
    @pytest.mark.parametrize(
        ("fields", "is_stalled"),
        [
            ({"sizes_read_ms": 900}, True),
            ({"sizes_read_ms": None}, False),
            ({"sizes_read_ms": 0}, False),
            ({"sizes_read_ms": 900, "progress_ms": 1}, False),
            (
                {"sizes_read_ms": 900, "partitions": {T0: Progress(class_="done", seen=MOVING)}},
                False,
            ),
            ({"sizes_read_ms": 900, "partitions": {T0: Progress(class_="moving")}}, False),
        ],
    )
    def test_a_stall_needs_measured_and_missing_bytes(self, fields, is_stalled):
        state, _ = _guarded(_state(**fields), 1_000)
        assert bool(state.pauses) is is_stalled

    def test_a_stall_names_the_brokers_and_a_throttle(self):
        state, _ = _guarded(_state(sizes_read_ms=900), 1_000)
        advice = "no throttle of this run holds there: look at these brokers' logs and the leaders'"
        assert state.pauses == (f"no byte came in 1 second into broker 3; {advice}",)

    @pytest.mark.parametrize(
        ("rate", "advice"),
        [
            (7, "may be why: run rackwise throttle with a larger rate"),
            (
                10 * 2**20,
                (
                    "may be why: interrupt, then rackwise resume with a larger --throttle and "
                    "--throttle-over ours"
                ),
            ),
            (10 * 2**20 + 1, "lets more through: look at these brokers' logs and the leaders'"),
        ],
        ids=["ours", "theirs", "wide"],
    )
    def test_a_low_throttle_may_be_the_cause(self, rate, advice):
        partitions = {T0: Progress(class_="moving", seen=replace(MOVING, adding=(3, 4)))}
        rates = {3: rate, 4: rate, 5: 1}
        state = _state(sizes_read_ms=900, partitions=partitions, rates_in=rates, rate=7)
        state, _ = _guarded(state, 1_000, live=(1, 2, 3, 4))
        came = "no byte came in 1 second into brokers 3, 4"
        assert state.pauses == (f"{came}; the throttle of {rate} bytes/s there {advice}",)


@pytest.mark.parametrize(("rate", "is_so"), [(17_476, True), (17_477, False)])
def test_a_throttle_of_one_fetch_per_stall_may_cause_it(rate, is_so):
    assert may_cause_stall(rate, Caps()) is is_so


class TestDeadTargets:
    def test_dead_targets_after_down_ms_and_only_of_their_moves(self):
        state, _ = _guarded(_state(), 0, live=(1, 2))
        assert state.dead_since_ms == {3: 0}
        assert dead_targets(state, 99) == ()
        assert dead_targets(state, 100) == (T0,)
        state, _ = _guarded(state, 150)
        assert state.dead_since_ms == {}

    @pytest.mark.parametrize("progress", [Progress(class_="moving"), Progress(class_="done")])
    def test_a_move_not_seen_running_has_no_dead_target(self, progress):
        state = _state(dead_since_ms={3: 0}, partitions={T0: progress})
        assert dead_targets(state, 1_000) == ()

    def test_dead_targets_of_moves_to_start_count(self):
        seen = ObservedPartition(topic_id=None, replicas=(1, 2))
        state = _state(partitions={T0: Progress(seen=seen, is_certain=True)})
        state, _ = _guarded(state, 5, live=(1, 2))
        assert (state.dead_since_ms, is_blocked(state, T0)) == ({3: 5}, True)
        state, _ = _guarded(state, 6)
        assert not is_blocked(state, T0)

    @pytest.mark.parametrize(
        ("live", "isr", "expected"),
        [
            ({1, 2}, (1, 2), True),
            ({3}, (1, 2), False),
            ({1, 3}, (2,), False),
            ({3}, (3,), False),
        ],
    )
    def test_a_cancel_needs_a_live_in_sync_replica_of_before(self, live, isr, expected):
        progress = Progress(class_="moving", seen=replace(MOVING, isr=isr))
        state = _state(live=frozenset(live), partitions={T0: progress})
        assert can_cancel(state, T0) is expected

    def test_a_deleted_partition_cannot_be_cancelled(self):
        assert not can_cancel(_state(partitions={T0: Progress()}), T0)


def test_no_broker_is_down_before_the_first_reading():
    assert brokers_down(_state(baseline=None, live=frozenset())) == frozenset()
