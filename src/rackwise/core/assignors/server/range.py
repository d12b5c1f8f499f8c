"""The assignor `range` on the broker: consecutive partitions of each topic for each member.

Goals, in order:

1. The partitions of a topic differ by at most one between its subscribers.
2. Each member gets consecutive partitions, so that topics of one size with the same subscribers can
   be joined: each member has the same numbers of all of them.

The algorithm. Static members come first, by instance id, then dynamic members, by member id. Of n
partitions and c subscribers, each subscriber gets n div c, and the first n mod c of them get one
more.

```
members       m1 (rack a)   m2 (rack b)   m3 (rack c)
t    0..6     0 1 2         3 4           5 6
racks         a b c         a b           c a           local: 0, 4, 5
```

What this does not do: respect racks (Kafka removed that in KAFKA-16694), or what members own.

Source: KIP-848; `org.apache.kafka.coordinator.group.assignor.RangeAssignor` of Kafka 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.assignors.members import Assignment, TopicPartition, rack_rows, subscribers_of
from rackwise.core.assignors.order import member_order

if TYPE_CHECKING:
    from rackwise.core.assignors.members import Members, ReplicaRacks


def assign_server_range(members: Members, racks: ReplicaRacks) -> Assignment:
    """The assignment of the broker's `range`. Raises `InvalidMember` and `InvalidReplicaRacks`."""
    rows, _ = rack_rows(members, racks)
    order = member_order({key: member.instance_id for key, member in members.items()})
    given: dict[str, list[TopicPartition]] = {member: [] for member in members}
    for topic, readers in subscribers_of(members, order).items():
        base, extras = divmod(len(rows.get(topic, ())), len(readers))
        start = 0
        for place, member in enumerate(readers):
            end = start + base + (place < extras)
            given[member] += (TopicPartition(topic, number) for number in range(start, end))
            start = end
    return Assignment.of(given)
