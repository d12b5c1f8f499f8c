"""Computes the bill from facts. Each step is checked against the previous step.

```
facts, rates -> traffic                 one pass over the facts; the small result stays in memory
traffic      -> money, the rest         precedence of sources; the rest gives the weights
money        -> apportioned             only if bytes have no topic
apportioned  -> cross_rack              names, levels, dollars; checked per cluster, day and kind
cross_rack   -> by_topic .. by_kind, matrix, standings
```

What this does not do: write CSV files or the summary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.traffic import PRECEDENCE, Rates
from rackwise.pipeline import schemas
from rackwise.pipeline.bill.cost import matrix, price_traffic, roll_up
from rackwise.pipeline.bill.model import ROLL_UPS, Bill, Standing
from rackwise.pipeline.bill.rates import EPOCH, model_traffic
from rackwise.pipeline.bill.traffic import apportion, merge_sources, traffic, with_precedence
from rackwise.pipeline.bill.weights import weights
from rackwise.pipeline.ingest.files import escape_glob
from rackwise.pipeline.ingest.row_outcomes import check_bytes
from rackwise.pipeline.ingest.tables import write_arrow, write_table
from rackwise.pipeline.schemas import KINDS, SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf
    from rackwise.pipeline.ingest.silver import Silver

SCHEMAS = {
    "by_topic": schemas.BY_TOPIC,
    "by_group": schemas.BY_GROUP,
    "by_pair": schemas.BY_PAIR,
    "by_level": schemas.BY_LEVEL,
    "by_day": schemas.BY_DAY,
    "by_kind": schemas.BY_KIND,
}

STANDING = ("cluster", "day", "kind", "quality", "level", "price_row")
"""The columns that identify a `Standing`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSum:
    """Bytes of one source per cluster, day and kind, as codes; `unnamed`: bytes without topic."""

    cluster: int
    day: int
    kind: int
    source: int
    bytes: int
    unnamed: int

    @property
    def source_of(self) -> tuple[int, int, int, int]:
        """The key of the sum: cluster, day, kind, source."""
        return self.cluster, self.day, self.kind, self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """`rows`: the result of `traffic.traffic`; `cached`: the frames in memory behind the rows.

    `seen`: the sums of the rows; `money`: the sums that count for the bill; `since`, `until`: the
    time that the traffic covers.
    """

    rows: DataFrame
    cached: tuple[DataFrame, ...]
    seen: tuple[SourceSum, ...]
    money: tuple[SourceSum, ...]
    since: datetime
    until: datetime


def traffic_of(
    spark: SparkSession,
    fleet: Fleet,
    silver: Silver | None,
    rates: Rates,
    days: Callable[[Sequence[date]], Sequence[date]],
    *,
    rack_of: RackOf,
) -> Traffic | None:
    """The traffic of flow logs and rates; None if there is neither.

    `days`: days of the flows -> days for which rates are modelled; `rack_of`: the rack of a member
    of a group. Raises `BytesLost` if the traffic does not contain all bytes of the facts.
    """
    rows: list[DataFrame] = []
    seen: list[SourceSum] = []
    spans = [silver.seen] if silver and silver.seen else []
    if silver is not None:
        rows.append(traffic(silver.facts, fleet).cache())
        seen += _sum_by_source(rows[-1])
        check_bytes(
            "traffic", {"flow_fact": silver.outcomes.bytes_kept}, {"flow_fact": _bytes(seen)}
        )
    if rates.ins or rates.outs:
        asked = days(sorted({EPOCH + timedelta(days=one.day) for one in seen}))
        rows.append(traffic(model_traffic(spark, fleet, rates, asked, rack_of), fleet).cache())
        added = _sum_by_source(rows[-1])
        seen = _merge_sources([*seen, *added])
        if {one.source_of for one in added} & {one.source_of for one in most_trusted(seen)}:
            spans.append((_midnight(min(asked)), _midnight(max(asked) + timedelta(days=1))))
    if not seen:
        return None
    whole = rows[0] if len(rows) == 1 else rows[0].unionByName(rows[1])
    return Traffic(
        rows=whole,
        cached=tuple(rows),
        seen=tuple(seen),
        money=most_trusted(seen),
        since=min(span[0] for span in spans),
        until=max(span[1] for span in spans),
    )


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _bytes(seen: Sequence[SourceSum]) -> int:
    return sum(one.bytes for one in seen)


def _sum_by_source(rows: DataFrame) -> list[SourceSum]:
    """The sums of the traffic by source. This Spark action computes the traffic."""
    found = (
        rows.groupBy("cluster", "day", "kind", "source")
        .agg(
            F.sum("bytes").alias("bytes"),
            F.sum(F.when(F.col("topic") == 0, F.col("bytes"))).alias("unnamed"),
        )
        .orderBy("cluster", "day", "kind", "source")
        .collect()
    )
    return [
        SourceSum(
            cluster=row.cluster,
            day=row.day,
            kind=row.kind,
            source=row.source,
            bytes=row.bytes,
            unnamed=row.unnamed or 0,
        )
        for row in found
    ]


