"""The hubs of racks: how a new replica reaches a broker that its row does not know.

A row knows the brokers that it holds or is pinned to. A hub leads to all brokers of a rack that
take replicas, a partial hub to all of them but a few. Rows that know the same brokers of the rack
share a partial hub; its ways lead to subtrees of a tree that all partial hubs of the rack share
(`trees`).

Limits: this module does not decide which rows use a hub (`cells` and `build` do).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.search.network.columns import NONE, Piece
from rackwise.core.planning.search.network.parts import NetworkParts
from rackwise.core.planning.search.network.trees import (
    subtrees_without,
    tree_height,
    width_at,
)
from rackwise.core.view import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RackHubs(NetworkParts):
    """Adds hubs, partial hubs and their trees."""

    def find_partial_hubs(
        self,
        rows: NDArray[np.int64],
        held: tuple[NDArray[np.int64], NDArray[np.int64]],
        wanted: NDArray[np.bool_],
        hubs: NDArray[np.int64],
        free: NDArray[np.int64],
    ) -> None:
        """Write the hubs of wanted cells, without the brokers that the row knows, into `hubs`.

        `free`: the brokers of each cell; those that the row knows are subtracted. Both [rows,
        leaves].
        """
        known = self.known(rows, held)
        for leaf in np.flatnonzero(wanted.any(axis=0)).tolist():
            at_row = np.flatnonzero(wanted[:, leaf])
            left_out = self.left_out(at_row, known, leaf)
            number = (left_out >= 0).sum(axis=1)
            free[at_row, leaf] -= number
            some = free[at_row, leaf] > 0
            at_row, left_out, number = at_row[some], left_out[some], number[some]
            self.most_left_out = max(self.most_left_out, int(number.max(initial=0)))
            found = self.hub_nodes(rows[at_row], np.full(len(at_row), leaf))
            is_partial = number > 0
            found[is_partial] = self.partial_hubs(
                rows[at_row[is_partial]], left_out[is_partial], leaf
            )
            hubs[at_row, leaf] = found

    def left_out(
        self,
        at_row: NDArray[np.int64],
        known: tuple[NDArray[np.int64], NDArray[np.int64]],
        leaf: int,
    ) -> NDArray[np.int64]:
        """Places of the open brokers of the rack that rows know, rising, int64 [rows, any]."""
        at, brokers = known
        here = np.flatnonzero((self.instance.leaf[brokers] == leaf) & (self.place[brokers] >= 0))
        index = np.searchsorted(at_row, at[here])
        is_wanted = np.append(at_row, NONE)[index] == at[here]
        index, place = index[is_wanted], self.place[brokers[here[is_wanted]]]
        starts = np.searchsorted(index, index)
        turn = np.arange(len(index)) - starts
        found = np.full((len(at_row), int(turn.max(initial=-1)) + 1), NONE, dtype=np.int64)
        found[index, turn] = place
        return found

    def partial_hubs(
        self, rows: NDArray[np.int64], left_out: NDArray[np.int64], leaf: int
    ) -> NDArray[np.int64]:
        """The hub of each row without the brokers at the places `left_out`, int64 [rows]."""
        if not len(rows):
            return rows
        aggregate = self.capped[self.instance.topic[rows]]
        code, examples = distinct([aggregate, *left_out.T])
        hubs = self.new_nodes(np.ones(len(examples), dtype=np.bool_))
        self.shared += len(hubs)
        subtrees = subtrees_without(left_out[examples], len(self.takers[leaf]))
        owner = aggregate[examples][subtrees.sets]
        self.add_trees(np.unique(owner), leaf)
        heads = self.tree_nodes(owner, leaf, subtrees.heights, subtrees.places)
        is_leaf = subtrees.heights == 0
        brokers = np.where(is_leaf, self.takers[leaf][np.where(is_leaf, subtrees.places, 0)], NONE)
        tails = hubs[subtrees.sets]
        self.add_ways(tails, heads, np.full(len(tails), self.all_units()), brokers)
        return hubs[code]

    def add_ways(
        self,
        tails: NDArray[np.int64],
        heads: NDArray[np.int64],
        capacities: NDArray[np.int64],
        brokers: NDArray[np.int64],
    ) -> None:
        """Arcs inside of hubs; `brokers`: the broker at the end, or -1."""
        self.arcs.add(Piece(tails, heads, capacities, broker=brokers, is_hub=True))

    def add_trees(self, aggregates: NDArray[np.int64], leaf: int) -> None:
        """Nodes for the trees of a finest rack that do not exist yet."""
        missing = aggregates[self.trees[aggregates, leaf] < 0]
        count = len(self.takers[leaf])
        size = sum(width_at(count, level) for level in range(1, tree_height(count)))
        self.trees[missing, leaf] = self.nodes + size * np.arange(len(missing))
        self.nodes += size * len(missing)
        self.shared += size * len(missing)

    def tree_nodes(
        self,
        aggregates: NDArray[np.int64],
        leaf: int,
        heights: NDArray[np.int64],
        places: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Nodes of trees: the root is the hub of the rack, a leaf the entry of a broker."""
        takers = self.takers[leaf]
        count, root = len(takers), tree_height(len(takers))
        first = np.cumsum([0, *(width_at(count, level) for level in range(1, root))])
        inner = np.clip(heights - 1, 0, root - 1)
        found = self.trees[aggregates, leaf] + first[inner] + places
        is_leaf = heights == 0
        entries = aggregates * self.width + takers[np.where(is_leaf, places, 0)]
        found = np.where(is_leaf, entries, found)
        hubs = self.hub_base + aggregates * self.instance.leaves + leaf
        return np.where(heights == root, hubs, found)

    def add_arcs_from_hubs(self) -> None:
        """Arcs from hubs to the brokers that take replicas, and from capped topics to brokers."""
        instance = self.instance
        takers = np.flatnonzero(instance.is_open)
        aggregates = np.arange(self.aggregates)[:, None]
        hubs = self.hub_base + aggregates * instance.leaves + instance.leaf[takers]
        heads = aggregates * self.width + takers
        most = np.full(heads.shape, self.all_units(), dtype=np.int64)
        for topic, caps in self.targets.caps.items():
            aggregate = int(self.capped[topic])
            most[aggregate] = caps[takers]
            all_brokers = np.arange(self.width)
            self.arcs.add(Piece(aggregate * self.width + all_brokers, all_brokers, caps))
        has_tree = self.trees[:, instance.leaf[takers]] >= 0
        brokers = np.broadcast_to(takers, heads.shape)
        if has_tree.any():
            tails = self.add_tree_arcs()
            hubs[has_tree] = tails[np.nonzero(has_tree)[0], takers[np.nonzero(has_tree)[1]]]
        self.add_ways(hubs.ravel(), heads.ravel(), most.ravel(), brokers.ravel())

    def add_tree_arcs(self) -> NDArray[np.int64]:
        """Arcs inside of trees; the node above each broker, int64 [aggregates, B]."""
        above = np.full((self.aggregates, self.width), NONE, dtype=np.int64)
        for leaf, takers in enumerate(self.takers):
            aggregates = np.flatnonzero(self.trees[:, leaf] >= 0)[:, None]
            for level in range(tree_height(len(takers))):
                places = np.arange(width_at(len(takers), level))
                tails = self.tree_nodes(aggregates, leaf, np.full(1, level + 1), places >> 1)
                if not level:
                    above[aggregates, takers] = tails
                    continue
                heads = self.tree_nodes(aggregates, leaf, np.full(1, level), places)
                most = np.full(heads.size, self.all_units())
                self.add_ways(tails.ravel(), heads.ravel(), most, np.full(heads.size, NONE))
        return above
