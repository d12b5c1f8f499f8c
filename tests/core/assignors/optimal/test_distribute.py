"""Units are distributed as drawn: one after the other, around, evenly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.assignors.optimal.distribute import distribute
from rackwise.core.assignors.optimal.group import NOBODY


def array(numbers):
    return np.array(numbers, dtype=np.int64)


def distribute_one_key(way, units, **counts):
    """The target of each of `units` units of one key; m1=3: target 1 takes 3 units."""
    targets = array([int(name[1:]) for name in counts])
    keys = array([0] * len(counts))
    result = distribute(array([0] * units), keys, targets, array(list(counts.values())), way)
    return result.tolist()


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("one after the other", [1, 1, 1, 2, 3]),
        ("around", [1, 2, 3, 1, 1]),
        ("evenly", [1, 2, 3, 1, 1]),
    ],
)
def test_the_drawn_ways(way, expected):
    assert distribute_one_key(way, 5, m1=3, m2=1, m3=1) == expected


def test_evenly_differs_from_around_where_targets_take_unequal_counts():
    assert distribute_one_key("evenly", 6, m1=2, m2=4) == [1, 2, 2, 1, 2, 2]
    assert distribute_one_key("around", 6, m1=2, m2=4) == [1, 2, 1, 2, 2, 2]


def test_units_without_target_are_the_last_ones():
    assert distribute_one_key("around", 4, m1=1, m2=1) == [1, 2, NOBODY, NOBODY]
    assert distribute_one_key("around", 2, m1=0) == [NOBODY, NOBODY]


def test_keys_are_distributed_separately():
    keys, target_keys = array([1, 0, 1, 0]), array([0, 1, 1])
    result = distribute(keys, target_keys, array([7, 8, 9]), array([2, 1, 1]), "around")
    assert result.tolist() == [8, 7, 9, 7]
    only = distribute(keys, array([0, 1]), array([7, 8]), array([2, 2]), "around")
    assert only.tolist() == [8, 7, 8, 7]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 3)), min_size=1),
    st.sampled_from(["one after the other", "around", "evenly"]),
    st.randoms(use_true_random=False),
)
def test_each_target_takes_its_count(takes, way, rng):
    keys = [key for key, _, count in takes for _ in range(count)]
    rng.shuffle(keys)
    target_keys, targets, counts = map(array, zip(*takes, strict=True))
    result = distribute(array(keys), target_keys, targets, counts, way).tolist()
    had = sorted(zip(keys, result, strict=True))
    assert had == sorted((key, place) for key, place, count in takes for _ in range(count))
