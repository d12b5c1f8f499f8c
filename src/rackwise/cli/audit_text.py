"""The text of `rackwise audit`, for people; scripts read its JSON document."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from rackwise.core.findings import RULES, Severity
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rackwise.core.audit import Findings, RackLoss
    from rackwise.core.findings import Rule
    from rackwise.core.model import Cluster

SHOWN = 50
"""Findings, and partitions of a lost rack, that the text lists; the JSON document has all."""
COLORS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}
"""Severity, worst first -> ANSI colour."""
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def audit_text(
    cluster: Cluster,
    findings: Findings,
    losses: Sequence[RackLoss],
    *,
    has_names: bool,
    has_color: bool,
) -> str:
    """Findings per rule, the first of them, what was not checked, and the loss of each rack.

    `has_names`: list the partitions that each loss hits. Colour is never the only sign.
    """
    racks = {broker.rack for broker in cluster.brokers if broker.rack is not None}
    parts = [
        (
            f"{escaped(cluster.cluster_id or 'cluster')} at {cluster.taken_at}: "
            f"{counted(len(cluster.brokers), 'broker')}, {counted(len(racks), 'rack')}, "
            f"{counted(len(cluster.topics), 'topic')}, "
            f"{counted(len(cluster.partitions), 'partition')}"
        ),
        summary_text(findings.counts, RULES),
        _listed(findings, has_color=has_color),
        skipped_text(findings.not_checked),
        _lost(losses),
        *(_lost_partitions(loss) for loss in losses if has_names),
    ]
    return "\n\n".join(filter(None, parts))


def partition_names(partitions: Sequence[tuple[str, int]]) -> list[str]:
    """`orders-0` for each."""
    return [f"{topic}-{partition}" for topic, partition in partitions]


def size_text(size: int) -> str:
    """Bytes in the largest binary unit that leaves one or more.

    >>> size_text(1023), size_text(13314398618), size_text(2**70)
    ('1023 B', '12.4 GiB', '1048576.0 PiB')
    """
    power = min(max(size.bit_length() - 1, 0) // 10, len(UNITS) - 1)
    return f"{size / 2 ** (10 * power):.1f} {UNITS[power]}" if power else f"{size} B"


def columns_text(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Collection[int]
) -> str:
    """Columns two blanks apart, those in `numbers` to the right.

    >>> print(columns_text(("rack", "lost"), [("/eu/a", "3"), ("/eu/b", "12")], numbers=[1]))
    rack   lost
    /eu/a     3
    /eu/b    12
    """
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index in numbers else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def summary_text(counts: Mapping[str, int], rules: Mapping[str, Rule]) -> str:
    """One line per rule with findings; `counts`: rule -> number."""
    if not counts:
        return "no findings"
    rows = [
        (rule, str(rules[rule].severity), str(count), rules[rule].sentence)
        for rule, count in counts.items()
    ]
    return columns_text(("rule", "severity", "findings", "broken when"), rows, numbers={2})


def severity_text(severity: Severity, *, has_color: bool) -> str:
    """The severity as a word of one width."""
    text = severity.ljust(max(map(len, COLORS)))
    return f"\x1b[{COLORS[severity]}m{text}\x1b[0m" if has_color else text


def skipped_text(not_checked: Mapping[str, str]) -> str:
    """Rules that were not judged, by reason; nothing where all were."""
    by_reason: dict[str, list[str]] = {}
    for rule, reason in not_checked.items():
        by_reason.setdefault(reason, []).append(rule)
    lines = [f"  {', '.join(rules)}: {escaped(reason)}" for reason, rules in by_reason.items()]
    return "\n".join(["not checked", *lines]) if lines else ""


def _listed(findings: Findings, *, has_color: bool) -> str:
    """The first findings, the worst first."""
    worst = chain.from_iterable(findings.of_severity(severity)[:SHOWN] for severity in COLORS)
    lines = [
        f"{severity_text(finding.severity, has_color=has_color)} {escaped(finding.message)}"
        for finding in islice(worst, SHOWN)
    ]
    if len(findings) > SHOWN:
        lines.append(f"and {len(findings) - SHOWN} more; --json has all {len(findings)}")
    return "\n".join(lines)


def _lost(losses: Sequence[RackLoss]) -> str:
    rows = [
        (
            escaped(loss.rack),
            str(len(loss.brokers)),
            str(len(loss.offline)),
            str(len(loss.under_min_isr)),
            str(loss.leaders_lost),
            str(loss.replicas_lost),
            size_text(loss.bytes_to_restore) + (" +" if loss.unknown_sizes else ""),
            "-"
            if loss.top_survivor is None
            else f"broker {loss.top_survivor[0]} leads {loss.top_survivor[1]}",
        )
        for loss in losses
    ]
    header = (
        "losing",
        "brokers",
        "offline",
        "under min ISR",
        "leaders lost",
        "replicas lost",
        "to restore",
        "busiest then",
    )
    return columns_text(header, rows, numbers={1, 2, 3, 4, 5, 6}) if rows else ""


def _lost_partitions(loss: RackLoss) -> str:
    lines = []
    for what, partitions in (("offline", loss.offline), ("under min ISR", loss.under_min_isr)):
        names = [escaped(name) for name in partition_names(partitions[:SHOWN])]
        if len(partitions) > SHOWN:
            names.append(f"and {len(partitions) - SHOWN} more; --json has all")
        lines.append(f"  {what}: {', '.join(names) or 'none'}")
    return "\n".join([f"losing {escaped(loss.rack)}", *lines])
