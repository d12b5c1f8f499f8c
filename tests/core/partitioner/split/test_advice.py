"""The effect and the cost of each bound, and the advised leaders."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rack_splits import numbers, rack_rates, rates
from rackwise.core.errors import SplitError
from rackwise.core.partitioner.split.advice import advised_leaders, split_advice
from rackwise.core.partitioner.split.split import kip_load_factor, split_by_balance

GIB = 2**30
EVEN = numbers("a 4 b 4 c 4")


def advice(free=f"a {GIB} b {GIB}", pinned="", weights=EVEN, eps=0.1, brokers="abc"):
    return split_advice(
        rates(free, pinned), weights, eps, partitions=12, broker_racks=brokers, usd_per_gib=0.02
    )


class TestPrices:
    def test_one_row_per_bound_after_the_rack_blind_row(self):
        found = advice(eps=0.15)
        assert [each.eps for each in found.bounds] == [None, 0, 0.05, 0.1, 0.15, 0.2, math.inf]
        local = [round(each.split.local_share, 3) for each in found.bounds]
        assert local == [0.333, 0.667, 0.7, 0.733, 0.767, 0.8, 1]
        factors = [round(each.split.load_factor, 3) for each in found.bounds]
        assert factors == [1, 1, 1.05, 1.1, 1.15, 1.2, 1.5]

    def test_dollars_of_thirty_days(self):
        found = advice()
        month = 2_592_000 * 0.02
        assert found.bounds[0].cost.usd_per_30d == pytest.approx(2 * 2 / 3 * month)
        assert found.at(0.1).cost.usd_per_30d == pytest.approx(2 * 0.8 / 3 * month)
        assert found.at(0.1).usd_saved == pytest.approx(2 * 1.2 / 3 * month)
        assert found.at(math.inf).usd_saved == found.bounds[0].cost.usd_per_30d
        assert found.bounds[0].usd_saved == 0

    def test_numbers_about_all_bounds(self):
        found = advice(pinned=f"c {GIB}")
        assert (found.kip_load_factor, found.least_eps) == (1, 0)
        assert found.full_locality_eps == 0
        assert advice().full_locality_eps == pytest.approx(0.5)
        assert advice(free="a 1 b 1 c 1", pinned="a 3").least_eps == pytest.approx(0.5)

    def test_racks_with_clients_and_no_leader(self):
        assert advice(free="a 1 z 3 y 0").leaderless == ("z",)
        assert advice(weights=numbers("a 0 b 1"), free="a 1").leaderless == ("a",)

    def test_nothing_sent(self):
        found = advice(free="")
        assert found.leaders == {}
        assert all(each.cost.usd_per_30d == 0 for each in found.bounds)

    def test_a_price_of_0(self):
        with pytest.raises(SplitError):
            split_advice(rates("a 1"), EVEN, 0.1, partitions=1, broker_racks="a", usd_per_gib=-1)


class TestLeaders:
    def test_in_proportion_to_rates(self):
        found = advised_leaders(rates("a 1 b 1"), 12, "abc")
        assert found == {"a": 6, "b": 6, "c": 0}
        assert split_by_balance(rates("a 1 b 1"), found, 0).local_share == 1

    def test_pinned_bytes_count(self):
        assert advised_leaders(rates("a 1", "b 3"), 8, "ab") == {"a": 2, "b": 6}

    def test_largest_remainder_and_then_the_first_rack(self):
        assert advised_leaders(rates("a 1 b 1 c 1"), 4, "abc") == {"a": 2, "b": 1, "c": 1}
        assert advised_leaders(rates("a 1 b 1 c 2"), 5, "cab") == {"a": 1, "b": 1, "c": 3}

    def test_only_racks_that_can_lead_are_advised(self):
        assert advised_leaders(rates("a 1 z 9"), 4, "ab") == {"a": 4, "b": 0}
        assert advised_leaders(rates("z 9"), 4, "ab") == {}
        assert advised_leaders(rates("z 9"), 4, "") == {}


@given(rack_rates(), st.integers(1, 40))
def test_all_partitions_are_advised(case, partitions):
    given_rates, weights = case
    found = advised_leaders(given_rates, partitions, tuple(weights))
    assert sum(found.values()) == (partitions if found else 0)


@given(rack_rates())
def test_no_bound_is_kip_1123(case):
    given_rates, weights = case
    found = split_advice(given_rates, weights, 0.3, partitions=9, broker_racks=(), usd_per_gib=1)
    assert found.kip_load_factor == kip_load_factor(given_rates, weights)
    costs = [each.cost.bytes_per_s for each in found.bounds[1:]]
    assert all(a >= b - 1e-6 for a, b in itertools.pairwise(costs))
    assert found.bounds[0].cost.bytes_per_s >= costs[-1] - 1e-6
