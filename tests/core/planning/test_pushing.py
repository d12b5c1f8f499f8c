"""Pushing: excess goes where something lacks, and says so where it cannot."""

import numpy as np
import pytest

from rackwise.core.errors import NoFlow
from rackwise.core.model import Ragged
from rackwise.core.planning.model import Balance, Group
from rackwise.core.planning.problem.instance import Instance
from rackwise.core.planning.proof.dual_prices import Limits
from rackwise.core.planning.pushing import Pushing, Weighed
from rackwise.core.policy import Policy, TopicBlock
from small_clusters import small_cluster


def pushing(racks, lists, sets, groups, caps=None):
    policy = Policy(topics=(TopicBlock(match=("c*",), topic_spread="even"),))
    instance = Instance.of(small_cluster(racks, lists), policy, Balance())
    held = np.zeros(len(instance.held.values), dtype=np.int64)
    limits = Limits.of(instance, groups, caps or {})
    return Pushing(Weighed(instance, held), Ragged.of(sets), limits)


def loads_between(brokers, low, high, total):
    return Group(
        brokers=brokers, low=(low,) * len(brokers), high=(high,) * len(brokers), total=total
    )


def run(work):
    while work.has_excess:
        work.reprice()
        work.push()
    return [work.sets.row(row) for row in range(len(work.sets))]


RACK = {1: "/a", 2: "/a", 3: "/a"}


def test_too_much_goes_where_there_is_too_little():
    work = pushing(
        RACK, {"t-0": [1], "t-1": [1], "t-2": [1]}, [[0]] * 3, [loads_between((1, 2, 3), 1, 1, 3)]
    )
    assert work.balance().tolist() == [2, -1, -1, 0]
    assert sorted(run(work)) == [(0,), (1,), (2,)]


def test_a_pool_with_too_much_takes_from_a_broker_that_has_enough():
    groups = [loads_between((1, 2), 0, 2, 2), loads_between((3,), 0, 2, 1)]
    work = pushing(RACK, {"t-0": [1], "t-1": [1], "t-2": [2]}, [[0], [0], [1]], groups)
    assert work.balance().tolist() == [0, 0, 0, 1, -1]
    assert sorted(run(work)) in ([(0,), (0,), (2,)], [(0,), (1,), (2,)])


def test_a_topic_above_its_cap():
    caps = {"c": {1: 1, 2: 1, 3: 1}}
    lists = {"c-0": [1], "c-1": [1], "c-2": [1], "t-0": [1]}
    work = pushing(RACK, lists, [[0]] * 4, [loads_between((1, 2, 3), 1, 2, 4)], caps)
    found = run(work)
    assert sorted(found[:3]) == [(0,), (1,), (2,)]


def test_a_topic_above_its_cap_where_loads_do_not_matter():
    caps = {"c": {1: 1, 2: 1, 3: 1}}
    work = pushing(RACK, {"c-0": [1], "c-1": [1]}, [[0]] * 2, [], caps)
    assert sorted(run(work)) in ([(0,), (1,)], [(0,), (2,)])


def test_a_unit_passes_through_another_topic():
    """b is full; what c brings there pushes a row of d on."""
    caps = {"c": {1: 1, 2: 1, 3: 0}, "cd": {1: 2, 2: 2, 3: 2}}
    lists = {"c-0": [1], "c-1": [1], "cd-0": [2]}
    groups = [loads_between((1, 2, 3), 1, 1, 3)]
    assert run(pushing(RACK, lists, [[0], [0], [1]], groups, caps))[2] in ((2,), (0,))


def test_a_row_that_must_change_in_two_places_at_once():
    """1 -> 2 and 3 -> 4 in one row: 2 and 3 together hold one, whichever of them."""
    groups = [
        loads_between((1,), 0, 0, 0),
        loads_between((2, 3), 0, 1, 1),
        loads_between((4,), 1, 1, 1),
    ]
    racks = {1: "/a", 2: "/a", 3: "/b", 4: "/b"}
    assert run(pushing(racks, {"t-0": [1, 3]}, [[0, 2]], groups)) == [(1, 3)]


def test_loads_that_cannot_meet():
    groups = [loads_between((1,), 0, 0, 0), loads_between((2,), 1, 1, 1)]
    work = pushing({1: "/a", 2: "/b"}, {"t-0": [1, 2]}, [[0, 1]], groups)
    with pytest.raises(NoFlow, match="1 replica cannot go anywhere"):
        run(work)


def test_loads_are_evened_out_without_a_price():
    work = pushing(RACK, {"t-0": [1], "t-1": [1]}, [[0], [0]], [])
    work.even_out()
    assert work.loads.tolist() == [2, 0, 0]
