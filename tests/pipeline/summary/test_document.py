"""The parts of the summary that are summed over the clusters of a fleet, and those that are not."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from rackwise.core.savings.potential import GROUP, PRICE, RACK, TOPIC
from rackwise.pipeline.bill.model import ROLL_UPS, Bill, Standing
from rackwise.pipeline.bill.savings import TOO_SHORT, month_seconds
from rackwise.pipeline.columns.table_rows import TableRows
from rackwise.pipeline.ingest.row_outcomes import RowOutcomes
from rackwise.pipeline.summary.document import (
    EACH,
    LOST,
    SHOWN,
    _roll_up_rows,
    _totals,
    _unattributed,
    cross_by_cluster,
)

DAYS = [date(2026, 1, 1 + n) for n in range(31)] + [date(2026, 2, 1 + n) for n in range(28)]


def row(cluster, *, usd, usd_high=None, **keys):
    amount = None if usd is None else Decimal(usd)
    high = amount if usd_high is None else Decimal(usd_high)
    counted = {"bytes_local": 1, "bytes_cross": 10, "bytes_unknown": 0, "share": 0.1}
    return {"cluster": cluster, **keys, **counted, "usd": amount, "usd_high": high}


def bill(*, standings=(), **roll_ups):
    period = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC))
    return Bill(
        standings=standings,
        roll_ups={
            name: TableRows(pa.Table.from_pylist([*roll_ups.get(name, ())])) for name in ROLL_UPS
        },
        matrix=(),
        precedence=(),
        period=period,
        seconds=59 * 86_400,
        prices=(),
    )


def test_kinds_are_merged_over_clusters_with_the_most_expensive_first():
    rows = [
        row("a", kind="fetch", usd="0.1"),
        row("a", kind="produce", usd="0.2"),
        row("b", kind="fetch", usd="0.3"),
        row("b", kind="replicate", usd=None),
    ]
    added = _roll_up_rows(bill(by_kind=rows), "by_kind")
    assert [(one["kind"], one["bytes_cross"], one["usd"], one["share"]) for one in added] == [
        ("fetch", 20, Decimal("0.4"), 0.2),
        ("produce", 10, Decimal("0.2"), 0.1),
        ("replicate", 10, None, 0.1),
    ]
    assert all("cluster" not in one for one in added)


def test_no_day_is_left_out():
    rows = [row(name, day=day, usd="1") for day in DAYS for name in "ab"]
    added = _roll_up_rows(bill(by_day=rows), "by_day")
    assert len(added) == len(DAYS)
    assert sorted(one["day"] for one in added) == DAYS
    assert {one["usd"] for one in added} == {2}


@pytest.mark.parametrize("name", ["by_topic", "by_group", "by_owner", "by_pair"])
def test_rows_of_one_cluster_are_cut_and_not_merged(name):
    rows = [row("a", **dict.fromkeys(ROLL_UPS[name], str(n)), usd="1") for n in range(SHOWN + 9)]
    assert list(_roll_up_rows(bill(**{name: rows}), name)) == rows[:SHOWN]
    small = [row("z", **dict.fromkeys(ROLL_UPS[name], str(n)), usd="0") for n in range(EACH + 9)]
    listed = _roll_up_rows(bill(**{name: [*rows, *small]}), name)
    assert list(listed) == rows[:SHOWN] + small[:EACH]


def standing(cluster, level, usd, *, high=None, **more):
    given = {"kind": "fetch", "is_topic_known": True, "is_group_known": True, "bytes": 7}
    return Standing(
        cluster=cluster,
        day=DAYS[0],
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


def short(seconds, **more):
    since = datetime(2026, 1, 1, tzinfo=UTC)
    return replace(
        bill(**more), period=(since, since + timedelta(seconds=seconds)), seconds=seconds
    )


class TestTotals:
    STANDINGS = (
        standing("a", 1, Decimal(3)),
        standing("a", 0, Decimal(0)),
        standing("a", -1, None, high=Decimal(2)),
    )

    def totals(self, standings, *, seconds=86_400, lost=0, extrapolate=False):
        outcomes = RowOutcomes(by_reason=(("skipdata", lost, 0),) if lost else ())
        found = _totals(short(seconds, standings=standings), outcomes, extrapolate=extrapolate)
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
        assert month_seconds(short(3_600).seconds, extrapolate=False) == 3_600


class TestUnattributed:
    def test_each_byte_has_one_cause(self):
        found = _unattributed(
            short(
                86_400,
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
        found = _unattributed(short(86_400, standings=standings), extrapolate=False)
        assert (found["bytes"], found["usd"], found["usd_high"]) == (7, None, None)
        known = _unattributed(short(86_400, standings=[standing("a", 1, None)]), extrapolate=False)
        assert (known["bytes"], known["usd"]) == (0, "0.000000000")

    def test_each_cluster_has_the_crossing_bytes_that_are_not_attributed(self):
        standings = [
            standing("a", 1, Decimal(3), is_topic_known=False),
            standing("a", 1, Decimal(1), is_group_known=False),
            standing("a", 0, Decimal(0), is_topic_known=False),
            standing("a", 2, Decimal(50)),
            standing("b", 1, Decimal(50)),
        ]
        cross = cross_by_cluster(short(86_400, standings=standings))
        found = [
            (cross[name]["bytes_cross"], cross[name]["bytes_cross_unattributed"]) for name in "ab"
        ]
        assert found == [(21, 14), (7, 0)]
