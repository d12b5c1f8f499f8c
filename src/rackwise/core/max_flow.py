"""Maximum flow and minimum cut in small integer networks, without a solver.

Goals, in order: exact integers; no dependency; the smallest of all minimum cuts, which is the same
for every maximum flow.

The algorithm is Dinic's. A breadth-first search gives each node its distance from the source over
arcs with residual capacity. Flow goes along shortest paths until each of them contains a full arc.
Distances are measured again, until the sink is out of reach. The nodes that the source then still
reaches are one side of a minimum cut: every arc that leaves this side is full.

```
source --5--> x --9--> sink       the arc source -> x is full: x is behind the cut
       --7--> y --2--> sink       the arc y -> sink is full: y is still reached
                                  flow 5 + 2, source side of the cut: source, y
```

A network here has hundreds of arcs, because equal partitions share one node.

Limits: no costs, no fractions, no lower bounds of arcs (`core.solver` handles costs).

Sources: Dinic, "Algorithm for solution of a problem of maximum flow in a network with power
estimation" (1970); Ford and Fulkerson, "Maximal flow through a network" (1956).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Arc: TypeAlias = tuple[int, int, int]
"""Tail, head, capacity."""


def min_cut(nodes: int, arcs: Iterable[Arc], source: int, sink: int) -> tuple[int, frozenset[int]]:
    """The maximum flow, and the source side of the smallest minimum cut.

    Nodes are 0 .. `nodes` - 1. Capacities are non-negative integers.
    """
    network = FlowNetwork(nodes)
    for arc in arcs:
        network.add_arc(*arc)
    value = network.push(source, sink)
    reached = network.reached([source])
    return value, frozenset(node for node, is_reached in enumerate(reached) if is_reached)


class FlowNetwork:
    """Nodes, numbered from 0, and arcs between them; arc 2k has its reverse arc at 2k + 1."""

    def __init__(self, nodes: int) -> None:
        self.arcs: list[list[int]] = [[] for _ in range(nodes)]
        """Arcs that leave each node, reverse arcs included."""
        self.heads: list[int] = []
        """The node that each arc leads to."""
        self.residuals: list[int] = []
        """The residual capacity of each arc."""

    def add_node(self) -> int:
        """Add a node and return its number."""
        self.arcs.append([])
        return len(self.arcs) - 1

    def add_arc(self, tail: int, head: int, capacity: int) -> int:
        """Add an arc and return its number."""
        arc = len(self.heads)
        self.arcs[tail].append(arc)
        self.arcs[head].append(arc + 1)
        self.heads += [head, tail]
        self.residuals += [capacity, 0]
        return arc

    def reset(self, arc: int, capacity: int) -> None:
        """Set the capacity of an arc and clear its flow."""
        self.residuals[arc] = capacity
        self.residuals[arc + 1] = 0

    def push(self, source: int, sink: int) -> int:
        """Add the maximum flow that the residual capacities allow and return its amount."""
        total = 0
        while (layers := self._layers(source, sink)) is not None:
            total += self._blocking(source, sink, layers)
        return total

    def reached(self, starts: Iterable[int]) -> list[bool]:
        """Whether residual arcs lead to each node from any of the starts, by node."""
        seen = [False] * len(self.arcs)
        queue = deque(starts)
        for node in queue:
            seen[node] = True
        while queue:
            node = queue.popleft()
            for arc in self.arcs[node]:
                head = self.heads[arc]
                if self.residuals[arc] and not seen[head]:
                    seen[head] = True
                    queue.append(head)
        return seen

    def _layers(self, source: int, sink: int) -> list[int] | None:
        """Distance of each node from the source, None where the sink is out of reach."""
        layers = [-1] * len(self.arcs)
        layers[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for arc in self.arcs[node]:
                head = self.heads[arc]
                if self.residuals[arc] and layers[head] < 0:
                    layers[head] = layers[node] + 1
                    queue.append(head)
        return layers if layers[sink] >= 0 else None

    def _blocking(self, source: int, sink: int, layers: list[int]) -> int:
        """Push flow until every shortest path contains a full arc; return its amount."""
        at = [0] * len(self.arcs)  # the next arc to try, by node
        path: list[int] = []
        node, total = source, 0
        while True:
            if node == sink:
                amount = min(self.residuals[arc] for arc in path)
                total += amount
                for arc in path:
                    self.residuals[arc] -= amount
                    self.residuals[arc ^ 1] += amount
                # Continue from the tail of the first full arc; the path up to it still has room.
                first = next(i for i, arc in enumerate(path) if not self.residuals[arc])
                node = self.heads[path[first] ^ 1]
                del path[first:]
                continue
            step = self._step(node, at, layers)
            if step is not None:
                path.append(step)
                node = self.heads[step]
            elif path:
                layers[node] = -1  # a dead end: no shortest path leads through it
                node = self.heads[path.pop() ^ 1]
            else:
                return total

    def _step(self, node: int, at: list[int], layers: list[int]) -> int | None:
        """The next arc from a node to the next layer, None where no arc is left."""
        arcs = self.arcs[node]
        while at[node] < len(arcs):
            arc = arcs[at[node]]
            if self.residuals[arc] and layers[self.heads[arc]] == layers[node] + 1:
                return arc
            at[node] += 1
        return None
