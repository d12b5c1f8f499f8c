"""A group in numbers, and what its members still own: where both sticky algorithms begin.

Members are numbered by id, partitions by topic and partition, so that numbers sort as Java sorts
what they stand for.

What a member names as owned counts while its topic takes part, subscribed or not. Members are
walked in hash order. Where two name one partition, the newer generation has it; in one generation
neither has it: it is `doubled`.

```
walked   generation   names as owned      owned
m1       4            t-0 t-1             m1  -
m2       5            t-0 t-2             m2  t-0
m3       5            t-2 t-3             m3  t-3         doubled: t-2
m4       4            t-1                 m4  -           doubled: t-1
```

A mark of `doubled` stays when a newer generation has the partition after all; so does upstream's.

What this does not do: look at racks or quotas. Owned partitions that a topic does not have are
left out; upstream's algorithms count them.

Source: `AbstractStickyAssignor.allSubscriptionsEqual` (KIP-54, KIP-792).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import Assignment, TopicPartition, heeds_racks, rack_sets
from rackwise.core.assignors.order import hash_order, utf16_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from rackwise.core.assignors.members import Member, Members, ReplicaRacks

NOBODY = -1
"""The holder of a partition that no member has."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Members and partitions by number; racks are None, and sets are empty, where none are heeded.

    `ids` `members` `racks`: by member number. `walk`: member numbers in hash order. `topics`: in
    Java's order. `starts` `ends`: topic -> number of its partition 0, and one past its last.
    `partitions` `topic_of` `rack_sets`: by partition number; `topic_of` is a place in `topics`.
    """

    ids: tuple[str, ...]
    members: tuple[Member, ...]
    racks: tuple[str | None, ...]
    walk: tuple[int, ...]
    topics: tuple[str, ...]
    starts: Mapping[str, int]
    ends: Mapping[str, int]
    partitions: tuple[TopicPartition, ...]
    topic_of: tuple[int, ...]
    rack_sets: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, members: Members, racks: ReplicaRacks, *, force: bool = False) -> Group:
        """From what the leader of a group is told. Raises as `rack_sets` does."""
        sets = rack_sets(members, racks)
        each = tuple(found for of_topic in sets.values() for found in of_topic)
        ids = tuple(sorted(members, key=utf16_key))
        numbers = {member_id: number for number, member_id in enumerate(ids)}
        own = tuple(members[member_id].rack for member_id in ids)
        if not heeds_racks(own, each, force=force):
            own, each = (None,) * len(ids), (frozenset(),) * len(each)
        ends = dict(zip(sets, accumulate(map(len, sets.values())), strict=True))
        return cls(
            ids=ids,
            members=tuple(members[member_id] for member_id in ids),
            racks=own,
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
            rack_sets=each,
        )

    def mismatches(self, member: int, partition: int) -> bool:
        """Whether the member has a rack, and no replica is in it."""
        rack = self.racks[member]
        return rack is not None and rack not in self.rack_sets[partition]

    def named(self, member: int) -> Iterator[int]:
        """Numbers of the partitions that exist and that a member names as owned, as it does."""
        for topic, partition in self.members[member].owned:
            if topic in self.ends and self.starts[topic] + partition < self.ends[topic]:
                yield self.starts[topic] + partition

    def assignment(
        self, members: Members, holders: Sequence[int], withheld: Collection[int] = ()
    ) -> Assignment:
        """What the holder of each partition number means; the withheld ones are kept apart."""
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
    """member -> partitions that it alone still owns, and the partitions that two of them named."""

    by_member: tuple[tuple[int, ...], ...]
    doubled: frozenset[int]

    @classmethod
    def of(cls, group: Group) -> Owned:
        """By the walk that the first lines of this file draw."""
        owner: dict[int, int] = {}
        last: dict[int, int] = {}
        doubled = set()
        for member in group.walk:
            generation = group.members[member].generation
            for partition in group.named(member):
                other = last.get(partition)
                if other is None or generation > group.members[other].generation:
                    owner[partition] = last[partition] = member
                elif generation == group.members[other].generation:
                    doubled.add(partition)
                    owner.pop(partition, None)
                    last[partition] = member
        lists: list[list[int]] = [[] for _ in group.ids]
        for partition, member in owner.items():
            lists[member].append(partition)
        return cls(by_member=tuple(map(tuple, lists)), doubled=frozenset(doubled))
