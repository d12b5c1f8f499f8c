"""Throttles are set before anything moves."""

from __future__ import annotations

import pytest

from applied_plans import alters, blind, cluster, kinds, move, plan_of, run, run_until_wait
from rackwise.core.applying.actions import (
    Alter,
    AppendLine,
    Failed,
    Look,
    ReadThrottles,
    SetThrottles,
    ThrottleAsked,
    ThrottleRequest,
    ThrottlesSet,
    Wait,
)
from rackwise.core.applying.journal.codec import fields_of, line_of
from rackwise.core.applying.journal.lines import ThrottleChange
from rackwise.core.applying.model import Caps
from rackwise.core.applying.start import history_of, resume, start
from rackwise.core.applying.step import step
from rackwise.core.applying.throttle_configs import FOLLOWER_RATE, LEADER_RATE, LISTS

ONE = plan_of(move("t-0", (1, 2), (1, 3)))
T0 = ("t", 0)


class TestSetting:
    def test_a_rejected_throttle_ends_the_run_before_the_first_move(self):
        world = cluster(ONE)

        def intervene(state, action):
            if isinstance(action, SetThrottles) and state.phase == "setting":
                key = action.changes[0][0]
                world.execute(action)
                answers = {each: None for each, _ in action.changes} | {key: "POLICY_VIOLATION"}
                return ThrottlesSet(at_ms=world.now_ms, answers=answers)
            return "done"

        outcome = run(start(ONE, throttle=1_000), world, intervene)
        assert outcome.stop == "throttle"
        assert outcome.text == "Kafka rejected a throttle: POLICY_VIOLATION"
        assert (alters(world), world.configs(), outcome.throttles_left) == ([], ({}, {}), ())

    def test_a_throttle_that_never_becomes_visible_ends_the_run_before_the_first_move(self):
        world = cluster(ONE)
        outcome = run(start(ONE, throttle=1_000), world, blind(world))
        assert outcome.stop == "throttle"
        assert outcome.text == "a throttle that was set is not visible, 5 times"
        assert (alters(world), world.configs()) == ([], ({}, {}))

    def test_the_run_waits_until_a_throttle_is_visible(self):
        world = cluster(ONE)
        nothing_seen = blind(world)

        def intervene(state, action):
            return nothing_seen(state, action) if world.now_ms < 1_000 else "done"

        assert run(start(ONE, throttle=1_000), world, intervene).is_reached
        assert world.now_ms >= 1_000

    @pytest.mark.parametrize("kind", [ReadThrottles, SetThrottles])
    @pytest.mark.parametrize("fate", ["lost", "unanswered", "partly"])
    def test_requests_with_lost_answers_are_repeated(self, kind, fate):
        world = cluster(ONE)
        fates = iter([fate])

        def intervene(_, action):
            return next(fates, "done") if isinstance(action, kind) else "done"

        assert run(start(ONE, throttle=1_000), world, intervene).is_reached
        assert world.configs() == ({}, {})

    def test_throttles_that_never_arrive_end_the_run(self):
        world = cluster(ONE)

        def intervene(_, action):
            return "lost" if isinstance(action, SetThrottles) else "done"

        outcome = run(start(ONE, throttle=1_000), world, intervene)
        assert (outcome.stop, outcome.text) == ("throttle", "no answer to a throttle, 5 times")
        assert (alters(world), outcome.throttles_left) == ([], ())

    def test_throttles_that_were_set_are_seen_without_an_answer(self):
        world = cluster(ONE)

        def intervene(state, action):
            is_set = isinstance(action, SetThrottles) and state.phase == "setting"
            return "unanswered" if is_set else "done"

        assert run(start(ONE, throttle=1_000), world, intervene).is_reached
        assert world.configs() == ({}, {})

    def test_dead_brokers_get_their_throttle_when_they_return(self):
        plan = plan_of(move("t-0", (1, 2), (1, 3)), move("t-1", (4,), (5,), 20_000))
        world = cluster(plan)
        world.kill(3)

        def intervene(_, action):
            if isinstance(action, Wait) and world.now_ms > 1_000:
                world.start(3)
            if isinstance(action, Alter) and (T0, (1, 3)) in action.targets:
                assert world.broker_configs[3] == {FOLLOWER_RATE: "1000"}
            return "done"

        assert run(start(plan, throttle=1_000), world, intervene).is_reached
        assert [each.targets[0][0] for each in alters(world)] == [("t", 1), T0]
        assert world.configs() == ({}, {})

    def test_nothing_is_set_where_all_values_are_there(self):
        world = cluster(ONE)
        for broker in (1, 2):
            world.broker_configs[broker] = {LEADER_RATE: "1000"}
        world.broker_configs[3] = {FOLLOWER_RATE: "1000"}
        world.topic_configs["t"] = dict.fromkeys(LISTS, "*")
        before = world.copy().configs()
        assert run(start(ONE, throttle=1_000), world).is_reached
        assert world.configs() == before
        assert not any(isinstance(each, SetThrottles) for each in world.requests)

    def test_a_broker_that_dies_before_its_answer_is_read_again(self):
        world = cluster(ONE)
        reads = []

        def intervene(state, action):
            if isinstance(action, ReadThrottles) and state.phase == "reading":
                reads.append(world.now_ms)
                if len(reads) == 1:
                    world.kill(3)
            if isinstance(action, Wait) and len(reads) == 1:
                world.start(3)
            return "done"

        assert run(start(ONE, throttle=1_000), world, intervene).is_reached
        assert len(reads) == 2
        assert kinds(world).count("throttle_intent") == 1
        assert world.configs() == ({}, {})


