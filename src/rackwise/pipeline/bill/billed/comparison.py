"""The traffic that a bill is compared with, and the comparison as rows and a part of the summary.

Spark sums the rows of CROSS_RACK of all days of the result by cluster, day and region. Which pair
of racks crosses zones of which region is decided by `core.billed.zones` for each distinct pair, so
the rule exists once:

```
CROSS_RACK   from_rack   to_rack      pairs      region       crossing
             use1-az1    use1-az2     ->         us-east-1    yes
             use1-az1    (unknown)    ->         us-east-1    maybe
```

What this does not do: decide whether a day can be compared (`core.billed.comparison`).
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.billed.comparison import BilledComparison, KafkaBytes, compare
from rackwise.core.billed.zones import Crossing, crossing, zones_of_racks
from rackwise.core.traffic import NANO, exact_usd_text
from rackwise.pipeline.schemas import USD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from pyspark.sql import DataFrame

    from rackwise.core.history import StandingDay
    from rackwise.core.traffic import Price
    from rackwise.pipeline.bill.billed.cost_report import CostReport
    from rackwise.pipeline.fleet.fleet import Fleet

PROVIDER: Final = "aws"
MODELS: Final = frozenset({"rates", "model"})
"""Sources that observe no traffic."""
SHOWN: Final = 50
"""Maximum rows in the summary."""
_PAIRS: Final = "from_rack string, to_rack string, region string, crossing string"


def compared(
    whole: DataFrame | None,
    report: CostReport,
    fleet: Fleet,
    *,
    days: Sequence[StandingDay],
    prices: Iterable[Price],
    precedence: Iterable[tuple[str, date, str, str]],
    levels: Sequence[str],
    region: str | None,
) -> BilledComparison:
    """The comparison of a bill with the traffic of all days of the result; a Spark action.

    `whole`: rows of CROSS_RACK of all days, None without traffic; `precedence`: the billed sources
    of this run; `region`: that of racks that do not name one.
    """
    brokers = [
        (one.name, broker.rack.text)
        for one in fleet.latest
        for broker in one.cluster.brokers
        if broker.rack is not None
    ]
    pairs = [] if whole is None else whole.select("from_rack", "to_rack").distinct().collect()
    racks = {rack for pair in pairs for rack in pair} | {rack for _, rack in brokers}
    zones = zones_of_racks(racks, levels, region)
    return compare(
        report.lines,
        [] if whole is None else _kafka(whole, [tuple(pair) for pair in pairs], zones, prices),
        days,
        located={(zones[rack].region, cluster) for cluster, rack in brokers if rack in zones},
        modelled=frozenset(
            (cluster, day) for cluster, day, _, source in precedence if source in MODELS
        ),
    )


def _kafka(
    whole: DataFrame,
    pairs: Sequence[tuple[str, str]],
    zones: Mapping[str, Any],
    prices: Iterable[Price],
) -> list[KafkaBytes]:
    rows = []
    for one, other in pairs:
        region, crosses = crossing(one, other, zones)
        rows.append((one, other, region, crosses.value))
    others = [price.row for price in prices if price.provider != PROVIDER]
    is_aws = F.col("price_row").isNull() | ~F.col("price_row").isin(others)
    has_usd = F.count_if(F.col("usd").isNull() & (F.col("bytes") > 0)) == 0
    found = (
        whole.join(F.broadcast(whole.sparkSession.createDataFrame(rows, _PAIRS)),
                   ["from_rack", "to_rack"])
        .groupBy("cluster", "day", "region", "crossing", is_aws.alias("is_aws"))
        .agg(
            F.sum("bytes").alias("bytes"),
            F.when(has_usd, F.sum("usd")).cast(USD).alias("usd"),
        )
        .orderBy("cluster", "day", "region", "crossing", "is_aws")
        .collect()
    )  # fmt: skip
    return [
        KafkaBytes(
            cluster=row.cluster,
            day=row.day,
            region=row.region,
            crossing=Crossing(row.crossing),
            is_aws=row.is_aws,
            bytes=row.bytes,
            usd_nano=None if row.usd is None else int(row.usd * NANO),
        )
        for row in found
    ]


def billed_rows(found: BilledComparison) -> list[dict[str, Any]]:
    """Rows of BILLED."""
    return [
        {
            "day": each.day,
            "region": each.region,
            "billed_bytes": each.billed_bytes,
            "billed_usd": _decimal(each.billed_usd_nano),
            "kafka_bytes": each.kafka_bytes,
            "kafka_bytes_high": each.kafka_bytes_high,
            "kafka_usd": _decimal(each.kafka_usd_nano),
            "share": each.share,
            "share_high": each.share_high,
            "reason": each.reason,
        }
        for each in found.days
    ]


def billed_part(found: BilledComparison | None, report: CostReport | None) -> dict[str, Any] | None:
    """The comparison in the summary; None without a bill. The last days are first."""
    if found is None or report is None:
        return None
    totals = found.totals
    dates = [line.day for line in report.lines] + [line.last_day for line in report.lines]
    return {
        "files": len(report.files),
        "lines": sum(line.lines for line in report.lines),
        "from": min(dates).isoformat() if dates else None,
        "to": max(dates).isoformat() if dates else None,
        "days": totals.days,
        "billed_bytes": totals.billed_bytes,
        "billed_usd": _text(totals.billed_usd_nano),
        "kafka_bytes": totals.kafka_bytes,
        "kafka_bytes_high": totals.kafka_bytes_high,
        "kafka_usd": _text(totals.kafka_usd_nano),
        "share": totals.share,
        "share_high": totals.share_high,
        "reason": totals.reason,
        "finding": totals.finding,
        "left_out": [
            {"reason": each.reason, "lines": each.lines, "usd": _text(each.usd_nano)}
            for each in found.left_out
        ],
        "count": len(found.days),
        "rows": [
            {
                **row,
                "day": row["day"].isoformat(),
                "billed_usd": _text(each.billed_usd_nano),
                "kafka_usd": _text(each.kafka_usd_nano),
            }
            for each, row in zip(found.days[::-1], billed_rows(found)[::-1], strict=True)
        ][:SHOWN],
    }


def _decimal(nano: int | None) -> Decimal | None:
    return None if nano is None else Decimal(nano).scaleb(-9)


def _text(nano: int | None) -> str | None:
    return None if nano is None else exact_usd_text(nano)
