"""Kafka's sticky assignment as a broker makes it, for groups of the consumer protocol (KIP-848).

Goals: those of `sticky`; the very partitions that the server-side assignor `rack-sticky` chooses.
It is written in Java (`server-assignor`), and the same cases test both.

The algorithms are those of `sticky_same` and `sticky_mixed`. A broker knows other things than the
leader of a classic group, so four inputs are fixed:

```
input                              here
topics                             named by the text of their ids; only those with partitions
members' racks and replicas        only racks of members count
owned                              the target assignment, cut to subscribed topics; no generations
order of joining                   the order of member ids
```

Members with the same subscriptions get quotas; all others are balanced, and only subscribers get a
partition. Where passes of balancing would repeat for ever, they end.

```
members (rack, owns)             t-0 a   t-1 a   t-2 b   t-3 b
m1      a      t-0 t-1 t-2       m1 keeps t-0 t-1; t-2 has no replica in a
m2      b      -                 m2 gets t-2 t-3
```

What this does not do: find the best locality or the fewest moves, as `assign_on_server` does.

Source: KIP-54, KIP-848, KIP-881.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.assignors.kafka.owned import NumberedGroup, Owned
from rackwise.core.assignors.kafka.sticky_mixed import assign_mixed
from rackwise.core.assignors.kafka.sticky_same import assign_same
from rackwise.core.assignors.members import NO_GENERATION, rack_sets
from rackwise.core.assignors.order import utf16_key

if TYPE_CHECKING:
    from collections.abc import Collection

    from rackwise.core.assignors.members import Assignment, Member, Members, ReplicaRacks


def assign_sticky_on_server(members: Members, racks: ReplicaRacks) -> Assignment:
    """The assignment of the server-side assignor `rack-sticky`.

    Topics are named by the text of their ids. `owned` is the target assignment; generations are
    ignored. Raises `InvalidMember` and `InvalidReplicaRacks`.
    """
    sets = rack_sets(members, racks)
    in_use = {member.rack for member in members.values()}
    known = {name: _known_by_broker(members[name], sets) for name in sorted(members, key=utf16_key)}
    group = NumberedGroup.of(
        known,
        {topic: [sorted(each & in_use) for each in found] for topic, found in sets.items()},
    )
    owned = Owned.of(group)
    if len({member.topics for member in known.values()}) == 1:
        holders, _ = assign_same(group, owned)
    else:
        holders = assign_mixed(group, owned, valid=True)
    return group.assignment(members, holders)


def _known_by_broker(member: Member, topics: Collection[str]) -> Member:
    """The member with those of its topics that have partitions, sorted and without generation."""
    subscribed = tuple(sorted(set(member.topics).intersection(topics), key=utf16_key))
    return replace(
        member,
        topics=subscribed,
        owned=tuple(tp for tp in member.owned if tp.topic in subscribed),
        generation=NO_GENERATION,
    )
