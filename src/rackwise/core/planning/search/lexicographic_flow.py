"""Minimum-cost flows by several costs in order of priority, each exact.

Goals, in order: the first cost is minimal; of all flows with this minimum, the second cost is
minimal, and so on; costs stay integers in the solver's range.

The algorithm. Two costs in a row are combined into one while they fit: a unit of the first weighs
more than the second can change on any cycle of the network. Such a cycle passes each shared node
once, and between two shared nodes it contains at most two arcs with a cost. So twice the shared
nodes times the largest cost is a bound. If the product exceeds the solver's range, the stages run
one after the other. Node prices, from the shortest paths in the residual network, show the arcs on
which all cheapest flows agree. The next flow is searched on the other arcs alone.

```
arc   cost  flow  price of tail, head    cost + tail - head
a     1     1/1   0, -1                  2    not with a flow: the flow would not be the cheapest
b     1     0/1   0, -1                  2    no flow in any cheapest one: left out
c     0     1/1   -1, 0                  -1   full in all of them: taken as given
d     0     1/2   -1, -1                 0    open
```

Large costs. The solver may reject a single cost because it is too large. Then the cost is divided
by a power of two and rounded up, to at least one. The cheapest flow for the rounded cost is nearly
the cheapest for the exact one: on a cycle, rounding changes the cost by a bounded amount. An arc
whose cost under the node prices exceeds this amount is not used by the exact flow either, so it is
left out. The remaining arcs have small exact costs under the node prices, and the solver accepts
these. If the exact cost of a path does not fit into 64 bits, or the search is stopped before the
exact flow is found, the cost stays rounded. The certificate has exact units, and then shows the
loss as a gap.

Limits: this module does not know what an arc means.

Source: complementary slackness; Ahuja, Magnanti, Orlin, "Network Flows" (1993), chapters 9 and 10
(scaling).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from rackwise.core.errors import OptimumTooLarge
from rackwise.core.solver import COST_LIMIT, FlowStopped, Network, cheapest_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rackwise.core.solver import Solve

    Cost: TypeAlias = Callable[[], NDArray[np.int64]]
    """Computes the cost of each arc, int64 [arcs]: only the cost in use is in memory."""


SHIFT_STEP = 4
"""Bits by which a cost is divided further each time that the solver rejects it."""


class Arcs(NamedTuple):
    """The arcs of a network as columns, and the supplies of its nodes."""

    tails: NDArray[np.int32] | NDArray[np.int64]
    """Node at the start of each arc, [arcs]."""
    heads: NDArray[np.int32] | NDArray[np.int64]
    """Node at the end of each arc, [arcs]."""
    capacities: NDArray[np.signedinteger]
    """Most units on each arc, [arcs]."""
    supplies: NDArray[np.int64]
    """Units that each node supplies, int64 [nodes]; negative is a demand."""
    shared: int
    """Number of shared nodes."""
    rows: int
    """First node that may belong to a row; shared nodes may follow it."""


class Face(NamedTuple):
    """A cheapest flow, and the arcs on which other cheapest flows may differ from it."""

    flow: NDArray[np.signedinteger]
    """Units on each arc, [arcs]; int64 in a result."""
    is_open: NDArray[np.bool_]
    """Whether another cheapest flow may differ on the arc, bool [arcs]."""


def cheapest(
    arcs: Arcs,
    costs: Sequence[Cost],
    *,
    should_stop: Callable[[], bool],
    start: Face | None = None,
    solve: Solve = cheapest_flow,
) -> NDArray[np.int64]:
    """The flow on each arc that minimises the first cost, then the second, and so on.

    `start`: a flow from which only open arcs may differ. `should_stop` is called before every flow
    but the first; if it returns true, or `solve` is stopped in a later flow, the later costs are
    not minimised. Raises `NoFlow`, `MissingDependency`, and `FlowStopped` for the first flow.
    """
    return _solve_stages(arcs, costs, should_stop, solve, start=start, has_face=False).flow


def cheapest_face(
    arcs: Arcs,
    costs: Sequence[Cost],
    *,
    should_stop: Callable[[], bool],
    solve: Solve = cheapest_flow,
) -> Face:
    """The same flow as `cheapest`, with the arcs on which other cheapest flows may differ.

    The arcs are derived from the costs as they were solved: rounded costs have other cheapest flows
    than exact ones. There are none if `solve` is stopped between a rounded cost and the exact one.
    """
    return _solve_stages(arcs, costs, should_stop, solve, start=None, has_face=True)


def _solve_stages(
    arcs: Arcs,
    costs: Sequence[Cost],
    should_stop: Callable[[], bool],
    solve: Solve,
    *,
    start: Face | None,
    has_face: bool,
) -> Face:
    count = len(arcs.tails)
    # Broadcast, so that the face without any flow takes no memory.
    face = start or Face(np.broadcast_to(np.int64(0), count), np.broadcast_to(np.True_, count))
    merged = merge(costs, arcs.shared, len(arcs.supplies))
    for number, stage in enumerate(merged):
        if number and should_stop():
            break
        cost: Cost = stage.values
        if number or start:
            cost = partial(_settled, arcs, face.is_open, cost)
        if not (number or start) or _largest(cost()):
            try:
                flow, is_exact = _exact_flow(arcs, face, cost, solve)
            except FlowStopped:
                if not (number or start):
                    raise
                break
            if not is_exact:
                return Face(flow.astype(np.int64), np.zeros(count, dtype=np.bool_))
            # Between two flows, as narrow as the capacities, which no flow exceeds.
            face = face._replace(flow=flow.astype(arcs.capacities.dtype))
            del flow
        if has_face or number + 1 < len(merged):
            face = face._replace(is_open=open_arcs(arcs, face.is_open, face.flow, cost()))
    return face._replace(flow=face.flow.astype(np.int64))


class MergedCost(NamedTuple):
    """Costs in order of priority that are added up as one."""

    parts: tuple[tuple[Cost, int, int], ...]
    """Each cost, what it is divided by, and what one unit of the costs before it weighs."""
    shift: int
    """Bits by which the first cost is rounded up."""

    def values(self) -> NDArray[np.int64]:
        """The merged cost of each arc, int64 [arcs]."""
        (first, divisor, _), *others = self.parts
        found = rounded(first() // divisor, self.shift)
        for cost, divisor, weight in others:
            found = found * weight + cost() // divisor
        return found


def merge(costs: Sequence[Cost], shared: int, nodes: int) -> list[MergedCost]:
    """Neighbouring costs combined where they fit; costs that are 0 everywhere are left out."""
    found: list[MergedCost] = []
    last = np.zeros(0, dtype=np.int64)
    steps = _max_costs_on_path(shared)
    for cost in costs:
        values = cost()
        largest = _largest(values)
        if not largest:
            continue
        divisor = int(np.gcd.reduce(values))
        values, largest = values // divisor, largest // divisor
        weight = steps * largest + 1
        if found and (_largest(last) * weight + largest) * (nodes + 1) * steps < COST_LIMIT:
            last = last * weight + values
            parts = (*found[-1].parts, (cost, divisor, weight))
            found[-1] = found[-1]._replace(parts=parts)
        else:
            shift = _bits_to_fit(values, steps)
            last = rounded(values, shift)
            found.append(MergedCost(((cost, divisor, 1),), shift))
    return found or [MergedCost(((costs[0], 1, 1),), 0)]


def _settled(arcs: Arcs, is_open: NDArray[np.bool_], cost: Cost) -> NDArray[np.int64]:
    return settled_cost(arcs, is_open, cost())


def settled_cost(
    arcs: Arcs, is_open: NDArray[np.bool_], cost: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The cost above the least that the units of each row pay anyway; 0 on closed arcs."""
    tails, heads = arcs.tails[is_open], arcs.heads[is_open]
    left = cost[is_open]
    of_row = np.flatnonzero(tails >= arcs.rows)
    while True:
        least = np.full(len(arcs.supplies), _FAR, dtype=np.int64)
        np.minimum.at(least, tails[of_row], left[of_row])
        least[least == _FAR] = 0
        if not least.any():
            break
        left += least[heads] - least[tails]
    found = np.zeros_like(cost)
    found[is_open] = left
    return found


