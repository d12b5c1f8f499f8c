"""The moves of a plan that fit a number of replicas, those with the worst consequence first.

Goals, in order: never more replicas than asked for; the worst consequence first; as many partitions
as possible. The cheapest plan is found and proved whole, and split:

```
plan                          consequence                added   at most 4 replicas
orders-4  spread-even         offline if a rack is lost    2     now      2
orders-7  spread-even         offline if a rack is lost    3     later    (2 + 3 > 4)
clicks-1  dead-replica        a replica is missing         1     now      3
logs-0    replica-balance     -                            1     now      4
logs-3    leader-balance      -                            0     now      nothing to copy
```

What remains. Every plan that reaches the goal costs at least the lower bound L. The first moves
cost k, so every way from there to the goal costs L - k or more. The later moves cost exactly that
if the plan is proved. They are in the plan, so that its proof covers them.

Among moves of one consequence, those that add the fewest replicas come first, which repairs the
most partitions; then those that are executed first. A move that does not fit is left for later, and
smaller ones behind it may still fit.

Limits: a partition moves whole or not at all. The first moves need not add as many replicas as are
allowed, and another choice may leave fewer. Loads are fair once the later moves are made.

Source: `rules.consequence`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.audit import audit
from rackwise.core.errors import InvalidConfig
from rackwise.core.rules import RULES
from rackwise.core.rules.consequence import Consequence, consequence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.outcome.move_columns import MoveColumns
    from rackwise.core.planning.outcome.moves import ListChanges
    from rackwise.core.planning.problem.instance import Instance

_ORDER = list(Consequence)


def first_moves(instance: Instance, change: ListChanges, most: int) -> NDArray[np.bool_]:
    """Whether each change is made now, bool [changes]; `most`: replicas that are added at most.

    Raises `InvalidConfig` if there is something to copy and no partition fits.
    """
    added = change.added.lengths
    ranks = _ranks(instance)[change.rows]
    is_now: NDArray[np.bool_] = added == 0
    left = most
    for at in np.lexsort((np.arange(len(added)), added, ranks)).tolist():
        if 0 < added[at] <= left:
            is_now[at] = True
            left -= int(added[at])
    if left == most and not is_now.all():
        least = int(added[added > 0].min())
        raise InvalidConfig(
            f"invalid --max-moves: expected at least {least}, the replicas that the smallest "
            f"change adds, got {most}",
            wanted=least,
            had=most,
            hint=f"use --max-moves {least} or more",
        )
    return is_now


def split_moves(moves: MoveColumns, is_now: NDArray[np.bool_]) -> tuple[MoveColumns, MoveColumns]:
    """The first and the later moves, each in the order of `moves`."""
    return moves.take(np.flatnonzero(is_now)), moves.take(np.flatnonzero(~is_now))


def _ranks(instance: Instance) -> NDArray[np.int64]:
    """The worst consequence of the rules that each partition breaks, int64 [rows]; 0 is worst."""
    view = instance.view
    policy = replace(view.policy, audit=replace(view.policy.audit, ignore=()))
    ranks = np.full(len(instance), len(_ORDER))
    for name, found in audit(view.cluster, policy).by_rule.items():
        rows = found.rows()
        ranks[rows] = np.minimum(ranks[rows], _ORDER.index(consequence(RULES[name])))
    return ranks
