"""Replicas pushed from where there are too many to where there are too few.

What `exchange` works on: sets that change, loads, and prices of all nodes. Nodes are brokers,
topics on brokers where topics are capped, and pools of groups:

```
class 0         brokers 0 .. B-1; rows of topics without a cap
class t         topic t on brokers 0 .. B-1
after these     one pool for each group
```

A broker above its high has too many, below its low too few; a pool has what its brokers have above
their lows, and wants its group's total less all lows. A topic has too many above its cap. Arcs are
those of `prices`. An arc is tight if its length is the price of its head less that of its tail.

One round: levels of nodes by their fewest tight arcs from a node with too many; then unit by unit
paths up the levels to a node with too few, depth first, never trying twice what led nowhere. A row
changes on one path of a round at most, so that what was legal and tight when the round began still
is. If every path needs one row twice, the shortest is taken as it is: with the fewest arcs, both
changes of the row together are legal.

What this does not do: decide what is too many.

Source: Dinic (1970) for levels; Murota, "Valuated matroid intersection" (1996), for paths without
shortcuts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.errors import NoFlow
from rackwise.core.model import Ragged
from rackwise.core.planning.problem.cheapest_sets import NEVER
from rackwise.core.planning.problem.exchange_graph import ExchangeGraph, Placement, steps
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.proof.dual_prices import Limits

Arc = tuple[int, "list[int] | None"]
"""Node, and the rows that go there; None for an arc between a broker and its pool or topic."""


class Weighed(NamedTuple):
    """An instance with the costs to use, and what held brokers ask (`Offers.held`)."""

    instance: Instance
    held: NDArray[np.int64]


class Pushing:
    """Sets, loads and prices. Every set is the cheapest of its row under the prices, always."""

    def __init__(self, weighed: Weighed, sets: Ragged, limits: Limits) -> None:
        self.instance, self._held = weighed
        self._offsets = sets.offsets
        self._values = sets.values.copy()
        self._row_class = limits.row_class(self.instance)
        self._brokers = len(self.instance.brokers)
        self._classes = len(limits.capped) + 1
        self._caps = limits.caps
        self._group, self._totals = limits.group, limits.totals
        self._low, self._high = limits.low, limits.high
        self._pools = self._classes * self._brokers
        self._price = np.zeros(self._pools + len(self._totals), dtype=np.int64)
        nodes = self._row_class[sets.rows] * self._brokers + sets.values
        placed = np.bincount(nodes, minlength=self._pools).astype(np.int64)
        self._placed = placed.reshape(self._classes, self._brokers)
        self._round = self._new_round()

    def _new_round(self) -> _Round:
        placement = Placement.of(
            self.instance, self.sets, row_class=self._row_class, held=self._held
        )
        return _Round(placement, self._classes)

    @property
    def sets(self) -> Ragged:
        """The sets now, brokers rising."""
        return Ragged(self._offsets, self._values)

    @property
    def graph(self) -> ExchangeGraph:
        """The exchange graph of the sets now."""
        return self._round.graph

    @property
    def loads(self) -> NDArray[np.int64]:
        """Replicas on each broker, those above a topic's cap left out: int64 [B]."""
        found: NDArray[np.int64] = self._placed[0] + self._within_caps().sum(axis=0)
        return found

    def _within_caps(self) -> NDArray[np.int64]:
        return np.minimum(self._placed[1:], self._caps)

    def balance(self) -> NDArray[np.int64]:
        """Of each node what it has too much, below 0 what it lacks: int64."""
        found = np.zeros(len(self._price), dtype=np.int64)
        found[self._brokers : self._pools] = (self._placed[1:] - self._within_caps()).ravel()
        if self._high.min(initial=0) < 0:
            found[: self._brokers] = -NEVER
            return found
        loads = self.loads
        found[: self._brokers] = (loads - self._high).clip(min=0) - (self._low - loads).clip(min=0)
        if len(self._totals):
            above = (loads - self._low).clip(min=0)
            spare = np.minimum(above, self._high - self._low) + self._low
            pooled = np.bincount(self._group, spare, len(self._totals)).astype(np.int64)
            found[self._pools :] = pooled - self._totals
        return found

    @property
    def has_excess(self) -> bool:
        """Whether there is too much of anything."""
        return bool((self.balance() > 0).any())

    def even_out(self) -> None:
        """The least sum of squares of loads that exchanges without a price can reach."""
        for height in range(int(self.loads.max(initial=0)), 0, -1):
            self._low = self._high = np.full(self._brokers, height - 1, dtype=np.int64)
            self.push()

    def reprice(self) -> None:
        """Raise prices until a node that lacks something can be reached over tight arcs.

        Raises `NoFlow` where none can be, whatever the prices.
        """
        balance = self.balance()
        distance = np.where(balance > 0, self._price, NEVER)
        nearer = self._relaxed(distance)
        while (nearer != distance).any():
            distance, nearer = nearer, self._relaxed(nearer)
        risen = np.where(distance < NEVER // 2, distance - self._price, NEVER)
        nearest = int(risen[balance < 0].min(initial=NEVER))
        if nearest >= NEVER:
            wanted = int(balance.clip(min=0).sum())
            raise NoFlow(
                f"loads that legal sets can have are wanted; {counted(wanted, 'replica')} "
                "cannot go anywhere",
                wanted=wanted,
                hint="ask for less in the policy, or add brokers",
            )
        self._price = self._price + np.minimum(risen, nearest)
        self._round.arcs.clear()

    def _relaxed(self, distance: NDArray[np.int64]) -> NDArray[np.int64]:
        brokers = self._brokers
        found = self.graph.relaxed(distance[: self._pools].reshape(self._classes, brokers))
        pools = distance[self._pools :].copy()
        own, topics, loads = found[0], found[1:], self.loads
        below = np.where(self._placed[1:] < self._caps, topics, NEVER)
        np.minimum(own, below.min(axis=0, initial=NEVER), out=own)
        for number in range(len(pools)):
            inside = self._group == number
            takes = inside & (loads < self._high) & (loads >= self._low)
            pools[number] = min(int(pools[number]), int(own[takes].min(initial=NEVER)))
            gives = inside & (loads > self._low)
            own[gives] = np.minimum(own[gives], pools[number])
        found[1:] = np.minimum(topics, np.where(self._within_caps() > 0, own, NEVER))
        together = np.concatenate([found.ravel(), pools])
        return np.where(together > NEVER // 2, NEVER, together)

    def push(self) -> None:
        """Push along tight arcs until nothing more can be."""
        while self._push_once():
            self._round = self._new_round()

    def _push_once(self) -> bool:
        balance = self.balance()
        starts = np.flatnonzero(balance > 0).tolist()
        levels, before = self._levels(starts, balance)
        needy = next((node for node in levels if balance[node] < 0), None)
        if needy is None:
            return False
        search = _Search(self, levels)
        pushed = False
        for start in starts:
            while balance[start] > 0 and (path := search.path(start, balance)):
                self._go(path)
                pushed = True
                balance = self.balance()
        if not pushed:
            self._go(_back(before, needy))
        return True

    def _levels(
        self, starts: list[int], balance: NDArray[np.int64]
    ) -> tuple[dict[int, int], dict[int, tuple[int, int | None]]]:
        """Fewest tight arcs to nodes, up to the first that lack something; whence they come."""
        levels = dict.fromkeys(starts, 0)
        before: dict[int, tuple[int, int | None]] = {}
        front, level = starts, 0
        while front and not any(balance[node] < 0 for node in front):
            level += 1
            found = []
            for node in front:
                for there, rows in self.arcs(node):
                    if there not in levels:
                        levels[there] = level
                        before[there] = (node, None if rows is None else rows[0])
                        found.append(there)
            front = found
        return levels, before

    def arcs(self, node: int) -> list[Arc]:
        """Tight arcs from a node, as of the beginning of the round."""
        known = self._round.arcs.get(node)
        if known is None:
            known = [*self._exchanges(node), *((n, None) for n in self._loose(node))]
            self._round.arcs[node] = known
        return known

    def _exchanges(self, node: int) -> Iterator[Arc]:
        """Where rows of a node can go, by broker; rows rise."""
        if node >= self._pools:
            return
        one, brokers = self._round, self._brokers
        first = node // brokers * brokers
        places = one.places(node)
        if not len(places):
            return
        price = self._price[first : first + brokers] - self._price[node]
        change = one.change[places][:, self.instance.leaf]
        goes = (change == price) & self.instance.is_open
        rows = one.rows[places]
        inside = Ragged(self._offsets, one.values).take(rows)
        goes[inside.rows, inside.values] = False
        at, target, changed = one.returns(places)
        back = changed == price[target]
        goes[at[back], target[back]] = True
        for there in np.flatnonzero(goes.any(axis=0)).tolist():
            yield first + there, rows[goes[:, there]].tolist()

    def _loose(self, node: int) -> Iterator[int]:
        """Nodes at the other end of open arcs at the same price, between brokers, topics, pools."""
        brokers = self._brokers
        broker = node % brokers
        if node >= self._pools:
            ends = np.flatnonzero(self._group == node - self._pools).tolist()
        elif node >= brokers:
            ends = [broker]
        else:
            ends = list(range(brokers + broker, self._pools, brokers))
            ends += [self._pools + int(self._group[broker])] if len(self._totals) else []
        price = self._price[node]
        return (end for end in ends if self._price[end] == price and self.is_open(node, end))

    def is_open(self, node: int, end: int) -> bool:
        """Whether one more may go from a broker to its pool or topic, or the other way."""
        brokers = self._brokers
        broker = (end if node >= self._pools else node) % brokers
        load = int(self.loads[broker])
        if node >= self._pools:
            return load > int(self._low[broker])
        if end >= self._pools:
            return int(self._low[broker]) <= load < int(self._high[broker])
        topic = max(node, end) // brokers
        placed, cap = int(self._placed[topic, broker]), int(self._caps[topic - 1, broker])
        return placed < cap if end < node else min(placed, cap) > 0

    def _go(self, path: list[tuple[int, int | None]]) -> None:
        """One unit along a path; rows, where they are given, go from node to node."""
        for (here, _), (there, row) in pairwise(path):
            if row is not None:
                kind, broker = divmod(here, self._brokers)
                part = slice(self._offsets[row], self._offsets[row + 1])
                values = self._values[part]
                values[values == broker] = there % self._brokers
                values.sort()
                self._placed[kind, broker] -= 1
                self._placed[kind, there % self._brokers] += 1


def _back(before: dict[int, tuple[int, int | None]], node: int) -> list[tuple[int, int | None]]:
    """The path that ends in a node, with the row that comes to each."""
    path: list[tuple[int, int | None]] = []
    while node in before:
        node, row = before[node][0], (node, before[node][1])
        path.append(row)
    return [(node, None), *reversed(path)]


class _Search:
    """Depth first up the levels; what led nowhere is not tried again in the round."""

    def __init__(self, pushing: Pushing, levels: dict[int, int]) -> None:
        self._pushing, self._levels = pushing, levels
        self._next: dict[int, int] = {}
        self._changed: set[int] = set()

    def path(self, start: int, balance: NDArray[np.int64]) -> list[tuple[int, int | None]]:
        """A path to a node that lacks something, with rows that change on it alone; or []."""
        path: list[tuple[int, int | None]] = [(start, None)]
        used: set[int] = set()
        while path:
            node = path[-1][0]
            if balance[node] < 0:
                self._changed |= used
                return path
            step = self._step(node, used)
            if step is not None:
                path.append(step)
                used |= {step[1]} if step[1] is not None else set()
                continue
            self._levels.pop(node, None)
            row = path.pop()[1]
            used -= {row} if row is not None else set()
        return []

    def _step(self, node: int, used: set[int]) -> tuple[int, int | None] | None:
        arcs = self._pushing.arcs(node)
        wanted = self._levels.get(node, -1) + 1
        for at in range(self._next.get(node, 0), len(arcs)):
            self._next[node] = at
            there, rows = arcs[at]
            if self._levels.get(there) != wanted:
                continue
            if rows is None:
                if self._pushing.is_open(node, there):
                    return there, None
                continue
            while rows and rows[-1] in self._changed:
                rows.pop()
            row = next((r for r in reversed(rows) if r not in self._changed | used), None)
            if row is not None:
                return there, row
        self._next[node] = len(arcs)
        return None


class _Round:
    """What does not change within a round: the graph, and what each replica may do."""

    def __init__(self, placement: Placement, classes: int) -> None:
        found = list(steps(placement))
        self.graph = ExchangeGraph.of(placement, classes, found)
        self.arcs: dict[int, list[Arc]] = {}
        self.rows = placement.sets.rows
        self.values = placement.sets.values.copy()
        self.change = np.full((len(self.rows), placement.instance.leaves), NEVER, dtype=np.int64)
        back = [np.zeros((3, 0), dtype=np.int64)]
        for step in found:
            if step.target is None:
                self.change[step.at, step.leaf] = step.change
            else:
                target = np.broadcast_to(step.target[:, None], step.at.shape)
                legal = step.change < NEVER
                back.append(np.stack([step.at[legal], target[legal], step.change[legal]]))
        together = np.concatenate(back, axis=1)
        self._returns = together[:, np.argsort(together[0], kind="stable")]
        nodes = placement.nodes
        self._order = np.argsort(nodes, kind="stable")
        self._starts = np.searchsorted(
            nodes[self._order], np.arange(classes * len(placement.instance.brokers) + 1)
        )

    def places(self, node: int) -> NDArray[np.int64]:
        """Places of the replicas of a node."""
        return self._order[self._starts[node] : self._starts[node + 1]]

    def returns(
        self, places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Of some places, rising: number among them, broker to go back to, change."""
        first = np.searchsorted(self._returns[0], places, side="left")
        last = np.searchsorted(self._returns[0], places, side="right")
        lengths = last - first
        ends = np.cumsum(lengths)
        found = np.repeat(first - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
        at = np.repeat(np.arange(len(places)), lengths)
        return at, self._returns[1][found], self._returns[2][found]
