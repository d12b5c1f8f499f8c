"""One helper per law: each raises AssertionError naming the law; none imports what it judges."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from naive_audit import (
    JUDGED_ELSEWHERE,
    Told,
    World,
    naive_findings,
    skipped_rules,
)
from naive_blast import Lost, naive_blast_radius
from rackwise.core.findings import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.blast import RackLoss
    from rackwise.core.findings import Findings
    from rackwise.core.model import Cluster, FairLoads
    from rackwise.core.policy import Policy


def check_findings(
    findings: Findings, cluster: Cluster, policy: Policy, fair: FairLoads | None = None
) -> None:
    """Every finding and no other, in order, with the numbers that a slow audit counts; no gap.

    Every rule was judged or says why not, and no rule that was not judged at all finds anything.
    """
    told = [
        Told(f.rule, f.topic, f.partition, f.broker, f.level, f.wanted, f.had)
        for f in findings
        if f.rule not in JUDGED_ELSEWHERE
    ]
    wanted = naive_findings(cluster, policy, fair)
    assert told == wanted, f"law of findings: {_first_difference(told, wanted)}"
    for finding in findings:
        assert finding.severity == RULES[finding.rule].severity, "law of severities"
    assert set(findings.not_checked) <= set(RULES), "law of not_checked: a rule that does not exist"
    assert all(findings.not_checked.values()), "law of not_checked: a rule without reason"
    unjudged = skipped_rules(World(cluster, policy, fair)) - JUDGED_ELSEWHERE
    assert unjudged <= set(findings.not_checked), "law of not_checked: skipped in silence"


def check_blast_radius(losses: Sequence[RackLoss], cluster: Cluster, policy: Policy) -> None:
    """One loss for each rack at each level, in path order, with what a slow count finds."""
    told = [
        Lost(
            rack=loss.rack,
            level=loss.level,
            brokers=loss.brokers,
            offline=list(loss.offline),
            under_min_isr=list(loss.under_min_isr),
            leaders_lost=loss.leaders_lost,
            top_survivor=loss.top_survivor,
            replicas_lost=loss.replicas_lost,
            bytes_to_restore=loss.bytes_to_restore,
            unknown_sizes=loss.unknown_sizes,
        )
        for loss in losses
    ]
    wanted = naive_blast_radius(cluster, policy)
    assert told == wanted, f"law of rack losses: {_first_difference(told, wanted)}"


def check_conserved(rows_in: int, rows_ok: int, rows_quarantined: int) -> None:
    """No row is dropped: each one is let through or in quarantine."""
    assert rows_in == rows_ok + rows_quarantined, (
        f"law of rows: {rows_in} came in; {rows_ok} and {rows_quarantined} are there"
    )


def _first_difference(told: Sequence[object], wanted: Sequence[object]) -> str:
    for a, b in zip_longest(told, wanted):
        if a != b:
            return f"{a} was told; {b} is wanted"
    return "none"
