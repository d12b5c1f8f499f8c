"""Makes the snapshots of each look: the world before the first flow, plus what the batches added.

Between two looks, the end of a log grows by the records written, its bytes by their bytes, and the
commits of a group by the records that it read. A batch counts from the second of its flow on:

```
look 0   00:00   end  9000   bytes 900,000   committed  9000
                 batch of 40 records at 05:59:59, read at 06:00:10
look 1   06:00   end  9040   bytes 904,000   committed  9000
look 2   12:00   end  9040   bytes 904,000   committed  9040
```

Files follow each other in time, so one pass over them makes all looks, and only the sums are kept.
All brokers answer at the second of the look. Offsets of a partition without leader are not known.

What this does not do: move leaders, replicas or members between looks; write rates, because two
looks are the meter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.looks.logs import starts_after
from rackwise.core.fleet.world.endpoints import NOBODY
from rackwise.core.model import UNKNOWN, AnswerTimes, Group, GroupMember, Offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.looks.batches import Batches, Metering
    from rackwise.core.fleet.looks.readers import TopicReaders
    from rackwise.core.fleet.world.options import FleetOptions
    from rackwise.core.fleet.world.topology import Topology
    from rackwise.core.model import Cluster, PartitionId, Topic
    from rackwise.core.racks import Rack

SECOND_MS = 1000
RETENTION_MS = 7 * 86_400_000
PROTOCOLS = (("consumer", "uniform"), ("classic", "range"))
"""Protocol and assignor; groups have them in turn."""
GENERATION = 1
"""Members never change, so every group is in its first generation."""
UNLIMITED = -1
"""`retention.ms` of a topic that keeps everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookState:
    """The logs and commits at one moment."""

    end: NDArray[np.int64]
    """Next offset, [partitions]."""
    start: NDArray[np.int64]
    """First offset, [partitions]."""
    bytes: NDArray[np.int64]
    """Size of one replica, [partitions]."""
    committed: NDArray[np.int64]
    """Next offset that the reader will read, [claims]."""


def look_states(
    options: FleetOptions,
    world: Topology,
    metering: Metering,
    draw: Callable[[int], Batches],
) -> Iterator[LookState]:
    """The state at each look; `draw` returns the batches of a file."""
    partitions, readers, logs = world.partitions, metering.readers, metering.logs
    topic = np.repeat(np.arange(len(partitions.size)), partitions.size)
    claimed = readers.claimed(partitions.first)
    written = np.zeros(len(logs.end), dtype=np.int64)
    read = np.zeros(len(claimed), dtype=np.int64)

    def state() -> LookState:
        end, committed = logs.end + written, logs.committed + read
        read_by_all = end.copy()
        np.minimum.at(read_by_all, claimed, committed)
        start = starts_after(logs, topic, end, read_by_all)
        return LookState(
            end=end,
            start=start,
            bytes=(end - start) * logs.record_bytes[topic],
            committed=committed,
        )

    later = frozenset(options.look_times()[1:])
    yield state()
    for index in range(options.files):
        batches = draw(index)
        claim = (
            readers.claim[batches.reading]
            + batches.partition[batches.batch]
            - partitions.first[batches.topic[batches.batch]]
        )
        low, high = options.span(index)
        for time in [*sorted(time for time in later if low < time < high), high]:
            is_new = (low <= batches.start) & (batches.start < time)
            np.add.at(written, batches.partition[is_new], batches.records[is_new])
            is_new = (low <= batches.read_at) & (batches.read_at < time)
            np.add.at(read, claim[is_new], batches.records[batches.batch[is_new]])
            low = time
            if time in later:
                yield state()


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyCluster:
    """What all looks at one cluster have in common."""

    cluster: Cluster
    """Without offsets and commits."""
    rows: slice
    """Its rows in `Partitions`."""
    claims: Mapping[str, Mapping[str, tuple[slice, slice]]]
    """Group -> topic -> claims, and their rows in `Partitions`."""
    sizes: Mapping[str, int]
    """Topic -> number of its partitions, with and without leader."""


