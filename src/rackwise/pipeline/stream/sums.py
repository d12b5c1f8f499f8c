"""Sums of each batch by windows of five minutes, for dashboards that need results before the night.

The sums are additive: the value of a window is the sum over all committed batches and all their
rows of the window. So each task sums its own messages, and Spark adds up the sums of the tasks of a
batch; no message is read again:

```
batch 7    00:00  produce  orders  /eu/a  broker 1   3 rows   300 bytes
batch 8    00:00  produce  orders  /eu/a  broker 1   1 row     90 bytes
dashboard  00:00  produce  orders  /eu/a  broker 1            390 bytes
```

A window that is sent again or replaced counts twice here until its day is compacted: only all
messages of the day together show duplicates (`stream.compact`). A window longer than five minutes
counts at its start.

What this does not do: know clusters, the racks of brokers, or prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType
from pyspark.sql.types import TimestampType as Timestamp

from rackwise.pipeline.schemas import arrow_schema
from rackwise.pipeline.stream.messages import ROW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW_MS = 300_000
_KEYS = ("cluster", "kind", "topic", "client_group", "client_rack", "broker_id")
SUMS_TABLE = StructType(
    [
        StructField("window_start", Timestamp()),
        *(StructField(name, StringType()) for name in _KEYS[:-1]),
        StructField("broker_id", IntegerType()),
        StructField("rows", LongType()),  # rows of kept messages
        StructField("bytes", LongType()),
    ]
)
"""Columns of `stream_gold`."""


def sums_of(messages: pa.Table) -> pa.Table:
    """`SUMS_TABLE` of the kept messages of `stream.messages`, which have one chunk."""
    lists = messages.column("rows").chunk(0)
    cells, of_message = lists.flatten(), pc.list_parent_indices(lists)
    start = messages.column("window_start_ms").take(of_message)
    start = pc.multiply(pc.divide(start, WINDOW_MS), WINDOW_MS)
    columns = {"window_start": start.cast(pa.timestamp("ms", tz="UTC"))}
    for name in _KEYS:
        is_of_row = name in ROW.names
        column = cells.field(name) if is_of_row else messages.column(name).take(of_message)
        columns[name] = column
    table = pa.table(columns | {"bytes": cells.field("bytes")})
    summed = table.group_by([*columns], use_threads=False).aggregate(
        [([], "count_all"), ("bytes", "sum")]
    )
    named = summed.rename_columns({"count_all": "rows", "bytes_sum": "bytes"})
    return named.select(SUMS_TABLE.names).cast(arrow_schema(SUMS_TABLE))


def sums(tasks: DataFrame) -> DataFrame:
    """`SUMS_TABLE` of the sums of tasks."""
    return tasks.groupBy("window_start", *_KEYS).agg(
        F.sum("rows").alias("rows"), F.sum("bytes").alias("bytes")
    )
