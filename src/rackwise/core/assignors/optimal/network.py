"""One lot of units, from racks and owners to a network, and from its flow to a member for each.

Goals, in order: the loads that `optimal_loads` allows; the least price of crossings; the fewest
moves. The first is in capacities, the others are in costs: one level of crossing costs more than
all finer ones together, and one crossing more than all moves.

A unit is a partition, or a column of them. Units with the same audience and the same price in every
rack go through one `mix`; those with the same owners too are one `type`. Types whose units nobody
owns are left out: their mix supplies them.

```
type -- price of the owner's rack, no move --> member -- least --> sink
 |                                              ^   |               ^
 +-- moves --> mix -- price --> gate --> pool --+   +-- 1 --> block +
                                                                more
```

With three racks and a thousand members that subscribe to the same topics, a hundred thousand
partitions are three gates, three pools and a few thousand types.

Dealing. Of each type so many units stay with an owner as the flow says, then those of each mix are
dealt evenly to its gates, those of a gate evenly to its pools, and those of a pool around its
members; always by topic and partition, so that a topic spreads.

What this does not do: choose what a unit is, or check what it is told.

Source: Ahuja, Magnanti and Orlin, "Network Flows" (1993), on transportation problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.assignors.optimal.dealing import dealt
from rackwise.core.assignors.optimal.group import NOBODY
from rackwise.core.assignors.optimal.loads import NO_BLOCK, even_loads
from rackwise.core.assignors.optimal.lot import Lot
from rackwise.core.solver import Network, cheapest_flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.assignors.optimal.group import ReadingGroup
    from rackwise.core.assignors.optimal.loads import Loads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Layer:
    """Arcs from places of one kind to places of another, each kind numbered from 0 on; int64."""

    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    capacities: NDArray[np.int64]
    costs: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Flow:
    """A layer, and how many units each of its arcs carries."""

    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    units: NDArray[np.int64]


def best_members(
    group: ReadingGroup, units: NDArray[np.int64], level_costs: Sequence[int] | None
) -> NDArray[np.int64]:
    """The member of each unit, int64 [units], in an optimum.

    `units`: int64 [units, width], at least one: partitions that go to one member and have the same
    subscribers. `level_costs`: price of each loss; else one level is dearer than all finer ones.
    Raises `OptimumTooLarge` and `MissingDependency`.
    """
    lot = Lot.of(group, units, level_costs)
    audiences = lot.audience_of_mix[lot.mix_of]
    sizes = np.bincount(group.list_of, minlength=len(lot.hears))
    loads = even_loads(np.bincount(audiences, minlength=lot.hears.shape[1]), lot.hears, sizes)
    stays = _stays(group, lot)
    pools = _pools(group, lot, loads)
    return _dealt(lot, _flows(lot, [stays, _leaves(lot), *pools, *_seats(group, loads)]))


def _stays(group: ReadingGroup, lot: Lot) -> _Layer:
    """From types to the members that own some of each of their units."""
    owners = lot.owners[lot.types.first]
    is_new = np.diff(owners, axis=1, prepend=NOBODY) != 0
    types, columns = np.nonzero(is_new & (owners != NOBODY))
    member = owners[types, columns]
    here = (owners[types] == member[:, None]).sum(axis=1)
    crossing = lot.prices[lot.mix_of[lot.types.first[types]], group.rack_of[member]]
    return _Layer(
        tails=types,
        heads=member,
        capacities=lot.unit_count[types],
        costs=crossing + lot.owned[types] - here,
    )


def _leaves(lot: Lot) -> _Layer:
    """From types to their mixes: all that is owned moves."""
    types = np.flatnonzero(lot.owned)
    return _Layer(
        tails=types,
        heads=lot.mix_of[lot.types.first[types]],
        capacities=lot.unit_count[types],
        costs=lot.owned[types],
    )


def _pools(group: ReadingGroup, lot: Lot, loads: Loads) -> tuple[_Layer, _Layer, _Layer]:
    """From mixes to gates, from there to pools, from there to members."""
    racks = lot.prices.shape[1]
    members = np.flatnonzero(loads.block_of[group.list_of] != NO_BLOCK)
    pools, pool_of = np.unique(
        group.list_of[members] * racks + group.rack_of[members], return_inverse=True
    )
    lists, rack_of_pool = np.divmod(pools, racks)
    entered, audiences = np.nonzero(lot.hears[lists])
    gates, gate_of = np.unique(audiences * racks + rack_of_pool[entered], return_inverse=True)
    audience_of_gate, rack_of_gate = np.divmod(gates, racks)
    mixes, reached = np.nonzero(lot.audience_of_mix[:, None] == audience_of_gate)
    in_mix = np.bincount(lot.mix_of, minlength=len(lot.prices))
    return (
        _Layer(
            tails=mixes,
            heads=reached,
            capacities=in_mix[mixes],
            costs=lot.prices[mixes, rack_of_gate[reached]],
        ),
        _free(gate_of, entered, np.full(len(entered), len(lot.mix_of))),
        _free(pool_of, members, loads.least[loads.block_of[group.list_of[members]]] + 1),
    )


def _seats(group: ReadingGroup, loads: Loads) -> tuple[_Layer, _Layer, _Layer]:
    """From members to the sink and to their blocks, from there to the sink."""
    block_of = loads.block_of[group.list_of]
    members = np.flatnonzero(block_of != NO_BLOCK)
    some = np.flatnonzero(loads.more)
    choosing = members[np.isin(block_of[members], some)]
    return (
        _free(members, np.zeros_like(members), loads.least[block_of[members]]),
        _free(choosing, block_of[choosing], np.ones_like(choosing)),
        _free(some, np.zeros_like(some), loads.more[some]),
    )


def _free(
    tails: NDArray[np.int64], heads: NDArray[np.int64], capacities: NDArray[np.int64]
) -> _Layer:
    return _Layer(tails=tails, heads=heads, capacities=capacities, costs=np.zeros_like(tails))


ENDS = (
    ("type", "member"),
    ("type", "mix"),
    ("mix", "gate"),
    ("gate", "pool"),
    ("pool", "member"),
    ("member", "sink"),
    ("member", "block"),
    ("block", "sink"),
)
"""What the arcs of each layer lead from and to."""


def _flows(lot: Lot, layers: Sequence[_Layer]) -> list[_Flow]:
    """The cheapest flow of all units, by layer."""
    sizes = dict.fromkeys(("type", "mix", "gate", "pool", "member", "block", "sink"), 1)
    for (tail, head), layer in zip(ENDS, layers, strict=True):
        sizes[tail] = max(sizes[tail], 1 + int(layer.tails.max(initial=0)))
        sizes[head] = max(sizes[head], 1 + int(layer.heads.max(initial=0)))
    sizes["mix"] = len(lot.prices)
    sizes["type"] = len(lot.owned)
    starts = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
    is_owned = lot.owned > 0
    supplies = np.zeros(sum(sizes.values()), dtype=np.int64)
    supplies[: len(lot.owned)] = np.where(is_owned, lot.unit_count, 0)
    mixes = lot.mix_of[lot.types.first[~is_owned]]
    np.add.at(supplies, starts["mix"] + mixes, lot.unit_count[~is_owned])
    supplies[starts["sink"]] = -len(lot.mix_of)
    joined = list(zip(ENDS, layers, strict=True))
    flow = cheapest_flow(
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


def _dealt(lot: Lot, flows: Sequence[_Flow]) -> NDArray[np.int64]:
    """The member of each unit, as many as flow."""
    stay, _, to_gate, to_pool, to_member, *_ = flows
    member = dealt(lot.types.of, stay.tails, stay.heads, stay.units, "one after the other")
    rest = np.flatnonzero(member == NOBODY)
    gate = dealt(lot.mix_of[rest], to_gate.tails, to_gate.heads, to_gate.units, "evenly")
    pool = dealt(gate, to_pool.tails, to_pool.heads, to_pool.units, "evenly")
    member[rest] = dealt(pool, to_member.tails, to_member.heads, to_member.units, "around")
    return member
