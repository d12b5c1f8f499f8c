r"""The network of all legal sets of all rows; a unit of flow is a replica.

Goals, in order: every choice of legal sets within the targets is a flow; a flow that is none can be
told; arcs grow with the rows, not with rows times brokers; no loop runs over rows.

```
row 4, 3 replicas, /a 0..1  /b 1..1  /c 1..2; holds 1 in /a and 5 in /b

row 4 (1) --- /a (0) --- broker 1            cost 0
      |            \---- hub of /a           cost w, all brokers of /a that take replicas
      |       /b (1) --- broker 5, hub of /b
      \------ /c (1) --- hub of /c           cost w: two may come here
```

The units that a rack must have are supplied at the rack, the others at the row. A rack in which the
row holds nothing, and to which at most one unit of it comes, is no node: its unit goes straight to
the hub. A hub is exact if at most one unit of a row comes to a rack. Topics with caps have hubs of
their own, and a node for each broker before the broker.

Where more units may come, or a broker of the rack is pinned, a new replica must not go to a broker
that the row holds or is pinned to. All rows that hold the same brokers of the rack share a partial
hub, which leads to all the others through a tree (`trees`):

```
row 4 holds 7 --\
row 6 holds 7 ---- hub of /c without 7 ---- [8 9]  ---- broker 8, broker 9
row 9, none ------ hub of /c -------------- [7], [8 9]
```

Two units of one row can still leave a hub to the same broker. So the network has the flows of all
legal sets, and more. Its cheapest flow costs no more than the cheapest sets. If the units can be
given to brokers such that no row has one twice (`hub_units`), it is the answer. A second unit of a
row to one hub has an arc of its own, which a last cost makes rare. If no such way is found, the
network `is_explicit`: an arc leads to each broker.

A broker requires `low` units. The node of its group takes the rest: `high` less `low` from each
broker, and the group's total from all. Without targets one sink takes everything.

`at_least`: units that must reach distinct racks come through arcs of capacity one; the others are
free (`rack_bounds.fresh_racks`).

Limits: this module neither prices the arcs (`by_flow`) nor solves the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import NotEnoughMemory
from rackwise.core.planning.problem.partition_class import parts
from rackwise.core.planning.problem.rack_bounds import (
    RackCapacity,
    fresh_racks,
    rack_bounds,
    rack_capacity,
)
from rackwise.core.planning.search.network.columns import NONE, Piece, join_pieces
from rackwise.core.planning.search.network.drops import DropNodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rackwise.core.planning.fair_loads.targets import Targets
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.partition_class import PartitionClass
    from rackwise.core.planning.search.network.columns import SetNetwork


ARC_BYTES = 180
"""Peak memory of a search by the arc: 1,600,000 partitions on 303 brokers took 178 of the address
space. 60,000 on 205 took 201 with the solver's library, which is a small part at a large size."""
ARC_BYTES_FREE = 510
"""The same if loads are free, so that brokers have an arc for each replica: 308 to 501."""
UNIT_BYTES = 170
"""The same by the unit of a choice that partitions share, beside `ARC_BYTES_FREE` for each arc.

Plans of 210,000 and 1,600,000 partitions took 112 and 170."""
PART_CELLS = 1 << 20
"""Rows times racks, or brokers, of one part: a second's work at most."""


def network_of(
    instance: Instance,
    targets: Targets,
    *,
    should_stop: Callable[[], bool],
    most_memory: int | None = None,
    is_explicit: bool = False,
) -> SetNetwork | None:
    """The network of all rows; every row has a legal set.

    None if `should_stop` turns true meanwhile. `is_explicit`: an arc leads to each broker of a rack
    where a hub is not exact. Raises `NotEnoughMemory` if the search is estimated to take more than
    `most_memory` bytes; if it is explicit, before anything is built.
    """
    builder = _Builder(instance, targets, is_explicit=is_explicit)
    most = np.inf if most_memory is None else most_memory
    if is_explicit:
        check_memory(builder.count_explicit_arcs(), targets, most)
    network = builder.build(should_stop)
    if network is not None:
        check_memory(len(network.tails), targets, most, builder.choice_units)
    return network


