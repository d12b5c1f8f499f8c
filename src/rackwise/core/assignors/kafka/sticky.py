"""Kafka's sticky assignor, member ids and all: stay where you are, in your rack, and be even.

Goals, in order: every partition to one subscriber; balance; locality; few moves. `owned` is taken
as given, and nothing is withheld: that is `cooperative`.

Two algorithms. Members that subscribe to the same topics are given quotas (`constrained`); others
are balanced by moves (`general`). Subscriptions are the same if every list after the first
non-empty one has its length and lies in it.

```
members (rack, owns)             t-0 a   t-1 a   t-2 b   t-3 b
m1      a      t-0 t-1 t-2       m1 keeps t-0 t-1; t-2 has no replica in a
m2      b      -                 m2 gets t-2 t-3
```

Upstream's answer is the answer wherever it is lawful. It may give a partition to a member that does
not subscribe to its topic: to one that owned it in an older generation, or to one whose list is
empty. It may also throw NullPointerException, or move partitions round and round for ever. Then,
and only then, the group is assigned anew, as one whose subscriptions differ, with older owners only
among subscribers.

What this does not do: know levels of racks; find the best locality; remember generations from one
call to the next, as an upstream object does.

Source: KIP-54, KIP-881; `AbstractStickyAssignor` (Kafka 3.5 and later).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.assignors.kafka.owned import NOBODY, Group, Owned
from rackwise.core.assignors.kafka.sticky_mixed import general
from rackwise.core.assignors.kafka.sticky_same import constrained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.assignors.members import Assignment, Members, ReplicaRacks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandedOut:
    """The holder of each partition, and from whom it was taken; all by number.

    `revoked`: partition -> the member that had to let it go, of subscriptions that are the same;
    else None.
    """

    group: Group
    owned: Owned
    holders: Sequence[int]
    revoked: Mapping[int, int] | None


def assign_sticky(
    members: Members, racks: ReplicaRacks, *, force_rack_aware: bool = False
) -> Assignment:
    """Kafka's "sticky". `force_rack_aware` heeds racks also where all partitions are in all.

    Raises `InvalidMember` and `InvalidReplicaRacks`.
    """
    answer = hand_out(members, racks, force=force_rack_aware)
    return answer.group.assignment(members, answer.holders)


def hand_out(members: Members, racks: ReplicaRacks, *, force: bool) -> HandedOut:
    """Upstream's answer, or where that breaks the law, a lawful one. Raises as `assign_sticky`."""
    group = Group.of(members, racks, force=force)
    owned = Owned.of(group)
    if _look_the_same(group):
        holders, revoked = constrained(group, owned)
        answer = HandedOut(group=group, owned=owned, holders=holders, revoked=revoked)
    else:
        holders = general(group, owned, lawful=False)
        answer = HandedOut(group=group, owned=owned, holders=holders, revoked=None)
    if _is_lawful(answer):
        return answer
    holders = general(group, owned, lawful=True)
    return HandedOut(group=group, owned=owned, holders=holders, revoked=None)


def _look_the_same(group: Group) -> bool:
    first: frozenset[str] = frozenset()
    for number in group.walk:
        topics = group.members[number].topics
        if not first:
            first = frozenset(topics)
        elif len(topics) != len(first) or not first.issuperset(topics):
            return False
    return True


def _is_lawful(answer: HandedOut) -> bool:
    """Whether each partition has a holder that subscribes to its topic."""
    topics = [frozenset(member.topics) for member in answer.group.members]
    return NOBODY not in answer.holders and all(
        partition.topic in topics[holder]
        for partition, holder in zip(answer.group.partitions, answer.holders, strict=True)
    )
