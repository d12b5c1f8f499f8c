"""Bytes by day: in proportion to the time, and never one lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.meter.days import DAY_S, day_parts

STARTS = st.integers(0, 4_000_000_000)
SPANS = st.integers(1, 90 * DAY_S)


@pytest.mark.parametrize(
    ("start", "end", "parts"),
    [
        (DAY_S - 7200, DAY_S + 7200, [(DAY_S - 7200, 7200, 50), (DAY_S, 7200, 51)]),
        (0, DAY_S, [(0, DAY_S, 101)]),
        (5, 5, [(5, 1, 101)]),
    ],
)
def test_one_row(start, end, parts):
    found = list(day_parts(np.array([101]), start, end))
    assert [(part.start_s, part.seconds, part.bytes.tolist()[0]) for part in found] == parts


@given(st.lists(st.integers(0, 2**62), max_size=3), STARTS, SPANS)
def test_sums_are_exact_and_parts_are_in_one_day(rows, start, span):
    bytes_ = np.array(rows, dtype=np.int64)
    parts = list(day_parts(bytes_, start, start + span))
    assert sum((part.bytes for part in parts), 0 * bytes_).tolist() == rows
    assert sum(part.seconds for part in parts) == span
    for part in parts:
        assert part.start_s // DAY_S == (part.start_s + part.seconds - 1) // DAY_S
        assert (part.bytes >= 0).all()
        for row, share in zip(rows, part.bytes.tolist(), strict=True):
            assert abs(share - row * part.seconds / span) <= 1 + row * 1e-9
