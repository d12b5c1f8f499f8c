"""Whole runs against a modelled cluster: requests, journal, outcome."""

from __future__ import annotations

import pytest

from applied_plans import (
    alters,
    before,
    blind,
    cluster,
    journalled_classes,
    kinds,
    move,
    plan_of,
    run,
)
from rackwise.core.applying.actions import (
    Altered,
    AppendLine,
    Failed,
    Look,
    ReadThrottles,
    SetThrottles,
    Wait,
    Waited,
)
from rackwise.core.applying.model import Caps
from rackwise.core.applying.start import start
from rackwise.core.applying.step import step
from rackwise.core.applying.throttle_configs import FOLLOWER_RATE
from rackwise.core.errors import LocalProtocolError

ONE = plan_of(move("t-0", (1, 2), (1, 3)))
SWAP = plan_of(move("t-0", (1, 2), (2, 1)))
T0 = ("t", 0)


class TestSuccessfulRun:
    def test_every_effect_is_journalled_before_and_after(self):
        world = cluster(ONE)
        outcome = run(start(ONE, throttle=1_000), world)
        assert kinds(world) == [
            "begin",
            "throttle_intent",
            "throttle_set",
            "batch_intent",
            "batch_result",
            "partition",
            "throttle_restored",
            "end",
        ]
        assert (outcome.is_reached, outcome.done, outcome.has_written) == (True, (T0,), True)
        assert world.partitions[T0].replicas == (1, 3)
        assert world.configs() == ({}, {})

    def test_without_a_throttle_no_config_is_touched(self):
        world = cluster(ONE)
        assert run(start(ONE), world).is_reached
        assert not any(isinstance(each, SetThrottles) for each in world.requests)

    def test_a_new_order_needs_an_election(self):
        world = cluster(SWAP)
        assert run(start(SWAP, throttle=1_000), world).is_reached
        assert (world.partitions[T0].replicas, world.partitions[T0].leader) == ((2, 1), 2)
        assert not any(isinstance(each, SetThrottles) for each in world.requests)

    def test_no_leader_is_elected_without_elections(self):
        world = cluster(SWAP)
        assert run(start(SWAP, Caps(elect=False)), world).is_reached
        assert world.partitions[T0].leader == 1

    def test_lists_that_change_their_length_have_their_own_request(self):
        plan = plan_of(
            move("t-0", (1, 2), (1, 3)),
            move("t-1", (1, 2), (1, 2, 3)),
            move("t-2", (1, 2), (2, 3)),
        )
        world = cluster(plan)
        assert run(start(plan), world).is_reached
        assert [
            (
                each.allow_replication_factor_change,
                [which for (_, which), _ in each.targets],
            )
            for each in alters(world)
        ] == [(False, [0, 2]), (True, [1])]

    @pytest.mark.parametrize("by_controller", [False, True])
    def test_a_plan_that_is_done_writes_nothing(self, by_controller):
        world = cluster(ONE, by_controller=by_controller)
        world.partitions[T0].replicas = (1, 3)
        world.partitions[T0].leader = 3
        outcome = run(start(ONE, throttle=1_000), world)
        assert (outcome.is_reached, outcome.has_written, world.requests) == (True, False, [])

    def test_late_metadata_is_not_mistaken_for_a_foreign_change(self):
        world = cluster(ONE, lag_ms=2_500)
        assert run(start(ONE), world).is_reached
        assert journalled_classes(world) == [("t-0", "done")]


class TestOtherTools:
    def test_a_move_cancelled_by_others_is_not_repeated(self):
        world = cluster(ONE, speed=0)

        def intervene(_, action):
            if isinstance(action, Wait) and world.partitions[T0].adding:
                world.cancel_from_outside(T0)
            return "done"

        outcome = run(start(ONE), world, intervene)
        assert outcome.classes == {T0: "cancelled_externally"}
        assert len(alters(world)) == 1
        assert journalled_classes(world) == [("t-0", "cancelled_externally")]

    def test_a_partition_moved_elsewhere_by_others_is_left_alone(self):
        world = cluster(ONE)
        world.partitions[T0].replicas = (4, 5)
        outcome = run(start(ONE), world)
        assert (outcome.classes, world.requests) == ({T0: "diverged"}, [])

    def test_a_foreign_move_to_the_same_target_stays_foreign(self):
        plan = plan_of(move("t-0", (1, 2), (1, 3)), move("t-1", (1, 2), (4, 2), 30_000))
        world = cluster(plan)
        held = world.partitions[T0]
        held.replicas, held.adding, held.removing, held.arrived = (1, 3, 2), (3,), (2,), {3: 0}
        outcome = run(start(plan), world)
        assert outcome.is_reached
        assert journalled_classes(world)[0] == ("t-0", "foreign_moving")
        assert [which for which, _ in alters(world)[0].targets] == [("t", 1)]

    def test_a_deleted_topic_is_reported_and_the_others_continue(self):
        plan = plan_of(move("t-0", (1,), (2,)), move("u-0", (1,), (2,)))
        world = cluster(plan)
        del world.partitions[T0]
        outcome = run(start(plan, throttle=1_000), world)
        assert outcome.classes == {T0: "topic_gone", ("u", 0): "done"}
        assert world.configs() == ({}, {})

    def test_a_topic_deleted_while_it_moves_is_reported_and_loses_its_throttle_keys(self):
        world = cluster(ONE, speed=0)

        def intervene(_, action):
            if isinstance(action, Wait):
                world.partitions.pop(T0, None)
            return "done"

        outcome = run(start(ONE, throttle=1_000), world, intervene)
        assert (outcome.classes, outcome.throttles_left) == ({T0: "topic_gone"}, ())


