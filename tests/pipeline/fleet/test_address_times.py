"""The rack of an address at the time of a flow equals a search through all rows."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.inventory.addresses import AddressRow, in_order
from rackwise.core.racks import Rack
from rackwise.pipeline.columns.addresses import address_number
from rackwise.pipeline.fleet.address_times import AddressTimes

CODES = {"a": 1, "b": 2, "c": 3}
ADDRESSES = ["10.1.0.7", "10.1.0.8", "fd00::7"]
HOUR = 3600


def row(rack, start, end, address="10.1.0.7"):
    return AddressRow(
        address=address,
        rack=Rack(rack),
        start=None if start is None else datetime.fromtimestamp(start, UTC),
        end=None if end is None else datetime.fromtimestamp(end, UTC),
    )


def found(rows, windows, address="10.1.0.7"):
    """The code of each window (start, end)."""
    ip = np.full(len(windows), address_number(address)[0], dtype=np.int64)
    starts, ends = (np.array(column, dtype=np.int64) for column in zip(*windows, strict=True))
    return AddressTimes(rows, CODES).find(ip, starts, ends).tolist()


MORNING = [row("a", 9 * HOUR, 11 * HOUR), row("b", 12 * HOUR, None)]


@pytest.mark.parametrize(
    ("start", "end", "code"),
    [
        (8, 8.5, 0),
        (8, 9, 0),
        (8.5, 9.5, 1),
        (9, 9, 1),
        (10.9, 11.5, 1),
        (10.9, 12.5, 1),
        (11, 11.5, 0),
        (11.5, 12, 0),
        (11.5, 12.5, 2),
        (12, 13, 2),
        (10**6, 10**6, 2),
    ],
)
def test_the_row_at_the_start_decides_then_the_first_that_begins_in_the_window(start, end, code):
    assert found(MORNING, [(int(start * HOUR), int(end * HOUR))]) == [code]


def test_an_address_that_is_not_in_the_table_is_unknown():
    assert found(MORNING, [(12 * HOUR, 12 * HOUR)], address="10.1.0.9") == [0]
    assert found([], [(12 * HOUR, 12 * HOUR)]) == [0]


def test_a_row_without_times_always_applies():
    assert found([row("c", None, None)], [(0, 0), (10**9, 10**9 + 60)]) == [3, 3]


def test_a_row_within_a_longer_row_of_the_same_rack_does_not_end_it():
    rows = [row("a", HOUR, 9 * HOUR), row("a", 2 * HOUR, 3 * HOUR)]
    assert found(rows, [(5 * HOUR, 5 * HOUR)]) == [1]


def test_a_row_that_ends_where_it_begins_decides_nothing():
    rows = [row("a", 9 * HOUR, 9 * HOUR), row("b", 9 * HOUR + 300, None)]
    assert found(rows, [(9 * HOUR - 120, 9 * HOUR + 600)]) == [2]
    assert found([row("a", 300, 300), row("c", 300.2, 300.7)], [(0, 600)]) == [0]


def naive(rows, address, start, end):
    own = [each for each in rows if each.address == address]
    for each in own:
        begins = each.start is None or each.start.timestamp() <= start
        if begins and (each.end is None or start < each.end.timestamp()):
            return CODES[each.rack.text]
    later = sorted(
        (each.start.timestamp(), each.rack.text)
        for each in own
        if each.start is not None and start < each.start.timestamp() < end
    )
    return CODES[later[0][1]] if later else 0


tables = st.lists(
    st.tuples(
        st.sampled_from(ADDRESSES),
        st.sampled_from(sorted(CODES)),
        st.none() | st.integers(0, 20),
        st.integers(1, 10),
    ),
    max_size=8,
    unique_by=lambda drawn: (drawn[0], drawn[2]),
)
windows = st.lists(
    st.tuples(st.sampled_from(ADDRESSES), st.integers(0, 30), st.integers(0, 5)), min_size=1
)


@given(tables, windows)
def test_the_lookup_equals_a_search_through_all_rows(drawn, asked):
    rows = in_order(row(rack, start, (start or 0) + n, at) for at, rack, start, n in drawn)
    ip = np.array([address_number(at)[0] for at, *_ in asked], dtype=np.int64)
    starts = np.array([start for _, start, _ in asked], dtype=np.int64)
    ends = starts + np.array([length for *_, length in asked], dtype=np.int64)
    codes = AddressTimes(rows, CODES).find(ip, starts, ends).tolist()
    assert codes == [naive(rows, at, start, start + length) for at, start, length in asked]
