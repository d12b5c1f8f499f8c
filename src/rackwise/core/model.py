"""The values that all rooms share: brokers, topics, partitions, a cluster at one moment.

All are frozen. Ids are integers >= 0, sizes are in bytes, and None means not known, never zero.
Replica lists have the preferred leader first, as in Kafka.

A cluster may have a million partitions. They are stored in a `PartitionTable`: numpy columns in
canonical order (topic as UTF-8 bytes, then partition number). Algorithms read the columns;
iteration yields `Partition` values.

```
row  topic   partition  leader   replicas            Ragged(offsets=[0 3 6], values=[1 2 3 2 3 1])
0    orders  0          1        1 2 3               row 0 = values[0:3]
1    orders  1          -1       2 3 1               row 1 = values[3:6]
```
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np

from rackwise.core.odd_racks import NO_MAP, mapped_rack, settle_racks
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.json.declare import (
        LATER,
        MAX_ID,
        OMITTED,
        Between,
        BrokerId,
        Bytes,
        Count,
        IpAddress,
        Milliseconds,
        NameOrNull,
        NameText,
        Once,
        PartitionNumber,
        Port,
        Says,
        TopicName,
    )
    from rackwise.core.odd_racks import OddRack
    from rackwise.core.racks import Rack

Number = TypeVar("Number", np.int32, np.int64)

UNKNOWN = -1
"""In integer columns: no leader, or a size or rate that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDir:
    """One log folder of a broker. Source: DescribeLogDirs (KIP-827)."""

    path: str
    total_bytes: Bytes | None = None
    """Size of the file system."""
    usable_bytes: Bytes | None = None
    """Free bytes that Kafka can use."""
    error: str | None = None
    """Kafka's name of the error; None for a healthy folder."""
    is_cordoned: bool = False
    """Whether the folder accepts no new replicas (KIP-1066)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """One broker as the cluster describes it."""

    id: BrokerId
    rack: Rack | None = None
    is_live: bool = True
    """Listed and not fenced."""
    is_fenced: bool | None = None
    """None where the protocol does not say (ZooKeeper mode)."""
    host: NameOrNull = None
    port: Port | None = None
    addresses: tuple[IpAddress, ...] = ()
    """IP addresses of `host`; flow logs name brokers by address."""
    log_dirs: tuple[LogDir, ...] = ()

    @property
    def is_cordoned(self) -> bool:
        """Whether the broker takes no new replicas: all its healthy log folders are cordoned.

        False where no log folder was read. Source: KIP-1066.
        """
        healthy = [each.is_cordoned for each in self.log_dirs if each.error is None]
        return bool(healthy) and all(healthy)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTail:
    """The last record batches of one partition: how many bytes an offset takes there."""

    partition: PartitionNumber
    bytes: Annotated[int, Between(1, wanted="a size in bytes from 1")]
    """Bytes of the batches, as stored."""
    offsets: Annotated[int, Between(1, wanted="a number of offsets from 1")]
    """Offsets that the batches span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic."""

    name: TopicName
    id: NameOrNull = None
    """Kafka's topic id, as base64 text."""
    is_internal: bool = False
    min_insync_replicas: Annotated[
        int | None, Between(1, wanted="a number of replicas from 1, or null")
    ] = None
    retention_bytes: Annotated[
        int | None, Between(-1, wanted="a size in bytes, -1 for no limit, or null")
    ] = None
    """-1: no limit."""
    cleanup_policy: Annotated[NameOrNull, OMITTED] = None
    """`cleanup.policy`: `delete`, `compact` or both, separated by a comma."""
    retention_ms: Annotated[
        int | None, Between(-1, wanted="milliseconds, -1 for no limit, or null"), OMITTED
    ] = None
    """-1: no limit."""
    tails: Annotated[tuple[LogTail, ...], Once("partition", by="partition"), OMITTED] = ()
    """Ends of logs that were read, where offsets alone do not give bytes (compacted topics)."""

    @property
    def is_compacted(self) -> bool:
        """Whether the log cleaner removes records of the topic."""
        return "compact" in (self.cleanup_policy or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    """Preferred leader first, including those that a reassignment adds."""
    leader: int | None = None
    """The current leader; None if there is none."""
    isr: tuple[int, ...] = ()
    """The replicas in sync."""
    adding: tuple[int, ...] = ()
    """Brokers that a reassignment adds."""
    removing: tuple[int, ...] = ()
    """Brokers that a reassignment removes."""
    bytes: int | None = None
    """Size of one replica."""
    bytes_in_per_s: int | None = None
    """Rate of the bytes that producers write."""
    start_offset: int | None = None
    """First offset of the leader's log."""
    end_offset: int | None = None
    """Next offset that consumers can read (high watermark)."""
    leader_epoch: int | None = None
    """Number of the leader's term."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One member of a consumer group as the cluster describes it."""

    member_id: str
    client_id: str
    address: str | None = None
    rack: Rack | None = None
    instance_id: Annotated[str | None, LATER] = None
    """`group.instance.id`; None for a dynamic member as well."""
    topics: Annotated[
        tuple[Annotated[str, Says("a topic")], ...] | None, Says("a list of topics"), LATER
    ] = None
    """The topics that it subscribes to."""
    generation: Annotated[int | None, Between(-1, MAX_ID, "a generation"), LATER] = None
    """The generation since which it has its partitions."""
    partitions: tuple[
        Annotated[tuple[TopicName, PartitionNumber], Says("a pair of topic and partition")], ...
    ] = ()
    """(topic, partition) pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One consumer group; None means not known."""

    group: Annotated[str, Says("a group")]
    protocol: NameOrNull = None
    """`classic`, `consumer`, `share` or `streams`."""
    assignor: Annotated[str | None, LATER] = None
    """Kafka's name, such as `range`."""
    state: Annotated[NameOrNull, LATER] = None
    """Kafka's name, such as `Stable`."""
    members: Annotated[tuple[GroupMember, ...], Once("member", by="member_id")] = ()
    committed: Annotated[
        Mapping[
            TopicName, Annotated[tuple[Count | None, ...], Says("a list of offsets and nulls")]
        ],
        OMITTED,
    ] = field(default_factory=lambda: MappingProxyType({}))
    """Topic -> committed offset by partition number; None where nothing is committed."""
    committed_at_ms: Annotated[Milliseconds | None, OMITTED] = None
    """When the coordinator answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configs:
    """Throttle keys and `replica.selector.class`, exactly as read: an absent key is not `""`.

    A broker whose configs were read is present even if none of the keys is set.
    """

    brokers: Mapping[BrokerId, Mapping[str, str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTimes:
    """When each broker answered, by the clock of the reader: rates need both ends of a span."""

    offsets: Mapping[BrokerId, Milliseconds] = field(default_factory=lambda: MappingProxyType({}))
    """Broker -> when it answered with offsets."""
    sizes: Mapping[BrokerId, Milliseconds] = field(default_factory=lambda: MappingProxyType({}))
    """Broker -> when it answered with sizes of logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that the reader of a cluster could not see, or could not interpret."""

    kind: NameText
    """`torn`, `not-visible`, `no-configs`, `rates` or `client-rack`."""
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Rows of different lengths in two arrays; row i is `values[offsets[i]:offsets[i + 1]]`."""

    offsets: NDArray[np.int64]
    """[rows + 1]."""
    values: NDArray[np.int32]
    """[values], all rows one after the other."""

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
        """`rows` empty rows."""
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

    @property
    def firsts(self) -> NDArray[np.int64]:
        """First value of each row, int64 [rows]; -1 for an empty row."""
        firsts = np.append(self.values, np.int32(-1))[self.offsets[:-1]].astype(np.int64)
        return np.where(self.lengths > 0, firsts, -1)

    def row(self, index: int) -> tuple[int, ...]:
        """One row as Python integers."""
        return tuple(self.values[self.offsets[index] : self.offsets[index + 1]].tolist())

    def keep(self, wanted: NDArray[np.bool_]) -> Ragged:
        """The same rows, with only the values that `wanted` marks; `wanted`: bool [values]."""
        kept = np.zeros(len(wanted) + 1, dtype=np.int64)
        np.cumsum(wanted, out=kept[1:])
        return Ragged(kept[self.offsets], self.values[wanted])

    def part(self, rows: slice) -> Ragged:
        """Neighbouring rows; the values are a view."""
        first, last, _ = rows.indices(len(self))
        offsets = self.offsets[first : last + 1]
        return Ragged(offsets - offsets[0], self.values[offsets[0] : offsets[-1]])

    def equal_rows(self, other: Ragged) -> NDArray[np.bool_]:
        """Whether each row equals the same row of `other`, in order: bool [rows]."""
        equal: NDArray[np.bool_] = self.lengths == other.lengths
        rows = np.flatnonzero(equal)
        is_alike = len(rows) == len(equal)
        left, right = (self, other) if is_alike else (self.take(rows), other.take(rows))
        equal[rows[left.rows[left.values != right.values]]] = False
        return equal

    def values_in(self, other: Ragged) -> NDArray[np.bool_]:
        """Whether each value occurs in the same row of `other`: bool [values]."""
        return other.has(self.rows, self.values)

    def has(
        self, rows: NDArray[np.int64], values: NDArray[np.signedinteger[Any]]
    ) -> NDArray[np.bool_]:
        """Whether each of these rows has the aligned value: bool [rows]."""
        found = np.zeros(len(rows), dtype=np.bool_)
        if not len(rows):
            return found
        first, lengths = self.offsets[:-1][rows], self.lengths[rows]
        shortest, longest = int(lengths.min()), int(lengths.max())
        # One place of all rows at a time: rows are short, and a search in sorted keys takes longer.
        for place in range(shortest):
            found |= self.values[first + place] == values
        for place in range(shortest, longest):
            some = np.flatnonzero(lengths > place)
            found[some] |= self.values[first[some] + place] == values[some]
        return found

    def replaced(self, rows: NDArray[np.int64], by: Ragged) -> Ragged:
        """All rows, with those of these numbers replaced by the rows of `by`, in their order."""
        both = Ragged(
            np.concatenate([self.offsets, self.offsets[-1] + by.offsets[1:]]),
            np.concatenate([self.values, by.values]),
        )
        order = np.arange(len(self))
        order[rows] = len(self) + np.arange(len(by))
        return both.take(order)

    def take(self, order: NDArray[np.int64]) -> Ragged:
        """The rows with these numbers, in this order."""
        lengths = self.lengths[order]
        offsets = np.zeros(len(order) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        starts = np.repeat(self.offsets[:-1][order] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[starts + np.arange(offsets[-1])])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Offsets:
    """Offsets of all partitions of a table as columns [partitions]; -1 = not known."""

    start: NDArray[np.int64]
    """First offset of the leader's log."""
    end: NDArray[np.int64]
    """Next offset that consumers can read (high watermark)."""
    leader_epoch: NDArray[np.int32]
    """Number of the leader's term; a greater number means that the leader has changed."""

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Offsets):
            return NotImplemented
        return (
            np.array_equal(self.start, other.start)
            and np.array_equal(self.end, other.end)
            and np.array_equal(self.leader_epoch, other.leader_epoch)
        )

    __hash__ = None  # type: ignore[assignment]

    def take(self, order: NDArray[np.int64]) -> Offsets:
        """The rows with these numbers, in this order."""
        return Offsets(
            start=self.start[order], end=self.end[order], leader_epoch=self.leader_epoch[order]
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionTable:
    """All partitions of a cluster as columns of equal length, in canonical order."""

    topics: tuple[str, ...]
    """Names of the topics, in UTF-8 byte order."""
    topic: NDArray[np.int32]
    """Index into `topics`."""
    partition: NDArray[np.int32]
    """Partition number."""
    leader: NDArray[np.int32]
    """Broker id; -1 = none."""
    replicas: Ragged
    """Broker ids, as in `Partition.replicas`."""
    isr: Ragged
    """Broker ids of the replicas in sync."""
    adding: Ragged
    """Broker ids that a reassignment adds."""
    removing: Ragged
    """Broker ids that a reassignment removes."""
    bytes: NDArray[np.int64]
    """Size of one replica; -1 = not known."""
    bytes_in_per_s: NDArray[np.int64]
    """Rate of the bytes that producers write; -1 = not known."""
    offsets: Offsets | None = None
    """None where no offset was read."""

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
            offsets=_offsets(rows),
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
            start_offset=_known(self.offsets.start[row]) if self.offsets else None,
            end_offset=_known(self.offsets.end[row]) if self.offsets else None,
            leader_epoch=_known(self.offsets.leader_epoch[row]) if self.offsets else None,
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
            and self.offsets == other.offsets
        )

    __hash__ = None  # type: ignore[assignment]

    def name(self, row: int) -> str:
        """`orders-0`, as Kafka writes a topic-partition."""
        return f"{self.topics[self.topic[row]]}-{self.partition[row]}"

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """Row of the first partition of each topic; last, the number of rows: [topics + 1]."""
        return np.searchsorted(self.topic, np.arange(len(self.topics) + 1))

    @property
    def placed(self) -> Ragged:
        """The replicas without those that a running reassignment adds. Source: KIP-455."""
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


def _offsets(rows: Sequence[Partition]) -> Offsets | None:
    """The offsets of the rows; None where no row has one."""
    if all(row.start_offset is row.end_offset is row.leader_epoch is None for row in rows):
        return None
    return Offsets(
        start=_column((row.start_offset for row in rows), np.int64),
        end=_column((row.end_offset for row in rows), np.int64),
        leader_epoch=_column((row.leader_epoch for row in rows), np.int32),
    )


def _known(value: np.signedinteger) -> int | None:
    return None if value == UNKNOWN else int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster at one moment."""

    cluster_id: str | None
    taken_at: str
    """UTC, ISO 8601 with `Z`."""
    brokers: tuple[Broker, ...]
    """In id order."""
    topics: Mapping[str, Topic]
    partitions: PartitionTable
    groups: tuple[Group, ...] = ()
    configs: Configs = field(default_factory=Configs)
    notes: tuple[Note, ...] = ()
    source: str = "kafka"
    """`kafka`, `reassignment` or `suppose` (a what-if change of another cluster)."""
    name: str | None = None
    """The name that people call the cluster by; None for its id."""
    answered: AnswerTimes = field(default_factory=AnswerTimes)
    odd_racks: tuple[OddRack, ...] = ()
    """The racks that `settled` has left out; none in a cluster as it was read."""

    def settled(self, names: Mapping[str, str] = NO_MAP) -> Cluster:
        """The cluster with the racks that count: mapped, sound, of one form (`core.odd_racks`).

        `names`: plain name -> path, `racks.map` of a policy. Brokers with odd racks have none. The
        racks of clients stay: Kafka compares them with those of brokers as texts. The cluster
        itself if all its racks count.
        """
        found = settle_racks(((broker.id, broker.rack) for broker in self.brokers), names)
        brokers = tuple(
            broker if broker.rack == rack else replace(broker, rack=rack)
            for broker, rack in zip(self.brokers, found.racks.values(), strict=True)
        )
        if brokers == self.brokers:
            return self
        return replace(self, brokers=brokers, odd_racks=(*self.odd_racks, *found.odd))

    def mapped(self, names: Mapping[str, str]) -> Cluster:
        """The cluster with names mapped into paths, and with odd racks as the brokers name them.

        `names`: plain name -> path, `racks.map` of a policy.
        """
        return replace(self, brokers=mapped_brokers(self.brokers, names))


def mapped_brokers(brokers: Iterable[Broker], rack_map: Mapping[str, str]) -> tuple[Broker, ...]:
    """The brokers with rack names mapped into paths; `rack_map`: plain name -> path."""
    return tuple(replace(broker, rack=mapped_rack(broker.rack, rack_map)) for broker in brokers)


@dataclass(frozen=True, slots=True, kw_only=True)
class FairLoads:
    """What each broker should hold: fair ranges by broker id, both ends included.

    A missing broker has no limit. A planner computes the ranges; the audit only compares.
    """

    low: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Least number of replicas."""
    high: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Greatest number of replicas."""
    leader_low: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Least number of preferred leaderships."""
    leader_high: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Greatest number of preferred leaderships."""
    topic_caps: Mapping[str, Mapping[int, int]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Topic -> broker id -> greatest number of its replicas."""
