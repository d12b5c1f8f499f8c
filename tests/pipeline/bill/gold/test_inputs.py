"""The days that a request keeps, and those on which rates are modelled."""

from datetime import date

import pytest

from rackwise.pipeline.bill.gold.inputs import RequestedDays

DAYS = [date(2026, 11, day) for day in range(1, 5)]
LAST_SNAPSHOT = date(2026, 11, 9)


@pytest.mark.parametrize(
    ("first", "last", "bounds"),
    [
        (None, None, None),
        (DAYS[1], None, (DAYS[1], date.max)),
        (None, DAYS[1], (date.min, DAYS[1])),
        (DAYS[0], DAYS[1], (DAYS[0], DAYS[1])),
    ],
)
def test_a_missing_end_keeps_all_days_on_its_side(first, last, bounds):
    assert RequestedDays(first=first, last=last).bounds == bounds


@pytest.mark.parametrize(
    ("first", "last", "of_flows", "modelled"),
    [
        (DAYS[0], DAYS[2], DAYS[3:], DAYS[:3]),
        (DAYS[0], None, DAYS[2:], DAYS[2:]),
        (DAYS[0], None, [], DAYS[:1]),
        (None, DAYS[1], [], DAYS[1:2]),
        (None, None, [], [LAST_SNAPSHOT]),
    ],
)
def test_rates_are_modelled_on_requested_days_then_on_those_of_flows_then_on_one_day(
    first, last, of_flows, modelled
):
    found = RequestedDays(first=first, last=last).of_rates(of_flows, LAST_SNAPSHOT)
    assert [*found] == modelled