_FAR = np.iinfo(np.int64).max
"""More than any cost."""


def _max_costs_on_path(shared: int) -> int:
    """The largest number of arcs with a cost on a path through the network."""
    return 2 * (shared + 1)


def rounded(cost: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """A cost divided by a power of two and rounded up."""
    return cost if not shift else -((-cost) >> shift)


def _rounded(cost: Cost, shift: int) -> NDArray[np.int64]:
    return rounded(cost(), shift)


def _bits_to_fit(cost: NDArray[np.int64], times: int) -> int:
    """The number of bits by which a cost must be shifted to fit so many times."""
    shift = 0
    while (_largest(cost) >> shift) * times >= COST_LIMIT:
        shift += 1
    return shift


def _largest(cost: NDArray[np.int64]) -> int:
    return max(int(cost.max(initial=0)), -int(cost.min(initial=0)))


def _exact_flow(
    arcs: Arcs, face: Face, cost: Cost, solve: Solve
) -> tuple[NDArray[np.signedinteger], bool]:
    """The cheapest flow on a face, from a rounded cost if the solver rejects the exact one.

    False if `solve` was stopped after the flow by a rounded cost: the flow is that one.
    """
    flow, shift = _rounded_flow(arcs, face, cost, solve)
    change = (_max_costs_on_path(arcs.shared) + 1) << shift
    if not shift or change >= _largest(exact := cost()):
        return flow, True
    price = node_prices(arcs, face.is_open, flow, rounded(exact, shift)) << shift
    reduced = exact + price[arcs.tails] - price[arcs.heads]
    is_open = face.is_open & (np.abs(reduced) <= change)
    reduced = np.where(is_open, reduced, 0)
    try:
        return _exact_flow(arcs, Face(flow, is_open), lambda: reduced, solve)
    except FlowStopped:
        return flow, False


def _rounded_flow(
    arcs: Arcs, face: Face, cost: Cost, solve: Solve
) -> tuple[NDArray[np.signedinteger], int]:
    """The cheapest flow by a cost that the solver accepts, and the bits it was shifted by."""
    shift = _bits_to_fit(cost(), len(arcs.supplies) + 1)
    while True:
        rounded_cost = partial(_rounded, cost, shift)
        try:
            return _flow_on_face(arcs, face.is_open, face.flow, rounded_cost, solve), shift
        except OptimumTooLarge:
            if _largest(rounded_cost()) <= _max_costs_on_path(arcs.shared) + 1:
                raise
        shift += SHIFT_STEP


def _flow_on_face(
    arcs: Arcs,
    is_open: NDArray[np.bool_],
    flow: NDArray[np.signedinteger],
    cost: Cost,
    solve: Solve,
) -> NDArray[np.signedinteger]:
    """The cheapest flow that differs from `flow` only on open arcs."""
    # What the solver gets is made in the call, so that it can forget what it has copied.
    if is_open.all():
        return solve(
            Network(
                tails=arcs.tails,
                heads=arcs.heads,
                capacities=arcs.capacities,
                costs=cost(),
                supplies=arcs.supplies,
            )
        )
    full = np.flatnonzero(~is_open & (flow > 0))
    supplies = arcs.supplies.copy()
    np.subtract.at(supplies, arcs.tails[full], flow[full])
    np.add.at(supplies, arcs.heads[full], flow[full])
    del full
    opened = solve(
        Network(
            tails=arcs.tails[is_open],
            heads=arcs.heads[is_open],
            capacities=arcs.capacities[is_open],
            costs=cost()[is_open],
            supplies=supplies,
        )
    )
    found = flow.copy()
    found[is_open] = opened
    return found


def open_arcs(
    arcs: Arcs, is_open: NDArray[np.bool_], flow: NDArray[np.signedinteger], cost: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Arcs on which cheapest flows may differ; `flow` is cheapest on the open arcs."""
    price = node_prices(arcs, is_open, flow, cost)
    reduced: NDArray[np.int64] = cost + price[arcs.tails] - price[arcs.heads]
    found: NDArray[np.bool_] = is_open & (reduced == 0)
    return found


def node_prices(
    arcs: Arcs, is_open: NDArray[np.bool_], flow: NDArray[np.signedinteger], cost: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The length of the shortest path to each node over arcs with room: int64 [nodes].

    Paths start at any node. Rounds of Bellman and Ford over all arcs at once.
    """
    has_room = np.flatnonzero(is_open & (flow < arcs.capacities))
    has_flow = np.flatnonzero(is_open & (flow > 0))
    tails = np.concatenate([arcs.tails[has_room], arcs.heads[has_flow]])
    heads = np.concatenate([arcs.heads[has_room], arcs.tails[has_flow]])
    length = np.concatenate([cost[has_room], -cost[has_flow]])
    order = np.argsort(heads, kind="stable")
    tails, heads, length = tails[order], heads[order], length[order]
    price = np.zeros(len(arcs.supplies), dtype=np.int64)
    if not len(heads):
        return price
    firsts = np.flatnonzero(np.diff(heads, prepend=-1))
    reached = heads[firsts]
    nearer = np.minimum.reduceat(length, firsts)
    while (nearer < price[reached]).any():
        price[reached] = np.minimum(price[reached], nearer)
        nearer = np.minimum.reduceat(price[tails] + length, firsts)
    return price
