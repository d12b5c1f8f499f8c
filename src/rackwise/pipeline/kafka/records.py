"""A Kafka stream source in Python; each task reads from replicas in the rack of its executor.

The columns are those of Spark's own connector, so that both connectors work with `stream.messages`.
The checkpoint stores the offsets, one number per partition, and the topic id if it is known:
`{"t": {"0": 123, "1": 77}, "t/id": "5e0b..."}`. No topic has a slash in its name.

```
driver     latestOffset   end offsets of a batch; a limit is divided in proportion to the backlog
           partitions     one task per partition with new records
executor   read           gets the rack from its own environment, reads from a replica there
```

With `availableNow`, the end offsets are recorded once at the start, and the batches stop there.

A topic that was deleted and created again starts at offset 0. Its records below the offsets of the
checkpoint would never be read, so the stream ends with an error before the next batch:

```
id in the checkpoint, id of the topic     they differ                      other topic
one of the two is not known               an end is below its start, or a  other topic
                                          partition of the checkpoint is gone
                                          each end is at its start or above  not noticed
```

What this does not do: send a task to a rack, because Spark cannot do this; call kafka-python (the
caller passes the functions that do).
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

from rackwise.core.errors import CheckpointMismatch
from rackwise.core.override import override
from rackwise.core.text import escaped

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

Offsets: TypeAlias = dict[str, Any]
"""What Spark stores: the topic's partition -> offset, and perhaps the topic id."""


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
    topic_id: Callable[[], str | None] | None = None
    """Returns the topic id, None if the brokers give none. Without this function, a topic that was
    created again is noticed only while one of its ends is below its offset in the checkpoint."""


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
        self.is_checked = False
        """Whether a stored offset was compared with the topic."""

    @override
    def initialOffset(self) -> Offsets:  # noqa: N802 (Spark's name)
        """The offsets at which a new checkpoint starts."""
        place = 0 if self.topic.starting == "earliest" else 1
        # The id comes first: if the topic is replaced now, the next batch fails.
        topic_id = self._topic_id()
        first = {number: both[place] for number, both in self.topic.ends().items()}
        return self._to_offsets(first, topic_id)

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
        """The end offsets of the next batch. Raises `CheckpointMismatch`."""
        ends = self._ends() if self.target is None else self.target
        # The id comes last: it tells of a topic that was replaced while its ends were read.
        topic_id = self._topic_id()
        self._check(start, ends, topic_id)
        begin = self._from_offsets(start)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self.topic.most
        reached = ends if isinstance(limit, ReadAllAvailable) else limited(begin, ends, most)
        # Spark starts a batch for each change, also if it is only the id that an old offset lacks.
        return start if reached == begin else self._to_offsets(reached, topic_id)

    @override
    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """One task for each partition with new records; a new partition starts at offset 0.

        Raises `CheckpointMismatch`.
        """
        if not self.is_checked:  # a batch of an earlier run that was not committed
            self._check(end, self._ends(), self._topic_id())
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

    def _topic_id(self) -> str | None:
        return None if self.topic.topic_id is None else self.topic.topic_id()

    def _check(self, stored: Offsets, ends: Mapping[int, int], topic_id: str | None) -> None:
        """Check that stored offsets are of this topic. Raises `CheckpointMismatch`."""
        name, known = self.topic.name, stored.get(self._id_key)
        if known is not None and topic_id is not None and known != topic_id:
            raise _other_topic(name, f"the topic id {known}", topic_id)
        for number, at in sorted(self._from_offsets(stored).items()):
            end = ends.get(number)
            if end is None or end < at:
                wanted = f"offset {at} or more in partition {number}"
                had = "no such partition" if end is None else f"an end of {end}"
                raise _other_topic(name, wanted, had)
        self.is_checked = True

    @property
    def _id_key(self) -> str:
        return f"{self.topic.name}/id"

    def _to_offsets(self, offsets: Mapping[int, int], topic_id: str | None) -> Offsets:
        """Partition -> offset and the topic id, as Spark stores them in the checkpoint."""
        stored = {self.topic.name: {str(number): offsets[number] for number in sorted(offsets)}}
        return stored if topic_id is None else {**stored, self._id_key: topic_id}

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
    backlog = {number: last - start.get(number, 0) for number, last in ends.items()}
    whole = sum(backlog.values())
    if whole <= most:
        return dict(ends)
    shares = {number: lag * most // whole for number, lag in backlog.items()}
    if not any(shares.values()):
        shares[max(backlog, key=lambda number: (backlog[number], -number))] = 1
    return {number: start.get(number, 0) + share for number, share in shares.items()}


def _other_topic(name: str, wanted: str, had: str) -> CheckpointMismatch:
    return CheckpointMismatch(
        f"topic {escaped(name)} is not the topic of the checkpoint: expected {wanted}, got "
        f"{escaped(had)}; the topic was deleted and created again, or lost records",
        wanted=wanted,
        had=had,
        where=name,
    )


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
