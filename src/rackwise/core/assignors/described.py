"""Consumer groups as a cluster describes them, converted to members that assignors accept.

Goals: nothing is guessed silently; what a group does not report is named.

```
reported by           rack               topics                              partitions
consumer protocol     client.rack        always, except broker-side regex    current ones
share, streams group  client.rack        always, once their members joined   current ones
classic protocol      since KIP-881      while the group is Stable           current ones
older snapshots       sometimes          never                               current ones
```

The rack of a member comes from the user's mapping, else from the group, else from the first pattern
that matches its client id. A member that does not report its topics gets all topics that the group
is known to read or to list, since the members of a group mostly subscribe to the same topics.

The broker alone assigns the partitions of share groups and the tasks of streams groups, and nobody
can choose how. Members of a share group read from leaders only; several of them may have one
partition.

What this does not do: judge the assignment.

Source: KIP-848, KIP-881, KIP-932, KIP-1071; DescribeGroups and the APIs of the other protocols.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import Assignment, Member, TopicPartition
from rackwise.core.errors import GroupNotFound, GroupNotStable
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.assignors.members import Members, Target
    from rackwise.core.model import Group, GroupMember

CLASSIC, STABLE = "classic", "Stable"
CONSUMER, SHARE, STREAMS = "consumer", "share", "streams"
BROKER_ASSIGNORS = ("uniform", "range")
"""Kafka's own assignors of the consumer protocol, by their names on the broker."""
WITHOUT_CHOICE = frozenset((SHARE, STREAMS))
"""The protocols whose assignments nobody can choose."""
ENDED = ("Empty", "Dead")
"""The states of a group without members."""
SHOWN = 5
"""The number of groups that a hint names."""
LONGEST = 60
"""The number of characters shown of a group's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """A group's members and their current assignment."""

    group: Group
    members: Members
    assignment: Assignment
    rackless: tuple[str, ...] = ()
    """Members whose rack is not known."""
    without_topics: tuple[str, ...] = ()
    """Members that do not report their topics."""


def find_group(groups: Iterable[Group], name: str) -> Group:
    """The group with this name. Raises `GroupNotFound`."""
    known = {group.group: group for group in groups}
    if name in known:
        return known[name]
    some = [_shortened(escaped(group)) for group in sorted(known)[:SHOWN]]
    raise GroupNotFound(
        f"group {escaped(name)} is not among the {counted(len(known), 'consumer group')}",
        wanted=name,
        had=len(known),
        hint=f"use one of: {', '.join(some)}" if some else "take the snapshot without --no-groups",
    )


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}..."


def check_group(group: Group) -> None:
    """Reject a group whose members are not known.

    Raises `GroupNotFound` for a group without members. Raises `GroupNotStable` for a group of the
    classic protocol that is rebalancing, since its members do not report their topics then.
    """
    name = escaped(group.group)
    if not group.members or group.state in ENDED:
        raise GroupNotFound(
            f"invalid group {name}: expected at least 1 member, got none",
            wanted="at least 1 member",
            had=group.state,
            hint="try again when its consumers run, or give a snapshot of a time when they did",
        )
    if group.protocol in {CLASSIC, None} and group.state not in {STABLE, None}:
        raise GroupNotStable(
            f"invalid group {name}: expected state {STABLE}, got {escaped(group.state)}",
            wanted=STABLE,
            had=group.state,
            hint="try again, or give a snapshot",
        )


def describe_group(
    group: Group,
    *,
    racks: Mapping[str, str] | None = None,
    client_racks: Sequence[tuple[str, str]] = (),
) -> DescribedGroup:
    """The members of a group as assignors accept them, and their assignment; after `check_group`.

    `racks`: member id -> rack. `client_racks`: (glob of client ids, rack); the first match counts.
    """
    given = racks or {}
    known_topics = {topic for member in group.members for topic in member.topics or ()}
    known_topics |= {topic for member in group.members for topic, _ in member.partitions}
    members = {
        member.member_id: Member(
            topics=tuple(sorted(known_topics)) if member.topics is None else member.topics,
            rack=given.get(member.member_id) or _member_rack(member, client_racks),
            instance_id=member.instance_id,
            owned=tuple(TopicPartition(*pair) for pair in member.partitions),
            generation=0 if member.generation is None else member.generation,
        )
        for member in group.members
    }
    return DescribedGroup(
        group=group,
        members=members,
        assignment=Assignment.of({key: member.owned for key, member in members.items()}),
        rackless=tuple(key for key, member in members.items() if member.rack is None),
        without_topics=tuple(member.member_id for member in group.members if member.topics is None),
    )


def target_of(group: Group, target: Target) -> Target:
    """The replica that the members of the group read if others read `target`."""
    return "leader" if group.protocol == SHARE else target


def _member_rack(member: GroupMember, client_racks: Iterable[tuple[str, str]]) -> str | None:
    if member.rack is not None:
        return member.rack.text
    matches = (rack for glob, rack in client_racks if fnmatchcase(member.client_id, glob))
    return next(matches, None)
