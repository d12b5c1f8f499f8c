"""The exchange graph of a plan: the cost of moving one replica to another broker.

Goals, in order: exact; a few passes over the replicas, however many brokers could take each.

A node is a broker, or a topic on a broker if the topic is capped. An arc leads from b to b' if the
set of some partition stays legal when b' replaces b. Its length is the least change of the cost.
The graph of a cheapest plan has no cycle of negative length.

```
t-0 on {1 4}, held {1 4}; t-1 on {2 4}, held {1 4}        racks /a: 1 2 3   /b: 4
1 -> 2, 1 -> 3     t-0 copies to 2 or 3              +1
2 -> 1             t-1 goes back to its old broker   -1
2 -> 3             t-1 copies to 3 instead            0
```

Most arcs of a broker are alike: every broker of a finest rack that does not hold the partition
costs the same. So arcs end at a hub for each rack, and reach all its open brokers from there:

```
broker -> hub of /a -> 1 2 3        least of its partitions that may give to /a
broker -> 7                         direct arcs: back to a broker that holds the partition; and to
                                    each broker alone, if the cheapest partition is in the rack
```

Limits: this module knows no loads and chooses no paths.

Source: Murota, "Discrete Convex Analysis" (2003), chapter 9: legal sets are bases of a matroid, and
sets with costs can be improved exactly where this graph has a negative cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.problem.cheapest_sets import NEVER
from rackwise.core.planning.problem.partition_class import parts
from rackwise.core.view import blocks, distinct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.partition_class import PartitionClass


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PricedSets:
    """The legal set of every row, and the cost of each replica in it.

    A held replica costs nothing and a new one costs a copy, unless the instance prices both.
    """

    instance: Instance
    sets: Ragged
    """Broker indexes, rising in each row."""
    own: NDArray[np.int64]
    """Cost of each replica, int64, aligned with the values of `sets`."""
    row_class: NDArray[np.int64]
    """Class of each row, int64 [P]; rows of one class share nodes."""

    @classmethod
    def of(
        cls,
        instance: Instance,
        sets: Ragged,
        *,
        row_class: NDArray[np.int64] | None = None,
    ) -> PricedSets:
        """If `row_class` is None, all rows share one class."""
        classes = np.zeros(len(instance), dtype=np.int64) if row_class is None else row_class
        rows, brokers = sets.rows, sets.values.astype(np.int64)
        is_new = ~instance.held.has(rows, brokers)
        leaf = instance.leaf[brokers]
        own = instance.held_cost_at(rows, leaf)
        own[is_new] = instance.cost_at(rows[is_new], leaf[is_new])
        return cls(instance=instance, sets=sets, own=own, row_class=classes)

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Node of each replica: its class times B, plus its broker."""
        return self.row_class[self.sets.rows] * len(self.instance.brokers) + self.sets.values


class Exchanges(NamedTuple):
    """The change of cost if replicas of some rows, [rows, replicas], go to a broker or a rack."""

    rows: NDArray[np.int64]
    """Rows of the partition table, int64 [rows]."""
    at: NDArray[np.int64]
    """Index of each replica into the values of the placement's sets, int64 [rows, replicas]."""
    change: NDArray[np.int64]
    """Change of cost, int64 [rows, replicas]; `NEVER` if the exchange is not legal."""
    leaf: int
    """The finest rack of the target."""
    target: NDArray[np.int64] | None
    """A broker for each row; None for any broker of `leaf` that does not hold the row."""


def exchanges_of(placement: PricedSets) -> Iterator[Exchanges]:
    """All possible exchanges of one replica."""
    instance = placement.instance
    hubs = np.unique(instance.leaf[instance.is_open]).tolist()
    for part in _class_rows(placement):
        for leaf in hubs:
            legal = part.legal(np.full(len(part.rows), leaf))
            if legal.any():
                price = instance.cost_at(part.rows, np.full(len(part.rows), leaf))
                change = np.where(legal, price[:, None] - placement.own[part.at], NEVER)
                yield Exchanges(part.rows, part.at, change, leaf, None)
        yield from _exchanges_back(placement, part)