def _merge_sources(seen: Sequence[SourceSum]) -> list[SourceSum]:
    """One sum per source. Flows can also have the source `rates`, so equal sources are added."""
    sums: dict[tuple[int, int, int, int], SourceSum] = {}
    for one in seen:
        had = sums.get(one.source_of, replace(one, bytes=0, unnamed=0))
        sums[one.source_of] = replace(
            one, bytes=had.bytes + one.bytes, unnamed=had.unnamed + one.unnamed
        )
    return list(sums.values())


def most_trusted(seen: Sequence[SourceSum]) -> tuple[SourceSum, ...]:
    """The most trusted source of each cluster, day and kind. Only this source is billed."""
    by_place: defaultdict[tuple[int, int, int], list[SourceSum]] = defaultdict(list)
    for one in seen:
        by_place[one.cluster, one.day, one.kind].append(one)
    return tuple(
        min(sources, key=lambda one: PRECEDENCE.index(SOURCES[one.source]))
        for _, sources in sorted(by_place.items())
    )


def cross_rack(
    spark: SparkSession,
    fleet: Fleet,
    found: Traffic,
    *,
    rates: Rates,
    prices: Sequence[Price],
    levels: Sequence[str],
    folder: str,
) -> DataFrame:
    """CROSS_RACK, written below `folder` and read back. Raises `InvalidPrices`."""
    has_others = len(found.money) != len(found.seen)
    ranked = with_precedence(found.rows) if has_others else found.rows
    money = ranked.where("is_money").drop("is_money") if has_others else ranked
    if any(one.unnamed for one in found.money):
        others = ranked.where("not is_money") if has_others else None
        rows = apportion(money, weights(spark, fleet, rates, others))
    else:
        rows = merge_sources(money)
    days = sorted({EPOCH + timedelta(days=one.day) for one in found.money})
    gold = price_traffic(rows, fleet, prices=prices, levels=levels, days=days)
    path = f"{folder}/cross_rack"
    write_table(gold, path, schemas.CROSS_RACK)
    return spark.read.schema(schemas.CROSS_RACK).parquet(escape_glob(path)).cache()


def _check_conserved(
    standings: Sequence[Standing], fleet: Fleet, money: Sequence[SourceSum]
) -> None:
    had = Counter[str]()
    for one in standings:
        had[f"{one.kind} of {one.cluster} on {one.day}"] += one.bytes
    wanted = {}
    for seen in money:
        cluster, day, kind, _ = _names_of(fleet, seen)
        wanted[f"{kind} of {cluster} on {day}"] = seen.bytes
    check_bytes("cross_rack", wanted, had)


def _names_of(fleet: Fleet, one: SourceSum) -> tuple[str, date, str, str]:
    return (
        fleet.names.clusters[one.cluster - 1],
        EPOCH + timedelta(days=one.day),
        KINDS[one.kind],
        SOURCES[one.source],
    )


def bill(
    spark: SparkSession,
    fleet: Fleet,
    found: Traffic,
    gold: DataFrame,
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    folder: str,
) -> Bill:
    """Writes the roll-ups of CROSS_RACK below `folder`; returns the values for the summary.

    Raises `BytesLost` if the bytes of a cluster, day and kind differ from the traffic.
    """
    standings = _sum_standings(gold)
    _check_conserved(standings, fleet, found.money)
    table = roll_up(gold, ROLL_UPS).toArrow()
    roll_ups = {
        name: _write_rows(
            spark,
            table.filter(pc.equal(table["roll_up"], name)),
            SCHEMAS[name],
            f"{folder}/{name}",
        )
        for name in ROLL_UPS
    }
    pairs = matrix(gold, levels).toArrow()
    return Bill(
        standings=standings,
        roll_ups=roll_ups,
        matrix=_write_rows(spark, pairs, schemas.MATRIX, f"{folder}/matrix"),
        precedence=[_names_of(fleet, one) for one in found.money],
        seen=(found.since, found.until),
        prices=prices,
    )


def _write_rows(
    spark: SparkSession, table: pa.Table, schema: StructType, path: str
) -> Sequence[Mapping[str, Any]]:
    """Writes the columns of `schema` of a small table and returns its rows."""
    kept = table.select(schema.fieldNames())
    write_arrow(spark, kept, path, schema)
    rows: list[dict[str, Any]] = kept.to_pylist()
    return rows


def _sum_standings(gold: DataFrame) -> list[Standing]:
    rows = (
        gold.groupBy(*STANDING)
        .agg(F.sum("bytes").alias("bytes"), F.sum("usd").cast(schemas.USD).alias("usd"))
        .orderBy(*STANDING)
        .collect()
    )
    return [Standing(**row.asDict()) for row in rows]
