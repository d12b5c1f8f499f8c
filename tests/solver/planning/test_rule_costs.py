"""The cost of soft rules: each rule in force requires one more plan."""

import pytest

from planner_vectors import VECTORS, tiny_cluster
from rackwise.core.planning.model import Balance, Leaders, Repair, Totals
from rackwise.core.planning.plan import plan
from rackwise.core.planning.rule_costs import RuleCost, rule_costs
from rackwise.core.policy import BalancePolicy, Policy, TopicBlock
from small_clusters import small_cluster

SPREAD = next(case for case in VECTORS["plans"] if case["name"] == "topic-spread-price")
SPREAD_ON = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))


def test_cost_of_topic_spread_in_its_vector():
    prices = rule_costs(tiny_cluster(SPREAD), SPREAD_ON, Balance())
    spread = prices[0]
    assert spread.rule == "topic_spread"
    assert (spread.with_rule.moves, spread.without_rule.moves) == (4, 0)
    assert spread.sentence == "topic_spread costs 4 of 4 moves"


def test_only_rules_in_force_have_a_cost():
    cluster = tiny_cluster(SPREAD)
    failover = Policy(balance=BalancePolicy(failover=True))

    def rules(policy, goal):
        return [price.rule for price in rule_costs(cluster, policy, goal)]

    assert rules(SPREAD_ON, Balance()) == ["topic_spread", "balance", "leaders"]
    assert rules(failover, Balance()) == ["balance", "leaders", "failover"]
    assert rules(SPREAD_ON, Repair()) == ["topic_spread"]
    assert rules(failover, Repair()) == []
    assert rules(failover, Leaders()) == ["leaders", "failover"]
    still = Policy(balance=BalancePolicy(replicas="off", leaders="keep", failover=True))
    assert rules(still, Balance()) == []


def test_plan_with_all_rules_can_be_passed():
    cluster = tiny_cluster(SPREAD)
    planned = plan(cluster, SPREAD_ON)
    prices = rule_costs(cluster, SPREAD_ON, planned=planned)
    assert prices == rule_costs(cluster, SPREAD_ON)
    assert all(price.with_rule is planned.totals for price in prices)


def test_the_rule_for_leaders_costs_leader_changes():
    cluster = small_cluster({1: "/a", 2: "/b"}, {"t-0": [1, 2], "t-1": [1, 2]})
    by_rule = {price.rule: price for price in rule_costs(cluster)}
    assert by_rule["leaders"].sentence == "leaders costs 1 of 1 leader changes"
    assert by_rule["balance"].sentence == "balance costs 0 of 1 leader changes"


@pytest.mark.parametrize(
    ("with_rule", "without_rule", "sentence"),
    [
        (Totals(moves=25_010), Totals(moves=1_782), "balance costs 23,228 of 25,010 moves"),
        (Totals(), Totals(), "balance costs 0 of 0 moves"),
        (Totals(moves=3, leader_changes=2), Totals(moves=3), "balance costs 2 of 2 leader changes"),
    ],
)
def test_sentence_of_a_rule_cost(with_rule, without_rule, sentence):
    price = RuleCost(rule="balance", with_rule=with_rule, without_rule=without_rule)
    assert price.sentence == sentence
