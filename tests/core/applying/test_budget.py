"""A run begins what its budget allows, lets that end, and the next run goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from applied_plans import (
    alters,
    before,
    cluster,
    kinds,
    move,
    plan_of,
    run,
    run_until_wait,
)
from rackwise.core.applying.actions import Alter, Wait
from rackwise.core.applying.budget import Budget, room_of
from rackwise.core.applying.journal.codec import fields_of, line_of
from rackwise.core.applying.journal.lines import Begin, End
from rackwise.core.applying.model import Caps
from rackwise.core.applying.start import history_of, resume, start

SIX = plan_of(*(move(f"t-{number}", (1,), (2 + number % 3,), 1_000) for number in range(6)))
TWO = Budget(moves=2)


def window(world, budget, plan=SIX, **options):
    """One run with this budget, which knows only the journal."""
    lines = [line_of(fields_of(line)) for line in world.journal]
    return run(resume(plan, lines, Caps(at_once=1), 5_000, budget=budget), world, **options)


def begun(world):
    return [which[1] for each in alters(world) for which, _ in each.targets]


class TestMoves:
    def test_nothing_is_begun_beyond_the_number_and_the_throttle_is_cleared(self):
        world = cluster(SIX)
        outcome = window(world, TWO)
        assert (outcome.stop, outcome.text) == ("budget", "2 moves were begun")
        assert (outcome.done, outcome.begun) == ((("t", 0), ("t", 1)), 2)
        assert begun(world) == [0, 1]
        assert world.configs() == ({}, {})
        assert not outcome.is_reached

    def test_the_same_budget_goes_on_until_all_is_done(self):
        world = cluster(SIX)
        ends = [window(world, TWO) for _ in range(3)]
        assert [each.stop for each in ends] == ["budget", "budget", None]
        assert ends[-1].is_reached
        assert begun(world) == [0, 1, 2, 3, 4, 5]

    def test_a_killed_run_goes_on_with_what_is_left(self):
        world = cluster(SIX)
        begin_and_die(world, TWO)
        assert begun(world) == [0]
        outcome = window(world, TWO)
        assert (outcome.stop, outcome.begun) == ("budget", 2)
        assert begun(world) == [0, 1]

    def test_a_run_killed_twice_is_one_run(self):
        world = cluster(SIX)
        begin_and_die(world, TWO)
        begin_and_die(world, TWO)
        window(world, TWO)
        assert begun(world) == [0, 1]

    def test_another_budget_after_a_kill_begins_anew(self):
        world = cluster(SIX)
        begin_and_die(world, TWO)
        window(world, Budget(moves=3))
        assert begun(world) == [0, 1, 2, 3]

    def test_a_cancelled_run_is_over(self):
        world = cluster(SIX)
        begin_and_die(world, TWO)
        run(resume(SIX, world.journal, mode="cancel"), world)
        assert history_of(world.journal).open_run is None
        assert window(world, TWO).begun == 2

    def test_a_killed_cancel_is_over_too(self):
        lines = [
            Begin(plan=SIX.sha256, mode=mode, throttle=None, dropped=(), next_moves=2)
            for mode in ("apply", "cancel")
        ]
        assert history_of(lines).open_run is None

    def test_a_request_that_is_repeated_counts_once(self):
        world = cluster(SIX)
        world.refusals["t", 0] = "NOT_CONTROLLER"
        outcome = window(world, Budget(moves=1))
        assert (outcome.done, outcome.begun) == ((("t", 0),), 1)
        assert begun(world) == [0, 0]

    @pytest.mark.parametrize(("code", "requests"), [("POLICY_VIOLATION", 1), ("NOT_CONTROLLER", 5)])
    def test_moves_that_kafka_rejects_do_not_use_up_the_budget(self, code, requests):
        """Each night requested the same two moves, and never came to the others."""
        world = cluster(SIX)
        rejected = [("t", 0), ("t", 1)]

        def intervene(_, action):
            if isinstance(action, Alter):
                world.refusals |= dict.fromkeys(rejected, code)
            return "done"

        outcome = window(world, TWO, intervene=intervene)
        assert (outcome.failed, outcome.begun) == (tuple(rejected), 2)
        assert outcome.done == (("t", 2), ("t", 3))
        assert begun(world).count(0) == requests
        assert history_of(world.journal).begun == {("t", 2), ("t", 3)}

    def test_moves_of_an_earlier_run_end_and_count_nothing(self):
        world = cluster(SIX)
        begin_and_die(world, Budget())
        outcome = window(world, Budget(moves=1))
        assert outcome.done == (("t", 0), ("t", 1))

    def test_leaders_of_what_was_begun_are_elected(self):
        plan = plan_of(move("t-0", (1, 2), (2, 1)), move("t-1", (1, 2), (2, 1)))
        world = cluster(plan)
        outcome = window(world, Budget(moves=1), plan)
        assert (outcome.stop, outcome.not_elected) == ("budget", {})
        assert world.partitions["t", 0].leader == 2

    def test_a_dropped_move_is_not_waited_for(self):
        world = cluster(SIX)
        state = start(SIX, budget=Budget(moves=1), dropped={("t", 5)})
        assert run(state, world).stop == "budget"


class TestBytes:
    plan = plan_of(
        move("t-0", (1,), (2,), 1_000),
        move("t-1", (1,), (2, 3), 600),
        move("t-2", (1,), (3,), None),
        move("t-3", (1, 2), (2, 1), None),
        move("t-4", (1,), (4,), 800),
    )

    def test_what_does_not_fit_is_passed_over(self):
        world = cluster(self.plan)
        outcome = window(world, Budget(bytes=2_000), self.plan)
        assert begun(world) == [0, 3, 4]
        assert outcome.stop == "budget"
        assert outcome.text == "no move that is left fits in the remaining 200 of 2000 bytes"

    def test_a_move_larger_than_the_budget_and_one_of_unknown_size_are_never_begun(self):
        world = cluster(self.plan)
        for _ in range(5):
            outcome = window(world, Budget(bytes=1_000), self.plan)
        assert outcome.skipped == (("t", 1), ("t", 2))

    def test_a_budget_below_every_move_names_the_smallest(self):
        plan = plan_of(move("t-0", (1,), (2, 3), 600), move("t-1", (1,), (2,), 1_000))
        outcome = window(cluster(plan), Budget(bytes=999), plan)
        assert outcome.text == (
            "no move that is left fits in 999 bytes: the smallest copies 1000 bytes"
        )
        unknown = plan_of(move("t-0", (1,), (2,), None))
        outcome = window(cluster(unknown), Budget(bytes=999), unknown)
        assert outcome.text == "no move that is left has a known size, so none fits in 999 bytes"

    def test_moves_that_do_not_fit_do_not_hide_smaller_ones_behind_them(self):
        """The first 1,000 moves were read, none of them fitted, and the budget counted as spent."""
        large = [move(f"t-{number}", (1,), (2,), 2_000) for number in range(1_100)]
        plan = plan_of(*large, *(move(f"s-{number}", (1,), (3,), 10) for number in range(20)))
        outcome = window(cluster(plan), Budget(bytes=200), plan)
        assert [topic for topic, _ in outcome.done] == ["s"] * 20

    def test_bytes_of_partitions_outside_the_plan_do_not_count(self):
        moves = {(each.topic, each.partition): each for each in self.plan.moves}
        room = room_of(Budget(bytes=1_000), {("x", 0), ("t", 4)}, moves, 0)
        assert room.bytes == 200


class TestTime:
    until = "2026-11-27T04:00:00Z"

    def test_after_the_time_nothing_is_begun_and_what_moves_ends(self):
        world = cluster(SIX, speed=1)
        budget = Budget(until=self.until, end_ms=1_500)
        outcome = window(world, budget)
        assert outcome.stop == "budget"
        assert outcome.text == f"it is later than {self.until}"
        assert outcome.skipped
        assert all(each not in outcome.skipped for each in [("t", n) for n in begun(world)])
        assert world.configs() == ({}, {})

    def test_a_run_that_begins_too_late_writes_nothing(self):
        world = cluster(SIX)
        outcome = window(world, Budget(until=self.until, end_ms=0))
        assert (alters(world), outcome.stop, outcome.has_written) == ([], "budget", False)
        assert "throttle_intent" not in kinds(world)

    def test_a_request_that_was_not_executed_is_not_repeated_after_the_time(self):
        world = cluster(SIX)
        world.refusals["t", 0] = "NOT_CONTROLLER"
        outcome = window(world, Budget(until=self.until, end_ms=500))
        assert begun(world).count(0) == 1
        assert outcome.classes["t", 0] == "not_started"


def begin_and_die(world, budget):
    """A run that is killed when it waits for its first move."""
    lines = [line_of(fields_of(line)) for line in world.journal]
    run_until_wait(resume(SIX, lines, Caps(at_once=1), 5_000, budget=budget), world)


def test_the_journal_names_the_budget():
    world = cluster(SIX)
    budget = Budget(
        moves=2,
        bytes=10_000,
        until="2026-11-27T04:00:00Z",
        lasts_ms=5,
        end_ms=99_999,
        window="22:00-05:00 UTC",
    )
    window(world, budget)
    assert world.journal[0] == Begin(
        plan=SIX.sha256,
        mode="apply",
        throttle=5_000,
        dropped=(),
        next_moves=2,
        most_bytes=10_000,
        until="2026-11-27T04:00:00Z",
        lasts_ms=5,
        window="22:00-05:00 UTC",
    )
    assert world.journal[0].budget == replace(budget, end_ms=None)
    assert world.journal[-1] == End(done=2, failed=0, skipped=4, dropped=0, stop="budget")


@pytest.mark.parametrize(
    ("budget", "is_limited"),
    [
        (Budget(), False),
        (Budget(moves=1), True),
        (Budget(bytes=1), True),
        (Budget(until="x"), True),
    ],
)
def test_a_budget_without_limits(budget, is_limited):
    assert budget.is_limited == is_limited


def test_a_signal_ends_a_run_with_a_budget_and_the_next_one_has_its_whole_budget():
    world = cluster(SIX, speed=0)
    assert window(world, TWO, signal=before(Wait)).stop == "interrupted"
    world.speed = 10
    assert window(world, TWO).begun == 2
