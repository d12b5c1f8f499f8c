"""The rows of an Arrow table as a sequence of mappings, each made when it is read.

A million rows are some 100 MB as an Arrow table and ten times that as Python objects. A loop over
`TableRows` has the rows of one batch as objects at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow.compute as pc

from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

BATCH = 2**12
"""Rows that are Python objects at a time."""


class TableRows(Sequence[Mapping[str, Any]]):
    """The rows of a table.

    >>> import pyarrow as pa
    >>> rows = TableRows(pa.table({"n": [1, 2, 3]}))
    >>> len(rows), rows[-1], list(rows[:2])
    (3, {'n': 3}, [{'n': 1}, {'n': 2}])
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @override
    def __len__(self) -> int:
        return len(self.table)

    @override
    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for first in range(0, len(self.table), BATCH):
            yield from self.table.slice(first, BATCH).to_pylist()

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> TableRows: ...

    @override
    def __getitem__(self, place: int | slice) -> Mapping[str, Any] | TableRows:
        places = range(len(self.table))[place]
        if isinstance(places, int):
            row: dict[str, Any] = self.table.slice(places, 1).to_pylist()[0]
            return row
        return TableRows(self.table.take(np.arange(places.start, places.stop, places.step)))


def leading_places(clusters: pa.ChunkedArray, *, most: int, each: int) -> NDArray[np.int64]:
    """The first `most` places, and the first `each` places of every cluster, ascending.

    So a list has rows of every cluster of a fleet, however small the cluster is. `clusters`: the
    cluster of each row, shape (rows,).

    >>> import pyarrow as pa
    >>> leading_places(pa.chunked_array([["a", "a", "a", "b"]]), most=2, each=1).tolist()
    [0, 1, 3]
    """
    codes = pc.index_in(clusters, value_set=pc.unique(clusters)).to_numpy()
    of_cluster = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[of_cluster], codes[of_cluster])
    place = np.empty(len(codes), dtype=np.int64)
    place[of_cluster] = np.arange(len(codes)) - first
    return np.flatnonzero((np.arange(len(codes)) < most) | (place < each))
