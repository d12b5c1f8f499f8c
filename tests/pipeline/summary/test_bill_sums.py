"""Sums of a bill: totals of a run and of each cluster, and what is not attributed."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from rackwise.core.savings.potential import GROUP, PRICE, RACK, TOPIC
from rackwise.pipeline.bill.model import Bill, Standing
from rackwise.pipeline.bill.savings import TOO_SHORT, month_seconds
from rackwise.pipeline.ingest.row_outcomes import RowOutcomes
from rackwise.pipeline.summary.bill_sums import (
    LOST,
    cross_by_cluster,
    totals_part,
    unattributed_part,
)

SINCE = datetime(2026, 1, 1, tzinfo=UTC)


def bill(seconds=86_400, *, standings=()):
    return Bill(
        standings=standings,
        roll_ups={},
        matrix=(),
        precedence=(),
        period=(SINCE, SINCE + timedelta(seconds=seconds)),
        seconds=seconds,
        prices=(),
    )


def standing(cluster, level, usd, *, high=None, **more):
    given = {"kind": "fetch", "is_topic_known": True, "is_group_known": True, "bytes": 7}
    return Standing(
        cluster=cluster,
        day=SINCE.date(),
        quality="measured",
        level=level,
        price_row=None,
        usd=usd,
        usd_high=usd if high is None else high,
        **given | more,
    )


def test_bytes_and_dollars_of_each_cluster():
    found = cross_by_cluster(
        bill(
            standings=[
                standing("a", 1, Decimal("0.5")),
                standing("a", 2, Decimal("0.25")),
                standing("a", 0, Decimal(0)),
                standing("b", -1, None),
                standing("b", 1, None),
                standing("c", 0, Decimal(0)),
                standing("c", -1, None, high=Decimal(2)),
            ]
        )
    )
    names = ("bytes_cross", "bytes_cross_unattributed", "usd", "usd_high")
    assert {cluster: tuple(row[name] for name in names) for cluster, row in found.items()} == {
        "a": (14, 0, "0.750000000", "0.750000000"),
        "b": (7, 0, None, None),
        "c": (0, 0, None, "2.000000000"),
    }
    assert cross_by_cluster(None) == {}


class TestTotals:
    STANDINGS = (
        standing("a", 1, Decimal(3)),
        standing("a", 0, Decimal(0)),
        standing("a", -1, None, high=Decimal(2)),
    )

    def totals(self, standings, *, seconds=86_400, lost=0, extrapolate=False):
        outcomes = RowOutcomes(by_reason=(("skipdata", lost, 0),) if lost else ())
        found = totals_part(bill(seconds, standings=standings), outcomes, extrapolate=extrapolate)
        names = ("usd", "usd_high", "usd_30d", "usd_high_30d", "reason", "reason_30d")
        return [found[name] for name in names]

    def test_an_unknown_rack_makes_a_range(self):
        usd = ["3.000000000", "5.000000000", "90.000000000", "150.000000000"]
        assert self.totals(self.STANDINGS) == [*usd, RACK, None]

    def test_a_missing_price_leaves_the_most_unknown(self):
        unpriced = (*self.STANDINGS[:2], standing("a", 2, None))
        usd = ["3.000000000", None, "90.000000000", None]
        assert self.totals(unpriced) == [*usd, PRICE, None]

    def test_lost_rows_leave_the_most_unknown(self):
        usd = ["3.000000000", None, "90.000000000", None]
        assert self.totals(self.STANDINGS[:2], lost=4) == [*usd, LOST, None]

    def test_nothing_that_is_known_is_not_0(self):
        usd = [None, "2.000000000", None, "60.000000000"]
        assert self.totals(self.STANDINGS[1:]) == [*usd, RACK, None]
        assert self.totals(self.STANDINGS[1:2]) == [*["0.000000000"] * 4, None, None]

    @pytest.mark.parametrize("seconds", [1, 60, 3_599])
    def test_less_than_an_hour_is_extrapolated_on_request_only(self, seconds):
        usd = ["3.000000000", "3.000000000"]
        assert self.totals(self.STANDINGS[:2], seconds=seconds) == [
            *(*usd, None, None),
            *(None, TOO_SHORT),
        ]
        asked = self.totals(self.STANDINGS[:2], seconds=seconds, extrapolate=True)
        assert None not in asked[:4]
        assert asked[5] is None
        assert month_seconds(bill(3_600).seconds, extrapolate=False) == 3_600


class TestUnattributed:
    def test_each_byte_has_one_cause(self):
        found = unattributed_part(
            bill(
                standings=[
                    standing("a", 1, Decimal(3), is_topic_known=False),
                    standing("a", 1, Decimal(2), is_topic_known=False, is_group_known=False),
                    standing("a", 1, Decimal(1), is_group_known=False),
                    standing("a", -1, None, high=Decimal(9), is_group_known=False),
                    standing("a", 1, Decimal(50)),
                ],
            ),
            extrapolate=False,
        )
        causes = found.pop("causes")
        assert found == {
            "bytes": 28,
            "bytes_cross": 21,
            "usd": "6.000000000",
            "usd_high": "15.000000000",
            "usd_30d": "180.000000000",
            "usd_high_30d": "450.000000000",
        }
        assert [(one["reason"], one["bytes"], one["usd"], one["usd_high"]) for one in causes] == [
            (TOPIC, 14, "5.000000000", "5.000000000"),
            (GROUP, 14, "1.000000000", "10.000000000"),
        ]

    def test_unknown_bytes_without_dollars_are_not_0(self):
        standings = [standing("a", -1, None, is_topic_known=False)]
        found = unattributed_part(bill(standings=standings), extrapolate=False)
        assert (found["bytes"], found["usd"], found["usd_high"]) == (7, None, None)
        known = unattributed_part(bill(standings=[standing("a", 1, None)]), extrapolate=False)
        assert (known["bytes"], known["usd"]) == (0, "0.000000000")

    def test_each_cluster_has_the_crossing_bytes_that_are_not_attributed(self):
        standings = [
            standing("a", 1, Decimal(3), is_topic_known=False),
            standing("a", 1, Decimal(1), is_group_known=False),
            standing("a", 0, Decimal(0), is_topic_known=False),
            standing("a", 2, Decimal(50)),
            standing("b", 1, Decimal(50)),
        ]
        cross = cross_by_cluster(bill(standings=standings))
        found = [
            (cross[name]["bytes_cross"], cross[name]["bytes_cross_unattributed"]) for name in "ab"
        ]
        assert found == [(21, 14), (7, 0)]
