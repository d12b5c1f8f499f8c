"""Net moves between members during balancing, so that equal partitions are not swapped.

A partition that moves again is recorded from its first holder to its present one, and is removed
from the records once it is back. Before a partition goes from a to b, the records are searched for
a partition of the same topic that went from b to a. That one goes back instead, so two partitions
are where they were at first.

```
t-0 moved m1 -> m2         records of t: m1 -> m2: t-0
t-3 is to move m2 -> m1    t-0 goes back instead; no record is left
```

Among several, the first in hash order goes. This is the order of a `java.util.HashSet` of
topic-partitions: the hash is 31 * (31 + partition) + hash of the topic, and the number of buckets
never shrinks.

What this does not do: detect cycles of more than two members; upstream does not either. The
partition that goes back may belong to another member than the one that was to give a partition.

Source: `AbstractStickyAssignor.PartitionMovements`; `TopicPartition.hashCode`; `java.util.HashMap`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rackwise.core.assignors.order import FIRST_SIZE, MOST_IN_BUCKET, TREES_FROM, WORD, java_hash

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rackwise.core.assignors.members import TopicPartition


class Movements:
    """Records: topic and pair of members -> partitions that went from the first to the second."""

    __slots__ = ("_by_pair", "_hashes", "_pairs")

    def __init__(self) -> None:
        # partition -> (its first holder, its present one), only where the two differ
        self._pairs: dict[TopicPartition, tuple[int, int]] = {}
        # (topic, first holder, present holder) -> partitions, without empty sets
        self._by_pair: dict[tuple[str, int, int], HashSet] = {}
        # a cache: topic -> hash code of its name
        self._hashes: dict[str, int] = {}

    def instead_of(self, partition: TopicPartition, holder: int, target: int) -> TopicPartition:
        """The partition to move in place of this one, from its holder to the target."""
        source = self._pairs[partition][0] if partition in self._pairs else holder
        reverse = self._by_pair.get((partition.topic, target, source))
        return partition if reverse is None else reverse.first()

    def record(self, partition: TopicPartition, holder: int, target: int) -> None:
        """Record that the partition went from its holder to the target."""
        source = holder
        if partition in self._pairs:
            source, last = self._pairs.pop(partition)
            key = partition.topic, source, last
            self._by_pair[key].remove(partition)
            if not self._by_pair[key]:
                del self._by_pair[key]
        if source != target:
            self._pairs[partition] = source, target
            key = partition.topic, source, target
            self._by_pair.setdefault(key, HashSet()).add(partition, self._hash_code(partition))

    def state(self) -> Hashable:
        """Everything that later results depend on, to detect repetition."""
        return tuple((pair, moved.state()) for pair, moved in sorted(self._by_pair.items()))

    def _hash_code(self, partition: TopicPartition) -> int:
        topic = partition.topic
        if topic not in self._hashes:
            self._hashes[topic] = java_hash(topic)
        return (31 * (31 + partition.partition) + self._hashes[topic]) & WORD


class HashSet:
    """The part of a `java.util.HashSet` that decides which element comes first."""

    __slots__ = ("_size", "_spread")

    def __init__(self) -> None:
        # element -> hash code as `HashMap` spreads it, in order of insertion
        self._spread: dict[TopicPartition, int] = {}
        # the number of buckets, a power of 2
        self._size = FIRST_SIZE

    def __len__(self) -> int:
        return len(self._spread)

    def add(self, element: TopicPartition, code: int) -> None:
        """Add a new element with its hash code."""
        self._spread[element] = code ^ code >> 16
        mask = self._size - 1
        # `treeifyBin` doubles a small table; above that size it makes a tree of the bucket instead.
        if self._size < TREES_FROM:
            held = Counter(spread & mask for spread in self._spread.values())
            if held[self._spread[element] & mask] > MOST_IN_BUCKET:
                self._size *= 2
        if 4 * len(self._spread) > 3 * self._size:
            self._size *= 2

    def remove(self, element: TopicPartition) -> None:
        """Remove an element."""
        del self._spread[element]

    def state(self) -> Hashable:
        """The elements in order of insertion, and the number of buckets."""
        return tuple(self._spread), self._size

    def first(self) -> TopicPartition:
        """The first element in order of buckets, and of insertion within a bucket."""
        mask = self._size - 1
        return min(self._spread, key=lambda element: self._spread[element] & mask)
