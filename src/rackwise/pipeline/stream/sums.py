"""Sums of each batch by windows of five minutes, for dashboards that need results before the night.

The sums are additive: the value of a window is the sum over all committed batches and all their
rows of the window. So each batch is summed once, when it is written, and no batch is read again:

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

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType
from pyspark.sql.types import TimestampType as Timestamp

from rackwise.pipeline.ingest.row_outcomes import KEPT

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


def sums(messages: DataFrame) -> DataFrame:
    """`SUMS_TABLE` of the kept messages of `stream.messages`."""
    start = F.call_function("div", F.col("window_start_ms"), F.lit(WINDOW_MS)) * F.lit(WINDOW_MS)
    rows = (
        messages.where(F.col("reason") == KEPT)
        .withColumn("window_start", F.timestamp_millis(start))
        .select("window_start", "cluster", "client_group", "client_rack", F.inline("rows"))
    )
    return rows.groupBy("window_start", *_KEYS).agg(
        F.count("*").alias("rows"), F.sum("bytes").alias("bytes")
    )
