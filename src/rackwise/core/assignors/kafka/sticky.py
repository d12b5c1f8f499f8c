"""Kafka's sticky assignor, with the same answer for the same member ids.

Goals, in order: every partition goes to one subscriber; balance; locality; few moves. `owned` is
taken as reported, and nothing is withheld; `cooperative` does that.

Two algorithms. Members that all subscribe to the same topics get quotas (`assign_same`). Otherwise
partitions move until loads are balanced (`assign_mixed`). Subscriptions are the same if every list
after the first non-empty one has its length and contains only its topics.

```
members (rack, owns)             t-0 a   t-1 a   t-2 b   t-3 b
m1      a      t-0 t-1 t-2       m1 keeps t-0 t-1; t-2 has no replica in a
m2      b      -                 m2 gets t-2 t-3
```

The answer is upstream's wherever that is valid. Upstream may give a partition to a member that does
not subscribe to its topic: to a member that owned it in an older generation, or to one whose list
is empty. It may also throw NullPointerException, or move partitions for ever. Only in these cases
the group is assigned again, as a group whose subscriptions differ, with older owners only among
subscribers.

What this does not do: know levels of racks; find the best locality; remember generations between
two calls, as an upstream object does.

Source: KIP-54, KIP-881; `AbstractStickyAssignor` (Kafka 3.5 and later).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.assignors.kafka.owned import NOBODY, NumberedGroup, Owned
from rackwise.core.assignors.kafka.sticky_mixed import assign_mixed
from rackwise.core.assignors.kafka.sticky_same import assign_same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.assignors.members import Assignment, Members, ReplicaRacks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StickyResult:
    """The holders of partitions, by number."""

    group: NumberedGroup
    owned: Owned
    holders: Sequence[int]
    """[partitions], the member that gets the partition."""
    revoked: Mapping[int, int] | None
    """partition -> the member that had to revoke it; None where subscriptions differ."""


def assign_sticky(
    members: Members, racks: ReplicaRacks, *, force_rack_aware: bool = False
) -> Assignment:
    """Kafka's "sticky".

    `force_rack_aware`: consider racks even where every partition is in all racks. Raises
    `InvalidMember` and `InvalidReplicaRacks`.
    """
    answer = assign_numbers(members, racks, force=force_rack_aware)
    return answer.group.assignment(members, answer.holders)


def assign_numbers(members: Members, racks: ReplicaRacks, *, force: bool) -> StickyResult:
    """Upstream's result, or a valid one where upstream's is invalid. Raises as `assign_sticky`."""
    group = NumberedGroup.of(members, racks, force=force)
    owned = Owned.of(group)
    if _subscriptions_look_equal(group):
        holders, revoked = assign_same(group, owned)
        answer = StickyResult(group=group, owned=owned, holders=holders, revoked=revoked)
    else:
        holders = assign_mixed(group, owned, valid=False)
        answer = StickyResult(group=group, owned=owned, holders=holders, revoked=None)
    if _is_valid(answer):
        return answer
    holders = assign_mixed(group, owned, valid=True)
    return StickyResult(group=group, owned=owned, holders=holders, revoked=None)


def _subscriptions_look_equal(group: NumberedGroup) -> bool:
    first: frozenset[str] = frozenset()
    for number in group.walk:
        topics = group.members[number].topics
        if not first:
            first = frozenset(topics)
        elif len(topics) != len(first) or not first.issuperset(topics):
            return False
    return True


def _is_valid(answer: StickyResult) -> bool:
    """Whether every partition has a holder that subscribes to its topic."""
    topics = [frozenset(member.topics) for member in answer.group.members]
    return NOBODY not in answer.holders and all(
        partition.topic in topics[holder]
        for partition, holder in zip(answer.group.partitions, answer.holders, strict=True)
    )
