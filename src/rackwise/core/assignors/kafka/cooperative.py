"""Kafka's cooperative sticky assignor: a partition is revoked first, and moves in the next round.

Goals, in order: no partition has two readers at a time; then the goals of `sticky`.

The algorithm. Partitions are assigned as by `sticky`. A partition that another member may still
read is then withheld: no member has it in this round, and its next holder gets it in the round
after, when its present reader has revoked it.

```
          owned        sticky       this round   withheld      next round
m1        t-0 t-1      t-0          t-0                        t-0
m2        -            t-1          -            t-1 for m2    t-1
```

Where all members subscribe to the same topics, upstream withholds two kinds of partitions: those
that one member had to revoke and another member got, and those that two members reported in one
generation. Otherwise it withholds what its holder did not report, and what a member reported but
did not get. Upstream then assigns a partition to a member that reported it in an older generation,
while the member that reported it last still reads it. Here such a partition is withheld too.

Members whose `owned` is already `released` read nothing, so what they report withholds nothing.

`withhold` does the same for any assignment, by one rule: a partition is withheld if a member other
than its holder reported it in the newest generation in which any member reported it.

What this does not do: ask for the next round; the leader's plug-in does that.

Source: KIP-429; `CooperativeStickyAssignor` (Kafka 3.5 and later).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.assignors.kafka.sticky import assign_numbers
from rackwise.core.assignors.members import Assignment

if TYPE_CHECKING:
    from rackwise.core.assignors.kafka.sticky import StickyResult
    from rackwise.core.assignors.members import Members, ReplicaRacks, TopicPartition


def assign_cooperative(
    members: Members, racks: ReplicaRacks, *, force_rack_aware: bool = False
) -> Assignment:
    """Kafka's "cooperative-sticky": the result of `sticky`, as partitions and `withheld`.

    `force_rack_aware`: consider racks even where every partition is in all racks. Raises
    `InvalidMember` and `InvalidReplicaRacks`.
    """
    answer = assign_numbers(members, racks, force=force_rack_aware)
    withheld = _withheld_upstream(answer) | _read_by_others(answer, members)
    return answer.group.assignment(members, answer.holders, withheld)


def withhold(assignment: Assignment, members: Members) -> Assignment:
    """The assignment with every partition in `withheld` that another member may still read.

    Partitions that were withheld before are decided again.
    """
    holders = dict(assignment.withheld) | {
        partition: member for member, given in assignment.partitions.items() for partition in given
    }
    readers = _current_readers(members)
    withheld = {
        partition: holder
        for partition, holder in holders.items()
        if readers.get(partition, holder) != holder
    }
    given: dict[str, list[TopicPartition]] = {member: [] for member in assignment.partitions}
    for partition, holder in holders.items():
        if partition not in withheld:
            given[holder].append(partition)
    return Assignment.of(given, withheld)


def _current_readers(members: Members) -> dict[TopicPartition, str | None]:
    """The member that reported a partition in the newest generation; None where several did."""
    found: dict[TopicPartition, tuple[int, str | None]] = {}
    for member_id, member in members.items():
        if not member.released:
            for partition in member.owned:
                generation, reader = found.get(partition, (member.generation, member_id))
                if member.generation > generation:
                    found[partition] = member.generation, member_id
                elif member.generation == generation:
                    found[partition] = generation, member_id if reader == member_id else None
    return {partition: reader for partition, (_, reader) in found.items()}


def _withheld_upstream(answer: StickyResult) -> set[int]:
    """The numbers of the partitions that upstream withholds."""
    group, holders = answer.group, answer.holders
    reading = [
        frozenset[int]() if member.released else frozenset(group.owned_numbers(number))
        for number, member in enumerate(group.members)
    ]
    if answer.revoked is None:
        return {
            number
            for member, read in enumerate(reading)
            for number in read
            if holders[number] != member and number not in reading[holders[number]]
        }
    taken = {
        number
        for number, member in answer.revoked.items()
        if holders[number] != member and number in reading[member]
    }
    return taken.union(*(answer.owned.doubly_owned & read for read in reading))


def _read_by_others(answer: StickyResult, members: Members) -> set[int]:
    """Partitions that only one member reported in the newest generation, and another member got."""
    group, readers = answer.group, _current_readers(members)
    return {
        number
        for number, (partition, holder) in enumerate(
            zip(group.partitions, answer.holders, strict=True)
        )
        if readers.get(partition) not in {None, group.ids[holder]}
    }
