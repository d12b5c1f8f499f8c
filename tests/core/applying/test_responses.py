"""The meaning of answers to requests, and of missing answers."""

from __future__ import annotations

import pytest

from applied_plans import alters, cluster, journalled_classes, kinds, move, plan_of, run
from rackwise.core.applying.actions import Alter, Elect
from rackwise.core.applying.start import start

ONE = plan_of(move("t-0", (1, 2), (1, 3)))
SWAP = plan_of(move("t-0", (1, 2), (2, 1)))
T0 = ("t", 0)


class TestLostAnswers:
    """The result is read from the cluster before a request is repeated."""

    @pytest.mark.parametrize("fate", ["unanswered", "partly"])
    def test_an_accepted_request_is_found_by_reading_and_not_repeated(self, fate):
        plan = plan_of(*(move(f"t-{i}", (1, 2), (1, 3), 50_000) for i in range(4)))
        world = cluster(plan)
        outcome = run(start(plan), world, lambda _, a: fate if isinstance(a, Alter) else "done")
        assert outcome.is_reached
        assert len(alters(world)) == 1
        found = [which for which, class_ in journalled_classes(world) if class_ == "moving"]
        assert found == ["t-0", "t-1", "t-2", "t-3"][fate == "partly" :: 1 + (fate == "partly")]

    def test_a_lost_request_is_repeated_once_that_is_certain(self):
        world = cluster(ONE)
        fates = iter(["lost"])
        times = []

        def intervene(_, action):
            if isinstance(action, Alter):
                times.append(world.now_ms)
                return next(fates, "done")
            return "done"

        assert run(start(ONE), world, intervene).is_reached
        assert len(times) == 2
        assert times[1] - times[0] >= 3_000
        assert journalled_classes(world) == [("t-0", "not_started"), ("t-0", "done")]

    def test_a_move_is_given_up_after_five_unanswered_requests(self):
        world = cluster(ONE)

        def intervene(_, action):
            return "lost" if isinstance(action, Alter) else "done"

        outcome = run(start(ONE), world, intervene)
        assert (outcome.failed, outcome.classes[T0]) == ((T0,), "refused")
        assert kinds(world).count("batch_intent") == 5

    @pytest.mark.parametrize("fate", ["lost", "unanswered", "partly"])
    def test_an_unanswered_election_is_found_by_reading(self, fate):
        plan = plan_of(move("t-0", (1, 2), (2, 1)), move("t-1", (1, 2), (2, 1)))
        world = cluster(plan)
        fates = iter([fate])
        outcome = run(
            start(plan), world, lambda _, a: next(fates, "done") if isinstance(a, Elect) else "done"
        )
        assert outcome.is_reached
        assert [held.leader for held in world.partitions.values()] == [2, 2]


class TestRejections:
    def test_a_rejected_move_is_reported_and_the_others_continue(self):
        plan = plan_of(move("t-0", (1,), (2,)), move("t-1", (1,), (2,)))
        world = cluster(plan)
        world.refusals[T0] = "POLICY_VIOLATION"
        outcome = run(start(plan), world)
        assert (outcome.done, outcome.failed) == ((("t", 1),), (T0,))
        assert outcome.codes == {T0: "POLICY_VIOLATION"}
        assert not outcome.is_reached
        assert ("t-0", "refused") in journalled_classes(world)

    def test_a_controller_that_moved_is_asked_again(self):
        world = cluster(ONE)
        world.refusals[T0] = "NOT_CONTROLLER"
        outcome = run(start(ONE), world)
        assert outcome.is_reached
        assert len(alters(world)) == 2

    def test_a_timeout_of_kafka_is_no_rejection(self):
        world = cluster(ONE)
        world.refusals[T0] = "REQUEST_TIMED_OUT"
        assert run(start(ONE), world).is_reached

    def test_a_failed_election_is_reported_after_three_tries(self):
        world = cluster(SWAP)

        def intervene(_, action):
            if isinstance(action, Elect):
                world.refusals[T0] = "PREFERRED_LEADER_NOT_AVAILABLE"
            return "done"

        outcome = run(start(SWAP), world, intervene)
        why = "Kafka rejected it, PREFERRED_LEADER_NOT_AVAILABLE"
        assert (outcome.done, outcome.not_elected) == ((T0,), {T0: why})
        assert outcome.codes == {T0: "PREFERRED_LEADER_NOT_AVAILABLE"}
        assert not outcome.is_reached
        assert kinds(world).count("elect_intent") == 3

    def test_the_run_does_not_wait_for_a_leader_that_was_dead_from_the_start(self):
        world = cluster(SWAP)
        world.kill(2)
        outcome = run(start(SWAP), world)
        assert outcome.not_elected == {T0: "broker 2 is down"}
        assert not any(isinstance(each, Elect) for each in world.requests)

    def test_a_leader_that_is_not_in_sync_is_named(self):
        world = cluster(SWAP)

        def intervene(*_):
            world.partitions[T0].isr.discard(2)
            return "done"

        outcome = run(start(SWAP), world, intervene)
        assert outcome.not_elected == {T0: "broker 2 is not in sync"}

    def test_an_election_without_an_answer_is_named(self):
        world = cluster(SWAP)
        outcome = run(start(SWAP), world, lambda _, a: "lost" if isinstance(a, Elect) else "done")
        assert outcome.not_elected == {T0: "no answer to 3 requests"}

    def test_an_election_that_a_signal_prevented_is_named(self):
        world = cluster(SWAP)
        outcome = run(start(SWAP), world, signal=lambda _, a: isinstance(a, Elect))
        assert outcome.not_elected in ({}, {T0: "the run ended before it"})

    def test_one_broker_that_is_down_holds_up_an_election(self):
        world = cluster(SWAP)

        def intervene(_, action):
            if isinstance(action, Elect):
                world.kill(5)
                return "lost"
            return "done"

        outcome = run(start(SWAP), world, intervene)
        assert outcome.not_elected == {T0: "broker 5 is down"}
