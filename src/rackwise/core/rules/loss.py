"""Rules about what the loss of one rack would do to each partition.

Only effects of the loss are reported: a partition that is already offline or under
min.insync.replicas has a finding of another rule. Live replicas in sync in an unknown rack survive
every loss.

```
min.insync.replicas 2      live and in sync      lose /a          finding
[1 2 3] in /a /b /c        /a 1, /b 1, /c 1      2 left           -
[1 4 2] in /a /a /b        /a 2, /b 1            1 left           rack-loss-min-isr: wanted 2, had 1
[1 4]   in /a /a           /a 2                  0 left           rack-loss-offline
```

What this does not do: assume unclean election or eligible leader replicas (KIP-966).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.racks import rackless_reason
from rackwise.core.rules.registry import rule
from rackwise.core.rules.sync import min_isr_unknown
from rackwise.core.view import blocks, distinct, firsts, matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.view import View


def _why_no_loss(view: View) -> str | None:
    """Why the rules of this file are not checked; None if they are."""
    if view.policy.audit.rack_loss == ():
        return "audit.rack_loss is off"
    return None if view.tree.names[0] else "no broker has a rack"


def _why_partly_no_loss(view: View) -> str | None:
    """Why the loss of one rack is not known for some partitions; None if it is for all."""
    return rackless_reason(view) or min_isr_unknown(view)


@rule(
    "rack-loss-offline",
    Severity.WARNING,
    "the loss of one rack takes a partition offline",
    unless=_why_no_loss,
    partly=rackless_reason,
)
def rack_loss_offline(view: View) -> Iterator[FindingBatch]:
    """Partitions whose live replicas in sync are all in one rack."""
    for level in _loss_levels(view):
        names = view.tree.names[level]
        for patterns in _patterns(view, level):
            bad = np.flatnonzero((patterns.inside == patterns.total[:, None]).any(axis=1))
            texts = [
                ("in sync in 2 racks", f"all {total} in {names[rack]}")
                for rack, total in zip(
                    patterns.nodes[bad].max(axis=1).tolist(),
                    patterns.total[bad].tolist(),
                    strict=True,
                )
            ]
            yield patterns.batch("rack-loss-offline", bad, texts)


@rule(
    "rack-loss-min-isr",
    Severity.WARNING,
    "the loss of one rack stops writes with acks=all",
    unless=_why_no_loss,
    partly=_why_partly_no_loss,
)
def rack_loss_min_isr(view: View) -> Iterator[FindingBatch]:
    """Partitions that have fewer than min.insync.replicas after the loss of one rack."""
    for level in _loss_levels(view):
        names = view.tree.names[level]
        for patterns in _patterns(view, level):
            left = patterns.total[:, None] - patterns.inside
            minimum = patterns.minimum[:, None]
            is_hit = (
                firsts(matches(patterns.nodes))
                & (left > 0)
                & (left < minimum)
                & (patterns.total[:, None] >= minimum)
            )
            bad = np.flatnonzero(is_hit.any(axis=1))
            texts = [
                (
                    f"{patterns.minimum[pattern]} in sync without any one rack",
                    ", ".join(
                        f"{left[pattern, j]} without {names[patterns.nodes[pattern, j]]}"
                        for j in np.flatnonzero(is_hit[pattern]).tolist()
                    ),
                )
                for pattern in bad.tolist()
            ]
            yield patterns.batch("rack-loss-min-isr", bad, texts)


def _loss_levels(view: View) -> list[int]:
    """The levels at which the policy asks for the loss of racks, coarsest first."""
    names = view.policy.audit.rack_loss
    if names is None:
        return [view.tree.depth - 1]
    return [level for level, name in enumerate(view.levels) if name in names]


class _IsrPatterns(NamedTuple):
    """The distinct ways in which the ISRs of some rows are spread over the racks of a level.

    All rows have a leader and ISRs of one length.
    """

    level: int
    rows: NDArray[np.int64]
    """Rows of the partition table, [rows]."""
    pattern: NDArray[np.int64]
    """Pattern of each row, [rows]."""
    nodes: NDArray[np.int64]
    """Rack of each member, rising, [patterns, members]; -1 = not live, or rack not known."""
    inside: NDArray[np.int64]
    """Live members in the same rack as this member, [patterns, members]."""
    total: NDArray[np.int64]
    """Live members, [patterns]."""
    minimum: NDArray[np.int64]
    """min.insync.replicas, [patterns]; -1 = not known."""

    def batch(
        self, name: str, bad: NDArray[np.int64], texts: list[tuple[str, str]]
    ) -> FindingBatch:
        """Findings for all rows of the bad patterns."""
        text = np.full(len(self.nodes), -1, dtype=np.int64)
        text[bad] = np.arange(len(bad))
        of_row = text[self.pattern]
        hit = of_row >= 0
        return FindingBatch(
            rule=name, texts=texts, text=of_row[hit], level=self.level, row=self.rows[hit]
        )


def _patterns(view: View, level: int) -> Iterator[_IsrPatterns]:
    nodes = np.where(view.live, view.tree.nodes[level], -1).astype(np.int64)
    checked = np.flatnonzero((view.table.leader >= 0) & (view.in_sync > 0))
    for rows, (index,) in blocks(view.table.isr, rows=checked):
        racks = np.sort(nodes[view.isr_places[index]], axis=1)
        total, minimum = view.in_sync[rows], view.min_isr[rows]
        pattern, examples = distinct([*racks.T, total, minimum])
        kept = racks[examples]
        inside = matches(kept).sum(axis=2)
        yield _IsrPatterns(level, rows, pattern, kept, inside, total[examples], minimum[examples])
