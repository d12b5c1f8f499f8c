"""Eligible leaders: leader racks, brokers that must not lead, kept leaders, replaced brokers."""

import numpy as np
import pytest

from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.eligible import electable, may_lead
from rackwise.core.planning.model import Balance, Drain, Replace
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy, TopicBlock
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/c", 5: "/c"}


def electable_ids(lists, policy, goal=None, racks=RACKS):
    """Ids of the brokers that may lead each partition, if all keep their replicas."""
    instance = instance_of(small_cluster(racks, lists), policy, goal or Balance())
    found = electable(instance, instance.held)
    return [[int(instance.brokers[b]) for b in found.sets.row(row)] for row in range(len(lists))]


def policy(*, no_lead=(), leader_racks=None, leaders="even"):
    return Policy(
        brokers=BrokerPolicy(no_lead=no_lead),
        balance=BalancePolicy(leaders=leaders),
        topics=(TopicBlock(match=("t",), spread={"zone": "off"}, leader_racks=leader_racks),),
    )


def test_examples_of_the_module_docstring():
    lists = {"t-0": [1, 2, 3], "t-1": [2, 3, 4], "t-2": [4, 5], "t-3": [2]}
    found = electable_ids(lists, policy(no_lead=(2,), leader_racks=("/a", "/b")))
    assert found == [[1], [3], [4, 5], [2]]


def test_all_holders_may_lead_without_rules():
    assert electable_ids({"t-0": [3, 1]}, policy()) == [[1, 3]]


def test_leader_racks_apply_to_their_topics_only():
    lists = {"t-0": [1, 3], "u-0": [1, 3]}
    assert electable_ids(lists, policy(leader_racks=("/b",))) == [[3], [1, 3]]


def test_leader_rack_without_brokers_is_skipped():
    racks = {1: "/a", 3: "/b", 4: "/c"}
    lists = {"t-0": [1, 4], "t-1": [1, 3]}
    assert electable_ids(lists, policy(leader_racks=("/b", "/c")), racks=racks) == [[4], [3]]


@pytest.mark.parametrize("leaders", ["keep", "off"])
def test_eligible_leader_stays_if_leaders_are_kept(leaders):
    lists = {"t-0": [3, 1], "t-1": [2, 3]}
    assert electable_ids(lists, policy(no_lead=(2,), leaders=leaders)) == [[3], [3]]


def test_replacing_broker_leads_what_the_old_one_led():
    lists = {"t-0": [3, 1], "t-1": [1, 3]}
    cluster = small_cluster({1: "/a", 2: "/a", 3: "/b"}, lists)
    instance = instance_of(cluster, Policy(), Replace(((1, 2),)))
    found = electable(instance, Ragged.of([[0, 1], [0, 1]]))
    assert instance.brokers.tolist() == [2, 3]
    assert [found.sets.row(0), found.sets.row(1)] == [(1,), (0,)]
    assert found.preferred.tolist() == [1, -1]


def test_drained_replacing_broker_leads_nothing():
    cluster = small_cluster({1: "/a", 2: "/a", 3: "/b"}, {"t-0": [1, 3]})
    draining = Policy(brokers=BrokerPolicy(drain=(2,)))
    instance = instance_of(cluster, draining, Replace(((1, 2),)))
    assert electable(instance, Ragged.of([[0]])).sets.row(0) == (0,)


def test_drained_broker_is_in_no_set():
    cluster = small_cluster(RACKS, {"t-0": [1, 3]})
    instance = instance_of(cluster, policy(), Drain((1,)))
    assert [int(instance.brokers[b]) for b in may_lead(instance, instance.held).row(0)] == [3]


def test_rows_without_members_stay_empty():
    instance = instance_of(small_cluster(RACKS, {"t-0": [1]}), policy(no_lead=(1,)), Balance())
    assert may_lead(instance, Ragged.empty(1)).lengths.tolist() == [0]
    assert np.array_equal(electable(instance, Ragged.empty(1)).preferred, [0])
