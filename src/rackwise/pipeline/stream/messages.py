"""Telemetry of Kafka clients: parses one JSON message into one row, with a reason if invalid.

A message has all bytes that one emitter moved in one window; a later revision replaces it:

```
{"v":1, "emitter":"host/pid/start_ms", "cluster":"prod", "window_start_ms":1793491200000,
 "window_ms":60000, "revision":0, "client_id":"app", "client_group":"billing",
 "client_rack":"/eu/a", "rows":[["produce","orders",3,1,123456], ...]}
                                  kind     topic partition or null, broker id, bytes
```

A message is kept as a whole or not at all. One bad row makes the message malformed, because half a
window would look like a window with little traffic. The reason is the first that applies:
`malformed:size` (over 1 MiB), `json` (UTF-8), `version`, then the fields in the order above, then
`rows`, `kind`, `partition`, `broker_id`, `bytes`; last `too-late`, three days after the end of the
window. Unknown fields are ignored.

Each message belongs to one day. A kept message belongs to the day in which its window begins. Any
other message belongs to the day of its arrival, because its own fields are not trusted.

What this does not do: detect duplicates (`stream.compact`); know clusters, brokers or racks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from rackwise.pipeline.columns.clock import DAY_S, day_of
from rackwise.pipeline.ingest.row_outcomes import KEPT, MALFORMED
from rackwise.pipeline.schemas import KINDS, LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

VERSION = 1
LARGEST_BYTES = 1 << 20
FIELDS_OF_A_ROW = 5
LATEST_MS = 253_402_300_800_000
"""The start of the year 10000."""
LATE_MS = 2 * 3600 * 1000
"""A message that arrives later than this after its window counts as late."""
TOO_LATE_MS = 3 * DAY_S * 1000
"""A message that arrives within this time after its window still changes the bill of its day."""
TOO_LATE = "too-late"

_CORRUPT = "_corrupt"
_TEXT, _LONG, _INT = StringType(), LongType(), IntegerType()


def _fields(**kinds: StringType | LongType | IntegerType | ArrayType | TimestampType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


_JSON = _fields(
    v=_LONG,
    emitter=_TEXT,
    cluster=_TEXT,
    window_start_ms=_LONG,
    window_ms=_LONG,
    revision=_INT,
    client_id=_TEXT,
    client_group=_TEXT,
    client_rack=_TEXT,
    rows=ArrayType(ArrayType(_TEXT)),
    _corrupt=_TEXT,
)
_ROW = "array<struct<kind:string,topic:string,partition:int,broker_id:int,bytes:bigint>>"
PLACE = ("kafka_topic", "kafka_partition", "kafka_offset", "arrived")
TELEMETRY = (
    *PLACE,
    "day",
    "reason",
    *(f.name for f in _JSON.fields[1:-2]),
    "rows",
    "raw",
)
"""Columns of a table of messages. `day`: days since 1970-01-01. `rows`: only of kept messages.
`raw`: only of other messages, their text, at most 4096 characters."""
CLIENT_FIELDS = TELEMETRY[len(PLACE) + 2 : -1]
"""Columns that the client sends."""


def messages(kafka: DataFrame) -> DataFrame:
    """`TELEMETRY` of the rows of a Kafka source: topic, partition, offset, timestamp, value."""
    text = F.col("value").cast("string")
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    is_small = F.coalesce(F.length("value"), F.lit(0)) <= LARGEST_BYTES
    parsed = kafka.select(
        F.col("topic").alias("kafka_topic"),
        F.col("partition").alias("kafka_partition"),
        F.col("offset").alias("kafka_offset"),
        F.col("timestamp").alias("arrived"),
        is_small.alias("is_small"),
        text.alias("text"),
        F.from_json(F.when(is_small & F.is_valid_utf8(text), text), _JSON, options).alias("m"),
    )
    flat = parsed.select("*", "m.*").drop("m").withColumn("revision", _or_zero("revision"))
    checked = flat.withColumn("reason", _reason())
    is_kept = F.col("reason") == KEPT
    rows = F.transform("rows", _row).cast(_ROW)
    own = F.call_function("div", F.col("window_start_ms"), F.lit(1000))
    return checked.select(
        *PLACE,
        day_of(F.when(is_kept, own).otherwise(F.unix_seconds("arrived"))).alias("day"),
        "reason",
        *CLIENT_FIELDS[:-1],
        F.when(is_kept, rows).alias("rows"),
        F.when(~is_kept, F.left(F.make_valid_utf8("text"), F.lit(LONGEST_TEXT))).alias("raw"),
    )


def lateness_ms() -> Column:
    """The time from the end of a message's window to its arrival."""
    return F.unix_millis("arrived") - F.col("window_start_ms") - F.col("window_ms")


