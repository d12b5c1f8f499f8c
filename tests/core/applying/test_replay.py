"""Killed at any line of the journal, or after any effect: the next run completes the plan."""

from __future__ import annotations

import pytest

from applied_plans import move, plan_of, run
from laws_applying import check_final, check_lists, check_restored
from modelled_kafka import ModelledKafka
from rackwise.core.applying.actions import Alter, AppendLine, SetThrottles
from rackwise.core.applying.journal.codec import fields_of, line_of
from rackwise.core.applying.model import Caps
from rackwise.core.applying.reverse import reverse_plan
from rackwise.core.applying.start import resume, start, start_restore
from rackwise.core.applying.throttle_configs import FOLLOWER_RATE, LISTS

PLAN = plan_of(
    move("t-0", (1, 2, 3), (4, 1, 3)),
    move("t-1", (2, 3), (3, 2)),
    move("u-0", (1,), (1, 4)),
    move("u-1", (1, 2, 3), (2, 1)),
    move("u-2", (2, 3), (5, 1), 4_000),
)
MOVES = {(each.topic, each.partition): each for each in PLAN.moves}
CAPS = Caps(at_once=2)


def cluster() -> ModelledKafka:
    """A cluster on which an operator has set throttles."""
    world = ModelledKafka.before(PLAN.moves, range(1, 6), speed=10, lag_ms=500)
    world.broker_configs[4] = {FOLLOWER_RATE: "70"}
    world.topic_configs["t"] = {LISTS[0]: "7:9", LISTS[1]: ""}
    return world


PRIOR = cluster().configs()


def moments():
    """The cluster, with its journal, before each action of a run and after each effect."""
    found = []

    def intervene(_, action):
        found.append(world.copy())
        if isinstance(action, Alter | SetThrottles):
            late = world.copy()
            late.execute(action)
            found.append(late)
        return "done"

    world = cluster()
    assert run(start(PLAN, CAPS, 1_000), world, intervene).is_reached
    check_final(PLAN.moves, world)
    return found


MOMENTS = moments()


def as_read(world: ModelledKafka):
    """The journal as the next run reads it."""
    return [line_of(fields_of(line)) for line in world.journal]


def test_there_are_enough_moments():
    assert len(MOMENTS) > 60


@pytest.mark.parametrize("moment", range(len(MOMENTS)))
def test_a_resumed_run_completes_the_plan_and_restores_throttles(moment):
    world = MOMENTS[moment].copy()
    outcome = run(resume(PLAN, as_read(world), CAPS), world)
    if not outcome.is_reached:
        raise AssertionError(outcome)
    check_final(PLAN.moves, world)
    check_lists(MOVES, world)
    check_restored(PRIOR, world)


@pytest.mark.parametrize("moment", range(0, len(MOMENTS), 3))
def test_a_run_killed_twice_completes_too(moment):
    world = MOMENTS[moment].copy()
    kills = iter(range(3, 1_000, 4))

    class KilledError(Exception):
        """Kills the run of a test."""

    for after in kills:
        left = [after]

        def intervene(_, action, left=left):
            left[0] -= isinstance(action, AppendLine)
            if left[0] < 0:
                raise KilledError
            return "done"

        try:
            outcome = run(resume(PLAN, as_read(world), CAPS), world, intervene)
        except KilledError:
            continue
        assert outcome.is_reached
        break
    check_final(PLAN.moves, world)
    check_restored(PRIOR, world)


@pytest.mark.parametrize("moment", range(len(MOMENTS)))
def test_a_rollback_restores_everything(moment):
    world = MOMENTS[moment].copy()
    outcome = run(resume(PLAN, as_read(world), CAPS, mode="cancel"), world)
    assert outcome.is_reached
    check_restored(PRIOR, world)
    done = outcome.of(frozenset({"done"}))
    back = reverse_plan(PLAN, done)
    world.journal = []
    assert run(start(back, CAPS, 1_000), world).is_reached
    assert {which: held.replicas for which, held in world.partitions.items()} == {
        which: each.before for which, each in MOVES.items()
    }
    check_restored(PRIOR, world)


@pytest.mark.parametrize("moment", range(1, len(MOMENTS)))
def test_restore_leaves_no_throttle_of_this_tool(moment):
    world = MOMENTS[moment].copy()
    assert run(start_restore(as_read(world)), world).is_reached
    check_restored(PRIOR, world)
    assert run(resume(PLAN, as_read(world), CAPS), world).is_reached
    check_final(PLAN.moves, world)
    check_restored(PRIOR, world)
