"""More and fewer replicas: leaders and old places stay, L1 is kept, brokers stay about even."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_levels import check_level_optimal
from laws_placement import check_placement, replicas_of
from placements import racked
from rackwise import Levels, Placement, change_replication, place
from rackwise.core.placement import Request
from strategies import racked_brokers

UNEVEN = racked(*("/1/a", "/1/b", *["/1/c"] * 4, *["/2/a"] * 2, *["/2/b"] * 2, *["/2/c"] * 2))
EVEN = {
    "3 racks of 2": racked(*[f"/{i % 3}" for i in range(6)]),
    "3 racks of 4": racked(*[f"/{i % 3}" for i in range(12)]),
    "2 x 2 racks of 2": racked(*[f"/{i % 2}/{i // 2 % 2}" for i in range(8)]),
    "no racks": racked(*[None] * 6),
}


def changed(brokers, rows, replication, **options):
    before = Placement(rows=np.array(rows))
    after = change_replication(before, brokers, replication, placer=Levels(**options))
    return after.rows.tolist()


class TestMore:
    def test_the_rack_with_the_fewest_then_the_one_with_room(self):
        assert changed(racked("/a", "/a", "/b"), [[0]], 2) == [[0, 2]]
        assert changed(racked("/a", "/a", "/b"), [[0]], 3) == [[0, 2, 1]]

    def test_of_equal_racks_the_emptiest_broker(self):
        brokers = racked("/a", "/a", "/b", "/b")
        assert changed(brokers, [[0, 2], [1, 2], [1, 2]], 3) == [[0, 2, 3], [1, 2, 0], [1, 2, 3]]

    def test_even_racks_compare_racks_first(self):
        brokers = racked("/a", "/b", "/b", "/b", "/b")
        rows = [[1], [2], [3], [4], [0]]
        assert [row[1] for row in changed(brokers, rows, 2, balance="racks")][:4] == [0] * 4

    def test_ties_take_turns(self):
        assert changed(racked(None, None, None), [[0], [1], [2]], 2) == [[0, 1], [1, 2], [2, 0]]


class TestFewer:
    def test_the_rack_with_the_most_gives_one_up_and_the_leader_stays(self):
        assert changed(racked("/a", "/a", "/b"), [[0, 2, 1]], 2) == [[0, 2]]
        assert changed(racked("/a", "/a", "/b"), [[2, 0, 1]], 1) == [[2]]

    def test_the_fullest_broker_gives_up(self):
        rows = [[0, 1, 2], [3, 1, 2], [0, 1, 3]]
        assert changed(racked(None, None, None, None), rows, 2) == [[0, 2], [3, 2], [0, 1]]

    def test_even_racks_compare_racks_first(self):
        brokers = racked("/a", "/b", "/b", "/b", "/c")
        rows = [[0, 1, 4], [0, 2, 4], [0, 3, 4]]
        assert changed(brokers, rows, 2, balance="racks") == [[0, 4], [0, 2], [0, 3]]
        assert changed(brokers, rows, 2) == [[0, 1], [0, 2], [0, 3]]


def test_the_same_number_changes_nothing():
    assert changed(UNEVEN, [[0, 6, 1]], 3) == [[0, 6, 1]]


def test_a_row_that_is_not_level_optimal_is_not_repaired():
    assert changed(racked("/a", "/a", "/b", "/c"), [[0, 1]], 3) == [[0, 1, 2]]


def test_a_turn_is_drawn():
    class One:
        def randrange(self, stop):
            assert stop == 2**62
            return 1

    before = Placement(rows=np.array([[0]]))
    brokers = racked(None, None, None)
    assert change_replication(before, brokers, 2).rows.tolist() == [[0, 1]]
    assert change_replication(before, brokers, 2, rng=One()).rows.tolist() == [[0, 1]]
    assert change_replication(before, racked(*[None] * 4), 2, rng=One())[0] == (0, 1)


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="expected existing rows, got none"):
        Levels().change(Request(brokers=UNEVEN, partitions=1, replication=2))


@pytest.mark.parametrize("name", EVEN)
def test_on_even_trees_the_fullest_broker_is_within_one_of_a_fresh_layout(name):
    brokers = EVEN[name]
    for replication in range(1, len(brokers)):
        for partitions in (7, 24, 79):
            before = place(brokers, partitions, replication)
            after = change_replication(before, brokers, replication + 1)
            fresh = place(brokers, partitions, replication + 1)
            assert max(replicas_of(after, brokers)) <= max(replicas_of(fresh, brokers)) + 1


def test_on_an_uneven_tree_the_prefix_costs_one():
    after = change_replication(place(UNEVEN, 120, 2), UNEVEN, 3)
    counts = replicas_of(after, UNEVEN)
    assert (min(counts), max(counts)) == (29, 31)


@given(racked_brokers(), st.integers(1, 12), st.sampled_from(["brokers", "racks"]), st.data())
def test_level_optimal_rows_stay_so_and_keep_what_they_have(brokers, partitions, balance, data):
    sizes = st.integers(1, len(brokers))
    old, new = data.draw(sizes), data.draw(sizes)
    placer = Levels(balance=balance)
    before = place(brokers, partitions, old, placer=placer)
    after = change_replication(before, brokers, new, placer=placer)
    check_placement(after, brokers, replication=new, racks="off", partitions=partitions)
    check_level_optimal(after, brokers)
    for partition in before:
        kept = min(old, new)
        if new >= old:
            assert after[partition][:kept] == before[partition]
        else:
            rest = [id_ for id_ in before[partition] if id_ in after[partition]]
            assert list(after[partition]) == rest
            assert after[partition][0] == before[partition][0]
