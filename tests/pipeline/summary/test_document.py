"""The tables that are summed over the clusters of a fleet, and those that are not."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from rackwise.pipeline.bill.model import ROLL_UPS, Bill
from rackwise.pipeline.columns.table_rows import TableRows
from rackwise.pipeline.summary.document import EACH, SHOWN, _roll_up_rows

DAYS = [date(2026, 1, 1 + n) for n in range(31)] + [date(2026, 2, 1 + n) for n in range(28)]


def row(cluster, *, usd, usd_high=None, **keys):
    amount = None if usd is None else Decimal(usd)
    high = amount if usd_high is None else Decimal(usd_high)
    counted = {"bytes_local": 1, "bytes_cross": 10, "bytes_unknown": 0, "share": 0.1}
    return {"cluster": cluster, **keys, **counted, "usd": amount, "usd_high": high}


def bill(**roll_ups):
    period = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC))
    return Bill(
        standings=(),
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
