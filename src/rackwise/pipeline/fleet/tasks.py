"""Distributes whole clusters over Spark tasks, so that all cores have a similar load.

Some functions of core (a plan, a lower bound) need a whole cluster, as a snapshot and not as
columns. So a task gets the content of files and parses it on its executor. A task has an overhead
of some tenths of a second, so there are two tasks per core and not one for each of hundreds of
small clusters. The largest cluster is placed first; each cluster goes to the task with the least:

```
sizes a 9, b 3, c 2, d 2, e 1 in 3 tasks   ->   0: a     1: b, e     2: c, d
```

Without this, Spark puts small rows into one partition and processes all clusters one by one.

Spark 4.0 and 4.1 choose the partition of a row by a hash. So a task has a key: an integer whose
hash leads to the partition of the task. Bucketed tables depend on this hash, so that it is the same
in every version.

```
key  0 1 2 3 .. 10 11   hash modulo 3  ->  0 1 0 0 .. 0 2   keys of tasks 0, 1, 2: 0, 1, 11
```
"""

from __future__ import annotations

import heapq
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from rackwise.pipeline.columns.arrays import binary_values, one_value
from rackwise.pipeline.runtime.running import core_count
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.fleet.snapshots import Snapshot
    from rackwise.pipeline.runtime.engine import Engine, Rows

TASKS_PER_CORE = 2
MOST_CORES = 10_000
"""Rows of the range that counts the cores; a Spark with more cores counts as this many."""
CONTENT = StructType(
    [
        StructField("cluster", StringType()),
        StructField("packed", BinaryType()),
        StructField("earlier", BinaryType()),
    ]
)
"""A snapshot for a task: its content, and that of an earlier one, null where there is none."""


def task_count(spark: SparkSession) -> int:
    """Twice the cores of Spark; on Connect a Spark action, which counts partitions of a range."""
    cores = core_count(spark)
    if cores is not None:
        return TASKS_PER_CORE * cores
    parts = spark.range(MOST_CORES).select(F.spark_partition_id().alias("part"))
    (row,) = parts.agg(F.max("part").alias("last")).collect()
    return TASKS_PER_CORE * (int(row.last) + 1)


def in_tasks(
    engine: Engine,
    snapshots: Sequence[Snapshot],
    *,
    earlier: Mapping[str, Snapshot] = MappingProxyType({}),
    is_alone: bool = False,
) -> Rows:
    """CONTENT of each snapshot, in tasks of similar loads.

    `earlier`: cluster -> another snapshot of it; `is_alone`: all in one task.
    """
    before = [earlier[one.name].packed if one.name in earlier else None for one in snapshots]
    sizes = [len(one.packed) + len(old or b"") for one, old in zip(snapshots, before, strict=True)]
    columns = {
        "cluster": [pa.array([one.name]) for one in snapshots],
        "packed": [one_value(one.packed) for one in snapshots],
        "earlier": [one_value(old) for old in before],
    }
    schema = arrow_schema(CONTENT)
    table = pa.table(
        [pa.chunked_array(columns[field.name], field.type) for field in schema], schema=schema
    )
    return engine.table(table, CONTENT) if is_alone else engine.dealt(table, CONTENT, loads=sizes)


def contents(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Buffer, pa.Buffer | None]]:
    """The rows of CONTENT in a task; the contents are not copied."""
    packed, earlier = (binary_values(batch.column(name)) for name in ("packed", "earlier"))
    return zip(batch.column("cluster").to_pylist(), packed, earlier, strict=True)


def task_keys(sizes: Sequence[int], count: int) -> list[int]:
    """The key of the task of each size, see `distribute` and `in_own_partitions`."""
    keys = partition_keys(count)
    return [keys[task] for task in distribute(sizes, count)]


def in_own_partitions(frame: DataFrame, count: int) -> DataFrame:
    """The rows in `count` partitions; `task`, an int, is the key of each row's partition."""
    return frame.repartition(count, F.col("task"))


def distribute(sizes: Sequence[int], count: int) -> list[int]:
    """The task of each size: the largest first, each to the task with the least.

    >>> distribute([9, 3, 2, 2, 1], 3)
    [0, 1, 2, 2, 1]
    """
    tasks = [0] * len(sizes)
    loads = [(0, task) for task in range(count)]
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        load, task = loads[0]
        tasks[place] = task
        heapq.heapreplace(loads, (load + sizes[place], task))
    return tasks


def partition_keys(count: int) -> list[int]:
    """For each of `count` partitions, the smallest integer from 0 that Spark puts there.

    >>> partition_keys(3)
    [0, 1, 11]
    """
    tried = 4 * count
    while True:
        partitions = _spark_hash(np.arange(tried, dtype=np.uint32)).astype(np.int64) % count
        found, first = np.unique(partitions, return_index=True)
        if len(found) == count:
            keys: list[int] = first.tolist()
            return keys
        tried *= 4


def _spark_hash(values: NDArray[np.uint32]) -> NDArray[np.int32]:
    """The hash of Spark's `repartition` for ints: Murmur3 of 32 bits with the seed 42.

    Numbers wrap at 32 bits, as in Java. The multipliers and shifts are those of Murmur3.
    """

    def turned(bits: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
        return (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))

    mixed = turned(values * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    bits = turned(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    bits ^= np.uint32(4)  # the length of an int in bytes
    bits = (bits ^ (bits >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    bits = (bits ^ (bits >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (bits ^ (bits >> np.uint32(16))).view(np.int32)
