"""A producer's view of a topic: leaders, their racks, and the backlog of each partition.

Two kinds of load, one for each semantics:

```
PartitionLoad    windows {0: 5, 3: 1}, nodes {4} excluded      what the window ledger counts
UpstreamLoad     queue_sizes   5 1 0                           what RecordAccumulator passes to
                 partition_ids 1 2 0                           BuiltInPartitioner
                 leader_racks  a b a      length 2
```

`upstream_load` does what `RecordAccumulator.partitionReady` does with the queues, one entry after
the other. It excludes a partition of a late node by releasing its slot, and the next partition uses
that slot. If the next partition's queue is empty, no size is written, and the partition inherits
the size in the slot:

```
entry             slot   sizes       ids
0: 5, excluded    0      5           0        slot 0 is released
1: 0              0      5           1        the queue of partition 1 is empty, but counts as 5
2: 1              1      5 1         1 2
```

Source: `RecordAccumulator.partitionReady` and `BuiltInPartitioner.updatePartitionLoadStats` of
kafka-clients 4.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.errors import ViewError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class TopicView:
    """The metadata of one topic.

    Raises `ViewError`.
    """

    leaders: tuple[int | None, ...]
    """Partition -> leader node, None = no leader; at least one partition."""
    racks: Mapping[int, str | None]
    """Node -> rack; None or empty = a broker without rack; an unlisted node has none."""

    def __post_init__(self) -> None:
        if not self.leaders:
            raise ViewError(
                "invalid view: expected at least 1 partition, got 0",
                wanted=">= 1 partition",
                had=0,
                hint="read the topic's metadata first",
            )

    def leader_rack(self, partition: int) -> str | None:
        """The rack of a partition's leader; None if partition, leader or rack is missing."""
        leader = self.leaders[partition] if 0 <= partition < len(self.leaders) else None
        return (self.racks.get(leader) or None) if leader is not None else None

    def leader_weights(self) -> Mapping[str, int]:
        """Rack -> number of partitions with a leader there, in the order of the racks' texts."""
        found: dict[str, int] = {}
        for partition in range(len(self.leaders)):
            rack = self.leader_rack(partition)
            if rack is not None:
                found[rack] = found.get(rack, 0) + 1
        return MappingProxyType(dict(sorted(found.items())))


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """The load under semantics `kip`."""

    windows: Mapping[int, int]
    """Partition -> windows that ended and are not acknowledged; absent = 0."""
    excluded_nodes: frozenset[int] = frozenset()
    """Nodes whose partitions must not be chosen."""


@dataclass(frozen=True, slots=True)
class UpstreamLoad:
    """The load under semantics `upstream`: the arguments of `updatePartitionLoadStats`.

    The first `length` slots count. Raises `ViewError` if the lengths of the columns differ.
    """

    queue_sizes: tuple[int, ...]
    """One entry per slot."""
    partition_ids: tuple[int, ...]
    """One entry per slot."""
    leader_racks: tuple[str | None, ...]
    """One entry per slot."""
    length: int
    """The number of slots that count."""

    def __post_init__(self) -> None:
        sizes = (len(self.queue_sizes), len(self.partition_ids), len(self.leader_racks))
        if len(set(sizes)) > 1 or not 0 <= self.length <= sizes[0]:
            raise ViewError(
                "invalid load: expected queue sizes, partition ids and leader racks of one length, "
                f"and a length up to that, got {', '.join(map(str, sizes))} and {self.length}",
                wanted="arrays of one length",
                had=sizes,
                hint="build the load with upstream_load",
            )


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One queue of `RecordAccumulator`: waiting batches of a partition that had a record."""

    partition: int
    node: int | None
    """The partition's leader; None = no leader."""
    rack: str | None = None
    """The leader's rack."""
    queue: int = 0
    """The number of batches."""
    excluded: bool = field(default=False, kw_only=True)
    """Whether the node is late, by partitioner.availability.timeout.ms."""


def upstream_load(entries: Sequence[QueueEntry], partition_count: int) -> UpstreamLoad | None:
    """The load that upstream computes from its queues, in their order; None: no weights.

    There are weights only if every partition has had a record, that is, has an entry.
    """
    if len(entries) < partition_count:
        return None
    sizes, ids = [0] * len(entries), [0] * len(entries)
    racks: list[str | None] = [None] * len(entries)
    slot = -1
    for entry in entries:
        if entry.node is None:
            continue
        slot += 1
        ids[slot], racks[slot] = entry.partition, entry.rack
        if entry.queue:
            sizes[slot] = entry.queue
            if entry.excluded:
                slot -= 1
    return UpstreamLoad(tuple(sizes), tuple(ids), tuple(racks), slot + 1)