def bytes_of_rows() -> Column:
    """The bytes of all rows of a kept message."""
    return F.aggregate("rows", F.lit(0).cast("long"), lambda sum_, row: sum_ + row["bytes"])


def _or_zero(name: str) -> Column:
    return F.coalesce(F.col(name), F.lit(0))


def _row(cells: Column) -> Column:
    """A row of a kept message; in other messages a cell may hold anything."""
    return F.struct(
        _cell(cells, 0).alias("kind"),
        _cell(cells, 1).alias("topic"),
        _cell(cells, 2).try_cast("int").alias("partition"),
        _cell(cells, 3).try_cast("int").alias("broker_id"),
        _cell(cells, 4).try_cast("bigint").alias("bytes"),
    )


def _cell(row: Column, at: int) -> Column:
    """One cell; null if the row is shorter."""
    return F.get(row, F.lit(at))


def _reason() -> Column:
    is_json = F.col(_CORRUPT).isNull() & F.col("v").isNotNull()
    found = (
        F.when(~F.col("is_small"), "size")
        .when(~is_json, "json")
        .when(F.col("v") != VERSION, "version")
        .when(_is_blank("emitter"), "emitter")
        .when(_is_blank("cluster"), "cluster")
        .when(~_is_between("window_start_ms", 0, LATEST_MS), "window_start_ms")
        .when(~_is_between("window_ms", 1, DAY_S * 1000), "window_ms")
        .when(F.col("revision") < 0, "revision")
        .when(F.col("rows").isNull() | _some(_is_no_row), "rows")
        .when(_some(lambda row: ~F.coalesce(_cell(row, 0).isin(*KINDS), F.lit(0) == 1)), "kind")
        .when(
            _some(lambda row: _cell(row, 2).isNotNull() & ~_is_number(_cell(row, 2), "int")),
            "partition",
        )
        .when(_some(lambda row: ~_is_number(_cell(row, 3), "int")), "broker_id")
        .when(_some(lambda row: ~_is_number(_cell(row, 4), "bigint")), "bytes")
    )
    is_late = lateness_ms() > F.lit(TOO_LATE_MS).cast("long")
    return (
        F.when(found.isNotNull(), F.concat(F.lit(MALFORMED), found))
        .when(is_late, TOO_LATE)
        .otherwise(KEPT)
    )


def _some(is_bad: Callable[[Column], Column]) -> Column:
    return F.exists("rows", is_bad)


def _is_no_row(row: Column) -> Column:
    return F.coalesce(F.size(row), F.lit(-1)) != FIELDS_OF_A_ROW


def _is_blank(name: str) -> Column:
    return F.coalesce(F.length(name), F.lit(0)) == 0


def _is_between(name: str, least: int, most: int) -> Column:
    is_so = F.col(name).between(F.lit(least).cast("long"), F.lit(most).cast("long"))
    return F.coalesce(is_so, F.lit(0) == 1)


def _is_number(cell: Column, kind: str) -> Column:
    """Whether a cell is an integer from 0 up that fits its type."""
    is_so = cell.rlike(r"^[0-9]+\z") & cell.try_cast(kind).isNotNull()
    return F.coalesce(is_so, F.lit(0) == 1)
