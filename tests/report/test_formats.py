"""How amounts are rounded and shown: one form of bytes and of dollars everywhere."""

from __future__ import annotations

import pytest

from rackwise.core.traffic import usd_of
from rackwise.report.formats import (
    NOT_KNOWN,
    bytes_change_text,
    bytes_text,
    change_text,
    sizes_text,
    usd_text,
)
from rackwise.report.history import percent_change_cell


@pytest.mark.parametrize(
    ("nano", "text"),
    [
        (0, "$0.00"),
        (1, "<$0.01"),
        (4_999_999, "<$0.01"),
        (5_000_000, "$0.01"),
        (14_999_999, "$0.01"),
        (1_234_565_000_000, "$1,234.57"),
        (-1, "-<$0.01"),
        (-4_999_999, "-<$0.01"),
        (-5_000_000, "-$0.01"),
        (-20_000_000, "-$0.02"),
    ],
)
def test_dollars_are_rounded_to_cents_and_never_to_zero(nano, text):
    assert usd_text(usd_of(nano)) == text
    assert change_text(usd_of(nano)) == (f"+{text}" if nano > 0 else text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (2**20 - 1, "1.00 MiB"),
        (2**30 - 1, "1.00 GiB"),
        (-2048, "-2.00 KiB"),
    ],
)
def test_bytes_have_the_largest_unit_in_which_they_are_one_or_more_after_rounding(count, text):
    assert bytes_text(count) == text
    assert bytes_change_text(count) == (f"+{text}" if count > 0 else text)


def test_an_amount_that_is_not_known_is_not_zero():
    assert usd_of(None) is None
    texts = (bytes_text(None), bytes_change_text(None), change_text(None))
    assert set(texts) == {NOT_KNOWN}


@pytest.mark.parametrize(
    ("known", "unknown", "text"),
    [
        (0, 0, "0 bytes"),
        (2**30, 0, "1.00 GiB"),
        (2**30, 1, "1.00 GiB and 1 partition of unknown size"),
        (2**30, 1200, "1.00 GiB and 1,200 partitions of unknown size"),
        (0, 3, "not known (3 partitions of unknown size)"),
    ],
)
def test_sizes_that_are_not_known_are_counted_beside_the_sum(known, unknown, text):
    assert sizes_text(known, unknown) == text


@pytest.mark.parametrize(
    ("change", "text"),
    [(-0.0001, "-<0.1 %"), (0.0004, "+<0.1 %"), (-0.0005, "-0.1 %"), (0, "0 %"), (0.25, "+25.0 %")],
)
def test_a_change_in_per_cent_is_never_rounded_to_zero(change, text):
    assert percent_change_cell(change).text == text
