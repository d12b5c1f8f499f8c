"""Rules about consumer groups: their members' racks and their assignors (KIP-345, 848, 881).

```
protocol   assignor                        rack-aware
classic    range sticky cooperative-sticky yes, if members send their racks (KIP-881)
           rack-optimal                    yes
           roundrobin                      no
           any, a static member moved      not before the next rebalance (KIP-345)
consumer   uniform range                   no (KIP-848)
           any other name                  an assignor of somebody's own: not judged
share      simple                          no, and members read from leaders alone (KIP-932)
streams    -                               no (KIP-1071)
```

A group of which the broker assigns the partitions is reported once, with what its assignment loses,
and what both of Kafka's assignors on the broker would give. Whether a better assignment exists is
checked only for groups without an error or a warning, which come first. Whether replicas are where
members are is checked only for groups that no assignment makes local.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.assignors.described import (
    BROKER_ASSIGNORS,
    CONSUMER,
    SHARE,
    STABLE,
    STREAMS,
    WITHOUT_CHOICE,
)
from rackwise.core.fetch_diagnosis.view import finding, rule
from rackwise.core.findings import Severity, Unchecked
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.fetch_diagnosis.facts import GroupBest
    from rackwise.core.fetch_diagnosis.view import FetchView, Results
    from rackwise.core.model import Group, GroupMember

RACK_AWARE_ASSIGNORS = ("range", "sticky", "cooperative-sticky", "rack-optimal")
GROUP_RULES = (
    "reading-member-rack",
    "reading-protocol",
    "reading-assignor",
    "reading-static-member",
    "reading-coverage",
    "reading-best",
)


def unseen_groups(view: FetchView) -> Iterator[Unchecked]:
    """Why no rule about groups is checked, or not for groups without members."""
    for name in GROUP_RULES:
        for note in view.cluster.notes:
            if note.kind == "not-visible":
                yield Unchecked(name, "not visible", escaped(note.text))
        if not view.cluster.groups and name not in view.facts.not_read:
            yield Unchecked(name, "no consumer group is known")
        for group in view.cluster.groups:
            if not group.members:
                yield _unchecked(name, group, "the group has no members")


@rule("reading-member-rack", Severity.WARNING, "a member of a group sends no rack")
def member_rack(view: FetchView) -> Results:
    """Groups with members that sent no rack when they joined."""
    for group in view.groups:
        known = [member for member in group.members if _shows_rack(group, member)]
        if len(known) < len(group.members):
            yield _unchecked("reading-member-rack", group, _why_unknown(group))
        silent = sorted(member.client_id for member in known if not _rack_text(member))
        if silent:
            yield finding(
                "reading-member-rack",
                group=group.group,
                wanted=f"a rack of each of {counted(len(group.members), 'member')}",
                had=f"none of {len(silent)}: {names_text(silent)}",
                hint="set client.rack; the own assignors of kafka-python and aiokafka do not send "
                "it: use an assignor of rackwise.kafka_python or rackwise.aiokafka",
            )


@rule("reading-protocol", Severity.WARNING, "a group's assignor on the broker ignores racks")
def protocol(view: FetchView) -> Results:
    """Groups of the consumer protocol that use one of Kafka's own assignors on the broker."""
    for group in view.groups:
        if group.protocol is None:
            yield _unchecked("reading-protocol", group, "its protocol is not known")
        elif group.protocol == CONSUMER and _has_server_assignor(group):
            name = "" if group.assignor is None else f", assignor {escaped(group.assignor)}"
            yield finding(
                "reading-protocol",
                group=group.group,
                wanted="a rack-aware assignor",
                had=f"the consumer protocol{name}{_lost_text(view, group)}"
                f"{_average_text(view, group)}",
                hint="put Rackwise's server-side assignors on the brokers and set "
                "group.remote.assignor=rack-optimal, or put a replica of each partition in every "
                "rack of the members; until then use group.protocol=classic with a rack-aware "
                "assignor",
            )
        elif group.protocol == SHARE:
            yield finding(
                "reading-protocol",
                group=group.group,
                wanted="reads from a replica in the reader's rack",
                had=f"a share group, which reads from leaders alone{_local_text(view, group)}",
                hint="use a consumer group with follower fetching, or one share group per rack on "
                "topics that are led there",
            )
        elif group.protocol == STREAMS:
            yield finding(
                "reading-protocol",
                group=group.group,
                wanted="a rack-aware assignor",
                had="a streams group, whose tasks the broker assigns without racks"
                f"{_local_text(view, group)}",
                hint="put a replica of each partition in every rack of the members, or use "
                "group.protocol=classic with rack.aware.assignment.strategy",
            )


