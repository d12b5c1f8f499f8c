"""Distributes whole clusters over Spark tasks, so that all cores have a similar load.

Some functions of core (a plan, a lower bound) need a whole cluster, as a snapshot and not as
columns. So a task gets the content of files and parses it on its executor. A task has an overhead
of some tenths of a second, so there are two tasks per core and not one for each of hundreds of
small clusters. The largest cluster is placed first; each cluster goes to the task with the least:

```
sizes a 9, b 3, c 2, d 2, e 1 in 3 tasks   ->   0: a     1: b, e     2: c, d
```

Without this, Spark puts small rows into one partition and processes all clusters one by one.
"""

from __future__ import annotations

import heapq
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.fleet.snapshots import Snapshot

TASKS_PER_CORE = 2
MOST_CORES = 10_000
"""Rows of the range that counts the cores; a Spark with more cores counts as this many."""
_SCHEMA = pa.schema(
    [
        ("task", pa.int32()),
        ("cluster", pa.string()),
        ("packed", pa.binary()),
        ("earlier", pa.binary()),
    ]
)


def task_count(spark: SparkSession) -> int:
    """Twice the cores of Spark, from the partitions of a range; runs a Spark action."""
    parts = spark.range(MOST_CORES).select(F.spark_partition_id().alias("part"))
    (row,) = parts.agg(F.max("part").alias("last")).collect()
    return TASKS_PER_CORE * (int(row.last) + 1)


def in_tasks(
    spark: SparkSession,
    snapshots: Sequence[Snapshot],
    count: int,
    *,
    earlier: Mapping[str, Snapshot] = MappingProxyType({}),
) -> DataFrame:
    """`cluster`, `packed` and `earlier` of each snapshot, in at most `count` partitions.

    `earlier`: cluster -> another snapshot of it; null in the frame where there is none.
    """
    count = max(1, min(count, len(snapshots)))
    before = [earlier[one.name].packed if one.name in earlier else None for one in snapshots]
    sizes = [len(one.packed) + len(old or b"") for one, old in zip(snapshots, before, strict=True)]
    rows = [
        {"task": task, "cluster": one.name, "packed": one.packed, "earlier": old}
        for task, one, old in zip(distribute(sizes, count), snapshots, before, strict=True)
    ]
    table = pa.Table.from_pylist(rows, schema=_SCHEMA)
    frame = spark.createDataFrame(table, "task int, cluster string, packed binary, earlier binary")
    return frame.repartitionById(count, F.col("task")).drop("task")


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
