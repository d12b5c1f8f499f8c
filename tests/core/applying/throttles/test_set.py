"""Throttles are set before anything moves."""

from __future__ import annotations

import pytest

from applied_plans import alters, blind, cluster, kinds, move, plan_of, run
from rackwise.core.applying.actions import Alter, ReadThrottles, SetThrottles, ThrottlesSet, Wait
from rackwise.core.applying.start import start
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
