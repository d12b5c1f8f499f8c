"""Rules about leaders and preferred leaders.

The preferred leader is the first placed replica: a preferred leader election makes it the leader.
The racks of `leader_racks` are tried in order. The first rack that holds a replica of the partition
is the one where its preferred leader should be. A partition without a replica in these racks may
have any preferred leader.

```
leader_racks = /a, /b      [2 1 3] in /b /a /c     leader-rack: wanted a replica in /a first; had 2
                           [2 3]   in /b /c        ok, no replica is in /a
                           [3 4]   in /c /d        ok, no replica is in /a or /b
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.registry import rule
from rackwise.core.view import distinct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.policy import TopicRules
    from rackwise.core.view import View


@rule(
    "leader-rack",
    Severity.WARNING,
    "the preferred leader is not where the policy allows it",
)
def leader_rack(view: View) -> Iterator[FindingBatch]:
    """Preferred leaders on brokers that must not lead, or outside the rack that should lead."""
    preferred = view.preferred
    rows = np.flatnonzero(np.isin(preferred, view.policy.brokers.no_lead))
    if len(rows):
        text, examples = distinct([preferred[rows]])
        texts = [
            ("a preferred leader that may lead", str(broker))
            for broker in preferred[rows][examples].tolist()
        ]
        yield FindingBatch(rule="leader-rack", texts=texts, text=text, row=rows)
    for number, rules in enumerate(view.rules):
        if rules.leader_racks:
            yield from _outside_leader_racks(view, number, rules)


def _outside_leader_racks(view: View, number: int, rules: TopicRules) -> Iterator[FindingBatch]:
    """Preferred leaders outside the first of the `leader_racks` that holds a replica.

    `number`: index of the rules in `view.rules`.
    """
    rows = np.flatnonzero(view.row_rules == number)
    lists, preferred = view.placed.take(rows), view.preferred[rows]
    first = view.tree.places(preferred)
    is_settled = np.zeros(len(rows), dtype=np.bool_)
    for rack in rules.leader_racks:
        inside = view.below(rack)
        held = view.sums(lists, inside[view.tree.places(lists.values)]) > 0
        bad = np.flatnonzero(held & ~is_settled & ~inside[first])
        is_settled |= held
        if len(bad):
            text, examples = distinct([preferred[bad]])
            texts = [
                (f"a preferred leader in {rack}", str(broker))
                for broker in preferred[bad][examples].tolist()
            ]
            yield FindingBatch(rule="leader-rack", texts=texts, text=text, row=rows[bad])


@rule("not-preferred-leader", Severity.INFO, "the leader is not the first replica of the list")
def not_preferred_leader(view: View) -> Iterator[FindingBatch]:
    """Partitions whose leader is not their first placed replica."""
    leader, preferred = view.table.leader, view.preferred
    rows = np.flatnonzero((leader != preferred) & (leader >= 0) & (preferred >= 0))
    if len(rows):
        text, examples = distinct([preferred[rows], leader[rows]])
        texts = [
            (f"leader {wanted}", f"leader {had}")
            for wanted, had in zip(
                preferred[rows][examples].tolist(), leader[rows][examples].tolist(), strict=True
            )
        ]
        yield FindingBatch(rule="not-preferred-leader", texts=texts, text=text, row=rows)
