"""Rules about consumer groups: what they tell of racks, and who assigns (KIP-848, KIP-881).

```
protocol   assignor                        heeds racks
classic    range sticky cooperative-sticky yes, where members tell their racks (KIP-881)
           rack-optimal                    yes
           roundrobin                      no
consumer   uniform range                   no (KIP-848)
```

A group of the consumer protocol is told once, with what its assignment loses. Whether a better
assignment exists is asked only of groups with no other finding: it would follow from that. Whether
replicas are where members are is asked only of groups that no assignment makes wholly local.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis.findings import Unchecked, finding, names_text
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from rackwise.core.fetch_diagnosis.findings import ReadingFinding
    from rackwise.core.fetch_diagnosis.view import View
    from rackwise.core.model import Group, GroupMember

CONSUMER = "consumer"
STABLE = "Stable"
HEEDING = ("range", "sticky", "cooperative-sticky", "rack-optimal")
SERVER_ASSIGNORS = ("uniform", "range")
"""Kafka's own assignors of the consumer protocol."""
RULES = (
    "reading-member-rack",
    "reading-protocol",
    "reading-assignor",
    "reading-coverage",
    "reading-best",
)


def whole(view: View) -> Iterator[Unchecked]:
    """Why no rule about groups is judged, or not of groups without members."""
    for rule in RULES:
        for note in view.cluster.notes:
            if note.kind == "not-visible":
                yield Unchecked(rule, "not visible", escaped(note.text))
        if not view.cluster.groups and rule not in view.facts.not_read:
            yield Unchecked(rule, "no consumer group is known")
        for group in view.cluster.groups:
            if not group.members:
                yield Unchecked(rule, "the group has no members", f"group {escaped(group.group)}")


def member_rack(view: View) -> Iterator[ReadingFinding | Unchecked]:
    """Groups with members that told no rack when they joined."""
    rule = "reading-member-rack"
    for group in view.groups:
        known = [member for member in group.members if _tells(group, member)]
        if len(known) < len(group.members):
            yield Unchecked(rule, _why_unknown(group), f"group {escaped(group.group)}")
        silent = sorted(member.client_id for member in known if not _rack(member))
        if silent:
            yield finding(
                rule,
                group=group.group,
                wanted=f"a rack of each of {counted(len(group.members), 'member')}",
                had=f"none of {len(silent)}: {names_text([escaped(name) for name in silent])}",
                hint="set client.rack; kafka-python's own assignors do not send it even so: use "
                "an assignor of rackwise.adapters.clients",
            )


def protocol(view: View) -> Iterator[ReadingFinding | Unchecked]:
    """Groups of the consumer protocol that one of Kafka's own assignors on the broker serves."""
    rule = "reading-protocol"
    for group in view.groups:
        if group.protocol is None:
            yield Unchecked(rule, "its protocol is not known", f"group {escaped(group.group)}")
        elif group.protocol == CONSUMER and _is_servers(group):
            name = "" if group.assignor is None else f", assignor {escaped(group.assignor)}"
            yield finding(
                rule,
                group=group.group,
                wanted="an assignor that heeds racks",
                had=f"the consumer protocol{name}{_lost(view, group)}",
                hint="use the classic protocol (group.protocol=classic) with an assignor that "
                "heeds racks, or a server-side assignor of your own",
            )


def assignor(view: View) -> Iterator[ReadingFinding | Unchecked]:
    """Classic groups whose assignor is round robin, or none that is known here."""
    rule = "reading-assignor"
    for group in view.groups:
        if group.protocol == CONSUMER:
            continue
        if group.assignor is None:
            yield Unchecked(rule, _why_unknown(group), f"group {escaped(group.group)}")
        elif group.assignor not in HEEDING:
            yield finding(
                rule,
                group=group.group,
                wanted=f"one of {', '.join(HEEDING)}",
                had=f"{escaped(group.assignor)}{_lost(view, group)}",
                hint="change partition.assignment.strategy in two rolling restarts: first list "
                "the new assignor before the old one, then drop the old one",
            )


