"""The traffic of the days that earlier runs computed, as rows of CROSS_RACK.

Each run keeps the rows that it billed, partitioned by day, and the prices that it used. A later run
reads the days that it does not replace and adds them to its own rows. It never writes to the tables
of an earlier run, so these days stay as they are to the byte:

```
run A   cross_rack/day=1    prod, test
        cross_rack/day=2    prod, test         only `test` still stands: prod 2 is of run B
run B   cross_rack/day=2    prod
run C   cross_rack/day=3    prod, test         reads day 1, `test` 2 from A and `prod` 2 from B
```

Dollars are those of the run that billed the day. A price row is called by its place in the table of
prices; where two runs have different prices at one place, the earlier one is called `ROW of RUN`.

What this does not do: choose which days stand (`core.history`); read findings of earlier runs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rackwise.core.owners import UNOWNED
from rackwise.core.traffic import Price, nano_of, usd_of
from rackwise.pipeline.columns.clock import day_number
from rackwise.pipeline.columns.groups import whole_longs
from rackwise.pipeline.schemas import CROSS_RACK, PRICE, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.history import StandingDay
    from rackwise.pipeline.runtime.engine import Engine, Rows

GOLD = "gold"
"""Folder of the gold tables in the folder of a run."""
DAYS = 2**32
"""More than there are days, so that `code * DAYS + day` is one number for a cluster and a day."""
NO_DAYS = np.zeros(0, dtype=np.int64)


class StandingTraffic(NamedTuple):
    """The traffic of earlier runs."""

    rows: Rows
    """Rows of CROSS_RACK."""
    prices: tuple[Price, ...]
    """The prices of these rows; `Price.row` is unique among them and those of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRows:
    """The work of a task: rows of CROSS_RACK of an earlier run in, those that stand out."""

    clusters: Mapping[str, str]
    """The name of each cluster in the tables -> its present name."""
    days: Mapping[str, NDArray[np.int64]]
    """The name in the tables -> the days that stand, as days since 1970-01-01."""
    price_rows: Mapping[str, str]
    """The price rows that have another name now -> that name."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that stand, with the present names of clusters and price rows."""
        schema = arrow_schema(CROSS_RACK)
        for batch in batches:
            kept = batch.filter(self._stands(batch))
            columns = {
                "cluster": _renamed(kept.column("cluster"), self.clusters),
                "owner": pc.fill_null(kept.column("owner"), UNOWNED),
                "price_row": _renamed(kept.column("price_row"), self.price_rows),
            }
            arrays = [
                columns.get(field.name, kept.column(field.name)).cast(field.type)
                for field in schema
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _stands(self, batch: pa.RecordBatch) -> pa.Array:
        """Whether each row is of a day that stands."""
        coded = batch.column("cluster").dictionary_encode()
        days = whole_longs(batch.column("day").cast(pa.int32()))
        rows = whole_longs(coded.indices) * DAYS + days
        names = coded.dictionary.to_pylist()
        standing = [
            code * DAYS + self.days[name] for code, name in enumerate(names) if name in self.days
        ]
        return pa.array(np.isin(rows, np.concatenate(standing or [NO_DAYS])))


def _renamed(texts: pa.Array, names: Mapping[str, str]) -> pa.Array:
    """The texts, with another name for those that have one."""
    coded = texts.dictionary_encode()
    now = [names.get(text, text) for text in coded.dictionary.to_pylist()]
    return pa.array(now, pa.string()).take(coded.indices)


def read_standing(
    engine: Engine, days: Iterable[StandingDay], prices: Sequence[Price]
) -> StandingTraffic | None:
    """The traffic of days that earlier runs computed; None if there is none.

    `prices`: those of the run itself.
    """
    by_tables: defaultdict[str, list[StandingDay]] = defaultdict(list)
    for each in days:
        if each.tables is not None:
            by_tables[each.tables].append(each)
    known = {price.row: price for price in prices}
    parts = []
    earlier: list[Price] = []
    for tables in sorted(by_tables):
        names = {}
        for price in _prices(engine, tables):
            row = price.row
            if known.setdefault(row, price) != price:
                row = f"{row} of {tables.rstrip('/').rpartition('/')[2]}"
                known[row] = replace(price, row=row)
            names[price.row] = row
            earlier.append(known[row])
        parts.append(_rows(engine, tables, by_tables[tables], names))
    if not parts:
        return None
    return StandingTraffic(engine.union(parts), tuple(dict.fromkeys(earlier)))


def _rows(
    engine: Engine, tables: str, days: Sequence[StandingDay], names: Mapping[str, str]
) -> Rows:
    """The rows of some days of a run, with the present names of clusters and price rows."""
    only = {"day": {each.day for each in days}}
    standing: defaultdict[str, list[int]] = defaultdict(list)
    for each in days:
        standing[str(each.name_in_tables)].append(day_number(each.day))
    rows = engine.read(f"{tables}/{GOLD}/cross_rack", CROSS_RACK, only=only)
    work = StandingRows(
        clusters={str(each.name_in_tables): each.cluster for each in days},
        days={name: np.array(own, dtype=np.int64) for name, own in standing.items()},
        price_rows={old: new for old, new in names.items() if old != new},
    )
    return engine.map(rows, work, CROSS_RACK)


def price_rows(prices: Iterable[Price]) -> list[dict[str, Any]]:
    """Rows of PRICE."""
    return [
        {
            "provider": price.provider,
            "region": price.region,
            "level": price.level,
            "kind": price.kind,
            "usd_per_gb_out": usd_of(price.nano_usd_per_gb_out),
            "usd_per_gb_in": usd_of(price.nano_usd_per_gb_in),
            "gb_bytes": price.gb_bytes,
            "valid_from": price.valid_from,
            "valid_to": price.valid_to,
            "source": price.source,
            "is_checked": price.is_checked,
            "row": price.row,
        }
        for price in prices
    ]


def _prices(engine: Engine, tables: str) -> list[Price]:
    """The prices that a run used."""
    stored = engine.collect(engine.read(f"{tables}/{GOLD}/price", PRICE)).to_pylist()
    return [
        Price(
            provider=row["provider"],
            region=row["region"],
            level=row["level"],
            kind=row["kind"],
            nano_usd_per_gb_out=nano_of(row["usd_per_gb_out"]),
            nano_usd_per_gb_in=nano_of(row["usd_per_gb_in"]),
            gb_bytes=row["gb_bytes"],
            valid_from=row["valid_from"],
            valid_to=row["valid_to"],
            source=row["source"],
            is_checked=row["is_checked"],
            row=row["row"],
        )
        for row in sorted(stored, key=lambda row: str(row["row"]))
    ]
