"""The text of `rackwise what-if`: findings, lost racks and plans, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.plan.diff_text import ABSENT, findings_text, totals_text
from rackwise.cli.tables import columns_text
from rackwise.core.planning.diff import TotalDiff, compared_totals
from rackwise.core.planning.model import Totals
from rackwise.core.planning.what_if import AddBroker, LoseBroker, LoseRack, MoveBroker
from rackwise.core.rules import RULES
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.cli.what_if_side import Judged
    from rackwise.core.audit import Findings, RackLoss
    from rackwise.core.planning.diff import FindingsDiff
    from rackwise.core.planning.what_if import Change

SIDES = ("before", "after")


def what_if_text(
    changes: Sequence[Change],
    before: Judged,
    after: Judged,
    found: FindingsDiff,
    *,
    has_color: bool,
) -> str:
    """What is supposed, what it breaks and mends, what a lost rack does, what a plan costs."""
    cluster = before.cluster
    parts = [
        (
            f"{escaped(cluster.cluster_id or 'cluster')} at {cluster.taken_at}, supposed: "
            f"{', '.join(map(change_text, changes))}"
        ),
        _counts(before.findings, after.findings),
        findings_text("fixed", found.fixed, has_color=has_color),
        findings_text("introduced", found.introduced, has_color=has_color),
        _losses(before.losses, after.losses),
        _plans(before, after),
    ]
    return "\n\n".join(filter(None, parts))


def change_text(change: Change) -> str:
    """`lose /eu/a`, `add 9=/eu/a`, `rf orders*=3`."""
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
            str(before.counts.get(rule, 0)),
            str(after.counts.get(rule, 0)),
        )
        for rule in RULES
        if rule in before.counts or rule in after.counts
    ]
    header = ("rule", "severity", *SIDES)
    return columns_text(header, rows, numbers={2, 3}) if rows else "no findings"


def _losses(before: Sequence[RackLoss], after: Sequence[RackLoss]) -> str:
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


def _offline(loss: RackLoss | None) -> int | None:
    return None if loss is None else len(loss.offline)


def _under(loss: RackLoss | None) -> int | None:
    return None if loss is None else len(loss.under_min_isr)


def _pair(a: int | None, b: int | None) -> tuple[str, str]:
    return (ABSENT if a is None else str(a), ABSENT if b is None else str(b))


def _plans(before: Judged, after: Judged) -> str:
    made = [each.plan for each in (before, after)]
    told = [
        f"no plan {side}: {escaped(each.refusal.message)}"
        for side, each in zip(SIDES, (before, after), strict=True)
        if each.refusal is not None
    ]
    left, right = (Totals() if plan is None else plan.totals for plan in made)
    rows = [
        TotalDiff(
            name=total.name,
            a=None if made[0] is None else total.a,
            b=None if made[1] is None else total.b,
        )
        for total in compared_totals(left, right)
    ]
    return "\n".join(filter(None, ["plan to balance it", totals_text(rows, SIDES), *told]))
