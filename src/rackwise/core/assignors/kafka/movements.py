"""Net moves between members while loads are balanced, so that like is not exchanged for like.

A partition that moves again is recorded from its first holder to its present one, and not at all
once it is back home. Before a partition goes from a to b, one of the same topic that is recorded
from b to a goes back in its stead: that leaves two partitions where they were at first.

```
t-0 moved m1 -> m2        records of t: m1 -> m2: t-0
t-3 shall move m2 -> m1   t-0 goes back instead; no record is left
```

Of several the first in hash order goes: the order of a `java.util.HashSet` of topic-partitions,
whose hash is 31 * (31 + partition) + hash of the topic and whose buckets never get fewer.

What this does not do: look for cycles of more than two members; upstream does not either. The
partition that goes back need not lie with the member that was to give one.

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
    """topic and pair of members -> partitions that went from the first to the second."""

    __slots__ = ("_by_pair", "_hashes", "_pairs")

    def __init__(self) -> None:
        self._pairs: dict[TopicPartition, tuple[int, int]] = {}
        self._by_pair: dict[tuple[str, int, int], HashSet] = {}
        self._hashes: dict[str, int] = {}

    def instead_of(self, partition: TopicPartition, holder: int, target: int) -> TopicPartition:
        """The partition that moves when this one shall go from its holder to the target."""
        source = self._pairs[partition][0] if partition in self._pairs else holder
        reverse = self._by_pair.get((partition.topic, target, source))
        return partition if reverse is None else reverse.first()

    def record(self, partition: TopicPartition, holder: int, target: int) -> None:
        """The partition has gone from its holder to the target."""
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
            self._by_pair.setdefault(key, HashSet()).add(partition, self._hash(partition))

    def state(self) -> Hashable:
        """All that answers depend on."""
        return tuple((pair, moved.state()) for pair, moved in sorted(self._by_pair.items()))

    def _hash(self, partition: TopicPartition) -> int:
        topic = partition.topic
        if topic not in self._hashes:
            self._hashes[topic] = java_hash(topic)
        return (31 * (31 + partition.partition) + self._hashes[topic]) & WORD


class HashSet:
    """As much of a `java.util.HashSet` as tells which element comes first."""

    __slots__ = ("_size", "_spread")

    def __init__(self) -> None:
        self._spread: dict[TopicPartition, int] = {}
        self._size = FIRST_SIZE

    def __len__(self) -> int:
        return len(self._spread)

    def add(self, element: TopicPartition, code: int) -> None:
        """Put in an element that is not in yet, with its hash code."""
        self._spread[element] = code ^ code >> 16
        mask = self._size - 1
        if self._size < TREES_FROM:
            held = Counter(spread & mask for spread in self._spread.values())
            if held[self._spread[element] & mask] > MOST_IN_BUCKET:
                self._size *= 2
        if 4 * len(self._spread) > 3 * self._size:
            self._size *= 2

    def remove(self, element: TopicPartition) -> None:
        """Take an element out."""
        del self._spread[element]

    def state(self) -> Hashable:
        """Elements in order of insertion, and the number of buckets."""
        return tuple(self._spread), self._size

    def first(self) -> TopicPartition:
        """The first element in bucket order, in a bucket by insertion."""
        mask = self._size - 1
        return min(self._spread, key=lambda element: self._spread[element] & mask)
