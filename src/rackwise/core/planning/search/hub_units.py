"""From a flow to replica sets: the units of each hub, and the brokers that they reach.

A hub knows how many units come from each row and how many go to each broker, but not which unit
goes to which broker. The units in row order take the brokers in canonical order:

```
units    row 3  row 5  row 9          brokers   2: one unit   4: two units
taken    3 -> 2  5 -> 4  9 -> 4
```

Units pass through the nodes of a tree in the same way, from the hub down to the brokers. Any unit
at a node may take any way that leads on, because no way of a partial hub leads to a broker that its
rows hold.

Two units of one row may end on the same broker. Then one of them trades its broker with a unit of
another row in the rack, where both rows lack the broker that they get:

```
row 3 -> 4, 4      row 5 -> 2, kept on 7        trade: row 3 -> 4, 2      row 5 -> 4
```

Every replica of a row in a rack costs the same, so a trade changes no cost and no load. The second
units of rows come after the first ones, so that few rows need a trade.

Limits: this module does not search chains of trades. If no trade exists, there is no answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.search.network.columns import SetNetwork


class HubUnits(NamedTuple):
    """The units that hubs distribute: replicas on aligned brokers."""

    rows: NDArray[np.int64]
    """Row of each unit, int64 [units]."""
    brokers: NDArray[np.int64]
    """Broker of each unit, int64 [units]."""
    cells: NDArray[np.int64]
    """Units of one cell can trade: its topics share caps, and its brokers a rack, int64 [units]."""


class KeptReplicas(NamedTuple):
    """Replicas that go through no hub, as aligned columns."""

    rows: NDArray[np.int64]
    brokers: NDArray[np.int64]


def kept_replicas(instance: Instance, network: SetNetwork, flow: NDArray[np.int64]) -> KeptReplicas:
    """The replicas that are pinned, kept, or have an arc of their own."""
    is_direct = (flow > 0) & (network.row >= 0) & (network.broker >= 0) & ~network.is_hub
    direct = np.flatnonzero(is_direct & (network.group < 0))
    shared, shared_rows = _units_of_groups(
        network, flow, np.flatnonzero(is_direct & (network.group >= 0))
    )
    leaving = _leaving(network, flow)
    stays = ~leaving.is_used
    pins = instance.pins
    return KeptReplicas(
        np.concatenate(
            [
                network.row[direct],
                shared_rows,
                pins.rows,
                network.kept[:, 0],
                leaving.rows[stays],
            ]
        ),
        np.concatenate(
            [
                network.broker[direct],
                network.broker[shared],
                pins.values.astype(np.int64),
                network.kept[:, 1],
                network.broker[leaving.arcs[stays]],
            ]
        ),
    )


class _Leaving(NamedTuple):
    """Replicas that stay unless they leave for a hub, as aligned columns."""

    arcs: NDArray[np.int64]
    rows: NDArray[np.int64]
    is_used: NDArray[np.bool_]
    """Whether the replica leaves; of equal rows the last ones leave."""


def _leaving(network: SetNetwork, flow: NDArray[np.int64]) -> _Leaving:
    arcs = np.flatnonzero((network.row >= 0) & (network.broker >= 0) & network.is_hub)
    members = network.members.take(network.group[arcs].astype(np.int64))
    first = members.offsets[:-1][members.rows]
    sizes = members.lengths[members.rows]
    turn = np.arange(len(members.values)) - first
    is_used = turn >= sizes - flow[arcs[members.rows]]
    return _Leaving(arcs[members.rows], members.values.astype(np.int64), is_used)


def hub_units(instance: Instance, network: SetNetwork, flow: NDArray[np.int64]) -> HubUnits:
    """The broker of each unit that goes through a hub; two units of a row may have the same one."""
    is_used = flow > 0
    is_sent = is_used & (network.row >= 0) & (network.broker < 0)
    sent = np.flatnonzero(is_sent & (network.group < 0))
    sent = np.repeat(sent, flow[sent])
    shared, shared_rows = _units_of_groups(
        network, flow, np.flatnonzero(is_sent & (network.group >= 0))
    )
    leaving = _leaving(network, flow)
    left = leaving.arcs[leaving.is_used]
    arcs = np.concatenate([sent, shared, left])
    rows = np.concatenate(
        [network.row[sent], shared_rows, leaving.rows[leaving.is_used], network.waiting[:, 0]]
    )
    nodes = np.concatenate([network.heads[arcs], network.waiting[:, 2]])
    leaves = np.concatenate([network.leaf[arcs], network.waiting[:, 1]])
    turn = _turns(rows, nodes)
    ways = np.flatnonzero(is_used & (network.row < 0) & network.is_hub)
    tails, heads = network.tails[ways], network.heads[ways]
    height = _heights(tails, heads, len(network.supplies))
    for level in range(int(height.max(initial=0)), 0, -1):
        here = np.flatnonzero(height[nodes] == level)
        here = here[np.lexsort((rows[here], turn[here], nodes[here]))]
        on = np.flatnonzero(height[tails] == level)
        on = on[np.lexsort((heads[on], tails[on]))]
        nodes[here] = np.repeat(heads[on], flow[ways[on]])
    width = len(instance.brokers)
    return HubUnits(rows, nodes % width, nodes // width * instance.leaves + leaves)


def _units_of_groups(
    network: SetNetwork, flow: NDArray[np.int64], arcs: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Arc and row of each unit that leaves the node of a group.

    The units of a group go to its rows in turn, so that each row gets as many, and as few as
    possible on one arc.
    """
    arcs = arcs[np.argsort(network.group[arcs], kind="stable")]
    units = np.repeat(arcs, flow[arcs])
    group = network.group[units]
    turn = np.arange(len(units)) - np.searchsorted(group, group)
    members = network.members
    turn %= np.maximum(members.lengths[group], 1)
    return units, members.values[members.offsets[group] + turn].astype(np.int64)


