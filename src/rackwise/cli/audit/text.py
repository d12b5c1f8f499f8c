"""Text output of `rackwise audit`; scripts read the JSON document."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from rackwise.cli.tables import (
    COLORS,
    SHOWN,
    cluster_title,
    columns_text,
    finding_text,
    rest_lines,
    skipped_text,
    summary_text,
)
from rackwise.core.audit import unchecked_placement
from rackwise.core.findings import NOT_ASKED_FOR
from rackwise.core.rules import RULES
from rackwise.core.text import counted, escaped
from rackwise.report.formats import sizes_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.audit import Findings, RackLoss
    from rackwise.core.model import Cluster, PartitionId


def audit_text(
    cluster: Cluster,
    findings: Findings,
    losses: Sequence[RackLoss],
    *,
    name: str | None,
    has_names: bool,
    has_color: bool,
) -> str:
    """Format findings per rule, the worst findings, unchecked rules and the loss of each rack.

    `name`: what people call the cluster; None: only its id is known. `has_names`: list the
    partitions that each loss affects. Colour is never the only sign.
    """
    racks = {broker.rack for broker in cluster.brokers if broker.rack is not None}
    parts = [
        (
            f"{cluster_title(cluster.cluster_id, name)} at {cluster.taken_at}: "
            f"{counted(len(cluster.brokers), 'broker')}, {counted(len(racks), 'rack')}, "
            f"{counted(len(cluster.topics), 'topic')}, "
            f"{counted(len(cluster.partitions), 'partition')}"
        ),
        summary_text(findings.counts, RULES) if findings.counts else _none_found(findings),
        _listed(findings, has_color=has_color),
        skipped_text(findings.not_checked),
        _lost(losses),
        *(_lost_partitions(loss) for loss in losses if has_names),
    ]
    return "\n\n".join(filter(None, parts))


def _none_found(findings: Findings) -> str:
    """That there are no findings, and how many rules of severity error were not checked."""
    reasons = unchecked_placement(findings.not_checked).values()
    unchecked = sum(reason != NOT_ASKED_FOR for reason in reasons)
    if not unchecked:
        return "no findings"
    what = f"{counted(unchecked, 'rule')} of severity error {'was' if unchecked == 1 else 'were'}"
    return f"no findings; {what} not checked, so it is not known whether all partitions are safe"


def partition_names(partitions: Sequence[PartitionId]) -> list[str]:
    """Format each partition as `orders-0`."""
    return [f"{topic}-{partition}" for topic, partition in partitions]


def _listed(findings: Findings, *, has_color: bool) -> str:
    """List the worst findings first."""
    worst = chain.from_iterable(findings.of_severity(severity)[:SHOWN] for severity in COLORS)
    lines = [finding_text(finding, has_color=has_color) for finding in islice(worst, SHOWN)]
    return "\n".join([*lines, *rest_lines(len(findings))])


def _lost(losses: Sequence[RackLoss]) -> str:
    rows = [
        (
            escaped(loss.rack),
            str(len(loss.brokers)),
            str(len(loss.offline)),
            str(len(loss.under_min_isr)),
            str(loss.leaders_lost),
            str(loss.replicas_lost),
            sizes_text(loss.bytes_to_restore, loss.unknown_sizes, "replica"),
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
        "most leaders",
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
