"""Draws equal those of java.util.Random and of the generator in Kafka's tests.

The numbers were printed by Java 17.
"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidConfig
from rackwise.core.placement import Draws, JavaRandom, MockRandom

NEGATIVE = [487, 92, 474]
SIXTEEN = [11, 0, 10, 0, 4, 15]
AGAIN = [117392763, 102948884, 662969970, 595021505, 196118093, 969067502]
LONG = [
    4197809178879625975,
    3379876620612780072,
    2847434339255704997,
    2555597905911497398,
    392236186,
    1938135004,
    1383145388,
    298349081,
    4276449357161311146,
    7220994269115601137,
]
LONG_AGAIN = [
    2847434339255704997,
    2555597905911497398,
    3401422013281709636,
    2543327057608171280,
    4276449357161311146,
    4025918633431227457,
]
MOCK = [2, 2, 0, 3, 0, 3, 0, 2]
MOCK_18 = [667, 588, 763, 971]


def drawn(rng, *stops):
    return [rng.randrange(stop) for stop in stops]


class TestJavaRandom:
    def test_a_bound_that_is_no_power_of_two(self):
        assert drawn(JavaRandom(7), *[10] * 5) == [6, 4, 5, 4, 0]

    def test_a_seed_of_more_than_48_bits_and_a_negative_one(self):
        assert drawn(JavaRandom(-(2**62) + 5), *[1000] * 3) == NEGATIVE
        assert drawn(JavaRandom(2**48 + 5), 1000) == drawn(JavaRandom(5), 1000)

    def test_a_power_of_two_takes_the_highest_bits(self):
        assert drawn(JavaRandom(42), *[16] * 6) == SIXTEEN

    def test_draws_in_the_incomplete_run_are_drawn_again(self):
        assert drawn(JavaRandom(42), *[2**30 + 1] * 6) == AGAIN

    def test_bounds_of_more_than_31_bits(self):
        stops = [2**62, 2**62 - 57, 2**31, 2**31 + 1, 2**63 - 1]
        assert drawn(JavaRandom(42), *[stop for stop in stops for _ in range(2)]) == LONG

    def test_long_draws_in_the_incomplete_run_are_drawn_again(self):
        assert drawn(JavaRandom(42), *[2**62 + 1] * 6) == LONG_AGAIN

    @given(st.integers(-(2**63), 2**63), st.integers(1, 2**63 - 1))
    def test_draws_stay_below_their_bound(self, seed, stop):
        for rng in (JavaRandom(seed), MockRandom(seed)):
            assert all(0 <= number < stop for number in drawn(rng, *[stop] * 4))

    @pytest.mark.parametrize("stop", [0, -1, 2**63])
    def test_a_bound_without_a_draw_is_refused(self, stop):
        with pytest.raises(InvalidConfig) as caught:
            JavaRandom(1).randrange(stop)
        assert str(caught.value) == f"invalid stop: expected 1 to 2^63 - 1, got {stop}"


class TestMockRandom:
    def test_its_first_draws(self):
        assert drawn(MockRandom(), *[4] * 8) == MOCK
        assert drawn(MockRandom(18), *[1000] * 4) == MOCK_18


def test_pythons_own_random_fits():
    assert isinstance(random.Random(1), Draws)
    assert isinstance(JavaRandom(1), Draws)
