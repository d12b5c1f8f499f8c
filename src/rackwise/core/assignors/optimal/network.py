"""The network of one batch of units: from racks and owners to a flow, and from the flow to members.

Goals, in order: the loads that `even_loads` allows; the least cost of crossings; the fewest moves.
The first goal is in the capacities. The others are in the costs: crossing one level costs more than
crossing all finer levels, and one crossing costs more than all moves.

A unit is a partition, or a column of partitions. Units with the same audience and the same cost in
every rack flow through one cost class; those with the same owners too are one type. Types without
owners are left out: their units start at the cost class.

```
type -- cost of the owner's rack, no move --> member -- least --> sink
 |                                             ^   |               ^
 +-- moves --> cost class -- cost --> gate --> pool +-- 1 --> block +
                                                                more
```

With three racks and a thousand members that subscribe to the same topics, a hundred thousand
partitions become three gates, three pools and a few thousand types.

From counts to units. Of each type, as many units stay with an owner as the flow says. Then the
units of each cost class are distributed evenly over its gates, those of a gate evenly over its
pools, and those of a pool around its members. The order is always by topic and partition, so that a
topic spreads.

What this does not do: choose what a unit is, or check its input.

Source: Ahuja, Magnanti and Orlin, "Network Flows" (1993), on transportation problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.assignors.optimal.distribute import distribute
from rackwise.core.assignors.optimal.group import NOBODY
from rackwise.core.assignors.optimal.loads import NO_BLOCK, even_loads
from rackwise.core.assignors.optimal.unit_classes import UnitClasses
from rackwise.core.solver import Network, cheapest_flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.assignors.optimal.group import ReadingGroup
    from rackwise.core.assignors.optimal.loads import EvenLoads
    from rackwise.core.solver import Solve


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Layer:
    """Arcs from nodes of one kind to nodes of another; each kind is numbered from 0 on."""

    tails: NDArray[np.int64]
    """[arcs], the node where the arc begins."""
    heads: NDArray[np.int64]
    """[arcs], the node where the arc ends."""
    capacities: NDArray[np.int64]
    """[arcs], the most units that the arc carries."""
    costs: NDArray[np.int64]
    """[arcs], the cost of one unit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Flow:
    """A layer, and the units that each of its arcs carries."""

    tails: NDArray[np.int64]
    """[arcs], the node where the arc begins."""
    heads: NDArray[np.int64]
    """[arcs], the node where the arc ends."""
    units: NDArray[np.int64]
    """[arcs], the units that the arc carries."""


def best_members(
    group: ReadingGroup,
    units: NDArray[np.int64],
    level_costs: Sequence[int] | None,
    *,
    solve: Solve = cheapest_flow,
) -> NDArray[np.int64]:
    """The member of each unit in an optimum, int64 [units].

    `units`: int64 [units, width], at least one. The partitions of a unit go to one member and have
    the same subscribers. `level_costs`: the cost of each loss; by default a level costs more than
    all finer ones. `solve` decides among equal optima. Raises `OptimumTooLarge`, and
    `MissingDependency` where `solve` does.
    """
    classes = UnitClasses.of(group, units, level_costs)
    # [units], the audience of each unit; [lists], the members of each list of topics
    audiences = classes.audience_of_class[classes.class_of]
    sizes = np.bincount(group.list_of, minlength=len(classes.subscribes))
    loads = even_loads(
        np.bincount(audiences, minlength=classes.subscribes.shape[1]),
        classes.subscribes,
        sizes,
        solve=solve,
    )
    stays = _stay_arcs(group, classes)
    pools = _pool_arcs(group, classes, loads)
    return _expand_flows(
        classes,
        _solve_flows(
            classes, [stays, _leave_arcs(classes), *pools, *_load_arcs(group, loads)], solve
        ),
    )


def _stay_arcs(group: ReadingGroup, classes: UnitClasses) -> _Layer:
    """Arcs from types to the members that own some of each of their units."""
    # [types, width], the owners of a unit of each type, ascending, so equal owners are neighbours
    owners = classes.owners[classes.types.first]
    is_new = np.diff(owners, axis=1, prepend=NOBODY) != 0
    # [arcs], one arc for each type and each distinct owner
    types, columns = np.nonzero(is_new & (owners != NOBODY))
    member = owners[types, columns]
    # [arcs], the partitions of a unit that do not move where the unit goes to this owner
    kept = (owners[types] == member[:, None]).sum(axis=1)
    crossing = classes.costs[classes.class_of[classes.types.first[types]], group.rack_of[member]]
    return _Layer(
        tails=types,
        heads=member,
        capacities=classes.unit_count[types],
        costs=crossing + classes.owned[types] - kept,
    )


def _leave_arcs(classes: UnitClasses) -> _Layer:
    """Arcs from types to their cost classes: every owned partition moves."""
    types = np.flatnonzero(classes.owned)
    return _Layer(
        tails=types,
        heads=classes.class_of[classes.types.first[types]],
        capacities=classes.unit_count[types],
        costs=classes.owned[types],
    )


