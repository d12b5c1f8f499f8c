"""Kafka's cooperative sticky assignor: what changes hands is given up first, and given later.

Goals, in order: no partition has two readers at a time; then what `sticky` wants.

The algorithm. Partitions are assigned as by `sticky`. Those that somebody may still read are then
withheld: nobody has them in this round, and their next holder gets them in the round after, when
their present reader has let go.

```
          owned        sticky       this round   withheld      next round
m1        t-0 t-1      t-0          t-0                        t-0
m2        -            t-1          -            t-1 for m2    t-1
```

Upstream withholds, where all subscribe to the same topics, what a member had to let go and another
one got, and what two members named in one generation; else, what its holder did not name and a
member that named it did not get. It then hands a partition to a member that named it in an older
generation while the one that named it last still reads it. Here that is withheld too.

Members whose `owned` is a memory (`released`) read nothing: what they name withholds nothing.

`withhold` does the same for an assignment of any origin, by one rule: a partition is withheld if a
member other than its holder named it in the newest generation in which anybody did.

What this does not do: ask for the next round; that is the leader's plug-in.

Source: KIP-429; `CooperativeStickyAssignor` (Kafka 3.5 and later).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.assignors.kafka.sticky import hand_out
from rackwise.core.assignors.members import Assignment

if TYPE_CHECKING:
    from rackwise.core.assignors.kafka.sticky import HandedOut
    from rackwise.core.assignors.members import Members, ReplicaRacks, TopicPartition


def assign_cooperative(
    members: Members, racks: ReplicaRacks, *, force_rack_aware: bool = False
) -> Assignment:
    """Kafka's "cooperative-sticky". Partitions and `withheld` together are what `sticky` gives.

    `force_rack_aware` heeds racks also where all partitions are in all. Raises `InvalidMember` and
    `InvalidReplicaRacks`.
    """
    answer = hand_out(members, racks, force=force_rack_aware)
    withheld = _changing_hands(answer) | _read_by_another(answer, members)
    return answer.group.assignment(members, answer.holders, withheld)


def withhold(assignment: Assignment, members: Members) -> Assignment:
    """The assignment without what another member may still read; that is in `withheld`.

    What was withheld before is looked at anew.
    """
    holders = dict(assignment.withheld) | {
        partition: member for member, given in assignment.partitions.items() for partition in given
    }
    readers = _readers(members)
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


def _readers(members: Members) -> dict[TopicPartition, str | None]:
    """The member that named a partition in the newest generation; None where several did."""
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


def _changing_hands(answer: HandedOut) -> set[int]:
    """What upstream withholds, by partition number."""
    group, holders = answer.group, answer.holders
    reading = [
        frozenset[int]() if member.released else frozenset(group.named(number))
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
    return taken.union(*(answer.owned.doubled & read for read in reading))


def _read_by_another(answer: HandedOut, members: Members) -> set[int]:
    """What one member alone named in the newest generation, and another one got."""
    group, readers = answer.group, _readers(members)
    return {
        number
        for number, (partition, holder) in enumerate(
            zip(group.partitions, answer.holders, strict=True)
        )
        if readers.get(partition) not in {None, group.ids[holder]}
    }
