"""Computes the bill from facts. Each step is checked against the previous step.

```
facts, meter, rates -> traffic          one pass over the facts; the small result stays in memory
traffic      -> billed, the rest        precedence of sources; the rest gives the weights
billed       -> apportioned             only if bytes have no topic
apportioned  -> cross_rack              names, levels, dollars; checked per cluster, day and kind
cross_rack   -> by_topic .. by_kind, matrix, standings
```

What this does not do: write CSV files or the summary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.history import covered_time
from rackwise.core.traffic import PRECEDENCE, Rates
from rackwise.pipeline import schemas
from rackwise.pipeline.bill.cost import matrix, price_traffic, roll_up
from rackwise.pipeline.bill.model import ROLL_UPS, Bill, Standing
from rackwise.pipeline.bill.rates import model_traffic
from rackwise.pipeline.bill.standing import price_rows
from rackwise.pipeline.bill.traffic import apportion, merge_sources, traffic, with_precedence
from rackwise.pipeline.bill.weights import weights
from rackwise.pipeline.columns.clock import day_at
from rackwise.pipeline.ingest.files import escape_glob
from rackwise.pipeline.ingest.row_outcomes import check_bytes
from rackwise.pipeline.ingest.tables import write_arrow, write_rows, write_table
from rackwise.pipeline.schemas import FETCH, KINDS, SOURCES, UNKNOWN_GROUP, UNKNOWN_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType

    from rackwise.core.history import StandingDay
    from rackwise.core.owners import Owners
    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf
    from rackwise.pipeline.ingest.silver import Silver

SCHEMAS = {
    "by_topic": schemas.BY_TOPIC,
    "by_group": schemas.BY_GROUP,
    "by_owner": schemas.BY_OWNER,
    "by_pair": schemas.BY_PAIR,
    "by_level": schemas.BY_LEVEL,
    "by_day": schemas.BY_DAY,
    "by_kind": schemas.BY_KIND,
}

STANDING = (
    *("cluster", "day", "kind", "quality", "level", "price_row"),
    *("is_topic_known", "is_group_known"),
)
"""The columns that identify a `Standing`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSum:
    """Bytes of one source for one cluster, day and kind."""

    cluster: int
    """Cluster code."""
    day: int
    """Days since 1970-01-01."""
    kind: int
    """Index into `schemas.KINDS`."""
    source: int
    """Index into `schemas.SOURCES`."""
    bytes: int
    unnamed: int
    """The part of `bytes` without a topic."""

    @property
    def key(self) -> tuple[int, int, int, int]:
        """The key of the sum: cluster, day, kind, source."""
        return self.cluster, self.day, self.kind, self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The traffic of all sources, and the sums that are billed."""

    rows: DataFrame
    """The result of `traffic.traffic`."""
    cached: tuple[DataFrame, ...]
    """The frames in memory behind the rows; the caller releases them."""
    sums: tuple[SourceSum, ...]
    """The sums of the rows of each source."""
    billed: tuple[SourceSum, ...]
    """The sums of the most trusted sources."""
    since: datetime
    """Start of the time that the traffic covers."""
    until: datetime
    """End of the time that the traffic covers."""
    metered: DataFrame | None
    """FLOW_FACT of the meter."""
    modelled: DataFrame | None
    """FLOW_FACT of rates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metered:
    """The facts of the meter."""

    facts: DataFrame
    """FLOW_FACT, in memory."""
    period: tuple[datetime, datetime]
    """Start and end of the time between the first and the last snapshot of all pairs."""


