"""What the loss of one rack would do to each partition.

Only what the loss itself does is told: a partition that is offline or under min.insync.replicas
already has a finding of its own. Live replicas in sync whose rack is not known survive every loss.

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

from rackwise.core.findings import Batch
from rackwise.core.view import blocks, distinct, firsts, matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.view import View


def rack_loss_offline(view: View) -> Iterator[Batch]:
    """Partitions whose live replicas in sync are all in one rack."""
    for level in loss_levels(view):
        names = view.tree.names[level]
        for group in _groups(view, level):
            bad = np.flatnonzero((group.inside == group.total[:, None]).any(axis=1))
            texts = [
                ("in sync in 2 racks", f"all {total} in {names[rack]}")
                for rack, total in zip(
                    group.nodes[bad].max(axis=1).tolist(), group.total[bad].tolist(), strict=True
                )
            ]
            yield group.batch("rack-loss-offline", bad, texts)


def rack_loss_min_isr(view: View) -> Iterator[Batch]:
    """Partitions that the loss of one rack puts under min.insync.replicas."""
    for level in loss_levels(view):
        names = view.tree.names[level]
        for group in _groups(view, level):
            left = group.total[:, None] - group.inside
            minimum = group.minimum[:, None]
            does = (
                firsts(matches(group.nodes))
                & (left > 0)
                & (left < minimum)
                & (group.total[:, None] >= minimum)
            )
            bad = np.flatnonzero(does.any(axis=1))
            texts = [
                (
                    f"{group.minimum[pattern]} in sync without any one rack",
                    ", ".join(
                        f"{left[pattern, j]} without {names[group.nodes[pattern, j]]}"
                        for j in np.flatnonzero(does[pattern]).tolist()
                    ),
                )
                for pattern in bad.tolist()
            ]
            yield group.batch("rack-loss-min-isr", bad, texts)


def loss_levels(view: View) -> list[int]:
    """The levels at which the policy wants a rack's loss judged, coarsest first."""
    names = view.policy.audit.rack_loss
    if names is None:
        return [view.tree.depth - 1]
    return [level for level, name in enumerate(view.levels) if name in names]


class _Group(NamedTuple):
    """Rows with a leader and as long an ISR, by distinct patterns of racks and numbers.

    `pattern`: of each row. Per pattern: `nodes` [patterns, members], rising, -1 = not live or not
    known; `inside`: live members in the same rack; `total`: live members; `minimum`: min ISR.
    """

    level: int
    rows: NDArray[np.int64]
    pattern: NDArray[np.int64]
    nodes: NDArray[np.int64]
    inside: NDArray[np.int64]
    total: NDArray[np.int64]
    minimum: NDArray[np.int64]

    def batch(self, rule: str, bad: NDArray[np.int64], texts: list[tuple[str, str]]) -> Batch:
        """Findings for all rows of the bad patterns."""
        text = np.full(len(self.nodes), -1, dtype=np.int64)
        text[bad] = np.arange(len(bad))
        of_row = text[self.pattern]
        hit = of_row >= 0
        return Batch(rule=rule, texts=texts, text=of_row[hit], level=self.level, row=self.rows[hit])


def _groups(view: View, level: int) -> Iterator[_Group]:
    nodes = np.where(view.live, view.tree.nodes[level], -1).astype(np.int64)
    judged = np.flatnonzero((view.table.leader >= 0) & (view.in_sync > 0))
    for rows, (index,) in blocks(view.table.isr, rows=judged):
        lying = np.sort(nodes[view.isr_places[index]], axis=1)
        total, minimum = view.in_sync[rows], view.min_isr[rows]
        pattern, examples = distinct([*lying.T, total, minimum])
        kept = lying[examples]
        inside = matches(kept).sum(axis=2)
        yield _Group(level, rows, pattern, kept, inside, total[examples], minimum[examples])
