"""Among plans with equal moves the one with the lowest price of replication, and its proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from checked_plans import check
from planner_vectors import CENTS
from planning_problems import check_planned, problems
from rackwise.core.errors import Infeasible, InvalidPolicy
from rackwise.core.planning.leaders.expected import expected_leaders, with_steady_costs
from rackwise.core.planning.model import (
    Balance,
    Drain,
    Leaders,
    Repair,
    Replace,
    SetReplication,
)
from rackwise.core.planning.plan import plan
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.proof.applied import apply_plan
from rackwise.core.planning.proof.replication import MOST_WEIGHT, replication_bound
from rackwise.core.planning.proof.stated_totals import false_statements
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy, RackPolicy, TopicBlock
from rackwise.core.traffic import usd_nano
from small_clusters import small_cluster

DAY_S = 86_400
MB_PER_S = 10**6
ONE_COPY = 2 * usd_nano(MB_PER_S * DAY_S, 10**7, 10**9)
"""Nano-dollars per day of one follower in another rack, at 1 MB/s."""
RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/b", 5: "/c", 6: "/c"}
QUIET = Policy(balance=BalancePolicy(replicas="off", leaders="keep"))
FREE = replace(QUIET, topics=(TopicBlock(match=("*",), spread={"zone": "off"}),))


def rated(lists, rates=None, *, racks=RACKS, **options):
    """A cluster with 1 MB/s to each partition, or these rates."""
    cluster = small_cluster(racks, lists, **options)
    found = [MB_PER_S] * len(lists) if rates is None else rates
    table = replace(cluster.partitions, bytes_in_per_s=np.array(found, dtype=np.int64))
    return replace(cluster, partitions=table)


@given(problems(has_rates=True))
def test_the_price_is_the_least_of_all_plans_with_equal_moves_and_is_proved(problem):
    found = check_planned(problem, "auto")
    assume(found is not None and problem.question.has_replication)
    least = problem.question.secondary()[1]
    assert found.verdict.replication.cost == least
    assert found.verdict.replication.lower_bound == least
    applied = apply_plan(problem.cluster, problem.policy, found, prices=problem.prices)
    assert not false_statements(applied, found, found.verdict, prices=problem.prices)


@settings(max_examples=60)
@given(st.data(), problems(has_rates=True))
def test_any_prices_and_weight_give_a_valid_bound(data, problem):
    try:
        found = problem.plan("auto")
    except (Infeasible, InvalidPolicy):
        reject()
    question, instance = problem.question, problem.instance
    assume(question.has_replication and instance.steady is not None)
    cost, least = question.secondary()[:2]
    made = next(one for one in found.certificates if one.objective == "replication")
    numbers = st.integers(-3, 3) | st.integers(-(10**7), 10**7)
    made = replace(
        made,
        weight=data.draw(st.integers(0, 10**8)),
        prices={id_: price + data.draw(numbers) for id_, price in made.prices.items()},
    )
    assert replication_bound(instance, made, cost) <= least


class TestChoice:
    """Replicas of one move each: where they go decides what replication costs every month."""

    def test_the_fourth_replica_goes_to_the_rack_of_the_leader(self):
        lists = {"t-0": [3, 1, 5], "t-1": [5, 3, 1]}
        cluster = rated(lists)
        found = plan(cluster, QUIET, SetReplication((("*", 4),)), prices=CENTS)
        assert [move.added for move in found.moves] == [(4,), (6,)]
        assert found.verdict.replication.cost == 2 * 2 * ONE_COPY
        assert found.totals.monthly.replication_usd_nano == 0
        assert found.verdict.is_proved

    def test_without_rates_or_prices_there_is_no_such_objective(self):
        lists = {"t-0": [3, 1, 5], "t-1": [5, 3, 1]}
        goal = SetReplication((("*", 4),))
        unknown = rated(lists, [-1, -1])
        plans = [
            plan(unknown, QUIET, goal, prices=CENTS),
            plan(rated(lists, [0, 0]), QUIET, goal, prices=CENTS),
            plan(rated(lists), QUIET, goal),
        ]
        for found in plans:
            assert found.verdict.replication is None
            assert [one.objective for one in found.certificates] == ["moves", "leaders"]
            assert found.moves[0].added == plans[0].moves[0].added
            assert found.verdict.is_proved

    def test_a_partition_of_unknown_rate_has_no_say(self):
        lists = {"t-0": [3, 1, 5], "t-1": [5, 3, 1]}
        cluster = rated(lists, [-1, MB_PER_S])
        found = plan(cluster, QUIET, SetReplication((("*", 4),)), prices=CENTS)
        assert found.verdict.replication.cost == 2 * ONE_COPY
        assert {move.partition: move.added for move in found.moves}[1] == (6,)

    def test_moves_come_first(self):
        """A lower price of replication is no reason to move anything."""
        cluster = rated({"t-0": [1, 3, 5]})
        assert plan(cluster, FREE, Repair(), prices=CENTS).moves == ()

    def test_replication_comes_before_even_loads_that_no_rule_requires(self):
        lists = {"t-0": [1, 3], "t-1": [2, 3], "t-2": [2, 1]}
        cluster = rated(lists, dead=[3])
        found = plan(cluster, FREE, Repair(), prices=CENTS)
        added = {f"{move.topic}-{move.partition}": move.added for move in found.moves}
        assert added["t-0"] == (2,)
        assert added["t-1"] == (1,)
        assert found.verdict.replication.cost == 0

    def test_racks_that_do_not_count_have_no_price(self):
        cluster = rated({"t-0": [1, 3]}, racks={1: "/a", 3: None, 5: "/b"})
        blind = replace(QUIET, racks=RackPolicy(missing="unaware"))
        found = plan(cluster, blind, SetReplication((("*", 3),)), prices=CENTS)
        assert found.verdict.replication is None

    @pytest.mark.parametrize("rate", [2**62, 2**41 * 10**3])
    def test_prices_beyond_exact_sums_are_no_objective(self, rate):
        cluster = rated({"t-0": [1, 3]}, [rate])
        found = plan(cluster, QUIET, SetReplication((("*", 3),)), prices=CENTS)
        assert found.verdict.replication is None
        assert found.verdict.is_proved


class TestExpectedLeader:
    @staticmethod
    def of(lists, goal, policy=QUIET, **options):
        instance = instance_of(rated(lists, **options), policy, goal)
        found = expected_leaders(instance)
        return [int(instance.brokers[at]) if at >= 0 else None for at in found.tolist()]

    def test_the_preferred_leader_that_stays(self):
        assert self.of({"t-0": [3, 1], "t-1": [1, 3]}, Repair()) == [3, 1]

    def test_the_next_in_list_order_without_it(self):
        assert self.of({"t-0": [1, 5, 3], "t-1": [1]}, Drain((1,))) == [5, None]
        assert self.of({"t-0": [1, 5, 3]}, Repair(), dead=[1, 5]) == [3]

    def test_one_that_may_lead(self):
        policy = replace(QUIET, brokers=BrokerPolicy(no_lead=(1,)))
        assert self.of({"t-0": [1, 5, 3]}, Repair(), policy) == [5]
        even = replace(policy, balance=BalancePolicy())
        assert self.of({"t-0": [1, 5, 3]}, Balance(), even) == [5]

    def test_the_broker_that_replaces_it(self):
        goal = Replace(((1, 2),))
        assert self.of({"t-0": [1, 3], "t-1": [3, 1]}, goal) == [2, 3]
        drained = replace(QUIET, brokers=BrokerPolicy(drain=(2,)))
        assert self.of({"t-0": [1, 3]}, goal, drained) == [3]

    def test_the_goal_leaders_has_no_such_objective(self):
        cluster = rated({"t-0": [1, 3]})
        instance = instance_of(cluster, QUIET, Leaders())
        assert with_steady_costs(instance, CENTS).steady is None
        assert plan(cluster, QUIET, Leaders(), prices=CENTS).verdict.replication is None


class TestCheck:
    """The checker takes the moves and the dual prices from the plan, and nothing else."""

    CLUSTER = rated({"t-0": [3, 1, 5], "t-1": [5, 3, 1]})
    GOAL = SetReplication((("*", 4),))

    @pytest.fixture
    def made(self):
        return plan(self.CLUSTER, QUIET, self.GOAL, prices=CENTS)

    def changed(self, made, **fields):
        *others, last = made.certificates
        assert last.objective == "replication"
        return replace(made, certificates=(*others, replace(last, **fields)))

    def judged(self, made, prices=CENTS):
        return check(self.CLUSTER, QUIET, made, prices=prices)

    def test_a_dearer_plan_with_equal_moves_is_not_proved(self, made):
        first = made.moves[0]
        dearer = replace(first, after=(3, 1, 5, 2))
        verdict = self.judged(replace(made, moves=(dearer, *made.moves[1:])))
        assert (verdict.gap, verdict.replication.gap) == (0, ONE_COPY)
        assert not verdict.is_proved

    def test_without_its_certificate(self, made):
        verdict = self.judged(replace(made, certificates=made.certificates[:2]))
        assert "expected a certificate of replication, got none" in verdict.problems

    def test_a_stated_bound_that_the_prices_do_not_give(self, made):
        verdict = self.judged(self.changed(made, lower_bound=1))
        assert "of replication from the dual prices, got 1" in verdict.problems[0]

    def test_a_weight_beyond_exact_sums(self, made):
        verdict = self.judged(self.changed(made, weight=2**62))
        assert f"expected a weight of at most {MOST_WEIGHT}, got {2**62}" in verdict.problems

    def test_prices_of_other_brokers(self, made):
        verdict = self.judged(self.changed(made, prices={99: 1}))
        assert "expected dual prices of usable brokers, got one of broker 99" in verdict.problems

    def test_other_groups_than_those_of_the_moves(self):
        made = plan(self.CLUSTER, Policy(), Balance(), prices=CENTS)
        verdict = check(self.CLUSTER, Policy(), self.changed(made, groups=()), prices=CENTS)
        assert "the certificates state different groups of brokers" in verdict.problems

    def test_without_prices_it_is_not_judged(self, made):
        verdict = self.judged(made, prices=())
        assert verdict.replication is None
        assert verdict.is_proved
        problems = false_statements(apply_plan(self.CLUSTER, QUIET, made), made, verdict)
        assert problems[0].startswith("the verdict: expected replication not known, got ")


def test_a_weight_that_is_too_small_grows():
    """One move less must never be paid with a lower price of replication of many partitions."""
    lists = {f"t-{row}": [1, 3] for row in range(40)}
    racks = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}
    cluster = rated(lists, racks=racks)
    found = plan(cluster, replace(FREE, balance=BalancePolicy()), Balance(), prices=CENTS)
    assert found.verdict.is_proved
    assert found.certificates[-1].weight > 0
