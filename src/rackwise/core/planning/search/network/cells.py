"""The finest racks of rows as nodes and arcs, as few as possible.

A rack of a row is simple if all replicas that the row holds there may stay. A simple rack is no
node. Its replicas are supplied at their brokers, and one arc for all rows of equal cost carries
those that leave their broker for the hub; if loads are free, none need to. Units that the rack
lacks start in the hub. So a row is a node only where it must drop a replica, or can choose between
racks. Rows that choose between the same hubs at the same cost are one node:

```
rows 4 and 9 on 1 of /a and 5 of /b; of three replicas, each rack must take 1 and may take 2
kept             broker 1 (+2) --- hub of /a without 1       broker 5 (+2) --- hub of /b without 5
one unit more    node (2) --- hub of /a without 1, hub of /b without 5
```

In a rack that is not simple, the row has a node with an arc to each broker that it holds.

Limits: this module does not know levels above the finest racks (`network` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.problem.copy_costs import copy_costs, is_preferred
from rackwise.core.planning.search.network.columns import NONE, Piece
from rackwise.core.planning.search.network.hubs import RackHubs
from rackwise.core.view import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.problem.rack_bounds import RackCapacity


class RackCells(NamedTuple):
    """The finest racks of rows; all columns are [rows, leaves]."""

    low: NDArray[np.int64]
    """Units that the rack must take."""
    more: NDArray[np.int64]
    """Further units that it may take."""
    holders: NDArray[np.int64]
    """Replicas of the row in the rack that are not pinned."""
    is_distinguished: NDArray[np.bool_]
    """Whether a new replica must avoid brokers of the rack."""
    is_simple: NDArray[np.bool_]
    """Whether all replicas of the rack may stay, so that the rack needs no node."""
    hubs: NDArray[np.int64]
    """The hub that new replicas go through, -1 = none."""
    free: NDArray[np.int64]
    """Brokers that the hub leads to."""

    @property
    def units(self) -> NDArray[np.int64]:
        """The most units of the rack."""
        return self.low + self.more


class CellNodes(RackHubs):
    """Adds the nodes and arcs of the finest racks of rows."""

    def cells(
        self,
        rows: NDArray[np.int64],
        room: RackCapacity,
        held: tuple[NDArray[np.int64], NDArray[np.int64]],
        low: NDArray[np.int64],
        more: NDArray[np.int64],
    ) -> RackCells:
        """The finest racks of rows, from the units that each must and may take."""
        at, brokers = held
        leaf = self.instance.leaf
        holders = np.zeros(low.shape, dtype=np.int64)
        np.add.at(holders, (at, leaf[brokers]), 1)
        units = low + more
        is_distinguished = (units > 1) | ((units > 0) & (room.pinned > 0))
        hubs = np.full(low.shape, NONE, dtype=np.int64)
        free = np.array([len(takers) for takers in self.takers])
        is_hub = (units > 0) & ~is_distinguished & (free > 0)
        at_row, at_leaf = np.nonzero(is_hub)
        hubs[at_row, at_leaf] = self.hub_nodes(rows[at_row], at_leaf)
        free = np.repeat(free[None, :], len(rows), axis=0)
        if not self.is_explicit:
            self.find_partial_hubs(rows, held, is_distinguished, hubs, free)
        is_simple = (units > 0) & (holders <= low) & ~(is_distinguished & self.is_explicit)
        return RackCells(low, more, holders, is_distinguished, is_simple, hubs, free)

    def share_nodes(
        self, rows: NDArray[np.int64], cells: RackCells, spare: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """One node for rows whose spare units have the same ways: which rows have it, bool [rows].

        Rows of one level whose cells are all simple; what they pay may differ by a constant.
        """
        is_shared: NDArray[np.bool_] = (cells.is_simple | (cells.units == 0)).all(axis=1)
        is_shared &= spare > 0
        at = np.flatnonzero(is_shared)
        if not len(at):
            return is_shared
        leaves = np.flatnonzero((cells.more[at] > 0).any(axis=0))
        room = np.minimum(cells.more, cells.free - cells.low + cells.holders).clip(min=0)
        columns = [spare[at]]
        for leaf in leaves.tolist():
            columns += [cells.hubs[at, leaf], room[at, leaf]]
        columns += self._cost_codes(rows[at], leaves)
        code, examples = distinct(columns)
        sizes = np.bincount(code)
        number = self.new_groups(rows[at], code, sizes)
        nodes = self.new_nodes(np.ones(len(examples), dtype=np.bool_))
        self.supply_nodes(nodes, spare[at[examples]] * sizes)
        for leaf in leaves.tolist():
            self.add_arcs_to_hubs(
                nodes,
                rows[at[examples]],
                np.full(len(nodes), leaf),
                cells.hubs[at[examples], leaf],
                room[at[examples], leaf],
                begun=(cells.low - cells.holders)[at[examples], leaf] > 0,
                sizes=sizes,
                groups=number,
            )
        return is_shared

    def _cost_codes(
        self, rows: NDArray[np.int64], leaves: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Columns in which rows agree if their costs in the racks differ by a constant only."""
        instance, wide = self.instance, np.tile(leaves, len(rows))
        repeated = np.repeat(rows, len(leaves))
        costs = [*copy_costs(instance, repeated, wide)]
        if instance.steady is not None:
            costs.append(instance.steady.at(repeated, wide))
        found = []
        for cost in costs:
            table = cost.reshape(len(rows), len(leaves))
            table = table - table[:, :1]
            if table.any():
                found += [np.unique(column, return_inverse=True)[1] for column in table.T]
        return found

    def add_rack_nodes(
        self,
        rows: NDArray[np.int64],
        cells: RackCells,
        held: tuple[NDArray[np.int64], NDArray[np.int64]],
        above: NDArray[np.int64],
    ) -> None:
        """The nodes and arcs of the finest racks; `above`: the node above each, or -1."""
        at, brokers = held
        leaf = self.instance.leaf[brokers]
        units, hubs = cells.units, cells.hubs
        is_node = (units > 0) & ~cells.is_simple & ((cells.holders > 0) | cells.is_distinguished)
        here = self.new_nodes(is_node)
        self.link(above, here, cells.more)
        self.supply_nodes(here[is_node], cells.low[is_node])
        tails = here[at, leaf]
        some = tails >= 0
        self.add_broker_arcs(tails[some], rows[at[some]], brokers[some], is_new=False)
        at_row, at_leaf = np.nonzero((here >= 0) & (hubs >= 0))
        room = np.minimum(units, cells.free)[at_row, at_leaf]
        cell_hubs = hubs[at_row, at_leaf]
        self.add_arcs_to_hubs(here[at_row, at_leaf], rows[at_row], at_leaf, cell_hubs, room)
        if self.is_explicit:
            nodes = np.where(cells.is_distinguished, here, NONE)
            self.add_explicit_arcs(rows, nodes, self.known(rows, held))
        missing = cells.low - cells.holders
        is_simple = cells.is_simple & (hubs >= 0)
        at_row, at_leaf = np.nonzero(is_simple & (cells.more > 0) & (above >= 0))
        free = (cells.free - missing)[at_row, at_leaf].clip(min=0)
        self.add_arcs_to_hubs(
            above[at_row, at_leaf],
            rows[at_row],
            at_leaf,
            hubs[at_row, at_leaf],
            np.minimum(cells.more[at_row, at_leaf], free),
            begun=missing[at_row, at_leaf] > 0,
        )
        at_row, at_leaf = np.nonzero(cells.is_simple & (missing > 0))
        count = missing[at_row, at_leaf]
        waits = np.stack([rows[at_row], at_leaf, hubs[at_row, at_leaf]], axis=1)
        self.supply_nodes(waits[:, 2], count)
        self.waiting.append(np.repeat(waits, count, axis=0))
        some = cells.is_simple[at, leaf]
        at, brokers, leaf = at[some], brokers[some], leaf[some]
        self.add_kept(rows[at], brokers, hubs[at, leaf], cells.free[at, leaf])

    def add_kept(
        self,
        rows: NDArray[np.int64],
        brokers: NDArray[np.int64],
        hubs: NDArray[np.int64],
        free: NDArray[np.int64],
    ) -> None:
        """Replicas that stay unless they leave for a hub: one arc for those of equal cost."""
        entries = self.entry_nodes(rows, brokers)
        self.supply_nodes(entries, np.ones_like(entries))
        can_leave = (hubs >= 0) & (free > 0)
        if self.targets.ranges is None:
            # Without fair loads only a cap can make a replica leave a broker where it may stay.
            can_leave &= self.capped[self.instance.topic[rows]] > 0
        self.kept.append(np.stack([rows[~can_leave], brokers[~can_leave]], axis=1))
        rows, brokers, hubs = rows[can_leave], brokers[can_leave], hubs[can_leave]
        entries = entries[can_leave]
        if not len(rows):
            return
        leaf = self.instance.leaf[brokers]
        costs = copy_costs(self.instance, rows, leaf)
        keys = [np.unique(cost, return_inverse=True)[1] for cost in costs]
        is_first = is_preferred(self.instance, rows, brokers).astype(np.int64)
        code, examples = distinct([entries, hubs, is_first, *keys])
        sizes = np.bincount(code)
        number = self.new_groups(rows, code, sizes)
        self.arcs.add(
            Piece(
                entries[examples],
                hubs[examples],
                sizes,
                row=rows[examples],
                broker=brokers[examples],
                leaf=leaf[examples],
                is_hub=True,
                is_new=True,
                group=number,
            )
        )
