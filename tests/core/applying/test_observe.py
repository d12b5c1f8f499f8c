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


def _state(**told):
    state = start(PLAN)
    return replace(state, queried=(T0,), partitions={T0: Progress(**told)})


def _look(state, seen, at_ms, **told):
    shown = {} if seen is None else {T0: seen}
    return apply_look(
        state, Looked(at_ms=at_ms, partitions=shown, live=frozenset({1, 2, 3}), **told)
    )


def _class(state, *looks, **told):
    """The class after these looks, and whether it is believed."""
    for at_ms, seen in looks:
        state, _ = _look(state, seen, at_ms, **told)
    progress = state.partitions[T0]
    return progress.class_, progress.is_certain


class TestWhatIsBelieved:
    def test_what_the_controller_lists_at_once(self):
        assert _class(_state(sent="intent"), (0, MOVING)) == ("moving", True)
        assert _class(_state(), (0, MOVING)) == ("foreign_moving", True)

    def test_what_was_never_asked_for_and_stands_as_before_at_once(self):
        assert _class(_state(), (0, BEFORE)) == ("not_started", True)

    def test_the_end_in_the_second_equal_look(self):
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
    def test_what_may_be_late_after_three_seconds_of_the_same(self, sent, seen, class_):
        state = _state(sent=sent)
        assert _class(state, (0, seen), (2_999, seen))[1] is False
        assert _class(state, (0, seen), (3_000, seen)) == (class_, True)
        assert _class(state, (0, seen), (2_000, AFTER), (3_000, seen))[1] is False
        assert _class(state, (0, seen), by_controller=True) == (class_, True)


class TestCancels:
    def test_in_the_run_that_asked_it_is_taken_back_by_us(self):
        state = _state(sent="cancelling", cancels=1, class_="moving")
        assert _class(state, (0, BEFORE), (3_000, BEFORE)) == ("target_dead", True)
        cancelling = replace(state, mode="cancel")
        assert _class(cancelling, (0, BEFORE), (3_000, BEFORE)) == ("cancelled", True)
        assert _class(state, (0, MOVING)) == ("moving", True)
        assert _class(state, (0, AFTER), (1, AFTER)) == ("done", True)

    def test_in_a_later_run_it_is_to_be_begun_or_goes_on(self):
        state = _state(sent="cancelling")
        after, _ = _look(state, MOVING, 0)
        assert after.partitions[T0].sent == "sent"
        assert _class(state, (0, BEFORE), (3_000, BEFORE)) == ("not_started", True)


class TestWhatTheJournalIsTold:
    def test_each_end_once(self):
        state = _state(sent="sent")
        state, none = _look(state, AFTER, 0)
        state, one = _look(state, AFTER, 1)
        state, again = _look(state, AFTER, 2)
        assert (none, [line.class_ for line in one], again) == ((), ["done"], ())

    def test_what_became_of_a_request_without_an_answer(self):
        _, lines = _look(_state(sent="intent", code="REQUEST_TIMED_OUT"), MOVING, 0)
        assert [(line.class_, line.code) for line in lines] == [("moving", "REQUEST_TIMED_OUT")]

    def test_what_was_found_moving_was_accepted_so_its_loss_is_others_doing(self):
        state, _ = _look(_state(sent="intent"), MOVING, 0)
        assert _class(state, (1, BEFORE), (3_001, BEFORE)) == ("cancelled_externally", True)

    def test_nothing_of_what_is_not_begun(self):
        assert _look(_state(), BEFORE, 0)[1] == ()


class TestBytes:
    def _moving(self, arrived, **told):
        return replace(MOVING, adding_bytes={3: arrived}, **told)

    def test_what_came_between_two_looks_by_broker_and_leader(self):
        state, _ = _look(_state(sent="sent"), self._moving(100), 0, has_sizes=True)
        state, _ = _look(state, self._moving(700), 5_000, has_sizes=True)
        sample = state.samples[-1]
        assert (sample.incoming, sample.outgoing) == ({3: 600}, {1: 600})
        assert (sample.from_ms, sample.at_ms, state.progress_ms) == (0, 5_000, 5_000)

    def test_looks_without_sizes_keep_the_last_ones(self):
        state, _ = _look(_state(sent="sent"), self._moving(100), 0, has_sizes=True)
        state, _ = _look(state, MOVING, 1_000)
        assert state.partitions[T0].seen.adding_bytes == {3: 100}
        assert state.progress_ms == 0

    def test_the_end_brings_what_was_missing(self):
        state, _ = _look(_state(sent="sent"), self._moving(100), 0, has_sizes=True)
        state, _ = _look(state, AFTER, 5_000, has_sizes=True)
        assert state.samples[-1].incoming == {3: 900}

    def test_what_was_taken_back_brings_nothing_and_neither_does_a_smaller_size(self):
        first, _ = _look(_state(sent="sent"), self._moving(100), 0, has_sizes=True)
        for seen in (BEFORE, self._moving(40), None, replace(MOVING, adding_bytes={})):
            state, _ = _look(first, seen, 5_000, has_sizes=True)
            assert state.samples[-1].incoming == {}

    def test_without_a_leader_it_comes_from_nobody_known(self):
        state, _ = _look(_state(sent="sent"), self._moving(100, leader=None), 0, has_sizes=True)
        state, _ = _look(state, self._moving(700), 5_000, has_sizes=True)
        assert (state.samples[-1].incoming, state.samples[-1].outgoing) == ({3: 600}, {})

    def test_samples_older_than_a_minute_are_forgotten(self):
        state = _state(sent="sent")
        for second in range(0, 130, 10):
            state, _ = _look(state, self._moving(second), second * 1_000, has_sizes=True)
        assert state.samples[0].from_ms == 60_000
