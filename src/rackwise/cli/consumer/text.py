"""Output of `rackwise consumer` as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.tables import columns_text
from rackwise.core.assignors import CONSUMER, SHARE, STREAMS
from rackwise.core.text import counted, escaped
from rackwise.core.traffic import usd_of
from rackwise.report.formats import bytes_text, change_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from rackwise.cli.consumer.groups import EvaluatedGroup
    from rackwise.cli.consumer.outlook import PricedOutcome
    from rackwise.core.assignors import (
        AssignmentReport,
        BrokerReads,
        LevelCrossing,
        Review,
        SimulatedAssignor,
    )

NO_RACK = "(no rack)"
INDENT = "  "
_ADVICE = {
    SHARE: (
        "a share group reads from leaders alone (KIP-932), and the broker assigns it without racks",
        (
            "to read locally: a consumer group with follower fetching, or one share group per rack "
            "on topics that are led there"
        ),
    ),
    STREAMS: (
        "the broker assigns the tasks of a streams group without racks (KIP-1071)",
        (
            "to read locally: a replica of each partition in every rack of the members, or "
            "group.protocol=classic with rack.aware.assignment.strategy"
        ),
    ),
}


def evaluation_text(
    group: EvaluatedGroup,
    found: Review,
    brokers: Mapping[int, BrokerReads],
    outlook: Sequence[PricedOutcome],
) -> str:
    """Format a group: a headline, a row per rack, what limits locality, assignors on the broker."""
    rows = [_headline(group, found), _racks(found.now)]
    rows += _levels(found)
    if (busiest := _busiest(brokers)) is not None:
        rows.append(f"  {busiest}")
    limit = found.explanation
    if limit is not None and limit.best_local < limit.partitions:
        rows.append(f"  {limit.reason}")
    rows += _broker_alone(group)
    is_on_server = group.described.group.protocol == CONSUMER
    rows += [_outcome(each, is_on_server=is_on_server) for each in outlook]
    if not is_on_server:
        rows += _unknown_costs(outlook)
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
    return f"{title}\n{columns_text(header, table, numbers=range(1, 7), mark=INDENT)}"


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
                _partitions(group, report),
            ),
        )
    )


def _partitions(group: EvaluatedGroup, report: AssignmentReport) -> str:
    """Count partitions; members of a share group may read the same one."""
    if group.described.group.protocol != SHARE:
        return counted(report.partitions, "partition")
    held = {tp for tps in group.described.assignment.partitions.values() for tp in tps}
    partitions = counted(len(held) + report.unassigned, "partition")
    return f"{partitions} with {counted(report.partitions, 'reader')}"


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


def _fraction(part: int | Fraction, whole: int) -> Fraction:
    from fractions import Fraction

    return Fraction(part) / whole if whole else Fraction(1)


def _broker_alone(group: EvaluatedGroup) -> list[str]:
    """Say how a share or streams group reads, and what can be done to read more locally."""
    return [f"  {line}" for line in _ADVICE.get(group.described.group.protocol or "", ())]


def _outcome(priced: PricedOutcome, *, is_on_server: bool) -> str:
    """Format what one of Kafka's assignors on the broker would give."""
    outcome = priced.outcome
    what = "all its members restarted" if is_on_server else "moved to the consumer protocol"
    where = f"  {what}, {outcome.assignor}:"
    if outcome.local is None:
        return f"{where} unknown: give --rack or --client-rack for members without rack"
    average = " on average" if outcome.is_average else ""
    share = percent(_fraction(outcome.local, outcome.partitions))
    text = f"{where} local {_average(outcome.local)}{average} ({share})"
    if is_on_server:
        return text
    extra = priced.extra.nano
    cost = "cost unknown" if extra is None else f"{change_text(usd_of(extra))} per 30 days"
    return f"{text}; this group would lose {_lost_text(outcome.lost_share)}, {cost}"


def _average(local: int | Fraction) -> str:
    """An average with one decimal, rounded down as a share is; a whole number without."""
    return f"{local}" if local == int(local) else f"{int(local * 10) / 10}"


def _lost_text(share: Fraction | None) -> str:
    if share is None:
        return "nothing, as it reads no bytes locally"
    if share <= 0:
        return "no local reads"
    return f"{percent(share) if share * 100 >= 1 else 'less than 1 %'} of its local reads"


def _unknown_costs(outlook: Sequence[PricedOutcome]) -> list[str]:
    """Say once why the cost of a change is not known."""
    reasons = dict.fromkeys(
        each.extra.reason
        for each in outlook
        if each.extra.reason is not None and each.outcome.local is not None
    )
    return [f"  cost unknown: {escaped(reason)}" for reason in reasons]


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
    return columns_text(header, rows, numbers=range(1, 5), mark=INDENT)


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
    return f"{bytes_text(bytes_per_s)}/s"


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
