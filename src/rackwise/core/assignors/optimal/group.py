"""A group as arrays: members, topics and partitions by number.

Members are numbered by id; topics and partitions in Java's order; racks and lists of topics by the
first member that has them. So neither the order of joining nor the names of racks decide anything.

```
member  rack  topics      number  rack  list        subscribes  t   u
m1      b     t           0       0     0           list 0      x   -
m2      a     t u         1       1     1           list 1      x   x
m3      b     t           2       0     0
```

The owner of a partition is the only member that reports it in the highest generation that any
member reports for it. A member that no longer lists the topic does not count. A reported partition
that does not exist is ignored.

What this does not do: balance loads, compute costs, or distribute partitions.

Source: KIP-792 (generations).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rackwise.core.assignors.distance import Distance, check_weights
from rackwise.core.assignors.members import Assignment, TopicPartition, rack_rows
from rackwise.core.assignors.order import utf16_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.assignors.members import Member, Members, ReplicaRacks, Target

Value = TypeVar("Value")

NOBODY = -1
"""The owner of a partition that has no single owner."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadingGroup:
    """Members M, lists of topics L, topics T and partitions P, by number."""

    ids: tuple[str, ...]
    """[M], member ids."""
    topics: tuple[str, ...]
    """[T], names."""
    rack_of: NDArray[np.int64]
    """[M], the rack of each member, an index into each row of `losses`."""
    list_of: NDArray[np.int64]
    """[M], the list of topics of each member."""
    subscribes: NDArray[np.bool_]
    """[L, T], whether a list contains a topic."""
    starts: NDArray[np.int64]
    """[T + 1], the number of each topic's partition 0, then P."""
    topic_of: NDArray[np.int64]
    """[P], index into `topics`."""
    row_of: NDArray[np.int64]
    """[P], index into `losses`: the replicas of the partition."""
    owner_of: NDArray[np.int64]
    """[P], index into `ids`, or `NOBODY`."""
    weight_of: NDArray[np.int64]
    """[P], index into `weights`."""
    losses: tuple[tuple[int, ...], ...]
    """distinct rows of replicas -> rack -> levels that a read crosses."""
    depth: int
    """The greatest possible loss."""
    weights: tuple[int, ...]
    """The distinct weights."""

    @classmethod
    def of(
        cls,
        members: Members,
        racks: ReplicaRacks,
        *,
        target: Target,
        weights: Mapping[TopicPartition, int] | None,
    ) -> ReadingGroup:
        """A group from what its leader knows; a partition without weight has weight 0.

        Raises `InvalidMember`, `InvalidReplicaRacks` and `InvalidWeights`.
        """
        numbers, rows = rack_rows(members, racks)
        check_weights(weights, racks)
        ids = tuple(sorted(members, key=utf16_key))
        ordered = [members[name] for name in ids]
        racks_of, rack_of = _number_distinct([member.rack for member in ordered])
        # Lists that differ only in order, repetition or unknown topics become one list.
        reported, reported_of = _number_distinct([member.topics for member in ordered])
        lists, list_of = _number_distinct([frozenset(numbers).intersection(t) for t in reported])
        starts = np.cumsum([0, *map(len, numbers.values())], dtype=np.int64)
        ranges = dict(zip(numbers, pairwise(starts.tolist()), strict=True))
        ranges_of_list = [{topic: ranges[topic] for topic in topics} for topics in lists]
        subscribes = [[topic in topics for topic in numbers] for topics in lists]
        distance = Distance.of(racks_of, target)
        distinct_weights, weight_of = _number_weights(numbers, weights)
        return cls(
            ids=ids,
            topics=tuple(numbers),
            rack_of=_int_array(rack_of),
            list_of=_int_array(list_of)[reported_of],
            subscribes=np.array(subscribes, dtype=np.bool_).reshape(len(lists), len(numbers)),
            starts=starts,
            topic_of=np.repeat(np.arange(len(numbers)), np.diff(starts)),
            row_of=_int_array(chain.from_iterable(numbers.values())),
            owner_of=_sole_owners(
                ordered,
                [ranges_of_list[list_of[place]] for place in reported_of],
                int(starts[-1]),
            ),
            weight_of=weight_of,
            losses=tuple(tuple(distance.loss(rack, row) for rack in racks_of) for row in rows),
            depth=distance.depth,
            weights=distinct_weights,
        )

    def assignment(self, members: Members, holder_of: NDArray[np.int64]) -> Assignment:
        """The assignment in which `holder_of`, int64 [P], is the member of each partition."""
        order = stable_order(holder_of)
        topic_of = self.topic_of[order]
        topics = np.array(self.topics, dtype=np.object_)[topic_of].tolist()
        numbers = (order - self.starts[topic_of]).tolist()
        pairs = zip(topics, numbers, strict=True)
        # `tuple.__new__` skips the constructor of the named tuple, which takes most of the time.
        partitions = list(map(tuple.__new__, repeat(TopicPartition), pairs))
        ends = np.cumsum(np.bincount(holder_of, minlength=len(self.ids))).tolist()
        given = {
            name: tuple(partitions[start:end])
            for name, start, end in zip(self.ids, [0, *ends], ends, strict=False)
        }
        return Assignment(partitions=MappingProxyType({name: given[name] for name in members}))


