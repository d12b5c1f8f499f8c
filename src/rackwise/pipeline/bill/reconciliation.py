"""Compares replicated bytes between brokers by flow logs with the same bytes by the meter.

Two independent sources that agree are the best proof of both. They may cover different parts of a
day, so bytes per second are compared, each over its own time:

```
brokers 1 -> 2, 2026-11-01    flow logs 00:00 to 24:00   864 GB   10.0 MB/s
                              meter     08:00 to 20:00   413 GB    9.6 MB/s     ratio 1.05
```

Flow logs count TCP and IP headers and the requests of followers as well, so a ratio somewhat above
1 is normal; `is_off` marks a difference of more than 10 %. Traffic that changes with the hour
differs, too, if the two sources cover different hours. A pair of brokers that one source does not
have is not compared: its bytes there are not known, which is not 0 (the meter has no row where a
size or an offset is missing).

What this does not do: compare rows that have a topic (they come from Kafka, not from the network).
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rackwise.pipeline.bill.traffic import columns_of
from rackwise.pipeline.columns.clock import DAY_S, day_at
from rackwise.pipeline.schemas import REPLICATE, SOURCES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.pipeline.fleet.fleet import Fleet

TOLERANCE_PERCENT = 10
SHOWN = 50
"""Maximum rows in the summary."""
FLOW_LOG = SOURCES.index("flow log")
COPIED = ("cluster", "day", "broker", "peer")
"""The columns that identify a pair of brokers on a day."""


def copied_by_flows(facts: pa.Table | pa.RecordBatch) -> pa.Table:
    """The bytes by `COPIED` of flow logs without topics, row by row; `facts`: FACT."""
    fact = columns_of(facts, (*COPIED, "kind", "source", "topic", "bytes"))
    return _copied(fact, (fact["source"] == FLOW_LOG) & (fact["topic"] == 0))


def copied_by_meter(facts: pa.Table) -> pa.Table:
    """The bytes by `COPIED` of facts of the meter, row by row; `facts`: FACT."""
    fact = columns_of(facts, (*COPIED, "kind", "bytes"))
    return _copied(fact, np.ones(len(facts), dtype=np.bool_))


def _copied(fact: Mapping[str, NDArray[np.int64]], is_used: NDArray[np.bool_]) -> pa.Table:
    is_pair = (fact["broker"] != 0) & (fact["peer"] != 0)
    rows = np.flatnonzero(is_used & is_pair & (fact["kind"] == REPLICATE))
    return pa.table({name: fact[name][rows] for name in (*COPIED, "bytes")})


def reconcile(
    looks: Mapping[str, Mapping[str, pa.Table]],
    fleet: Fleet,
    *,
    period: tuple[datetime, datetime],
) -> list[dict[str, Any]]:
    """Rows of RECONCILIATION, on the days that both sources have, by cluster, day and brokers.

    `looks`: the result of `gold.first_look`; `period`: the time that the flow logs cover.
    """
    windows = _rows(looks["metered"].get("windows"))
    seconds = Counter[tuple[int, ...]]()
    for cluster, day, _, window_s in windows:
        seconds[cluster, day] += window_s
    by_flows, by_meter = (
        {(*pair,): bytes_ for *pair, bytes_ in _rows(table)}
        for table in (looks["logged"].get("copied"), looks["metered"].get("copied_by_meter"))
    )
    days = {pair[:2] for pair in by_flows} & seconds.keys()
    return [
        _row(
            pair,
            by_flows[pair] / seconds_of_day(pair[1], period) if pair in by_flows else None,
            by_meter[pair] / seconds[pair[:2]] if pair in by_meter else None,
            fleet,
        )
        for pair in sorted(by_flows.keys() | by_meter.keys())
        if pair[:2] in days
    ]


def _rows(table: pa.Table | None) -> list[tuple[int, ...]]:
    """The rows of a table of integers."""
    return [] if table is None else [*zip(*table.to_pydict().values(), strict=True)]


def seconds_of_day(day: int, period: tuple[datetime, datetime]) -> int:
    """The seconds of a day that a period covers, at least 1."""
    start = datetime.fromtimestamp(day * DAY_S, UTC)
    end = datetime.fromtimestamp((day + 1) * DAY_S, UTC)
    return max(1, int((min(end, period[1]) - max(start, period[0])).total_seconds()))


def _row(
    pair: tuple[int, ...], by_flows: float | None, by_meter: float | None, fleet: Fleet
) -> dict[str, Any]:
    """One row; the bytes of a source without the pair are not known, and nothing is compared."""
    cluster, day, broker, peer = pair
    is_off = ratio = None
    if by_flows is not None and by_meter is not None:
        is_off = abs(by_flows - by_meter) * 100 > TOLERANCE_PERCENT * by_meter
        ratio = by_flows / by_meter if by_meter else None
    return {
        "cluster": fleet.names.clusters[cluster - 1],
        "day": day_at(day),
        "from_broker": fleet.names.brokers[broker - 1][1],
        "to_broker": fleet.names.brokers[peer - 1][1],
        "flow_bytes_per_s": None if by_flows is None else round(by_flows),
        "meter_bytes_per_s": None if by_meter is None else round(by_meter),
        "ratio": ratio,
        "is_off": is_off,
    }


def reconciliation_part(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The comparison in the summary: sums, and pairs of brokers; None without rows.

    The pairs with the greatest difference are first; pairs that one source does not have are last.
    The sums are all bytes that a source knows; the ratio is that of the pairs that both have.
    """
    if not rows:
        return None
    compared = [row for row in rows if row["is_off"] is not None]
    alone = [row for row in rows if row["is_off"] is None]
    by_flows, by_meter = (
        sum(row[f"{source}_bytes_per_s"] for row in compared) for source in ("flow", "meter")
    )
    by_difference = sorted(
        compared, key=lambda row: -abs(row["flow_bytes_per_s"] - row["meter_bytes_per_s"])
    )
    return {
        "pairs": len(compared),
        "pairs_off": sum(row["is_off"] for row in compared),
        "pairs_one_source": len(alone),
        "flow_bytes_per_s": by_flows + sum(row["flow_bytes_per_s"] or 0 for row in alone),
        "meter_bytes_per_s": by_meter + sum(row["meter_bytes_per_s"] or 0 for row in alone),
        "ratio": by_flows / by_meter if by_meter else None,
        "rows": [
            {**row, "day": row["day"].isoformat()} for row in [*by_difference, *alone][:SHOWN]
        ],
    }
