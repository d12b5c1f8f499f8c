"""Text output of `rackwise what-if`: findings, loss of racks and plans, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.cli.plan.diff_text import ABSENT, compared_texts, totals_text
from rackwise.cli.tables import cluster_title, columns_text
from rackwise.core.planning.diff import TotalDiff, compare_totals
from rackwise.core.planning.model import Totals
from rackwise.core.planning.what_if import AddBroker, LoseBroker, LoseRack, MoveBroker
from rackwise.core.rules import RULES
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.cli.audit.documents import RackLossDocument
    from rackwise.core.audit import Findings
    from rackwise.core.errors import InputError
    from rackwise.core.model import Cluster
    from rackwise.core.planning.diff import FindingsDiff
    from rackwise.core.planning.what_if import Change

SIDES = ("before", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfSide:
    """A cluster before or after the change, with its audit and the sums of its plan."""

    cluster: Cluster
    findings: Findings
    losses: tuple[RackLossDocument, ...]
    totals: Totals | None
    error: InputError | None
    """Why there is no plan."""


def what_if_text(
    changes: Sequence[Change],
    before: WhatIfSide,
    after: WhatIfSide,
    found: FindingsDiff,
    *,
    has_color: bool,
) -> str:
    """Format the change, its findings, the loss of each rack, and the cost of a plan."""
    cluster = before.cluster
    parts = [
        (
            f"{cluster_title(cluster.cluster_id, cluster.name)} at {cluster.taken_at}, changed: "
            f"{', '.join(map(what_if_change_text, changes))}"
        ),
        _counts(before.findings, after.findings),
        *compared_texts(found, ("the cluster before", "the cluster after"), has_color=has_color),
        _losses(before.losses, after.losses),
        _plans(before, after),
    ]
    return "\n\n".join(filter(None, parts))


def what_if_change_text(change: Change) -> str:
    """Format a change: `lose /eu/a`, `add 9=/eu/a`, `rf orders*=3`."""
    match change:
        case LoseRack(rack=rack):
            return f"lose {escaped(rack)}"
        case LoseBroker(id=broker):
            return f"lose broker {broker}"
        case AddBroker(id=broker, rack=rack):
            return f"add {broker}={escaped('' if rack is None else rack.text)}"
        case MoveBroker(id=broker, rack=rack):
            return f"move {broker}={escaped('' if rack is None else rack.text)}"
        case _:
            return ", ".join(f"rf {escaped(glob)}={size}" for glob, size in change.by_topic)


def _counts(before: Findings, after: Findings) -> str:
    rows = [
        (
            rule,
            str(RULES[rule].severity),
            _count(before, rule),
            _count(after, rule),
        )
        for rule in RULES
        if rule in before.counts or rule in after.counts
    ]
    header = ("rule", "severity", *SIDES)
    return columns_text(header, rows, numbers={2, 3}) if rows else "no findings"


def _count(findings: Findings, rule: str) -> str:
    """Format the number of findings; none are not 0 if the rule was not checked."""
    count = findings.counts.get(rule, 0)
    return "not checked" if not count and rule in findings.not_checked else str(count)


def _losses(before: Sequence[RackLossDocument], after: Sequence[RackLossDocument]) -> str:
    left = {loss.rack: loss for loss in before}
    right = {loss.rack: loss for loss in after}
    rows = [
        (
            escaped(rack),
            *_pair(_offline(left.get(rack)), _offline(right.get(rack))),
            *_pair(_under(left.get(rack)), _under(right.get(rack))),
        )
        for rack in sorted({**left, **right})
    ]
    header = ("losing", "offline before", "after", "under min ISR before", "after")
    return columns_text(header, rows, numbers={1, 2, 3, 4}) if rows else ""


def _offline(loss: RackLossDocument | None) -> int | None:
    return None if loss is None else loss.offline


def _under(loss: RackLossDocument | None) -> int | None:
    return None if loss is None else loss.under_min_isr


def _pair(a: int | None, b: int | None) -> tuple[str, str]:
    return (ABSENT if a is None else str(a), ABSENT if b is None else str(b))


def _plans(before: WhatIfSide, after: WhatIfSide) -> str:
    totals = [each.totals for each in (before, after)]
    errors = [
        f"no plan {side}: {escaped(each.error.message)}"
        for side, each in zip(SIDES, (before, after), strict=True)
        if each.error is not None
    ]
    left, right = (one or Totals() for one in totals)
    rows = [
        TotalDiff(
            name=total.name,
            a=None if totals[0] is None else total.a,
            b=None if totals[1] is None else total.b,
        )
        for total in compare_totals(left, right)
    ]
    return "\n".join(
        filter(None, ["plan to balance the cluster", totals_text(rows, SIDES), *errors])
    )