def stable_order(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """A stable argsort of keys >= 0; the smallest type that fits makes it a fast radix sort."""
    small = np.min_scalar_type(int(keys.max(initial=0)))
    return np.argsort(keys.astype(small), kind="stable")


def _int_array(numbers: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(numbers), dtype=np.int64)


def _number_distinct(values: Sequence[Value]) -> tuple[list[Value], list[int]]:
    """The distinct values in order of appearance, and the index of each value among them."""
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return list(places), list(map(places.__getitem__, values))


def _number_weights(
    numbers: Mapping[str, Sequence[int]], weights: Mapping[TopicPartition, int] | None
) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    """The distinct weights, and the index of each partition's weight; all 1 without weights."""
    if weights is None:
        return (1,), np.zeros(sum(map(len, numbers.values())), dtype=np.int64)
    each = [
        weights.get(TopicPartition(topic, partition), 0)
        for topic, found in numbers.items()
        for partition in range(len(found))
    ]
    places = {weight: place for place, weight in enumerate(sorted(set(each)))}
    return tuple(places), _int_array(map(places.__getitem__, each))


def _sole_owners(
    members: Sequence[Member],
    ranges_of: Sequence[Mapping[str, tuple[int, int]]],
    partitions: int,
) -> NDArray[np.int64]:
    """The owner of each partition, int64 [P], or `NOBODY`.

    `ranges_of`: for each member, topic -> number of its partition 0, and one past its last.
    """
    owned = [
        _owned_numbers(member.owned, ranges) if member.owned else []
        for member, ranges in zip(members, ranges_of, strict=True)
    ]
    generations = sorted({member.generation for member in members})
    ranks = {generation: rank for rank, generation in enumerate(generations)}
    # [reports], the partition, the member and the rank of the generation of each report
    reported = _int_array(chain.from_iterable(owned))
    counts = list(map(len, owned))
    reporter = np.repeat(np.arange(len(members)), counts)
    rank = np.repeat(_int_array(ranks[member.generation] for member in members), counts)
    newest = np.full(partitions, -1)
    np.maximum.at(newest, reported, rank)
    valid = newest[reported] == rank
    # [P], the lowest and the highest member that reports the partition: equal if there is only one
    low, high = np.full(partitions, len(members)), np.full(partitions, NOBODY)
    np.minimum.at(low, reported[valid], reporter[valid])
    np.maximum.at(high, reported[valid], reporter[valid])
    return np.where(low == high, high, NOBODY)


def _owned_numbers(
    owned: Iterable[TopicPartition], ranges: Mapping[str, tuple[int, int]]
) -> list[int]:
    """The numbers of the owned partitions that exist; `ranges`: topic -> (number of 0, end)."""
    nowhere = (0, 0)
    return [
        found[0] + partition
        for topic, partition in owned
        if (found := ranges.get(topic, nowhere))[0] + partition < found[1]
    ]
