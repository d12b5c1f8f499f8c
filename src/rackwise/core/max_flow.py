"""Largest flows in small networks, without a solver.

Goals, in order: exact in integers; no dependency; the answer tells where it is stuck.

The algorithm is Dinic's: layers by breadth first search, then blocking flows along them. A network
here has hundreds of arcs, as equal partitions are one node. After a flow is found, the nodes that
the residual arcs reach from a node say what could still be moved, and those reached from the source
are one side of a cut that is as small as the flow is large.

```
source -> 0 (3)    0 -> 1 (2)    1 -> sink (9)      flow 2
                                                    reached from the source: 0; the cut is 0 -> 1
```

What this does not do: mind costs. Source: Dinic, "Algorithm for solution of a problem of maximum
flow in a network with power estimation" (1970).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class SmallNetwork:
    """Nodes from 0 and arcs between them; arc 2k has its reverse at 2k + 1.

    `heads`, `rooms`: of each arc, the node it leads to and what it can still carry.
    """

    def __init__(self, nodes: int) -> None:
        self.arcs: list[list[int]] = [[] for _ in range(nodes)]
        self.heads: list[int] = []
        self.rooms: list[int] = []

    def add_node(self) -> int:
        """One more node."""
        self.arcs.append([])
        return len(self.arcs) - 1

    def add_arc(self, tail: int, head: int, capacity: int) -> int:
        """One more arc; its number."""
        arc = len(self.heads)
        self.arcs[tail].append(arc)
        self.arcs[head].append(arc + 1)
        self.heads += [head, tail]
        self.rooms += [capacity, 0]
        return arc

    def flow(self, arc: int) -> int:
        """What an arc carries."""
        return self.rooms[arc + 1]

    def reset(self, arc: int, capacity: int) -> None:
        """Give an arc another capacity and no flow."""
        self.rooms[arc] = capacity
        self.rooms[arc + 1] = 0

    def push(self, source: int, sink: int) -> int:
        """Add the largest flow that still fits; how much that is."""
        total = 0
        while (layers := self._layers(source, sink)) is not None:
            total += self._blocking(source, sink, layers)
        return total

    def reached(self, starts: Iterable[int]) -> list[bool]:
        """Of each node whether residual arcs lead to it from any of the starts."""
        seen = [False] * len(self.arcs)
        queue = deque(starts)
        for node in queue:
            seen[node] = True
        while queue:
            node = queue.popleft()
            for arc in self.arcs[node]:
                head = self.heads[arc]
                if self.rooms[arc] and not seen[head]:
                    seen[head] = True
                    queue.append(head)
        return seen

    def _layers(self, source: int, sink: int) -> list[int] | None:
        layers = [-1] * len(self.arcs)
        layers[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for arc in self.arcs[node]:
                head = self.heads[arc]
                if self.rooms[arc] and layers[head] < 0:
                    layers[head] = layers[node] + 1
                    queue.append(head)
        return layers if layers[sink] >= 0 else None

    def _blocking(self, source: int, sink: int, layers: list[int]) -> int:
        """A flow after which every shortest path has a full arc."""
        at = [0] * len(self.arcs)
        path: list[int] = []
        node, total = source, 0
        while True:
            if node == sink:
                room = min(self.rooms[arc] for arc in path)
                total += room
                for arc in path:
                    self.rooms[arc] -= room
                    self.rooms[arc ^ 1] += room
                first = next(i for i, arc in enumerate(path) if not self.rooms[arc])
                node = self.heads[path[first] ^ 1]
                del path[first:]
                continue
            step = self._step(node, at, layers)
            if step is not None:
                path.append(step)
                node = self.heads[step]
            elif path:
                layers[node] = -1
                node = self.heads[path.pop() ^ 1]
            else:
                return total

    def _step(self, node: int, at: list[int], layers: list[int]) -> int | None:
        """The next arc from a node into the layer behind it."""
        arcs = self.arcs[node]
        while at[node] < len(arcs):
            arc = arcs[at[node]]
            if self.rooms[arc] and layers[self.heads[arc]] == layers[node] + 1:
                return arc
            at[node] += 1
        return None
