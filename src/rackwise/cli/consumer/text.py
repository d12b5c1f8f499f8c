"""What `rackwise consumer` prints: rows for people, documents for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.cli.tables import columns_text, size_text
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from rackwise.cli.consumer.groups import Judged, LeftOut
    from rackwise.core.assignors import (
        Assignment,
        AssignmentReport,
        BrokerReads,
        Explanation,
        LevelCrossing,
        Reads,
        Review,
        Simulated,
        TopicPartition,
    )
    from rackwise.core.model import Cluster

    Run: TypeAlias = tuple[Judged, AssignmentReport, int, Sequence[Simulated]]
    """A group, what it has now, the members in the simulation, where each assignor leaves it."""

EVALUATION = "rackwise.consumer-evaluation/1"
SIMULATION = "rackwise.consumer-simulation/1"
ASSIGNMENT = "rackwise.consumer-assignment/1"
NO_RACK = "(no rack)"
DIGITS = 6
"""Shares in documents are rounded to so many."""


def evaluation_text(judged: Judged, found: Review, brokers: Mapping[int, BrokerReads]) -> str:
    """A group in one line, a row per rack, and why not all is local."""
    rows = [_headline(judged, found), _indented(_racks(found.now))]
    rows += _levels(found)
    if (busiest := _busiest(brokers)) is not None:
        rows.append(f"  {busiest}")
    if found.explanation is not None and found.explanation.bottleneck:
        rows.append(f"  {found.explanation.reason}")
    return "\n".join(rows)


def simulation_text(
    judged: Judged, now: AssignmentReport, members: int, rows: Sequence[Simulated]
) -> str:
    """A group in one line and a row per assignor, after what it has now.

    `members`: how many there are in the simulation.
    """
    title = _title(judged, now)
    if now.unassigned:
        title += f"  {_nobodys(now)}"
    if members != len(judged.described.members):
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
    groups: Iterable[tuple[Judged, Review, Mapping[int, BrokerReads]]],
    left_out: Iterable[LeftOut],
    **terms: str,
) -> dict[str, Any]:
    """All groups; `terms`: what they were judged by.

    `best_local` is of the assignment `best`, which crosses least, coarsest level first, in bytes
    where weights are given; `explanation.best_local` is the most that could be local if nothing
    else counted. Where no best is known all of them are null.
    """
    return {
        "format": EVALUATION,
        **_source(cluster, left_out),
        **terms,
        "groups": [
            {
                **_group(judged),
                **_report(found.now),
                "by_rack": [
                    {"rack": row.rack, "members": row.members, **_reads(row.reads)}
                    for row in found.now.by_rack
                ],
                "by_member": [
                    {
                        "member_id": member,
                        "rack": judged.described.members[member].rack,
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
            for judged, found, brokers in groups
        ],
    }


def simulation_document(
    cluster: Cluster,
    groups: Iterable[Run],
    left_out: Iterable[LeftOut],
    **terms: str,
) -> dict[str, Any]:
    """All groups, each with what it has now and where each assignor leaves it."""
    return {
        "format": SIMULATION,
        **_source(cluster, left_out),
        **terms,
        "groups": [
            {
                **_group(judged),
                "members_simulated": members,
                "now": _report(now),
                "assignors": [
                    {"assignor": row.assignor, "rounds": row.rounds, **_report(row.report)}
                    for row in rows
                ],
                "skipped": _skipped(now),
            }
            for judged, now, members, rows in groups
        ],
    }


def assignments_document(cluster: Cluster, groups: Iterable[Run]) -> dict[str, Any]:
    """Who would read what, by group, assignor and member."""
    return {
        "format": ASSIGNMENT,
        "cluster_id": cluster.cluster_id,
        "taken_at": cluster.taken_at,
        "groups": [
            {
                "group": judged.name,
                "assignors": [
                    {"assignor": row.assignor, "members": _members(row.assignment)} for row in rows
                ],
            }
            for judged, _, _, rows in groups
        ],
    }


def percent(share: Fraction) -> str:
    """Whole percents, rounded down: 100 % is said of all alone.

    >>> from fractions import Fraction
    >>> percent(Fraction(51, 60)), percent(Fraction(999, 1000))
    ('85 %', '99 %')
    """
    return f"{int(share * 100)} %"


def _title(judged: Judged, report: AssignmentReport) -> str:
    group = judged.described.group
    kind = " ".join(escaped(text) for text in (group.protocol, group.assignor) if text)
    return "  ".join(
        filter(
            None,
            (
                escaped(group.group),
                kind,
                counted(len(judged.described.members), "member"),
                counted(report.partitions, "partition"),
            ),
        )
    )


def _headline(judged: Judged, found: Review) -> str:
    now, best = found.now, found.best_local
    parts = [_title(judged, now), f"local {now.local} ({percent(now.local_share)})"]
    if best is None or found.explanation is None:
        parts.append("best unknown")
    else:
        parts.append(f"best {best} ({percent(_fraction(best, found.explanation.partitions))})")
    if now.unassigned:
        parts.append(_nobodys(now))
    if found.is_better and found.best is not None:
        parts.append(f"{counted(found.best.moves, 'move')} to get there")
    return "  ".join(parts)


def _nobodys(report: AssignmentReport) -> str:
    return f"{report.unassigned} read by nobody"


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
    """What crosses each level, now and at best, where the table of racks does not tell it."""
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
    told = counted(level.partitions, "partition")
    return told if level.bytes_per_s is None else f"{told}, {_rate(level.bytes_per_s)}"


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


def _source(cluster: Cluster, left_out: Iterable[LeftOut]) -> dict[str, Any]:
    return {
        "cluster_id": cluster.cluster_id,
        "taken_at": cluster.taken_at,
        "left_out": [{"group": each.group, "reason": each.reason} for each in left_out],
        "notes": [{"kind": note.kind, "text": note.text} for note in cluster.notes],
    }


def _group(judged: Judged) -> dict[str, Any]:
    told = judged.described
    return {
        "group": told.group.group,
        "protocol": told.group.protocol,
        "assignor": told.group.assignor,
        "state": told.group.state,
        "members": len(told.members),
        "members_without_rack": list(told.rackless),
        "members_without_topics": list(told.listless),
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
    """What is known of the best; all of it null where nothing is."""
    if found.best_local is None or found.explanation is None:
        return dict.fromkeys(("best_local", "best", "is_better", "explanation"))
    return {
        "best_local": found.best_local,
        "best": None if found.best is None else _report(found.best),
        "is_better": found.is_better,
        "explanation": _explanation(found.explanation),
    }


def _explanation(told: Explanation) -> dict[str, Any]:
    return {
        "partitions": told.partitions,
        "best_local": told.best_local,
        "reachable": told.reachable,
        "unreachable": told.unreachable,
        "bottleneck": list(told.bottleneck),
        "only_there": told.only_there,
        "capacity": told.capacity,
        "shortfall": told.shortfall,
        "members_to_add": told.members_to_add,
        "reason": told.reason,
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
