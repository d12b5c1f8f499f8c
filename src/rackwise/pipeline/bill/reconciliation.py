"""Compares replicated bytes between brokers by flow logs with the same bytes by the meter.

Two independent sources that agree are the best proof of both. They may cover different parts of a
day, so bytes per second are compared, each over its own time:

```
brokers 1 -> 2, 2026-11-01    flow logs 00:00 to 24:00   864 GB   10.0 MB/s
                              meter     08:00 to 20:00   413 GB    9.6 MB/s     ratio 1.05
```

Flow logs count TCP and IP headers and the requests of followers as well, so a ratio somewhat above
1 is normal; `is_off` marks a difference of more than 10 %. Traffic that changes with the hour
differs, too, if the two sources cover different hours.

What this does not do: compare rows that have a topic (they come from Kafka, not from the network).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.columns.clock import DAY_S, day_at
from rackwise.pipeline.schemas import REPLICATE, SOURCES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet

TOLERANCE_PERCENT = 10
SHOWN = 50
"""Maximum rows in the summary."""
FLOW_LOG = SOURCES.index("flow log")


def reconcile(
    rows: DataFrame, metered: DataFrame, fleet: Fleet, *, period: tuple[datetime, datetime]
) -> list[dict[str, Any]]:
    """Rows of RECONCILIATION, on the days that both sources have, by cluster, day and brokers.

    `rows`: the result of `traffic` for the flow logs; `metered`: FLOW_FACT of the meter; `period`:
    the time that the flow logs cover. A Spark action.
    """
    width = len(fleet.names.brokers) + 1
    logged = rows.where(
        (F.col("source") == FLOW_LOG) & (F.col("kind") == REPLICATE) & (F.col("via") != 0)
    ).select(
        *("cluster", "day"),
        F.call_function("div", F.col("via"), F.lit(width)).cast("int").alias("broker"),
        (F.col("via") % width).cast("int").alias("peer"),
        F.col("bytes").alias("flow_bytes"),
    )
    copied = metered.where(
        (F.col("kind") == REPLICATE) & (F.col("broker") != 0) & (F.col("peer") != 0)
    )
    key = ("cluster", "day", "broker", "peer")
    both = logged.groupBy(*key).agg(F.sum("flow_bytes").alias("flow_bytes"))
    both = both.join(copied.groupBy(*key).agg(F.sum("bytes").alias("bytes")), list(key), "full")
    windows = metered.select("cluster", "day", "window_start", "window_s").distinct()
    times = windows.groupBy("cluster", "day").agg(F.sum("window_s").alias("seconds"))
    logged_days = logged.select("cluster", "day").distinct()
    found = (
        both.join(F.broadcast(times), ["cluster", "day"])
        .join(F.broadcast(logged_days), ["cluster", "day"])
        .orderBy(*key)
        .collect()
    )
    return [_row(row, fleet, flow_seconds=seconds_of_day(row.day, period)) for row in found]


def seconds_of_day(day: int, period: tuple[datetime, datetime]) -> int:
    """The seconds of a day that a period covers, at least 1."""
    start = datetime.fromtimestamp(day * DAY_S, UTC)
    end = datetime.fromtimestamp((day + 1) * DAY_S, UTC)
    return max(1, int((min(end, period[1]) - max(start, period[0])).total_seconds()))


def _row(row: Any, fleet: Fleet, *, flow_seconds: int) -> dict[str, Any]:  # noqa: ANN401 (a row of Spark)
    by_flows = (row.flow_bytes or 0) / flow_seconds
    by_meter = (row.bytes or 0) / row.seconds
    return {
        "cluster": fleet.names.clusters[row.cluster - 1],
        "day": day_at(row.day),
        "from_broker": fleet.names.brokers[row.broker - 1][1],
        "to_broker": fleet.names.brokers[row.peer - 1][1],
        "flow_bytes_per_s": round(by_flows),
        "meter_bytes_per_s": round(by_meter),
        "ratio": by_flows / by_meter if by_meter else None,
        "is_off": abs(by_flows - by_meter) * 100 > TOLERANCE_PERCENT * by_meter,
    }


def reconciliation_part(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The comparison in the summary: sums, and pairs of brokers; None without rows.

    The pairs with the greatest difference are first.
    """
    if not rows:
        return None
    by_flows = sum(row["flow_bytes_per_s"] for row in rows)
    by_meter = sum(row["meter_bytes_per_s"] for row in rows)
    by_difference = sorted(
        rows, key=lambda row: -abs(row["flow_bytes_per_s"] - row["meter_bytes_per_s"])
    )
    return {
        "pairs": len(rows),
        "pairs_off": sum(row["is_off"] for row in rows),
        "flow_bytes_per_s": by_flows,
        "meter_bytes_per_s": by_meter,
        "ratio": by_flows / by_meter if by_meter else None,
        "rows": [{**row, "day": row["day"].isoformat()} for row in by_difference[:SHOWN]],
    }
