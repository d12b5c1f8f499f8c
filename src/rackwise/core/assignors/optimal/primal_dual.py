"""The cheapest flow to one sink, and always the same one: what a second implementation repeats.

Goals, in order: the least cost; a choice among equal flows that any implementation of these rules
makes. The server-side assignor is written in Java (`server-assignor`) and must make the choices of
this file.

The algorithm is the primal-dual one. Each node has a price, 0 at first. An arc that has room is
tight if its cost equals the difference of prices. Two steps alternate until no unit is left at a
source:

1. Units flow along tight arcs. The level of a node is the number of tight arcs to the sink. Sources
   in order of their numbers send what they have, each node to a node one level lower along its
   first such arc in the order of the arcs; an arc that leads nowhere is not tried again. Levels are
   computed anew until no source reaches the sink.
2. Prices change. The distance of a node is the least sum of reduced costs to the sink. Nodes nearer
   than the nearest source become cheaper by the difference, so that a path from this source becomes
   tight.

```
source s has 3     s -> a  room 2, cost 0     a -> t  room 9, cost 0
                   s -> b  room 9, cost 1     b -> t  room 9, cost 0

prices 0           2 units go s a t           1 unit is left, no tight path
t, b, a: -1        1 unit goes s b t
```

Levels, distances and orders are unique, so the flow does not depend on how they are computed.

Limits: one sink; costs of at least 0 on arcs with capacity. `solver.cheapest_flow` is much faster
on large networks, but its choice among equal flows belongs to a release of ortools.

Source: Ford and Fulkerson, "Flows in Networks" (1962), on the primal-dual method; Dinic (1970) on
levels.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.solver import no_flow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.solver import Network

UNREACHED = -1


def primal_dual_flow(network: Network) -> NDArray[np.int64]:
    """The flow on each arc, int64 [arcs]. The sink is the only node with a negative supply.

    Raises `NoFlow` if the arcs cannot carry the supplies to the sink.
    """
    return _PrimalDual(network).solved()


class _PrimalDual:
    """The state of the algorithm. Edge 2a is arc a, edge 2a + 1 is its reverse."""

    def __init__(self, network: Network) -> None:
        nodes = len(network.supplies)
        self._left = network.supplies.tolist()
        self._sink = int(network.supplies.argmin())
        # [edges], the node at the end of each edge, its room and its cost
        self._to = np.column_stack([network.heads, network.tails]).ravel().tolist()
        no_room = np.zeros_like(network.capacities)
        self._room = np.column_stack([network.capacities, no_room]).ravel().tolist()
        self._costs = np.column_stack([network.costs, -network.costs]).ravel().tolist()
        # [nodes], the edges that begin at the node, in order of arcs
        self._edges: list[list[int]] = [[] for _ in range(nodes)]
        for edge in range(len(self._to)):
            self._edges[self._to[edge ^ 1]].append(edge)
        self._prices = [0] * nodes
        self._levels = [UNREACHED] * nodes
        # [nodes], the place in `_edges` of the first edge that may lead to the sink
        self._next = [0] * nodes

    def solved(self) -> NDArray[np.int64]:
        supplied = sum(left for left in self._left if left > 0)
        while sources := [node for node, left in enumerate(self._left) if left > 0]:
            self._find_levels()
            reaching = [node for node in sources if self._levels[node] != UNREACHED]
            for node in reaching:
                self._send(node)
            if not reaching and not self._change_prices():
                raise no_flow(supplied)
        return np.array(self._room[1::2], dtype=np.int64)

    def _reduced(self, edge: int) -> int:
        price = self._prices
        return int(self._costs[edge] + price[self._to[edge]] - price[self._to[edge ^ 1]])

    def _find_levels(self) -> None:
        self._next = [0] * len(self._next)
        self._levels = [UNREACHED] * len(self._levels)
        self._levels[self._sink] = 0
        queue = deque([self._sink])
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                other, back = self._to[edge], edge ^ 1
                if (
                    self._levels[other] == UNREACHED
                    and self._room[back]
                    and self._reduced(back) == 0
                ):
                    self._levels[other] = self._levels[node] + 1
                    queue.append(other)

    def _send(self, source: int) -> None:
        """Send what is left at a source down the levels."""
        while self._left[source] and (path := self._path(source)):
            amount = min(self._left[source], *(self._room[edge] for edge in path))
            for edge in path:
                self._room[edge] -= amount
                self._room[edge ^ 1] += amount
            self._left[source] -= amount

    def _path(self, source: int) -> list[int]:
        """The edges of the first path of tight edges to the sink; empty if there is none."""
        path: list[int] = []
        node = source
        while node != self._sink:
            edge = self._next_edge(node)
            if edge is not None:
                path.append(edge)
                node = self._to[edge]
            elif path:
                self._levels[node] = UNREACHED
                node = self._to[path.pop() ^ 1]
            else:
                break
        return path

    def _next_edge(self, node: int) -> int | None:
        """The first tight edge to the next lower level."""
        edges, wanted = self._edges[node], self._levels[node] - 1
        for place in range(self._next[node], len(edges)):
            edge = edges[place]
            if (
                self._room[edge]
                and self._levels[self._to[edge]] == wanted
                and self._reduced(edge) == 0
            ):
                self._next[node] = place
                return edge
        self._next[node] = len(edges)
        return None

    def _change_prices(self) -> bool:
        """Make a path from the nearest source tight; returns whether any source has a path."""
        settled: dict[int, int] = {}
        heap = [(0, self._sink)]
        while heap:
            distance, node = heappop(heap)
            if node in settled:
                continue
            if self._left[node] > 0:
                for nearer, found in settled.items():
                    self._prices[nearer] += found - distance
                return True
            settled[node] = distance
            for edge in self._edges[node]:
                other, back = self._to[edge], edge ^ 1
                if self._room[back] and other not in settled:
                    heappush(heap, (distance + self._reduced(back), other))
        return False
