"""Computes the bill from facts. Each step is checked against the previous step.

Everything but the shares of the run is about one cluster, so a task bills whole clusters, one after
another, with Arrow tables and numpy. Spark moves the rows of a cluster to one task:

```
facts, meter, rates -> first look       days and sources                      a pass over the facts
             traffic, weights           sums by cluster, in the tasks that read
by cluster   traffic -> billed, rest    precedence of sources; the rest gives the weights
             billed -> cross_rack       topics, names, levels, dollars        written by day
by cluster   cross_rack -> results      standings, by_topic .. by_kind, matrix, charges, savings
driver       results -> bill            checked, joined, ordered, with shares
```

A task has the rows of one cluster in memory.

What this does not do: write CSV files or the summary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rackwise.core.history import covered_time
from rackwise.pipeline import schemas
from rackwise.pipeline.bill.cost import price_traffic
from rackwise.pipeline.bill.first_look import by_source, look_at_flows, look_at_meter, looked
from rackwise.pipeline.bill.focus import charges
from rackwise.pipeline.bill.model import ROLL_UPS, Bill, Standing
from rackwise.pipeline.bill.rates import model_traffic
from rackwise.pipeline.bill.roll_ups import (
    MATRIX_KEYS,
    STANDING,
    compared_sums,
    matrix,
    ordered,
    roll_up,
    standings,
)
from rackwise.pipeline.bill.savings import FLOW, savings_table
from rackwise.pipeline.bill.standing import price_rows
from rackwise.pipeline.bill.traffic import (
    ROW,
    SOURCE_OF,
    TRAFFIC,
    apportion,
    are_most_trusted,
    columns_of,
    merge_sources,
    traffic,
    traffic_task,
    with_precedence,
)
from rackwise.pipeline.bill.weights import (
    fleet_weights,
    merged,
    metered_task,
    modelled_weights,
    seen_weights,
)
from rackwise.pipeline.columns.clock import day_at
from rackwise.pipeline.columns.groups import Groups, summed, summed_longs
from rackwise.pipeline.columns.packed_tables import PACKED, packed_tables, unpacked_tables
from rackwise.pipeline.columns.table_rows import TableRows
from rackwise.pipeline.fleet.layouts import LAYOUT
from rackwise.pipeline.ingest.row_outcomes import check_bytes
from rackwise.pipeline.schemas import CROSS_RACK, KINDS, SOURCES, WEIGHT, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql.types import StructType

    from rackwise.core.history import StandingDay
    from rackwise.core.traffic import Price, Rates
    from rackwise.pipeline.bill.coded_fleet import CodedFleet
    from rackwise.pipeline.bill.cost import Pricing
    from rackwise.pipeline.bill.meter import MeterNames
    from rackwise.pipeline.bill.savings import SavingOptions
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf
    from rackwise.pipeline.ingest.silver import Silver
    from rackwise.pipeline.runtime.engine import Engine, Rows

SCHEMAS = {
    "by_topic": schemas.BY_TOPIC,
    "by_group": schemas.BY_GROUP,
    "by_owner": schemas.BY_OWNER,
    "by_pair": schemas.BY_PAIR,
    "by_level": schemas.BY_LEVEL,
    "by_day": schemas.BY_DAY,
    "by_kind": schemas.BY_KIND,
}
MOST_TASKS = 256
"""Maximum number of partitions by cluster; each task has several clusters of a larger fleet."""
PLACE = ("cluster", "day", "kind")
"""The columns by which bytes of CROSS_RACK are checked."""


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
class Metered:
    """What the meter found."""

    flows: Rows
    """The result of `meter_flows`, stored."""
    codes: MeterNames
    period: tuple[datetime, datetime]
    """Start and end of the time between the first and the last snapshot of all pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The traffic of all sources, and the sums that are billed."""

    logged: Rows
    """FLOW_SUM of flow files; None without."""
    metered: Metered | None
    modelled: pa.Table | None
    """FACT of rates."""
    sums: tuple[SourceSum, ...]
    """The sums of the rows of each source."""
    billed: tuple[SourceSum, ...]
    """The sums of the most trusted sources."""
    seen_by_meter: frozenset[int]
    """The codes of the clusters with facts of the meter."""
    since: datetime
    """Start of the time that the traffic covers."""
    until: datetime
    """End of the time that the traffic covers."""

    @property
    def days(self) -> list[date]:
        """The days of the traffic."""
        return sorted({day_at(one.day) for one in self.billed})


def first_look(
    engine: Engine, silver: Silver | None, metered: Metered | None
) -> dict[str, dict[str, pa.Table]]:
    """`logged` and `metered` -> the tables of `first_look.looked`."""
    looks = {}
    if silver is not None:
        looks["logged"] = engine.map(silver.sums, look_at_flows, PACKED)
    if metered is not None:
        looks["metered"] = engine.map(metered.flows, look_at_meter(metered.codes), PACKED)
    return {name: looked(engine.collect(rows)) for name, rows in looks.items()}


def traffic_of(
    fleet: Fleet,
    silver: Silver | None,
    rates: Rates,
    days: Callable[[Sequence[date]], Sequence[date]],
    *,
    looks: Mapping[str, Mapping[str, pa.Table]],
    rack_of: RackOf,
    metered: Metered | None = None,
) -> Traffic | None:
    """The traffic of flow logs, the meter and rates; None if there is none of them.

    `looks`: the result of `first_look`; `days`: days of the flows -> days for which rates are
    modelled; `rack_of`: the rack of a member of a group. Raises `BytesLost` if the traffic does not
    contain all bytes of the facts.
    """
    modelled: pa.Table | None = None
    sums: list[SourceSum] = []
    spans = [silver.period] if silver and silver.period else []
    seen_by_meter: frozenset[int] = frozenset()
    if silver is not None:
        sums += _source_sums(looks["logged"].get("by_source"))
        check_bytes("traffic", {"flow_sum": silver.outcomes.bytes_kept}, {"flow_sum": _bytes(sums)})
    if metered is not None:
        added = _source_sums(looks["metered"].get("by_source"))
        seen_by_meter = frozenset(one.cluster for one in added)
        sums = _merge_sources([*sums, *added])
        if {one.key for one in added} & {one.key for one in most_trusted(sums)}:
            spans.append(metered.period)
    if rates.ins or rates.outs:
        modelled_days = days(sorted({day_at(one.day) for one in sums}))
        modelled = model_traffic(fleet, rates, modelled_days, rack_of)
        groups = Groups(("cluster", "day", "kind", "source"), ("bytes", "unnamed"))
        groups.add(by_source(modelled))
        batches = groups.take()  # none where all rates are 0
        added = _source_sums(pa.Table.from_batches(batches) if batches else None)
        sums = _merge_sources([*sums, *added])
        if {one.key for one in added} & {one.key for one in most_trusted(sums)}:
            first, last = min(modelled_days), max(modelled_days)
            spans.append((_midnight(first), _midnight(last + timedelta(days=1))))
    if not sums:
        return None
    return Traffic(
        logged=silver.sums if silver else None,
        metered=metered,
        modelled=modelled,
        sums=tuple(sums),
        billed=most_trusted(sums),
        seen_by_meter=seen_by_meter,
        since=min(span[0] for span in spans),
        until=max(span[1] for span in spans),
    )


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _bytes(sums: Sequence[SourceSum]) -> int:
    return sum(one.bytes for one in sums)


def _source_sums(found: pa.Table | None) -> list[SourceSum]:
    rows = found.to_pylist() if found is not None else []
    return sorted((SourceSum(**row) for row in rows), key=lambda one: one.key)


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
    columns = {
        name: np.array([getattr(one, name) for one in sums], dtype=np.int64) for name in SOURCE_OF
    }
    return tuple(sorted(compress(sums, are_most_trusted(columns)), key=lambda one: one.key))


def cross_rack(
    engine: Engine,
    fleet: Fleet,
    found: Traffic,
    pricing: Pricing,
    rates: Rates,
    *,
    folder: str,
) -> Rows:
    """CROSS_RACK, written below `folder` and read back."""
    has_unnamed = any(one.unnamed for one in found.billed)

    def billed(rows: pa.Table, weights: pa.Table) -> pa.Table:
        return bill_cluster(rows, weights if has_unnamed else None, pricing)

    rows = _traffic_rows(engine, found, pricing.fleet)
    if has_unnamed:
        shares = _weight_rows(engine, fleet, found, pricing.fleet, rates)
    else:
        shares = engine.table(arrow_schema(WEIGHT).empty_table(), WEIGHT)
    gold = engine.by_cluster(rows, shares, billed, CROSS_RACK, tasks=_task_count(fleet))
    path = f"{folder}/cross_rack"
    engine.write(gold, path, CROSS_RACK, by=["day"])
    return engine.read_own(path, CROSS_RACK)


def _task_count(fleet: Fleet) -> int:
    return min(len(fleet.latest), MOST_TASKS)


def _traffic_rows(engine: Engine, found: Traffic, fleet: CodedFleet) -> Rows:
    """TRAFFIC of all sources, added up by task."""
    rows = []
    if found.logged is not None:
        work = traffic_task(fleet, lambda batch: batch)
        rows.append(engine.map(found.logged, work, TRAFFIC))
    if found.metered is not None:
        work = traffic_task(fleet, found.metered.codes.facts)
        rows.append(engine.map(found.metered.flows, work, TRAFFIC))
    if found.modelled is not None:
        rows.append(engine.table(traffic(found.modelled, fleet), TRAFFIC))
    return engine.union(rows)


def _weight_rows(
    engine: Engine, fleet: Fleet, found: Traffic, coded: CodedFleet, rates: Rates
) -> Rows:
    """WEIGHT of snapshots, rates and the meter."""
    known = [fleet_weights(fleet, rates)]
    if found.modelled is not None:
        unseen = {*fleet.codes.clusters.values()} - found.seen_by_meter
        known.append(modelled_weights(found.modelled, unseen))
    rows = [engine.table(pa.concat_tables(known), WEIGHT)]
    if found.metered is not None:
        work = metered_task(coded, found.metered.codes.facts)
        rows.append(engine.map(found.metered.flows, work, WEIGHT))
    return engine.union(rows)


def bill_cluster(rows: pa.Table, weights: pa.Table | None, pricing: Pricing) -> pa.Table:
    """CROSS_RACK of one cluster or of several; `rows`: TRAFFIC of all sources, in any parts.

    `weights`: WEIGHT of snapshots, rates and the meter; None spreads no bytes over topics.
    """
    if not len(rows):
        return arrow_schema(CROSS_RACK).empty_table()
    billed, others = with_precedence(summed_longs(columns_of(rows, (*ROW, "bytes")), ROW))
    if weights is None:
        kept = merge_sources(billed)
    else:
        every = merged(weights, seen_weights(others))
        kept = apportion(billed, every, pricing.fleet.brokers)
    return price_traffic(kept, pricing)


def check_conserved(places: Sequence[pa.Table], fleet: Fleet, billed: Sequence[SourceSum]) -> None:
    """Check the sums of CROSS_RACK against the traffic of the same run.

    `places`: bytes by `PLACE` of all days of the result; days that this run did not compute are
    left out. Raises `BytesLost` if the bytes of a cluster, day and kind differ.
    """
    wanted = {source_names(fleet, one)[:3]: one.bytes for one in billed}
    own = {place[:2] for place in wanted}
    had = {
        (row["cluster"], row["day"], row["kind"]): row["bytes"]
        for part in places
        for row in part.to_pylist()
        if (row["cluster"], row["day"]) in own
    }
    named = [
        {f"{kind} of {cluster} on {day}": bytes_ for (cluster, day, kind), bytes_ in sums.items()}
        for sums in (wanted, had)
    ]
    check_bytes("cross_rack", *named)


def source_names(fleet: Fleet, one: SourceSum) -> tuple[str, date, str, str]:
    """Cluster, day, kind and source of a sum, by name."""
    return (
        fleet.names.clusters[one.cluster - 1],
        day_at(one.day),
        KINDS[one.kind],
        SOURCES[one.source],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """What the results of a cluster depend on besides its rows; sent to tasks."""

    levels: tuple[str, ...]
    """Names of the levels, coarsest first."""
    savings: SavingOptions
    first: date | None = None
    """The first day that is kept; None keeps all."""
    last: date | None = None
    """The day at whose prices savings of all days are computed; None: each day at its own."""
    is_compared: bool = False
    """Whether the traffic is compared with the provider's bill."""


