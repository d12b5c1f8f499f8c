"""What the driver must know of facts before they can be billed, from one pass of tasks over them.

Days decide which prices are needed, sources decide which of them is billed, and both are few rows.
The same pass adds up what two further tables show: what the meter does not know, and the bytes
between brokers by flow logs and by the meter:

```
facts of flow files  ->  by_source, copied              (flow logs; without topic)
flows of the meter   ->  by_source, copied_by_meter, windows, unmetered
```

What this does not do: choose sources or prices (`gold`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rackwise.pipeline.bill.meter import UNKNOWN, unmetered_sums
from rackwise.pipeline.bill.reconciliation import COPIED, copied_by_flows, copied_by_meter
from rackwise.pipeline.bill.traffic import columns_of
from rackwise.pipeline.columns.groups import Groups
from rackwise.pipeline.columns.packed_tables import packed_tables, unpacked_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rackwise.pipeline.bill.meter import MeterNames

BY_SOURCE = ("cluster", "day", "kind", "source")
WINDOW = ("cluster", "day", "start_s", "window_s")
_TABLES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "by_source": (BY_SOURCE, ("bytes", "unnamed")),
    "copied": (COPIED, ("bytes",)),
    "copied_by_meter": (COPIED, ("bytes",)),
    "windows": (WINDOW, ()),
    "unmetered": (UNKNOWN, ("most", "seconds")),
}
"""Name of a table -> its keys and measures."""


def by_source(facts: pa.Table | pa.RecordBatch) -> pa.Table:
    """The bytes of facts by source, and those without a topic."""
    fact = columns_of(facts, (*BY_SOURCE, "topic", "bytes"))
    unnamed = np.where(fact["topic"] == 0, fact["bytes"], 0)
    names = (*BY_SOURCE, "bytes")
    return pa.table({name: fact[name] for name in names} | {"unnamed": unnamed})


def look_at_flows(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The work of a task: batches of FLOW_SUM in, rows of PACKED out."""
    return _looked(
        lambda batch: {"by_source": by_source(batch), "copied": copied_by_flows(batch)}, batches
    )


def look_at_meter(
    codes: MeterNames,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of a task: batches of `meter_flows` in, rows of PACKED out."""

    def tables(batch: pa.RecordBatch) -> dict[str, pa.Table]:
        facts = codes.facts(batch)
        return {
            "by_source": by_source(facts),
            "copied_by_meter": copied_by_meter(facts),
            "windows": facts.select(WINDOW),
            "unmetered": unmetered_sums(batch),
        }

    return lambda batches: _looked(tables, batches)


def _looked(
    tables: Callable[[pa.RecordBatch], Mapping[str, pa.Table]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    groups = {name: Groups(*columns) for name, columns in _TABLES.items()}
    for batch in batches:
        for name, table in tables(batch).items():
            groups[name].add(table)
            if groups[name].is_full:
                yield from _packed(name, groups[name])
    for name, group in groups.items():
        yield from _packed(name, group)


def _packed(name: str, groups: Groups) -> Iterator[pa.RecordBatch]:
    for batch in groups.take():
        yield from packed_tables({name: pa.Table.from_batches([batch])})


def looked(rows: pa.Table) -> dict[str, pa.Table]:
    """Name of a table -> the sums of all tasks; a table without rows is missing."""
    found = {}
    for name, parts in unpacked_tables(rows).items():
        groups = Groups(*_TABLES[name])
        for part in parts:
            groups.add(part)
        found[name] = pa.Table.from_batches(groups.take())
    return found
