"""A topic as a table: all its current records, or a part of them, read in the executor's rack.

There is one task per partition. If Spark pushes filters down, the filters on `partition` and
`offset` restrict what is read from the brokers, and Spark applies the other filters:

```
where("partition = 3 and offset >= 900 and value is not null")
       partition 3, offsets 900..          value is not null: Spark's
```

Spark rejects a reader with filter pushdown while `spark.sql.python.filterPushdown.enabled` is off,
which is the default. So there are two readers.

Spark 4.2 keeps the pushed filters for the life of a loaded frame: another query on the same frame
would lack rows. Load the frame again for each query, or do not push filters down.

What this does not do: read a topic as of a time; filter on keys or values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from rackwise.core.override import override
from rackwise.pipeline.kafka.records import KafkaTopic, Part, records_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
"""Whether Spark pushes filters down; if it is off, Spark rejects a reader with pushdown."""


class TopicTable(DataSourceReader):
    """Reads all records of a topic."""

    def __init__(self, topic: KafkaTopic) -> None:
        self.topic = topic
        self.only: frozenset[int] | None = None
        self.first = 0
        self.end: int | None = None

    @override
    def partitions(self) -> Sequence[InputPartition]:
        """One task for each partition with a record to read."""
        parts = []
        for number, (first, last) in sorted(self.topic.ends().items()):
            start = max(first, self.first)
            end = last if self.end is None else min(last, self.end)
            if start < end and (self.only is None or number in self.only):
                parts.append(Part(number, start, end))
        return parts

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records that one task reads; runs on an executor."""
        return records_of(self.topic, partition)


class FilteredTable(TopicTable):
    """Reads the records of a topic in some partitions and offset ranges."""

    @override
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (Spark's name)
        """Accept filters on partition and offset; return the others to Spark."""
        return [each for each in filters if not self._takes(each)]

    def _takes(self, one: Filter) -> bool:
        match one:
            case IsNotNull(attribute=("partition",) | ("offset",)):
                return True
            case EqualTo(attribute=("partition",), value=int(number)):
                self._keep({number})
            case In(attribute=("partition",), value=tuple(numbers)):
                self._keep(set(numbers))
            case EqualTo(attribute=("offset",), value=int(at)):
                self._between(at, at + 1)
            case GreaterThan(attribute=("offset",), value=int(at)):
                self._between(at + 1, None)
            case GreaterThanOrEqual(attribute=("offset",), value=int(at)):
                self._between(at, None)
            case LessThan(attribute=("offset",), value=int(at)):
                self._between(0, at)
            case LessThanOrEqual(attribute=("offset",), value=int(at)):
                self._between(0, at + 1)
            case _:
                return False
        return True

    def _keep(self, numbers: set[int]) -> None:
        self.only = frozenset(numbers if self.only is None else self.only & numbers)

    def _between(self, first: int, end: int | None) -> None:
        self.first = max(self.first, first)
        if end is not None:
            self.end = end if self.end is None else min(self.end, end)