def results(rows: pa.Table, layout: pa.Table, options: ResultOptions) -> dict[str, pa.Table]:
    """Name -> table, of one cluster; `rows`: CROSS_RACK of all days.

    `layout`: the row of the cluster in `layout_table`; no row for a cluster without a snapshot in
    this run, which has no savings. `places` has the bytes of all rows by `PLACE`, `standing` those
    of the kept days by `STANDING`.
    """
    if not len(rows):
        return {}
    first = options.first
    kept = rows if first is None else rows.filter(pc.greater_equal(rows["day"], pa.scalar(first)))
    found = {
        "places": summed(rows, PLACE),
        "standing": standings(kept),
        **{name: roll_up(kept, key) for name, key in ROLL_UPS.items()},
        "matrix": matrix(kept, options.levels),
        "charges": charges(kept, options.levels),
    }
    if options.is_compared:
        found["compared"] = compared_sums(kept)
    if len(layout):
        flows = kept if options.last is None else _of_one_day(rows, options.last)
        found["savings"] = savings_table(flows.select(FLOW), layout, options.savings)
    return found


def _of_one_day(rows: pa.Table, day: date) -> pa.Table:
    """The bytes of all days as those of one day.

    Savings are about what to do next: by the last snapshot and by present prices. Days of earlier
    runs are therefore summed into the last day, which also keeps the rows few.
    """
    found = summed(rows, [name for name in FLOW if name not in {"day", "bytes"}])
    return found.append_column("day", pa.array([day] * len(found), pa.date32()))


