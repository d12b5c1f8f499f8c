"""Whether a group could have a better assignment, and why the best one is not better.

Goals: a verdict that says yes only where an assignment with less crossing exists; the moves that it
costs; the reason where even the best assignment crosses racks.

```
now    51 of 60 local                 gap 9, 9 moves to get there: a better one exists
best   60 of 60 local

now    9 of 15 local                  no better one exists: 9 partitions have replicas in a alone,
best   9 of 15 local                  where one member holds 3
```

The algorithm. The best assignment is that of `assign_optimal`. Better means less crossing, coarser
levels first, in bytes where weights are given. Without a solver, the formula of `best_local` still
gives the number of local partitions, if all members subscribe to the same topics, loads are even in
total, there is one level of racks, and there are no weights. The moves are then not known.

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
    from rackwise.core.assignors.optimal.assign import BalanceScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The present assignment of a group, compared with the best one."""

    now: AssignmentReport
    best: AssignmentReport | None
    """The best assignment, with moves counted from now; None without a solver."""
    explanation: Explanation | None
    """Why the best is not better; None where it is not known."""
    is_better: bool
    """Whether the best is known and crosses less."""

    @property
    def best_local(self) -> int | None:
        """The local partitions of the best assignment, or of the formula without a solver.

        Coarser levels, weights and the balance decide first. So the number may be less than that of
        the group now, and less than `explanation.best_local`, the most that even loads in total
        allow. None where no member has a rack, or the best is not known.
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
    balance: BalanceScope = "total",
    weights: Mapping[TopicPartition, int] | None = None,
) -> Review:
    """Compare the present assignment (also reported as `owned`) with the best one.

    Raises what `evaluate` and `assign_optimal` raise, but `MissingDependency` only where no formula
    applies.
    """
    try:
        optimum = assign_optimal(members, racks, balance=balance, target=target, weights=weights)
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
    now = evaluate(assignment, members, racks, target=target, weights=weights, best=optimum)
    best = evaluate(optimum, members, racks, target=target, weights=weights, best=optimum)
    return Review(
        now=now,
        best=best,
        explanation=explain(members, racks, target=target),
        is_better=_crossing_by_level(best) < _crossing_by_level(now)
        or (bool(now.skipped.unassigned) and best.local > now.local),
    )


def _crossing_by_level(report: AssignmentReport) -> tuple[int, ...]:
    """What crosses each level, coarsest first: bytes where weights are given, else partitions."""
    return tuple(
        level.partitions if level.bytes_per_s is None else level.bytes_per_s
        for level in report.cross_by_level
    )
