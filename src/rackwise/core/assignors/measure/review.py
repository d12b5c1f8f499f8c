"""Is there a better assignment for a group: what it has, what it could have, and why not more.

Goals: a verdict that says yes only where an assignment with less crossing exists; the price of it
in moves; the reason where even the best crosses.

```
now    51 of 60 local                 gap 9, 9 moves to get there: better exists
best   60 of 60 local

now    9 of 15 local                  nothing better exists: 9 partitions have replicas in a alone,
best   9 of 15 local                  where one member holds 3
```

The algorithm. The best is that of `assign_optimal`; better is less crossing, of coarser levels
first, in bytes where weights are given. Where no solver is installed the formula of `best_local`
still tells how many could be local, if all subscribe to the same topics, loads are even in total,
there is one level of racks and no weight; then no moves are known.

What this does not do: read groups, or change them.

Source: KIP-881.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.assignors.measure.evaluate import evaluate
from rackwise.core.assignors.measure.explain import explain
from rackwise.core.assignors.optimal.assign import assign_optimal
from rackwise.core.errors import MissingDependency

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.assignors.measure.evaluate import AssignmentReport
    from rackwise.core.assignors.measure.explain import Explanation
    from rackwise.core.assignors.members import (
        Assignment,
        Members,
        ReplicaRacks,
        Target,
        TopicPartition,
    )
    from rackwise.core.assignors.optimal.assign import Balance


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """`now`: what the group has; `best`: the best assignment, its moves counted from now.

    `best` is None where no solver is installed, `explanation` where nothing tells the best.
    `is_better`: whether a best that is known crosses less.
    """

    now: AssignmentReport
    best: AssignmentReport | None
    explanation: Explanation | None
    is_better: bool

    @property
    def best_local(self) -> int | None:
        """Local partitions of the best, by the formula where no solver is installed.

        Coarser levels, weights and the balance asked for decide before it, so that it may be less
        than what the group has, and than `explanation.best_local`, the most that even loads in
        total allow. None where no member has a rack, or nothing tells the best.
        """
        if self.explanation is None or all(row.rack is None for row in self.now.by_rack):
            return None
        return self.explanation.best_local if self.best is None else self.best.local


def review(
    assignment: Assignment,
    members: Members,
    racks: ReplicaRacks,
    *,
    target: Target = "follower",
    balance: Balance = "total",
    weights: Mapping[TopicPartition, int] | None = None,
) -> Review:
    """Compare what members have (`owned` says it too) with the best they could have.

    Raises what `evaluate` and `assign_optimal` raise; `MissingDependency` only where no formula
    tells the best.
    """
    try:
        made = assign_optimal(members, racks, balance=balance, target=target, weights=weights)
    except MissingDependency:
        now = evaluate(assignment, members, racks, target=target, weights=weights)
        if now.best_local is None or len(now.cross_by_level) > 1 or balance != "total":
            raise
        return Review(
            now=now,
            best=None,
            explanation=explain(members, racks, target=target),
            is_better=now.best_local > now.local,
        )
    now = evaluate(assignment, members, racks, target=target, weights=weights, best=made)
    best = evaluate(made, members, racks, target=target, weights=weights, best=made)
    return Review(
        now=now,
        best=best,
        explanation=explain(members, racks, target=target),
        is_better=_crossing(best) < _crossing(now)
        or (bool(now.skipped.unassigned) and best.local > now.local),
    )


def _crossing(report: AssignmentReport) -> tuple[int, ...]:
    return tuple(
        level.partitions if level.bytes_per_s is None else level.bytes_per_s
        for level in report.cross_by_level
    )
