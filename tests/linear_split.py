"""The split of bytes over racks as a linear program, solved by ortools.

Written from the requirements alone: flow from each client rack to each leader rack, all supplies
sent, no capacity exceeded, the least price of crossing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ortools.linear_solver import pywraplp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.partitioner.split.rates import RackRates


def least_crossing(
    rates: RackRates, weights: Mapping[str, float], eps: float, prices: Sequence[float]
) -> float:
    """The least price of all free bytes; `prices[n]`: of a byte whose two ends share n levels."""
    solver = pywraplp.Solver.CreateSolver("GLOP")
    total = sum(rates.free.values()) + sum(rates.pinned.values())
    whole = sum(weights.values())
    flows = {
        (client, leader): solver.NumVar(0, solver.infinity(), "")
        for client, rate in rates.free.items()
        if rate
        for leader, weight in weights.items()
        if weight
    }
    for client, rate in rates.free.items():
        if rate:
            row = [flow for (giver, _), flow in flows.items() if giver == client]
            solver.Add(sum(row) == rate)
    for leader, weight in weights.items():
        room = max(0.0, (1 + eps) * total * weight / whole - rates.pinned.get(leader, 0))
        column = [flow for (_, taker), flow in flows.items() if taker == leader]
        if column:
            solver.Add(sum(column) <= room)
    price = sum(prices[shared(client, leader)] * flow for (client, leader), flow in flows.items())
    solver.Minimize(price)
    status = solver.Solve()
    assert status == pywraplp.Solver.OPTIMAL, f"the linear program ended with {status}"
    return solver.Objective().Value()


def shared(a: str, b: str) -> int:
    """The number of levels that two racks of one depth share."""
    pairs = list(zip(a.strip("/").split("/"), b.strip("/").split("/"), strict=True))
    return next((i for i, (left, right) in enumerate(pairs) if left != right), len(pairs))
