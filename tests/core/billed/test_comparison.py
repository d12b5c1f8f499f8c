"""What AWS billed against what Kafka moved: shares, ranges, and reasons where nothing is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.billed.comparison import (
    ABOVE,
    CURRENCY,
    GB,
    LONG_LINES,
    MODELLED,
    NO_CLUSTER,
    NO_LINES,
    NO_PRICE,
    NO_REGION,
    NO_TRAFFIC,
    NO_USAGE,
    NO_ZONES,
    OTHER_PROVIDER,
    RACK,
    BilledLines,
    KafkaBytes,
    compare,
    notes,
)
from rackwise.core.billed.zones import Crossing
from rackwise.core.history import StandingDay

DAY, NEXT = date(2026, 11, 1), date(2026, 11, 2)
US, EU = "us-east-1", "eu-west-1"
NANO = 10**9
LINES = BilledLines(
    region=US,
    day=DAY,
    last_day=DAY,
    line_type="Usage",
    currency="USD",
    lines=24,
    gb=Decimal(100),
    usd=Decimal(1),
)
BYTES = KafkaBytes(
    cluster="prod",
    day=DAY,
    region=US,
    crossing=Crossing.YES,
    is_aws=True,
    bytes=31 * GB,
    usd_nano=620_000_000,
)


def standing(day=DAY, cluster="prod", *, hours=24, after=timedelta()):
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) + after
    return StandingDay(
        cluster=cluster,
        day=day,
        tables="runs/a",
        since=start,
        until=start + timedelta(hours=hours),
    )


def compared(lines=(LINES,), kafka=(BYTES,), days=None, **more):
    return compare(lines, kafka, [standing()] if days is None else days, **more)


def only(found):
    (row,) = found.days
    return row


def test_both_ends_are_billed():
    found = compared()
    row = only(found)
    assert (row.billed_bytes, row.billed_usd_nano) == (100 * GB, NANO)
    assert (row.kafka_bytes, row.kafka_bytes_high, row.kafka_usd_nano) == (
        62 * GB,
        62 * GB,
        620_000_000,
    )
    assert (row.share, row.share_high, row.reason) == (0.62, 0.62, None)
    totals = found.totals
    assert (totals.days, totals.share, totals.reason, totals.finding) == (1, 0.62, None, None)
    assert notes(found) == ()


def test_bytes_that_may_cross_make_a_range():
    maybe = replace(BYTES, crossing=Crossing.MAYBE, bytes=3 * GB, usd_nano=None)
    anywhere = replace(maybe, region=None, bytes=GB)
    found = compared(kafka=[BYTES, maybe, anywhere])
    row = only(found)
    assert (row.share, row.share_high, row.reason) == (0.62, 0.7, RACK)
    assert (found.totals.share, found.totals.share_high, found.totals.reason) == (0.62, 0.7, RACK)


def test_bytes_that_do_not_cross_zones_are_not_counted():
    no = replace(BYTES, crossing=Crossing.NO, usd_nano=None)
    assert only(compared(kafka=[BYTES, no, replace(no, region=None)])).share == 0.62


def test_a_cluster_that_moves_nothing_between_zones_explains_nothing():
    no = replace(BYTES, crossing=Crossing.NO)
    row = only(compared(kafka=[no]))
    assert (row.kafka_bytes, row.kafka_usd_nano, row.share) == (0, 0, 0.0)
    row = only(compared(kafka=[], located=[(US, "prod")]))
    assert (row.kafka_bytes, row.kafka_usd_nano, row.share) == (0, 0, 0.0)


@pytest.mark.parametrize(
    ("lines", "kafka", "days", "more", "reason"),
    [
        ([], [BYTES], [standing()], {}, NO_LINES),
        ([replace(LINES, region=EU)], [], [standing()], {}, NO_CLUSTER),
        (
            [LINES],
            [replace(BYTES, region=None, crossing=Crossing.MAYBE)],
            [standing()],
            {},
            NO_ZONES,
        ),
        ([LINES], [replace(BYTES, is_aws=False)], [standing()], {}, OTHER_PROVIDER),
        ([LINES], [BYTES], [standing()], {"modelled": frozenset({("prod", DAY)})}, MODELLED),
        ([replace(LINES, last_day=NEXT)], [BYTES], [standing()], {}, LONG_LINES),
        (
            [LINES],
            [BYTES],
            [standing(hours=8)],
            {},
            "the traffic of cluster prod covers 8.0 of 24 hours: add the rest of the day",
        ),
        (
            [LINES],
            [BYTES],
            [standing(after=timedelta(hours=12))],
            {},
            "the traffic of cluster prod covers 12.0 of 24 hours: add the rest of the day",
        ),
        (
            [LINES],
            [BYTES],
            [standing()],
            {"located": [(US, "test")]},
            "no traffic of cluster test is known on this day: add its flow logs",
        ),
    ],
)
def test_what_is_not_known_has_no_share(lines, kafka, days, more, reason):
    found = compare(lines, kafka, days, **more)
    row = only(found)
    assert (row.share, row.share_high, row.is_compared) == (None, None, False)
    assert row.reason is not None
    assert reason in row.reason.split("; ")
    assert found.totals.days == 0
    assert (found.totals.share, found.totals.kafka_bytes, found.totals.billed_bytes) == (None,) * 3
    assert any("nothing is compared" in note for note in notes(found))


def test_a_region_without_a_cluster_has_no_bytes_of_kafka():
    found = compared([LINES, replace(LINES, region=EU, gb=Decimal("0.5"), usd=Decimal("0.005"))])
    eu, us = found.days
    assert (eu.region, eu.billed_bytes, eu.billed_usd_nano) == (EU, GB // 2, 5_000_000)
    assert (eu.kafka_bytes, eu.kafka_usd_nano, eu.reason) == (None, None, NO_CLUSTER)
    assert us.share == found.totals.share == 0.62
    assert found.totals.days == 1


def test_a_flow_log_that_ends_ten_minutes_early_covers_the_day():
    assert only(compared(days=[standing(hours=24 - 1 / 6)])).share == 0.62
    assert only(compared(days=[standing(hours=23.8)])).share is None


def test_all_clusters_of_the_region_must_cover_the_day():
    other = replace(BYTES, cluster="test")
    row = only(compared(kafka=[BYTES, other], days=[standing(), standing(cluster="test", hours=1)]))
    assert (row.share, row.kafka_bytes) == (None, 124 * GB)


def test_days_are_compared_one_by_one():
    later = [replace(LINES, day=NEXT, last_day=NEXT, gb=Decimal(10)), LINES]
    found = compared(later, days=[standing(), standing(NEXT)])
    assert [(row.day, row.share) for row in found.days] == [(DAY, 0.62), (NEXT, 0.0)]
    assert found.totals.share == round(62 / 110, 6)


def test_lines_of_a_month_hide_each_of_its_days():
    month = replace(LINES, day=date(2026, 10, 15), last_day=date(2026, 11, 14))
    found = compared([LINES, month])
    assert (only(found).billed_bytes, only(found).share) == (None, None)
    assert found.left_out[0].reason == LONG_LINES


def test_a_bill_in_another_currency_has_bytes_only():
    found = compared([replace(LINES, currency="CNY"), replace(LINES, currency="CNY", region=None)])
    row = only(found)
    assert (row.billed_usd_nano, row.share, row.reason) == (None, 0.62, CURRENCY)
    assert found.totals.billed_usd_nano is None
    assert found.left_out[0].usd_nano is None


def test_dollars_without_a_price_are_not_known():
    row = only(compared(kafka=[replace(BYTES, usd_nano=None)]))
    assert (row.kafka_usd_nano, row.share, row.reason) == (None, 0.62, NO_PRICE)


def test_more_than_the_bill_is_a_finding():
    found = compared([replace(LINES, gb=Decimal(50))])
    assert only(found).share == 1.24
    assert found.totals.finding == ABOVE
    assert f"--billed: {ABOVE}" in notes(found)


def test_a_bill_of_nothing_has_no_share():
    row = only(compared([replace(LINES, gb=Decimal(0))]))
    assert (row.billed_bytes, row.share) == (0, None)


def test_what_is_left_out_is_told():
    lines = [
        LINES,
        replace(LINES, line_type="Credit", usd=Decimal(-1), lines=2),
        replace(LINES, line_type="Tax", usd=Decimal("0.2"), lines=1),
        replace(LINES, line_type="", lines=1, usd=Decimal(0)),
        replace(LINES, region=None, lines=5),
        replace(LINES, day=NEXT, last_day=NEXT, lines=3),
    ]
    found = compared(lines)
    assert only(found).billed_usd_nano == NANO
    assert [(one.lines, one.usd_nano) for one in found.left_out] == [
        (5, NANO),
        (3, NANO),
        (2, -NANO),
        (1, 200_000_000),
        (1, 0),
    ]
    reasons = [one.reason for one in found.left_out]
    assert reasons[:2] == [NO_REGION, NO_TRAFFIC]
    assert "Credit" in reasons[2]
    assert notes(found)[0].startswith("--billed: 5 lines of the bill are left out: ")


@pytest.mark.parametrize(
    ("lines", "days", "reason"),
    [
        ([], [], NO_USAGE),
        ([replace(LINES, line_type="Tax")], [standing()], NO_USAGE),
        ([LINES], [], NO_TRAFFIC),
        ([LINES], [StandingDay(cluster="prod", day=DAY)], NO_TRAFFIC),
        ([replace(LINES, day=NEXT, last_day=NEXT)], [standing()], NO_TRAFFIC),
    ],
)
def test_nothing_to_compare(lines, days, reason):
    found = compare(lines, [], days)
    assert (found.days, found.totals.days, found.totals.reason) == ((), 0, reason)


GBS = st.decimals(0, 10**6, places=10)


@given(st.lists(st.tuples(GBS, GBS, st.integers(0, 10**12)), min_size=1, max_size=20))
def test_sums_are_exact(parts):
    """Law: bytes and dollars are those of the lines, rounded once, half up."""
    lines = [replace(LINES, gb=gb, usd=usd, lines=1) for gb, usd, _ in parts]
    kafka = [replace(BYTES, bytes=bytes_, usd_nano=bytes_) for *_, bytes_ in parts]
    row = only(compared(lines, kafka))
    gb, usd = (sum(column) for column in ([one[0] for one in parts], [one[1] for one in parts]))
    assert row.billed_bytes is not None
    assert row.billed_usd_nano is not None
    assert 2 * abs(row.billed_bytes - gb * GB) <= 1
    assert 2 * abs(row.billed_usd_nano - usd * NANO) <= 1
    assert row.kafka_bytes == 2 * sum(one[2] for one in parts)
    assert (row.share is None) == (row.billed_bytes == 0)


PLACES = st.tuples(
    st.sampled_from(["prod", "test"]),
    st.sampled_from([DAY, NEXT]),
    st.sampled_from([US, EU, None]),
    st.sampled_from(Crossing),
    st.integers(0, 10**12),
)


@given(
    st.lists(st.tuples(st.sampled_from([US, EU]), st.sampled_from([DAY, NEXT]), GBS), max_size=5),
    st.lists(PLACES, max_size=8),
    st.lists(
        st.tuples(st.sampled_from(["prod", "test"]), st.sampled_from([DAY, NEXT]), st.booleans()),
        unique_by=lambda one: one[:2],
        max_size=4,
    ),
)
def test_a_value_that_is_not_known_has_a_reason(bill, traffic, observed):
    """Law: a null has a reason, and the bounds of a range are in order."""
    lines = [replace(LINES, region=r, day=d, last_day=d, gb=gb) for r, d, gb in bill]
    kafka = [
        replace(BYTES, cluster=c, day=d, region=r, crossing=x, bytes=b)
        for c, d, r, x, b in traffic
        if r is not None or x is not Crossing.YES
    ]
    days = [standing(day, name, hours=24 if whole else 3) for name, day, whole in observed]
    found = compare(lines, kafka, days)
    for row in found.days:
        values = (row.billed_bytes, row.billed_usd_nano, row.kafka_bytes, row.kafka_usd_nano)
        assert row.reason is not None or None not in values
        assert row.is_compared or row.reason is not None
        if row.share is not None and row.share_high is not None:
            assert row.share <= row.share_high
    assert (found.totals.days == 0) == (found.totals.billed_bytes is None)
    assert found.totals.days == sum(row.is_compared for row in found.days)
