"""A group by numbers, and the partitions that its members own: input of the sticky algorithms.

Members are numbered by id, partitions by topic and partition, so that numbers sort as Java sorts
members and partitions.

A partition that a member reports as owned counts while its topic takes part, subscribed or not.
Members are visited in hash order. Where two members report one partition, the one of the newer
generation owns it. In one generation neither owns it: it is `doubly_owned`.

```
visited  generation   reports as owned    owned
m1       4            t-0 t-1             m1  -
m2       5            t-0 t-2             m2  t-0
m3       5            t-2 t-3             m3  t-3         doubly owned: t-2
m4       4            t-1                 m4  -           doubly owned: t-1
```

A partition stays marked as doubly owned even if a member of a newer generation owns it after all;
upstream does the same.

What this does not do: consider racks or quotas. Owned partitions that a topic does not have are
ignored; upstream's algorithms count them.

Source: `AbstractStickyAssignor.allSubscriptionsEqual` (KIP-54, KIP-792).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import Assignment, TopicPartition, rack_sets, racks_matter
from rackwise.core.assignors.order import hash_order, utf16_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from rackwise.core.assignors.members import Member, Members, ReplicaRacks

NOBODY = -1
"""The holder of a partition that no member holds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NumberedGroup:
    """Members and partitions by number.

    All racks are None, and all rack sets are empty, where racks do not matter.
    """

    ids: tuple[str, ...]
    """[members], member ids."""
    members: tuple[Member, ...]
    """[members]."""
    racks: tuple[str | None, ...]
    """[members], the rack of each member."""
    walk: tuple[int, ...]
    """Member numbers in hash order."""
    topics: tuple[str, ...]
    """Topics in Java's order."""
    starts: Mapping[str, int]
    """topic -> the number of its partition 0."""
    ends: Mapping[str, int]
    """topic -> one past the number of its last partition."""
    partitions: tuple[TopicPartition, ...]
    """[partitions]."""
    topic_of: tuple[int, ...]
    """[partitions], index into `topics`."""
    rack_sets: tuple[frozenset[str], ...]
    """[partitions], the racks that hold a replica."""

    @classmethod
    def of(cls, members: Members, racks: ReplicaRacks, *, force: bool = False) -> NumberedGroup:
        """A group from what its leader knows. Raises as `rack_sets` does."""
        sets = rack_sets(members, racks)
        flat = tuple(found for of_topic in sets.values() for found in of_topic)
        ids = tuple(sorted(members, key=utf16_key))
        numbers = {member_id: number for number, member_id in enumerate(ids)}
        member_racks = tuple(members[member_id].rack for member_id in ids)
        if not racks_matter(member_racks, flat, force=force):
            member_racks, flat = (None,) * len(ids), (frozenset(),) * len(flat)
        ends = dict(zip(sets, accumulate(map(len, sets.values())), strict=True))
        return cls(
            ids=ids,
            members=tuple(members[member_id] for member_id in ids),
            racks=member_racks,
            walk=tuple(numbers[member_id] for member_id in hash_order(members)),
            topics=tuple(sets),
            starts={topic: end - len(sets[topic]) for topic, end in ends.items()},
            ends=ends,
            partitions=tuple(
                TopicPartition(topic, partition)
                for topic, of_topic in sets.items()
                for partition in range(len(of_topic))
            ),
            topic_of=tuple(topic for topic, of_topic in enumerate(sets.values()) for _ in of_topic),
            rack_sets=flat,
        )

    def mismatches(self, member: int, partition: int) -> bool:
        """Whether the member has a rack that holds no replica of the partition."""
        rack = self.racks[member]
        return rack is not None and rack not in self.rack_sets[partition]

    def owned_numbers(self, member: int) -> Iterator[int]:
        """The numbers of the existing partitions that a member reports as owned, in its order."""
        for topic, partition in self.members[member].owned:
            if topic in self.ends and self.starts[topic] + partition < self.ends[topic]:
                yield self.starts[topic] + partition

    def assignment(
        self, members: Members, holders: Sequence[int], withheld: Collection[int] = ()
    ) -> Assignment:
        """The assignment with these holders, by partition number; `withheld` goes to `withheld`."""
        given: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
        kept: dict[TopicPartition, str] = {}
        for number, (partition, holder) in enumerate(zip(self.partitions, holders, strict=True)):
            if number in withheld:
                kept[partition] = self.ids[holder]
            else:
                given[self.ids[holder]].append(partition)
        return Assignment(
            partitions=MappingProxyType({name: tuple(tps) for name, tps in given.items()}),
            withheld=MappingProxyType(kept),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Owned:
    """The partitions that members still own, by number."""

    by_member: tuple[tuple[int, ...], ...]
    """[members], the partitions that the member alone owns."""
    doubly_owned: frozenset[int]
    """The partitions that two members reported in one generation."""

    @classmethod
    def of(cls, group: NumberedGroup) -> Owned:
        """The owned partitions, as drawn at the head of this file."""
        owner: dict[int, int] = {}
        # partition -> the last member of its newest generation so far that reported it
        last: dict[int, int] = {}
        doubly_owned = set()
        for member in group.walk:
            generation = group.members[member].generation
            for partition in group.owned_numbers(member):
                other = last.get(partition)
                if other is None or generation > group.members[other].generation:
                    owner[partition] = last[partition] = member
                elif generation == group.members[other].generation:
                    doubly_owned.add(partition)
                    owner.pop(partition, None)
                    last[partition] = member
        lists: list[list[int]] = [[] for _ in group.ids]
        for partition, member in owner.items():
            lists[member].append(partition)
        return cls(by_member=tuple(map(tuple, lists)), doubly_owned=frozenset(doubly_owned))
