"""Replication between brokers by flow logs and by the meter, compared where both know it."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pyarrow as pa
import pytest

from rackwise.pipeline.bill.reconciliation import COPIED, reconcile, reconciliation_part
from rackwise.report.sections import _agreement

DAY, DAY_S = 20_000, 86_400
PERIOD = tuple(datetime.fromtimestamp(day * DAY_S, UTC) for day in (DAY, DAY + 1))
FLEET = SimpleNamespace(
    names=SimpleNamespace(clusters=("c",), brokers=(("c", 1), ("c", 2), ("c", 3)))
)


def table(names, rows):
    return pa.table({name: [row[index] for row in rows] for index, name in enumerate(names)})


def copied(per_s):
    """`per_s`: (broker, peer) -> bytes per second over the whole day."""
    rows = [(1, DAY, *pair, rate * DAY_S) for pair, rate in per_s.items()]
    return table((*COPIED, "bytes"), rows)


def compared(by_flows, by_meter):
    windows = table(("cluster", "day", "start_s", "window_s"), [(1, DAY, 0, DAY_S)])
    looks = {
        "metered": {"windows": windows, "copied_by_meter": copied(by_meter)},
        "logged": {"copied": copied(by_flows)},
    }
    return reconcile(looks, FLEET, period=PERIOD)


def test_a_pair_that_one_source_does_not_have_is_not_known_there_and_not_off():
    rows = compared({(1, 2): 10, (1, 3): 50}, {(1, 2): 10, (2, 1): 7})
    figures = ("flow_bytes_per_s", "meter_bytes_per_s", "ratio", "is_off")
    assert [tuple(row[name] for name in figures) for row in rows] == [
        (10, 10, 1, False),
        (50, None, None, None),
        (None, 7, None, None),
    ]
    part = reconciliation_part(rows)
    assert (part["pairs"], part["pairs_off"], part["pairs_one_source"]) == (1, 0, 2)
    assert (part["flow_bytes_per_s"], part["meter_bytes_per_s"], part["ratio"]) == (60, 17, 1)
    assert [row["is_off"] for row in part["rows"]] == [False, None, None]
    assert _agreement(part).endswith(
        "1 of 1 pair of brokers agree within 10 %; one source does not have 2 more pairs"
    )


@pytest.mark.parametrize(("by_flows", "is_off"), [(109, False), (111, True), (89, True)])
def test_a_difference_of_more_than_10_per_cent_is_off(by_flows, is_off):
    part = reconciliation_part(compared({(1, 2): by_flows}, {(1, 2): 100}))
    assert (part["rows"][0]["is_off"], part["pairs_off"]) == (is_off, int(is_off))


def test_a_known_zero_stays_zero():
    (row,) = compared({(1, 2): 5}, {(1, 2): 0})
    assert (row["meter_bytes_per_s"], row["ratio"], row["is_off"]) == (0, None, True)