def _pool_arcs(
    group: ReadingGroup, classes: UnitClasses, loads: EvenLoads
) -> tuple[_Layer, _Layer, _Layer]:
    """Arcs from cost classes to gates, from gates to pools, and from pools to members.

    A pool is the members of one list in one rack. A gate is an audience in one rack.
    """
    racks = classes.costs.shape[1]
    # Members of lists without a block get nothing, so they have no arcs.
    members = np.flatnonzero(loads.block_of[group.list_of] != NO_BLOCK)
    # A pair (list, rack) or (audience, rack) is one number: first * racks + rack.
    # pools: [pools], the pairs (list, rack). pool_of: [members], the pool of each member.
    pools, pool_of = np.unique(
        group.list_of[members] * racks + group.rack_of[members], return_inverse=True
    )
    lists, rack_of_pool = np.divmod(pools, racks)
    # [gate arcs], the pool and the audience of each arc from a gate to a pool
    entered, audiences = np.nonzero(classes.subscribes[lists])
    gates, gate_of = np.unique(audiences * racks + rack_of_pool[entered], return_inverse=True)
    audience_of_gate, rack_of_gate = np.divmod(gates, racks)
    # [class arcs], a cost class reaches the gates of its audience, in every rack
    cost_classes, reached = np.nonzero(classes.audience_of_class[:, None] == audience_of_gate)
    in_class = np.bincount(classes.class_of, minlength=len(classes.costs))
    return (
        _Layer(
            tails=cost_classes,
            heads=reached,
            capacities=in_class[cost_classes],
            costs=classes.costs[cost_classes, rack_of_gate[reached]],
        ),
        _free_arcs(gate_of, entered, np.full(len(entered), len(classes.class_of))),
        _free_arcs(pool_of, members, loads.least[loads.block_of[group.list_of[members]]] + 1),
    )


def _load_arcs(group: ReadingGroup, loads: EvenLoads) -> tuple[_Layer, _Layer, _Layer]:
    """Arcs from members to the sink and to their blocks, and from blocks to the sink."""
    block_of = loads.block_of[group.list_of]
    members = np.flatnonzero(block_of != NO_BLOCK)
    # the blocks in which some members get one unit more, and the members of these blocks
    some = np.flatnonzero(loads.more)
    candidates = members[np.isin(block_of[members], some)]
    return (
        _free_arcs(members, np.zeros_like(members), loads.least[block_of[members]]),
        _free_arcs(candidates, block_of[candidates], np.ones_like(candidates)),
        _free_arcs(some, np.zeros_like(some), loads.more[some]),
    )


def _free_arcs(
    tails: NDArray[np.int64], heads: NDArray[np.int64], capacities: NDArray[np.int64]
) -> _Layer:
    """Arcs whose units cost nothing."""
    return _Layer(tails=tails, heads=heads, capacities=capacities, costs=np.zeros_like(tails))


ENDS = (
    ("type", "member"),
    ("type", "cost class"),
    ("cost class", "gate"),
    ("gate", "pool"),
    ("pool", "member"),
    ("member", "sink"),
    ("member", "block"),
    ("block", "sink"),
)
"""The kinds of nodes that the arcs of each layer connect."""


def _solve_flows(classes: UnitClasses, layers: Sequence[_Layer], solve: Solve) -> list[_Flow]:
    """The min-cost flow of all units, by layer."""
    # kind of node -> number of nodes, at least 1; the order of the kinds is that of their numbers
    sizes = dict.fromkeys(("type", "cost class", "gate", "pool", "member", "block", "sink"), 1)
    for (tail, head), layer in zip(ENDS, layers, strict=True):
        sizes[tail] = max(sizes[tail], 1 + int(layer.tails.max(initial=0)))
        sizes[head] = max(sizes[head], 1 + int(layer.heads.max(initial=0)))
    sizes["cost class"] = len(classes.costs)
    sizes["type"] = len(classes.owned)
    starts = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
    # Units enter at their type, or at their cost class where they have no owner.
    is_owned = classes.owned > 0
    supplies = np.zeros(sum(sizes.values()), dtype=np.int64)
    supplies[: len(classes.owned)] = np.where(is_owned, classes.unit_count, 0)
    cost_classes = classes.class_of[classes.types.first[~is_owned]]
    np.add.at(supplies, starts["cost class"] + cost_classes, classes.unit_count[~is_owned])
    supplies[starts["sink"]] = -len(classes.class_of)
    joined = list(zip(ENDS, layers, strict=True))
    flow = solve(
        Network(
            tails=np.concatenate([starts[tail] + layer.tails for (tail, _), layer in joined]),
            heads=np.concatenate([starts[head] + layer.heads for (_, head), layer in joined]),
            capacities=np.concatenate([layer.capacities for layer in layers]),
            costs=np.concatenate([layer.costs for layer in layers]),
            supplies=supplies,
        )
    )
    ends = accumulate((len(layer.tails) for layer in layers), initial=0)
    return [
        _Flow(tails=layer.tails, heads=layer.heads, units=flow[start:end])
        for layer, (start, end) in zip(layers, pairwise(ends), strict=True)
    ]


def _expand_flows(classes: UnitClasses, flows: Sequence[_Flow]) -> NDArray[np.int64]:
    """The member of each unit, int64 [units], with the counts of the flow."""
    stay, _, to_gate, to_pool, to_member, *_ = flows
    member = distribute(classes.types.of, stay.tails, stay.heads, stay.units, "one after the other")
    rest = np.flatnonzero(member == NOBODY)
    gate = distribute(classes.class_of[rest], to_gate.tails, to_gate.heads, to_gate.units, "evenly")
    pool = distribute(gate, to_pool.tails, to_pool.heads, to_pool.units, "evenly")
    member[rest] = distribute(pool, to_member.tails, to_member.heads, to_member.units, "around")
    return member
