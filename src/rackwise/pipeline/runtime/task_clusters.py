"""The work on whole clusters between the tasks of Spark: the rows of a cluster come to one task.

Rows move as Arrow streams (see `task_rows`), so that Java sorts streams and reads no row:

```
left    a <3 rows>   b <1 row>        task 1   a left, a left, a right  ->  work(5 rows, 1 row)
        a <2 rows>                    task 2   b left, b right          ->  work(1 row, 1 row)
right   a <1 row>    b <1 row>
```

What this does not do: run anything (`engines.spark`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from rackwise.pipeline.columns.arrays import filled
from rackwise.pipeline.runtime.task_rows import TaskRows, packed_rows, stream_rows
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rackwise.pipeline.runtime.engine import ClusterWork

STREAM_FIELDS = (StructField("side", IntegerType()), StructField("data", BinaryType()))
"""What a stream of a cluster has beside its column `cluster`: 0 or 1, and rows."""
_MOST_ROWS = 2**16
"""Rows of a batch that leaves a task."""
_NO_CLUSTER = -1


def by_cluster(
    left: TaskRows, right: TaskRows, work: ClusterWork, schema: StructType, *, tasks: int
) -> TaskRows:
    """The result of `work` for the rows of each cluster of two sides.

    By default, Spark combines small partitions and then processes clusters one after another. Spark
    keeps the number of partitions only if the code sets that number.
    """
    streams = [
        side.source_of(ClusterStreams(number), StructType([left.schema["cluster"], *STREAM_FIELDS]))
        for number, side in enumerate((left, right))
    ]
    together = streams[0].union(streams[1]).repartition(tasks, "cluster")
    return TaskRows(
        source=together.sortWithinPartitions("cluster", "side"),
        works=(ClusterWorks(work=work, sides=(left.schema, right.schema), schema=schema),),
        schema=schema,
    )


@dataclass(frozen=True, slots=True)
class ClusterStreams:
    """The work of a task: rows in, the rows of each batch and cluster as one stream out."""

    side: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row for each stream."""
        for batch in batches:
            codes = filled(batch.column("cluster").dictionary_encode().indices, _NO_CLUSTER)
            for code in np.unique(codes).tolist():
                rows = batch.take(pa.array(np.flatnonzero(codes == code)))
                cluster, side = (
                    rows.column("cluster").slice(0, 1),
                    pa.array([self.side], pa.int32()),
                )
                yield pa.RecordBatch.from_arrays(
                    [cluster, side, packed_rows(rows)], ["cluster", "side", "data"]
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWorks:
    """The work of a task: streams in order of clusters in, the result for each cluster out."""

    work: ClusterWork
    sides: tuple[StructType, StructType]
    """The columns of the rows of each side."""
    schema: StructType
    """The columns of the result."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results; the task holds the rows of one cluster at a time."""
        last = None
        sides: tuple[list[pa.RecordBatch], list[pa.RecordBatch]] = ([], [])
        for batch in batches:
            names, numbers = (batch[name].to_pylist() for name in ("cluster", "side"))
            for cluster, side, data in zip(names, numbers, batch["data"], strict=True):
                if cluster != last:
                    yield from self._result(*sides)
                    last, sides = cluster, ([], [])
                sides[side].extend(stream_rows(data))
        yield from self._result(*sides)

    def _result(
        self, left: list[pa.RecordBatch], right: list[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        if left or right:
            given = (
                pa.Table.from_batches(rows, schema=arrow_schema(columns))
                for rows, columns in zip((left, right), self.sides, strict=True)
            )
            wanted = arrow_schema(self.schema)
            found = self.work(*given).select(wanted.names).cast(wanted)
            yield from found.to_batches(max_chunksize=_MOST_ROWS)
