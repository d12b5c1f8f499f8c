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
window. A field of another type is `json`, too. Unknown fields are ignored. Numbers of a row may be
texts of digits.

Each message belongs to one day. A kept message belongs to the day in which its window begins. Any
other message belongs to the day of its arrival, because its own fields are not trusted.

Tasks parse in Python, a batch of messages at a time: a message costs some 10 microseconds. Spark's
`from_json` and the functions of its arrays take several times as long.

What this does not do: detect duplicates (`stream.compact`); know clusters, brokers or racks.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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

from rackwise.pipeline.columns.arrays import as_batch
from rackwise.pipeline.columns.clock import DAY_S
from rackwise.pipeline.ingest.row_outcomes import KEPT, MALFORMED
from rackwise.pipeline.schemas import KINDS, LONGEST_TEXT, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

VERSION = 1
LARGEST_BYTES = 1 << 20
LATEST_MS = 253_402_300_800_000
"""The start of the year 10000."""
LATE_MS = 2 * 3600 * 1000
"""A message that arrives later than this after its window counts as late."""
TOO_LATE_MS = 3 * DAY_S * 1000
"""A message that arrives within this time after its window still changes the bill of its day."""
TOO_LATE = "too-late"
SHOWN_BYTES = 4 * (LONGEST_TEXT + 1)
"""The bytes that are read of a message that is too large: `LONGEST_TEXT` characters, and more."""
MOST_INT, MOST_LONG = 2**31 - 1, 2**63 - 1
LONGEST_NUMBER = 20
"""Digits; a number with so many is greater than `MOST_LONG`."""

_TEXT, _LONG, _INT = StringType(), LongType(), IntegerType()


