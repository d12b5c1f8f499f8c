"""One lot of units: which of them are alike, and what each costs in each rack.

Goals: as few different things as there are, however many partitions; prices that are exact.

A unit is a partition, or a column of them that goes to one member. Units are alike in two degrees.
Those of one `mix` have the same audience, that is, subscribers, and the same price in every rack;
those of one `type` the same owners too.

```
unit   replicas   owner       price in a, b, no rack     mix   type
t-0    a b        m1          0 0 1                      0     0
t-1    b a        m1          0 0 1                      0     0
t-2    b a        m2          0 0 1                      0     1
t-3    a          -           0 1 1                      1     2
```

Prices. A move costs 1. A partition that crosses the finest level costs 1 more than all partitions
that are owned, and one that crosses the next level as much more again as its weight and those of
all others together can cost below it; so sums compare as goals do, the coarsest level first.

What this does not do: balance, or seek anything.
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
"""Keys up to so many times their number are counted in a table; others are sorted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kinds:
    """Different values. `first`: where each stands first; `of`: which of them each of all is."""

    first: NDArray[np.int64]
    of: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lot:
    """Units U by mix and by type.

    `hears`: bool [lists, audiences]. `audience_of_mix`: int64 [mixes]. `prices`: int64 [mixes,
    racks]. `mix_of`: int64 [U]. `owners`: int64 [U, width], rising. `types`: of units. `owned`
    `unit_count`: int64 [types], partitions of one unit that are owned, and units.
    """

    hears: NDArray[np.bool_]
    audience_of_mix: NDArray[np.int64]
    prices: NDArray[np.int64]
    mix_of: NDArray[np.int64]
    owners: NDArray[np.int64]
    types: Kinds
    owned: NDArray[np.int64]
    unit_count: NDArray[np.int64]

    @classmethod
    def of(
        cls, group: ReadingGroup, units: NDArray[np.int64], level_costs: Sequence[int] | None
    ) -> Lot:
        """`units`: int64 [U, width]; `level_costs`: price of each loss.

        Raises `OptimumTooLarge`.
        """
        level_prices = _level_prices(group, units, level_costs)
        topics = group.topic_of[units[:, 0]]
        heard = _kinds(topics)
        hears, audience_of = np.unique(
            group.hears[:, topics[heard.first]], axis=1, return_inverse=True
        )
        audiences, prices, mix_of = _mixes(
            group, units, audience_of.reshape(-1)[heard.of], level_prices
        )
        owners = group.owner_of[units]
        owners.sort(axis=1)
        types = _combined(mix_of, owners - NOBODY)
        return cls(
            hears=hears,
            audience_of_mix=audiences,
            prices=prices,
            mix_of=mix_of,
            owners=owners,
            types=types,
            owned=(owners[types.first] != NOBODY).sum(axis=1),
            unit_count=np.bincount(types.of),
        )


def _level_prices(
    group: ReadingGroup, units: NDArray[np.int64], level_costs: Sequence[int] | None
) -> list[int]:
    """The price of each loss from 0 on, of a partition of weight 1.

    Raises `OptimumTooLarge` where the dearest assignment might cost too much.
    """
    move = 1 + int(np.count_nonzero(group.owner_of[units] != NOBODY))
    counts = np.bincount(group.weight_of[units].ravel(), minlength=len(group.weights)).tolist()
    total = sum(weight * count for weight, count in zip(group.weights, counts, strict=True))
    if level_costs is None:
        steps = [move * (total + 1) ** level for level in range(group.depth)]
        prices = list(accumulate(steps, initial=0))
    else:
        prices = [move * cost for cost in level_costs]
    check_size(max(prices) * total + move)
    return prices


def _mixes(
    group: ReadingGroup,
    units: NDArray[np.int64],
    audience_of: NDArray[np.int64],
    level_prices: Sequence[int],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Audience and prices of each mix, and the mix of each unit."""
    rows, weights = group.row_of[units].ravel(), group.weight_of[units].ravel()
    reads = _combined(rows, weights[:, None])
    prices = np.array(
        [
            [level_prices[loss] * group.weights[weight] for loss in group.losses[row]]
            for row, weight in zip(
                rows[reads.first].tolist(), weights[reads.first].tolist(), strict=True
            )
        ],
        dtype=np.int64,
    )
    read_of = reads.of.reshape(units.shape)
    alike = _combined(audience_of, read_of)
    told = np.column_stack([audience_of[alike.first], prices[read_of[alike.first]].sum(axis=1)])
    mixes, mix_of = np.unique(told, axis=0, return_inverse=True)
    return mixes[:, 0], mixes[:, 1:], mix_of.reshape(-1)[alike.of]


def _combined(keys: NDArray[np.int64], columns: NDArray[np.int64]) -> Kinds:
    """Kinds of rows: a key and some numbers from 0 on; `columns` has at least one."""
    kinds = Kinds(first=keys, of=keys)
    for column in columns.T:
        kinds = _kinds(kinds.of * (1 + int(column.max())) + column)
    return kinds


def _kinds(keys: NDArray[np.int64]) -> Kinds:
    """Kinds of keys from 0 on, in rising order."""
    size = 1 + int(keys.max())
    if size > DENSE * len(keys):
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        return Kinds(first=first, of=of)
    table = np.full(size, NOBODY)
    table[keys[::-1]] = np.arange(len(keys))[::-1]
    there = np.flatnonzero(table != NOBODY)
    first = table[there]
    table[there] = np.arange(len(there))
    return Kinds(first=first, of=table[keys])
