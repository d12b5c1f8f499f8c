"""Runs give each child its number of partitions, no partition twice, evenly along the way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.placement.placers.column_runs import PRIMES, owners, run_partitions


def takers(partitions, lengths, number):
    return [mine.tolist() for mine in run_partitions(partitions, lengths, number=number)]


def test_the_example_drawn_in_the_text():
    assert takers(5, [2, 2, 1], 0) == [[0, 3], [1, 4], [2]]


def test_a_run_over_all_columns_gives_all_partitions():
    assert takers(4, [4, 0, 4], 3) == [[0, 1, 2, 3], [], [0, 1, 2, 3]]


def test_one_partition():
    assert takers(1, [0, 1], 0) == [[], [0]]


def test_fifty_primes_take_turns():
    assert (len(PRIMES), PRIMES[:4], PRIMES[-1]) == (50, (2, 3, 5, 7), 229)
    assert takers(30, [10, 10, 10], 1) == takers(30, [10, 10, 10], 51)
    assert takers(30, [10, 10, 10], 1) != takers(30, [10, 10, 10], 2)


@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 60), st.data())
def test_every_partition_is_met_equally_often_and_no_child_meets_one_twice(
    partitions, extra, number, data
):
    left, lengths = partitions * extra, []
    while left:
        lengths.append(data.draw(st.integers(1, min(partitions, left))))
        left -= lengths[-1]
    found = takers(partitions, lengths, number)
    assert [len(mine) for mine in found] == lengths
    assert all(mine == sorted(set(mine)) for mine in found)
    met = np.bincount(np.concatenate(found), minlength=partitions)
    assert met.tolist() == [extra] * partitions
    runs = owners(partitions, lengths, number=number)
    assert runs.shape == (extra, partitions)
    for run, mine in enumerate(found):
        assert np.flatnonzero((runs == run).any(axis=0)).tolist() == mine


@pytest.mark.parametrize("number", range(10))
def test_any_stretch_holds_its_part_of_every_run(number):
    partitions, children = 1000, 4
    for mine in run_partitions(partitions, [250] * children, number=number):
        for stretch in (40, 100, 500):
            for start in range(0, partitions - stretch, 20):
                had = ((mine >= start) & (mine < start + stretch)).sum()
                assert abs(int(had) - stretch / children) <= 10
