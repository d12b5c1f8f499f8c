"""Kafka's round-robin assignor: one partition after the other; racks are ignored.

Goals: the exact answer of upstream, for groups that use it and for comparison with rack-aware
assignors.

The rule. Members form a ring, static members first. Partitions are taken in order of topic and
number. Each one goes to the next member on the ring that subscribes to its topic.

```
members  m1: t u    m2: u    m3: t u        t-0  t-1  t-2  u-0  u-1
                                            m1   m3   m1   m2   m3
```

Within a topic the ring consists of its subscribers, so only the position where a topic starts is
looked up.

What this does not do: balance members with different topics; consider racks or owned partitions.

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
    """The assignment of upstream's round-robin assignor; `racks` gives the partition numbers only.

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
    partitions_of = {member: tuple(tps) for member, tps in given.items()}
    return Assignment(partitions=MappingProxyType(partitions_of))
