"""Output of `rackwise consumer`: text for people, JSON documents for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.cli.tables import columns_text, size_text
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from rackwise.cli.consumer.groups import EvaluatedGroup, SkippedGroup
    from rackwise.core.assignors import (
        Assignment,
        AssignmentReport,
        BrokerReads,
        Explanation,
        LevelCrossing,
        Reads,
        Review,
        SimulatedAssignor,
        TopicPartition,
    )
    from rackwise.core.model import Cluster

    Run: TypeAlias = tuple[EvaluatedGroup, AssignmentReport, int, Sequence[SimulatedAssignor]]
    """A group, its current report, the simulated number of members, a result per assignor."""

EVALUATION = "rackwise.consumer-evaluation/1"
SIMULATION = "rackwise.consumer-simulation/1"
ASSIGNMENT = "rackwise.consumer-assignment/1"
NO_RACK = "(no rack)"
DIGITS = 6
"""Decimals of shares in documents."""


def evaluation_text(
    group: EvaluatedGroup, found: Review, brokers: Mapping[int, BrokerReads]
) -> str:
    """Format a group: a headline, a row per rack, and what limits locality."""
    rows = [_headline(group, found), _indented(_racks(found.now))]
    rows += _levels(found)
    if (busiest := _busiest(brokers)) is not None:
        rows.append(f"  {busiest}")
    if found.explanation is not None and found.explanation.bottleneck:
        rows.append(f"  {found.explanation.reason}")
    return "\n".join(rows)


def simulation_text(
    group: EvaluatedGroup, now: AssignmentReport, members: int, rows: Sequence[SimulatedAssignor]
) -> str:
    """Format a group: a headline, its current assignment and a row per assignor.

    `members`: the number of members in the simulation.
    """
    title = _title(group, now)
    if now.unassigned:
        title += f"  {_unassigned_text(now)}"
    if members != len(group.described.members):
        title += f"  simulated with {counted(members, 'member')}"
    table = [("now", *_row(now), "")]
    table += [
        (
            each.assignor,
            *_row(each.report),
            "not settled" if each.rounds is None else str(each.rounds),
        )
        for each in rows
    ]
    header = ("assignor", "local", "share", "smallest", "largest", "moves", "rounds")
    return f"{title}\n{_indented(columns_text(header, table, numbers=range(1, 7)))}"


def evaluation_document(
    cluster: Cluster,
    groups: Iterable[tuple[EvaluatedGroup, Review, Mapping[int, BrokerReads]]],
    skipped: Iterable[SkippedGroup],
    **terms: str,
) -> dict[str, Any]:
    """Describe the evaluation of all groups. `terms`: the options it used.

    `best_local` belongs to the assignment `best`, which crosses least, coarsest level first, in
    bytes if weights are given. `explanation.best_local` is the most that could be local if nothing
    else counted. All of them are null if the best assignment is unknown.
    """
    return {
        "format": EVALUATION,
        **_source(cluster, skipped),
        **terms,
        "groups": [
            {
                **_group(group),
                **_report(found.now),
                "by_rack": [
                    {"rack": row.rack, "members": row.members, **_reads(row.reads)}
                    for row in found.now.by_rack
                ],
                "by_member": [
                    {
                        "member_id": member,
                        "rack": group.described.members[member].rack,
                        **_reads(reads),
                    }
                    for member, reads in found.now.by_member.items()
                ],
                "by_broker": [
                    {
                        "id": broker,
                        "partitions": reads.partitions,
                        "bytes_per_s": reads.bytes_per_s,
                        "cross": reads.cross,
                    }
                    for broker, reads in brokers.items()
                ],
                **_best(found),
                "skipped": _skipped(found.now),
            }
            for group, found, brokers in groups
        ],
    }


def simulation_document(
    cluster: Cluster,
    groups: Iterable[Run],
    skipped: Iterable[SkippedGroup],
    **terms: str,
) -> dict[str, Any]:
    """Describe the simulation of all groups: the current report and one per assignor."""
    return {
        "format": SIMULATION,
        **_source(cluster, skipped),
        **terms,
        "groups": [
            {
                **_group(group),
                "members_simulated": members,
                "now": _report(now),
                "assignors": [
                    {"assignor": row.assignor, "rounds": row.rounds, **_report(row.report)}
                    for row in rows
                ],
                "skipped": _skipped(now),
            }
            for group, now, members, rows in groups
        ],
    }


def assignments_document(cluster: Cluster, groups: Iterable[Run]) -> dict[str, Any]:
    """Describe the simulated assignments by group, assignor and member."""
    return {
        "format": ASSIGNMENT,
        "cluster_id": cluster.cluster_id,
        "taken_at": cluster.taken_at,
        "groups": [
            {
                "group": group.name,
                "assignors": [
                    {"assignor": row.assignor, "members": _members(row.assignment)} for row in rows
                ],
            }
            for group, _, _, rows in groups
        ],
    }


def percent(share: Fraction) -> str:
    """Format whole percents, rounded down, so that only everything is 100 %.

    >>> from fractions import Fraction
    >>> percent(Fraction(51, 60)), percent(Fraction(999, 1000))
    ('85 %', '99 %')
    """
    return f"{int(share * 100)} %"


def _title(group: EvaluatedGroup, report: AssignmentReport) -> str:
    described = group.described.group
    kind = " ".join(escaped(text) for text in (described.protocol, described.assignor) if text)
    return "  ".join(
        filter(
            None,
            (
                escaped(described.group),
                kind,
                counted(len(group.described.members), "member"),
                counted(report.partitions, "partition"),
            ),
        )
    )


def _headline(group: EvaluatedGroup, found: Review) -> str:
    now, best = found.now, found.best_local
    parts = [_title(group, now), f"local {now.local} ({percent(now.local_share)})"]
    if best is None or found.explanation is None:
        parts.append("best unknown")
    else:
        parts.append(f"best {best} ({percent(_fraction(best, found.explanation.partitions))})")
    if now.unassigned:
        parts.append(_unassigned_text(now))
    if found.is_better and found.best is not None:
        parts.append(f"{counted(found.best.moves, 'move')} to get there")
    return "  ".join(parts)


def _unassigned_text(report: AssignmentReport) -> str:
    return f"{report.unassigned} unassigned"


def _fraction(part: int, whole: int) -> Fraction:
    from fractions import Fraction

    return Fraction(part, whole) if whole else Fraction(1)


def _racks(report: AssignmentReport) -> str:
    rows = [
        (
            NO_RACK if row.rack is None else escaped(row.rack),
            str(row.members),
            *(str(each) for each in (row.reads.local, row.reads.cross, row.reads.unknown)),
        )
        for row in report.by_rack
    ]
    header = ("rack", "members", "local", "cross", "unknown")
    return columns_text(header, rows, numbers=range(1, 5))


def _levels(found: Review) -> list[str]:
    """Format what crosses each level, now and at best, unless the table of racks shows it."""
    levels = found.now.cross_by_level
    if len(levels) == 1 and levels[0].bytes_per_s is None:
        return []
    if found.best is None or found.best_local is None:
        return [f"  crosses {level.level}: {_crossing(level)}" for level in levels]
    return [
        f"  crosses {level.level}: {_crossing(level)}, best "
        + (str(best.partitions) if best.bytes_per_s is None else _rate(best.bytes_per_s))
        for level, best in zip(levels, found.best.cross_by_level, strict=True)
    ]


def _crossing(level: LevelCrossing) -> str:
    text = counted(level.partitions, "partition")
    return text if level.bytes_per_s is None else f"{text}, {_rate(level.bytes_per_s)}"


def _rate(bytes_per_s: int) -> str:
    return f"{size_text(bytes_per_s)}/s"


def _busiest(brokers: Mapping[int, BrokerReads]) -> str | None:
    total = sum(reads.partitions for reads in brokers.values())
    if not total:
        return None
    broker = max(brokers, key=lambda each: (brokers[each].partitions, -each))
    return f"busiest broker {broker}: {brokers[broker].partitions} of {counted(total, 'partition')}"


def _row(report: AssignmentReport) -> tuple[str, ...]:
    return (
        str(report.local),
        percent(report.local_share),
        str(report.smallest),
        str(report.largest),
        str(report.moves),
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _source(cluster: Cluster, skipped: Iterable[SkippedGroup]) -> dict[str, Any]:
    return {
        "cluster_id": cluster.cluster_id,
        "taken_at": cluster.taken_at,
        "left_out": [{"group": each.group, "reason": each.reason} for each in skipped],
        "notes": [{"kind": note.kind, "text": note.text} for note in cluster.notes],
    }


def _group(group: EvaluatedGroup) -> dict[str, Any]:
    description = group.described
    return {
        "group": description.group.group,
        "protocol": description.group.protocol,
        "assignor": description.group.assignor,
        "state": description.group.state,
        "members": len(description.members),
        "members_without_rack": list(description.rackless),
        "members_without_topics": list(description.without_topics),
    }


def _report(report: AssignmentReport) -> dict[str, Any]:
    return {
        "partitions": report.partitions,
        "smallest": report.smallest,
        "largest": report.largest,
        "local": report.local,
        "cross": report.cross,
        "unknown": report.unknown,
        "unassigned": report.unassigned,
        "local_share": round(float(report.local_share), DIGITS),
        "cross_by_level": [
            {
                "level": level.level,
                "partitions": level.partitions,
                "bytes_per_s": level.bytes_per_s,
            }
            for level in report.cross_by_level
        ],
        "moves": report.moves,
    }


def _reads(reads: Reads) -> dict[str, int]:
    return {"local": reads.local, "cross": reads.cross, "unknown": reads.unknown}


def _best(found: Review) -> dict[str, Any]:
    """Describe the best assignment; every value is null if it is unknown."""
    if found.best_local is None or found.explanation is None:
        return dict.fromkeys(("best_local", "best", "is_better", "explanation"))
    return {
        "best_local": found.best_local,
        "best": None if found.best is None else _report(found.best),
        "is_better": found.is_better,
        "explanation": _explanation(found.explanation),
    }


def _explanation(explanation: Explanation) -> dict[str, Any]:
    return {
        "partitions": explanation.partitions,
        "best_local": explanation.best_local,
        "reachable": explanation.reachable,
        "unreachable": explanation.unreachable,
        "bottleneck": list(explanation.bottleneck),
        "only_there": explanation.only_there,
        "capacity": explanation.capacity,
        "shortfall": explanation.shortfall,
        "members_to_add": explanation.members_to_add,
        "reason": explanation.reason,
    }


def _skipped(report: AssignmentReport) -> dict[str, list[str]]:
    skipped = report.skipped
    return {
        "topics": list(skipped.topics),
        "assigned": _names(skipped.assigned),
        "unlisted": _names(skipped.unlisted),
        "unassigned": _names(skipped.unassigned),
        "unweighted": _names(skipped.unweighted),
    }


def _names(partitions: Iterable[TopicPartition]) -> list[str]:
    return [str(tp) for tp in partitions]


def _members(assignment: Assignment) -> dict[str, dict[str, list[int]]]:
    return {
        member: {topic: list(numbers) for topic, numbers in assignment.by_topic(member).items()}
        for member in assignment.partitions
    }