def _turns(rows: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 for the first unit of each row in each hub, 1 for its second one, and so on."""
    order = np.lexsort((nodes, rows))
    is_new = np.append(True, (np.diff(rows[order]) != 0) | (np.diff(nodes[order]) != 0))
    is_new = is_new[: len(order)]
    starts = np.flatnonzero(is_new)
    found = np.empty_like(rows)
    found[order] = np.arange(len(rows)) - starts[np.cumsum(is_new) - 1]
    return found


def _heights(tails: NDArray[np.int32], heads: NDArray[np.int32], nodes: int) -> NDArray[np.int64]:
    """The most arcs on a way from each node to a broker, int64 [nodes]."""
    found = np.zeros(nodes, dtype=np.int64)
    while True:
        higher = found.copy()
        np.maximum.at(higher, tails, found[heads] + 1)
        if (higher == found).all():
            return found
        found = higher


def trade_duplicates(
    units: HubUnits, rows: NDArray[np.int64], brokers: NDArray[np.int64], width: int
) -> NDArray[np.int64] | None:
    """The brokers of the units, int64 [units], so that no row has a broker twice.

    `rows`, `brokers`: the replicas that go through no hub. None if a row has no possible trade.
    """
    keys = units.rows * width + units.brokers
    order = np.argsort(keys, kind="stable")
    doubled = order[1:][keys[order[1:]] == keys[order[:-1]]]
    if not len(doubled):
        return units.brokers
    taken = {*(rows * width + brokers).tolist(), *keys.tolist()}
    own, found = units.rows.tolist(), units.brokers.tolist()
    members: dict[int, list[int]] = {}
    for cell in np.unique(units.cells[doubled]).tolist():
        members[cell] = np.flatnonzero(units.cells == cell).tolist()
    is_doubled = np.zeros(len(keys), dtype=np.bool_)
    is_doubled[doubled] = True
    waits = is_doubled.tolist()
    # Where the last search in a cell ended: the next one goes on there, so that it is short.
    starts = dict.fromkeys(members, 0)
    for unit in sorted(doubled.tolist()):
        cell = int(units.cells[unit])
        others = members[cell]
        for step in range(len(others)):
            at = (starts[cell] + step) % len(others)
            other = others[at]
            row, broker = own[other], found[other]
            if (
                not waits[other]
                and own[unit] * width + broker not in taken
                and row * width + found[unit] not in taken
            ):
                taken.remove(row * width + broker)
                taken |= {own[unit] * width + broker, row * width + found[unit]}
                found[unit], found[other] = broker, found[unit]
                starts[cell], waits[unit] = at + 1, False
                break
        else:
            return None
    return np.array(found, dtype=np.int64)
