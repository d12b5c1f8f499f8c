"""What may be wrong with a producer's partitioning that no send fails for: rules and findings."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rackwise.core.findings import Finding, Rule, Severity
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Mapping

_W = Severity.WARNING
PRODUCER_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        row[0]: Rule(*row)
        for row in (
            ("blank-rack", _W, "a rack-aware producer tells no client.rack"),
            ("rack-unmatched", _W, "no broker is in the rack that a producer names"),
            ("custom-partitioner", _W, "a partitioner.class leaves partitioner.* without effect"),
            ("stale-split", _W, "a split is older than it may be, or of other leaders"),
        )
    }
)
"""Rule name -> rule, in the order in which findings are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionerFinding(Finding):
    """A finding about a producer; `hint` is what to do."""

    hint: str

    @property
    @override
    def place(self) -> str:
        """`producer`."""
        return "producer"

    @override
    def as_dict(self) -> dict[str, Any]:
        """The fields and the message, for one JSON object."""
        return Finding.as_dict(self) | {"hint": self.hint}


def producer_finding(rule: str, *, wanted: str, had: str, hint: str) -> PartitionerFinding:
    """One finding, with the severity of its rule."""
    return PartitionerFinding(
        rule=rule,
        severity=PRODUCER_RULES[rule].severity,
        topic=None,
        partition=None,
        broker=None,
        level=None,
        wanted=wanted,
        had=had,
        hint=hint,
    )
