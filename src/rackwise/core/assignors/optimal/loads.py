"""How many partitions each member gets: loads that are as even as subscriptions allow.

Goals: the least sum of squared loads; and all loads that reach it, so that the best assignment can
be chosen among all of them.

Members that subscribe to the same topics share evenly: q each, and one more for e of them. With
differing subscriptions some members must have more. Members then form blocks: within a block, loads
differ by at most one, and the sum of the block is fixed. A block with a lower level cannot take
anything from a block with a higher level.

```
topic   partitions   subscribers      loads      block
t       8            m1               m1 8       0   level 8
u       2            m1 m2 m3         m2 2       1   level 2 or 1
v       1            m2 m3            m3 1
```

The loads with the least sum of squares are exactly those with the sums of these blocks, and q or
q + 1 for each member of a block. Balance needs nothing else, and in particular no cost.

The algorithm. A flow from topics to lists of topics to the sink has the least sum of squares where
the k-th unit of a member costs 2k + 1. Costs are modelled only near the expected loads. Where the
flow leaves this window, the window is moved and enlarged. Then the blocks are found: start with the
members that have most, and add every member that could take a partition from a member of the block;
repeat with the rest.

What this does not do: consider racks or owners, or choose which member of a block gets one more.

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

    from rackwise.core.solver import Solve

NO_BLOCK = -1
"""The block of a list whose members can get no unit."""
FIRST_WINDOW = 8
"""The first distance from the expected load that is modelled on both sides; it doubles on demand.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvenLoads:
    """The blocks of members, and the loads in each block."""

    block_of: NDArray[np.int64]
    """[lists], the block of each list of topics, or `NO_BLOCK`."""
    least: NDArray[np.int64]
    """[blocks], the load of each member of the block."""
    more: NDArray[np.int64]
    """[blocks], the number of members that get one unit more."""


def even_loads(
    units: NDArray[np.int64],
    subscribes: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    *,
    solve: Solve = cheapest_flow,
) -> EvenLoads:
    """The blocks of all loads with the least sum of squares.

    `units`: int64 [audiences], above 0. `subscribes`: bool [lists, audiences], whether the members
    of a list may have units of an audience; every audience has a list. `sizes`: int64 [lists], the
    members of each list. `solve` is used where lists differ; the blocks do not depend on it. Raises
    what it raises.
    """
    block_of = np.full(len(sizes), NO_BLOCK)
    # [lists], whether the members of a list may have any unit
    takes_part = subscribes.any(axis=1)
    if subscribes[takes_part].all():
        totals = [int(units.sum())]
        block_of[takes_part] = 0
    else:
        arcs = np.argwhere(subscribes.T)
        flows = _minimize_squares(units, arcs, sizes, solve)
        totals = _mark_blocks(block_of, arcs, flows, sizes)
    members = np.bincount(block_of[block_of >= 0], weights=sizes[block_of >= 0]).astype(np.int64)
    least, more = np.divmod(np.array(totals, dtype=np.int64), members)
    return EvenLoads(block_of=block_of, least=least, more=more)


def _minimize_squares(
    units: NDArray[np.int64],
    arcs: NDArray[np.int64],
    sizes: NDArray[np.int64],
    solve: Solve,
) -> NDArray[np.int64]:
    """The units that flow on each arc, int64 [arcs]; `arcs`: rows of (audience, list)."""
    # [audiences], the members that may have the units
    readers = np.bincount(arcs[:, 0], weights=sizes[arcs[:, 1]], minlength=len(units))
    # [arcs], the units of the audience for each of these members if they share evenly
    share = (units / readers)[arcs[:, 0]]
    expected = np.bincount(arcs[:, 1], weights=share, minlength=len(sizes)).astype(np.int64)
    window = FIRST_WINDOW
    while True:
        # [lists], the least and the greatest load of a member that is modelled
        low, high = np.maximum(expected - window, 0), expected + window
        flows = solve(_window_network(units, arcs, sizes, low, high))[: len(arcs)]
        sums = np.bincount(arcs[:, 1], weights=flows, minlength=len(sizes)).astype(np.int64)
        if ((low * sizes <= sums) & (sums <= high * sizes)).all():
            return flows
        expected, window = sums // sizes, window * 2


def _window_network(
    units: NDArray[np.int64],
    arcs: NDArray[np.int64],
    sizes: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> Network:
    """The network, first of all `arcs`; loads outside the window cost as much as its ends."""
    # Nodes: audiences, then lists, then the sink.
    lists = len(units) + np.arange(len(sizes))
    sink = len(units) + len(sizes)
    tails, heads = [arcs[:, 0], lists], [lists[arcs[:, 1]], np.full(len(sizes), sink)]
    capacities, costs = [units[arcs[:, 0]], low * sizes], [np.zeros(len(arcs)), 2 * low - 1]
    # One arc per list and level of load, for the next unit of each member: from load k to k + 1 the
    # sum of squares grows by 2k + 1.
    for step in range(int((high - low).max()) + 1):
        level = low + step
        inside = level <= high
        last = level == high
        tails.append(lists[inside])
        heads.append(np.full(int(inside.sum()), sink))
        capacities.append(np.where(last, units.sum(), sizes)[inside])
        costs.append((2 * level + 1)[inside])
    return Network(
        tails=np.concatenate(tails),
        heads=np.concatenate(heads),
        capacities=np.concatenate(capacities),
        costs=np.concatenate(costs).astype(np.int64),
        supplies=np.concatenate([units, np.zeros(len(sizes), dtype=np.int64), [-units.sum()]]),
    )


def _mark_blocks(
    block_of: NDArray[np.int64],
    arcs: NDArray[np.int64],
    flows: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> list[int]:
    """Write the block of each list into `block_of`, and return the sum of each block."""
    sums = np.bincount(arcs[:, 1], weights=flows, minlength=len(sizes)).astype(np.int64)
    # [lists], the greatest load of a member: the sum over the members, rounded up
    most = -(-sums // sizes)
    # bool [lists], the lists without a block so far
    rest = np.zeros(len(sizes), dtype=np.bool_)
    rest[arcs[:, 1]] = True
    totals: list[int] = []
    while rest.any():
        block = rest & (most == most[rest].max())
        while True:
            # bool [audiences], whether a list of the block has units of the audience; then the
            # block grows by all lists that could take such a unit
            is_used = np.zeros(int(arcs[:, 0].max()) + 1, dtype=np.bool_)
            is_used[arcs[block[arcs[:, 1]] & (flows > 0), 0]] = True
            grown = block.copy()
            grown[arcs[is_used[arcs[:, 0]], 1]] = True
            grown &= rest
            if (grown == block).all():
                break
            block = grown
        block_of[block] = len(totals)
        totals.append(int(sums[block].sum()))
        rest &= ~block
    return totals
