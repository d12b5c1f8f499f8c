"""Writes the messages of one Spark task to files, and returns only counts to Java.

```
task    rows of Kafka  ->  parse  ->  FOLDER/<name>.parquet        `MESSAGES`
                                  ->  FOLDER/<name>.sums.parquet   `SUMS_TABLE`
                                  ->  `COUNTS`                     a few rows for each Arrow batch
driver  moves the files of the tasks whose rows it has received
```

Spark may run a task again, or twice at the same time. Each attempt has files with names of its own,
and a task returns all its rows or none. So a file counts only if its task has ended.

A task keeps at most `HELD_BYTES` of messages and one Arrow batch, whatever the topic holds.

What this does not do: commit a batch (`stream.store`); add up the sums of tasks (`stream.sums`).
"""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from rackwise.pipeline.columns.arrays import as_batch
from rackwise.pipeline.ingest.sums import HALF_BITS, LOW
from rackwise.pipeline.schemas import arrow_schema
from rackwise.pipeline.stream.messages import MESSAGES, parse
from rackwise.pipeline.stream.sums import SUMS_TABLE, sums_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import Row

HELD_BYTES = 2**23
"""Bytes of messages that a task keeps before it writes them."""
_KEYS = ("reason", "kafka_topic", "kafka_partition")
_MEASURES = {
    "messages": ([], "count_all"),
    "high": ("high", "sum"),
    "low": ("low", "sum"),
    "first": ("kafka_offset", "min"),
    "last": ("kafka_offset", "max"),
    "first_day": ("day", "min"),
    "last_day": ("day", "max"),
}
COUNTS = StructType(
    [
        StructField("file", StringType()),  # its name without an end
        *(StructField(name, StringType()) for name in _KEYS[:-1]),
        StructField("kafka_partition", IntegerType()),
        *(StructField(name, LongType()) for name in _MEASURES),
    ]
)
"""Counts of messages; `high` and `low` are the halves of the bytes of their rows."""


class TaskFiles(NamedTuple):
    """The files of a task."""

    messages: Path
    sums: Path

    @classmethod
    def of(cls, folder: str, name: str) -> TaskFiles:
        """The files with this name."""
        return cls(Path(folder, f"{name}.parquet"), Path(folder, f"{name}.sums.parquet"))


class Total(NamedTuple):
    """The counts of all tasks."""

    files: Sequence[str]
    """Names of the files, sorted."""
    messages: int
    bytes: int
    reasons: dict[str, int]
    """Reason -> messages."""
    offsets: dict[str, tuple[int, int]]
    """`topic-partition` -> first and last offset."""
    days: tuple[int, int] | None
    """The first and the last day; None without messages."""


@dataclass(frozen=True, slots=True)
class TaskWriter:
    """Writes the rows of `messages.kafka_columns` of a task; Spark sends it to the workers."""

    folder: str
    """An existing folder."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """`COUNTS` of each batch. A task without messages writes no file."""
        name = secrets.token_hex(8)
        with ExitStack() as opened:
            writer = None
            for batch in batches:
                if not batch.num_rows:
                    continue
                if writer is None:
                    writer = _Writer(TaskFiles.of(self.folder, name), opened)
                messages = parse(batch)
                writer.add(messages)
                yield _counts(messages, name)
            if writer is not None:
                writer.write()


def total(counts: Sequence[Row]) -> Total:
    """The sum of `COUNTS`."""
    reasons: dict[str, int] = {}
    offsets: dict[str, tuple[int, int]] = {}
    for row in counts:
        reasons[row.reason] = reasons.get(row.reason, 0) + row.messages
        key = f"{row.kafka_topic}-{row.kafka_partition}"
        first, last = offsets.get(key, (row.first, row.last))
        offsets[key] = (min(first, row.first), max(last, row.last))
    days = [day for row in counts for day in (row.first_day, row.last_day)]
    return Total(
        files=sorted({row.file for row in counts}),
        messages=sum(reasons.values()),
        bytes=sum((row.high << HALF_BITS) + row.low for row in counts),
        reasons=dict(sorted(reasons.items())),
        offsets=dict(sorted(offsets.items())),
        days=(min(days), max(days)) if days else None,
    )


class _Writer:
    """Writes the files of a task, and closes them with the stack."""

    def __init__(self, files: TaskFiles, opened: ExitStack) -> None:
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._writers = [
            opened.enter_context(parquet.ParquetWriter(str(path), arrow_schema(columns)))
            for path, columns in zip(files, (MESSAGES, SUMS_TABLE), strict=True)
        ]

    def add(self, messages: pa.RecordBatch) -> None:
        """Write messages, perhaps later."""
        self._held.append(messages)
        self._bytes += messages.nbytes
        if self._bytes >= HELD_BYTES:
            self.write()

    def write(self) -> None:
        """Write all messages that were added."""
        if self._held:
            messages = pa.Table.from_batches(self._held).combine_chunks()
            for writer, table in zip(self._writers, (messages, sums_of(messages)), strict=True):
                writer.write_table(table)
        self._held, self._bytes = [], 0


def _counts(messages: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """`COUNTS` of a batch of messages."""
    rows = messages.column("rows")
    bytes_ = rows.values.field("bytes").to_numpy()
    ends = rows.offsets.to_numpy()
    # Shape (messages + 1,): the sum over all rows before a message, of each half.
    halves = {
        half: np.append(0, np.cumsum(part))[ends]
        for half, part in (("high", bytes_ >> HALF_BITS), ("low", bytes_ & LOW))
    }
    columns = {key: messages.column(key) for key in (*_KEYS, "kafka_offset", "day")}
    table = pa.table(columns | {half: np.diff(before) for half, before in halves.items()})
    found = table.group_by([*_KEYS], use_threads=False).aggregate([*_MEASURES.values()])
    names = {
        result: (how if not column else f"{column}_{how}")
        for result, (column, how) in _MEASURES.items()
    }
    own = {result: found.column(name).combine_chunks() for result, name in names.items()}
    keys = {key: found.column(key).combine_chunks() for key in _KEYS}
    file = pa.array([name] * found.num_rows, pa.string())
    return as_batch({"file": file, **keys, **own}, arrow_schema(COUNTS), found.num_rows)
