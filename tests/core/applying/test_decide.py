"""The decisions of a run in trouble, and those of a cancel."""

from __future__ import annotations

import pytest

from applied_plans import alters, before, cluster, kinds, move, pauses, plan_of, run
from modelled_kafka import ModelledKafka
from rackwise.core.applying.actions import Alter, Look, Wait
from rackwise.core.applying.journal.codec import fields_of, line_of
from rackwise.core.applying.journal.lines import BatchIntent
from rackwise.core.applying.model import Caps, ThrottleKey
from rackwise.core.applying.start import resume, start
from rackwise.core.applying.status import status_of
from rackwise.core.applying.throttle_configs import FOLLOWER_RATE

ONE = plan_of(move("t-0", (1, 2), (1, 3)))
SWAP = plan_of(move("t-0", (1, 2), (2, 1)))
T0 = ("t", 0)


class TestTrouble:
    def test_the_run_waits_for_a_target_that_returns(self):
        plan = plan_of(move("t-0", (1, 2), (1, 3)), move("t-1", (4,), (5,)))
        world = cluster(plan)

        def intervene(_, action):
            if isinstance(action, Alter):
                world.kill(3)
            if isinstance(action, Wait) and world.now_ms > 20_000:
                world.start(3)
            return "done"

        assert run(start(plan, Caps(at_once=1)), world, intervene).is_reached
        assert pauses(world) == [("broker 3 is down",)] * 2

    def test_moves_to_a_target_that_stays_dead_are_cancelled(self):
        plan = plan_of(move("t-0", (1, 2, 4), (3, 4, 1)), move("t-1", (4,), (5,)))
        world = cluster(plan)

        def intervene(_, action):
            if isinstance(action, Alter):
                world.kill(3)
            return "done"

        outcome = run(start(plan, Caps(at_once=1), 1_000), world, intervene)
        assert outcome.classes == {T0: "target_dead", ("t", 1): "not_started"}
        assert outcome.stop == "paused"
        assert world.partitions[T0].replicas == (1, 2, 4), "in the order of before"
        assert 60_000 <= world.now_ms <= 200_000
        assert outcome.throttles_left == (ThrottleKey("broker", "3", FOLLOWER_RATE),)
        assert [line.act for line in world.journal if isinstance(line, BatchIntent)] == [
            "move",
            "cancel",
            "reorder",
        ]

    def test_a_move_without_a_live_old_replica_is_not_cancelled(self):
        world = cluster(ONE, speed=0)

        def intervene(_, action):
            if isinstance(action, Wait):
                for broker in (1, 2, 3):
                    world.kill(broker)
            return "done"

        outcome = run(start(ONE, throttle=1_000), world, intervene)
        assert (outcome.classes, outcome.stop) == ({T0: "moving"}, "paused")
        assert outcome.throttles_left, "what may move on stays throttled"
        assert all(target is not None for each in alters(world) for _, target in each.targets)

    def test_with_two_brokers_down_no_leader_is_elected(self):
        world = cluster(SWAP)

        def intervene(_, action):
            if isinstance(action, Alter):
                world.kill(4)
                world.kill(5)
            return "done"

        outcome = run(start(SWAP), world, intervene)
        assert outcome.stop == "paused"
        assert outcome.not_elected == {T0: "brokers 4, 5 are down"}
        assert world.partitions[T0].leader == 1

    def test_no_move_to_a_dead_broker_is_started_and_the_run_ends(self):
        world = cluster(ONE)
        world.kill(3)
        outcome = run(start(ONE, throttle=1_000), world)
        assert (outcome.classes, outcome.stop) == ({T0: "not_started"}, "paused")
        assert (alters(world), world.configs()) == ([], ({}, {}))

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda world: world.bad_dirs.add((5, "/d1")), "broker 5: log folder /d1 has an error"),
            (lambda world: setattr(world, "min_isr", 3), "t-1 is under min ISR"),
            (lambda world: setattr(world.partitions["t", 1], "leader", None), "t-1 is offline"),
        ],
    )
    def test_a_cluster_that_gets_worse_pauses_the_run(self, change, reason):
        plan = plan_of(move("t-0", (1, 2, 3), (1, 2, 4)), move("t-1", (2, 4), (4, 2)))
        world = cluster(plan)

        def intervene(_, action):
            if isinstance(action, Wait) and world.now_ms == 0:
                change(world)
            return "done"

        outcome = run(start(plan, Caps(at_once=1)), world, intervene)
        assert (outcome.done, outcome.skipped) == ((T0,), (("t", 1),))
        assert outcome.stop == "paused"
        assert pauses(world) == [(reason,)]

    def test_moves_to_a_dead_broker_do_not_hide_those_behind_them(self):
        """The first 1,000 moves were read, and all of them waited for a broker."""
        dead = [move(f"t-{number}", (1,), (5,)) for number in range(1_100)]
        plan = plan_of(*dead, *(move(f"s-{number}", (1,), (2,)) for number in range(20)))
        world = cluster(plan)
        world.live.discard(5)
        outcome = run(start(plan), world)
        assert (outcome.stop, len(outcome.skipped)) == ("paused", 1_100)
        assert [topic for topic, _ in outcome.done] == ["s"] * 20

    def test_trouble_from_before_the_run_pauses_nothing(self):
        world = cluster(ONE, min_isr=3)
        world.kill(5)
        world.bad_dirs.add((4, "/d0"))
        assert run(start(ONE), world).is_reached
        assert pauses(world) == []

    def test_a_stall_names_the_brokers_and_the_throttle(self):
        plan = plan_of(move("t-0", (1, 2), (1, 3), 2_000_000), move("t-1", (4,), (5,)))
        world = cluster(plan, speed=1)

        def intervene(_, action):
            if isinstance(action, Wait) and world.now_ms > 10_000:
                world.speed = 0
            if isinstance(action, Wait) and world.now_ms > 700_000:
                world.speed = 1_000
            return "done"

        assert run(start(plan, Caps(at_once=1), 5), world, intervene).is_reached
        told = (
            "the throttle of 5 bytes/s there may be why: run rackwise throttle with a larger rate"
        )
        assert pauses(world) == [(f"no byte came in 600 seconds into broker 3; {told}",)]
        assert "go" in kinds(world)


