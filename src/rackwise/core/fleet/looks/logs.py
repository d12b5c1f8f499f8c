"""Generates the logs of partitions before the first flow, and their state at any later moment.

All records of a topic have one size, so bytes, records and offsets agree exactly. A log grows by
what is written. Where retention runs, whole segments leave its beginning. The log stays as long as
it was at first, or one segment, and no record is deleted that a reader has not read:

```
topic orders, 100 bytes per record      start    end      bytes
at the first look                       5000     9000     400,000
7000 records later, all kept            5000    16000   1,100,000
7000 records later, retention runs     11550    16000     445,000      segments of 655 records
```

What this does not do: compact; change a leader; draw what is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.draws import Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.fleet.looks.readers import TopicReaders
    from rackwise.core.fleet.world.options import FleetOptions
    from rackwise.core.fleet.world.topology import Topology

LOG_STREAM = 5
LEAST_DIGITS, MOST_DIGITS = 7, 13
"""Sizes of records have this many binary digits: 64 bytes to 8 KiB."""
FIRST_OFFSETS = 2**20
EPOCHS = 32
LAG_ONE_IN = 4
"""One in this many readings is behind the end of the log, always by the same records."""
LAGS = 1000
SEGMENT_BYTES = 2**16
"""Small, so that retention is visible between looks at little traffic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLogs:
    """The logs at the first look."""

    record_bytes: NDArray[np.int64]
    """Bytes of each record, [topics]."""
    is_trimmed: NDArray[np.bool_]
    """Whether retention deletes records, [topics]."""
    start: NDArray[np.int64]
    """First offset, [partitions]."""
    end: NDArray[np.int64]
    """Next offset, [partitions]."""
    leader_epoch: NDArray[np.int32]
    """[partitions]."""
    committed: NDArray[np.int64]
    """Next offset that the reader will read, [claims]."""


def generate_logs(options: FleetOptions, world: Topology, readers: TopicReaders) -> PartitionLogs:
    """The logs of all partitions; each is as long as the snapshot says, in whole records."""
    stream, partitions = Stream(options.seed, LOG_STREAM), world.partitions
    topics, rows = len(partitions.size), len(partitions.leader)
    record_bytes = stream.sizes(LEAST_DIGITS, MOST_DIGITS, topics)
    topic = np.repeat(np.arange(topics), partitions.size)
    start = stream.below(FIRST_OFFSETS, rows)
    records = np.maximum(partitions.bytes, 0) // record_bytes[topic]
    end: NDArray[np.int64] = start + records.astype(np.int64)
    is_behind = np.equal(stream.below(LAG_ONE_IN, len(readers.topic)), 0)
    lag = np.repeat(np.where(is_behind, stream.below(LAGS, len(is_behind)), 0), readers.sizes)
    claimed = readers.claimed(partitions.first)
    return PartitionLogs(
        record_bytes=record_bytes,
        is_trimmed=stream.hits(options.retention, topics),
        start=start,
        end=end,
        leader_epoch=stream.below(EPOCHS, rows).astype(np.int32),
        committed=np.maximum(end[claimed] - lag, start[claimed]),
    )


def starts_after(
    logs: PartitionLogs,
    topic: NDArray[np.int64],
    end: NDArray[np.int64],
    read_by_all: NDArray[np.int64],
) -> NDArray[np.int64]:
    """First offset of each log, which has grown to `end`.

    `topic`: the topic row of each partition; `read_by_all`: the first offset that a group has not
    read, or `end`.
    """
    segment = SEGMENT_BYTES // logs.record_bytes[topic]
    kept = np.maximum(logs.end - logs.start, segment)
    whole = np.maximum(np.minimum(end - kept, read_by_all) - logs.start, 0)
    return np.where(logs.is_trimmed[topic], logs.start + whole // segment * segment, logs.start)
