"""Shares are exact: the total is met, bounds hold, and no two shares could be evened."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.placement.placers.apportion import apportion


def by_place(place):
    return Fraction(0), place


def shared(total, weight, *, fixed=None, low=None, high=None, tie=by_place):
    nothing = [0] * len(weight)
    return apportion(
        total,
        weight=weight,
        fixed=fixed or nothing,
        low=low or nothing,
        high=high or [total] * len(weight),
        tie=tie,
    )


def test_shares_are_in_proportion_to_weights():
    assert shared(10, [2, 2, 1]) == [4, 4, 2]


def test_what_a_bound_keeps_from_one_goes_to_the_others():
    assert shared(10, [2, 2, 1], high=[9, 9, 1]) == [5, 4, 1]
    assert shared(10, [2, 2, 1], low=[0, 0, 6]) == [2, 2, 6]


def test_what_is_there_counts():
    assert shared(10, [1, 1], fixed=[6, 0]) == [2, 8]
    assert shared(4, [1, 1], fixed=[6, 0]) == [0, 4]


def test_left_units_go_to_the_largest_remainder_then_to_the_tie():
    assert shared(5, [3, 2, 2]) == [2, 2, 1]
    assert shared(4, [1, 1, 1], tie=lambda place: (Fraction(0), -place)) == [1, 1, 2]
    assert shared(4, [1, 1, 1], tie=lambda place: (Fraction(place == 0), place)) == [1, 2, 1]


def test_thirds_are_exact():
    assert shared(10**18 + 1, [1, 1, 1]) == [
        333333333333333334,
        333333333333333334,
        333333333333333333,
    ]


def test_bounds_that_leave_no_choice_are_the_shares():
    assert shared(7, [1, 5], low=[3, 4], high=[3, 4]) == [3, 4]
    assert shared(0, [1, 5]) == [0, 0]
    assert shared(9, [1, 5], high=[3, 6]) == [3, 6]


@st.composite
def asked(draw):
    size = draw(st.integers(1, 6))
    numbers = st.lists(st.integers(0, 12), min_size=size, max_size=size)
    low, room, fixed = draw(numbers), draw(numbers), draw(numbers)
    high = [a + b for a, b in zip(low, room, strict=True)]
    total = draw(st.integers(sum(low), sum(high)))
    weight = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
    return total, weight, fixed, low, high


@given(asked())
def test_no_unit_would_be_better_elsewhere(case):
    total, weight, fixed, low, high = case
    shares = shared(total, weight, fixed=fixed, low=low, high=high)
    assert sum(shares) == total
    assert all(a <= n <= b for a, n, b in zip(low, shares, high, strict=True))
    full = [Fraction(n + f, w) for n, f, w in zip(shares, fixed, weight, strict=True)]
    for i, w in enumerate(weight):
        for j, other in enumerate(weight):
            if shares[i] < high[i] and shares[j] > low[j]:
                assert full[j] - Fraction(1, other) < full[i] + Fraction(1, w)
