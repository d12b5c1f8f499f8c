"""Whole clusters as rows, each in a task of its own.

What core does with a cluster as a whole (a plan, a bound of any shape) takes the snapshot, not
columns. So a task is given the content of one file, and parses it where it runs.

```
snapshots  a  b  c     ->  partition 0: a     1: b     2: c       (cluster, packed)
```

Left alone, Spark puts small rows together, and clusters would be worked on one after another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.snapshots import Snapshot

_SCHEMA = pa.schema([("task", pa.int32()), ("cluster", pa.string()), ("packed", pa.binary())])


def one_per_task(spark: SparkSession, snapshots: Sequence[Snapshot]) -> DataFrame:
    """`cluster` and `packed` of each snapshot, one row in each partition."""
    rows = [
        {"task": number, "cluster": one.name, "packed": one.packed}
        for number, one in enumerate(snapshots)
    ]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=_SCHEMA))
    return frame.repartitionById(max(1, len(rows)), F.col("task")).select("cluster", "packed")