def traffic_of(
    spark: SparkSession,
    fleet: Fleet,
    silver: Silver | None,
    rates: Rates,
    days: Callable[[Sequence[date]], Sequence[date]],
    *,
    rack_of: RackOf,
    metered: Metered | None = None,
) -> Traffic | None:
    """The traffic of flow logs, the meter and rates; None if there is none of them.

    `days`: days of the flows -> days for which rates are modelled; `rack_of`: the rack of a member
    of a group. Raises `BytesLost` if the traffic does not contain all bytes of the facts.
    """
    rows: list[DataFrame] = []
    modelled_facts: DataFrame | None = None
    sums: list[SourceSum] = []
    spans = [silver.period] if silver and silver.period else []
    if silver is not None:
        rows.append(traffic(silver.sums, fleet).cache())
        sums += _sum_by_source(rows[-1])
        check_bytes("traffic", {"flow_sum": silver.outcomes.bytes_kept}, {"flow_sum": _bytes(sums)})
    if metered is not None:
        rows.append(traffic(metered.facts, fleet).cache())
        added = _sum_by_source(rows[-1])
        sums = _merge_sources([*sums, *added])
        if {one.key for one in added} & {one.key for one in most_trusted(sums)}:
            spans.append(metered.period)
    if rates.ins or rates.outs:
        modelled = days(sorted({day_at(one.day) for one in sums}))
        modelled_facts = model_traffic(spark, fleet, rates, modelled, rack_of)
        rows.append(traffic(modelled_facts, fleet).cache())
        added = _sum_by_source(rows[-1])
        sums = _merge_sources([*sums, *added])
        if {one.key for one in added} & {one.key for one in most_trusted(sums)}:
            spans.append((_midnight(min(modelled)), _midnight(max(modelled) + timedelta(days=1))))
    if not sums:
        return None
    return Traffic(
        rows=reduce(lambda one, other: one.unionByName(other), rows),
        cached=tuple(rows),
        sums=tuple(sums),
        billed=most_trusted(sums),
        since=min(span[0] for span in spans),
        until=max(span[1] for span in spans),
        metered=metered.facts if metered else None,
        modelled=modelled_facts,
    )


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _bytes(sums: Sequence[SourceSum]) -> int:
    return sum(one.bytes for one in sums)


def _sum_by_source(rows: DataFrame) -> list[SourceSum]:
    """The sums of the traffic by source. This Spark action computes the traffic."""
    found = (
        rows.groupBy("cluster", "day", "kind", "source")
        .agg(
            F.sum("bytes").alias("bytes"),
            F.sum(F.when(F.col("topic") == 0, F.col("bytes"))).alias("unnamed"),
        )
        .collect()
    )
    sums = (
        SourceSum(
            cluster=row.cluster,
            day=row.day,
            kind=row.kind,
            source=row.source,
            bytes=row.bytes,
            unnamed=row.unnamed or 0,
        )
        for row in found
    )
    return sorted(sums, key=lambda one: one.key)


def _merge_sources(sums: Sequence[SourceSum]) -> list[SourceSum]:
    """One sum per source. Flows can also have the source `rates`, so equal sources are added."""
    merged: dict[tuple[int, int, int, int], SourceSum] = {}
    for one in sums:
        before = merged.get(one.key, replace(one, bytes=0, unnamed=0))
        merged[one.key] = replace(
            one, bytes=before.bytes + one.bytes, unnamed=before.unnamed + one.unnamed
        )
    return list(merged.values())


def most_trusted(sums: Sequence[SourceSum]) -> tuple[SourceSum, ...]:
    """The most trusted source of each cluster, day and kind. Only this source is billed."""
    by_place: defaultdict[tuple[int, int, int], list[SourceSum]] = defaultdict(list)
    for one in sums:
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
    owners: Owners,
    folder: str,
) -> DataFrame:
    """CROSS_RACK, written below `folder` and read back. Raises `InvalidPrices`."""
    has_others = len(found.billed) != len(found.sums)
    ranked = with_precedence(found.rows) if has_others else found.rows
    billed = ranked.where("is_billed").drop("is_billed") if has_others else ranked
    shares: DataFrame | None = None
    if any(one.unnamed for one in found.billed):
        others = ranked.where("not is_billed") if has_others else None
        shares = weights(
            spark, fleet, rates, seen=others, metered=found.metered, modelled=found.modelled
        ).cache()
        rows = apportion(billed, shares, len(fleet.names.brokers))
    else:
        rows = merge_sources(billed)
    days = sorted({day_at(one.day) for one in found.billed})
    gold = price_traffic(rows, fleet, prices=prices, levels=levels, days=days, owners=owners)
    path = f"{folder}/cross_rack"
    write_table(gold, path, schemas.CROSS_RACK, by=["day"])
    if shares is not None:
        shares.unpersist()
    stored = spark.read.schema(schemas.CROSS_RACK).parquet(escape_glob(path))
    return stored.select(*schemas.CROSS_RACK.fieldNames()).cache()


