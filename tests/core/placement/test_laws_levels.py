"""The laws of many levels catch what they name."""

import numpy as np
import pytest

from laws_levels import (
    check_even_leaders,
    check_even_replicas,
    check_level_optimal,
    check_split,
    forced_nodes,
    least_greatest_load,
    level_optimal_sets,
    rack_tree,
    shares,
)
from placements import racked
from rackwise import Placement

LONE = racked("/a", "/a", "/b", "/b", "/c")
DEEP = racked("/1/a", "/1/b", "/2/a", "/2/a")


def placed(*rows):
    return Placement(rows=np.array(rows))


def test_a_tree_pads_short_paths():
    assert rack_tree(racked("/a", "/b/x")) == {
        (): {("a",): {0}, ("b",): {1}},
        ("a",): {("a", "a"): {0}},
        ("a", "a"): {("a", "a", 0): {0}},
        ("b",): {("b", "x"): {1}},
        ("b", "x"): {("b", "x", 1): {1}},
    }
    assert rack_tree(racked(None, "a"))[()] == {("",): {0}, ("a",): {1}}
    assert rack_tree(racked(None)) == {(): {(0,): {0}}}


def test_shares_are_poured_into_the_emptiest():
    assert shares((1, 5, 5), 4) == ((1, 1), (1, 2), (1, 2))
    assert shares((1, 2), 3) == ((1, 1), (2, 2))


@pytest.mark.parametrize(
    ("row", "told"),
    [((0, 1), "not level-optimal"), ((0, 0), "repeats a broker"), ((2, 3), "not level-optimal")],
)
def test_rows_that_are_not_level_optimal_are_seen(row, told):
    with pytest.raises(AssertionError, match=f"L1: partition 0.*{told}"):
        check_level_optimal(placed(row), DEEP)


def test_a_level_below_is_judged_too():
    with pytest.raises(AssertionError, match="L1"):
        check_level_optimal(placed((0, 1, 3)), racked("/1/a", "/1/a", "/1/b", "/2/c"))


def test_a_fuller_broker_than_needed_is_seen():
    assert len(level_optimal_sets(LONE, 3)) == 4
    assert least_greatest_load(LONE, 50, 3) == 50
    assert least_greatest_load(LONE, 50, 2) == 20
    with pytest.raises(AssertionError, match="L2: 1 is the least greatest load; 2 was made"):
        check_even_replicas(placed((0, 2), (0, 4)), LONE)


def test_an_emptier_broker_than_needed_is_seen():
    rows = placed((0,), (0,), (1,), (1,))
    with pytest.raises(AssertionError, match="L2: nothing is forced, at least 1 each"):
        check_even_replicas(rows, racked(None, None, None))
    assert forced_nodes(LONE, 2) == set()
    assert ("c",) in forced_nodes(LONE, 3)


def test_an_uneven_split_is_seen():
    with pytest.raises(AssertionError, match="one could go over"):
        check_split(placed((0,), (1,), (2,), (3,), (0,), (2,)), LONE, by_racks=True)
    check_split(placed((0,), (2,), (4,)), LONE, by_racks=True)
    check_split(placed((0,), (1,), (2,), (3,), (4,)), LONE, by_racks=False)


def test_a_chain_that_is_left_is_seen():
    with pytest.raises(AssertionError, match="L3: 0 leads 2, a chain of swaps reaches 2"):
        check_even_leaders(placed((0, 1), (0, 1), (1, 2)), racked(None, None, None))
    with pytest.raises(AssertionError, match="L3"):
        check_even_leaders(placed((0, 1), (1, 0)), racked(None, None), before={0: 2})
    check_even_leaders(placed((0, 1), (1, 2), (2, 0)), racked(None, None, None))
