"""Writes rows of a frame to a topic; records without a key go to partitions near the executor.

```
executor in az1   key is null   ->  partitions led from az1   (core.partitioner, KIP-1123)
                  key = "k"     ->  the partition of the key, wherever it is led: unchanged
```

Columns: `value` and optionally `key`, binary or string. Delivery is at least once: a task ends when
every record is acknowledged, and a task that Spark runs again writes its records again.

What this does not do: write exactly once; choose the topic per row; call kafka-python (the caller
passes the function that does).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from rackwise.core.errors import InvalidConfig
from rackwise.core.override import override
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    import pyarrow as pa
    from pyspark.sql.types import StructType

    Record: TypeAlias = tuple[bytes | None, bytes | None]
    Write: TypeAlias = Callable[[Iterator[Record]], Mapping[int, int]]

COLUMNS = ("key", "value")
KINDS = ("binary", "string")


@dataclass(slots=True)
class WrittenRecords(WriterCommitMessage):
    """The result of one task: partition -> written records."""

    records: Mapping[int, int]


class _Tasks:
    """The write step of each task, on its executor; `write`: (key, value) pairs -> counts."""

    def __init__(self, write: Write) -> None:
        self._records = write

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenRecords:
        """Write the records of one task."""
        return WrittenRecords(self._records(_pairs(iterator)))


class TopicWriter(_Tasks, DataSourceArrowWriter):
    """Writes a frame."""


class TopicStreamWriter(_Tasks, DataSourceStreamArrowWriter):
    """Writes each batch of a stream."""

    @override
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing: the records are already acknowledged."""

    @override
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing: written records cannot be removed."""


def check_columns(schema: StructType) -> None:
    """Check that a frame has `value` and at most also `key`. Raises `InvalidConfig`."""
    kinds = {field.name: field.dataType.simpleString() for field in schema.fields}
    if "value" in kinds and kinds.keys() <= {*COLUMNS} and {*kinds.values()} <= {*KINDS}:
        return
    had = ", ".join(f"{escaped(name)} {kind}" for name, kind in kinds.items())
    raise InvalidConfig(
        f"expected a column value and optionally key, binary or string, got {had or 'none'}",
        wanted="value, key",
        had=had,
        hint="select the columns to write, for example to_json(struct(*)) as value",
    )


def _pairs(batches: Iterator[pa.RecordBatch]) -> Iterator[Record]:
    for batch in batches:
        columns = [_bytes(batch, name) for name in COLUMNS]
        yield from zip(*columns, strict=True)


def _bytes(batch: Any, name: str) -> list[bytes | None]:  # noqa: ANN401 (pyarrow has no types)
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    return [each.encode() if isinstance(each, str) else each for each in batch[name].to_pylist()]
