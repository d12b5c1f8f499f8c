"""`uniform` where all members list the same topics.

Constraints. Of n partitions and c members, each member gets n div c, and n mod c of them get one
more, an extra.

The algorithm:
1. Partitions that nobody owns wait, topic by topic.
2. Each member in the coordinator's order keeps what it owns, topic by topic, up to its quota. What
   exceeds it waits, too. While extras are left, the quota includes one. A member that owns too
   little to use it leaves it to a later member, as long as there are more members than extras.
3. Members below their quota take from the head of the queue, one member after the other.

```
members      m1 owns t-0                  m2 owns t-1 t-2 t-3 t-4      5 partitions, 1 extra
step 2       m1 leaves the extra, lacks 1 m2 keeps t-1 t-2 t-3         t-4 waits
step 3       m1 takes t-4
```

What this does not do: respect racks.

Source: `UniformHomogeneousAssignmentBuilder` of Kafka 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.assignors.members import Assignment, TopicPartition

if TYPE_CHECKING:
    from rackwise.core.assignors.server.group import CoordinatedGroup


def assign_uniform_same(group: CoordinatedGroup) -> Assignment:
    """The assignment of a group whose members list the same topics."""
    taken = {
        (topic, partition)
        for owned in group.owned.values()
        for topic, partitions in owned.items()
        for partition in partitions
    }
    waiting = [
        TopicPartition(topic, partition)
        for topic, size in group.sizes.items()
        for partition in range(size)
        if (topic, partition) not in taken
    ]
    base, extras = divmod(sum(group.sizes.values()), len(group.members))
    given: dict[str, list[TopicPartition]] = {}
    # member -> how many partitions it lacks
    room: dict[str, int] = {}
    for place, member in enumerate(group.members):
        quota = base + (extras > 0)
        given[member] = []
        for topic, partitions in group.owned[member].items():
            owned = [TopicPartition(topic, partition) for partition in partitions]
            left = quota - len(given[member])
            given[member] += owned[:left]
            waiting += owned[left:]
        if len(given[member]) < quota and len(group.members) - place > extras > 0:
            quota -= 1
        extras -= quota > base
        room[member] = quota - len(given[member])
    start = 0
    for member in group.members:
        end = start + room[member]
        given[member] += waiting[start:end]
        start = end
    return Assignment.of(given)