def coverage(view: View) -> Iterator[ReadingFinding | Unchecked]:
    """Topics with partitions that have no replica in the rack of some member that reads them."""
    rule = "reading-coverage"
    for group in view.groups:
        best = view.facts.best.get(group.group)
        if best is not None and best.best_local == best.partitions > 0:
            continue
        racks = _racks_by_topic(view, group)
        if not racks:
            yield Unchecked(rule, _why_uncovered(view, group), f"group {escaped(group.group)}")
        for topic in sorted(racks):
            yield from _covered(view, group, topic, sorted(racks[topic]))


def best(view: View, troubled: Collection[str]) -> Iterator[ReadingFinding | Unchecked]:
    """Groups whose assignment is not the best; those with another finding are left out."""
    rule = "reading-best"
    for group in view.groups:
        name = f"group {escaped(group.group)}"
        found = view.facts.best.get(group.group)
        if group.group in troubled:
            yield Unchecked(rule, "another finding of the group comes first", name)
        elif found is None:
            why = view.facts.no_best.get(group.group)
            if why is None and _rebalances(group):
                why = _why_unknown(group)
            if why is not None or rule not in view.facts.not_read:
                yield Unchecked(rule, why or "the best assignment is not known", name)
        elif found.is_better:
            moves = "" if found.moves is None else f"; {counted(found.moves, 'move')} to get there"
            coarser = ", less across coarser levels" if found.best_local <= found.local else ""
            yield finding(
                rule,
                group=group.group,
                wanted=f"{found.best_local} of {counted(found.partitions, 'partition')} "
                f"read in the own rack{coarser}",
                had=f"{found.local}{moves}",
                hint="rackwise consumer evaluate shows which racks limit it; the assignor "
                "rack-optimal reaches it",
            )


def _covered(
    view: View, group: Group, topic: str, racks: list[str]
) -> Iterator[ReadingFinding | Unchecked]:
    rule, rows = "reading-coverage", view.rows_of(topic)
    blind = view.is_blind[rows]
    if blind.any():
        yield Unchecked(rule, "a replica's broker has no known rack", f"topic {escaped(topic)}")
    lacking = {rack: int((~view.covers(rack)[rows] & ~blind).sum()) for rack in racks}
    if any(lacking.values()):
        yield finding(
            rule,
            group=group.group,
            topic=topic,
            wanted=f"a replica of each of {counted(rows.stop - rows.start, 'partition')} in "
            f"{names_text([escaped(rack) for rack in racks])}",
            had="no replica "
            + names_text([f"of {n} in {escaped(rack)}" for rack, n in lacking.items() if n]),
            hint="reading from followers alone cannot be local here: the assignment decides, or "
            "more replicas",
        )


def _racks_by_topic(view: View, group: Group) -> dict[str, set[str]]:
    """Topics of the table -> racks of brokers that members who read them are in."""
    found: dict[str, set[str]] = {}
    for member in group.members:
        rack = _rack(member)
        if rack in view.rack_names:
            for topic in _topics(view, member):
                found.setdefault(topic, set()).add(rack)
    return found


def _topics(view: View, member: GroupMember) -> set[str]:
    """What a member lists or has, as far as it is in the table."""
    topics = {topic for topic, _ in member.partitions} | {*(member.topics or ())}
    rows = {topic: view.rows_of(topic) for topic in topics}
    return {topic for topic, found in rows.items() if found.start < found.stop}


def _rack(member: GroupMember) -> str:
    return member.rack.text if member.rack is not None else ""


def _tells(group: Group, member: GroupMember) -> bool:
    """Whether we would see its rack if it had one."""
    return bool(_rack(member)) or group.protocol == CONSUMER or member.topics is not None


def _is_servers(group: Group) -> bool:
    return group.assignor is None or group.assignor in SERVER_ASSIGNORS


def _rebalances(group: Group) -> bool:
    return group.state not in {None, STABLE}


def _why_uncovered(view: View, group: Group) -> str:
    if any(_topics(view, member) for member in group.members):
        return "no member is in a rack of a broker"
    return _why_unknown(group) if _rebalances(group) else "no topic that it reads is known"


def _why_unknown(group: Group) -> str:
    if _rebalances(group):
        return f"the group is {escaped(str(group.state))}, not {STABLE}"
    return "what its members told when they joined is not known"


def _lost(view: View, group: Group) -> str:
    found = view.facts.best.get(group.group)
    if found is None or not found.is_better:
        return ""
    return (
        f"; {found.local} of {counted(found.partitions, 'partition')} read in the own rack, "
        f"{found.best_local} possible"
    )