@rule("reading-assignor", Severity.WARNING, "a group's assignor ignores racks, or is not known")
def assignor(view: FetchView) -> Results:
    """Classic groups whose assignor is not one of those that are known to be rack-aware."""
    for group in view.groups:
        if group.protocol in {CONSUMER, *WITHOUT_CHOICE}:
            continue
        if group.assignor is None:
            yield _unchecked("reading-assignor", group, _why_unknown(group))
        elif group.assignor not in RACK_AWARE_ASSIGNORS:
            yield finding(
                "reading-assignor",
                group=group.group,
                wanted=f"one of {', '.join(RACK_AWARE_ASSIGNORS)}",
                had=f"{escaped(group.assignor)}{_lost_text(view, group)}",
                hint="change partition.assignment.strategy in two rolling restarts: first list "
                "the new assignor before the old one, then drop the old one",
            )


@rule(
    "reading-static-member",
    Severity.WARNING,
    "a group has not rebalanced since a static member came back in another rack",
)
def static_member(view: FetchView) -> Results:
    """Groups that would read more in their own racks if the same assignor ran again (KIP-345).

    Groups of the classic protocol: on the broker, assignors of the other protocols run by
    themselves when a member joins again.
    """
    name = "reading-static-member"
    for group in view.groups:
        if group.protocol in {CONSUMER, *WITHOUT_CHOICE}:
            continue
        far = sorted(each.instance_id or "" for each in group.members if _reads_far(view, each))
        found = view.facts.best.get(group.group)
        if not far:
            continue
        if found is None or found.after_rebalance is None:
            yield _unchecked(name, group, "what its assignor would decide now is not known")
        elif found.after_rebalance > found.local:
            yield finding(
                name,
                group=group.group,
                wanted=f"{found.after_rebalance} of {counted(found.partitions, 'partition')} "
                f"read in the reader's rack, as {escaped(str(group.assignor))} assigns them now",
                had=f"{found.local}; {counted(len(far), 'static member')} without a replica near: "
                f"{names_text(far)}",
                hint="remove these members from the group, by Admin.removeMembersFromConsumerGroup "
                "or a pause longer than session.timeout.ms: they join again, and the group "
                "rebalances",
            )


@rule(
    "reading-coverage",
    Severity.INFO,
    "a topic has no replica in the rack of some of its readers",
)
def coverage(view: FetchView) -> Results:
    """Topics with partitions that have no replica in the rack of a member that reads them."""
    for group in view.groups:
        best = view.facts.best.get(group.group)
        if best is not None and best.best_local == best.partitions > 0:
            continue
        if group.protocol == SHARE:
            # Its members read from leaders alone: more replicas change nothing.
            continue
        racks = _reader_racks_by_topic(view, group)
        if not racks:
            yield _unchecked("reading-coverage", group, _why_uncovered(view, group))
        for topic in sorted(racks):
            yield from _check_coverage(view, group, topic, sorted(racks[topic]))


@rule(
    "reading-best",
    Severity.INFO,
    "another assignment of a group would read more in its own racks",
)
def best(view: FetchView) -> Results:
    """Groups whose assignment is not the best; groups with an error or a warning are left out."""
    for group in view.groups:
        found = view.facts.best.get(group.group)
        if group.group in view.troubled:
            yield _unchecked("reading-best", group, "another finding of the group comes first")
        elif found is None:
            why = view.facts.no_best.get(group.group)
            if why is None and _rebalances(group):
                why = _why_unknown(group)
            if why is not None or "reading-best" not in view.facts.not_read:
                why = why or "the best assignment is not known"
                yield _unchecked("reading-best", group, why)
        elif found.is_better:
            moves = "" if found.moves is None else f"; {counted(found.moves, 'move')} to get there"
            coarser = ", less across coarser levels" if found.best_local <= found.local else ""
            yield finding(
                "reading-best",
                group=group.group,
                wanted=f"{found.best_local} of {counted(found.partitions, 'partition')} "
                f"read in the reader's rack{coarser}",
                had=f"{found.local}{moves}",
                hint="run rackwise consumer evaluate to see which racks limit it; the assignor "
                "rack-optimal reaches it",
            )


def _unchecked(name: str, group: Group, why: str) -> Unchecked:
    """A rule that is not checked for one group, and why."""
    return Unchecked(name, why, f"group {escaped(group.group)}")


def _check_coverage(view: FetchView, group: Group, topic: str, racks: list[str]) -> Results:
    """Findings about partitions of the topic without a replica in one of the readers' racks."""
    name, rows = "reading-coverage", view.rows_of(topic)
    blind = view.is_blind[rows]
    if blind.any():
        yield Unchecked(name, "a replica's broker has no known rack", f"topic {escaped(topic)}")
    lacking = {rack: int((~view.covers(rack)[rows] & ~blind).sum()) for rack in racks}
    if any(lacking.values()):
        yield finding(
            name,
            group=group.group,
            topic=topic,
            wanted=f"{counted(rows.stop - rows.start, 'partition')} with a replica in "
            f"{_each_text(racks)}",
            had=names_text([f"{n} without one in {rack}" for rack, n in lacking.items() if n]),
            hint=_coverage_hint(view, group, rows, racks),
        )


