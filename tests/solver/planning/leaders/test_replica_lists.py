"""Lists: leader first, kept brokers in their old order, new ones in canonical order."""

from collections import Counter

import pytest

from planner_vectors import tiny_cases
from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.fair_groups import leader_groups
from rackwise.core.planning.leaders.replica_lists import choose_lists, leader_certificate
from rackwise.core.planning.model import Balance, BrokerGroup, Leaders, Repair, Replace
from rackwise.core.planning.problem.goal_instance import instance_of as posed_instance
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy, TopicBlock
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}


def instance_of(lists, goal=None, policy=None, *, racks=RACKS, dead=()):
    cluster = small_cluster(racks, lists, dead=dead)
    return posed_instance(cluster, policy or Policy(), goal or Balance())


def sets_of(instance, *ids):
    """Sets of broker ids as usable brokers, rising."""
    index = {id_: number for number, id_ in enumerate(instance.brokers.tolist())}
    return Ragged.of([sorted(index[id_] for id_ in row) for row in ids])


def lists_of(found):
    return [found.lists.row(row) for row in range(len(found.lists))]


def test_order_is_leader_then_kept_then_new_replicas():
    instance = instance_of({"t-0": [1, 2, 3], "t-1": [2, 1, 6]}, Repair())
    found = choose_lists(instance, sets_of(instance, [2, 3, 4], [5, 1, 3]))
    assert lists_of(found) == [(4, 2, 3), (1, 5, 3)]
    assert found.leaders.changes == 2


def test_replacing_broker_takes_the_place_of_the_old_one():
    racks = {**RACKS, 7: "/b"}
    instance = instance_of({"t-0": [1, 2, 3], "t-1": [2, 3, 4]}, Replace(((2, 7),)), racks=racks)
    found = choose_lists(instance, sets_of(instance, [1, 7, 3], [7, 3, 4]))
    assert lists_of(found) == [(1, 7, 3), (7, 3, 4)]
    assert found.leaders.changes == 1


def test_chosen_leader_takes_the_place_of_a_leader_without_heir():
    lists = {"t-0": [6, 1], "t-1": [6, 1]}
    instance = instance_of(lists, Replace(((2, 4),), repair=True), dead=[6])
    found = choose_lists(instance, sets_of(instance, [1, 4], [1, 4]))
    assert lists_of(found) == [(1, 4), (4, 1)]


def test_no_lead_broker_is_not_first_after_a_replacement():
    policy = Policy(brokers=BrokerPolicy(no_lead=(1,)))
    instance = instance_of({"t-0": [1, 2, 3]}, Replace(((3, 6),)), policy)
    found = choose_lists(instance, sets_of(instance, [1, 2, 6]))
    assert lists_of(found) == [(2, 1, 6)]


def test_where_only_leaders_are_chosen_dead_replicas_stay_listed():
    lists = {"t-0": [6, 1, 2], "t-1": [1, 6, 2], "t-2": [6]}
    instance = instance_of(lists, Leaders(), dead=[6])
    found = choose_lists(instance, instance.held)
    assert lists_of(found) == [(2, 6, 1), (1, 6, 2), (6,)]
    assert found.leaders.leader.tolist()[2] == -1


def test_drained_brokers_lead_nothing_and_stay_listed():
    policy = Policy(brokers=BrokerPolicy(drain=(1,)))
    instance = instance_of({"t-0": [1, 2, 3]}, Leaders(), policy)
    assert lists_of(choose_lists(instance, instance.held)) == [(2, 1, 3)]


def test_second_replicas_are_even_with_failover():
    lists = {f"t-{number}": [number % 3 + 1, 4, 5, 6] for number in range(3)}
    policy = Policy(
        balance=BalancePolicy(failover=True),
        topics=(TopicBlock(match=("*",), spread={"zone": "off"}),),
    )
    instance = instance_of(lists, Balance(), policy)
    found = lists_of(choose_lists(instance, instance.held))
    assert [row[0] for row in found] == [1, 2, 3]
    assert {row[1] for row in found} == {4, 5, 6}
    assert found[0] == (1, 4, 5, 6)
    kept = instance_of(lists, Repair(), policy)
    assert lists_of(choose_lists(kept, kept.held)) == [tuple(row) for row in lists.values()]


def test_single_replica_has_no_second():
    policy = Policy(balance=BalancePolicy(failover=True))
    instance = instance_of({"t-0": [1], "t-1": [2, 3]}, Balance(), policy)
    assert lists_of(choose_lists(instance, instance.held)) == [(1,), (2, 3)]


def test_no_partitions_have_no_lists():
    instance = instance_of({})
    found = choose_lists(instance, Ragged.empty(0))
    assert lists_of(found) == []
    assert leader_groups(instance, found.leaders) == (
        BrokerGroup(brokers=(1, 2, 3, 4, 5, 6), low=(0,) * 6, high=(0,) * 6, total=0),
    )


def test_groups_and_prices_use_broker_ids():
    lists = {**{f"t-{number}": [6, 1] for number in range(5)}, "u-0": [2, 3]}
    policy = Policy(brokers=BrokerPolicy(no_lead=(3,)))
    instance = instance_of(lists, Balance(), policy)
    found = choose_lists(instance, instance.held)
    groups = leader_groups(instance, found.leaders)
    assert groups == (
        BrokerGroup(brokers=(1, 6), low=(2, 2), high=(3, 3), total=5),
        BrokerGroup(brokers=(2,), low=(0,), high=(1,), total=1),
        BrokerGroup(brokers=(3, 4, 5), low=(0, 0, 0), high=(0, 0, 0), total=0),
    )
    certificate = leader_certificate(instance, found.leaders)
    assert certificate.groups == groups
    assert certificate.lower_bound == found.leaders.cost == 2
    assert (certificate.objective, certificate.unit) == ("leaders", "leader changes")
    assert set(certificate.prices) == set(RACKS)
    assert certificate.prices[6] - certificate.prices[1] == 1
    assert [(cut.brokers, cut.least) for cut in certificate.cuts] == [((1, 6), 5), ((1, 2, 6), 6)]
    assert certificate.cuts[0].reason == "nobody else may lead 5 partitions"


SOLVED = [case for case in tiny_cases() if case.expect["feasible"]]


@pytest.mark.parametrize("case", SOLVED, ids=lambda case: case.name)
def test_sets_of_the_vectors_get_their_lists(case):
    policy, goal = case.asked
    cluster = case.cluster
    instance = posed_instance(cluster, policy, goal)
    wanted = {f"{row[0]}-{row[1]}": tuple(row[2]) for row in case.expect["plan"]}
    names = [cluster.partitions.name(row) for row in range(len(instance))]
    found = choose_lists(instance, sets_of(instance, *(wanted[name] for name in names)))
    got = lists_of(found)
    squares = Counter(row[0] for row in got).values()
    assert sum(count**2 for count in squares) == case.expect["leaders"]["sum_of_squares"]
    assert found.leaders.changes == case.expect["leaders"]["changes"]
    assert found.leaders.lower_bound == case.expect["leaders"]["changes"]
    for name, listed in zip(names, got, strict=True):
        assert sorted(listed) == sorted(wanted[name])
        if listed[0] == wanted[name][0]:
            assert listed == wanted[name]


def test_no_broker_is_idle_if_each_may_lead():
    instance = instance_of({"t-0": [1, 2]}, racks={1: "/a", 2: "/b"})
    found = choose_lists(instance, instance.held)
    assert leader_groups(instance, found.leaders) == (
        BrokerGroup(brokers=(1, 2), low=(0, 0), high=(1, 1), total=1),
    )
