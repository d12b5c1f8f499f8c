"""Sums of rows with equal keys, as Arrow tables: of one table, or over the batches of a task.

```
key  bytes        key  bytes
a    1            a    4
b    2     ->     b    2
a    3
```

Rows of the result are in order of their first row. Sums are those of Arrow: longs are exact up to
63 bits, decimals get 38 digits.

What this does not do: sort; check that a sum fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from rackwise.pipeline.columns.packing import packed_arrays, unpacked_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

MOST_GROUPS = 500_000
"""Rows that a task keeps before it groups them; it passes them on if more than half are left."""
BATCH = 2**16
"""Rows of a batch that leaves a task."""


def summed(table: pa.Table, keys: Sequence[str], measures: Sequence[str] = ("bytes",)) -> pa.Table:
    """The rows with equal keys as one row: the keys, then the sum of each measure.

    A sum leaves out nulls, and is null if all values are.

    >>> summed(pa.table({"key": ["a", "b", "a"], "bytes": [1, 2, 3]}), ["key"]).to_pydict()
    {'key': ['a', 'b'], 'bytes': [4, 2]}
    """
    sums = [(name, "sum") for name in measures]
    found = table.group_by([*keys], use_threads=False).aggregate(sums)
    return found.rename_columns([*keys, *measures])


def summed_longs(
    columns: Mapping[str, NDArray[np.int64]], keys: Sequence[str], measure: str = "bytes"
) -> pa.Table:
    """The same as `summed` for columns of longs, whose keys are from 0.

    Keys are packed into as few longs as their greatest values allow: Arrow groups one long several
    times as fast as ten.

    >>> import numpy as np
    >>> key = np.array([3, 0, 3])
    >>> summed_longs({"key": key, "bytes": np.array([1, 2, 3])}, ["key"]).to_pydict()
    {'key': [3, 0], 'bytes': [4, 2]}
    """
    bits = {name: int(columns[name].max(initial=0)).bit_length() for name in keys}
    packed = packed_arrays(columns, bits)
    found = summed(pa.table({**packed, measure: columns[measure]}), [*packed], [measure])
    values = unpacked_arrays({name: whole_longs(found[name]) for name in packed}, bits)
    return pa.table({**values, measure: found[measure]})


def whole_longs(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """The numbers of a column; 0 where one is missing. Shape (n,).

    >>> whole_longs(pa.array([1, None], pa.int32()))
    array([1, 0])
    """
    filled = column.cast(pa.int64()).fill_null(0)
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    found: NDArray[np.int64] = filled.to_numpy(zero_copy_only=False)
    return found


class Groups:
    """Rows with equal keys as one row, over batches; `take` empties it."""

    def __init__(self, keys: Sequence[str], measures: Sequence[str] = ()) -> None:
        """Measures are added up; the least `first` is kept, and the greatest `last` and `most`."""
        functions = {"first": "min", "last": "max", "most": "max"}
        self._keys = [*keys]
        self._measures = [(name, functions.get(name, "sum")) for name in measures]
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._most = MOST_GROUPS

    def add(self, table: pa.Table) -> None:
        """Add the rows of a batch; rows of all batches are grouped when they are many.

        At most twice as many rows are kept as there are groups, or `MOST_GROUPS` and a batch.
        """
        self._parts.append(self._grouped(table))
        self._rows += self._parts[-1].num_rows
        if self._rows > self._most:
            self._parts = [self._grouped(pa.concat_tables(self._parts))]
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

    def _grouped(self, table: pa.Table) -> pa.Table:
        # A key that is null in all rows, mostly a name of a file, costs as much as any other text.
        keys = [key for key in self._keys if table.column(key).null_count < table.num_rows]
        keys = keys or self._keys[:1]
        found = table.group_by(keys, use_threads=False).aggregate(self._measures)
        names = {f"{name}_{function}": name for name, function in self._measures}
        found = found.rename_columns([names.get(name, name) for name in found.column_names])
        for key in self._keys:
            if key not in keys:
                found = found.append_column(
                    key, pa.nulls(found.num_rows, table.schema.field(key).type)
                )
        return found.select([*self._keys, *(name for name, _ in self._measures)])
