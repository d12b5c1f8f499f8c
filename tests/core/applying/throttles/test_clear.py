"""Throttles are cleared in every case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from applied_plans import cluster, move, plan_of, run
from rackwise.core.applying.actions import SetThrottles, ThrottlesSet, Wait
from rackwise.core.applying.journal.lines import ThrottleRestored
from rackwise.core.applying.model import Caps, Entry, ThrottleKey
from rackwise.core.applying.start import start, start_restore
from rackwise.core.applying.throttle_configs import FOLLOWER_RATE
from rackwise.core.applying.throttles.clear import on_set

ONE = plan_of(move("t-0", (1, 2), (1, 3)))
T0 = ("t", 0)


class CountedName(str):
    """A name that counts how often it is hashed."""

    __slots__ = ()
    hashes = 0

    def __hash__(self):
        type(self).hashes += 1
        return super().__hash__()

    __eq__ = str.__eq__


class TestClearing:
    def test_its_work_grows_with_the_number_of_topics(self):
        keys = [ThrottleKey("topic", CountedName(f"t-{number}"), "k") for number in range(500)]
        entry = Entry(prior=None, ours=("1",))
        state = replace(start(ONE), phase="clearing", keys=tuple(keys))
        state = replace(state, ledger=dict.fromkeys(keys, entry))
        CountedName.hashes = 0
        on_set(state, ThrottlesSet(at_ms=0, answers=dict.fromkeys(keys)))
        assert CountedName.hashes < 20 * len(keys)

    def test_a_dead_broker_keeps_its_rate_and_the_run_says_so(self):
        plan = plan_of(move("t-0", (1, 2), (1, 3)), move("t-1", (4,), (5,)))
        world = cluster(plan)

        def intervene(state, _action):
            if state.phase == "reading_to_clear":
                world.kill(5)
            return "done"

        outcome = run(start(plan, throttle=1_000), world, intervene)
        left = ThrottleKey("broker", "5", FOLLOWER_RATE)
        assert (outcome.throttles_left, outcome.is_reached) == ((left,), False)
        assert len(outcome.done) == 2
        world.start(5)
        assert run(start_restore(world.journal), world).is_reached
        assert world.configs() == ({}, {})
        assert start_restore(world.journal).ledger == {}

    def test_throttles_changed_by_others_are_reported(self):
        world = cluster(ONE)

        def intervene(_, action):
            if isinstance(action, Wait):
                world.broker_configs[3][FOLLOWER_RATE] = "77"
            return "done"

        outcome = run(start(ONE, throttle=1_000), world, intervene)
        key = ThrottleKey("broker", "3", FOLLOWER_RATE)
        assert (outcome.throttles_changed, outcome.throttles_left) == ((key,), ())
        assert world.configs() == ({3: {FOLLOWER_RATE: "77"}}, {})
        restored = [line for line in world.journal if isinstance(line, ThrottleRestored)]
        assert restored[0].changed == (key,)

    @pytest.mark.parametrize(
        ("over", "during"), [("keep", "50"), ("max", "1000"), ("ours", "1000")]
    )
    def test_an_operators_rate_is_always_restored(self, over, during):
        world = cluster(ONE)
        world.broker_configs[3] = {FOLLOWER_RATE: "50"}
        seen = set()

        def intervene(state, action):
            if isinstance(action, Wait):
                seen.add((world.broker_configs[3][FOLLOWER_RATE], state.rates_in[3]))
            return "done"

        assert run(start(ONE, Caps(throttle_over=over), 1_000), world, intervene).is_reached
        assert seen == {(during, int(during))}
        assert world.configs() == ({3: {FOLLOWER_RATE: "50"}}, {})

    def test_throttles_that_cannot_be_reached_are_left_after_five_tries(self):
        world = cluster(ONE)
        tries = []

        def intervene(state, action):
            if state.phase == "clearing" and isinstance(action, SetThrottles):
                tries.append(action)
                return "lost"
            return "done"

        outcome = run(start(ONE, throttle=1_000), world, intervene)
        assert (len(tries), len(outcome.throttles_left)) == (5, 5)
        assert outcome.done == (T0,)