def check_conserved(
    standings: Sequence[Standing], fleet: Fleet, billed: Sequence[SourceSum]
) -> None:
    """Check the sums of CROSS_RACK against the traffic of the same run.

    Raises `BytesLost` if the bytes of a cluster, day and kind differ.
    """
    had = Counter[str]()
    for one in standings:
        had[f"{one.kind} of {one.cluster} on {one.day}"] += one.bytes
    wanted = {}
    for sums in billed:
        cluster, day, kind, _ = source_names(fleet, sums)
        wanted[f"{kind} of {cluster} on {day}"] = sums.bytes
    check_bytes("cross_rack", wanted, had)


def source_names(fleet: Fleet, one: SourceSum) -> tuple[str, date, str, str]:
    """Cluster, day, kind and source of a sum, by name."""
    return (
        fleet.names.clusters[one.cluster - 1],
        day_at(one.day),
        KINDS[one.kind],
        SOURCES[one.source],
    )


def bill(
    spark: SparkSession,
    whole: DataFrame,
    *,
    standings: Sequence[Standing],
    days: Sequence[StandingDay],
    precedence: Sequence[tuple[str, date, str, str]],
    prices: Sequence[Price],
    levels: Sequence[str],
    folder: str,
) -> Bill:
    """Writes the roll-ups of CROSS_RACK below `folder`; returns the values for the summary.

    `whole`: the rows of all days of the result; `standings`: their sums; `days`: these days;
    `precedence`: of this run.
    """
    table = roll_up(whole, ROLL_UPS).toArrow()
    roll_ups = {
        name: _write_rows(
            spark,
            table.filter(pc.equal(table["roll_up"], name)),
            SCHEMAS[name],
            f"{folder}/{name}",
        )
        for name in ROLL_UPS
    }
    pairs = matrix(whole, levels).toArrow()
    used = {one.price_row for one in standings}
    write_rows(
        spark,
        price_rows(price for price in prices if price.row in used),
        f"{folder}/price",
        schemas.PRICE,
    )
    covered = covered_time(days)
    if covered is None:
        raise ValueError("a bill without days")
    return Bill(
        standings=standings,
        roll_ups=roll_ups,
        matrix=_write_rows(spark, pairs, schemas.MATRIX, f"{folder}/matrix"),
        precedence=precedence,
        period=covered[:2],
        seconds=covered[2],
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


def sum_standings(gold: DataFrame) -> list[Standing]:
    """The bytes and dollars of rows of CROSS_RACK. A Spark action."""
    rows = (
        gold.withColumns(
            {
                "is_topic_known": F.col("topic") != UNKNOWN_TOPIC,
                "is_group_known": (F.col("kind") != KINDS[FETCH])
                | (F.col("client_group") != UNKNOWN_GROUP),
            }
        )
        .groupBy(*STANDING)
        .agg(
            F.sum("bytes").alias("bytes"),
            F.sum("usd").cast(schemas.USD).alias("usd"),
            F.sum("usd_high").cast(schemas.USD).alias("usd_high"),
        )
        .collect()
    )

    def place(row: Row) -> list[tuple[bool, Any]]:
        return [(row[name] is not None, row[name]) for name in STANDING]  # None comes first

    # Sorted here, because a sort by Spark takes further jobs, for a few rows.
    return [Standing(**row.asDict()) for row in sorted(rows, key=place)]
