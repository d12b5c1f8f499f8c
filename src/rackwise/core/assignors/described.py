"""Consumer groups as a cluster describes them, in the form in which assignors take members.

Goals: nothing is guessed silently; what a group does not show is said.

```
shown by              rack               topics                           partitions
consumer protocol     client.rack        always but for broker patterns   the present ones
classic protocol      since KIP-881      while the group is Stable        the present ones
older snapshots       perhaps            never                            the present ones
```

A rack is taken from what the user says of the member, else from what the group shows, else from the
first pattern that its client id matches. Where topics are not shown, all that the group is known to
read or to list is taken: members of a group mostly subscribe to the same.

What this does not do: judge the assignment.

Source: KIP-848, KIP-881; DescribeGroups, ConsumerGroupDescribe.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import Assignment, Member, TopicPartition
from rackwise.core.errors import GroupNotFound, GroupNotStable
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.assignors.members import Members
    from rackwise.core.model import Group, GroupMember

CLASSIC, STABLE = "classic", "Stable"
ENDED = ("Empty", "Dead")
SHOWN = 5
"""So many groups are named in a hint."""
LONGEST = 60
"""So many characters of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A group's members and what they have now.

    `rackless`: members of whom no rack is known; `listless`: members that do not show what they
    subscribe to.
    """

    group: Group
    members: Members
    assignment: Assignment
    rackless: tuple[str, ...] = ()
    listless: tuple[str, ...] = ()


def named_group(groups: Iterable[Group], name: str) -> Group:
    """The group of that name. Raises `GroupNotFound`."""
    known = {group.group: group for group in groups}
    if name in known:
        return known[name]
    some = [_shortened(escaped(group)) for group in sorted(known)[:SHOWN]]
    raise GroupNotFound(
        f"group {escaped(name)} is not among the {len(known)} consumer groups",
        wanted=name,
        had=len(known),
        hint=f"known: {', '.join(some)}" if some else "a snapshot has groups if --groups is given",
    )


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}..."


def check_group(group: Group) -> None:
    """Refuse a group whose members cannot be judged.

    Raises `GroupNotFound` for one without members, `GroupNotStable` for one of the classic protocol
    that rebalances: what its members subscribe to is not told then.
    """
    name = escaped(group.group)
    if not group.members or group.state in ENDED:
        raise GroupNotFound(
            f"invalid group {name}: expected at least 1 member, got none",
            wanted="at least 1 member",
            had=group.state,
            hint="try again when its consumers run, or give a snapshot of such a moment",
        )
    if group.protocol in {CLASSIC, None} and group.state not in {STABLE, None}:
        raise GroupNotStable(
            f"invalid group {name}: expected state {STABLE}, got {escaped(group.state)}",
            wanted=STABLE,
            had=group.state,
            hint="try again, or give a snapshot",
        )


def described(
    group: Group,
    *,
    racks: Mapping[str, str] | None = None,
    client_racks: Sequence[tuple[str, str]] = (),
) -> Described:
    """The members of a group as assignors take them, and their assignment, after `check_group`.

    `racks`: member id -> rack; `client_racks`: (glob of client ids, rack), the first that matches
    is taken.
    """
    given = racks or {}
    every = {topic for member in group.members for topic in member.topics or ()}
    every |= {topic for member in group.members for topic, _ in member.partitions}
    members = {
        member.member_id: Member(
            topics=tuple(sorted(every)) if member.topics is None else member.topics,
            rack=given.get(member.member_id) or _rack(member, client_racks),
            instance_id=member.instance_id,
            owned=tuple(TopicPartition(*pair) for pair in member.partitions),
            generation=0 if member.generation is None else member.generation,
        )
        for member in group.members
    }
    return Described(
        group=group,
        members=members,
        assignment=Assignment.of({key: member.owned for key, member in members.items()}),
        rackless=tuple(key for key, member in members.items() if member.rack is None),
        listless=tuple(member.member_id for member in group.members if member.topics is None),
    )


def _rack(member: GroupMember, client_racks: Iterable[tuple[str, str]]) -> str | None:
    if member.rack is not None:
        return member.rack.text
    found = (rack for glob, rack in client_racks if fnmatchcase(member.client_id, glob))
    return next(found, None)
