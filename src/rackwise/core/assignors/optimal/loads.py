"""How many partitions each member gets: loads as even as subscriptions allow.

Goals: the least sum of squared loads, and all loads that reach it, so that who gets which may be
chosen among them.

Members that subscribe to the same topics share evenly: q each, and one more for e of them. With
differing subscriptions some must have more. Those fall into blocks: within one, loads differ by at
most one, and its sum is fixed; a block with a lower level never helps one with a higher.

```
topic   partitions   subscribers      loads      block
t       8            m1               m1 8       0   level 8
u       2            m1 m2 m3         m2 2       1   level 2 or 1
v       1            m2 m3            m3 1
```

All loads with the least sum of squares are those with the sums of these blocks and q or q + 1 in
each; nothing else has to be known of balance, and it needs no price.

The algorithm. A flow from topics to lists of topics to the sink, whose k-th unit for a member costs
2k + 1, has the least sum of squares. Costs are drawn only near the loads that are expected; where
the flow leaves that window, it is moved and widened. Then blocks: begin with the members that have
most, and add whoever could take over a partition of somebody in the block; repeat with the rest.

What this does not do: look at racks or owners, or say which member of a block has one more.

Source: Frank and Murota, "Decreasing minimization on M-convex sets" (2019), canonical partition;
Harvey and others, "Semi-matchings for bipartite graphs" (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.solver import Network, cheapest_flow

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_BLOCK = -1
"""The block of a list whose members get nothing to choose from."""
FIRST_WINDOW = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Loads:
    """`block_of`: int64 [lists]. Each member of a block gets `least`, and `more` of them one more.

    `least` `more`: int64 [blocks].
    """

    block_of: NDArray[np.int64]
    least: NDArray[np.int64]
    more: NDArray[np.int64]


def even_loads(
    units: NDArray[np.int64], hears: NDArray[np.bool_], sizes: NDArray[np.int64]
) -> Loads:
    """The blocks of all loads with the least sum of squares.

    `units`: int64 [audiences], above 0. `hears`: bool [lists, audiences], whether the members of a
    list may have units of an audience; somebody may have each. `sizes`: int64 [lists], members.
    Raises `MissingDependency` and `OptimumTooLarge` where members differ in what they may have.
    """
    block_of = np.full(len(sizes), NO_BLOCK)
    takes_part = hears.any(axis=1)
    if hears[takes_part].all():
        totals = [int(units.sum())]
        block_of[takes_part] = 0
    else:
        arcs = np.argwhere(hears.T)
        flows = _least_squares(units, arcs, sizes)
        totals = _mark_blocks(block_of, arcs, flows, sizes)
    members = np.bincount(block_of[block_of >= 0], weights=sizes[block_of >= 0]).astype(np.int64)
    least, more = np.divmod(np.array(totals, dtype=np.int64), members)
    return Loads(block_of=block_of, least=least, more=more)


def _least_squares(
    units: NDArray[np.int64], arcs: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many units of which audience go to which list; `arcs`: rows of (audience, list)."""
    readers = np.bincount(arcs[:, 0], weights=sizes[arcs[:, 1]], minlength=len(units))
    share = (units / readers)[arcs[:, 0]]
    expected = np.bincount(arcs[:, 1], weights=share, minlength=len(sizes)).astype(np.int64)
    window = FIRST_WINDOW
    while True:
        low, high = np.maximum(expected - window, 0), expected + window
        flows = _windowed(units, arcs, sizes, low, high)
        sums = np.bincount(arcs[:, 1], weights=flows, minlength=len(sizes)).astype(np.int64)
        if ((low * sizes <= sums) & (sums <= high * sizes)).all():
            return flows
        expected, window = sums // sizes, window * 2


def _windowed(
    units: NDArray[np.int64],
    arcs: NDArray[np.int64],
    sizes: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The same; loads below `low` and above `high` cost as much as the next ones inside."""
    lists = len(units) + np.arange(len(sizes))
    sink = len(units) + len(sizes)
    tails, heads = [arcs[:, 0], lists], [lists[arcs[:, 1]], np.full(len(sizes), sink)]
    capacities, costs = [units[arcs[:, 0]], low * sizes], [np.zeros(len(arcs)), 2 * low - 1]
    for step in range(int((high - low).max()) + 1):
        level = low + step
        inside = level <= high
        last = level == high
        tails.append(lists[inside])
        heads.append(np.full(int(inside.sum()), sink))
        capacities.append(np.where(last, units.sum(), sizes)[inside])
        costs.append((2 * level + 1)[inside])
    network = Network(
        tails=np.concatenate(tails),
        heads=np.concatenate(heads),
        capacities=np.concatenate(capacities),
        costs=np.concatenate(costs).astype(np.int64),
        supplies=np.concatenate([units, np.zeros(len(sizes), dtype=np.int64), [-units.sum()]]),
    )
    return cheapest_flow(network)[: len(arcs)]


def _mark_blocks(
    block_of: NDArray[np.int64],
    arcs: NDArray[np.int64],
    flows: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> list[int]:
    """Writes the block of each list; the sum of each block."""
    sums = np.bincount(arcs[:, 1], weights=flows, minlength=len(sizes)).astype(np.int64)
    most = -(-sums // sizes)
    rest = np.zeros(len(sizes), dtype=np.bool_)
    rest[arcs[:, 1]] = True
    totals: list[int] = []
    while rest.any():
        block = rest & (most == most[rest].max())
        while True:
            given = np.zeros(int(arcs[:, 0].max()) + 1, dtype=np.bool_)
            given[arcs[block[arcs[:, 1]] & (flows > 0), 0]] = True
            wider = block.copy()
            wider[arcs[given[arcs[:, 0]], 1]] = True
            wider &= rest
            if (wider == block).all():
                break
            block = wider
        block_of[block] = len(totals)
        totals.append(int(sums[block].sum()))
        rest &= ~block
    return totals
