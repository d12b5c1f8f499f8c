"""Draws the batches of records of one file: what is written, where it is copied, and who reads it.

A batch is the records that producers write to one partition at one moment. Every live follower
copies it, and every reader of the topic reads it within a minute, in the same file. The flows of a
batch are

```
produce     1, or more for the last batch of a file     its records, divided over the producers
replicate   1 for each live follower                    all records
fetch       1 for each reading of the topic             all records; of a job one in 16
```

Batches are drawn until the next one does not fit into the flows of the file; the flows that are
left go to the last batch, whose records are divided over more producers. A file is a function of
(seed, file index), and snapshots draw the same batches again.

What this does not do: make flows of them (see `flows.batch_flows`); sum them up (see `snapshots`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.draws import Stream
from rackwise.core.fleet.looks.logs import generate_logs
from rackwise.core.fleet.looks.readers import SAMPLED_ONE_IN, generate_readers
from rackwise.core.fleet.world.endpoints import NOBODY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.looks.logs import PartitionLogs
    from rackwise.core.fleet.looks.readers import TopicReaders
    from rackwise.core.fleet.world.options import FleetOptions
    from rackwise.core.fleet.world.topology import Topology
    from rackwise.core.model import Cluster

BATCH_STREAM = 6
LEAST_DIGITS, MOST_DIGITS = 10, 30
"""Sizes of a batch have this many binary digits: half a KiB to a GiB."""
DELAY_S = 60
"""A batch is read in less than this many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metering:
    """What the traffic between looks is drawn from, beside the world."""

    readers: TopicReaders
    logs: PartitionLogs


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """Batches as columns, in no order of time."""

    partition: NDArray[np.int64]
    """Partition row in `Partitions`, [batches]."""
    topic: NDArray[np.int64]
    """Topic row in `Partitions`, [batches]."""
    cluster: NDArray[np.int64]
    """[batches]."""
    records: NDArray[np.int64]
    """[batches]."""
    producers: NDArray[np.int64]
    """Number of produce flows, [batches]."""
    start: NDArray[np.int64]
    """Epoch second, [batches]."""
    reading: NDArray[np.int64]
    """Row in the readings of `TopicReaders`, [reads]."""
    batch: NDArray[np.int64]
    """The batch that is read, [reads]."""
    fetched: NDArray[np.int64]
    """Records that are read, [reads]; the reader skips the rest of the batch."""
    read_at: NDArray[np.int64]
    """Epoch second, [reads]."""


def generate_metering(
    options: FleetOptions, clusters: Sequence[Cluster], world: Topology, racks: int
) -> Metering:
    """The readers and logs of a fleet; `racks`: the number of racks."""
    readers = generate_readers(options, clusters, world, racks)
    return Metering(readers=readers, logs=generate_logs(options, world, readers))


def draw_batches(
    options: FleetOptions,
    world: Topology,
    metering: Metering,
    *,
    index: int,
    flows: int,
) -> Batches:
    """The batches of file `index`, which has this number of flows for them."""
    readers = metering.readers
    stream = Stream(options.seed, BATCH_STREAM, index)
    cluster = stream.below(len(world.has_ipv6), flows)
    topic = world.partitions.draw_topics(stream, cluster)
    partition = world.partitions.first[topic] + stream.below(world.partitions.size[topic])
    readings = readers.first[topic + 1] - readers.first[topic]
    needed = np.cumsum(1 + world.partitions.copies.lengths[partition] + readings)
    count = int(np.searchsorted(needed, flows, side="right"))
    cluster, topic, partition = cluster[:count], topic[:count], partition[:count]
    producers = np.ones(count, dtype=np.int64)
    producers[-1:] += flows - needed[count - 1 : count]
    size = stream.sizes(LEAST_DIGITS, MOST_DIGITS, count)
    low, high = options.span(index)
    start = low + stream.below(high - low, count)
    readings = readings[:count]
    batch = np.repeat(np.arange(count), readings)
    nth = np.arange(len(batch)) - np.repeat(np.cumsum(readings) - readings, readings)
    delay = stream.below(np.minimum(high - start[batch], DELAY_S))
    reading = readers.first[topic][batch] + nth
    records = np.maximum(size // metering.logs.record_bytes[topic], producers)
    sampled = np.maximum(records // SAMPLED_ONE_IN, 1)
    return Batches(
        partition=partition,
        topic=topic,
        cluster=cluster,
        records=records,
        producers=producers,
        start=start,
        reading=reading,
        batch=batch,
        fetched=np.where(readers.group[reading] == NOBODY, sampled[batch], records[batch]),
        read_at=start[batch] + delay,
    )
