"""The least greatest load is that of a brute-force cut, and rooms add up to what they must hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_levels import least_greatest_load
from placements import racked
from rackwise.core.errors import NotEnoughBrokers
from rackwise.core.placement.placers.capacity import WaterTable, least_rooms
from rackwise.core.placement.placers.rack_tree import Tree
from strategies import racked_brokers


def rooms_of(brokers, partitions, replicas, held=()):
    tree = Tree.of(brokers, pad=True)
    nothing = np.zeros(len(brokers), dtype=np.int64)
    return least_rooms(
        tree, WaterTable(), partitions, replicas, np.array(held) if held else nothing
    )


def test_a_lone_broker_holds_one_replica_of_each_partition():
    lone = racked("/a", "/a", "/b", "/b", "/c")
    assert rooms_of(lone, 50, 3).most == 50
    assert rooms_of(lone, 50, 2).most == 20


def test_rooms_of_a_rack_are_what_its_brokers_can_take_together():
    rooms = rooms_of(racked("/a", "/a", "/b", "/b", "/c"), 50, 2)
    assert [below.tolist() for below in rooms.below] == [[40, 40, 20], [20, 20], [20, 20], [20]]


def test_a_lone_broker_in_a_deep_tree_is_spared_by_the_racks_beside_it():
    """In proportion to brokers alone /1 would hold 6 of 12 and its lone brokers more than 30."""
    uneven = racked(*("/1/a", "/1/b", *["/1/c"] * 4, *["/2/a", "/2/b", "/2/c"] * 2))
    assert rooms_of(uneven, 120, 3).most == 30


def test_what_brokers_hold_already_is_counted():
    assert rooms_of(racked(None, None, None), 6, 1, (4, 0, 0)).most == 4
    assert rooms_of(racked(None, None, None), 6, 1, (9, 0, 0)).most == 5
    assert rooms_of(racked("/a", "/b"), 6, 2, (9, 0)).most == 15


def test_more_replicas_than_brokers_are_refused():
    with pytest.raises(NotEnoughBrokers) as caught:
        rooms_of(racked("/a", "/b"), 1, 3)
    assert str(caught.value) == "replication 3 needs 3 brokers; 2 are available"
    assert caught.value.hint == "ask for fewer replicas, or start more brokers"


@given(racked_brokers(most=8), st.integers(1, 30), st.data())
def test_the_least_greatest_load_is_that_of_the_cut(brokers, partitions, data):
    replicas = data.draw(st.integers(1, len(brokers)))
    wanted = least_greatest_load(brokers, partitions, replicas)
    assert rooms_of(brokers, partitions, replicas).most == wanted
