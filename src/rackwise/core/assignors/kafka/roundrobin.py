"""Kafka's round-robin assignor: all partitions one after the other, racks not looked at.

Goals: the very answer of upstream, for groups that use it and for a comparison with assignors that
heed racks.

The rule. Members stand on a ring, static ones first. Partitions come in topic and partition order;
each goes to the next member on the ring that subscribes to its topic.

```
members  m1: t u    m2: u    m3: t u        t-0  t-1  t-2  u-0  u-1
                                            m1   m3   m1   m2   m3
```

Within a topic the ring is that of its subscribers, so only the place where a topic begins has to be
looked up.

What this does not do: balance members whose topics differ, or heed racks or what members had.

Source: `RoundRobinAssignor` (all versions; static members first since KIP-345).
"""

from __future__ import annotations

from bisect import bisect_left
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import (
    Assignment,
    TopicPartition,
    rack_sets,
    subscribers_of,
)
from rackwise.core.assignors.order import member_order

if TYPE_CHECKING:
    from rackwise.core.assignors.members import Members, ReplicaRacks


def assign_roundrobin(members: Members, racks: ReplicaRacks) -> Assignment:
    """Who gets which partitions; of `racks` only the number of partitions matters.

    Raises `InvalidMember` and `InvalidReplicaRacks`.
    """
    sets = rack_sets(members, racks)
    order = member_order({key: member.instance_id for key, member in members.items()})
    place = {member: number for number, member in enumerate(order)}
    subscribers = subscribers_of(members, order)
    given: dict[str, list[TopicPartition]] = {member: [] for member in order}
    following = 0
    for topic, partitions in sets.items():
        ring = subscribers[topic]
        first = bisect_left(ring, following, key=place.__getitem__)
        for partition in range(len(partitions)):
            given[ring[(first + partition) % len(ring)]].append(TopicPartition(topic, partition))
        following = place[ring[(first + len(partitions) - 1) % len(ring)]] + 1
    dealt = {member: tuple(tps) for member, tps in given.items()}
    return Assignment(partitions=MappingProxyType(dealt))
