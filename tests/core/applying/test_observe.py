"""The effect of one reading: classes that are certain, and bytes that arrived."""

from __future__ import annotations

from dataclasses import replace

import pytest

from applied_plans import move, plan_of
from rackwise.core.applying.actions import Looked
from rackwise.core.applying.model import ObservedPartition, Progress
from rackwise.core.applying.observe import apply_look
from rackwise.core.applying.start import start

PLAN = plan_of(move("t-0", (1, 2), (1, 3), 1_000))
T0 = ("t", 0)
BEFORE = ObservedPartition(topic_id="id-t", replicas=(1, 2), leader=1, isr=(1, 2))
AFTER = ObservedPartition(topic_id="id-t", replicas=(1, 3), leader=1, isr=(1, 3))
MOVING = ObservedPartition(
    topic_id="id-t", replicas=(1, 3, 2), adding=(3,), removing=(2,), leader=1
)


def _state(**fields):
    state = start(PLAN)
    return replace(state, queried=(T0,), partitions={T0: Progress(**fields)})


def _look(state, seen, at_ms, **fields):
    shown = {} if seen is None else {T0: seen}
    return apply_look(
        state, Looked(at_ms=at_ms, partitions=shown, live=frozenset({1, 2, 3}), **fields)
    )


def _class(state, *looks, **fields):
    """The class after these readings, and whether it is certain."""
    for at_ms, seen in looks:
        state, _ = _look(state, seen, at_ms, **fields)
    progress = state.partitions[T0]
    return progress.class_, progress.is_certain


class TestCertainClasses:
    def test_a_reading_of_the_controller_is_certain_at_once(self):
        assert _class(_state(sent="intent"), (0, MOVING)) == ("moving", True)
        assert _class(_state(), (0, MOVING)) == ("foreign_moving", True)

    def test_an_unrequested_move_in_its_old_state_is_certain_at_once(self):
        assert _class(_state(), (0, BEFORE)) == ("not_started", True)

    def test_done_is_certain_in_the_second_equal_reading(self):
        assert _class(_state(sent="sent"), (0, AFTER)) == ("not_started", False)
        assert _class(_state(sent="sent"), (0, AFTER), (1, AFTER)) == ("done", True)
        assert _class(_state(sent="sent"), (0, AFTER), (1, BEFORE))[1] is False

    @pytest.mark.parametrize(
        ("sent", "seen", "class_"),
        [
            ("sent", BEFORE, "cancelled_externally"),
            ("intent", BEFORE, "not_started"),
            ("none", None, "topic_gone"),
            ("none", replace(BEFORE, replicas=(5, 6)), "diverged"),
        ],
    )
    def test_a_state_that_may_lag_is_certain_after_three_equal_seconds(self, sent, seen, class_):
        state = _state(sent=sent)
        assert _class(state, (0, seen), (2_999, seen))[1] is False
        assert _class(state, (0, seen), (3_000, seen)) == (class_, True)
        assert _class(state, (0, seen), (2_000, AFTER), (3_000, seen))[1] is False
        assert _class(state, (0, seen), by_controller=True) == (class_, True)


class TestCancels:
    def test_the_run_that_requested_a_cancel_cancelled_the_move(self):
        state = _state(sent="cancelling", cancels=1, class_="moving")
        assert _class(state, (0, BEFORE), (3_000, BEFORE)) == ("target_dead", True)
        cancelling = replace(state, mode="cancel")
        assert _class(cancelling, (0, BEFORE), (3_000, BEFORE)) == ("cancelled", True)
        assert _class(state, (0, MOVING)) == ("moving", True)
        assert _class(state, (0, AFTER), (1, AFTER)) == ("done", True)

    def test_a_later_run_starts_or_continues_a_cancelled_move(self):
        state = _state(sent="cancelling")
        after, _ = _look(state, MOVING, 0)
        assert after.partitions[T0].sent == "sent"
        assert _class(state, (0, BEFORE), (3_000, BEFORE)) == ("not_started", True)


class TestJournalLines:
    def test_each_final_class_is_journalled_once(self):
        state = _state(sent="sent")
        state, none = _look(state, AFTER, 0)
        state, one = _look(state, AFTER, 1)
        state, again = _look(state, AFTER, 2)
        assert (none, [line.class_ for line in one], again) == ((), ["done"], ())

    def test_the_result_of_an_unanswered_request_is_journalled(self):
        _, lines = _look(_state(sent="intent", code="REQUEST_TIMED_OUT"), MOVING, 0)
        assert [(line.class_, line.code) for line in lines] == [("moving", "REQUEST_TIMED_OUT")]

    def test_a_move_seen_running_was_accepted_and_then_cancelled_by_others(self):
        state, _ = _look(_state(sent="intent"), MOVING, 0)
        assert _class(state, (1, BEFORE), (3_001, BEFORE)) == ("cancelled_externally", True)

    def test_moves_that_are_not_started_have_no_line(self):
        assert _look(_state(), BEFORE, 0)[1] == ()


class TestBytes:
    def _moving(self, arrived, **fields):
        return replace(MOVING, adding_bytes={3: arrived}, **fields)

    def test_bytes_between_two_readings_by_broker_and_leader(self):
        state, _ = _look(_state(sent="sent"), self._moving(100), 0, has_sizes=True)
        state, _ = _look(state, self._moving(700), 5_000, has_sizes=True)
        sample = state.samples[-1]
        assert (sample.incoming, sample.outgoing) == ({3: 600}, {1: 600})
        assert (sample.from_ms, sample.at_ms, state.progress_ms) == (0, 5_000, 5_000)

    def test_readings_without_sizes_keep_the_last_sizes(self):
        state, _ = _look(_state(sent="sent"), self._moving(100), 0, has_sizes=True)
        state, _ = _look(state, MOVING, 1_000)
        assert state.partitions[T0].seen.adding_bytes == {3: 100}
        assert state.progress_ms == 0

    def test_a_completed_move_adds_its_missing_bytes(self):
        state, _ = _look(_state(sent="sent"), self._moving(100), 0, has_sizes=True)
        state, _ = _look(state, AFTER, 5_000, has_sizes=True)
        assert state.samples[-1].incoming == {3: 900}

    def test_a_cancelled_move_and_a_smaller_size_add_no_bytes(self):
        first, _ = _look(_state(sent="sent"), self._moving(100), 0, has_sizes=True)
        for seen in (BEFORE, self._moving(40), None, replace(MOVING, adding_bytes={})):
            state, _ = _look(first, seen, 5_000, has_sizes=True)
            assert state.samples[-1].incoming == {}

    def test_bytes_without_a_leader_have_no_source(self):
        state, _ = _look(_state(sent="sent"), self._moving(100, leader=None), 0, has_sizes=True)
        state, _ = _look(state, self._moving(700), 5_000, has_sizes=True)
        assert (state.samples[-1].incoming, state.samples[-1].outgoing) == ({3: 600}, {})

    def test_samples_older_than_a_minute_are_dropped(self):
        state = _state(sent="sent")
        for second in range(0, 130, 10):
            state, _ = _look(state, self._moving(second), second * 1_000, has_sizes=True)
        assert state.samples[0].from_ms == 60_000
