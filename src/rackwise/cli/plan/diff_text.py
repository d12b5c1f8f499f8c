"""Text output of `rackwise diff`: brokers, partitions, findings and totals that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.tables import (
    SHOWN,
    aligned_lines,
    arrow_column,
    columns_text,
    finding_text,
    rest_lines,
    skipped_text,
)
from rackwise.core.audit import unchecked_placement
from rackwise.core.text import counted, escaped
from rackwise.core.traffic import usd_of
from rackwise.report.formats import bytes_change_text, bytes_text, change_text, usd_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.findings import Findings
    from rackwise.core.planning.diff import (
        BrokerDiff,
        Diff,
        FindingsDiff,
        PartitionDiff,
        ReplicaLists,
        TotalDiff,
    )
    from rackwise.core.racks import Rack

ABSENT = "-"
TOTALS = {
    "steady_before.cross_bytes_per_s": "replication across racks before",
    "steady_before.usd_nano_per_day": "its price before",
    "steady_before.unknown_rates": "unknown rates before",
    "steady_after.cross_bytes_per_s": "replication across racks after",
    "steady_after.usd_nano_per_day": "its price after",
    "steady_after.unknown_rates": "unknown rates after",
    "monthly.replication_cross_bytes": "change of replication in 30 days",
    "monthly.replication_usd_nano": "its price",
    "monthly.unknown_rates": "changes that are unknown",
    "monthly.reads_usd_nano": "change of the price of reads in 30 days",
}
"""Labels for totals whose key in the plan file is not readable."""
KINDS = {
    "set": "brokers differ",
    "order": "order differs",
    "leader": "leader differs",
    "before": "before differs",
    "missing": "in one file only",
    "rack": "rack differs",
    "live": "state differs",
}


def diff_text(found: Diff, *, has_color: bool) -> str:
    """Format all differences; `equal` if there are none."""
    if found.is_equal:
        return "equal"
    parts = [
        _summary(found),
        _brokers_text(found.brokers),
        _partitions_text(found.partitions),
        *compared_texts(found.findings, ("a", "b"), has_color=has_color),
        totals_text(found.totals, ("a", "b")),
    ]
    return "\n\n".join(filter(None, parts))


def _summary(found: Diff) -> str:
    places = (
        f"{counted(len(found.partitions), 'partition')} and "
        f"{counted(len(found.brokers), 'broker')} differ"
    )
    findings = found.findings
    if findings is None:
        return places
    rules = len(findings.not_compared)
    return (
        f"{places}; {counted(len(findings.fixed), 'finding')} fixed, "
        f"{len(findings.introduced)} introduced"
        + (f"; {counted(rules, 'rule')} not compared" if rules else "")
    )


def _brokers_text(differing: Sequence[BrokerDiff]) -> str:
    states = arrow_column([(_broker(each.a), _broker(each.b)) for each in differing])
    rows = [
        (f"broker {each.id}", arrow, KINDS[each.what])
        for each, arrow in zip(differing, states, strict=True)
    ]
    return "\n".join(aligned_lines(rows, mark="~ "))


def _broker(broker: tuple[Rack | None, bool] | None) -> str:
    """Format `/eu/a`, or `/eu/a, not live`."""
    if broker is None:
        return ABSENT
    rack, is_live = broker
    name = "no rack" if rack is None else escaped(rack.text)
    return name if is_live else f"{name}, not live"


def _partitions_text(differing: Sequence[PartitionDiff]) -> str:
    lists = arrow_column([(_lists(each.a), _lists(each.b)) for each in differing])
    rows = [
        (escaped(f"{each.topic}-{each.partition}"), arrow, KINDS[each.what])
        for each, arrow in zip(differing, lists, strict=True)
    ]
    return "\n".join(aligned_lines(rows, mark="~ "))


def _lists(lists: ReplicaLists | None) -> str:
    """Format `1,2,3 led by 1`, or `1,2,4 => 1,2,3` for a move of a plan."""
    if lists is None:
        return ABSENT
    text = ",".join(map(str, lists.after))
    if lists.before is not None:
        text = f"{','.join(map(str, lists.before))} => {text}"
    return text if lists.leader is None else f"{text} led by {lists.leader}"


def findings_text(what: str, findings: Findings | None, *, has_color: bool) -> str:
    """Count the findings and list the worst ones; empty without findings."""
    if not findings:
        return ""
    lines = [f"{counted(len(findings), 'finding')} {what}"]
    shown = findings.worst_first()[:SHOWN]
    lines += [finding_text(finding, has_color=has_color) for finding in shown]
    return "\n".join([*lines, *rest_lines(len(findings))])


def compared_texts(
    found: FindingsDiff | None, sides: tuple[str, str], *, has_color: bool
) -> tuple[str, ...]:
    """The parts of a text about findings; `sides`: what the first and second audit are called."""
    if found is None:
        return ()
    maybe = found.maybe_introduced
    return (
        findings_text("fixed", found.fixed, has_color=has_color),
        findings_text("introduced", found.introduced, has_color=has_color),
        findings_text(f"only in {sides[1]}, perhaps not new", maybe, has_color=has_color),
        _not_compared_text(found, sides),
        skipped_text(unchecked_placement(found.not_checked)),
    )


def _not_compared_text(found: FindingsDiff, sides: tuple[str, str]) -> str:
    """List the rules that one side did not check, by reason; empty without any."""
    by_reason: dict[tuple[str | None, str | None], list[str]] = {}
    for each in found.not_compared:
        by_reason.setdefault((each.a, each.b), []).append(each.rule)
    lines = []
    for reasons, rules in by_reason.items():
        why = [
            f"not checked in {side}: {escaped(reason)}"
            for side, reason in zip(sides, reasons, strict=True)
            if reason is not None
        ]
        gone = sum(found.maybe_fixed.counts.get(rule, 0) for rule in rules)
        left = [f"{counted(gone, 'finding')} only in {sides[0]}"] if gone else []
        lines.append(f"  {', '.join(rules)}: {'; '.join([*why, *left])}")
    return "\n".join(["not compared", *lines]) if lines else ""


def totals_text(totals: Sequence[TotalDiff], sides: tuple[str, str]) -> str:
    """Format totals side by side; empty without totals."""
    rows = [
        (
            TOTALS.get(total.name, total.name.replace("_nano", "").replace("_", " ")),
            _number(total.name, total.a),
            _number(total.name, total.b),
        )
        for total in totals
        if (total.a, total.b) != (None, None)
    ]
    return columns_text(("total", *sides), rows, numbers={1, 2}) if rows else ""


def _number(name: str, value: int | None) -> str:
    """Format a total with the unit that its name implies."""
    if value is None:
        return ABSENT
    if name.startswith("monthly.") and "unknown" not in name:
        return change_text(usd_of(value)) if "usd" in name else bytes_change_text(value)
    if "bytes" in name:
        return f"{bytes_text(value)}{'/s' if name.endswith('_per_s') else ''}"
    if "usd_nano" in name:
        return f"{usd_text(usd_of(value))}{' a day' if name.endswith('_per_day') else ''}"
    return str(value)
