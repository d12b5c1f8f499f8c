"""Kafka's range assignor, rack-aware: each member a run of every topic, at home where it can.

Goals, in order: the partitions of a topic differ by at most one between its subscribers; topics
with the same subscribers and as many partitions stay together, so that partition p of all of them
goes to one member and can be joined; then, as far as that leaves it open, members read in their
own rack.

Constraints. Of n partitions and c subscribers each gets base = n div c; n mod c of them get one
more. Who fills base + 1 first has it, not who comes first. A member matches a partition if it has
no rack or a replica is in its rack.

The algorithm, where the racks of any topic can make a difference:
1. Topics with the same subscribers and as many partitions are columns: column p is partition p of
   each. In rising order of p the first member that has room and matches the whole column gets it.
2. A topic that is alone: each member in order takes the first partitions that match, as many as it
   has room for; if the racks of this topic make no difference, nothing.
3. Then, and where no racks matter at all, each member in order takes the first partitions left.

```
members  a (rack a), b (rack b), c (rack c)      base 2, one of 3
t        0    1    2    3    4    5    6
racks    ab   bc   ca   ab   bc   ca   ab
step 2   a    b    a    a    b    c    -         a takes 0 2 3: the extra one is gone
step 3                                 c
```

Topics of a column fill in step, so they need one account: who has how much, who owns which number.
Instead of filtering lists, members wait in a queue for each rack, as partitions do in step 2; what
stands at a head and is used up never comes back, so every queue is walked once.

What this does not do: move load between topics (the first members get the extra partition of each),
keep what members had, or look at levels of racks, or at bytes.

Source: KIP-881; `RangeAssignor` (Kafka 3.5 and later).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import (
    Assignment,
    TopicPartition,
    heeds_racks,
    rack_sets,
    subscribers_of,
)
from rackwise.core.assignors.order import member_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.assignors.members import Members, RackSets, ReplicaRacks

NOBODY = -1
"""Owns a partition that is not given yet."""


def assign_range(
    members: Members, racks: ReplicaRacks, *, force_rack_aware: bool = False
) -> Assignment:
    """Who gets which partitions, as upstream's range assignor answers.

    `force_rack_aware`: heed racks also where every partition is everywhere. Raises `InvalidMember`
    and `InvalidReplicaRacks`.
    """
    sets = rack_sets(members, racks)
    order = member_order({key: member.instance_id for key, member in members.items()})
    columns = _columns(sets, subscribers_of(members, order), members)
    heeding = {
        topic
        for column in columns
        for topic in column.topics
        if heeds_racks(column.racks, sets[topic], force=force_rack_aware)
    }
    for column in columns:
        if heeding and len(column.topics) > 1:
            _fill_in_step(column, [sets[topic] for topic in column.topics])
        elif heeding.issuperset(column.topics):
            _fill_first_come(column, column.racks, _waiting(sets[column.topics[0]]))
        left = [number for number, owner in enumerate(column.owners) if owner == NOBODY]
        _fill_first_come(column, [None] * len(column.members), {None: left[::-1]})
    return _handed_out(order, sets, columns)


@dataclass(slots=True, kw_only=True)
class _Column:
    """Topics that are filled in step, and how far it has come.

    `members`: the subscribers in order; `racks`: theirs; `given`: how many partitions of each topic
    they have; `owners`: partition -> place of its member; `extras`: how many may still get more
    than `base`.
    """

    topics: list[str]
    members: tuple[str, ...]
    racks: tuple[str | None, ...]
    owners: list[int]
    given: list[int]
    base: int
    extras: int

    def room(self, place: int) -> int:
        """How many partitions the member may still take."""
        return max(0, self.base + (self.extras > 0) - self.given[place])

    def give(self, place: int, partitions: Sequence[int]) -> None:
        """Give at least one partition, and at most as many as there is room for."""
        for partition in partitions:
            self.owners[partition] = place
        self.given[place] += len(partitions)
        self.extras -= self.given[place] > self.base


def _columns(
    sets: RackSets, subscribers: Mapping[str, tuple[str, ...]], members: Members
) -> list[_Column]:
    """Topics by subscribers and number of partitions."""
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
                given=[0] * len(readers),
                base=base,
                extras=extras,
            )
        found[readers, count].topics.append(topic)
    return list(found.values())


def _fill_in_step(column: _Column, topics: Sequence[Sequence[frozenset[str]]]) -> None:
    """Give each column to the first member with room that matches in every topic."""
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


def _fill_first_come(
    column: _Column, racks: Sequence[str | None], waiting: Mapping[str | None, list[int]]
) -> None:
    """Each member in order takes what it has room for.

    `racks`: of each member; `waiting`: rack -> partitions with a replica in it, None -> all; the
    last comes first.
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


def _waiting(partitions: Sequence[frozenset[str]]) -> dict[str | None, list[int]]:
    found: dict[str | None, list[int]] = {None: list(range(len(partitions)))[::-1]}
    for partition in found[None]:
        for rack in partitions[partition]:
            found.setdefault(rack, []).append(partition)
    return found


def _handed_out(order: Sequence[str], sets: RackSets, columns: Sequence[_Column]) -> Assignment:
    """From columns to members, topics in order."""
    of_topic = {topic: column for column in columns for topic in column.topics}
    given: dict[str, list[TopicPartition]] = {member: [] for member in order}
    for topic in sets:
        column = of_topic[topic]
        lists = [given[member] for member in column.members]
        for partition, owner in enumerate(column.owners):
            lists[owner].append(TopicPartition(topic, partition))
    partitions = {member: tuple(tps) for member, tps in given.items()}
    return Assignment(partitions=MappingProxyType(partitions))
