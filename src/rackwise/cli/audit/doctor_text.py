"""Text output of `rackwise doctor`; scripts read the JSON document."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rackwise.cli.tables import (
    SHOWN,
    cluster_title,
    finding_text,
    rest_lines,
    skipped_text,
    summary_text,
)
from rackwise.core.fetch_diagnosis import READING_RULES
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from rackwise.core.fetch_diagnosis import ReadingFacts
    from rackwise.core.findings import FindingList


def doctor_text(
    facts: ReadingFacts, findings: FindingList, *, name: str | None, has_color: bool
) -> str:
    """Format findings per rule, the first findings with hints, and unchecked rules.

    `name`: what people call the cluster; None: only its id is known.
    """
    cluster = facts.cluster
    racks = {broker.rack for broker in cluster.brokers if broker.rack is not None}
    sizes = (
        (len(cluster.brokers), "broker"),
        (len(racks), "rack"),
        (len(cluster.topics), "topic"),
        (len(cluster.partitions), "partition"),
        (len(cluster.groups), "group"),
        (len(facts.probes), "probe"),
    )
    parts = [
        f"{cluster_title(cluster.cluster_id, name)} at {cluster.taken_at}: "
        + ", ".join(counted(*size) for size in sizes),
        summary_text(findings.counts, READING_RULES),
        _listed(findings, has_color=has_color),
        skipped_text(findings.not_checked),
    ]
    return "\n\n".join(filter(None, parts))


def _listed(findings: FindingList, *, has_color: bool) -> str:
    """List the first findings. Findings with the same hint show it once."""
    lines = [
        line
        for hint, group in groupby(findings[:SHOWN], key=lambda each: each.hint)
        for line in (
            *(finding_text(each, has_color=has_color) for each in group),
            f"  hint: {escaped(hint or '')}",
        )
    ]
    return "\n".join([*lines, *rest_lines(len(findings))])
