"""The rows of an Arrow table as mappings, each made when it is read; and the rows that are listed.

The Python objects of a row take many times the memory of its columns. A loop over `TableRows` has
the rows of one batch as objects at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

BATCH = 2**12
"""Rows that are Python objects at a time."""


class TableRows:
    """The rows of a table.

    >>> rows = TableRows(pa.table({"n": [1, 2]}))
    >>> len(rows), list(rows)
    (2, [{'n': 1}, {'n': 2}])
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for first in range(0, len(self.table), BATCH):
            yield from self.table.slice(first, BATCH).to_pylist()


def leading_places(clusters: pa.ChunkedArray, *, most: int, each: int) -> NDArray[np.int64]:
    """The first `most` places, and the first `each` places of every cluster, ascending.

    So a list has rows of every cluster of a fleet, however small the cluster is. `clusters`: the
    cluster of each row, shape (rows,).

    >>> leading_places(pa.chunked_array([["a", "a", "a", "b"]]), most=2, each=1).tolist()
    [0, 1, 3]
    """
    codes = pc.index_in(clusters, value_set=pc.unique(clusters)).to_numpy()
    of_cluster = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[of_cluster], codes[of_cluster])
    place = np.empty(len(codes), dtype=np.int64)
    place[of_cluster] = np.arange(len(codes)) - first
    return np.flatnonzero((np.arange(len(codes)) < most) | (place < each))


def leading(
    rows: Sequence[Mapping[str, Any]], *, most: int, each: int = 0
) -> list[Mapping[str, Any]]:
    """The rows at the `leading_places`.

    >>> rows = [{"cluster": name} for name in "aaab"]
    >>> [row["cluster"] for row in leading(rows, most=2, each=1)]
    ['a', 'a', 'b']
    """
    clusters = pa.chunked_array([[row["cluster"] for row in rows]], pa.string())
    return [rows[place] for place in leading_places(clusters, most=most, each=each).tolist()]
