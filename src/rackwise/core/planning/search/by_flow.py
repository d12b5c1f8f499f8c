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

From units to rows. A hub knows how many units come from each row and how many go to each broker,
but not which unit goes to which broker. The units in row order take the brokers in canonical order:

```
units    row 3  row 5  row 9          brokers   2: one unit   4: two units
taken    3 -> 2  5 -> 4  9 -> 4
```

No row gets a broker that it already holds: keeping that replica would have cost less.

Limits: this module does not reduce the number of changed partitions (`tie_breaking` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.problem.copy_costs import (
    STAGES,
    copy_costs,
    is_preferred,
    stages_before_squares,
)
from rackwise.core.planning.problem.instance import sets_of
from rackwise.core.planning.search.even_loads import even_flow
from rackwise.core.planning.search.lexicographic_flow import Arcs, cheapest, cheapest_face
from rackwise.core.planning.search.network import network_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.fair_loads.targets import Targets
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.search.network_columns import SetNetwork


def by_flow(instance: Instance, targets: Targets, *, should_stop: Callable[[], bool]) -> Ragged:
    """The best set of each row, as usable brokers, ascending.

    Raises `NoFlow` if the loads cannot be met, and `MissingDependency`.
    """
    network = network_of(instance, targets)
    arcs = Arcs(network.tails, network.heads, network.capacities, network.supplies, network.shared)
    costs = stage_costs(instance, network)
    if targets.ranges is not None:
        flow = cheapest(arcs, costs, should_stop=should_stop)
    else:
        needed = stages_before_squares(instance)
        face = cheapest_face(arcs, costs[:needed], should_stop=should_stop)
        flow = face.flow
        if not should_stop():
            flow = even_flow(instance, network, face, costs[needed:], should_stop=should_stop)
    return sets_of_flow(instance, network, flow)


def stage_costs(instance: Instance, network: SetNetwork) -> list[NDArray[np.int64]]:
    """The costs of the arcs, in order of priority."""
    new = np.flatnonzero(network.is_new)
    costs = np.zeros((STAGES, len(network.tails)), dtype=np.int64)
    costs[:2, new] = copy_costs(instance, network.row[new], network.leaf[new])
    kept = np.flatnonzero(~network.is_new & (network.row >= 0))
    costs[2, kept] = -is_preferred(instance, network.row[kept], network.broker[kept]).astype(
        np.int64
    )
    if instance.steady is None:
        return list(costs)
    placed = np.flatnonzero(network.row >= 0)
    steady = np.zeros(len(network.tails), dtype=np.int64)
    steady[placed] = instance.steady.at(network.row[placed], network.leaf[placed])
    return [costs[0], steady, *costs[1:]]


def sets_of_flow(instance: Instance, network: SetNetwork, flow: NDArray[np.int64]) -> Ragged:
    """The sets that a flow encodes."""
    is_used = flow > 0
    direct = np.flatnonzero(is_used & (network.row >= 0) & (network.broker >= 0))
    rows, brokers = [network.row[direct]], [network.broker[direct]]
    rows.append(instance.pins.rows)
    brokers.append(instance.pins.values.astype(np.int64))
    # Units that went to a hub, and brokers that took units from a hub, are matched in order.
    sent = np.flatnonzero(is_used & (network.row >= 0) & (network.broker < 0))
    units = np.concatenate([network.row[sent], network.waiting[:, 0]])
    hubs = np.concatenate([network.hub[sent], network.waiting[:, 2]])
    served = np.flatnonzero(is_used & (network.row < 0) & (network.hub >= 0))
    counts = flow[served]
    slots = np.repeat(network.broker[served], counts)
    slot_hubs = np.repeat(network.hub[served], counts)
    order = np.lexsort((units, hubs))
    rows.append(units[order])
    brokers.append(slots[np.lexsort((slots, slot_hubs))])
    return sets_of(np.concatenate(rows), np.concatenate(brokers), len(instance))