ASKED = ThrottleRequest(rate=8_000, request="r1")
TWO = plan_of(move("t-0", (1, 2), (1, 3), 9_000), move("t-1", (1, 2), (1, 4), 9_000))
THEIRS = {2: {LEADER_RATE: "7000"}}


def changes(world):
    return [line for line in world.journal if isinstance(line, ThrottleChange)]


class TestAnotherRate:
    """Another throttle is requested while a run goes on."""

    def run_with(self, world, when, plan=TWO, asked=ASKED, **options):
        """A run for which another rate is requested once, before the action that `when` names."""
        requests = iter([asked])
        rates = []

        def ask(state, action):
            if isinstance(action, Alter | Wait):
                rates.append(world.broker_configs.get(3, {}).get(FOLLOWER_RATE))
            return next(requests, None) if when(state, action) else None

        outcome = run(start(plan, Caps(at_once=1), 5_000), world, ask=ask, **options)
        return outcome, rates

    def test_it_is_set_on_running_moves_and_all_is_restored(self):
        world = cluster(TWO, speed=1)
        world.broker_configs = {2: dict(THEIRS[2])}
        outcome, rates = self.run_with(world, lambda _, a: isinstance(a, Wait))
        assert outcome.is_reached
        assert (rates[0], rates[-1]) == ("5000", "8000")
        assert changes(world) == [
            ThrottleChange(rate=8_000, request="r1", is_set=False),
            ThrottleChange(rate=8_000, request="r1", is_set=True),
        ]
        assert world.configs() == (THEIRS, {})

    @pytest.mark.parametrize("number", range(40))
    def test_at_every_step_the_next_move_has_it_or_the_run_takes_none(self, number):
        world = cluster(TWO, speed=1)
        world.broker_configs = {2: dict(THEIRS[2])}
        steps = iter(range(1_000))
        outcome, _ = self.run_with(world, lambda _state, _action: next(steps) == number)
        assert outcome.is_reached
        assert world.configs() == (THEIRS, {})
        answers = [line.is_set for line in changes(world)]
        assert answers in ([], [False], [False, True])
        assert history_of(world.journal).throttle == (8_000 if answers else 5_000)

    def test_it_counts_as_set_only_once_it_is(self):
        """Where the first request for it was lost, it was reported as set."""
        world = cluster(TWO, speed=1)
        fates = iter(["lost", "lost"])
        rates = []

        def intervene(state, action):
            is_answer = isinstance(action, AppendLine) and isinstance(action.line, ThrottleChange)
            if is_answer and action.line.is_set:
                rates.append(world.broker_configs[3][FOLLOWER_RATE])
            is_change = isinstance(action, SetThrottles) and state.rate == ASKED.rate
            return next(fates, "done") if is_change and state.phase == "setting" else "done"

        self.run_with(world, lambda _, a: isinstance(a, Wait), intervene=intervene)
        assert rates == ["8000"]

    def test_a_run_without_a_throttle_gets_one(self):
        world = cluster(ONE, speed=1)
        waits = iter([None, ASKED])
        outcome = run(
            start(ONE), world, ask=lambda _, a: next(waits, None) if isinstance(a, Wait) else None
        )
        assert outcome.is_reached
        assert [line.is_set for line in changes(world)] == [False, True]
        assert "throttle_restored" in kinds(world)
        assert world.configs() == ({}, {})

    def test_where_nothing_is_copied_it_is_answered_at_once(self):
        swap = plan_of(move("t-0", (1, 2), (2, 1)))
        world = cluster(swap)
        self.run_with(world, lambda _, a: isinstance(a, Look), swap)
        assert [line.is_set for line in changes(world)] == [False, True]
        assert "throttle_intent" not in kinds(world)

    def test_a_run_that_was_interrupted_takes_none(self):
        world = cluster(ONE, speed=0)
        outcome, _ = self.run_with(
            world,
            lambda state, _: state.is_stopping,
            signal=lambda _, action: isinstance(action, Wait),
        )
        assert (outcome.stop, changes(world)) == ("interrupted", [])

    def killed(self):
        world = cluster(TWO, speed=0)
        run_until_wait(start(TWO, throttle=5_000), world)
        return world

    def cancel_with(self, world, when, intervene=lambda _state, _action: "done", asked=(ASKED,)):
        """A cancel of both moves, for which other rates are requested."""
        requests = iter(asked)
        rates = []

        def ask(state, action):
            rates.append(world.broker_configs.get(3, {}).get(FOLLOWER_RATE))
            return next(requests, None) if when(state, action) else None

        return run(resume(TWO, world.journal, mode="cancel"), world, intervene, ask=ask), rates

    def test_a_move_that_a_cancel_cannot_stop_gets_it(self):
        """It had the old rate until the cancel ended."""
        world = self.killed()
        world.partitions["t", 0].isr = {3}
        outcome, rates = self.cancel_with(world, lambda _, action: isinstance(action, Look))
        assert outcome.not_cancelled == (("t", 0),)
        assert (rates[0], rates[-1]) == ("5000", "8000")
        assert [line.is_set for line in changes(world)] == [False, True]
        assert world.broker_configs[4] == {FOLLOWER_RATE: "5000"}, "nothing is copied to it"

    @pytest.mark.parametrize(
        ("kind", "answer", "error"),
        [
            (SetThrottles, "rejected", "Kafka rejected a throttle: POLICY_VIOLATION"),
            (SetThrottles, "denied", "missing permission"),
            (ReadThrottles, "denied", "missing permission"),
            (SetThrottles, "lost", "no answer to a throttle, 5 times"),
        ],
    )
    def test_a_rate_that_cannot_be_set_does_not_end_a_cancel(self, kind, answer, error):
        """The run ended, and did not look whether the other move was cancelled."""
        world = self.killed()
        world.partitions["t", 0].isr = {3}

        def intervene(state, action):
            if not isinstance(action, kind) or state.phase == "reading_to_clear":
                return "done"
            if answer == "denied":
                return Failed(at_ms=world.now_ms, text=error, is_fatal=True)
            if answer == "rejected":
                answers = {key: "POLICY_VIOLATION" for key, _ in action.changes}
                return ThrottlesSet(at_ms=world.now_ms, answers=answers)
            return answer

        outcome, _ = self.cancel_with(world, lambda _, action: isinstance(action, Look), intervene)
        assert outcome.stop is None
        assert outcome.classes == {("t", 0): "moving", ("t", 1): "cancelled"}
        assert [(line.is_set, line.error) for line in changes(world)] == [
            (False, None),
            (False, error),
        ]
        lines = [line_of(fields_of(line)) for line in world.journal]
        assert resume(TWO, lines).rate == 5_000
        assert resume(TWO, lines, mode="cancel").rate_rejected is None

    def test_after_a_rejected_rate_a_cancel_takes_another(self):
        world = self.killed()
        world.partitions["t", 0].isr = {3}
        states = []
        fates = iter(["rejected"])

        def intervene(state, action):
            states.append(state)
            if isinstance(action, SetThrottles) and next(fates, None):
                answers = {key: "POLICY_VIOLATION" for key, _ in action.changes}
                return ThrottlesSet(at_ms=world.now_ms, answers=answers)
            return "done"

        other = ThrottleRequest(rate=9_000, request="r2")
        outcome, _ = self.cancel_with(
            world,
            lambda state, action: (
                isinstance(action, Look)
                and (state.rate_request is None and (state.rate is None or state.rate_rejected))
            ),
            intervene,
            asked=(ASKED, other),
        )
        assert outcome.stop is None
        assert [line.rate for line in changes(world) if line.is_set] == [9_000]
        assert world.broker_configs[3][FOLLOWER_RATE] == "9000"
        assert history_of(world.journal).throttle == 9_000
        assert states[-1].rate_rejected is None

    def test_a_cancel_that_leaves_nothing_running_sets_none(self):
        world = self.killed()
        outcome, _ = self.cancel_with(world, lambda _, action: isinstance(action, Look))
        assert outcome.is_reached
        assert [line.is_set for line in changes(world)] == [False]
        assert world.configs() == ({}, {})

    @pytest.mark.parametrize("number", range(15))
    def test_a_cancel_ends_at_whatever_step_it_is_requested(self, number):
        world = self.killed()
        steps = iter(range(1_000))
        outcome, _ = self.cancel_with(world, lambda _state, _action: next(steps) == number)
        assert outcome.is_reached
        assert world.configs() == ({}, {})

    def test_a_run_that_only_sets_a_throttle_takes_no_other(self):
        state = resume(TWO, (), mode="throttle")
        assert step(state, ThrottleAsked(at_ms=0, asked=ASKED)) == (state, ())

    def test_the_next_run_keeps_it(self):
        world = cluster(TWO, speed=0)
        state = run_until_wait(start(TWO, throttle=5_000), world)
        _, lines = step(state, ThrottleAsked(at_ms=0, asked=ASKED))
        for each in lines:
            assert isinstance(each, AppendLine)
            world.execute(each)
        lines = [line_of(fields_of(line)) for line in world.journal]
        assert resume(TWO, lines).rate == 8_000
        world.speed = 10
        assert run(resume(TWO, lines), world).is_reached
        assert world.configs() == ({}, {})


