"""The traffic that a bill is compared with, and the comparison as rows and a part of the summary.

Tasks sum the rows of CROSS_RACK of all days of the result by cluster, day and pair of racks. Which
pair of racks crosses zones of which region is decided by `core.billed.zones`, so the rule exists
once:

```
CROSS_RACK   from_rack   to_rack      pairs      region       crossing
             use1-az1    use1-az2     ->         us-east-1    yes
             use1-az1    (unknown)    ->         us-east-1    maybe
```

What this does not do: decide whether a day can be compared (`core.billed.comparison`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from rackwise.core.billed.comparison import BilledComparison, KafkaBytes, compare
from rackwise.core.billed.zones import Crossing, crossing, zones_of_racks
from rackwise.core.traffic import exact_usd_text, nano_of, usd_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date
    from typing import TypeAlias

    import pyarrow as pa

    from rackwise.core.history import StandingDay
    from rackwise.core.traffic import Price
    from rackwise.pipeline.bill.billed.cost_report import CostReport
    from rackwise.pipeline.fleet.fleet import Fleet

    _Place: TypeAlias = tuple[str, date, str | None, str, bool]
    """Cluster, day, region, crossing, and whether the price is one of AWS."""

PROVIDER: Final = "aws"
MODELS: Final = frozenset({"rates", "model"})
"""Sources that observe no traffic."""
SHOWN: Final = 50
"""Maximum rows in the summary."""
ENDS: Final = ("from_rack", "to_rack")


def compared(
    sums: Sequence[pa.Table],
    report: CostReport,
    fleet: Fleet,
    *,
    days: Sequence[StandingDay],
    prices: Iterable[Price],
    precedence: Iterable[tuple[str, date, str, str]],
    levels: Sequence[str],
    region: str | None,
) -> BilledComparison:
    """The comparison of a bill with the traffic of all days of the result.

    `sums`: the `roll_ups.compared_sums` of all clusters; `precedence`: the billed sources of this
    run; `region`: that of racks that do not name one.
    """
    brokers = [
        (one.name, broker.rack.text)
        for one in fleet.latest
        for broker in one.cluster.brokers
        if broker.rack is not None
    ]
    racks = {rack for part in sums for end in ENDS for rack in part[end].unique().to_pylist()}
    racks |= {rack for _, rack in brokers}
    zones = zones_of_racks(racks, levels, region)
    return compare(
        report.lines,
        _kafka([row for part in sums for row in part.to_pylist()], zones, prices),
        days,
        located={(zones[rack].region, cluster) for cluster, rack in brokers if rack in zones},
        modelled=frozenset(
            (cluster, day) for cluster, day, _, source in precedence if source in MODELS
        ),
    )


def _kafka(
    rows: Iterable[Mapping[str, Any]], zones: Mapping[str, Any], prices: Iterable[Price]
) -> list[KafkaBytes]:
    others = {price.row for price in prices if price.provider != PROVIDER}
    bytes_: Counter[_Place] = Counter()
    dollars: defaultdict[_Place, list[Decimal]] = defaultdict(list)
    unpriced: Counter[_Place] = Counter()
    for row in rows:
        region, crosses = crossing(row["from_rack"], row["to_rack"], zones)
        is_aws = row["price_row"] not in others
        place = (row["cluster"], row["day"], region, crosses.value, is_aws)
        bytes_[place] += row["bytes"]
        unpriced[place] += row["unpriced"]
        dollars[place] += [row["usd"]] if row["usd"] is not None else []

    def order(place: _Place) -> list[tuple[bool, Any]]:
        return [(value is not None, value) for value in place]  # None comes first

    return [
        KafkaBytes(
            cluster=place[0],
            day=place[1],
            region=place[2],
            crossing=Crossing(place[3]),
            is_aws=place[4],
            bytes=bytes_[place],
            usd_nano=None
            if unpriced[place] or not dollars[place]
            else nano_of(sum(dollars[place], Decimal(0))),
        )
        for place in sorted(bytes_, key=order)
    ]


def billed_rows(found: BilledComparison) -> list[dict[str, Any]]:
    """Rows of BILLED."""
    return [
        {
            "day": each.day,
            "region": each.region,
            "billed_bytes": each.billed_bytes,
            "billed_usd": usd_of(each.billed_usd_nano),
            "kafka_bytes": each.kafka_bytes,
            "kafka_bytes_high": each.kafka_bytes_high,
            "kafka_usd": usd_of(each.kafka_usd_nano),
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


def _text(nano: int | None) -> str | None:
    return None if nano is None else exact_usd_text(nano)
