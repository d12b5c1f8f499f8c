"""Dual prices that prove a plan, and prices of a plan that is not the cheapest."""

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.model import Balance, BrokerGroup
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.proof.dual_prices import MOST_PRICE, LoadLimits, dual_prices_of
from rackwise.core.policy import Policy, TopicBlock
from small_clusters import small_cluster


def prices_for(lists, sets, groups, caps=None, policy=None):
    cluster = small_cluster(dict.fromkeys(range(1, 5), "/a"), lists)
    instance = instance_of(cluster, policy or Policy(), Balance())
    return dual_prices_of(instance, Ragged.of(sets), LoadLimits.of(instance, groups, caps or {}))


def group(low, high, total):
    return BrokerGroup(brokers=(1, 2, 3, 4), low=(low,) * 4, high=(high,) * 4, total=total)


def test_broker_that_gave_a_replica_has_a_high_price():
    found = prices_for({"t-0": [1], "t-1": [1]}, [[0], [1]], [group(0, 1, 2)])
    assert found.brokers.tolist() == [1, 0, 0, 0]
    assert found.is_settled


def test_broker_at_its_low_is_not_reached_through_its_pool():
    groups = [
        BrokerGroup(brokers=(1, 2, 3), low=(0, 0, 1), high=(1, 1, 1), total=2),
        BrokerGroup(brokers=(4,), low=(1,), high=(1,), total=1),
    ]
    found = prices_for({"t-0": [2], "t-1": [1], "t-2": [3]}, [[3], [0], [2]], groups)
    assert found.brokers.tolist() == [1, 1, 0, 0]


def test_without_groups_there_are_no_prices():
    found = prices_for({"t-0": [1], "t-1": [1]}, [[0], [1]], [])
    assert found.brokers.tolist() == [0, 0, 0, 0]


def test_prices_of_a_plan_that_is_not_cheapest_do_not_settle():
    found = prices_for({"t-0": [1], "t-1": [2]}, [[1], [0]], [group(0, 1, 2)])
    assert not found.is_settled
    assert int(np.abs(found.brokers).max()) <= MOST_PRICE


def test_cap_that_forces_a_move_has_a_price():
    policy = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
    caps = {"t": dict.fromkeys(range(1, 5), 1), "u": dict.fromkeys(range(1, 5), 1)}
    lists = {"t-0": [1], "t-1": [1], "u-0": [2], "u-1": [2]}
    found = prices_for(lists, [[0], [1], [0], [1]], [group(0, 2, 4)], caps, policy)
    assert found.topics.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]


def test_broker_missing_from_a_cap_has_no_limit():
    policy = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
    cluster = small_cluster({1: "/a", 2: "/a"}, {"t-0": [1]})
    instance = instance_of(cluster, policy, Balance())
    limits = LoadLimits.of(instance, [], {"t": {1: 1}})
    assert limits.caps.tolist() == [[1, len(instance)]]
