r"""The network of all legal sets of all rows; a unit of flow is a replica.

Goals, in order: every flow is a choice of legal sets within the targets, and every such choice is a
flow; no loop runs over rows; a replica that cannot move is no node.

```
row 4, 3 replicas, /a 0..1  /b 1..1  /c 1..2; holds 1 in /a and 5 in /b

row 4 (1) --- /a (0) --- broker 1            cost 0
      |            \---- hub of /a           cost w, all brokers of /a that take replicas
      |       /b (1) --- broker 5, hub of /b
      \------ /c (1) --- broker 7, 8, 9      cost w each: two may come here, so no hub
```

The units that a rack must have are supplied at the rack, the others at the row. A rack in which the
row holds nothing, and in which brokers need not be distinguished, is no node: its unit goes
straight to the hub. A hub is exact if at most one unit of a row comes to a rack, because two units
could leave the hub to the same broker. Where more may come, and where a broker of the rack is
pinned, arcs lead to each broker. Topics with caps have hubs of their own, and a node for each
broker before the broker.

A broker requires `low` units. The node of its group takes the rest: `high` less `low` from each
broker, and the group's total from all. Without targets one sink takes everything.

`at_least`: units that must reach distinct racks come through arcs of capacity one; the others are
free (`rack_bounds.fresh_racks`).

Limits: this module neither prices the arcs (`by_flow`) nor solves the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.problem.instance import contains
from rackwise.core.planning.problem.rack_bounds import (
    RackCapacity,
    fresh_racks,
    rack_bounds,
    rack_capacity,
)
from rackwise.core.planning.search.network_columns import NONE, Piece, join_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.planning.fair_loads.targets import Targets
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.partition_class import PartitionClass
    from rackwise.core.planning.search.network_columns import SetNetwork


def network_of(instance: Instance, targets: Targets) -> SetNetwork:
    """The network of all rows; every row has a legal set."""
    return _Builder(instance, targets).build()


class _Builder:
    """Builds the arcs of a `SetNetwork` from blocks of rows.

    Node numbers, in this order: for each aggregate (0 is all topics without caps, then one for each
    capped topic) a node per broker; for each aggregate a hub per finest rack; the groups of
    brokers, or one sink; then the nodes of rows.
    """

    def __init__(self, instance: Instance, targets: Targets) -> None:
        self.instance = instance
        self.targets = targets
        self.width = len(instance.brokers)
        # Aggregate of each topic of the table, int64 [topics].
        self.capped = np.full(len(instance.is_capped), 0, dtype=np.int64)
        self.capped[list(targets.caps)] = np.arange(1, len(targets.caps) + 1)
        self.aggregates = len(targets.caps) + 1
        self.hub_base = self.aggregates * self.width
        groups = 1 if targets.ranges is None else len(targets.ranges.totals)
        self.group_base = self.hub_base + self.aggregates * instance.leaves
        self.nodes = self.group_base + groups
        self.shared = self.nodes
        # Parts of the arcs; (nodes, units) that are supplied; (row, leaf, hub) of units in hubs.
        self.arcs: list[Piece] = []
        self.supply: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self.waiting: list[NDArray[np.int64]] = []

    def build(self) -> SetNetwork:
        """Add all arcs and supplies."""
        for class_, rows, is_plain in self._blocks():
            self._add_rows(class_, rows, is_plain=is_plain)
        self._add_pins()
        self._add_arcs_from_hubs()
        exits = sum(len(piece.tails) for piece in self.arcs)
        self._add_exits()
        supplies = np.zeros(self.nodes, dtype=np.int64)
        for nodes, units in self.supply:
            np.add.at(supplies, nodes, units)
        self._add_demands(supplies)
        return join_pieces(
            self.arcs, supplies, shared=self.shared, exits=exits, waiting=self.waiting
        )

    def _blocks(self) -> Iterator[tuple[PartitionClass, NDArray[np.int64], bool]]:
        """Blocks of rows of one class, those without pins and excluded brokers separately.

        Frozen rows are in no block: all their replicas are pins.
        """
        instance = self.instance
        is_special = instance.pins.lengths > 0
        if not instance.is_open.all():
            held = instance.held
            is_special[held.rows[~instance.is_open[held.values]]] = True
        for number, class_ in enumerate(instance.classes):
            of_kind = (instance.class_of == number) & ~instance.is_frozen
            for special in (False, True):
                rows = np.flatnonzero(of_kind & (is_special == special))
                if len(rows):
                    yield class_, rows, not special

    def _new_nodes(self, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Numbers of new nodes where they are needed, -1 elsewhere."""
        found = np.full(wanted.shape, NONE, dtype=np.int64)
        count = int(wanted.sum())
        found[wanted] = self.nodes + np.arange(count)
        self.nodes += count
        return found

    def _supply_nodes(self, nodes: NDArray[np.int64], units: NDArray[np.int64]) -> None:
        some = units > 0
        self.supply.append((nodes[some], units[some]))

    def _link(
        self, tails: NDArray[np.int64], heads: NDArray[np.int64], capacities: NDArray[np.int64]
    ) -> None:
        """Arcs between nodes where both nodes exist and the capacity is above 0."""
        tails, heads, capacities = np.broadcast_arrays(tails, heads, capacities)
        some = (tails >= 0) & (heads >= 0) & (capacities > 0)
        self.arcs.append(Piece(tails[some], heads[some], capacities[some]))

    def _entry_nodes(
        self, rows: NDArray[np.int64], brokers: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The node through which replicas of rows reach brokers."""
        aggregate: NDArray[np.int64] = self.capped[self.instance.topic[rows]]
        return aggregate * self.width + brokers

    def _hub_nodes(self, rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        aggregate: NDArray[np.int64] = self.capped[self.instance.topic[rows]]
        return self.hub_base + aggregate * self.instance.leaves + leaves

    def _add_rows(self, class_: PartitionClass, rows: NDArray[np.int64], *, is_plain: bool) -> None:
        room = rack_capacity(self.instance, rows[:1] if is_plain else rows)
        room = RackCapacity(
            np.broadcast_to(room.pinned, (len(rows), self.instance.leaves)),
            np.broadcast_to(room.free, (len(rows), self.instance.leaves)),
        )
        held = self._free_replicas(rows)
        if class_.has_boxes:
            self._add_box_nodes(class_, rows, room, held)
        else:
            self._add_distinct_racks(class_, rows, room, held)

    def _free_replicas(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(position in rows, broker) of the held replicas that are not pinned."""
        held = self.instance.held.take(rows)
        at, brokers = held.rows, held.values.astype(np.int64)
        is_free = ~contains(self.instance.pins.take(rows), at, brokers, self.width)
        return at[is_free], brokers[is_free]

    def _add_box_nodes(
        self,
        class_: PartitionClass,
        rows: NDArray[np.int64],
        room: RackCapacity,
        held: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> None:
        shape = rack_bounds(class_, room)
        finest = len(class_.up) - 1
        spare = (shape.units - shape.low[0].sum(axis=1))[:, None]
        above = self._new_nodes(spare > 0)
        self._supply_nodes(above[above >= 0], spare[above >= 0])
        parents = np.zeros(shape.low[0].shape[1], dtype=np.int64)
        for level in range(finest):
            low, high = shape.low[level], shape.high[level]
            more = np.minimum(high - low, spare[:, parents])
            starts = np.flatnonzero(np.diff(class_.up[level], prepend=-1))
            below = class_.up[level + 1][starts]
            required = low - np.add.reduceat(shape.low[level + 1], below, axis=1)
            here = self._new_nodes(required + more > 0)
            self._link(above[:, parents], here, more)
            self._supply_nodes(here[here >= 0], required[here >= 0])
            above, spare = here, required + more
            first_leaf = np.flatnonzero(np.diff(class_.up[level + 1], prepend=-1))
            parents = class_.up[level][first_leaf]
        low = shape.low[finest]
        more = np.minimum(shape.high[finest] - low, spare[:, parents])
        self._add_rack_nodes(rows, room, held, low, more, above[:, parents])

    def _add_rack_nodes(
        self,
        rows: NDArray[np.int64],
        room: RackCapacity,
        held: tuple[NDArray[np.int64], NDArray[np.int64]],
        low: NDArray[np.int64],
        more: NDArray[np.int64],
        above: NDArray[np.int64],
    ) -> None:
        """The finest racks: nodes where a replica is held or brokers must be distinguished.

        `low`: units that each rack must take, `more`: further units that it may take, `above`: the
        node above each rack or -1; all int64 [rows, leaves].
        """
        at, brokers = held
        leaf = self.instance.leaf
        holds = np.zeros(low.shape, dtype=np.bool_)
        holds[at, leaf[brokers]] = True
        units = low + more
        is_distinguished = (units > 1) | ((units > 0) & (room.pinned > 0))
        here = self._new_nodes((units > 0) & (holds | is_distinguished))
        self._link(above, here, more)
        self._supply_nodes(here[here >= 0], low[here >= 0])
        tails = here[at, leaf[brokers]]
        some = tails >= 0
        self._add_broker_arcs(tails[some], rows[at[some]], brokers[some], is_new=False)
        takes = np.bincount(leaf[self.instance.is_open], minlength=self.instance.leaves) > 0
        is_hub = (units > 0) & ~is_distinguished & takes
        at_row, at_leaf = np.nonzero(is_hub & (here >= 0))
        self._add_hub_arcs(here[at_row, at_leaf], rows[at_row], at_leaf)
        at_row, at_leaf = np.nonzero(is_hub & (here < 0) & (more > 0))
        self._add_hub_arcs(above[at_row, at_leaf], rows[at_row], at_leaf)
        at_row, at_leaf = np.nonzero(is_hub & (here < 0) & (low > 0))
        hubs = self._hub_nodes(rows[at_row], at_leaf)
        self._supply_nodes(hubs, low[at_row, at_leaf])
        self.waiting.append(np.stack([rows[at_row], at_leaf, hubs - self.hub_base], axis=1))
        self._add_new_broker_arcs(rows, np.where(is_distinguished, here, NONE), held)

    def _add_broker_arcs(
        self,
        tails: NDArray[np.int64],
        rows: NDArray[np.int64],
        brokers: NDArray[np.int64],
        *,
        is_new: bool,
    ) -> None:
        self.arcs.append(
            Piece(
                tails,
                self._entry_nodes(rows, brokers),
                np.ones_like(tails),
                row=rows,
                broker=brokers,
                leaf=self.instance.leaf[brokers],
                is_new=is_new,
            )
        )

    def _add_hub_arcs(
        self, tails: NDArray[np.int64], rows: NDArray[np.int64], leaves: NDArray[np.int64]
    ) -> None:
        hubs = self._hub_nodes(rows, leaves)
        self.arcs.append(
            Piece(
                tails,
                hubs,
                np.ones_like(tails),
                row=rows,
                leaf=leaves,
                hub=hubs - self.hub_base,
                is_new=True,
            )
        )

    def _add_new_broker_arcs(
        self,
        rows: NDArray[np.int64],
        nodes: NDArray[np.int64],
        held: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> None:
        """Arcs from nodes of racks (-1 = none) to each broker that is new to the row."""
        instance = self.instance
        at, brokers = held
        pins = instance.pins.take(rows)
        known = np.sort(
            np.concatenate(
                [
                    rows[at] * self.width + brokers,
                    rows[pins.rows] * self.width + pins.values,
                ]
            )
        )
        for leaf in np.flatnonzero((nodes >= 0).any(axis=0)).tolist():
            members = np.flatnonzero((instance.leaf == leaf) & instance.is_open)
            at_row = np.flatnonzero(nodes[:, leaf] >= 0)
            wide, targets = np.repeat(at_row, len(members)), np.tile(members, len(at_row))
            keys = rows[wide] * self.width + targets
            is_new = ~np.isin(keys, known)
            wide, targets = wide[is_new], targets[is_new]
            self._add_broker_arcs(nodes[wide, leaf], rows[wide], targets, is_new=True)

    def _add_distinct_racks(
        self,
        class_: PartitionClass,
        rows: NDArray[np.int64],
        room: RackCapacity,
        held: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> None:
        """Units for distinct racks, level by level, then the others."""
        left = class_.replicas - room.pinned.sum(axis=1)
        above = self._new_nodes(np.ones((len(rows), 1), dtype=np.bool_))
        up = np.zeros(len(class_.up[0]), dtype=np.int64)
        placed = np.zeros_like(left)
        for level, fresh, wanted in fresh_racks(class_, room.pinned):
            more = np.maximum(wanted - placed, 0)
            self._supply_any_node(above, more)
            placed = placed + more
            nodes = class_.up[level]
            first_leaf = np.flatnonzero(np.diff(nodes, prepend=-1))
            here = self._new_nodes(class_.at(level, room.free) > 0)
            self._link(above[:, up[first_leaf]], here, fresh.astype(np.int64))
            above, up = here, nodes
        self._supply_any_node(above, left - placed)
        at, brokers = held
        tails = above[at, up[self.instance.leaf[brokers]]]
        self._add_broker_arcs(tails, rows[at], brokers, is_new=False)
        self._add_new_broker_arcs(rows, above[:, up], held)

    def _supply_any_node(self, nodes: NDArray[np.int64], units: NDArray[np.int64]) -> None:
        """Units of each row that may enter any of its nodes."""
        entry = self._new_nodes(units > 0)
        self._supply_nodes(entry[units > 0], units[units > 0])
        self._link(entry[:, None], nodes, units[:, None])

    def _add_pins(self) -> None:
        pins = self.instance.pins
        entries = self._entry_nodes(pins.rows, pins.values.astype(np.int64))
        self._supply_nodes(entries, np.ones_like(entries))

    def _add_arcs_from_hubs(self) -> None:
        """Arcs from hubs to the brokers that take replicas, and from capped topics to brokers."""
        instance = self.instance
        takers = np.flatnonzero(instance.is_open)
        aggregates = np.arange(self.aggregates)[:, None]
        hubs = aggregates * instance.leaves + instance.leaf[takers]
        heads = aggregates * self.width + takers
        most = np.full(heads.shape, int(instance.replicas.sum()), dtype=np.int64)
        for topic, caps in self.targets.caps.items():
            aggregate = int(self.capped[topic])
            most[aggregate] = caps[takers]
            all_brokers = np.arange(self.width)
            self.arcs.append(Piece(aggregate * self.width + all_brokers, all_brokers, caps))
        self.arcs.append(
            Piece(
                (self.hub_base + hubs).ravel(),
                heads.ravel(),
                most.ravel(),
                broker=np.broadcast_to(takers, heads.shape).ravel(),
                hub=hubs.ravel(),
            )
        )

    def _add_exits(self) -> None:
        all_brokers = np.arange(self.width)
        ranges = self.targets.ranges
        if ranges is None:
            most = np.full(self.width, int(self.instance.replicas.sum()), dtype=np.int64)
            heads = np.full(self.width, self.group_base, dtype=np.int64)
            self.arcs.append(Piece(all_brokers, heads, most, broker=all_brokers))
            return
        self.arcs.append(
            Piece(
                all_brokers,
                self.group_base + ranges.group,
                ranges.high - ranges.low,
                broker=all_brokers,
            )
        )

    def _add_demands(self, supplies: NDArray[np.int64]) -> None:
        ranges = self.targets.ranges
        if ranges is None:
            supplies[self.group_base] -= int(self.instance.replicas.sum())
            return
        supplies[: self.width] -= ranges.low
        lows = np.bincount(ranges.group, weights=ranges.low, minlength=len(ranges.totals))
        wanted = np.array(ranges.totals, dtype=np.int64) - lows.astype(np.int64)
        supplies[self.group_base : self.group_base + len(ranges.totals)] -= wanted
