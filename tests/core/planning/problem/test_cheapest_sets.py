"""The cheapest sets under prices are compared with all legal sets."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planning_problems import problems
from rackwise.core.planning.model import Balance, Repair
from rackwise.core.planning.problem.cheapest_sets import NEVER, BrokerPrices, cheapest_sets
from rackwise.core.planning.problem.goal_instance import instance_of as posed_instance
from rackwise.core.policy import AtLeast, BrokerPolicy, Policy, RackCount, TopicBlock
from small_clusters import small_cluster

ZONES = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}


def instance_of(lists, policy=None, racks=None, **more):
    cluster = small_cluster(racks or ZONES, lists, **more)
    return posed_instance(cluster, policy or Policy(), Repair())


def sets_of(instance, offers):
    found = cheapest_sets(instance, offers, with_sets=True)
    return [instance.brokers[list(found.sets.row(row))].tolist() for row in range(len(instance))]


def test_legal_held_set_is_kept():
    instance = instance_of({"t-0": [1, 3], "t-1": [4, 2]})
    assert cheapest_sets(instance, BrokerPrices.flat(instance)).values.tolist() == [0, 0]
    assert sets_of(instance, BrokerPrices.flat(instance)) == [[1, 3], [2, 4]]


def test_rack_holds_at_most_its_share():
    instance = instance_of({"t-0": [1, 2]})
    assert sets_of(instance, BrokerPrices.flat(instance)) == [[1, 3]]


def test_prices_above_the_copy_cost_cause_moves():
    instance = instance_of({"t-0": [1, 3]})
    dear = BrokerPrices.flat(instance, np.array([1, 0, 0, 0]))
    assert (sets_of(instance, dear), cheapest_sets(instance, dear).values.tolist()) == (
        [[1, 3]],
        [1],
    )
    dearer = BrokerPrices.flat(instance, np.array([2, 0, 0, 0]))
    assert (sets_of(instance, dearer), cheapest_sets(instance, dearer).values.tolist()) == (
        [[2, 3]],
        [1],
    )


def test_replicas_in_one_rack_use_different_brokers():
    instance = instance_of({"t-0": [1, 2, 3, 4], "t-1": [1, 2]}, Policy(topics=(NOWHERE,)))
    cheap = BrokerPrices.flat(instance, np.array([-5, -4, 0, 0]))
    assert sets_of(instance, cheap) == [[1, 2, 3, 4], [1, 2]]


NOWHERE = TopicBlock(match=("*",), spread={"zone": "off"})
FAR = TopicBlock(match=("*",), spread={"zone": AtLeast(2)})


def test_at_least_then_cheapest():
    instance = instance_of({"t-0": [1, 2]}, Policy(topics=(FAR,)))
    assert sets_of(instance, BrokerPrices.flat(instance)) == [[1, 3]]
    assert sets_of(instance, BrokerPrices.flat(instance, np.array([9, 0, 9, 0]))) == [[2, 4]]


def test_at_least_on_two_levels():
    racks = {1: "/e/a", 2: "/e/a", 3: "/e/b", 4: "/w/a", 5: "/w/a"}
    far = TopicBlock(match=("*",), spread={"level1": AtLeast(2), "level2": AtLeast(3)})
    instance = instance_of({"t-0": [1, 2, 3]}, Policy(topics=(far,)), racks)
    assert sets_of(instance, BrokerPrices.flat(instance)) == [[1, 3, 4]]


def test_region_without_replicas():
    racks = {1: "/e/a", 2: "/e/b", 3: "/w/a"}
    only = TopicBlock(
        match=("*",), count=(RackCount(rack="/e", min=2, max=2),), count_others="none"
    )
    instance = instance_of({"t-0": [1, 3]}, Policy(topics=(only,)), racks)
    assert sets_of(instance, BrokerPrices.flat(instance)) == [[1, 2]]


def test_pins_are_included_held_or_not():
    pinned = TopicBlock(match=("*",), pin={0: (2,), 1: (1, 4)})
    instance = instance_of({"t-0": [1, 3], "t-1": [1, 3], "t-2": [1, 3]}, Policy(topics=(pinned,)))
    assert sets_of(instance, BrokerPrices.flat(instance)) == [[2, 3], [1, 4], [1, 3]]
    assert cheapest_sets(instance, BrokerPrices.flat(instance)).values.tolist() == [1, 1, 0]


def test_pin_without_room_has_no_legal_set():
    pinned = TopicBlock(match=("*",), pin={0: (1, 2)})
    instance = instance_of({"t-0": [1, 3]}, Policy(topics=(pinned,)))
    assert (
        cheapest_sets(instance, BrokerPrices.flat(instance), with_sets=True).values[0] >= NEVER // 2
    )
    crowded = TopicBlock(match=("*",), pin={0: (1, 2)}, spread={"zone": AtLeast(2)})
    instance = instance_of({"t-0": [1, 3]}, Policy(topics=(crowded,)))
    assert (
        cheapest_sets(instance, BrokerPrices.flat(instance), with_sets=True).values[0] >= NEVER // 2
    )


def test_required_rack_of_closed_brokers_has_no_legal_set():
    closed = Policy(brokers=BrokerPolicy(exclude=(3, 4)))
    for lists in ({"t-0": [1, 2]}, {"t-0": [5, 6]}):
        instance = instance_of(lists, closed, {**ZONES, 5: "/a", 6: "/b"}, dead=(5, 6))
        for with_sets in (False, True):
            found = cheapest_sets(instance, BrokerPrices.flat(instance), with_sets=with_sets)
            assert found.values[0] >= NEVER // 2


def test_all_brokers_closed_has_no_legal_set():
    alone = Policy(brokers=BrokerPolicy(drain=(1,), exclude=(2,)))
    instance = instance_of({"t-0": [1], "t-1": [1]}, alone, {1: "/a", 2: "/a"})
    for with_sets in (False, True):
        found = cheapest_sets(instance, BrokerPrices.flat(instance), with_sets=with_sets)
        assert (found.values >= NEVER // 2).all()


def test_closed_brokers_keep_replicas_and_take_none():
    instance = instance_of(
        {"t-0": [1, 3], "t-1": [2, 3]}, Policy(brokers=BrokerPolicy(exclude=(1,)))
    )
    cheap = BrokerPrices.flat(instance, np.array([-9, 0, 0, 0]))
    assert sets_of(instance, cheap) == [[1, 3], [2, 3]]


def test_a_rack_that_may_take_one_replica_has_no_broker_for_it():
    cluster = small_cluster({1: "/a", 2: "/b", 3: "/c"}, {"t-0": [1]}, dead=[1])
    policy = Policy(brokers=BrokerPolicy(exclude=(3,)))
    instance = posed_instance(cluster, policy, Balance())
    assert sets_of(instance, BrokerPrices.flat(instance)) == [[2]]


def test_topics_can_have_own_prices():
    instance = instance_of({"t-0": [1, 3], "u-0": [1, 3]})
    table = np.array([[0, 0, 0, 0], [5, 0, 0, 0]])
    offers = BrokerPrices(table=table, row_class=np.array([0, 1]))
    assert sets_of(instance, offers) == [[1, 3], [2, 3]]


def test_no_partitions():
    instance = instance_of({})
    assert (
        cheapest_sets(instance, BrokerPrices.flat(instance), with_sets=True).values.tolist() == []
    )


@given(problems(), st.data())
def test_no_legal_set_is_cheaper(problem, data):
    question = problem.question
    assume(question.brokers)
    instance = problem.instance
    ids = instance.brokers.tolist()
    prices = data.draw(st.lists(st.integers(-9, 9), min_size=len(ids), max_size=len(ids)))
    offers = BrokerPrices.flat(instance, np.array(prices))
    found = cheapest_sets(instance, offers, with_sets=True)
    assert cheapest_sets(instance, offers).values.tolist() == found.values.tolist()
    some = np.arange(len(instance))[::2]
    assert (cheapest_sets(instance, offers, rows=some).values == found.values)[some].all()
    asked = dict(zip(ids, prices, strict=True))
    for row, (p, sets) in enumerate(zip(question.partitions, question.options, strict=True)):
        if not sets:
            assert found.values[row] >= NEVER // 2
            continue
        wanted = min(question.cost(p, x) + sum(asked[b] for b in x) for x in sets)
        assert found.values[row] == wanted
        chosen = frozenset(instance.brokers[list(found.sets.row(row))].tolist())
        assert chosen in set(sets)
        assert question.cost(p, chosen) + sum(asked[b] for b in chosen) == wanted


@pytest.mark.parametrize("partitions", [1, 3])
def test_class_without_replicas(partitions):
    lists = {f"t-{number}": [] for number in range(partitions)}
    instance = posed_instance(small_cluster(ZONES, lists), Policy(), Balance())
    assert sets_of(instance, BrokerPrices.flat(instance)) == [[]] * partitions
