"""Kafka's rack-aware range assignor: consecutive partitions of each topic, local where possible.

Goals, in order:

1. The partitions of a topic differ by at most one between its subscribers.
2. Topics with the same subscribers and the same number of partitions stay together: partition p of
   all of them goes to one member, so that they can be joined.
3. As far as these goals allow, members read in their own rack.

Constraints. Of n partitions and c subscribers, each subscriber gets base = n div c, and n mod c of
them get one more. The first members that fill base + 1 get it, not the first members in order. A
member matches a partition if it has no rack, or if a replica is in its rack.

The algorithm, where the racks of any topic can make a difference:
1. Topics with the same subscribers and the same number of partitions form columns: column p is
   partition p of each topic. In ascending order of p, a column goes to the first member that has
   room and matches all of its partitions.
2. For a single topic, each member in order takes the first partitions that match, as many as it has
   room for. Nothing is taken where the racks of this topic make no difference.
3. Then each member in order takes the first partitions that are left. Where no racks matter at all,
   this is the only step.

```
members  a (rack a), b (rack b), c (rack c)      base 2, one of 3
t        0    1    2    3    4    5    6
racks    ab   bc   ca   ab   bc   ca   ab
step 2   a    b    a    a    b    c    -         a takes 0 2 3: the extra one is used
step 3                                 c
```

The topics of a column fill together, so they share one count of partitions for each member, and one
owner for each number. Lists are not filtered: members wait in a queue for each rack, and so do
partitions in step 2. What is used up at the head of a queue never returns, so each queue is walked
once.

What this does not do: move load between topics (the first members get the extra partition of each
topic); keep partitions where they were; consider levels of racks, or bytes.

Source: KIP-881; `RangeAssignor` (Kafka 3.5 and later).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import (
    Assignment,
    TopicPartition,
    rack_sets,
    racks_matter,
    subscribers_of,
)
from rackwise.core.assignors.order import member_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.assignors.members import Members, RackSets, ReplicaRacks

NOBODY = -1
"""The owner of a partition that is not assigned yet."""


def assign_range(
    members: Members, racks: ReplicaRacks, *, force_rack_aware: bool = False
) -> Assignment:
    """The assignment of upstream's range assignor.

    `force_rack_aware`: consider racks even where every partition is in all racks. Raises
    `InvalidMember` and `InvalidReplicaRacks`.
    """
    sets = rack_sets(members, racks)
    order = member_order({key: member.instance_id for key, member in members.items()})
    columns = _group_topics(sets, subscribers_of(members, order), members)
    rack_aware = {
        topic
        for column in columns
        for topic in column.topics
        if racks_matter(column.racks, sets[topic], force=force_rack_aware)
    }
    for column in columns:
        if rack_aware and len(column.topics) > 1:
            _fill_columns(column, [sets[topic] for topic in column.topics])
        elif rack_aware.issuperset(column.topics):
            _fill_members(column, column.racks, _partitions_by_rack(sets[column.topics[0]]))
        unassigned = [number for number, owner in enumerate(column.owners) if owner == NOBODY]
        _fill_members(column, [None] * len(column.members), {None: unassigned[::-1]})
    return _collect_assignment(order, sets, columns)


@dataclass(slots=True, kw_only=True)
class _Column:
    """Topics that are filled together, and what is filled so far."""

    topics: list[str]
    members: tuple[str, ...]
    """The subscribers in order."""
    racks: tuple[str | None, ...]
    """[members], the rack of each member."""
    owners: list[int]
    """[partitions], index of the member, or `NOBODY`."""
    loads: list[int]
    """[members], the partitions of each topic that the member has."""
    base: int
    """The partitions of each topic that every member gets."""
    extras: int
    """The number of members that may still get one more than `base`."""

    def room(self, place: int) -> int:
        """The number of partitions that the member may still take."""
        return max(0, self.base + (self.extras > 0) - self.loads[place])

    def give(self, place: int, partitions: Sequence[int]) -> None:
        """Give partitions to the member: at least one, and at most as many as it has room for."""
        for partition in partitions:
            self.owners[partition] = place
        self.loads[place] += len(partitions)
        self.extras -= self.loads[place] > self.base


def _group_topics(
    sets: RackSets, subscribers: Mapping[str, tuple[str, ...]], members: Members
) -> list[_Column]:
    """The topics, grouped by subscribers and number of partitions."""
    found: dict[tuple[tuple[str, ...], int], _Column] = {}
    for topic, partitions in sets.items():
        readers, count = subscribers[topic], len(partitions)
        if (readers, count) not in found:
            base, extras = divmod(count, len(readers))
            found[readers, count] = _Column(
                topics=[],
                members=readers,
                racks=tuple(members[member].rack for member in readers),
                owners=[NOBODY] * count,
                loads=[0] * len(readers),
                base=base,
                extras=extras,
            )
        found[readers, count].topics.append(topic)
    return list(found.values())


def _fill_columns(column: _Column, topics: Sequence[Sequence[frozenset[str]]]) -> None:
    """Step 1: each column goes to the first member with room that matches in every topic."""
    # rack -> its members, the first one last, so that `pop` takes from the head of the queue
    queues: dict[str | None, list[int]] = {}
    for place in reversed(range(len(column.members))):
        queues.setdefault(column.racks[place], []).append(place)
    for partition, racks in enumerate(zip(*topics, strict=True)):
        heads = []
        for rack in (None, *frozenset.intersection(*racks)):
            queue = queues.get(rack, [])
            while queue and not column.room(queue[-1]):
                queue.pop()
            heads += queue[-1:]
        if heads:
            column.give(min(heads), [partition])


def _fill_members(
    column: _Column, racks: Sequence[str | None], waiting: Mapping[str | None, list[int]]
) -> None:
    """Steps 2 and 3: each member in order takes partitions until its room is used.

    `racks`: the rack of each member. `waiting`: rack -> partitions with a replica in it, None ->
    all partitions; each list is in reverse order.
    """
    for place, rack in enumerate(racks):
        queue = waiting.get(rack)
        if not queue:
            continue
        room = column.room(place)
        taken: list[int] = []
        while queue and len(taken) < room:
            partition = queue.pop()
            if column.owners[partition] == NOBODY:
                taken.append(partition)
        if taken:
            column.give(place, taken)


def _partitions_by_rack(partitions: Sequence[frozenset[str]]) -> dict[str | None, list[int]]:
    """Rack -> partitions with a replica in it, None -> all; each list is in reverse order."""
    found: dict[str | None, list[int]] = {None: list(range(len(partitions)))[::-1]}
    for partition in found[None]:
        for rack in partitions[partition]:
            found.setdefault(rack, []).append(partition)
    return found


def _collect_assignment(
    order: Sequence[str], sets: RackSets, columns: Sequence[_Column]
) -> Assignment:
    """The assignment from filled columns, topics in order."""
    of_topic = {topic: column for column in columns for topic in column.topics}
    given: dict[str, list[TopicPartition]] = {member: [] for member in order}
    for topic in sets:
        column = of_topic[topic]
        lists = [given[member] for member in column.members]
        for partition, owner in enumerate(column.owners):
            lists[owner].append(TopicPartition(topic, partition))
    partitions = {member: tuple(tps) for member, tps in given.items()}
    return Assignment(partitions=MappingProxyType(partitions))