class TestSignals:
    def test_a_signal_leaves_the_throttle_while_a_move_runs(self):
        world = cluster(ONE, speed=0)
        outcome = run(start(ONE, throttle=1_000), world, signal=before(Wait))
        assert outcome.stop == "interrupted"
        assert (outcome.skipped, outcome.is_reached) == ((T0,), False)
        assert len(outcome.throttles_left) == 5
        assert world.configs()[0][3] == {FOLLOWER_RATE: "1000"}
        assert kinds(world)[-1] == "end"

    @pytest.mark.parametrize("kind", [Look, ReadThrottles, SetThrottles])
    def test_a_signal_before_the_first_move_leaves_nothing(self, kind):
        world = cluster(ONE)
        outcome = run(start(ONE, throttle=1_000), world, signal=before(kind))
        assert (outcome.stop, outcome.throttles_left) == ("interrupted", ())
        assert (alters(world), world.configs()) == ([], ({}, {}))

    def test_no_throttle_is_set_after_a_signal(self):
        world = cluster(ONE)
        run(start(ONE, throttle=1_000), world, signal=before(ReadThrottles))
        assert world.requests == []

    def test_a_signal_while_waiting_for_a_throttle_clears_it(self):
        world = cluster(ONE)
        outcome = run(start(ONE, throttle=1_000), world, blind(world), signal=before(Wait))
        assert (outcome.stop, outcome.throttles_left) == ("interrupted", ())
        assert world.configs() == ({}, {})

    def test_a_signal_does_not_change_a_completed_run(self):
        world = cluster(ONE, by_controller=True)
        world.partitions[T0].replicas = (1, 3)
        assert run(start(ONE), world, signal=before(Look)).is_reached

    def test_a_signal_ends_a_run_of_an_unreachable_cluster(self):
        world = cluster(ONE)
        outcome = run(start(ONE), world, lambda *_: "lost", signal=before(Look))
        assert (outcome.stop, outcome.text) == ("interrupted", "the connection was closed")


class TestFailures:
    def test_the_run_waits_for_an_unreachable_cluster(self):
        world = cluster(ONE)

        def intervene(_, action):
            is_away = 100 <= world.now_ms < 300_000
            return "lost" if is_away and not isinstance(action, Wait | AppendLine) else "done"

        assert run(start(ONE), world, intervene).is_reached

    def test_a_cluster_that_stays_away_ends_the_run(self):
        world = cluster(ONE, speed=0)

        def intervene(_, action):
            is_away = world.now_ms >= 1_000
            return "lost" if is_away and not isinstance(action, Wait | AppendLine) else "done"

        outcome = run(start(ONE, throttle=1_000), world, intervene)
        assert (outcome.stop, outcome.text) == ("unreachable", "the connection was closed")
        assert len(outcome.throttles_left) == 5

    @pytest.mark.parametrize(
        "phase",
        ["looking", "reading", "setting", "verifying", "altering", "electing", "reading_to_clear"],
    )
    def test_a_lost_permission_ends_the_run_at_once(self, phase):
        plan = plan_of(move("t-0", (1, 2), (3, 1)))
        world = cluster(plan)
        failed = []

        def intervene(state, action):
            if state.phase == phase and not isinstance(action, AppendLine):
                failed.append(world.now_ms)
                return Failed(at_ms=world.now_ms, text="the password is not taken", is_fatal=True)
            return "done"

        outcome = run(start(plan, throttle=1_000), world, intervene)
        assert len(failed) == 1
        if phase == "reading_to_clear":
            assert outcome.throttles_left
            assert outcome.stop is None
        else:
            assert (outcome.stop, outcome.text) == ("fatal", "the password is not taken")
            assert bool(outcome.throttles_left) == (phase == "altering")
        assert not outcome.is_reached


@pytest.mark.parametrize(
    "seen", [Waited(at_ms=0), Altered(at_ms=0, answers={}), Failed(at_ms=0, text="x")]
)
def test_an_observation_without_action_is_a_protocol_error(seen):
    with pytest.raises(LocalProtocolError, match="answers nothing that a run asks while it is new"):
        step(start(ONE), seen)