def all_results(
    engine: Engine, whole: Rows, layouts: pa.Table, options: ResultOptions
) -> dict[str, list[pa.Table]]:
    """Name -> the `results` of each cluster.

    `whole`: rows of CROSS_RACK of all days; `layouts`: of the clusters of this run.
    """

    def work(rows: pa.Table, layout: pa.Table) -> pa.Table:
        batches = packed_tables(results(rows, layout, options))
        return pa.Table.from_batches(batches, schema=arrow_schema(PACKED))

    own = engine.table(layouts, LAYOUT)
    tasks = min(len(layouts), MOST_TASKS)
    found = engine.by_cluster(whole, own, work, PACKED, tasks=tasks)
    return unpacked_tables(engine.collect(found))


def standing_rows(parts: Sequence[pa.Table]) -> list[Standing]:
    """The bytes and dollars of all days, in the order of `STANDING`."""
    rows = [row for part in parts for row in part.to_pylist()]

    def place(row: Mapping[str, Any]) -> list[tuple[bool, Any]]:
        return [(row[name] is not None, row[name]) for name in STANDING]  # None comes first

    return [Standing(**row) for row in sorted(rows, key=place)]


def bill(
    engine: Engine,
    found: Mapping[str, Sequence[pa.Table]],
    *,
    days: Sequence[StandingDay],
    precedence: Sequence[tuple[str, date, str, str]],
    prices: Sequence[Price],
    folder: str,
) -> Bill:
    """Writes the roll-ups of CROSS_RACK below `folder`; returns the values for the summary.

    `found`: the result of `all_results`; `days`: those of the result; `precedence`: of this run.
    """
    roll_ups = {
        name: _write(engine, _ranked(found, name), SCHEMAS[name], f"{folder}/{name}")
        for name in ROLL_UPS
    }
    pairs = _joined(found.get("matrix", ()), schemas.MATRIX)
    pairs = pairs.sort_by([(name, "ascending") for name in MATRIX_KEYS])
    own_standings = standing_rows(found.get("standing", ()))
    used = {one.price_row for one in own_standings}
    used_prices = price_rows(price for price in prices if price.row in used)
    save_rows(engine, used_prices, f"{folder}/price", schemas.PRICE)
    saved = [row for part in found.get("savings", ()) for row in part.to_pylist()]
    saved.sort(key=lambda row: str(row["cluster"]))
    save_rows(engine, saved, f"{folder}/savings", schemas.SAVINGS)
    covered = covered_time(days)
    if covered is None:
        raise ValueError("a bill without days")
    return Bill(
        standings=own_standings,
        roll_ups=roll_ups,
        matrix=_write(engine, pairs, schemas.MATRIX, f"{folder}/matrix"),
        precedence=precedence,
        period=covered[:2],
        seconds=covered[2],
        prices=prices,
        savings=saved,
    )


def _ranked(found: Mapping[str, Sequence[pa.Table]], name: str) -> pa.Table:
    """The rows of a roll-up in order; none if no cluster has traffic."""
    if parts := found.get(name):
        return ordered(parts, ROLL_UPS[name])
    return arrow_schema(SCHEMAS[name]).empty_table()


def _joined(parts: Sequence[pa.Table], schema: StructType) -> pa.Table:
    empty = arrow_schema(schema).empty_table()
    names = empty.column_names
    return pa.concat_tables([empty, *(part.select(names).cast(empty.schema) for part in parts)])


def save_rows(
    engine: Engine, rows: Iterable[Mapping[str, Any]], path: str, schema: StructType
) -> None:
    """Write rows of the driver as `Engine.save` does."""
    table = pa.Table.from_pylist(list(rows), schema=arrow_schema(schema))
    engine.save(table, path, schema)


def _write(engine: Engine, table: pa.Table, schema: StructType, path: str) -> TableRows:
    """Writes the columns of `schema` of a table and returns its rows."""
    kept = table.select(schema.fieldNames())
    engine.save(kept, path, schema)
    return TableRows(kept)
