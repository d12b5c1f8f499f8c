"""`plan --max-moves`: the first moves of the cheapest plan, those that can lose data first."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from checked_plans import check
from laws_planning import applied
from rackwise.adapters.files import parse_plan, plan_bytes
from rackwise.core.audit import audit
from rackwise.core.errors import InvalidConfig, InvalidPlan
from rackwise.core.planning.model import Balance, Drain, Leaders, Repair, SetReplication
from rackwise.core.planning.outcome import move_columns
from rackwise.core.planning.outcome.move_columns import all_moves
from rackwise.core.planning.plan import plan
from rackwise.core.planning.proof.applied import apply_plan
from rackwise.core.planning.proof.stated_totals import false_statements
from rackwise.core.policy import Policy
from rackwise.core.rules import RULES
from rackwise.core.rules.consequence import Consequence, consequence
from small_clusters import small_cluster

POLICY = Policy()
RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/b", 5: "/c", 6: "/c"}
LISTS = {
    "tidy-0": (1, 3, 5),
    "uneven-0": (1, 2, 3),
    "one-rack-0": (3, 4),
    "one-rack-1": (1, 2),
    "dead-0": (7, 1, 3),
}
CLUSTER = small_cluster(RACKS | {7: "/c"}, LISTS, dead=(7,))
WORST = list(Consequence)


def copied(moves):
    return sum(len(move.added) for move in moves)


def named(moves):
    return {f"{move.topic}-{move.partition}" for move in moves}


def problems(cluster, made, policy=POLICY):
    verdict = check(cluster, policy, made)
    assert verdict == made.verdict
    return [*verdict.problems, *false_statements(apply_plan(cluster, policy, made), made, verdict)]


def ranks(cluster):
    """Name of a partition -> the worst consequence of the rules that it breaks."""
    found = {}
    for finding in audit(cluster, replace(POLICY)):
        if finding.topic is not None and finding.partition is not None:
            name = f"{finding.topic}-{finding.partition}"
            rank = WORST.index(consequence(RULES[finding.rule]))
            found[name] = min(rank, found.get(name, len(WORST)))
    return found


class TestOrder:
    def test_partitions_that_the_loss_of_a_rack_takes_offline_come_first(self):
        made = plan(CLUSTER, max_moves=2, goal=Repair())
        assert named(made.moves) == {"one-rack-0", "one-rack-1"}
        assert named(made.later) == {"uneven-0", "dead-0"}
        assert made.verdict.is_proved
        assert problems(CLUSTER, made) == []

    def test_then_missing_replicas_then_the_policy(self):
        assert named(plan(CLUSTER, max_moves=3, goal=Repair()).later) == {"uneven-0"}
        assert plan(CLUSTER, max_moves=4, goal=Repair()).later == ()

    def test_a_change_that_does_not_fit_leaves_room_for_smaller_ones(self):
        lists = {"all-0": (1, 2, 7), "one-0": (3, 4)}  # `all` needs two new replicas
        cluster = small_cluster(RACKS | {7: "/a"}, lists)
        assert named(plan(cluster, max_moves=1, goal=Repair()).moves) == {"one-0"}

    def test_lists_that_copy_nothing_are_always_first(self):
        lists = {f"t-{number}": (1, 3, 5) for number in range(4)} | {"one-0": (3, 4)}
        cluster = small_cluster(RACKS, lists)
        made = plan(cluster, max_moves=1, goal=Balance())
        assert made.later
        assert all(move.added for move in made.later)
        assert copied(made.moves) <= 1

    def test_a_worse_consequence_precedes_a_smaller_change(self):
        lists = {"all-0": (1, 2, 7), "uneven-0": (1, 2, 3)}
        made = plan(small_cluster(RACKS | {7: "/a"}, lists), max_moves=2, goal=Repair())
        assert (named(made.moves), named(made.later)) == ({"all-0"}, {"uneven-0"})

    def test_smaller_changes_precede_larger_ones_though_these_leave_fewer(self):
        lists = {"all-0": (1, 2, 7), "one-0": (3, 4)}
        made = plan(small_cluster(RACKS | {7: "/a"}, lists), max_moves=2, goal=Repair())
        assert (named(made.moves), copied(made.later)) == ({"one-0"}, 2)

    def test_too_few_for_any_change(self):
        cluster = small_cluster(RACKS | {7: "/a"}, {"all-0": (1, 2, 7)})
        with pytest.raises(InvalidConfig, match="expected at least 2, the replicas that"):
            plan(cluster, max_moves=1, goal=Repair())

    def test_leaders_copy_nothing(self):
        lists = {f"t-{number}": (1, 3, 5) for number in range(4)}
        made = plan(small_cluster(RACKS, lists), max_moves=1, goal=Leaders())
        assert (made.later, made.max_moves) == ((), 1)
        assert problems(small_cluster(RACKS, lists), made) == []


def random_cluster(rng, partitions):
    lists = {f"t-{number}": tuple(rng.sample([*RACKS], 3)) for number in range(partitions)}
    return small_cluster(RACKS, lists)


GOALS = (Repair(), Drain((3,)), SetReplication((("*", 2),)), SetReplication((("*", 3),)), Balance())


@pytest.mark.parametrize("seed", range(12))
def test_a_new_plan_after_the_first_moves_costs_what_was_left(seed):
    rng = Random(seed)
    cluster = random_cluster(rng, rng.randint(6, 30))
    goal = GOALS[seed % len(GOALS)]
    whole = plan(cluster, goal=goal)
    if not whole.totals.moves:
        assert plan(cluster, goal=goal, max_moves=1).later == ()
        return
    most = max(rng.randint(1, whole.totals.moves), *(len(one.added) for one in whole.moves))
    made = plan(cluster, goal=goal, max_moves=most)
    assert (copied(made.moves) <= most, problems(cluster, made)) == (True, [])
    assert {*made.moves, *made.later} == {*whole.moves}
    assert replace(made, moves=whole.moves, later=(), max_moves=None) == whole
    rest = plan(applied(cluster, made.moves), goal=goal)
    assert rest.totals.moves == copied(made.later) == whole.totals.moves - copied(made.moves)


@pytest.mark.parametrize("seed", range(8))
def test_no_choice_of_as_many_replicas_repairs_more_of_the_worst(seed):
    rng = Random(seed)
    cluster = random_cluster(rng, 10)
    whole = plan(cluster, goal=Repair())
    most = max(rng.randint(1, whole.totals.moves), *(len(one.added) for one in whole.moves))
    made = plan(cluster, goal=Repair(), max_moves=most)
    found = ranks(cluster)

    def repaired(moves):
        counts = [0] * (len(WORST) + 1)
        for move in moves:
            counts[found.get(f"{move.topic}-{move.partition}", len(WORST))] += 1
        return counts

    choices = (
        chosen
        for size in range(len(whole.moves) + 1)
        for chosen in combinations(whole.moves, size)
        if copied(chosen) <= most
    )
    assert repaired(made.moves) == max(map(repaired, choices))


CHANGES = {
    "exchanged": lambda made: replace(made, moves=made.later, later=made.moves),
    "all now": lambda made: replace(made, moves=all_moves(made), later=()),
    "more": lambda made: replace(made, max_moves=4),
    "fewer": lambda made: replace(made, max_moves=1),
    "order of now": lambda made: replace(made, moves=made.moves[::-1]),
    "order of later": lambda made: replace(made, later=made.later[::-1]),
}


class TestFile:
    def test_a_plan_is_read_as_it_was_written(self):
        made = plan(CLUSTER, max_moves=2, goal=Repair())
        read = parse_plan(plan_bytes(made), where="plan")
        assert (read.moves, read.later, read.max_moves) == (made.moves, made.later, 2)

    def test_no_object_is_made_to_prove_a_plan_that_is_in_columns(self, monkeypatch):
        read = parse_plan(plan_bytes(plan(CLUSTER, max_moves=2, goal=Repair())), where="plan")
        assert isinstance(read.later, move_columns.MoveColumns)
        assert len(read.later) > 0
        monkeypatch.setattr(move_columns, "_moves_of", lambda _: pytest.fail("objects of moves"))
        assert problems(CLUSTER, read) == []

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
    def test_another_choice_is_not_proved(self, change):
        made = plan(CLUSTER, max_moves=2, goal=Repair())
        assert problems(CLUSTER, change(made))

    def test_fewer_than_any_change_copies_is_not_proved(self):
        lists = {"all-0": (1, 2, 7), "all-1": (1, 2, 7)}
        cluster = small_cluster(RACKS | {7: "/a"}, lists)
        made = plan(cluster, max_moves=2, goal=Repair())
        (problem,) = problems(cluster, replace(made, max_moves=1))
        assert problem.startswith("invalid --max-moves: expected at least 2")

    def test_later_moves_belong_to_a_limit(self):
        made = plan(CLUSTER, max_moves=2, goal=Repair())
        with pytest.raises(InvalidPlan, match="no later moves without max_moves"):
            parse_plan(plan_bytes(replace(made, max_moves=None)), where="plan")

    def test_a_partition_is_in_one_of_both(self):
        made = plan(CLUSTER, max_moves=2, goal=Repair())
        twice = replace(made, later=(*made.later, made.moves[0]))
        with pytest.raises(InvalidPlan, match="expected each partition once"):
            parse_plan(plan_bytes(twice), where="plan")
