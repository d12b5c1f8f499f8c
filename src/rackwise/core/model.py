"""The values that every room shares: brokers, topics, partitions, a cluster at one moment.

All are frozen. Ids are integers >= 0, sizes are bytes, and `None` means not known, never zero.
Replica lists run preferred leader first, as in Kafka.

A cluster may hold a million partitions, so they live in a `PartitionTable`: numpy columns in
canonical order (topic as UTF-8 bytes, then partition number). Iterating it yields `Partition`
values; algorithms read the columns.

```
row  topic   partition  leader   replicas            Ragged(offsets=[0 3 6], values=[1 2 3 2 3 1])
0    orders  0          1        1 2 3               row 0 = values[0:3]
1    orders  1          -1       2 3 1               row 1 = values[3:6]
```
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.racks import Rack

Number = TypeVar("Number", np.int32, np.int64)

UNKNOWN = -1
"""In integer columns: no leader, size not known."""
GREATEST_ID = 2**31 - 1
"""Broker ids are 0 to this, Kafka's own range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDir:
    """One log folder of a broker; sizes in bytes. Source: DescribeLogDirs (KIP-827)."""

    path: str
    total_bytes: int | None = None
    usable_bytes: int | None = None
    error: str | None = None
    is_cordoned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """One broker as the cluster describes it.

    `is_live` is "listed and not fenced"; `is_fenced` is None where the protocol cannot tell
    (ZooKeeper mode). `addresses` are the IP addresses that `host` stands for, wanted by flow logs.
    """

    id: int
    rack: Rack | None = None
    is_live: bool = True
    is_fenced: bool | None = None
    host: str | None = None
    port: int | None = None
    addresses: tuple[str, ...] = ()
    log_dirs: tuple[LogDir, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic; `id` is Kafka's topic id in its own text form."""

    name: str
    id: str | None = None
    is_internal: bool = False
    min_insync_replicas: int | None = None
    retention_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition: `replicas` preferred leader first, those that a reassignment adds included."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    leader: int | None = None
    isr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    bytes: int | None = None
    bytes_in_per_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One member of a consumer group as the cluster describes it.

    `partitions` are (topic, partition) pairs, held since `generation`; `topics` is what it
    subscribes to. `instance_id` is `group.instance.id`, None of a dynamic member too.
    """

    member_id: str
    client_id: str
    address: str | None = None
    rack: Rack | None = None
    instance_id: str | None = None
    topics: tuple[str, ...] | None = None
    generation: int | None = None
    partitions: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One consumer group; what is None is not known.

    `protocol` is `classic` or `consumer`; `assignor` and `state` are Kafka's names, such as `range`
    and `Stable`.
    """

    group: str
    protocol: str | None = None
    assignor: str | None = None
    state: str | None = None
    members: tuple[GroupMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Configs:
    """Throttle keys (and `replica.selector.class`) exactly as read: an absent key is not `""`.

    A broker that told its configs is there also where none of the keys is set.
    """

    brokers: Mapping[int, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a reader of the cluster could not see, or could not take for what it should be.

    `kind`: `torn`, `not-visible`, `no-configs` or `client-rack`.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Rows of different lengths in two arrays; row i is `values[offsets[i]:offsets[i + 1]]`.

    `offsets`: int64 [rows + 1]; `values`: int32.
    """

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """From a sequence of rows."""
        lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        values = np.fromiter(
            (v for row in rows for v in row), dtype=np.int32, count=int(offsets[-1])
        )
        return cls(offsets, values)

    @classmethod
    def empty(cls, rows: int) -> Ragged:
        """`rows` rows that hold nothing."""
        return cls(np.zeros(rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(
            self.values, other.values
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each row, int64 [rows]."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row number of each value, int64 [values]."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def row(self, index: int) -> tuple[int, ...]:
        """One row as Python integers."""
        return tuple(self.values[self.offsets[index] : self.offsets[index + 1]].tolist())

    def keep(self, wanted: NDArray[np.bool_]) -> Ragged:
        """The same rows without the values whose place in `wanted` is false."""
        kept = np.zeros(len(wanted) + 1, dtype=np.int64)
        np.cumsum(wanted, out=kept[1:])
        return Ragged(kept[self.offsets], self.values[wanted])

    def take(self, order: NDArray[np.int64]) -> Ragged:
        """The rows in another order, or some of them."""
        lengths = self.lengths[order]
        offsets = np.zeros(len(order) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        starts = np.repeat(self.offsets[:-1][order] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[starts + np.arange(offsets[-1])])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionTable:
    """All partitions of a cluster as columns, in canonical order.

    `topics`: names in UTF-8 byte order; `topic`: int32 [rows], index into `topics`; `partition`:
    int32; `leader`: int32, -1 = none; `bytes`, `bytes_in_per_s`: int64, -1 = not known; the four
    `Ragged` columns hold broker ids.
    """

    topics: tuple[str, ...]
    topic: NDArray[np.int32]
    partition: NDArray[np.int32]
    leader: NDArray[np.int32]
    replicas: Ragged
    isr: Ragged
    adding: Ragged
    removing: Ragged
    bytes: NDArray[np.int64]
    bytes_in_per_s: NDArray[np.int64]

    @classmethod
    def of(cls, partitions: Iterable[Partition]) -> PartitionTable:
        """From values in any order."""
        rows = sorted(
            partitions, key=lambda p: (p.topic.encode("utf-8", "surrogatepass"), p.partition)
        )
        topics = tuple(dict.fromkeys(row.topic for row in rows))
        index = {name: i for i, name in enumerate(topics)}
        return cls(
            topics=topics,
            topic=np.array([index[row.topic] for row in rows], dtype=np.int32),
            partition=np.array([row.partition for row in rows], dtype=np.int32),
            leader=_column((row.leader for row in rows), np.int32),
            replicas=Ragged.of([row.replicas for row in rows]),
            isr=Ragged.of([row.isr for row in rows]),
            adding=Ragged.of([row.adding for row in rows]),
            removing=Ragged.of([row.removing for row in rows]),
            bytes=_column((row.bytes for row in rows), np.int64),
            bytes_in_per_s=_column((row.bytes_in_per_s for row in rows), np.int64),
        )

    def __len__(self) -> int:
        return len(self.topic)

    def __iter__(self) -> Iterator[Partition]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, row: int) -> Partition:
        return Partition(
            topic=self.topics[self.topic[row]],
            partition=int(self.partition[row]),
            replicas=self.replicas.row(row),
            leader=_known(self.leader[row]),
            isr=self.isr.row(row),
            adding=self.adding.row(row),
            removing=self.removing.row(row),
            bytes=_known(self.bytes[row]),
            bytes_in_per_s=_known(self.bytes_in_per_s[row]),
        )

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionTable):
            return NotImplemented
        return (
            self.topics == other.topics
            and all(
                np.array_equal(a, b)
                for a, b in (
                    (self.topic, other.topic),
                    (self.partition, other.partition),
                    (self.leader, other.leader),
                    (self.bytes, other.bytes),
                    (self.bytes_in_per_s, other.bytes_in_per_s),
                )
            )
            and (self.replicas, self.isr, self.adding, self.removing)
            == (other.replicas, other.isr, other.adding, other.removing)
        )

    __hash__ = None  # type: ignore[assignment]

    def name(self, row: int) -> str:
        """`orders-0`, as Kafka writes a topic-partition."""
        return f"{self.topics[self.topic[row]]}-{self.partition[row]}"

    @property
    def placed(self) -> Ragged:
        """Replicas without the adding ones of a running reassignment. Source: KIP-455."""
        is_moving = np.repeat(self.adding.lengths > 0, self.replicas.lengths)
        moving = np.flatnonzero(is_moving)
        if not len(moving):
            return self.replicas
        rows = np.searchsorted(self.replicas.offsets, moving, side="right") - 1
        width = np.int64(2**31)
        adding = self.adding.rows * width + self.adding.values
        is_placed = np.ones(len(is_moving), dtype=np.bool_)
        is_placed[moving] = ~np.isin(rows * width + self.replicas.values[moving], adding)
        return self.replicas.keep(is_placed)


def _column(values: Iterable[int | None], dtype: type[Number]) -> NDArray[Number]:
    return np.array([UNKNOWN if value is None else value for value in values], dtype=dtype)


def _known(value: np.signedinteger) -> int | None:
    return None if value == UNKNOWN else int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster at one moment. `brokers` are in id order; `taken_at` is UTC, ISO 8601 with `Z`.

    `source` is `kafka`, `reassignment` or `suppose`.
    """

    cluster_id: str | None
    taken_at: str
    brokers: tuple[Broker, ...]
    topics: Mapping[str, Topic]
    partitions: PartitionTable
    groups: tuple[Group, ...] = ()
    configs: Configs = field(default_factory=Configs)
    notes: tuple[Note, ...] = ()
    source: str = "kafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class FairLoads:
    """What each broker should hold: the fair range, by broker id, both ends included.

    `low`, `high`: replicas; `leader_low`, `leader_high`: preferred leaderships; `topic_caps`: topic
    -> broker id -> most replicas of it. What is absent has no limit. A planner computes it; the
    audit only compares.
    """

    low: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    high: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    leader_low: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    leader_high: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    topic_caps: Mapping[str, Mapping[int, int]] = field(
        default_factory=lambda: MappingProxyType({})
    )