def _fields(**kinds: StringType | LongType | IntegerType | ArrayType | TimestampType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


ROW = _fields(kind=_TEXT, topic=_TEXT, partition=_INT, broker_id=_INT, bytes=_LONG)
"""A row of a kept message."""
MESSAGES = _fields(
    kafka_topic=_TEXT,
    kafka_partition=_INT,
    kafka_offset=_LONG,
    arrived=TimestampType(),
    day=_LONG,
    reason=_TEXT,
    emitter=_TEXT,
    cluster=_TEXT,
    window_start_ms=_LONG,
    window_ms=_LONG,
    revision=_INT,
    client_id=_TEXT,
    client_group=_TEXT,
    client_rack=_TEXT,
    rows=ArrayType(ROW),
    raw=_TEXT,
)
"""Columns of a table of messages. `day`: days since 1970-01-01. `rows`: only of kept messages.
`raw`: only of other messages, their text, at most 4096 characters."""
PLACE = tuple(MESSAGES.names[:4])
"""Columns that tell where a message was read."""
CLIENT_FIELDS = tuple(MESSAGES.names[6:-1])
"""Columns that the client sends."""

_ARROW = arrow_schema(MESSAGES)
_ROW_ARROW = arrow_schema(ROW)
_TEXTS = ("emitter", "cluster", "client_id", "client_group", "client_rack")
_NUMBERS = {"v": MOST_LONG, "window_start_ms": MOST_LONG, "window_ms": MOST_LONG}
_NUMBERS |= {"revision": MOST_INT}
"""Field -> the greatest number of its type."""
_READ = ("emitter", "cluster", "window_start_ms", "window_ms", "revision", *_TEXTS[2:])
_DIGITS = re.compile(r"[0-9]+\Z")
_KINDS = frozenset(KINDS)
_BY_FIELD = {
    name: MALFORMED + name
    for name in (
        *("size", "json", "version", "emitter", "cluster", "window_start_ms", "window_ms"),
        *("revision", "rows", "kind", "partition", "broker_id", "bytes"),
    )
}
_UNREAD: dict[str, Any] = {"revision": 0}
"""The fields of a message that is not JSON."""


def kafka_columns(kafka: DataFrame) -> DataFrame:
    """What `parse` takes of the rows of a Kafka source: topic, partition, offset, timestamp, value.

    Of a message that is too large, only the start is sent to Python.
    """
    value = F.col("value")
    is_small = F.coalesce(F.octet_length(value), F.lit(0)) <= LARGEST_BYTES
    start = F.substring(value, 1, SHOWN_BYTES)
    return kafka.select(
        F.col("topic").alias("kafka_topic"),
        F.col("partition").alias("kafka_partition"),
        F.col("offset").alias("kafka_offset"),
        F.col("timestamp").alias("arrived"),
        F.when(is_small, value).otherwise(start).alias("value"),
        is_small.alias("is_small"),
    )


def parse(batch: pa.RecordBatch) -> pa.RecordBatch:
    """`MESSAGES` of a batch of `kafka_columns`."""
    texts = _texts(batch.column("value"))
    found = _Found()
    for text, is_small in zip(texts, batch.column("is_small").to_pylist(), strict=True):
        found.add(text, is_small=is_small)
    return found.batch(batch, texts)


def lateness_ms() -> Column:
    """The time from the end of a message's window to its arrival."""
    return F.unix_millis("arrived") - F.col("window_start_ms") - F.col("window_ms")


def bytes_of_rows() -> Column:
    """The bytes of all rows of a kept message."""
    return F.aggregate("rows", F.lit(0).cast("long"), lambda sum_, row: sum_ + row["bytes"])


class _Found:
    """The messages of a batch, as columns."""

    def __init__(self) -> None:
        self.fields: dict[str, list[Any]] = {name: [] for name in _READ}
        self.reasons: list[str] = []
        self.ends = [0]  # shape (n + 1,): the number of rows before each message, and of all
        self.rows: list[tuple[str, str | None, int | None, int, int]] = []

    def add(self, text: str | bytes | None, *, is_small: bool) -> None:
        """Add a message; `bytes` are not UTF-8."""
        fields, reason = _read(text) if is_small else (_UNREAD, _BY_FIELD["size"])
        if reason == KEPT:
            reason = self._add_rows(fields["rows"])
        for name, column in self.fields.items():
            column.append(fields.get(name))
        self.reasons.append(reason)
        self.ends.append(len(self.rows))

    def batch(self, kafka: pa.RecordBatch, texts: Sequence[str | bytes | None]) -> pa.RecordBatch:
        """`MESSAGES` of all messages that were added."""
        columns = {name: _array(self.fields[name], _ARROW.field(name).type) for name in _READ}
        start, window = (_longs(columns[name]) for name in ("window_start_ms", "window_ms"))
        arrived = _longs(kafka.column("arrived").cast(pa.int64())) // 1000
        is_kept = np.array([reason == KEPT for reason in self.reasons], dtype=bool)
        is_late = is_kept & (arrived - start - window > TOO_LATE_MS)
        reasons = [
            TOO_LATE if late else reason
            for late, reason in zip(is_late.tolist(), self.reasons, strict=True)
        ]
        is_kept &= ~is_late
        raw = [
            None if reason == KEPT else _shown(text)
            for reason, text in zip(reasons, texts, strict=True)
        ]
        columns |= {name: kafka.column(name) for name in PLACE}
        columns |= {
            "day": pc.divide(pa.array(np.where(is_kept, start, arrived) // 1000), DAY_S),
            "reason": pa.array(reasons, pa.string()),
            "rows": self._row_lists(is_kept),
            "raw": _array(raw, pa.string()),
        }
        return as_batch(columns, _ARROW, kafka.num_rows)

    def _add_rows(self, rows: Sequence[Any]) -> str:
        """Add the rows of a message, or none of them; the reason."""
        before = len(self.rows)
        reasons = [reason for row in rows if (reason := self._add_row(row)) is not None]
        if not reasons:
            return KEPT
        del self.rows[before:]
        return min(reasons, key=[*_BY_FIELD.values()].index)

    def _add_row(self, row: Any) -> str | None:  # noqa: ANN401 (what the client sent)
        """Add a row; the reason why not, None if it was added."""
        if row is None or len(row) != len(ROW):
            return _BY_FIELD["rows"]
        kind, topic, partition, broker_id, bytes_ = row
        if type(kind) is not str or kind not in _KINDS:
            return _BY_FIELD["kind"]
        if partition is not None and (partition := _number(partition, MOST_INT)) is None:
            return _BY_FIELD["partition"]
        if (broker_id := _number(broker_id, MOST_INT)) is None:
            return _BY_FIELD["broker_id"]
        if (bytes_ := _number(bytes_, MOST_LONG)) is None:
            return _BY_FIELD["bytes"]
        if type(topic) is not str and topic is not None:
            topic = _json(topic)
        self.rows.append((kind, topic, partition, broker_id, bytes_))
        return None

    def _row_lists(self, is_kept: NDArray[np.bool_]) -> pa.Array:
        columns = [*zip(*self.rows, strict=True)] if self.rows else [()] * len(ROW)
        arrays = [
            _array(column, field.type) for column, field in zip(columns, _ROW_ARROW, strict=True)
        ]
        rows = pa.StructArray.from_arrays(arrays, fields=[*_ROW_ARROW])
        ends = pa.array(self.ends, pa.int32())
        lists = pa.ListArray.from_arrays(ends, rows)
        return lists if is_kept.all() else pc.if_else(pa.array(is_kept), lists, None)


def _read(text: str | bytes | None) -> tuple[Mapping[str, Any], str]:
    """The fields of a message, and its reason, without those of rows; `revision` is 0 by default.

    A field whose value has another type is None.
    """
    try:
        # Not the strict reader: it takes twice as long, and what is no JSON goes to quarantine.
        fields = json.loads(text) if type(text) is str else None  # noqa: TID251
    except (ValueError, RecursionError):
        fields = None
    if type(fields) is not dict:
        return _UNREAD, _BY_FIELD["json"]
    get = fields.get
    is_json = True
    for name, most in _NUMBERS.items():
        value = get(name)
        if value is not None and (type(value) is not int or not -most - 1 <= value <= most):
            fields[name], is_json = None, False
    for name in _TEXTS:
        value = get(name)
        if value is not None and type(value) is not str:
            fields[name] = _json(value)
    rows = get("rows")
    if rows is not None and not (type(rows) is list and _are_lists(rows)):
        is_json = False
    if get("revision") is None:
        fields["revision"] = 0
    if not is_json or get("v") is None:
        return fields, _BY_FIELD["json"]
    return fields, _reason(fields)


def _reason(fields: Mapping[str, Any]) -> str:
    """The first reason that applies to fields of the right types, without those of the rows."""
    start, window = fields.get("window_start_ms"), fields.get("window_ms")
    if fields["v"] != VERSION:
        return _BY_FIELD["version"]
    if not fields.get("emitter"):
        return _BY_FIELD["emitter"]
    if not fields.get("cluster"):
        return _BY_FIELD["cluster"]
    if start is None or not 0 <= start <= LATEST_MS:
        return _BY_FIELD["window_start_ms"]
    if window is None or not 1 <= window <= DAY_S * 1000:
        return _BY_FIELD["window_ms"]
    if fields["revision"] < 0:
        return _BY_FIELD["revision"]
    return KEPT if fields.get("rows") is not None else _BY_FIELD["rows"]


def _are_lists(rows: Sequence[Any]) -> bool:
    return all(type(row) is list or row is None for row in rows)


def _number(cell: Any, most: int) -> int | None:  # noqa: ANN401 (what the client sent)
    """A number from 0 to `most`, also as text; None for everything else."""
    if type(cell) is str and _DIGITS.match(cell):
        cell = int(cell.lstrip("0")[:LONGEST_NUMBER] or "0")
    return cell if type(cell) is int and 0 <= cell <= most else None


def _json(value: Any) -> str:  # noqa: ANN401 (what the client sent)
    """A value that is no text, as text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _texts(column: pa.Array) -> list[str | bytes | None]:
    """Values as texts; those that are not UTF-8 as bytes."""
    try:
        texts: list[str | bytes | None] = column.cast(pa.string()).to_pylist()
    except pa.ArrowInvalid:
        texts = [_text(value) for value in column.to_pylist()]
    return texts


def _text(value: bytes | None) -> str | bytes | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value


def _shown(text: str | bytes | None) -> str | None:
    """The start of a message."""
    whole = text.decode(errors="replace") if isinstance(text, bytes) else text
    return None if whole is None else whole[:LONGEST_TEXT]


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An Arrow column; half of a surrogate pair, which no UTF-8 text has, becomes `?`."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        whole = [value and value.encode(errors="replace").decode() for value in values]
        return pa.array(whole, kind)


def _longs(column: pa.Array) -> NDArray[np.int64]:
    """The numbers; 0 where one is missing."""
    found: NDArray[np.int64] = column.fill_null(0).to_numpy(zero_copy_only=False)
    return found