def steady_cluster(
    cluster: Cluster,
    number: int,
    world: Topology,
    metering: Metering,
    racks: Sequence[Rack],
) -> SteadyCluster:
    """Cluster `number` of the world, with its groups; it replaces those that it had."""
    readers = metering.readers
    partitions, table = world.partitions, cluster.partitions
    low, high = partitions.edges[number : number + 2].tolist()
    first = [*partitions.first.tolist(), len(partitions.leader)]
    # The greatest number and one: a snapshot of a part of the cluster may leave some out.
    counts = np.zeros(len(table.topics), dtype=np.int64)
    np.maximum.at(counts, table.topic, table.partition.astype(np.int64) + 1)
    sizes = dict(zip(table.topics, counts.tolist(), strict=True))
    names = (*world.clients.groups, None)
    claims: dict[str, dict[str, tuple[slice, slice]]] = {}
    owned: dict[int, list[PartitionId]] = {}
    for reading in range(int(readers.first[low]), int(readers.first[high])):
        topic = int(readers.topic[reading])
        name, group = partitions.names[topic], names[readers.group[reading]]
        if group is None:
            continue
        claims.setdefault(group, {})[name] = (
            slice(int(readers.claim[reading]), int(readers.claim[reading + 1])),
            slice(first[topic], first[topic + 1]),
        )
        numbers = np.arange(sizes[name])
        owners = readers.owner(np.full(len(numbers), reading), numbers)
        for owner, partition in zip(owners.tolist(), numbers.tolist(), strict=True):
            owned.setdefault(owner, []).append((name, partition))
    trimmed = dict(
        zip(partitions.names[low:high], metering.logs.is_trimmed[low:high].tolist(), strict=True)
    )
    groups = tuple(
        Group(
            group=group,
            protocol=PROTOCOLS[place % len(PROTOCOLS)][0],
            assignor=PROTOCOLS[place % len(PROTOCOLS)][1],
            state="Stable" if readers.has_members[team] else "Empty",
            members=tuple(
                replace(
                    _member(world, readers, racks, owner, owned.get(owner, ())),
                    topics=tuple(claims.get(group, ())),
                )
                for owner in range(*readers.edges[team : team + 2].tolist())
                if readers.has_members[team]
            ),
        )
        for place, group in enumerate(world.clients.groups)
        for team in [number * len(names) + place]
        if readers.edges[team] < readers.edges[team + 1]
    )
    return SteadyCluster(
        cluster=replace(
            cluster,
            name=cluster.name or f"cluster-{number + 1:03d}",
            topics={
                name: _with_retention(topic, is_trimmed=trimmed.get(name, False))
                for name, topic in cluster.topics.items()
            },
            groups=groups,
        ),
        rows=slice(first[low], first[high]),
        claims=claims,
        sizes=sizes,
    )


def snapshot_at(
    time: int, state: LookState, steady: SteadyCluster, world: Topology, metering: Metering
) -> Cluster:
    """The snapshot of a cluster at an epoch second."""
    cluster, rows = steady.cluster, steady.rows
    table, row = cluster.partitions, world.partitions.row[steady.rows]
    unknown = np.full(len(table), UNKNOWN, dtype=np.int64)
    start, end, epoch, bytes_ = unknown.copy(), unknown.copy(), unknown.copy(), table.bytes.copy()
    start[row], end[row], epoch[row] = (
        state.start[rows],
        state.end[rows],
        metering.logs.leader_epoch[rows],
    )
    bytes_[row] = state.bytes[rows]
    answers = {broker.id: time * SECOND_MS for broker in cluster.brokers if broker.is_live}
    return replace(
        cluster,
        taken_at=datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        partitions=replace(
            table,
            bytes=bytes_,
            bytes_in_per_s=unknown,
            offsets=Offsets(start=start, end=end, leader_epoch=epoch.astype(np.int32)),
        ),
        groups=tuple(
            replace(
                group,
                committed={
                    topic: _commits(
                        steady.sizes[topic], world.partitions.number[rows], state.committed[claims]
                    )
                    for topic, (claims, rows) in steady.claims.get(group.group, {}).items()
                },
                committed_at_ms=time * SECOND_MS,
            )
            for group in cluster.groups
        ),
        answered=AnswerTimes(offsets=answers, sizes=answers),
    )


def _with_retention(topic: Topic, *, is_trimmed: bool) -> Topic:
    return replace(
        topic, cleanup_policy="delete", retention_ms=RETENTION_MS if is_trimmed else UNLIMITED
    )


def _member(
    world: Topology,
    readers: TopicReaders,
    racks: Sequence[Rack],
    owner: int,
    partitions: Sequence[PartitionId],
) -> GroupMember:
    clients, ends = world.clients, world.endpoints
    client = int(readers.member[owner])
    rack = int(readers.client_rack[client]) if readers.reports_rack[owner] else NOBODY
    return GroupMember(
        member_id=f"{clients.ids[client]}-{owner:08x}",
        client_id=clients.ids[client],
        address=ends.words[ends.address[clients.endpoint + client]],
        rack=None if rack == NOBODY else racks[rack],
        generation=GENERATION,
        partitions=tuple(partitions),
    )


def _commits(
    size: int, numbers: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[int | None, ...]:
    """Offsets by partition number; None for a partition without leader, which nobody reads."""
    by_number: list[int | None] = [None] * size
    for number, offset in zip(numbers.tolist(), offsets.tolist(), strict=True):
        by_number[number] = offset
    return tuple(by_number)
