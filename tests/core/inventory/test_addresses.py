"""An address has one rack at a time, and what has ended keeps its times."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidAddresses
from rackwise.core.inventory.addresses import (
    AddressRow,
    RacksAtTimes,
    check_one_rack,
    in_order,
    instant,
    merged,
)
from rackwise.core.racks import Rack


def at(hour):
    return None if hour is None else datetime.fromtimestamp(3600 * hour, UTC)


def row(address, rack, start=None, end=None, owner="shop/cart"):
    return AddressRow(
        address=address, rack=Rack(rack), owner=owner, start=at(start), end=at(end), where="t.csv:2"
    )


class TestMerging:
    def test_a_row_that_is_gone_ends_at_the_time_of_the_listing(self):
        assert merged([row("10.1.0.7", "a", 9)], [], at=at(12)) == (row("10.1.0.7", "a", 9, 12),)

    def test_a_row_ends_where_the_next_row_of_its_address_begins(self):
        later = row("10.1.0.7", "b", 11, owner="shop/pay")
        assert merged([row("10.1.0.7", "a", 9)], [later], at=at(12)) == (
            row("10.1.0.7", "a", 9, 11),
            later,
        )

    def test_the_same_listing_again_changes_nothing(self):
        listing = [row("10.1.0.7", "a", 9), row("fd00::7", "a", 9)]
        first = merged([], listing, at=at(12))
        assert merged(first, listing, at=at(13)) == first

    def test_a_row_that_has_ended_stays(self):
        old = row("10.1.0.7", "a", 1, 2)
        assert merged([old], [row("10.1.0.9", "a", 9)], at=at(12))[0] == old

    def test_a_row_that_is_listed_again_has_not_ended(self):
        assert merged([row("10.1.0.7", "a", 9, 10)], [row("10.1.0.7", "a", 9)], at=at(12)) == (
            row("10.1.0.7", "a", 9),
        )

    def test_a_row_that_the_listing_cannot_contain_stays_open(self):
        old = [row("10.1.0.7", "a", 9), row("10.1.0.8", "a", 9, owner="other/x")]
        found = merged(old, [], at=at(12), is_listed=lambda each: each.owner == "shop/cart")
        assert [each.end for each in found] == [at(12), None]

    @pytest.mark.parametrize("hour", [8, 9])
    def test_an_older_listing_ends_no_row_that_begins_after_it(self, hour):
        table = (row("10.1.0.7", "a", 1, 9), row("10.1.0.7", "b", 9, owner="shop/pay"))
        assert merged(table, [], at=at(hour)) == table
        assert merged(table, [row("10.1.0.7", "a", 1)], at=at(hour)) == table

    def test_a_row_without_start_that_ended_stays_ended(self):
        rows = [row("10.1.0.7", "a", None, 5), row("10.1.0.7", "a", owner="shop/pay")]
        assert {each.owner: each.end for each in in_order(rows)} == {
            "shop/cart": at(5),
            "shop/pay": None,
        }

    def test_a_new_row_without_start_begins_at_the_listing_and_stays(self):
        old, new = row("10.1.0.7", "a", None, 5), row("10.1.0.7", "b", owner="shop/pay")
        expected = (old, row("10.1.0.7", "b", 9, owner="shop/pay"))
        assert merged([old], [new], at=at(9)) == expected
        assert merged(expected, [new], at=at(11)) == expected
        again = merged([old], [row("10.1.0.7", "a")], at=at(9))
        assert again == (old, row("10.1.0.7", "a", 9))
        open_row = row("10.1.0.7", "a")
        assert merged([open_row], [new], at=at(9)) == (row("10.1.0.7", "a", None, 9), expected[1])
        assert merged([open_row], [open_row], at=at(9)) == (open_row,)

    def test_addresses_are_in_numeric_order_ipv4_first(self):
        rows = [row("fd00::7", "a"), row("10.0.0.10", "a"), row("10.0.0.9", "a")]
        assert [each.address for each in in_order(rows)] == ["10.0.0.9", "10.0.0.10", "fd00::7"]


class TestOneRackAtATime:
    @pytest.mark.parametrize(
        ("first", "second"),
        [((1, None), (2, None)), ((1, 3), (2, 4)), ((None, None), (5, 6)), ((1, 9), (2, 3))],
    )
    def test_two_racks_at_one_time_are_rejected(self, first, second):
        with pytest.raises(InvalidAddresses, match=r"invalid racks of 10.1.0.7: expected one rack"):
            check_one_rack([row("10.1.0.7", "a", *first), row("10.1.0.7", "b", *second)])

    @pytest.mark.parametrize(("first", "second"), [((1, 2), (2, None)), ((None, 2), (2, 3))])
    def test_one_rack_after_the_other_is_accepted(self, first, second):
        check_one_rack([row("10.1.0.7", "a", *first), row("10.1.0.7", "b", *second)])

    def test_a_row_that_lasts_longer_in_the_same_rack_is_compared_with_those_after_it(self):
        rows = [row("10.1.0.7", "a", 1, 3), row("10.1.0.7", "a", 2, 5), row("10.1.0.7", "b", 4, 6)]
        with pytest.raises(InvalidAddresses):
            check_one_rack(rows)

    def test_a_long_row_is_compared_with_all_that_begin_in_it(self):
        rows = [row("10.1.0.7", "a", 1, 9), row("10.1.0.7", "a", 2, 3), row("10.1.0.7", "b", 5, 6)]
        with pytest.raises(InvalidAddresses):
            check_one_rack(rows)

    def test_two_racks_from_the_same_moment_are_rejected(self):
        with pytest.raises(InvalidAddresses, match=r"got a in t.csv:2 and b in t.csv:2"):
            in_order([row("10.1.0.7", "a", 1), row("10.1.0.7", "b", 1)])


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_utc_cannot_express_is_none(text):
    assert instant(text) is None


def test_the_rack_of_an_address_is_that_of_the_row_that_applies():
    racks = RacksAtTimes([row("fd00::7", "a", None, 5), row("fd00::7", "b", 7), row("::1", "c")])
    found = [racks.find("FD00:0::7", at(hour)) for hour in (0, 5, 6, 7)]
    assert found == [Rack("a"), None, None, Rack("b")]
    assert racks.find("10.0.0.1", at(7)) is None
    assert racks.find("no address", at(7)) is None


rows = st.lists(
    st.builds(
        row,
        st.sampled_from(["10.1.0.7", "10.1.0.8", "fd00::7"]),
        st.sampled_from(["a"]),
        st.integers(0, 9),
        st.none() | st.integers(0, 9),
        st.sampled_from(["shop/cart", "shop/pay"]),
    ),
    max_size=6,
)


@given(rows, rows, st.integers(0, 12))
def test_rows_of_an_address_never_overlap_after_merging(table, listing, hour):
    found = merged(in_order(table), listing, at=at(hour))
    for earlier, later in pairwise(found):
        if earlier.address == later.address:
            assert earlier.end is not None
            assert earlier.end <= later.start or earlier.start == later.start
