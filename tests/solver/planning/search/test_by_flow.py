"""Sets by flow: each solver is compared with the exhaustive planner, cost by cost."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from planning_problems import Problem, problems
from rackwise.core.errors import InvalidConfig, InvalidPolicy, OptimumTooLarge
from rackwise.core.planning.fair_loads.targets import Targets, targets_of
from rackwise.core.planning.model import Balance, Drain, Minimise, Repair
from rackwise.core.planning.plan import plan
from rackwise.core.planning.problem.copy_costs import stages_before_squares
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.problem.rack_bounds import infeasible_partitions
from rackwise.core.planning.search.by_flow import by_flow
from rackwise.core.planning.search.by_rack import are_racks_independent, by_rack, needs_flow
from rackwise.core.planning.search.network.build import network_of
from rackwise.core.planning.search.tie_breaking import break_ties
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy, TopicBlock
from small_clusters import small_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from naive_plan import Question
    from rackwise.core.model import Ragged
    from rackwise.core.planning.model import Goal
    from rackwise.core.planning.problem.instance import Instance


FEWER = settings(max_examples=max(10, settings().max_examples // 2))
"""Each example is planned several times."""


def never_stop() -> bool:
    return False


def stopping_after(calls: int) -> Callable[[], bool]:
    """A question that is answered with no so many times."""
    left = count(calls, -1)
    return lambda: next(left) <= 0


def solve(
    instance: Instance, targets: Targets, should_stop: Callable[[], bool] = never_stop
) -> Ragged:
    found = by_flow(instance, targets, should_stop=should_stop)
    assert found is not None
    return found


def problem_of(problem: Problem) -> tuple[Instance, Targets] | None:
    try:
        instance = problem.instance
    except (InvalidConfig, InvalidPolicy):
        return None
    return None if infeasible_partitions(instance) else (instance, targets_of(instance))


def totals(question: Question, instance: Instance, sets: Ragged) -> tuple[int, ...]:
    """First and second cost, dropped leaders, changed partitions; squares if loads are free."""
    ids = instance.brokers
    chosen = [frozenset(ids[list(sets.row(row))].tolist()) for row in range(len(sets))]
    costs = [question.whole_cost(p, x) for p, x in zip(question.partitions, chosen, strict=True)]
    found = [sum(column) for column in zip(*costs, strict=True)]
    if question.policy.balance.replicas == "off":
        found.insert(stages_before_squares(instance), int((instance.loads(sets) ** 2).sum()))
    return tuple(found)


def check_sets(question: Question, instance: Instance, sets: Ragged) -> None:
    loads = dict(zip(instance.brokers.tolist(), instance.loads(sets).tolist(), strict=True))
    assert question.is_allowed(tuple(loads[id_] for id_ in question.brokers))
    for row in range(len(instance)):
        assert question.is_legal(row, instance.brokers[list(sets.row(row))].tolist())


@FEWER
@given(problems())
def test_every_solver_finds_the_best_placement(problem: Problem) -> None:
    check_best(problem)


@given(problems(has_rates=True))
def test_replication_is_the_cheapest_of_all_plans_with_equal_moves(problem: Problem) -> None:
    """Among plans with equal moves the one with the least steady dollars is chosen."""
    check_best(problem)


def check_best(problem: Problem) -> None:
    found = problem_of(problem)
    if found is None:
        return
    instance, targets = found
    question = problem.question
    best = question.secondary()
    ways = [solve(instance, targets)]
    if targets.ranges is not None and are_racks_independent(instance, targets):
        ways.append(by_rack(instance, targets.ranges, should_stop=never_stop))
    for sets in ways:
        settled = break_ties(instance, sets, targets.caps)
        check_sets(question, instance, sets)
        check_sets(question, instance, settled)
        assert totals(question, instance, sets)[:-1] == best[:-1]
        assert totals(question, instance, settled)[:-1] == best[:-1]
        assert (
            best[-1]
            <= totals(question, instance, settled)[-1]
            <= totals(question, instance, sets)[-1]
        )


RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}


def solved(
    lists: dict[str, list[int]],
    policy: Policy | None = None,
    *,
    goal: Goal | None = None,
    minimise: Minimise = "moves",
    racks: dict[int, str] | None = None,
    sizes: dict[str, int | None] | None = None,
) -> tuple[Instance, Targets]:
    cluster = small_cluster(racks or RACKS, lists, sizes=sizes)
    instance = instance_of(cluster, policy or Policy(), goal or Balance(), minimise=minimise)
    return instance, targets_of(instance)


class TestIndependentRacks:
    """`r = K on one level: each rack by itself.`"""

    def test_one_replica_in_each_rack(self) -> None:
        instance, targets = solved({"t-0": [1, 3], "t-1": [1, 3]})
        assert are_racks_independent(instance, targets)
        assert not needs_flow(instance)

    def test_two_replicas_in_a_rack_need_a_flow(self) -> None:
        instance, targets = solved({"t-0": [1, 2], "t-1": [1, 3]})
        assert are_racks_independent(instance, targets)
        assert needs_flow(instance)

    def test_all_partitions_have_two_replicas_in_a_rack(self) -> None:
        instance, targets = solved({"t-0": [1, 2], "t-1": [1, 2]})
        assert targets.ranges is not None
        assert instance.cost(by_rack(instance, targets.ranges, should_stop=never_stop)) == 2

    def test_equal_partitions_each_drop_one_replica(self) -> None:
        cycle = ([1, 2], [2, 1], [1, 3], [3, 4], [1, 2], [4, 3], [2, 1])
        lists = {f"t-{i:02}": cycle[i % len(cycle)] for i in range(35)}
        instance, targets = solved(lists)
        assert targets.ranges is not None
        ours = by_rack(instance, targets.ranges, should_stop=never_stop)
        whole = solve(instance, targets)
        kept = [
            sum(
                lists[f"t-{row:02}"][0] in instance.brokers[list(sets.row(row))]
                for row in range(len(sets))
            )
            for sets in (ours, whole)
        ]
        assert kept[0] == kept[1]
        assert instance.cost(ours) == instance.cost(whole)
        assert sorted(instance.loads(ours)) == sorted(instance.loads(whole))
        racks = instance.leaf[ours.values].reshape(-1, 2)
        assert (racks[:, 0] != racks[:, 1]).all()

    def test_coupled_racks_are_not_independent(self) -> None:
        off = Policy(balance=BalancePolicy(replicas="off"))
        excluding = Policy(brokers=BrokerPolicy(exclude=(2,)))
        pinning = Policy(topics=(TopicBlock(match=("*",), pin={0: (1,)}),))
        spreading = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
        for policy in (off, excluding, pinning, spreading):
            assert not are_racks_independent(*solved({"t-0": [1, 3], "t-1": [1, 3]}, policy))
        assert not are_racks_independent(*solved({"t-0": [1], "t-1": [3]}))

    def test_weights_split_racks_into_groups(self) -> None:
        policy = Policy(brokers=BrokerPolicy(weights={1: 2}))
        instance, targets = solved({f"t-{i}": [1, 3] for i in range(5)}, policy)
        assert targets.ranges is not None
        assert are_racks_independent(instance, targets)
        sets = by_rack(instance, targets.ranges, should_stop=never_stop)
        assert instance.cost(sets) == instance.cost(solve(instance, targets))

    def test_savings_decide_which_broker_keeps_more(self) -> None:
        sizes: dict[str, int | None] = {"t-0": 9, "t-1": 1, "t-2": 5}
        lists = {"t-0": [1, 3], "t-1": [1, 3], "t-2": [1, 3]}
        instance, targets = solved(lists, minimise="bytes", sizes=sizes)
        assert targets.ranges is not None
        sets = by_rack(instance, targets.ranges, should_stop=never_stop)
        assert instance.cost(sets) == 2

    def test_no_partitions(self) -> None:
        instance, targets = solved({})
        assert targets.ranges is not None
        assert len(by_rack(instance, targets.ranges, should_stop=never_stop)) == 0
        assert len(solve(instance, targets)) == 0


class TestFreeLoads:
    """`balance off: sum of squares of loads` comes after the cost."""

    def test_repair_uses_the_least_loaded_brokers(self) -> None:
        lists = {"t-0": [1, 2], "t-1": [1, 3], "t-2": [1, 3]}
        instance, targets = solved(lists, goal=Repair())
        sets = solve(instance, targets)
        assert sorted(instance.loads(sets).tolist()) == [1, 1, 2, 2]

    def test_capped_topics_are_evened_out(self) -> None:
        policy = Policy(topics=(TopicBlock(match=("a",), topic_spread="even"),))
        lists = {"a-0": [1, 2], "a-1": [1, 2], "b-0": [1, 2], "b-1": [1, 3]}
        instance, targets = solved(lists, policy, goal=Drain((4,)))
        sets = solve(instance, targets)
        assert instance.legal(sets).all()

    def test_stop_skips_the_remaining_costs(self) -> None:
        instance, targets = solved({"t-0": [1, 2], "t-1": [1, 3]}, goal=Repair())
        sets = solve(instance, targets, stopping_after(2))
        assert instance.cost(sets) == 1


class TestLargeSizes:
    def test_bytes_are_exact_if_costs_cannot_be_merged(self) -> None:
        lists = {"t-0": [4, 2], "t-1": [4, 3], "t-2": [3, 1], "t-3": [1, 4]}
        tera = 2**45
        sizes: dict[str, int | None] = {
            "t-0": 2 * tera,
            "t-1": 8 * tera - 1,
            "t-2": tera,
            "t-3": 8 * tera,
        }
        racks = dict.fromkeys(range(1, 5), "/a")
        instance, targets = solved(lists, minimise="bytes", racks=racks, sizes=sizes)
        assert instance.cost(solve(instance, targets)) == 3 * tera

    def test_partition_of_two_petabytes(self) -> None:
        cluster = small_cluster(
            {1: "/a", 2: "/a", 3: "/a"}, {"t-0": [1], "t-1": [2]}, dead=[1], sizes={"t-0": 2**51}
        )
        instance = instance_of(cluster, Policy(), Repair(), minimise="bytes")
        sets = solve(instance, targets_of(instance))
        assert instance.loads(sets).tolist() == [1, 1]
        assert instance.cost(sets) == 2**51

    def test_a_size_beyond_64_bits_is_rejected(self) -> None:
        cluster = small_cluster({1: "/a", 2: "/a"}, {"t-0": [1]}, dead=[1], sizes={"t-0": 2**60})
        with pytest.raises(OptimumTooLarge):
            plan(cluster, minimise="bytes", solver="flow")


def test_immovable_replicas_are_no_nodes() -> None:
    instance, targets = solved({"t-0": [1], "t-1": [1]}, racks={1: "/a", 2: "/b"})
    network = network_of(instance, targets, should_stop=never_stop)
    replaced, free = solved({"t-0": [3, 1]}, racks={1: "/a", 3: "/a", 4: "/b"})
    other = network_of(replaced, free, should_stop=never_stop)
    assert network is not None
    assert other is not None
    assert len(network.waiting) == 0
    assert len(other.waiting) == 1
