"""Replica sets from a minimum-cost flow through one network of all racks.

Goals, in order: the least cost; the fewest moves if another cost is minimised; the least price of
replication if moves are minimised, and rates and prices are known; with free loads, the least sum
of their squares; the fewest bytes if moves are minimised; the fewest old preferred leaders dropped;
one canonical answer for one flow. Moves come before squares, because a copy may cost nothing, and
no replica should be copied for loads that need not be even.

The price of replication is paid every month, so it comes before all that is paid once or that no
rule requires. It is one more cost of the arcs of a row, for kept and for new replicas alike. Every
replica of a rack costs the same, so the arcs to hubs carry it, and the network stays as it is:

```
row 4, 1 MB/s, expected leader in /a       moves   dollars per day
row 4 -> broker 1 of /a, kept              0       0
row 4 -> hub of /a                         1       0
row 4 -> broker 5 of /b, kept              0       1.728
row 4 -> hub of /b                         1       1.728
```

A network with hubs has more flows than there are choices of legal sets (`network.build`). Its
cheapest flow gives the answer if its units can be given to brokers (`hub_units`). If they cannot,
the network with an arc to each broker is solved. The last cost makes that rare: it counts the
second units of rows to one hub.

Limits: this module does not reduce the number of changed partitions (`tie_breaking` does).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.problem.copy_costs import (
    copy_costs,
    is_preferred,
    stages_before_squares,
)
from rackwise.core.planning.problem.instance import sets_of
from rackwise.core.planning.search.even_loads import even_flow
from rackwise.core.planning.search.hub_units import hub_units, kept_replicas, trade_duplicates
from rackwise.core.planning.search.lexicographic_flow import Arcs, cheapest, cheapest_face
from rackwise.core.planning.search.network.build import network_of
from rackwise.core.solver import cheapest_flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.fair_loads.targets import Targets
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.steady_costs import SteadyCosts
    from rackwise.core.planning.search.lexicographic_flow import Cost
    from rackwise.core.planning.search.network.columns import SetNetwork
    from rackwise.core.solver import Solve


def by_flow(
    instance: Instance,
    targets: Targets,
    *,
    should_stop: Callable[[], bool],
    most_memory: int | None = None,
    solve: Solve = cheapest_flow,
) -> Ragged | None:
    """The best set of each row, as usable brokers, ascending.

    None if `should_stop` turns true before the first flow. `most_memory`: bytes that the search may
    take, None = any. Raises `NoFlow` if the loads cannot be met, `NotEnoughMemory`, `FlowStopped`
    for the first flow, and `MissingDependency`.
    """
    found = _solve(instance, targets, should_stop, most_memory, solve, is_explicit=False)
    if found is not None and not found.has_distinct:
        found = _solve(instance, targets, should_stop, most_memory, solve, is_explicit=True)
    return None if found is None else found.sets


def _solve(
    instance: Instance,
    targets: Targets,
    should_stop: Callable[[], bool],
    most_memory: int | None,
    solve: Solve,
    *,
    is_explicit: bool,
) -> FlowSets | None:
    network = network_of(
        instance,
        targets,
        should_stop=should_stop,
        most_memory=most_memory,
        is_explicit=is_explicit,
    )
    if network is None or should_stop():
        return None
    flow = _flow_of(instance, targets, network, should_stop, solve)
    return sets_of_flow(instance, network, flow)


def _flow_of(
    instance: Instance,
    targets: Targets,
    network: SetNetwork,
    should_stop: Callable[[], bool],
    solve: Solve,
) -> NDArray[np.int64]:
    """The cheapest flow of a network."""
    arcs = Arcs(
        network.tails,
        network.heads,
        network.capacities,
        network.supplies,
        network.shared,
        network.rows,
    )
    costs = stage_costs(instance, network)
    if targets.ranges is not None:
        return cheapest(arcs, costs, should_stop=should_stop, solve=solve)
    needed = stages_before_squares(instance)
    face = cheapest_face(arcs, costs[:needed], should_stop=should_stop, solve=solve)
    if should_stop():
        return face.flow
    rest = costs[needed:]
    return even_flow(instance, network, face, rest, should_stop=should_stop, solve=solve)


def stage_costs(instance: Instance, network: SetNetwork) -> list[Cost]:
    """The costs of the arcs, in order of priority."""
    first, second = (partial(_copy_costs, instance, network, stage) for stage in (0, 1))
    costs: list[Cost] = [first, second, partial(_dropped_leaders, instance, network)]
    if instance.steady is not None:
        costs.insert(1, partial(_steady_costs, instance.steady, network))
    if network.is_second.any():
        costs.append(partial(network.is_second.astype, np.int64))
    return costs


def _copy_costs(instance: Instance, network: SetNetwork, stage: int) -> NDArray[np.int64]:
    """The first or the second of the costs of copies, on the arcs of new replicas."""
    new = np.flatnonzero(network.is_new)
    found = np.zeros(len(network.tails), dtype=np.int64)
    found[new] = copy_costs(instance, *_rows_and_leaves(network, new))[stage]
    return found


def _dropped_leaders(instance: Instance, network: SetNetwork) -> NDArray[np.int64]:
    """A preferred leader that stays saves 1 on an arc of its own; one that leaves costs 1."""
    held = np.flatnonzero((network.row >= 0) & (network.broker >= 0))
    is_leaving = network.is_hub[held]
    rows, brokers = network.row[held].astype(np.int64), network.broker[held].astype(np.int64)
    leads = is_preferred(instance, rows, brokers)
    found = np.zeros(len(network.tails), dtype=np.int64)
    found[held] = np.where(is_leaving, leads, -(leads & ~network.is_new[held]).astype(np.int64))
    return found


def _steady_costs(prices: SteadyCosts, network: SetNetwork) -> NDArray[np.int64]:
    """The price of replication; a replica that stays in its rack costs what it cost."""
    placed = np.flatnonzero((network.row >= 0) & ((network.broker < 0) | ~network.is_hub))
    found = np.zeros(len(network.tails), dtype=np.int64)
    found[placed] = prices.at(*_rows_and_leaves(network, placed))
    return found


def _rows_and_leaves(
    network: SetNetwork, arcs: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return network.row[arcs].astype(np.int64), network.leaf[arcs].astype(np.int64)


class FlowSets(NamedTuple):
    """The sets that a flow encodes."""

    sets: Ragged
    """The set of each row, ascending."""
    has_distinct: bool
    """False if a row has a broker twice."""


def sets_of_flow(instance: Instance, network: SetNetwork, flow: NDArray[np.int64]) -> FlowSets:
    """The sets that a flow encodes."""
    kept = kept_replicas(instance, network, flow)
    units = hub_units(instance, network, flow)
    given = trade_duplicates(units, kept.rows, kept.brokers, len(instance.brokers))
    rows = np.concatenate([kept.rows, units.rows])
    brokers = np.concatenate([kept.brokers, units.brokers if given is None else given])
    return FlowSets(sets_of(rows, brokers, len(instance)), given is not None)
