"""Sums of rows with equal keys, as Arrow tables: of one table, or over the batches of a task.

```
key  bytes        key  bytes
a    1            a    4
b    2     ->     b    2
a    3
```

The sums of one table are those of Arrow: longs are exact up to 63 bits, decimals get 38 digits.
Over batches, measures are longs, keys are found in numpy (`equal_rows`), several times as fast as
by Arrow where there are many, and rows are in order of their first row.

What this does not do: sort; check that a sum fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from rackwise.pipeline.columns.arrays import filled, is_valid, nullable
from rackwise.pipeline.columns.equal_rows import equal_rows
from rackwise.pipeline.columns.packing import packed_arrays, unpacked_arrays

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

MOST_GROUPS = 500_000
"""Rows that a task keeps before it groups them; it passes them on if more than half are left."""
BATCH = 2**16
"""Rows of a batch that leaves a task."""
GREATEST, NO_KEY = 2**63 - 1, -(2**63)
"""The greatest long; the least one, for a missing key."""
LEAST_ALIKE = 2
"""Minimum rows per group for which the next batch is grouped alone, before all are grouped."""


def summed(table: pa.Table, keys: Sequence[str], measures: Sequence[str] = ("bytes",)) -> pa.Table:
    """The rows with equal keys as one row: the keys, then the sum of each measure.

    A sum leaves out nulls, and is null if all values are.

    >>> summed(pa.table({"key": ["a", "b", "a"], "bytes": [1, 2, 3]}), ["key"]).to_pydict()
    {'key': ['a', 'b'], 'bytes': [4, 2]}
    """
    sums = [(name, "sum") for name in measures]
    found = table.group_by([*keys], use_threads=False).aggregate(sums)
    return found.rename_columns([*keys, *measures])


def summed_longs(columns: Mapping[str, NDArray[np.int64]], keys: Sequence[str]) -> pa.Table:
    """The sums of the column `bytes` by keys, as `summed`; all columns are longs, keys from 0.

    Keys are packed into as few longs as their greatest values allow: Arrow groups one long several
    times as fast as ten.

    >>> import numpy as np
    >>> key = np.array([3, 0, 3])
    >>> summed_longs({"key": key, "bytes": np.array([1, 2, 3])}, ["key"]).to_pydict()
    {'key': [3, 0], 'bytes': [4, 2]}
    """
    bits = {name: int(columns[name].max(initial=0)).bit_length() for name in keys}
    packed = packed_arrays(columns, bits)
    found = summed(pa.table({**packed, "bytes": columns["bytes"]}), [*packed], ["bytes"])
    values = unpacked_arrays({name: whole_longs(found[name]) for name in packed}, bits)
    return pa.table({**values, "bytes": found["bytes"]})


def whole_longs(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """The numbers of a column; 0 where one is missing. Shape (n,); not to be written to.

    >>> whole_longs(pa.array([1, None], pa.int32()))
    array([1, 0])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return filled(column, 0)


class Groups:
    """Rows with equal keys as one row, over batches; `take` empties it."""

    def __init__(self, keys: Sequence[str], measures: Sequence[str] = ()) -> None:
        """Measures are longs: the least `first` is kept, the greatest `last` and `most`.

        Others are added up. Keys are integers or texts, coded or not.
        """
        self._keys = [*keys]
        self._measures = [*measures]
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._most = MOST_GROUPS
        self._is_alike = True  # whether rows of a batch have equal keys, so that grouping it pays

    def add(self, table: pa.Table) -> None:
        """Add the rows of a batch; rows of all batches are grouped when they are many.

        At most twice as many rows are kept as there are groups, or `MOST_GROUPS` and a batch.
        """
        part = self._alone(table) if self._is_alike else self._plain(table)
        self._parts.append(part)
        self._rows += part.num_rows
        if self._rows > self._most:
            self._parts = [self._alone(pa.concat_tables(self._parts))]
            self._rows = self._parts[0].num_rows
            self._most = max(MOST_GROUPS, 2 * self._rows)

    @property
    def is_full(self) -> bool:
        """Whether a task passes the groups on: more than half of `MOST_GROUPS` are distinct."""
        return self._most > MOST_GROUPS

    def take(self) -> list[pa.RecordBatch]:
        """All groups, each once; none are left."""
        if not self._parts:
            return []
        found = self._grouped(pa.concat_tables(self._parts)).combine_chunks()
        self._parts, self._rows, self._most = [], 0, MOST_GROUPS
        batches: list[pa.RecordBatch] = found.to_batches(max_chunksize=BATCH)
        return batches

    def _alone(self, table: pa.Table) -> pa.Table:
        """The groups of some rows; whether the next batch is worth it."""
        found = self._grouped(table)
        self._is_alike = LEAST_ALIKE * found.num_rows <= table.num_rows
        return found

    def _plain(self, table: pa.Table) -> pa.Table:
        """The rows as they are; texts are not coded, so that parts have equal types."""
        columns = {name: table.column(name) for name in (*self._keys, *self._measures)}
        return pa.table({name: _decoded(column) for name, column in columns.items()})

    def _grouped(self, table: pa.Table) -> pa.Table:
        columns = {name: _whole(table.column(name)) for name in (*self._keys, *self._measures)}
        groups, rows = equal_rows(_numbers(columns[name] for name in self._keys), len(table))
        places = pa.array(rows)
        found = {name: _decoded(columns[name].take(places)) for name in self._keys}
        for name in self._measures:
            work = _MEASURES.get(name, _SUM)
            found[name] = work.of_groups(columns[name], groups, len(rows))
        return pa.table(found)


class _Measure(NamedTuple):
    """How the values of a group become one."""

    work: np.ufunc
    start: int
    """The value of a group without values, which becomes null."""

    def of_groups(self, column: pa.Array, groups: NDArray[np.int64], count: int) -> pa.Array:
        """The value of each group; null where all values are. Shape (count,)."""
        found = np.full(count, self.start)
        self.work.at(found, groups, filled(column, self.start))
        if column.null_count == 0:
            return pa.array(found)
        nulls = groups.take(np.flatnonzero(~is_valid(column)))
        sizes = np.bincount(groups, minlength=count)
        return nullable(found, sizes > np.bincount(nulls, minlength=count))


_SUM = _Measure(np.add, 0)
_MEASURES: Mapping[str, _Measure] = {
    "first": _Measure(np.minimum, GREATEST),
    "last": _Measure(np.maximum, NO_KEY),
    "most": _Measure(np.maximum, NO_KEY),
}


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """One array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _decoded(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Texts instead of codes."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def _numbers(keys: Iterable[pa.Array]) -> list[NDArray[np.int64]]:
    """The keys as numbers, without those that are equal in all rows."""
    found: list[NDArray[np.int64]] = []
    for key in keys:
        if key.null_count == len(key):
            continue
        if not pa.types.is_integer(key.type):
            key = key.dictionary_encode().indices  # noqa: PLW2901 (codes instead of texts)
        numbers = filled(key, NO_KEY)
        if key.null_count and pa.types.is_int64(key.type) and (filled(key, 0) == NO_KEY).any():
            found.append(is_valid(key).astype(np.int64))
        if (numbers[:1] != numbers).any():
            found.append(numbers)
    return found
