"""The numbers of nodes, the supplies and the arcs from which a network of replicas is built.

```
aggregate 0   broker 0..B-1     all topics without caps
aggregate 1   broker 0..B-1     the first capped topic
hubs          aggregate 0: one per finest rack, aggregate 1: one per finest rack
groups        one for each group of brokers, or one sink
rows          nodes of rows; partial hubs and nodes of trees between them
```

Limits: this module does not decide which racks and brokers a row reaches (`network` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.search.network.columns import NONE, ArcColumns, Piece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.fair_loads.targets import Targets
    from rackwise.core.planning.problem.instance import Instance


class NetworkParts:
    """Collects arcs and supplies.

    Node numbers, in this order: for each aggregate (0 is all topics without caps, then one for each
    capped topic) a node per broker; for each aggregate a hub per finest rack; the groups of
    brokers, or one sink; then the nodes of rows, among them partial hubs and nodes of trees.
    """

    def __init__(self, instance: Instance, targets: Targets, *, is_explicit: bool) -> None:
        self.instance = instance
        self.targets = targets
        self.is_explicit = is_explicit
        self.width = len(instance.brokers)
        # Aggregate of each topic of the table, int64 [topics].
        self.capped = np.full(len(instance.is_capped), 0, dtype=np.int64)
        self.capped[list(targets.caps)] = np.arange(1, len(targets.caps) + 1)
        self.aggregates = len(targets.caps) + 1
        self.hub_base = self.aggregates * self.width
        groups = 1 if targets.ranges is None else len(targets.ranges.totals)
        self.group_base = self.hub_base + self.aggregates * instance.leaves
        self.nodes = self.group_base + groups
        self.first_row = self.shared = self.nodes
        # Parts of the arcs; (nodes, units) that are supplied; (row, leaf, hub) of units in hubs.
        self.arcs = ArcColumns(brokers=self.width, leaves=instance.leaves, units=self.all_units())
        self.supply: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self.waiting: list[NDArray[np.int64]] = []
        # Open brokers of each finest rack, and the place of each broker among them, int64 [B].
        self.takers = [
            np.flatnonzero((instance.leaf == leaf) & instance.is_open)
            for leaf in range(instance.leaves)
        ]
        self.place = np.full(self.width, NONE, dtype=np.int64)
        for takers in self.takers:
            self.place[takers] = np.arange(len(takers))
        # First node of each tree, [aggregates, leaves], -1 = none.
        self.trees = np.full((self.aggregates, instance.leaves), NONE, dtype=np.int64)
        self.most_left_out = 0
        # Sizes and rows of groups, and their number; (row, broker) of replicas that always stay.
        self.members: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
        self.groups = 0
        self.kept: list[NDArray[np.int64]] = []

    def new_nodes(self, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Numbers of new nodes where they are needed, -1 elsewhere."""
        found = np.full(wanted.shape, NONE, dtype=np.int64)
        count = int(wanted.sum())
        found[wanted] = self.nodes + np.arange(count)
        self.nodes += count
        return found

    def new_groups(
        self, rows: NDArray[np.int64], code: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Numbers of new groups of rows; `code`: the group of each row among them."""
        # Columns, as there may be as many groups as rows.
        self.members.append((sizes, rows[np.argsort(code, kind="stable")].astype(np.int32)))
        found = self.groups + np.arange(len(sizes))
        self.groups += len(sizes)
        return found

    def supply_nodes(self, nodes: NDArray[np.int64], units: NDArray[np.int64]) -> None:
        """Supply units at nodes where there are some."""
        some = units > 0
        self.supply.append((nodes[some], units[some]))

    def link(
        self, tails: NDArray[np.int64], heads: NDArray[np.int64], capacities: NDArray[np.int64]
    ) -> None:
        """Arcs between nodes where both nodes exist and the capacity is above 0."""
        tails, heads, capacities = np.broadcast_arrays(tails, heads, capacities)
        some = (tails >= 0) & (heads >= 0) & (capacities > 0)
        self.arcs.add(Piece(tails[some], heads[some], capacities[some]))

    def entry_nodes(self, rows: NDArray[np.int64], brokers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The node through which replicas of rows reach brokers."""
        aggregate: NDArray[np.int64] = self.capped[self.instance.topic[rows]]
        return aggregate * self.width + brokers

    def hub_nodes(self, rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The hub of the aligned finest rack for each row."""
        aggregate: NDArray[np.int64] = self.capped[self.instance.topic[rows]]
        return self.hub_base + aggregate * self.instance.leaves + leaves

    def all_units(self) -> int:
        """The replicas of all rows: no arc carries more."""
        return int(self.instance.replicas.sum())

    def add_broker_arcs(
        self,
        tails: NDArray[np.int64],
        rows: NDArray[np.int64],
        brokers: NDArray[np.int64],
        *,
        is_new: bool,
    ) -> None:
        """Arcs of one unit from nodes of rows to brokers."""
        self.arcs.add(
            Piece(
                tails,
                self.entry_nodes(rows, brokers),
                np.ones_like(tails),
                row=rows,
                broker=brokers,
                leaf=self.instance.leaf[brokers],
                is_new=is_new,
            )
        )

    def add_arcs_to_hubs(
        self,
        tails: NDArray[np.int64],
        rows: NDArray[np.int64],
        leaves: NDArray[np.int64],
        hubs: NDArray[np.int64],
        room: NDArray[np.int64],
        *,
        begun: NDArray[np.bool_] | bool = False,
        sizes: NDArray[np.int64] | int = 1,
        groups: NDArray[np.int64] | int = NONE,
    ) -> None:
        """Arcs to hubs (-1 = none); a second unit of a row to its hub has an arc of its own.

        `begun`: whether another unit of the row is in the hub anyway; `sizes`: rows of each tail.
        """
        begun, sizes, groups = (np.broadcast_to(one, len(tails)) for one in (begun, sizes, groups))
        first = np.where(begun, 0, np.minimum(room, 1))
        for most, is_second in ((first, False), (room - first, True)):
            some = np.flatnonzero((most > 0) & (hubs >= 0))
            self.arcs.add(
                Piece(
                    tails[some],
                    hubs[some],
                    (most * sizes)[some],
                    row=rows[some],
                    leaf=leaves[some],
                    is_hub=True,
                    is_new=True,
                    is_second=is_second,
                    group=groups[some],
                )
            )

    def known(
        self, rows: NDArray[np.int64], held: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(position in rows, broker) of the brokers that rows hold or are pinned to, rising."""
        pins = self.instance.pins.take(rows)
        at = np.concatenate([held[0], pins.rows])
        brokers = np.concatenate([held[1], pins.values.astype(np.int64)])
        order = np.lexsort((brokers, at))
        return at[order], brokers[order]

    def add_explicit_arcs(
        self,
        rows: NDArray[np.int64],
        nodes: NDArray[np.int64],
        known: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> None:
        """Arcs from nodes of racks (-1 = none) to each broker that is new to the row."""
        keys = known[0] * self.width + known[1]
        for leaf in np.flatnonzero((nodes >= 0).any(axis=0)).tolist():
            takers = self.takers[leaf]
            at_row = np.flatnonzero(nodes[:, leaf] >= 0)
            wide, targets = np.repeat(at_row, len(takers)), np.tile(takers, len(at_row))
            is_new = ~np.isin(wide * self.width + targets, keys)
            wide, targets = wide[is_new], targets[is_new]
            self.add_broker_arcs(nodes[wide, leaf], rows[wide], targets, is_new=True)