class _ClassRows(NamedTuple):
    """Rows of one partition class, as dense arrays."""

    class_: PartitionClass
    rows: NDArray[np.int64]
    """Rows of the partition table, int64 [rows]."""
    at: NDArray[np.int64]
    """Index of each replica into the values of the placement's sets, int64 [rows, replicas]."""
    counts: tuple[NDArray[np.int64], ...]
    """Replicas of each row below each node, int64 [rows, nodes], by level."""
    leaf: NDArray[np.int64]
    """Finest rack of each replica, int64 [rows, replicas]."""
    pinned: NDArray[np.bool_]
    """Whether each replica is pinned, bool [rows, replicas]."""

    def legal(self, target: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each replica may go to the target of its row: bool [rows, replicas].

        `target`: a finest rack for each row, int64 [rows].
        """
        class_ = self.class_
        legal = ~self.pinned
        at = np.arange(len(self.rows))
        for level, wanted in enumerate(class_.at_least):
            counts, to, here = (
                self.counts[level],
                class_.up[level][target],
                class_.up[level][self.leaf],
            )
            # `there`: replicas of the row in the node that each replica would leave.
            there = np.take_along_axis(counts, here, axis=1)
            stays = here == to[:, None]
            gives = there > class_.low[level][here]
            takes = counts[at, to] < class_.high[level][to]
            legal &= stays | (gives & takes[:, None])
            if wanted:
                # Racks in use after the exchange: the target may be new, the origin may get empty.
                racks = (counts > 0).sum(axis=1) + (counts[at, to] == 0)
                legal &= stays | (racks[:, None] - (there == 1) >= wanted)
        return legal


def _class_rows(placement: PricedSets) -> Iterator[_ClassRows]:
    instance, sets = placement.instance, placement.sets
    active = np.flatnonzero(~instance.is_frozen)
    if not len(active):
        return
    is_pinned = np.zeros(len(sets.values), dtype=np.bool_)
    if len(instance.pins.values):
        is_pinned = sets.values_in(instance.pins)
    codes, examples = distinct([instance.class_of[active]])
    for code, example in enumerate(active[examples].tolist()):
        class_ = instance.classes[int(instance.class_of[example])]
        for some in parts(active[codes == code], instance.leaves + class_.replicas):
            for rows, (index,) in blocks(sets, rows=some):
                counts = instance.leaf_counts(sets.take(rows))
                yield _ClassRows(
                    class_=class_,
                    rows=rows,
                    at=index,
                    counts=tuple(class_.at(level, counts) for level in range(len(class_.up))),
                    leaf=instance.leaf[sets.values[index]],
                    pinned=is_pinned[index],
                )


def _exchanges_back(placement: PricedSets, part: _ClassRows) -> Iterator[Exchanges]:
    """Exchanges back to a broker that holds the row and is not in its set."""
    instance, sets = placement.instance, placement.sets
    # Row i of `own` and `left` is part.rows[i]; one column of `left` is handled at a time.
    own = instance.held.take(part.rows)
    rows = part.rows[own.rows]
    brokers = own.values.astype(np.int64)
    is_left = ~sets.has(rows, brokers)
    left = own.keep(is_left)
    for column in range(int(left.lengths.max(initial=0))):
        at = np.flatnonzero(left.lengths > column)
        place = left.offsets[at] + column
        target = left.values[place].astype(np.int64)
        some = part._replace(
            rows=part.rows[at],
            at=part.at[at],
            counts=tuple(counts[at] for counts in part.counts),
            leaf=part.leaf[at],
            pinned=part.pinned[at],
        )
        legal = some.legal(instance.leaf[target])
        price = instance.held_cost_at(some.rows, instance.leaf[target])
        change = np.where(legal, price[:, None] - placement.own[some.at], NEVER)
        yield Exchanges(some.rows, some.at, change, -1, target)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExchangeGraph:
    """Arcs between `classes` times B nodes; S nodes hold a replica, and only these have arcs."""

    brokers: int
    """Number of usable brokers, B."""
    classes: int
    """Number of classes of nodes: one for topics without caps, and one for each capped topic."""
    leaf: NDArray[np.int64]
    """Finest rack of each broker, int64 [B]."""
    is_open: NDArray[np.bool_]
    """Whether each broker takes new replicas, bool [B]."""
    sources: NDArray[np.int64]
    """Nodes that hold a replica, ascending, int64 [S]."""
    hubs: NDArray[np.int64]
    """Length to every open broker of a finest rack, in the same class, int64 [S, L]."""
    tails: NDArray[np.int64]
    """Start of each direct arc, an index into `sources`, int64 [arcs]."""
    heads: NDArray[np.int64]
    """End node of each direct arc, int64 [arcs]."""
    lengths: NDArray[np.int64]
    """Length of each direct arc, int64 [arcs]."""

    @classmethod
    def of(cls, placement: PricedSets, classes: int = 1) -> ExchangeGraph:
        """The graph of a placement whose rows have so many classes."""
        instance = placement.instance
        width = len(instance.brokers)
        nodes = placement.nodes
        sources = np.unique(nodes)
        source = np.searchsorted(sources, nodes)
        hubs = np.full((len(sources), instance.leaves), NEVER, dtype=np.int64)
        # Replica that gives each hub its length, an index into the sets' values, -1 = none.
        best = np.full(hubs.shape, -1, dtype=np.int64)
        direct = []
        for exchange in exchanges_of(placement):
            tails = source[exchange.at]
            if exchange.target is None:
                np.minimum.at(hubs[:, exchange.leaf], tails, exchange.change)
                is_best = (exchange.change < NEVER) & (
                    exchange.change == hubs[tails, exchange.leaf]
                )
                best[tails[is_best], exchange.leaf] = exchange.at[is_best]
                continue
            heads = placement.row_class[exchange.rows] * width + exchange.target
            wide = np.broadcast_to(heads[:, None], tails.shape)
            legal = exchange.change < NEVER
            direct.append(np.stack([tails[legal], wide[legal], exchange.change[legal]]))
        crowded = _find_crowded_hubs(placement, sources, hubs, best)
        if crowded.any():
            direct.append(_arcs_of_crowded_hubs(placement, sources, hubs, best, crowded))
            hubs[crowded] = NEVER
        arcs = np.concatenate([np.zeros((3, 0), dtype=np.int64), *direct], axis=1)
        tails, heads, lengths = _shortest_arcs(arcs, classes * width)
        return cls(
            brokers=width,
            classes=classes,
            leaf=instance.leaf,
            is_open=instance.is_open,
            sources=sources,
            hubs=hubs,
            tails=tails,
            heads=heads,
            lengths=lengths,
        )

    def relax(self, distance: NDArray[np.int64]) -> NDArray[np.int64]:
        """The least of each node's distance and the paths over one arc, int64 [classes, B]."""
        found = distance.copy()
        flat = found.ravel()  # a view: node numbers index it, and writes reach `found`
        at = distance.ravel()[self.sources]
        starts = np.flatnonzero(np.diff(self.sources // self.brokers, prepend=-1))
        if len(starts):
            nearest = np.minimum.reduceat(at[:, None] + self.hubs, starts, axis=0)
            rows = (self.sources // self.brokers)[starts]
            reached = np.where(self.is_open, nearest[:, self.leaf], NEVER)
            found[rows] = np.minimum(found[rows], reached)
        np.minimum.at(flat, self.heads, at[self.tails] + self.lengths)
        return found


def _find_crowded_hubs(
    placement: PricedSets,
    sources: NDArray[np.int64],
    hubs: NDArray[np.int64],
    best: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Hubs whose cheapest partition is already on another broker of the rack."""
    instance, sets = placement.instance, placement.sets
    source, leaf = np.nonzero(best >= 0)
    rows = np.searchsorted(sets.offsets, best[source, leaf], side="right") - 1
    members = sets.take(rows)
    inside = instance.leaf[members.values] == leaf[members.rows]
    inside &= members.values != (sources % len(instance.brokers))[source[members.rows]]
    found = np.zeros(hubs.shape, dtype=np.bool_)
    hit = np.unique(members.rows[inside])
    found[source[hit], leaf[hit]] = True
    return found


def _arcs_of_crowded_hubs(
    placement: PricedSets,
    sources: NDArray[np.int64],
    hubs: NDArray[np.int64],
    best: NDArray[np.int64],
    crowded: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Direct arcs in place of crowded hubs: int64 [3, arcs], tails, heads, lengths."""
    instance, sets = placement.instance, placement.sets
    width = len(instance.brokers)
    tail, leaf = np.nonzero(crowded)
    pair, broker = np.nonzero((instance.leaf == leaf[:, None]) & instance.is_open)
    rows = np.searchsorted(sets.offsets, best[tail, leaf], side="right") - 1
    is_member = sets.has(rows[pair], broker)
    own_class = sources[tail[pair]] // width
    arcs = [
        np.stack([tail[pair], own_class * width + broker, hubs[tail, leaf][pair]])[:, ~is_member]
    ]
    is_wanted = is_member & (broker != sources[tail[pair]] % width)
    wanted = np.stack([tail[pair], broker])[:, is_wanted]
    source = np.searchsorted(sources, placement.nodes)
    arcs += [
        _arcs_without_member(
            placement, source, exchange, wanted[:, instance.leaf[wanted[1]] == exchange.leaf]
        )
        for exchange in exchanges_of(placement)
        if exchange.target is None
    ]
    return np.concatenate(arcs, axis=1)


def _arcs_without_member(
    placement: PricedSets, source: NDArray[np.int64], exchange: Exchanges, wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Arcs over partitions that lack the head, for each requested (tail, broker)."""
    width = len(placement.instance.brokers)
    tails = source[exchange.at]
    order = np.argsort(wanted[0], kind="stable")
    first = np.searchsorted(wanted[0], tails, side="left", sorter=order)
    last = np.searchsorted(wanted[0], tails, side="right", sorter=order)
    last[exchange.change >= NEVER] = 0
    found = []
    for offset in range(int((last - first).max(initial=0))):
        at, column = np.nonzero(first + offset < last)
        broker = wanted[1][order[first[at, column] + offset]]
        rows = exchange.rows[at]
        lacks = ~placement.sets.has(rows, broker)
        at, column, broker, rows = at[lacks], column[lacks], broker[lacks], rows[lacks]
        heads = placement.row_class[rows] * width + broker
        found.append(np.stack([tails[at, column], heads, exchange.change[at, column]]))
    return np.concatenate([np.zeros((3, 0), dtype=np.int64), *found], axis=1)


def _shortest_arcs(
    arcs: NDArray[np.int64], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The shortest of the arcs between the same nodes."""
    keys = arcs[0] * nodes + arcs[1]
    order = np.lexsort((arcs[2], keys))
    kept = order[np.flatnonzero(np.diff(keys[order], prepend=-1))]
    return arcs[0][kept], arcs[1][kept], arcs[2][kept]
