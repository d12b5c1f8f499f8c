"""The cheapest choice of leaders with given numbers on each broker, by exchanges.

Every row starts with its cheapest leader. Brokers, and one pool for each group of brokers, are the
nodes of a graph: an arc from `a` to `b` is the least change of cost of a row that `a` leads and `b`
may lead; a broker that may have one more gives it to its pool for nothing, and gets back what it
gave.

```
low 1 high 2, three together        0 leads 3: one too many      0 -> 1 costs 1 (an old leader goes)
loads 3 0 0                         1 and 2 lack one each        0 -> 2 costs 1
                                                                 pool lacks nothing: 0 gave it one
```

The algorithm. What is too much flows to where something lacks along arcs that lie on shortest paths
from the former, as many rows at once as there are; when no such path is left, distances are
measured again. While all arcs have `distance(b) <= distance(a) + cost`, no choice with the same
loads is cheaper; when nothing is too much any more, the loads are the wanted ones. (Primal-dual
min-cost flow, run on brokers instead of rows: a few hundred nodes for a million rows.)

The prices that prove it are the distances, measured from everywhere at once; see `prices_of`.

What this does not do: find out which numbers are fair.

Source: Ahuja, Magnanti and Orlin, "Network Flows" (1993), chapter 9.8.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import NoFlow
from rackwise.core.planning.leaders.fair_counts import back
from rackwise.core.planning.leaders.state import FAR
from rackwise.core.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.leaders.fair_counts import LeaderLoads
    from rackwise.core.planning.leaders.state import Leading


def bring(leading: Leading, wanted: LeaderLoads) -> None:
    """Change the choice, in place, until its loads are the wanted ones.

    The choice must be the cheapest for the loads that it has, and then is so for the wanted ones.
    Raises `NoFlow` where no choice has them.
    """
    exchange = _Exchange(leading, wanted)
    while left := int(exchange.spare().clip(min=0).sum()):
        if not exchange.send_all():
            raise NoFlow(
                f"as many leaders on each broker as replicas allow are wanted; "
                f"{counted(left, 'partition')} cannot go where a leader is lacking",
                wanted="a path for each partition",
                had=left,
                hint="ask for the numbers that are fair for these sets",
            )


def prices_of(leading: Leading, wanted: LeaderLoads) -> NDArray[np.int64]:
    """A price for each broker, int64 [brokers], that shows the choice to be the cheapest.

    It is the negative of the distance from everywhere, 0, over the exchange graph of the choice.
    """
    exchange = _Exchange(leading, wanted)
    exchange.refresh()
    start = np.zeros(len(exchange.costs), dtype=np.int64)
    prices: NDArray[np.int64] = -exchange.distances(start)[: len(leading.loads)]
    return prices


class _Exchange:
    """The graph: brokers first, then one pool for each group.

    `costs`: of each arc, int64 [nodes, nodes], FAR where there is none.
    """

    def __init__(self, leading: Leading, wanted: LeaderLoads) -> None:
        self._leading = leading
        self._wanted = wanted
        self._span = wanted.high - wanted.low
        self._brokers = np.arange(len(leading.loads))
        self._pools = len(leading.loads) + wanted.group
        self.costs = leading.corner_of(len(leading.loads) + len(wanted.totals))

    def _given(self) -> NDArray[np.int64]:
        """What each broker gave to its pool."""
        given: NDArray[np.int64] = np.clip(self._leading.loads - self._wanted.low, 0, self._span)
        return given

    def spare(self) -> NDArray[np.int64]:
        """What each node has too much of, below 0 what it lacks: int64 [nodes]."""
        given = self._given()
        pools = np.bincount(self._wanted.group, given, len(self._wanted.totals)).astype(np.int64)
        brokers = self._leading.loads - self._wanted.low - given
        return np.concatenate((brokers, pools - self._wanted.needs))

    def refresh(self) -> None:
        """Bring `costs` up to date."""
        self._leading.refresh()
        given = self._given()
        self.costs[self._brokers, self._pools] = np.where(given < self._span, 0, FAR)
        self.costs[self._pools, self._brokers] = np.where(given > 0, 0, FAR)

    def distances(self, start: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shortest ways to each node, FAR where there is none; `start`: what it costs to begin."""
        found = start.copy()
        front = np.flatnonzero(found < FAR)
        for _ in range(len(found)):
            nearer = (found[front, None] + self.costs[front]).min(axis=0, initial=FAR)
            front = np.flatnonzero(nearer < found)
            found[front] = nearer[front]
        return found

    def send_all(self) -> bool:
        """Send all that shortest paths of today can carry; whether that was anything."""
        self.refresh()
        far = self.distances(np.where(self.spare() > 0, 0, FAR).astype(np.int64))
        sent = 0
        while paths := self._paths(far):
            sent += sum(self._send(path) for path in paths)
            self.refresh()
        return sent > 0

    def _paths(self, far: NDArray[np.int64]) -> list[list[int]]:
        """From nodes with too much, over arcs of shortest paths, to the nearest that lack."""
        spare = self.spare()
        before = np.full(len(far), -1, dtype=np.int64)
        front = np.flatnonzero(spare > 0)
        before[front] = front
        while len(front):
            costs = self.costs[front]
            tight = (costs < FAR) & (far[front, None] + costs == far)
            near = np.flatnonzero(tight.any(axis=0) & (before < 0))
            before[near] = front[tight[:, near].argmax(axis=0)]
            lacking = near[spare[near] < 0]
            if len(lacking):
                return [back(before, last) for last in lacking.tolist()]
            front = near
        return []

    def _send(self, path: list[int]) -> int:
        """As much as there is, as is lacking and as every arc carries; how much."""
        spare, given, count = self.spare(), self._given(), len(self._brokers)
        most = int(min(spare[path[0]], -spare[path[-1]]))
        for here, there in pairwise(path):
            if there >= count:
                most = min(most, int(self._span[here] - given[here]))
            elif here >= count:
                most = min(most, int(given[there]))
        steps = [(a, b) for a, b in pairwise(path) if a < count and b < count]
        rows = [self._leading.movable(a, b, int(self.costs[a, b])) for a, b in steps]
        most = min(most, *map(len, rows))
        if most > 0:
            self._leading.shift(
                [(a, b, moved[:most]) for (a, b), moved in zip(steps, rows, strict=True)]
            )
        return max(most, 0)