def check_memory(arcs: int, targets: Targets, most: float, choice_units: int = 0) -> None:
    """Raises `NotEnoughMemory` if a search over so many arcs takes more than `most` bytes.

    `choice_units`: units on arcs that many partitions share.
    """
    needed = arcs * (ARC_BYTES if targets.ranges is not None else ARC_BYTES_FREE)
    needed += choice_units * UNIT_BYTES
    if needed <= most:
        return
    wanted, had = f"{-(-needed // 10**6):,} MB", f"{int(most) // 10**6:,} MB"
    raise NotEnoughMemory(
        f"not enough memory: expected about {wanted} for a search over {arcs:,} arcs, got {had}",
        wanted=wanted,
        had=had,
        hint="use a machine with more memory, or fewer topics with --topics",
    )


class _Builder(DropNodes):
    """Builds the arcs of a `SetNetwork` from blocks of rows."""

    def count_explicit_arcs(self) -> int:
        """About how many arcs lead to brokers, from the numbers of rows alone."""
        takers = np.array([len(takers) for takers in self.takers], dtype=np.int64)
        found = 0
        for class_, rows, _ in self._blocks():
            # Two units may come to a rack, or, with distinct racks, any number to any rack.
            is_wide = (class_.high[-1] > 1) | (not class_.has_boxes)
            found += len(rows) * int(takers[is_wide].sum())
        return found

    def build(self, should_stop: Callable[[], bool]) -> SetNetwork | None:
        """Add all arcs and supplies; None if `should_stop` turns true meanwhile."""
        width = self.width if self.is_explicit else self.instance.leaves
        for class_, rows, is_plain in self._blocks():
            for part in parts(rows, width, PART_CELLS):
                if should_stop():
                    return None
                self._add_rows(class_, part, is_plain=is_plain)
        self._add_pins()
        self.add_arcs_from_hubs()
        exits = len(self.arcs)
        self._add_exits()
        supplies = np.zeros(self.nodes, dtype=np.int64)
        for nodes, units in self.supply:
            np.add.at(supplies, nodes, units)
        self._add_demands(supplies)
        return join_pieces(
            self.arcs,
            supplies,
            shared=self.shared,
            rows=self.first_row,
            exits=exits,
            waiting=self.waiting,
            most_left_out=self.most_left_out,
            members=self.members,
            kept=self.kept,
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

    def _add_rows(self, class_: PartitionClass, rows: NDArray[np.int64], *, is_plain: bool) -> None:
        room = rack_capacity(self.instance, rows[:1] if is_plain else rows)
        room = RackCapacity(
            np.broadcast_to(room.pinned, (len(rows), self.instance.leaves)),
            np.broadcast_to(room.free, (len(rows), self.instance.leaves)),
        )
        held = self._free_replicas(rows)
        if self.shares_drops and is_plain and class_.has_boxes and len(class_.up) == 1:
            is_left = ~self.add_drops(rows, rack_bounds(class_, room), held)
            rows, room = rows[is_left], RackCapacity(room.pinned[is_left], room.free[is_left])
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
        is_free = ~self.instance.pins.take(rows).has(at, brokers)
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
        if not finest:
            more = np.minimum(shape.high[0] - shape.low[0], spare)
            cells = self.cells(rows, room, held, shape.low[0], more)
            is_shared = self.share_nodes(rows, cells, spare[:, 0])
            above = self.new_nodes((spare > 0) & ~is_shared[:, None])
            self.supply_nodes(above[above >= 0], spare[above >= 0])
            self.add_rack_nodes(rows, cells, held, np.repeat(above, self.instance.leaves, axis=1))
            return
        above = self.new_nodes(spare > 0)
        self.supply_nodes(above[above >= 0], spare[above >= 0])
        parents = np.zeros(shape.low[0].shape[1], dtype=np.int64)
        for level in range(finest):
            low, high = shape.low[level], shape.high[level]
            more = np.minimum(high - low, spare[:, parents])
            starts = np.flatnonzero(np.diff(class_.up[level], prepend=-1))
            below = class_.up[level + 1][starts]
            required = low - np.add.reduceat(shape.low[level + 1], below, axis=1)
            here = self.new_nodes(required + more > 0)
            self.link(above[:, parents], here, more)
            self.supply_nodes(here[here >= 0], required[here >= 0])
            above, spare = here, required + more
            first_leaf = np.flatnonzero(np.diff(class_.up[level + 1], prepend=-1))
            parents = class_.up[level][first_leaf]
        low = shape.low[finest]
        more = np.minimum(shape.high[finest] - low, spare[:, parents])
        cells = self.cells(rows, room, held, low, more)
        self.add_rack_nodes(rows, cells, held, above[:, parents])

    def _add_distinct_racks(
        self,
        class_: PartitionClass,
        rows: NDArray[np.int64],
        room: RackCapacity,
        held: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> None:
        """Units for distinct racks, level by level, then the others."""
        left = class_.replicas - room.pinned.sum(axis=1)
        above = self.new_nodes(np.ones((len(rows), 1), dtype=np.bool_))
        up = np.zeros(len(class_.up[0]), dtype=np.int64)
        placed = np.zeros_like(left)
        for level, fresh, wanted in fresh_racks(class_, room.pinned):
            more = np.maximum(wanted - placed, 0)
            self._supply_any_node(above, more)
            placed = placed + more
            nodes = class_.up[level]
            first_leaf = np.flatnonzero(np.diff(nodes, prepend=-1))
            here = self.new_nodes(class_.at(level, room.free) > 0)
            self.link(above[:, up[first_leaf]], here, fresh.astype(np.int64))
            above, up = here, nodes
        self._supply_any_node(above, left - placed)
        at, brokers = held
        tails = above[at, up[self.instance.leaf[brokers]]]
        self.add_broker_arcs(tails, rows[at], brokers, is_new=False)
        nodes = above[:, up]
        if self.is_explicit:
            self.add_explicit_arcs(rows, nodes, self.known(rows, held))
            return
        hubs = np.full(nodes.shape, NONE, dtype=np.int64)
        count = np.array([len(takers) for takers in self.takers])
        free = np.repeat(count[None, :], len(rows), axis=0)
        self.find_partial_hubs(rows, held, nodes >= 0, hubs, free)
        at_row, at_leaf = np.nonzero(hubs >= 0)
        most = np.minimum(left[:, None], free)[at_row, at_leaf]
        self.add_arcs_to_hubs(
            nodes[at_row, at_leaf], rows[at_row], at_leaf, hubs[at_row, at_leaf], most
        )

    def _supply_any_node(self, nodes: NDArray[np.int64], units: NDArray[np.int64]) -> None:
        """Units of each row that may enter any of its nodes."""
        entry = self.new_nodes(units > 0)
        self.supply_nodes(entry[units > 0], units[units > 0])
        self.link(entry[:, None], nodes, units[:, None])

    def _add_pins(self) -> None:
        pins = self.instance.pins
        entries = self.entry_nodes(pins.rows, pins.values.astype(np.int64))
        self.supply_nodes(entries, np.ones_like(entries))

    def _add_exits(self) -> None:
        all_brokers = np.arange(self.width)
        ranges = self.targets.ranges
        if ranges is None:
            most = np.full(self.width, int(self.instance.replicas.sum()), dtype=np.int64)
            heads = np.full(self.width, self.group_base, dtype=np.int64)
            self.arcs.add(Piece(all_brokers, heads, most, broker=all_brokers))
            return
        self.arcs.add(
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