class TestThrottleAlone:
    """No process runs the plan, and its moves are running."""

    def killed(self):
        world = cluster(TWO, speed=0)
        run_until_wait(start(TWO, throttle=5_000), world)
        return world

    def throttle(self, world, **options):
        state = resume(TWO, world.journal, Caps(), 8_000, mode="throttle")
        return run(state, world, **options)

    def test_it_is_set_and_the_moves_are_left_alone(self):
        world = self.killed()
        asked = len(alters(world))
        outcome = self.throttle(world)
        assert (outcome.is_reached, len(alters(world))) == (True, asked)
        assert world.broker_configs[3][FOLLOWER_RATE] == "8000"
        assert resume(TWO, world.journal).rate == 8_000
        world.speed = 10
        assert run(resume(TWO, world.journal), world).is_reached
        assert world.configs() == ({}, {})

    def test_the_budget_of_the_killed_run_still_counts(self):
        world = self.killed()
        self.throttle(world)
        history = history_of(world.journal)
        assert history.open_run is not None
        assert history.begun == {("t", 0), ("t", 1)}
        assert (history.mode, history.was_cancelled) == ("apply", False)

    def test_a_signal_leaves_the_throttle_that_is_there(self):
        world = self.killed()
        for kind in (Look, ReadThrottles):
            outcome = self.throttle(world, signal=lambda _, a, kind=kind: isinstance(a, kind))
            assert (outcome.stop, outcome.is_reached) == ("interrupted", False)
            assert world.broker_configs[3][FOLLOWER_RATE] == "5000"

    def test_where_nothing_moves_nothing_is_set(self):
        world = cluster(TWO)
        outcome = self.throttle(world)
        assert (outcome.is_reached, outcome.has_written) == (True, False)
        assert world.configs() == ({}, {})
