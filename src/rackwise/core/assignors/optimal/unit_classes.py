"""Classes of units: units with the same subscribers, costs and owners are counted, not listed.

Goals: as few classes as possible, however many partitions; exact costs.

A unit is a partition, or a column of partitions that go to one member. Units of one cost class have
the same audience (the same subscribers) and the same cost in every rack. Units of one type have the
same owners too.

```
unit   replicas   owner       cost in a, b, no rack      cost class   type
t-0    a b        m1          0 0 1                      0            0
t-1    b a        m1          0 0 1                      0            0
t-2    b a        m2          0 0 1                      0            1
t-3    a          -           0 1 1                      1            2
```

Costs. A move costs 1. A partition that crosses the finest level costs 1 more than all owned
partitions together. A partition that crosses the next level costs more than all finer crossings
together, by the weights of all partitions. So sums of costs compare as the goals do: the coarsest
level first.

What this does not do: balance loads, or solve the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.assignors.optimal.group import NOBODY
from rackwise.core.solver import check_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.assignors.optimal.group import ReadingGroup

DENSE = 4
"""Keys below this multiple of their number are counted in a table; other keys are sorted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distinct:
    """Distinct values of an array."""

    first: NDArray[np.int64]
    """[distinct], the index of the first occurrence of each distinct value."""
    of: NDArray[np.int64]
    """[values], the distinct value of each value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitClasses:
    """The units U of one batch, by cost class and by type."""

    subscribes: NDArray[np.bool_]
    """[lists, audiences], whether the members of a list may have units of an audience."""
    audience_of_class: NDArray[np.int64]
    """[cost classes], the audience of each cost class."""
    costs: NDArray[np.int64]
    """[cost classes, racks], the cost of one unit in each rack."""
    class_of: NDArray[np.int64]
    """[U], the cost class of each unit."""
    owners: NDArray[np.int64]
    """[U, width], the owners of each unit's partitions, ascending, or `NOBODY`."""
    types: Distinct
    """The types of the units."""
    owned: NDArray[np.int64]
    """[types], the owned partitions of one unit."""
    unit_count: NDArray[np.int64]
    """[types], the units of each type."""

    @classmethod
    def of(
        cls, group: ReadingGroup, units: NDArray[np.int64], level_costs: Sequence[int] | None
    ) -> UnitClasses:
        """The classes of units, int64 [U, width]. `level_costs`: the cost of each loss.

        Raises `OptimumTooLarge`.
        """
        loss_costs = _loss_costs(group, units, level_costs)
        topics = group.topic_of[units[:, 0]]
        distinct = _distinct(topics)
        # Topics with equal columns of `subscribes` have the same subscribers: one audience.
        subscribes, audience_of = np.unique(
            group.subscribes[:, topics[distinct.first]], axis=1, return_inverse=True
        )
        audiences, costs, class_of = _cost_classes(
            group, units, audience_of.reshape(-1)[distinct.of], loss_costs
        )
        owners = group.owner_of[units]
        owners.sort(axis=1)
        types = _distinct_rows(class_of, owners - NOBODY)
        return cls(
            subscribes=subscribes,
            audience_of_class=audiences,
            costs=costs,
            class_of=class_of,
            owners=owners,
            types=types,
            owned=(owners[types.first] != NOBODY).sum(axis=1),
            unit_count=np.bincount(types.of),
        )


def _loss_costs(
    group: ReadingGroup, units: NDArray[np.int64], level_costs: Sequence[int] | None
) -> list[int]:
    """The cost of each loss, for a partition of weight 1.

    Raises `OptimumTooLarge` where the total cost could exceed what the solver accepts.
    """
    move = 1 + int(np.count_nonzero(group.owner_of[units] != NOBODY))
    counts = np.bincount(group.weight_of[units].ravel(), minlength=len(group.weights)).tolist()
    total = sum(weight * count for weight, count in zip(group.weights, counts, strict=True))
    if level_costs is None:
        steps = [move * (total + 1) ** level for level in range(group.depth)]
        costs = list(accumulate(steps, initial=0))
    else:
        costs = [move * cost for cost in level_costs]
    check_size(max(costs) * total + move)
    return costs


def _cost_classes(
    group: ReadingGroup,
    units: NDArray[np.int64],
    audience_of: NDArray[np.int64],
    loss_costs: Sequence[int],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The audience and the costs of each cost class, and the cost class of each unit."""
    # A read is a distinct pair (row of replicas, weight); its costs are computed once.
    rows, weights = group.row_of[units].ravel(), group.weight_of[units].ravel()
    reads = _distinct_rows(rows, weights[:, None])
    # int64 [reads, racks], the cost of each read for a member in each rack
    costs = np.array(
        [
            [loss_costs[loss] * group.weights[weight] for loss in group.losses[row]]
            for row, weight in zip(
                rows[reads.first].tolist(), weights[reads.first].tolist(), strict=True
            )
        ],
        dtype=np.int64,
    )
    # int64 [U, width], the read of each partition of a unit
    read_of = reads.of.reshape(units.shape)
    # Units with equal reads have equal costs; units with different reads may have them too.
    kinds = _distinct_rows(audience_of, read_of)
    # int64 [kinds, 1 + racks], the audience, then the cost in each rack
    rows_of_unit = np.column_stack(
        [audience_of[kinds.first], costs[read_of[kinds.first]].sum(axis=1)]
    )
    cost_classes, class_of = np.unique(rows_of_unit, axis=0, return_inverse=True)
    return cost_classes[:, 0], cost_classes[:, 1:], class_of.reshape(-1)[kinds.of]


def _distinct_rows(keys: NDArray[np.int64], columns: NDArray[np.int64]) -> Distinct:
    """The distinct rows of a key and of numbers >= 0; `columns` has at least one column."""
    # One column after the other: a distinct row so far and a number become one key.
    found = Distinct(first=keys, of=keys)
    for column in columns.T:
        found = _distinct(found.of * (1 + int(column.max())) + column)
    return found


def _distinct(keys: NDArray[np.int64]) -> Distinct:
    """The distinct keys >= 0, in ascending order."""
    size = 1 + int(keys.max())
    if size > DENSE * len(keys):
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        return Distinct(first=first, of=of)
    table = np.full(size, NOBODY)
    # Assigned in reverse order, so the first occurrence of each key is the one that stays.
    table[keys[::-1]] = np.arange(len(keys))[::-1]
    present = np.flatnonzero(table != NOBODY)
    first = table[present]
    table[present] = np.arange(len(present))
    return Distinct(first=first, of=table[keys])
