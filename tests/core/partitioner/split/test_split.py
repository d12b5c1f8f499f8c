"""The split of each rack's bytes: as near as possible, with no rack overloaded."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_split import check_split
from rack_splits import (
    CLOSE,
    by_rack,
    numbers,
    rack_rates,
    racks_of,
    rates,
    rates_of,
    split_vectors,
    weights_of,
)
from rackwise.core.errors import SplitError
from rackwise.core.partitioner.split.rates import RackRates
from rackwise.core.partitioner.split.split import (
    common_levels,
    full_locality_eps,
    kip_load_factor,
    largest_change,
    least_eps,
    split_by_balance,
    uniform_local_weight,
    uniform_shares,
)

TREE = "/az1/r1 4  /az1/r2 0  /az2/r1 1  /az2/r2 1"
EVEN_TREE = numbers("/az1/r1 1 /az1/r2 1 /az2/r1 1 /az2/r2 1")
SOME_EPS = st.sampled_from([0, 0.05, 0.3, 2, 1e300, math.inf])


def close(values, wanted):
    return values == pytest.approx(wanted, abs=CLOSE)


def check_rows(case, found):
    racks = racks_of(case)
    for rack, row in zip(racks, case["shares"], strict=True):
        if row is None:
            assert rack not in found.shares
        else:
            assert close(dict(found.shares[rack]), by_rack(racks, row))
    assert close(dict(found.rack_load), by_rack(racks, case["rack_loads"]))


@pytest.mark.parametrize("case", split_vectors("spill"))
def test_vectors_of_one_level(case):
    found = split_by_balance(rates_of(case), weights_of(case), case["eps"])
    check_rows(case, found)
    assert close(found.local_share, case["local_share"])
    assert close(found.load_factor, case["load_factor"])
    assert close(kip_load_factor(rates_of(case), weights_of(case)), case["kip_load_factor"])
    assert found.overfull == tuple(racks_of(case)[i] for i in case["overfull"])


@pytest.mark.parametrize("case", split_vectors("spill_tree"))
def test_vectors_of_levels(case):
    found = split_by_balance(rates_of(case), weights_of(case), case["eps"])
    check_rows(case, found)
    by_levels = {str(n): bytes_ for n, bytes_ in enumerate(found.bytes_by_common_levels)}
    assert close(by_levels, case["bytes_by_common_levels"])


class TestKip1123:
    """KIP-1123: producers in two of three racks load those two, "leaving the third one empty"."""

    def test_the_third_rack_is_empty(self):
        found = split_by_balance(rates("a 1 b 1"), numbers("a 1 b 1 c 1"), math.inf)
        assert found.rack_load == numbers("a 1 b 1 c 0")
        assert (found.local_share, found.load_factor) == (1, 1.5)

    def test_clients_of_a_rack_without_leaders_spread_by_weight(self):
        found = split_by_balance(rates("a 1 c 4"), numbers("a 3 b 1"), math.inf)
        assert found.shares["c"] == numbers("a .75 b .25 c 0")
        assert found.rack_load == numbers("a 4 b 1 c 0")

    def test_bytes_stay_as_near_as_possible_in_a_tree(self):
        found = split_by_balance(rates("/e/c 2"), numbers("/e/a 3 /e/b 1 /w/a 9"), math.inf)
        assert found.shares["/e/c"] == numbers("/e/a .75 /e/b .25 /e/c 0 /w/a 0")
        assert found.bytes_by_common_levels == (0, 2, 0)

    @pytest.mark.parametrize("eps", [1e300, 1e308])
    def test_an_infinite_bound_is_no_bound(self, eps):
        given = rates("a 1e10 c 4"), numbers("a 3 b 1")
        assert split_by_balance(*given, eps).shares["a"] == numbers("a 1 b 0 c 0")
        assert split_by_balance(*given, eps).shares["c"]["a"] == pytest.approx(0.75)


class TestBounds:
    def test_least_eps_depends_on_pinned_bytes(self):
        given = rates("a 1 b 1 c 1", "a 3"), numbers("a 1 b 1 c 1")
        assert least_eps(*given) == pytest.approx(0.5)
        assert split_by_balance(*given, 0.5).overfull == ()
        assert split_by_balance(*given, 0.49).overfull == ("a",)

    def test_least_eps_without_pinned_bytes(self):
        assert least_eps(rates("a 5"), numbers("a 1 b 1")) == 0

    def test_full_locality(self):
        given = rates("a 1 b 1"), numbers("a 1 b 1 c 1")
        assert full_locality_eps(*given) == pytest.approx(0.5)
        assert split_by_balance(*given, 0.5).local_share == 1
        assert split_by_balance(*given, 0.49).local_share < 1

    def test_full_locality_may_need_a_smaller_bound_where_pinned_bytes_fill_a_rack(self):
        given = rates("b 1", "a 3"), numbers("a 1 b 1")
        assert full_locality_eps(*given) == pytest.approx(0.5)
        assert split_by_balance(*given, 0).local_share == 1

    def test_nothing_sent(self):
        found = split_by_balance(rates("a 0"), numbers("a 1 b 1"), 0.1)
        assert (found.shares, found.local_share, found.load_factor) == ({}, 1, 1)
        assert least_eps(rates(""), numbers("a 1")) == 0

    def test_more_room_than_is_pinned_is_shared_by_room(self):
        found = split_by_balance(rates(TREE, "/az2/r1 2"), EVEN_TREE, 0)
        assert found.rack_load == pytest.approx(dict.fromkeys(EVEN_TREE, 2))
        assert found.shares["/az2/r1"] == pytest.approx(
            numbers("/az1/r1 0 /az1/r2 0 /az2/r1 0 /az2/r2 1")
        )

    def test_a_remainder_without_room_goes_by_weight(self):
        found = split_by_balance(rates("a 1e-20 b 1"), numbers("a 0 b 2"), 0)
        assert found.shares["a"] == numbers("a 0 b 1")

    def test_the_least_possible_numbers(self):
        least = 5e-324
        given = RackRates({"a": least, "b": 3 * least}), numbers("a 1 b 1 c 1")
        for row in split_by_balance(*given, 0.1).shares.values():
            assert math.fsum(row.values()) == pytest.approx(1)

    @pytest.mark.parametrize("eps", [-1, math.nan])
    def test_an_invalid_bound_is_rejected(self, eps):
        with pytest.raises(SplitError, match=r"^invalid eps: expected 0 or more"):
            split_by_balance(rates("a 1"), numbers("a 1"), eps)


@given(rack_rates(), SOME_EPS)
def test_laws_of_a_split(case, eps):
    check_split(split_by_balance(*case, eps), *case, eps)


@given(rack_rates())
def test_a_larger_bound_is_never_less_local(case):
    found = [split_by_balance(*case, eps).local_share for eps in (0, 0.1, 0.5, 2, math.inf)]
    assert all(a <= b + CLOSE for a, b in itertools.pairwise(found))


@given(rack_rates(), st.sampled_from([1e-6, 0.5, 3, 1e9]), SOME_EPS)
def test_only_ratios_count(case, factor, eps):
    given_rates, weights = case
    scaled = RackRates(
        {rack: rate * factor for rack, rate in given_rates.free.items()},
        {rack: rate * factor for rack, rate in given_rates.pinned.items()},
    )
    lighter = {rack: weight * factor for rack, weight in weights.items()}
    one, other = split_by_balance(*case, eps), split_by_balance(scaled, lighter, eps)
    for rack, row in one.shares.items():
        assert dict(other.shares[rack]) == pytest.approx(dict(row), abs=1e-9)


@given(rack_rates(), SOME_EPS)
def test_the_order_of_racks_changes_nothing(case, eps):
    given_rates, weights = case
    turned = RackRates(
        dict(reversed(given_rates.free.items())), dict(reversed(given_rates.pinned.items()))
    )
    assert split_by_balance(*case, eps) == split_by_balance(
        turned, dict(reversed(weights.items())), eps
    )


@pytest.mark.parametrize(
    ("a", "b", "levels"),
    [("xy", "xy", 2), ("xy", "xz", 1), ("xy", "zy", 0), ("x", "xy", 1), ("", "x", 0)],
)
def test_common_levels(a, b, levels):
    assert common_levels(a, b) == levels


class TestUniformLocalWeight:
    @pytest.mark.parametrize("case", split_vectors("grade_a"))
    def test_vectors(self, case):
        weight = uniform_local_weight(case["max_skew"], case["eps"])
        assert close(weight, case["local_weight"])
        racks, weights = racks_of(case), weights_of(case)
        sent, total = by_rack(racks, case["rates"]), sum(case["rates"])
        rows = {rack: uniform_shares(weights, rack, weight) for rack in racks}
        local = sum(sent[rack] * rows[rack][rack] for rack in racks) / total
        assert close(local, case["local_share"])
        load = {taker: sum(sent[rack] * rows[rack][taker] for rack in racks) for taker in racks}
        mean = {rack: total * weights[rack] / sum(weights.values()) for rack in racks}
        assert close(max(load[rack] / mean[rack] for rack in racks), case["load_factor"])
        best = split_by_balance(rates_of(case), weights_of(case), case["eps"])
        assert close(best.local_share, case["best_local_share"])

    def test_an_infinite_bound_keeps_all_local(self):
        assert uniform_local_weight(3, math.inf) == uniform_local_weight(math.inf, math.inf) == 1
        assert uniform_local_weight(math.inf, 0.1) == uniform_local_weight(2, 0) == 0

    @pytest.mark.parametrize("skew", [0.99, math.nan])
    def test_a_skew_below_1_is_rejected(self, skew):
        with pytest.raises(SplitError) as raised:
            uniform_local_weight(skew, 0.1)
        assert raised.value.message == f"invalid max_skew: expected 1 or more, got {skew}"
        assert raised.value.hint

    def test_all_bytes_go_by_weight_where_the_own_rack_has_no_leaders(self):
        assert uniform_shares(numbers("a 3 b 1 c 0"), "c", 0.5) == numbers("a .75 b .25 c 0")
        assert uniform_shares(numbers("a 3 b 1"), "z", 0.5) == numbers("a .75 b .25")

    def test_no_weights(self):
        with pytest.raises(
            SplitError,
            match=r"^invalid weights: expected at least one rack with a weight above 0, got none",
        ):
            uniform_shares({}, "a", 0.5)


class TestRacksOfSeveralForms:
    """KIP-1123 compares texts: an odd rack is local to itself, and crosses every level else."""

    def test_an_odd_rack_keeps_its_own_bytes(self):
        found = split_by_balance(rates("/eu/a 1 eu 1"), numbers("/eu/a 1 /eu/b 1 eu 2"), 0)
        assert found.shares["eu"] == numbers("/eu/a 0 /eu/b 0 eu 1")
        assert found.shares["/eu/a"] == numbers("/eu/a .5 /eu/b .5 eu 0")
        assert found.bytes_by_common_levels == (0, 0.5, 1.5)

    def test_short_paths_repeat_their_last_level(self):
        found = split_by_balance(rates("/eu/a 1 /us 1"), numbers("/eu/a 1 /us 1"), 0)
        assert found.bytes_by_common_levels == (0, 0, 2)


class TestLargestChange:
    def test_the_greatest_change_of_a_share(self):
        before = {"a": numbers("a .9 b .1"), "b": numbers("b 1")}
        after = {"a": numbers("a .7 b .1 c .2"), "b": numbers("b 1")}
        assert largest_change(before, after) == pytest.approx(0.2)
        assert largest_change(before, before) == largest_change({}, {}) == 0

    def test_an_added_or_removed_row_counts_as_1(self):
        assert largest_change({}, {"a": numbers("a 1")}) == 1
