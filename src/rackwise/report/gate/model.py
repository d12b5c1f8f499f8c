"""What a gate report shows: the rules of an audit, and what they found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.findings import Finding, Rule, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """The result of an audit for a CI service."""

    version: str
    """Version of Rackwise."""
    source: str
    """Path of the snapshot, or the name of the cluster."""
    rules: Mapping[str, Rule]
    """The rules that were asked for by name, in listing order."""
    findings: Sequence[Finding]
    by_rule: Mapping[str, Sequence[Finding]]
    """Rule -> its findings; rules without any may be left out."""
    not_checked: Mapping[str, str]
    """Rule -> why it was not checked."""
    failing: frozenset[Severity]
    """Severities that make the audit fail."""


def place_text(finding: Finding) -> str:
    """`orders-1 at zone`: where a rule is broken."""
    level = "" if finding.level is None else f" at {escaped(finding.level)}"
    return f"{finding.place}{level}"


def message_text(finding: Finding) -> str:
    """The whole finding as one line without control characters."""
    return escaped(finding.message)
