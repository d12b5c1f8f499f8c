"""Hours of every day: across midnight, in time zones, on the days of summer time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.daily_hours import DailyHours

BERLIN = ZoneInfo("Europe/Berlin")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
MINUTES = st.integers(0, 24 * 60 - 1)
ZONES = st.sampled_from([UTC, BERLIN, KATHMANDU, ZoneInfo("America/New_York")])
BEGIN = datetime(2025, 12, 1, tzinfo=UTC)
TIMES = st.integers(0, 400 * 86_400).map(lambda seconds: BEGIN + timedelta(seconds=seconds))


def at(text):
    return datetime.fromisoformat(text)


@given(MINUTES, MINUTES, st.sampled_from(["UTC", "Europe/Berlin", "Etc/GMT+5"]))
def test_hours_are_read_as_they_are_written(start, end, zone):
    hours = DailyHours(start, end, zone)
    assert DailyHours.of(str(hours)) == (None if start == end else hours)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "22:00",
        "24:00-05:00",
        "22:60-05:00",
        "5:00-6:00",
        "05:00-05:00",
        "22:00-05:00 ",
        "22:00-05:00  UTC",
        "22:00-05:00 /etc",
        "22:00-05:00 ../UTC",
        "22:00-05:00 Europe/Berlin x",
        "22:00-05:00\nUTC",
        f"22:00-05:00 {'a' * 65}",
    ],
)
def test_another_text_is_none(text):
    assert DailyHours.of(text) is None


def test_without_a_zone_they_are_in_utc():
    assert DailyHours.of("22:00-05:00") == DailyHours.of("22:00-05:00 UTC") == DailyHours(1320, 300)


@pytest.mark.parametrize(
    ("text", "zone", "now", "end", "next_start"),
    [
        ("22:00-05:00", UTC, "2026-11-26T21:59:59Z", None, "2026-11-26T22:00:00Z"),
        ("22:00-05:00", UTC, "2026-11-26T22:00:00Z", "2026-11-27T05:00:00Z", "2026-11-27T22:00Z"),
        ("22:00-05:00", UTC, "2026-11-27T04:59:59Z", "2026-11-27T05:00:00Z", "2026-11-27T22:00Z"),
        ("22:00-05:00", UTC, "2026-11-27T05:00:00Z", None, "2026-11-27T22:00:00Z"),
        ("01:00-02:00", UTC, "2026-11-27T00:30:00Z", None, "2026-11-27T01:00:00Z"),
        ("01:00-02:00", UTC, "2026-11-27T01:00:00Z", "2026-11-27T02:00:00Z", "2026-11-28T01:00Z"),
        ("01:00-02:00", UTC, "2026-11-27T02:00:00Z", None, "2026-11-28T01:00:00Z"),
        ("22:00-00:00", UTC, "2026-11-27T23:59:59Z", "2026-11-28T00:00:00Z", "2026-11-28T22:00Z"),
        ("00:00-23:59", UTC, "2026-11-27T23:59:00Z", None, "2026-11-28T00:00:00Z"),
        ("22:00-05:00", BERLIN, "2026-11-26T20:59:59Z", None, "2026-11-26T21:00:00Z"),
        ("22:00-05:00", BERLIN, "2026-11-27T03:59Z", "2026-11-27T04:00Z", "2026-11-27T21:00Z"),
        ("22:00-05:00", BERLIN, "2026-07-27T02:59Z", "2026-07-27T03:00Z", "2026-07-27T20:00Z"),
        ("00:00-02:00", KATHMANDU, "2026-11-26T18:15Z", "2026-11-26T20:15Z", "2026-11-27T18:15Z"),
        # the night that begins summer time is an hour shorter, the one that ends it an hour longer
        ("22:00-05:00", BERLIN, "2026-03-28T21:00Z", "2026-03-29T03:00Z", "2026-03-29T20:00Z"),
        ("22:00-05:00", BERLIN, "2026-10-24T20:00Z", "2026-10-25T04:00Z", "2026-10-25T21:00Z"),
        # 02:30 is lacking on the first of them, and comes twice on the second
        ("02:30-04:00", BERLIN, "2026-03-29T01:30Z", "2026-03-29T02:00Z", "2026-03-30T00:30Z"),
        ("01:00-02:30", BERLIN, "2026-10-25T00:29Z", "2026-10-25T00:30Z", "2026-10-26T00:00Z"),
        ("01:00-02:30", BERLIN, "2026-10-25T01:29Z", None, "2026-10-26T00:00Z"),
        # from 02:45, which becomes 03:45, to 03:15: no minute on that day
        ("02:45-03:15", BERLIN, "2026-03-28T23:00Z", None, "2026-03-30T00:45Z"),
    ],
)
def test_the_end_of_the_hours_and_their_next_start(text, zone, now, end, next_start):
    hours = DailyHours.of(text)
    assert hours.end_at(at(now), zone) == (None if end is None else at(end))
    assert hours.next_start(at(now), zone) == at(next_start)


@pytest.mark.parametrize(
    ("text", "now", "end"),
    [
        ("22:00-05:00", "2026-11-27T21:00:00Z", "2026-11-27T05:00:00Z"),
        ("22:00-05:00", "2026-11-27T05:00:00Z", "2026-11-27T05:00:00Z"),
        ("01:00-02:00", "2026-11-27T00:30:00Z", "2026-11-26T02:00:00Z"),
        ("01:00-02:00", "2026-11-27T01:30:00Z", "2026-11-26T02:00:00Z"),
    ],
)
def test_the_last_end(text, now, end):
    assert DailyHours.of(text).last_end(at(now), UTC) == at(end)


@given(MINUTES, MINUTES.filter(bool), ZONES, TIMES)
def test_a_time_is_in_the_hours_or_before_their_start(start, lasts, zone, now):
    """The ends agree with the wall clock, and the three answers with each other."""
    hours = DailyHours(start, (start + lasts) % (24 * 60))
    end, last = hours.end_at(now, zone), hours.last_end(now, zone)
    begins = hours.next_start(now, zone)
    assert last <= now < begins <= now + timedelta(days=3)
    local = begins.astimezone(zone)
    assert (60 * local.hour + local.minute - start) % (24 * 60) in {0, 60}
    if end is not None:
        assert now < end <= now + timedelta(hours=25)
        assert hours.end_at(end - timedelta(seconds=1), zone) == end
    if zone is UTC:
        minute = 60 * now.hour + now.minute
        assert (end is not None) == ((minute - start) % (24 * 60) < lasts)
