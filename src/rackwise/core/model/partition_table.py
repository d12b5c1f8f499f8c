"""All partitions of a cluster as numpy columns in canonical order, and one partition as a value.

```
row  topic   partition  leader   replicas            Ragged(offsets=[0 3 6], values=[1 2 3 2 3 1])
0    orders  0          1        1 2 3               row 0 = values[0:3]
1    orders  1          -1       2 3 1               row 1 = values[3:6]
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from rackwise.core.model.ragged import Ragged
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

Number = TypeVar("Number", np.int32, np.int64)

UNKNOWN = -1
"""In integer columns: no leader, or a size or rate that is not known."""

PartitionId: TypeAlias = tuple[str, int]
"""Topic and number of a partition, as in `("orders", 4)`."""


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