class TestCancelling:
    plan = plan_of(move("t-0", (1, 2, 4), (3, 4, 1)), move("t-1", (4,), (5,)))

    def _killed(self, **options):
        """A run that was killed while both partitions move."""
        world = cluster(self.plan, **{"speed": 0, **options})
        outcome = run(start(self.plan, throttle=1_000), world, signal=before(Wait))
        assert outcome.skipped == (T0, ("t", 1))
        return world

    def _cancel(self, world, *rules, **options):
        state = resume(self.plan, world.journal, mode="cancel")
        return run(state, world, *rules, **options)

    def test_a_cancel_restores_the_order_of_before(self):
        world = self._killed()
        outcome = self._cancel(world)
        assert outcome.is_reached
        assert set(outcome.classes.values()) == {"cancelled"}
        assert [held.replicas for held in world.partitions.values()] == [(1, 2, 4), (4,)]
        assert world.configs() == ({}, {})

    def test_after_a_cancel_the_plan_can_start_again(self):
        world = self._killed()
        self._cancel(world)
        world.speed = 10
        assert run(resume(self.plan, world.journal), world).is_reached

    def test_a_cancel_changes_only_running_moves(self):
        world = self._killed(by_controller=True)
        world.partitions[T0].arrived[3] = 1_000
        world.pass_time(1)
        other = plan_of(*self.plan.moves, move("u-0", (1,), (2,)))
        world.partitions["u", 0] = ModelledKafka.before(other.moves[2:], ()).partitions["u", 0]
        outcome = run(resume(other, world.journal, mode="cancel"), world)
        assert list(outcome.classes.values()) == ["done", "cancelled", "not_started"]
        assert outcome.is_reached

    def test_a_move_that_cannot_be_cancelled_continues_with_its_throttle(self):
        world = self._killed()
        world.kill(4)
        outcome = self._cancel(world)
        assert outcome.not_cancelled == (("t", 1),)
        assert (outcome.classes[T0], outcome.is_reached) == ("cancelled", False)
        assert outcome.throttles_left

    def test_a_lost_cancel_is_repeated_at_most_five_times(self):
        world = self._killed()
        fates = iter(["lost", "unanswered"])
        lost = self._cancel(
            world, lambda _, a: next(fates, "done") if isinstance(a, Alter) else "done"
        )
        assert lost.is_reached
        world = self._killed()
        never = self._cancel(world, lambda _, a: "lost" if isinstance(a, Alter) else "done")
        assert never.not_cancelled == (T0, ("t", 1))
        assert len(pauses(world)) == 0
        cancels = [line for line in world.journal if isinstance(line, BatchIntent)]
        assert [line.act for line in cancels] == ["move"] + ["cancel"] * 5

    def test_a_rejected_cancel_is_reported(self):
        world = self._killed()

        def intervene(_, action):
            if isinstance(action, Alter):
                world.refusals[T0] = "CLUSTER_AUTHORIZATION_FAILED"
            return "done"

        outcome = self._cancel(world, intervene)
        assert outcome.not_cancelled == (T0,)
        assert outcome.codes == {T0: "CLUSTER_AUTHORIZATION_FAILED"}

    def test_an_order_that_cannot_be_restored_is_reported(self):
        world = self._killed()

        def intervene(_, action):
            if isinstance(action, Alter) and action.targets[0][1] is not None:
                world.refusals[T0] = "POLICY_VIOLATION"
            return "done"

        outcome = self._cancel(world, intervene)
        assert (outcome.classes[T0], outcome.is_reached) == ("cancelled", True)
        assert outcome.codes == {T0: "POLICY_VIOLATION"}
        assert world.partitions[T0].replicas == (4, 1, 2)

    def test_a_rejected_order_is_requested_once_and_nobody_else_cancelled_the_move(self):
        """It was `diverged` after four requests, and then "another tool cancelled it"."""
        world = self._killed()
        outcome = self._cancel(world, self._without_order(world, "INVALID_REPLICATION_ASSIGNMENT"))
        assert outcome.failed == ()
        batches = [line for line in world.journal if isinstance(line, BatchIntent)]
        assert [line.act for line in batches] == ["move", "cancel", "reorder"]
        lines = [line_of(fields_of(line)) for line in world.journal]
        status = status_of(self.plan, lines, world.execute(Look(partitions=(T0, ("t", 1)))))
        assert set(status.classes.values()) == {"not_started"}
        assert self._cancel(world).is_reached
        assert world.partitions[T0].replicas == (1, 2, 4), "a later cancel restores the order"

    def test_an_order_without_an_answer_is_reported(self):
        world = self._killed()

        def intervene(_, action):
            is_order = isinstance(action, Alter) and action.targets[0][1] is not None
            return "lost" if is_order else "done"

        outcome = self._cancel(world, intervene)
        assert outcome.classes[T0] == "cancelled"
        assert outcome.codes == {T0: "REQUEST_TIMED_OUT"}

    def test_of_a_dead_target_a_rejected_order_is_reported_too(self):
        world = cluster(self.plan, speed=0)

        def intervene(state, action):
            if isinstance(action, Wait):
                world.kill(3)
            return self._without_order(world, "INVALID_REPLICATION_ASSIGNMENT")(state, action)

        outcome = run(start(self.plan, Caps(at_once=1)), world, intervene)
        assert outcome.classes[T0] == "target_dead"
        assert outcome.codes == {T0: "INVALID_REPLICATION_ASSIGNMENT"}

    def _without_order(self, world, code):
        """Kafka rejects every list that restores an order."""

        def intervene(state, action):
            if isinstance(action, Alter) and state.act == "reorder":
                world.refusals[T0] = code
            return "done"

        return intervene

    def test_a_signal_ends_a_cancel_and_it_can_be_resumed(self):
        world = self._killed()
        outcome = self._cancel(world, signal=before(Alter))
        assert outcome.stop == "interrupted"
        assert self._cancel(world).is_reached
        assert world.configs() == ({}, {})

    def test_moves_of_other_tools_are_not_cancelled(self):
        world = self._killed()
        world.journal.clear()
        outcome = self._cancel(world)
        assert set(outcome.classes.values()) == {"foreign_moving"}
        assert not any(target is None for each in alters(world) for _, target in each.targets)


def test_the_run_waits_for_a_due_retry_while_another_broker_is_dead():
    plan = plan_of(move("t-0", (1,), (3,)), move("t-1", (1,), (2,)))
    world = cluster(plan)
    world.kill(3)

    def intervene(_, action):
        if isinstance(action, Alter):
            assert world.now_ms < 59_500 or ("t", 1) not in world.refusals
            world.refusals["t", 1] = "NOT_CONTROLLER"
        if isinstance(action, Wait) and world.now_ms < 58_000:
            world.now_ms = 58_000
        return "done"

    outcome = run(start(plan), world, intervene)
    assert outcome.classes == {T0: "not_started", ("t", 1): "refused"}
    assert len(alters(world)) == 5
    assert world.now_ms > 60_000
