"""Loads as even as the cheapest sets allow, where the policy does not require fair loads.

A goal that only repairs may still choose between equally cheap sets. It takes those with the least
sum of squared loads: replica k + 1 of a broker costs 2k + 1, in arcs of capacity one from the
broker to the sink.

```
cheapest sets say: broker 1 holds 5 anyway, broker 2 holds 3; two more go to either
arcs from 1: 11 13    from 2: 7 9        both go to 2: 25 + 25, not 49 + 9
```

Only units that may differ between cheapest flows have such arcs. A broker that takes units from a
hub never ends more than one above another broker of its rack: the unit could go there instead. A
partial hub leads to all brokers of the rack except some. So the arcs end one above the mean of what
the rack can hold, taken over its brokers without as many as a partial hub leaves out.

Limits: the weights of brokers are ignored; they belong to fair loads.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.search.lexicographic_flow import Arcs, Face, cheapest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.search.lexicographic_flow import Cost
    from rackwise.core.planning.search.network.columns import SetNetwork
    from rackwise.core.solver import Solve


def even_flow(
    instance: Instance,
    network: SetNetwork,
    face: Face,
    costs: Sequence[Cost],
    *,
    should_stop: Callable[[], bool],
    solve: Solve,
) -> NDArray[np.int64]:
    """The flow on the face with the least sum of squared loads, then the least costs."""
    width, exits = len(instance.brokers), network.exits
    capacities = network.capacities[:exits].copy()
    is_open, flow = face.is_open[:exits], face.flow[:exits]
    heads = network.heads[:exits]
    is_in = heads < width
    # base: replicas that every cheapest flow puts on each broker, or leaves there.
    tails = network.tails[:exits]
    base = _sums(heads, flow, is_in & ~is_open, width) + network.supplies[:width]
    base -= _sums(tails, np.where(is_open, capacities, flow), tails < width, width)
    hubs = np.flatnonzero(is_in & is_open & network.is_hub[:exits] & (network.row[:exits] < 0))
    room = (_highest_loads(instance, network, face, base) - base).clip(min=0)
    capacities[hubs] = np.minimum(capacities[hubs], room[heads[hubs]])
    is_hub = np.zeros(exits, dtype=np.bool_)
    is_hub[hubs] = True
    # extra: the most further replicas of each broker, through hubs and directly.
    extra = np.minimum(_sums(heads, capacities, is_hub, width), room)
    extra += _sums(heads, capacities, is_in & is_open & ~is_hub, width)
    arcs = _with_steps(network, capacities, base, extra)
    more = len(arcs.tails) - exits
    found = cheapest(
        arcs,
        [
            partial(_squares, exits, base, extra),
            *(partial(_padded, cost, exits, more) for cost in costs),
        ],
        should_stop=should_stop,
        solve=solve,
        start=Face(
            np.concatenate([flow, np.zeros(more, dtype=np.int64)]),
            np.concatenate([is_open, np.ones(more, dtype=np.bool_)]),
        ),
    )
    return np.concatenate([found[:exits], np.zeros(len(face.flow) - exits, dtype=np.int64)])


def _with_steps(
    network: SetNetwork,
    capacities: NDArray[np.int64],
    base: NDArray[np.int64],
    extra: NDArray[np.int64],
) -> Arcs:
    """The arcs before the exits, and the ways from brokers to the sink.

    Each broker has one arc for its `base`, and one for each of its `extra` further replicas.
    """
    exits, width = network.exits, len(base)
    tails = np.arange(width, dtype=np.int32)
    sink = np.full(width + int(extra.sum()), network.heads[exits], dtype=np.int32)
    return Arcs(
        np.concatenate([network.tails[:exits], tails, np.repeat(tails, extra)]),
        np.concatenate([network.heads[:exits], sink]),
        np.concatenate([capacities, base, np.ones(len(sink) - width, dtype=np.int64)]),
        network.supplies,
        network.shared,
        network.rows,
    )


def _squares(exits: int, base: NDArray[np.int64], extra: NDArray[np.int64]) -> NDArray[np.int64]:
    """What each replica adds to the squares; the base of a broker adds nothing to choose."""
    first = np.cumsum(extra) - extra
    loads = np.arange(int(extra.sum())) + np.repeat(base - first, extra)
    return np.concatenate([np.zeros(exits + len(base), dtype=np.int64), 2 * loads + 1])


def _padded(cost: Cost, exits: int, more: int) -> NDArray[np.int64]:
    """A cost of the arcs before the exits, 0 for the others."""
    return np.concatenate([cost()[:exits], np.zeros(more, dtype=np.int64)])


def _sums(
    nodes: NDArray[np.int32], values: NDArray[np.int64], chosen: NDArray[np.bool_], width: int
) -> NDArray[np.int64]:
    """The sum of the chosen values over each of the first `width` nodes."""
    found = np.bincount(nodes[chosen], weights=values[chosen], minlength=width)
    return found[:width].astype(np.int64)


def _highest_loads(
    instance: Instance, network: SetNetwork, face: Face, base: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each broker, the highest load that it can end with if it takes units from hubs."""
    exits, leaves = network.exits, instance.leaves
    takers = np.flatnonzero(instance.is_open)
    leaf = instance.leaf[takers]
    count = np.bincount(leaf, minlength=leaves) - network.most_left_out
    held = np.bincount(leaf, weights=base[takers], minlength=leaves)
    # Units that come to each rack: those that may, those that must, and those that start in hubs.
    comes = (network.row[:exits] >= 0) & face.is_open[:exits]
    is_sent = (network.row[:exits] >= 0) & network.is_hub[:exits]
    sent = is_sent & ~face.is_open[:exits]
    coming = np.bincount(
        network.leaf[:exits][comes], weights=network.capacities[:exits][comes], minlength=leaves
    )
    must = np.bincount(
        network.leaf[:exits][sent], weights=face.flow[:exits][sent], minlength=leaves
    )
    waiting = np.bincount(network.waiting[:, 1], minlength=leaves)
    capped = int(instance.replicas[instance.is_capped[instance.topic]].sum())
    units = held + coming + must + waiting + capped
    level = (units // np.maximum(count, 1)).astype(np.int64) + 2
    found: NDArray[np.int64] = level[instance.leaf]
    return found
