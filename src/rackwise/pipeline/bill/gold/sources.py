"""The traffic of flow logs, the meter and rates, and which of them is billed.

Of a cluster, day and kind, only the most trusted source is billed. The sums of each source are
known from one pass over the facts, before any row is billed:

```
cluster  day    kind   source     bytes
prod     1 Nov  fetch  flow log   700    billed
prod     1 Nov  fetch  meter      640
test     1 Nov  fetch  meter      120    billed
```

What this does not do: bill rows (`cross_rack`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rackwise.pipeline.bill.first_look import by_source, look_at_flows, look_at_meter, looked
from rackwise.pipeline.bill.rates import model_traffic
from rackwise.pipeline.bill.traffic import SOURCE_OF, are_most_trusted
from rackwise.pipeline.columns.clock import day_at
from rackwise.pipeline.columns.groups import Groups
from rackwise.pipeline.columns.packed_tables import PACKED
from rackwise.pipeline.ingest.row_outcomes import check_bytes
from rackwise.pipeline.schemas import KINDS, SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rackwise.core.traffic import Rates
    from rackwise.pipeline.bill.gold.metered import Metered
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf
    from rackwise.pipeline.ingest.silver import Silver
    from rackwise.pipeline.runtime.engine import Engine, Rows


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


def source_names(fleet: Fleet, one: SourceSum) -> tuple[str, date, str, str]:
    """Cluster, day, kind and source of a sum, by name."""
    return (
        fleet.names.clusters[one.cluster - 1],
        day_at(one.day),
        KINDS[one.kind],
        SOURCES[one.source],
    )