def _coverage_hint(view: FetchView, group: Group, rows: slice, racks: list[str]) -> str:
    """What is still possible for a topic in these rows, whose readers are in `racks`."""
    found = view.facts.best.get(group.group)
    if found is None or found.is_better or not _is_rack_aware(group):
        return (
            "use a rack-aware assignor or add replicas: fetching from followers alone cannot "
            "make these reads local"
        )
    far = ~view.is_blind[rows]
    for rack in racks:
        far &= ~view.covers(rack)[rows]
    empty = [rack for rack in view.rack_names if (view.covers(rack)[rows] & far).any()]
    more = (
        f"a member in {_each_text(empty)}"
        if empty
        else "members in the racks that rackwise consumer evaluate names"
    )
    return f"add replicas, or {more}: no other assignment reads more in the readers' racks"


def _each_text(racks: list[str]) -> str:
    return f"{'each of ' * (len(racks) > 1)}{names_text(racks)}"


def _reader_racks_by_topic(view: FetchView, group: Group) -> dict[str, set[str]]:
    """Topic of the table -> racks of its readers, as far as brokers have them."""
    found: dict[str, set[str]] = {}
    for member in group.members:
        rack = _rack_text(member)
        if rack in view.rack_names:
            for topic in _read_topics(view, member):
                found.setdefault(topic, set()).add(rack)
    return found


def _read_topics(view: FetchView, member: GroupMember) -> set[str]:
    """Topics that a member subscribes to or is assigned, as far as they are in the table."""
    topics = {topic for topic, _ in member.partitions} | {*(member.topics or ())}
    rows = {topic: view.rows_of(topic) for topic in topics}
    return {topic for topic, found in rows.items() if found.start < found.stop}


def _reads_far(view: FetchView, member: GroupMember) -> bool:
    """Whether a static member reads a partition that has no replica in its rack."""
    if not member.instance_id or not _rack_text(member):
        return False
    covered = view.covers(_rack_text(member))
    return any(
        not each
        for topic, number in member.partitions
        for each in covered[view.rows_of(topic)][number : number + 1]
    )


def _rack_text(member: GroupMember) -> str:
    return member.rack.text if member.rack is not None else ""


def _shows_rack(group: Group, member: GroupMember) -> bool:
    """Whether the member's rack would be visible if it had one."""
    return (
        bool(_rack_text(member))
        or group.protocol in {CONSUMER, *WITHOUT_CHOICE}
        or member.topics is not None
    )


def _has_server_assignor(group: Group) -> bool:
    return group.assignor is None or group.assignor in BROKER_ASSIGNORS


def _is_rack_aware(group: Group) -> bool:
    if group.protocol in WITHOUT_CHOICE or (
        group.protocol == CONSUMER and _has_server_assignor(group)
    ):
        return False
    return group.assignor in RACK_AWARE_ASSIGNORS


def _rebalances(group: Group) -> bool:
    return group.state not in {None, STABLE}


def _why_uncovered(view: FetchView, group: Group) -> str:
    if any(_read_topics(view, member) for member in group.members):
        return "no member is in a rack of a broker"
    return _why_unknown(group) if _rebalances(group) else "no topic that it reads is known"


def _why_unknown(group: Group) -> str:
    if _rebalances(group):
        return f"the group is {escaped(str(group.state))}, not {STABLE}"
    return "what its members sent when they joined is not known"


def _local_text(view: FetchView, group: Group) -> str:
    """How much is read locally, as the end of a text; empty if it is not known."""
    found = view.facts.best.get(group.group)
    return "" if found is None else f"; {found.local} of {_reads_text(found)}"


def _reads_text(found: GroupBest) -> str:
    return f"{counted(found.partitions, 'partition')} read in the reader's rack"


def _average_text(view: FetchView, group: Group) -> str:
    """What Kafka's assignors give after a restart, as the end of a text; empty if not known."""
    found = view.facts.best.get(group.group)
    if found is None or not found.on_server:
        return ""
    averages = ", ".join(f"{name} {local}" for name, local in found.on_server.items())
    return f"; on average after a restart: {averages}"


def _lost_text(view: FetchView, group: Group) -> str:
    """What a better assignment would gain, as the end of a text; empty if none is known."""
    found = view.facts.best.get(group.group)
    if found is None or not found.is_better:
        return ""
    return f"; {found.local} of {_reads_text(found)}, {found.best_local} possible"
