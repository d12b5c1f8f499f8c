"""A Kafka stream source in Python; each task reads from replicas in the rack of its executor.

The columns are those of Spark's own connector, so that both connectors work with `stream.messages`.
The checkpoint stores the offsets, one number per partition: `{"topic": {"0": 123, "1": 77}}`.

```
driver     latestOffset   end offsets of a batch; a limit is divided in proportion to the backlog
           partitions     one task per partition with new records
executor   read           gets the rack from its own environment, reads from a replica there
```

With `availableNow`, the end offsets are recorded once at the start, and the batches stop there.

What this does not do: send a task to a rack, because Spark cannot do this; call kafka-python (the
caller passes the two functions that do).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rackwise.pipeline.kafka.sink import Write

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int"
)
MOST_RECORDS = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ARROW = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)

Offsets: TypeAlias = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTopic:
    """A topic to read or write, and its functions; other processes import the functions by name."""

    name: str
    ends: Callable[[], Mapping[int, tuple[int, int]]]
    """Returns partition -> (first offset, last offset + 1)."""
    records: Callable[[int, int, int], Iterator[list[Any]]]
    """Partition, first offset, end offset -> lists of records; each record has key, value, offset,
    timestamp (ms) and timestamp_type."""
    write: Write | None = None
    """(key, value) pairs -> number of written records per partition; None for a topic that is only
    read."""
    starting: str = "earliest"
    """Where a new checkpoint starts: `earliest` or `latest`."""
    most: int = MOST_RECORDS
    """Maximum records in a batch."""


class Part(InputPartition):
    """Records of one partition, `start <= offset < end`."""

    def __init__(self, partition: int, start: int, end: int) -> None:
        super().__init__((partition, start, end))
        self.partition, self.start, self.end = partition, start, end


class TopicReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads one topic: plans on the driver, reads on executors."""

    def __init__(self, topic: KafkaTopic) -> None:
        self.topic = topic
        self.target: Mapping[int, int] | None = None

    @override
    def initialOffset(self) -> Offsets:  # noqa: N802 (Spark's name)
        """The offsets at which a new checkpoint starts."""
        place = 0 if self.topic.starting == "earliest" else 1
        return self._to_offsets({number: both[place] for number, both in self.topic.ends().items()})

    @override
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Record the current end offsets; the batches stop there."""
        self.target = self._ends()

    @override
    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The maximum number of records in a batch."""
        return ReadMaxRows(self.topic.most)

    @override
    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """The end offsets of the next batch."""
        ends = self._ends() if self.target is None else self.target
        begin = self._from_offsets(start)
        if isinstance(limit, ReadAllAvailable):
            return self._to_offsets({**begin, **_later(begin, ends)})
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self.topic.most
        return self._to_offsets(limited(begin, ends, most))

    @override
    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """One task for each partition with new records; a new partition starts at offset 0."""
        begin = self._from_offsets(start)
        return [
            Part(number, begin.get(number, 0), last)
            for number, last in self._from_offsets(end).items()
            if last > begin.get(number, 0)
        ]

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records that one task reads; runs on an executor."""
        return records_of(self.topic, partition)

    def _ends(self) -> dict[int, int]:
        return {number: last for number, (_, last) in self.topic.ends().items()}

    def _to_offsets(self, offsets: Mapping[int, int]) -> Offsets:
        """Partition -> offset, as Spark stores it in the checkpoint."""
        return {self.topic.name: {str(number): offsets[number] for number in sorted(offsets)}}

    def _from_offsets(self, stored: Offsets) -> dict[int, int]:
        return {int(number): at for number, at in stored.get(self.topic.name, {}).items()}


def records_of(topic: KafkaTopic, part: InputPartition) -> Iterator[pa.RecordBatch]:
    """The records of one part, read in this process."""
    if not isinstance(part, Part):
        raise TypeError(type(part))
    for records in topic.records(part.partition, part.start, part.end):
        yield _batch(topic.name, part.partition, records)


def limited(start: Mapping[int, int], ends: Mapping[int, int], most: int) -> dict[int, int]:
    """End offsets of at most `most` records, in proportion to the backlog; at least one, if any.

    >>> limited({0: 0, 1: 5}, {0: 30, 1: 15}, 20)
    {0: 15, 1: 10}
    """
    later = {**start, **_later(start, ends)}
    backlog = {number: last - start.get(number, 0) for number, last in later.items()}
    whole = sum(backlog.values())
    if whole <= most:
        return later
    shares = {number: lag * most // whole for number, lag in backlog.items()}
    if not any(shares.values()):
        shares[max(backlog, key=lambda number: (backlog[number], -number))] = 1
    return {number: start.get(number, 0) + share for number, share in shares.items()}


def _later(start: Mapping[int, int], ends: Mapping[int, int]) -> dict[int, int]:
    """Offsets that never decrease; the ends of a re-created topic may be below the start."""
    return {number: max(last, start.get(number, 0)) for number, last in ends.items()}


def _batch(topic: str, partition: int, records: Sequence[Any]) -> pa.RecordBatch:
    rows = len(records)
    columns = [
        [each.key for each in records],
        [each.value for each in records],
        [topic] * rows,
        [partition] * rows,
        [each.offset for each in records],
        [EPOCH + timedelta(milliseconds=each.timestamp) for each in records],
        [each.timestamp_type for each in records],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
