"""Rates of producers, and the weights of racks of leaders."""

import math

import pytest

from rack_splits import numbers, rates
from rackwise.core.errors import SplitError
from rackwise.core.partitioner.split.rates import (
    RackColumns,
    RackRates,
    check_eps,
    check_one_depth,
    odd_racks,
    rack_paths,
)


class TestRackRates:
    def test_equal_whatever_the_order(self):
        assert RackRates({"b": 1, "a": 2}) == RackRates({"a": 2, "b": 1}, {})
        assert list(RackRates({"b": 1, "a": 2}).free) == ["a", "b"]

    def test_rates_do_not_change_with_their_source(self):
        given = {"a": 1.0}
        found = RackRates(given)
        given["a"] = 2.0
        assert found.free["a"] == 1

    @pytest.mark.parametrize("rate", [-1, math.nan, math.inf, 2.0**64])
    def test_an_invalid_rate_is_rejected(self, rate):
        with pytest.raises(SplitError) as raised:
            RackRates({"a": 1, "b\n": rate})
        error = raised.value
        assert error.message == f"invalid free rate of b\\x0a: expected 0 to 2^63, got {rate}"
        assert error.hint == "measure it again, and use 0 for a rack that sends nothing"
        assert error.where == "b\n"
        with pytest.raises(
            SplitError, match=r"^invalid pinned rate of a: expected 0 to 2\^63, got "
        ):
            RackRates({}, {"a": rate})


class TestRackColumns:
    def test_columns_in_the_order_of_the_racks(self):
        found = RackColumns.of(rates("b 3", "c 1"), numbers("a 1 b 2 c 1"))
        assert found == RackColumns(
            racks=("a", "b", "c"),
            paths=(("a",), ("b",), ("c",)),
            free=(0, 3, 0),
            pinned=(0, 0, 1),
            weights=(1, 2, 1),
            mean=(1, 2, 1),
        )
        assert found.depth == 1

    @pytest.mark.parametrize(
        ("free", "weights", "message"),
        [
            (
                "a 1",
                "",
                "invalid weights: expected at least one rack with a weight above 0, got none",
            ),
            (
                "a 1",
                "a 0 b 0",
                "invalid weights: expected at least one rack with a weight above 0, got none",
            ),
            ("a 1", "a -1 b 2", "invalid weight of a: expected 0 to 2^63, got -1.0"),
            ("a 1", "a nan b 2", "invalid weight of a: expected 0 to 2^63, got nan"),
        ],
    )
    def test_invalid_input_is_rejected(self, free, weights, message):
        with pytest.raises(SplitError) as raised:
            RackColumns.of(rates(free), numbers(weights))
        assert raised.value.message == message
        assert raised.value.hint

    def test_any_text_is_a_rack(self):
        """The widest paths count; an odd rack is a level of its own, whatever others are called."""
        found = RackColumns.of(rates("/eu/a 1 eu 1 /eu 1"), numbers("/eu/b 1 /eu// 1 / 1 eu/a 1"))
        assert dict(zip(found.racks, found.paths, strict=True)) == {
            "/": ("//", "//"),
            "/eu": ("eu", "eu"),
            "/eu/a": ("eu", "a"),
            "/eu/b": ("eu", "b"),
            "/eu//": ("//eu//", "//eu//"),
            "eu": ("/eu", "/eu"),
            "eu/a": ("/eu/a", "/eu/a"),
        }
        assert odd_racks(found.racks) == ("/", "/eu//", "eu", "eu/a")

    def test_names_count_where_most_are_names(self):
        racks = ("a", "/eu/b", "c")
        assert rack_paths(racks) == (("a",), ("//eu/b",), ("c",))
        assert odd_racks(racks) == ("/eu/b",)
        assert rack_paths(("/",)) == (("//",),)

    @pytest.mark.parametrize("racks", [("a", "b"), ("/eu/a", "/us/b")])
    def test_racks_of_one_depth(self, racks):
        check_one_depth(racks)

    @pytest.mark.parametrize(
        "racks", [("/eu/a", "/eu"), ("/eu/a", "b", "/eu/c"), ("/eu/a", "/eu/a/"), ("/",), ()]
    )
    def test_racks_of_other_depths(self, racks):
        with pytest.raises(SplitError) as raised:
            check_one_depth(racks)
        assert raised.value.message == (
            f"invalid racks: expected the same number of levels, got {', '.join(racks)}"
        )

    def test_pinned_bytes_without_leaders(self):
        with pytest.raises(SplitError) as raised:
            RackColumns.of(rates("a 1", "a 2 b 0 c 3"), numbers("a 1 b 0"))
        error = raised.value
        assert error.message == ("rack c receives 3.0 pinned bytes_per_s but has weight 0")
        assert (error.where, error.hint) == ("c", "are the leaders missing in the snapshot?")


@pytest.mark.parametrize("eps", [-0.1, math.nan])
def test_an_invalid_bound_is_rejected(eps):
    with pytest.raises(SplitError) as raised:
        check_eps(eps)
    assert raised.value.message == f"invalid eps: expected 0 or more, got {eps}"
    assert raised.value.hint == "0.1 lets a rack take a tenth more than its even part"
