"""A group in arrays: members, topics and partitions by number, as the best assignment is sought.

Members are numbered by id, topics and partitions in Java's order, racks and lists of topics by the
first member that has them; so neither the order of joining nor names of racks decide anything.

```
member  rack  topics      number  rack  list        hears      t   u
m1      b     t           0       0     0           list 0     x   -
m2      a     t u         1       1     1           list 1     x   x
m3      b     t           2       0     0
```

Owned is a partition by the member that alone claims it at the highest generation claimed. Who does
not list its topic any more claims nothing; what is claimed and does not exist is left out.

What this does not do: balance, price or deal anything.

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

Some = TypeVar("Some")

NOBODY = -1
"""The owner of a partition that no member alone claims."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadingGroup:
    """Members M, lists L, topics T, partitions P, by number.

    `ids` `topics`: names. `rack_of` `list_of`: int64 [M]. `hears`: bool [L, T], whether a list has
    a topic. `starts`: int64 [T + 1], number of each topic's partition 0, and P. `topic_of` `row_of`
    `owner_of` `weight_of`: int64 [P], places in `topics`, in the rows of `losses`, in `ids` (or
    `NOBODY`), in `weights`.
    `losses`: different lists of replicas -> rack -> loss, `depth` is the most that is lost.
    `weights`: different ones.
    """

    ids: tuple[str, ...]
    topics: tuple[str, ...]
    rack_of: NDArray[np.int64]
    list_of: NDArray[np.int64]
    hears: NDArray[np.bool_]
    starts: NDArray[np.int64]
    topic_of: NDArray[np.int64]
    row_of: NDArray[np.int64]
    owner_of: NDArray[np.int64]
    weight_of: NDArray[np.int64]
    losses: tuple[tuple[int, ...], ...]
    depth: int
    weights: tuple[int, ...]

    @classmethod
    def of(
        cls,
        members: Members,
        racks: ReplicaRacks,
        *,
        target: Target,
        weights: Mapping[TopicPartition, int] | None,
    ) -> ReadingGroup:
        """From what the leader of a group is told; a partition without a weight has 0.

        Raises `InvalidMember`, `InvalidReplicaRacks` and `InvalidWeights`.
        """
        numbers, rows = rack_rows(members, racks)
        check_weights(weights, racks)
        ids = tuple(sorted(members, key=utf16_key))
        told = [members[name] for name in ids]
        racks_of, rack_of = _numbered([member.rack for member in told])
        spelled, spelling_of = _numbered([member.topics for member in told])
        lists, list_of = _numbered([frozenset(numbers).intersection(t) for t in spelled])
        starts = np.cumsum([0, *map(len, numbers.values())], dtype=np.int64)
        ranges = dict(zip(numbers, pairwise(starts.tolist()), strict=True))
        heard = [{topic: ranges[topic] for topic in topics} for topics in lists]
        hears = [[topic in topics for topic in numbers] for topics in lists]
        distance = Distance.of(racks_of, target)
        kinds, weight_of = _weights(numbers, weights)
        return cls(
            ids=ids,
            topics=tuple(numbers),
            rack_of=_array(rack_of),
            list_of=_array(list_of)[spelling_of],
            hears=np.array(hears, dtype=np.bool_).reshape(len(lists), len(numbers)),
            starts=starts,
            topic_of=np.repeat(np.arange(len(numbers)), np.diff(starts)),
            row_of=_array(chain.from_iterable(numbers.values())),
            owner_of=_claimed_by_one(
                told, [heard[list_of[place]] for place in spelling_of], int(starts[-1])
            ),
            weight_of=weight_of,
            losses=tuple(tuple(distance.loss(rack, row) for rack in racks_of) for row in rows),
            depth=distance.depth,
            weights=kinds,
        )

    def assignment(self, members: Members, holder_of: NDArray[np.int64]) -> Assignment:
        """What the holder of each partition number means."""
        order = stable_order(holder_of)
        topic_of = self.topic_of[order]
        topics = np.array(self.topics, dtype=np.object_)[topic_of].tolist()
        numbers = (order - self.starts[topic_of]).tolist()
        pairs = zip(topics, numbers, strict=True)
        dealt = list(map(tuple.__new__, repeat(TopicPartition), pairs))
        ends = np.cumsum(np.bincount(holder_of, minlength=len(self.ids))).tolist()
        given = {
            name: tuple(dealt[start:end])
            for name, start, end in zip(self.ids, [0, *ends], ends, strict=False)
        }
        return Assignment(partitions=MappingProxyType({name: given[name] for name in members}))


def stable_order(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places in rising order of keys from 0 on, equal ones as they stand; quick for small keys."""
    small = np.min_scalar_type(int(keys.max(initial=0)))
    return np.argsort(keys.astype(small), kind="stable")


def _array(numbers: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(numbers), dtype=np.int64)


def _numbered(values: Sequence[Some]) -> tuple[list[Some], list[int]]:
    """Different values as they come, and the place among them of each of all."""
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return list(places), list(map(places.__getitem__, values))


def _weights(
    numbers: Mapping[str, Sequence[int]], weights: Mapping[TopicPartition, int] | None
) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    """Different weights, and the place of each partition's among them; 1 where none are given."""
    if weights is None:
        return (1,), np.zeros(sum(map(len, numbers.values())), dtype=np.int64)
    each = [
        weights.get(TopicPartition(topic, partition), 0)
        for topic, found in numbers.items()
        for partition in range(len(found))
    ]
    kinds = {weight: place for place, weight in enumerate(sorted(set(each)))}
    return tuple(kinds), _array(map(kinds.__getitem__, each))


def _claimed_by_one(
    members: Sequence[Member],
    heard: Sequence[Mapping[str, tuple[int, int]]],
    partitions: int,
) -> NDArray[np.int64]:
    """The one subscriber that claims it at the highest generation claimed, or `NOBODY`.

    `heard`: of each member, its topics with the number of partition 0 and one past the last.
    """
    claims = [
        _named(member.owned, ranges) if member.owned else []
        for member, ranges in zip(members, heard, strict=True)
    ]
    generations = sorted({member.generation for member in members})
    ranks = {generation: rank for rank, generation in enumerate(generations)}
    claimed = _array(chain.from_iterable(claims))
    counts = list(map(len, claims))
    by = np.repeat(np.arange(len(members)), counts)
    when = np.repeat(_array(ranks[member.generation] for member in members), counts)
    newest = np.full(partitions, -1)
    np.maximum.at(newest, claimed, when)
    valid = newest[claimed] == when
    low, high = np.full(partitions, len(members)), np.full(partitions, NOBODY)
    np.minimum.at(low, claimed[valid], by[valid])
    np.maximum.at(high, claimed[valid], by[valid])
    return np.where(low == high, high, NOBODY)


def _named(owned: Iterable[TopicPartition], ranges: Mapping[str, tuple[int, int]]) -> list[int]:
    """Numbers of those partitions that exist in these topics; ranges are (number of 0, end)."""
    nowhere = (0, 0)
    return [
        found[0] + partition
        for topic, partition in owned
        if (found := ranges.get(topic, nowhere))[0] + partition < found[1]
    ]
