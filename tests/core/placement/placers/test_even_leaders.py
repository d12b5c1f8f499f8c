"""Leaders are even after repair, heirs are many, sets stay as they were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_levels import check_even_leaders
from rackwise import Broker, Placement
from rackwise.core.placement.placers.even_leaders import (
    MOST_HEIR_BROKERS,
    SHORT,
    splitmix64,
    tie_ranks,
    with_leaders,
)


def led(rows, brokers, *, before=None, ranks=None):
    return with_leaders(
        np.array(rows, dtype=np.int32),
        np.zeros(brokers, dtype=np.int64) if before is None else np.array(before),
        np.arange(brokers) if ranks is None else np.array(ranks),
    )


def test_the_known_outputs_of_splitmix64():
    """The first outputs of the reference implementation for state 1234567."""
    assert [splitmix64(index, 1234567) for index in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_ties_go_by_load_then_by_hash():
    assert tie_ranks(np.array([5, 0, 7]), 0).tolist() == [1, 0, 2]
    hashes = [splitmix64(leaf, 9) for leaf in range(5)]
    ranks = tie_ranks(np.zeros(5, dtype=np.int64), 9)
    assert np.argsort(ranks).tolist() == sorted(range(5), key=hashes.__getitem__)


def test_the_lowest_rank_wins_a_tie():
    assert led([[0, 1, 2]], 3, ranks=[2, 0, 1]).tolist() == [[1, 2, 0]]


def test_leaderships_of_rows_that_stay_are_counted():
    assert led([[0, 1]], 2, before=[1, 0]).tolist() == [[1, 0]]


def test_a_swap_goes_along_a_chain():
    """Broker 2 can lead only what 1 leads: 0 gives to 1, 1 gives to 2."""
    rows = [[0, 1], [0, 1], [1, 2]]
    made = led(rows, 3, ranks=[0, 1, 2])
    assert sorted(made[:, 0].tolist()) == [0, 1, 2]


def test_many_leaderships_move_at_once():
    made = led([[0, 1]] * 40, 2, before=[0, 30])
    assert np.bincount(made[:, 0]).tolist() == [35, 5]


def test_one_replica_leads():
    assert led([[2], [2], [0]], 3).tolist() == [[2], [2], [0]]


def test_followers_of_two_keep_the_cyclic_order():
    assert led([[0, 1], [0, 1]], 2).tolist() == [[0, 1], [1, 0]]


def test_the_second_differs_from_row_to_row_of_one_leader():
    made = led([[0, 1, 2]] * 30, 3)
    pairs = np.unique(made[:, :2], axis=0, return_counts=True)[1]
    assert pairs.tolist() == [5] * 6


@pytest.mark.parametrize("brokers", [MOST_HEIR_BROKERS + 1, SHORT + 1])
def test_of_very_many_brokers_heirs_stay_cyclic_and_leaders_even(brokers):
    rows = np.arange(brokers)[:, None] + np.array([0, 1, 2])
    rows = np.sort(rows % brokers, axis=1)
    rows[: brokers // 2] = [0, 1, 2]
    made = led(rows, brokers)
    cyclic = {tuple(np.roll(row, turn)) for row in rows[::997].tolist() for turn in range(3)}
    assert {tuple(row) for row in made[::997].tolist()} <= cyclic
    counts = np.bincount(made[:, 0], minlength=brokers)
    assert counts[:3].max() - counts[:3].min() <= 1


@st.composite
def sets(draw):
    brokers = draw(st.integers(1, 7))
    size = draw(st.integers(1, brokers))
    row = st.lists(st.integers(0, brokers - 1), min_size=size, max_size=size, unique=True)
    rows = draw(st.lists(row.map(sorted), min_size=1, max_size=25))
    before = draw(st.lists(st.integers(0, 6), min_size=brokers, max_size=brokers))
    return brokers, rows, before


@given(sets())
def test_no_chain_of_swaps_is_left_whatever_the_sets(case):
    brokers, rows, before = case
    made = led(rows, brokers, before=before)
    assert [sorted(row) for row in made.tolist()] == rows
    check_even_leaders(
        Placement(rows=made),
        [Broker(id=id_) for id_ in range(brokers)],
        before=dict(enumerate(before)),
    )
