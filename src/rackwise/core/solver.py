"""The only module that uses ortools: networks of arcs in, flows out.

Goals: exact answers in integers; one file that knows the solver.

A network consists of nodes, numbered from 0, and arcs between them. Each node supplies or demands
some units. Each arc carries at most its capacity, and each unit on it costs its cost. The result is
the cheapest way to bring all supplies to the demands.

```
arcs    tail  head  capacity  cost        supplies  node 0: 3   node 1: 0   node 2: -3
0       0     1     2         1
1       1     2     2         1           flows     arc 0: 2   arc 1: 2   arc 2: 1
2       0     2     9         5           cost      2*1 + 2*1 + 1*5 = 9
```

The algorithm is the solver's: cost scaling by push and relabel. It multiplies costs by the number
of nodes and rejects what then does not fit into 64 bits; so does this file.

Limits: this module builds no networks, and does not promise which of several cheapest flows is
found. The same arcs in the same order and the same release of the solver give the same flow.

Source: Goldberg, "An Efficient Implementation of a Scaling Minimum-Cost Flow Algorithm" (1997);
`ortools.graph.python.min_cost_flow`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rackwise.core.errors import MissingDependency, NoFlow, OptimumTooLarge
from rackwise.core.text import counted

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

COST_LIMIT = 2**62
"""No sum of costs may reach it; int64 keeps one bit in reserve."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """Arcs, and the supply of each node; a negative supply is a demand."""

    tails: NDArray[np.int32] | NDArray[np.int64]
    """Node at the start of each arc, [arcs]."""
    heads: NDArray[np.int32] | NDArray[np.int64]
    """Node at the end of each arc, [arcs]."""
    capacities: NDArray[np.signedinteger]
    """Most units on each arc, [arcs]."""
    costs: NDArray[np.int64]
    """Cost of a unit on each arc, int64 [arcs]."""
    supplies: NDArray[np.int64]
    """Units that each node supplies, int64 [nodes]; negative is a demand."""


Solve: TypeAlias = Callable[[Network], "NDArray[np.int64]"]
"""A cheapest flow of a network: int64 [arcs]."""


class FlowStopped(Exception):
    """A solver that a caller supplies was stopped before it found the flow."""


def require_solver() -> None:
    """Raises `MissingDependency` if ortools is not installed."""
    _ortools()


def solver_version() -> str | None:
    """The release of ortools, None if it is not installed."""
    try:
        import ortools
    except ImportError:
        return None
    return str(ortools.__version__)


def cheapest_flow(network: Network) -> NDArray[np.int64]:
    """The flow on each arc, int64 [arcs], of a cheapest way to meet all demands.

    Raises `NoFlow` if supplies and demands differ or cannot be brought together, `OptimumTooLarge`
    if costs do not fit into 64 bits, and `MissingDependency`.
    """
    solver = _ortools().SimpleMinCostFlow()
    largest = max(int(network.costs.max(initial=0)), -int(network.costs.min(initial=0)))
    check_size(largest * len(network.supplies))
    solver.add_arcs_with_capacity_and_unit_cost(
        network.tails, network.heads, network.capacities, network.costs
    )
    solver.set_nodes_supplies(np.arange(len(network.supplies)), network.supplies)
    supplied = int(network.supplies.clip(min=0).sum())
    # The solver has copied the arcs. If the caller does not keep them, they make room for its work.
    del network
    status = solver.solve()
    if status in {solver.INFEASIBLE, solver.UNBALANCED}:
        raise no_flow(supplied)
    if status != solver.OPTIMAL:
        check_size(COST_LIMIT)
    arcs = np.arange(solver.num_arcs(), dtype=np.int32)
    return np.asarray(solver.flows(arcs), dtype=np.int64)


def no_flow(supplied: int) -> NoFlow:
    """The error where the arcs cannot carry what is supplied, in units."""
    return NoFlow(
        f"no flow: the arcs cannot carry {counted(supplied, 'unit')} from supplies to demands",
        wanted=supplied,
        hint="increase the capacities, or make supplies and demands equal",
    )


def check_size(cost: int) -> None:
    """Raises `OptimumTooLarge` for a sum of costs that might not fit into 64 bits."""
    if cost >= COST_LIMIT:
        raise OptimumTooLarge(
            f"invalid costs: expected a sum below 2^62, got up to 2^{cost.bit_length()}",
            wanted="less than 2^62",
            had=f"2^{cost.bit_length()}",
            hint="use level_costs or coarser weights",
        )


def _ortools() -> ModuleType:
    try:
        from ortools.graph.python import min_cost_flow
    except ImportError as error:
        raise MissingDependency(
            "ortools is not installed; plans and optimal assignments require it",
            wanted="ortools",
            hint="pip install rackwise",
        ) from error
    return min_cost_flow  # type: ignore[no-any-return]
