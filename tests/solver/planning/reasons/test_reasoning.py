"""Why a plan moves a partition or leaves it; what other sets cost, judged by brute force."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from laws_planning import applied
from naive_audit import placed
from planning_problems import PRICES, problems
from rackwise.core.errors import Infeasible
from rackwise.core.model import LogDir, PartitionTable
from rackwise.core.planning.model import Add, Balance, Drain, Leaders, Repair, SetReplication
from rackwise.core.planning.plan import plan
from rackwise.core.planning.reasons.model import Extra, OtherTarget, RuleReason
from rackwise.core.planning.reasons.reasoning import reason_of
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy, TopicBlock
from rackwise.core.policy.excluded_topics import exclude_topics
from rackwise.core.racks import Rack
from small_clusters import small_cluster

LISTS = {"t-0": [1, 4, 2], "t-1": [1, 2, 3], "t-2": [2, 3, 1]}
ALIKE = {f"t-{n}": [1, 2, 3] for n in range(3)}
FEWER = settings(max_examples=max(10, settings().max_examples // 4))
RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}


def explained(cluster, name, policy=None, goal=None, prices=(), **more):
    policy = policy or Policy()
    made = plan(cluster, policy, goal or Balance(), prices=prices, **more)
    topic, _, number = name.rpartition("-")
    return reason_of(cluster, policy, made, (topic, int(number)), prices=prices), made


class TestSets:
    def test_a_broken_rule_moves_it_and_the_set_cannot_stay(self):
        found, _ = explained(small_cluster(RACKS, LISTS), "t-0", goal=Repair())
        assert found.state == "moved"
        assert found.rules == (
            RuleReason(rule="spread-even", level="zone", wanted="/a 1, /c 1", had="/a 2, /c 0"),
        )
        assert (found.can_stay, found.stay) == (False, None)
        (given_away,), (got,) = found.given, found.taken
        assert (given_away.rack, got.rack) == ("/a", "/c")
        assert (got.takes, got.gives, got.after - got.before) == (1, 0, 1)
        assert (got.low, got.high) == (None, None)
        assert {one.instead_of for one in found.others} == {got.broker}
        assert {one.broker for one in found.others} == {3, 6} - {got.broker}

    def test_loads_move_it_and_keeping_it_has_a_price(self):
        lists = {f"t-{n}": [1, 2, 3] for n in range(4)}
        found, made = explained(small_cluster(RACKS, lists), "t-0")
        moved = {move.partition for move in made.moves if move.added}
        reasons = [
            reason_of(small_cluster(RACKS, lists), Policy(), made, ("t", number))
            for number in range(4)
        ]
        assert {one.partition for one in reasons if one.state == "moved"} == moved
        for one in reasons:
            assert one.rules == ()
            assert one.can_stay
            assert one.stay == Extra(amount=0, objective="moves")
        assert {load.low for load in found.given} == {2}

    def test_a_set_that_stays_names_the_best_other_one(self):
        found, _ = explained(small_cluster(RACKS, LISTS), "t-1", goal=Repair())
        assert (found.state, found.given, found.taken) == ("kept", (), ())
        first = found.others[0]
        assert first == OtherTarget(
            instead_of=1, broker=4, extra=Extra(amount=1, objective="moves")
        )

    def test_a_set_without_another_one(self):
        cluster = small_cluster({1: "/a", 2: "/b"}, {"t-0": [1, 2]})
        assert explained(cluster, "t-0")[0].others == ()

    def test_a_drained_broker_is_not_usable_and_has_no_price(self):
        cluster = small_cluster(RACKS, {"t-0": [1, 2, 3]})
        found, _ = explained(cluster, "t-0", goal=Drain((1,)))
        assert found.given[0].price is None
        assert not found.can_stay
        assert [rule.rule for rule in found.rules] == ["drained-broker"]

    def test_a_pin_that_is_lost_makes_no_set_legal(self):
        block = TopicBlock(match=("t",), pin={0: (1,)})
        cluster = small_cluster(RACKS, {"t-0": [1, 2, 3]})
        policy = Policy(topics=(block,))
        made = plan(cluster, policy)
        drained = replace(policy, brokers=BrokerPolicy(drain=(1,)))
        assert not reason_of(cluster, drained, made, ("t", 0)).can_stay

    def test_the_prices_of_capped_topics_count(self):
        lists = {f"t-{n}": [1, 2, 3] for n in range(4)}
        policy = Policy(
            topics=(TopicBlock(match=("t",), topic_spread="even"),),
            balance=BalancePolicy(replicas="off"),
        )
        found, made = explained(small_cluster(RACKS, lists), "t-3", policy)
        by_broker = {one.broker: one.price for one in made.certificates[0].topic_prices}
        assert by_broker
        loads = (*found.given, *found.taken)
        assert {load.broker: load.price for load in loads if load.broker in by_broker} == {
            load.broker: by_broker[load.broker] for load in loads if load.broker in by_broker
        }

    def test_an_equal_cost_is_decided_by_the_price_of_replication(self):
        lists = {"t-0": [1, 2, 9]}
        racks = {1: "/eu/a", 2: "/eu/b", 3: "/eu/a", 4: "/us/a", 5: "/eu/a"}
        cluster = small_cluster(racks, lists)
        rows = [replace(row, bytes_in_per_s=1000) for row in cluster.partitions]
        cluster = replace(cluster, partitions=PartitionTable.of(rows))
        policy = Policy(
            topics=(TopicBlock(match=("*",), spread={"level1": "off", "level2": "off"}),)
        )
        found, _ = explained(cluster, "t-0", policy, Repair(), PRICES)
        assert [load.broker for load in found.taken] == [3]
        same, other = found.others
        assert same == OtherTarget(instead_of=3, broker=5, extra=Extra(amount=0, objective="moves"))
        assert other.broker == 4
        assert other.extra.objective == "replication"
        assert other.extra.amount > 0

    def test_a_plan_that_is_not_proved_has_no_costs(self):
        cluster = small_cluster(RACKS, {f"t-{n}": [1, 2, 3] for n in range(4)})
        found, made = explained(cluster, "t-0", should_stop=lambda: True)
        assert not made.verdict.is_proved
        assert (found.can_stay, found.stay) == (True, None)
        assert all(other.extra is None for other in found.others)

    def test_an_unknown_partition(self):
        cluster = small_cluster(RACKS, LISTS)
        made = plan(cluster)
        for partition in (("t", 9), ("u", 0)):
            with pytest.raises(KeyError):
                reason_of(cluster, Policy(), made, partition)

    def test_a_bound_of_zero_is_not_the_cost(self):
        """The set before is dearer than its bound: no fair plan has it at all."""
        cluster = small_cluster({1: "/a", 2: "/b"}, {"p-0": [1], "q-0": [1]})
        found, made = explained(cluster, "p-0", exclude_topics(Policy(), ["q"]))
        assert made.verdict.is_proved
        assert (found.state, found.can_stay) == ("moved", True)
        assert found.stay == Extra(amount=0, objective="moves")


class TestLeftAlone:
    def test_an_excluded_topic(self):
        policy = exclude_topics(Policy(), ["t"])
        found, _ = explained(small_cluster(RACKS, LISTS), "t-0", policy)
        assert (found.state, found.others, found.leader) == ("excluded", (), None)
        assert [rule.rule for rule in found.rules] == ["spread-even"]

    def test_a_cordoned_broker(self):
        cluster = small_cluster(RACKS, LISTS)
        folders = (LogDir(path="/a", is_cordoned=True),)
        brokers = tuple(
            replace(broker, log_dirs=folders) if broker.id == 1 else broker
            for broker in cluster.brokers
        )
        cluster = replace(cluster, brokers=brokers)
        found, _ = explained(cluster, "t-1")
        assert (found.state, found.cordoned) == ("cordoned", (1,))
        for goal, state in (
            (Add(((7, Rack("/a")),)), "cordoned"),
            (Drain((5,), rebalance=True), "cordoned"),
            (Drain((5,)), "untouched"),
        ):
            assert explained(cluster, "t-1", goal=goal)[0].state == state

    def test_a_dead_replica_that_the_goal_does_not_replace(self):
        cluster = small_cluster(RACKS, {**LISTS, "t-3": [1, 2, 9]})
        for goal, state in (
            (Add(((7, Rack("/a")),)), "unusable"),
            (SetReplication((("u", 2),), rebalance=True), "unusable"),
            (SetReplication((("u", 2),)), "untouched"),
        ):
            assert explained(cluster, "t-3", goal=goal)[0].state == state

    def test_rules_that_no_set_can_keep(self):
        block = TopicBlock(match=("t",), spread={"zone": "distinct"})
        policy = Policy(topics=(block,))
        cluster = small_cluster({1: "/a", 2: "/b", 3: "/b"}, {"t-0": [1, 2, 3], "u-0": [1, 2]})
        found, _ = explained(cluster, "t-0", policy, Add(((4, Rack("/a")),)))
        assert found.state == "untouched"


class TestLeaders:
    def test_a_leader_that_leads_too_many(self):
        found, _ = explained(small_cluster(RACKS, ALIKE), "t-2", goal=Leaders())
        assert (found.state, found.stay, found.others) == ("reordered", None, ())
        leader = found.leader
        assert (leader.cause, leader.extra.objective) == ("loads", "leaders")
        assert (leader.before.before, leader.before.gives, leader.before.after) == (3, 2, 1)
        assert (leader.after.before, leader.after.takes, leader.after.after) == (0, 1, 1)

    def test_a_leader_that_the_policy_does_not_allow(self):
        policy = Policy(brokers=BrokerPolicy(no_lead=(1,)))
        found, _ = explained(small_cluster(RACKS, ALIKE), "t-0", policy, Leaders())
        assert (found.leader.cause, found.leader.extra) == ("not-eligible", None)
        assert [rule.rule for rule in found.rules] == ["leader-rack"]

    @pytest.mark.parametrize("drain", [(), (1,)])
    def test_a_leader_that_is_not_live_or_is_to_be_drained(self, drain):
        cluster = small_cluster(RACKS, {"t-0": [1, 2, 3]}, dead=() if drain else (1,))
        policy = Policy(brokers=BrokerPolicy(drain=drain))
        found, _ = explained(cluster, "t-0", policy, Leaders())
        assert (found.leader.cause, found.leader.extra) == ("unusable", None)

    def test_a_list_with_a_broker_that_is_not_listed_stays(self):
        found, _ = explained(small_cluster(RACKS, {"t-0": [9, 2, 3]}), "t-0", goal=Leaders())
        assert (found.state, found.leader) == ("unusable", None)

    def test_a_leader_that_loses_its_replica(self):
        cluster = small_cluster(RACKS, {"t-0": [9, 2, 3]})
        found, _ = explained(cluster, "t-0", goal=Repair())
        assert found.leader.cause == "gone"
        assert (found.leader.before.rack, found.leader.before.price) == (None, None)

    def test_leaders_of_a_plan_that_is_not_proved_have_no_prices(self):
        cluster = small_cluster(RACKS, ALIKE)
        made = plan(cluster, goal=Leaders())
        unproved = replace(made, verdict=replace(made.verdict, gap=1))
        found = reason_of(cluster, Policy(), unproved, ("t", 2)).leader
        assert (found.extra, found.before.price) == (None, None)


@FEWER
@given(problems())
def test_no_fair_placement_with_another_set_is_cheaper_than_its_explanation_says(problem):
    question = problem.question
    try:
        made = problem.plan("auto")
    except Infeasible:
        return
    cluster, policy = problem[:2]
    least = question.minimum()
    after = applied(cluster, made.moves).partitions
    for row, partition in enumerate(question.partitions):
        found = reason_of(
            cluster, policy, made, (partition.topic, partition.partition), prices=problem.prices
        )
        chosen = frozenset(after[row].replicas)
        before = frozenset(placed(partition))
        told = {chosen - {other.instead_of} | {other.broker}: other.extra for other in found.others}
        if found.can_stay and found.stay is not None:
            told[before] = found.stay
        for chosen_set, extra in told.items():
            assert question.is_legal(row, chosen_set)
            cost = least_with(question, row, chosen_set)
            if cost is not None and extra.objective == problem.minimise:
                assert cost >= least + extra.amount
        if found.state in {"moved", "kept"}:
            assert found.can_stay == question.is_legal(row, before)


def least_with(question, row, chosen):
    """The least cost of an allowed placement in which one partition has this set; None: none."""
    fixed = replace(question)
    options = [*question.options]
    options[row] = [chosen]
    fixed.__dict__.update(options=options, caps=question.caps)
    costs = [min(best)[0] for loads, best in fixed.all_loads.items() if question.is_allowed(loads)]
    return min(costs, default=None)
