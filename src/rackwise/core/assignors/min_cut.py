"""The greatest flow through a network, and the least cut that limits it.

Goals: exact integers; the smallest of the least cuts, so that it is the same whatever the flow.

The algorithm (Dinic). Nodes get their distance from the source over arcs that have room; flow is
sent along shortest paths until none is left; distances are measured again, until the sink is out of
reach. What the source then still reaches is the cut: every arc that leaves it is full.

```
source --5--> x --9--> sink       x -> sink has room: the source's arc to x is full, x is behind it
       --7--> y --2--> sink       y -> sink is full: y is still reached
                                  value 5 + 2, the source's side: source, y
```

What this does not do: costs, fractions, or lower bounds of arcs.

Source: Dinic 1970; Ford and Fulkerson 1956.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Arc: TypeAlias = tuple[int, int, int]
"""From, to, capacity."""


def min_cut(nodes: int, arcs: Iterable[Arc], source: int, sink: int) -> tuple[int, frozenset[int]]:
    """Value of the greatest flow, and the nodes on the source's side of the smallest least cut.

    Nodes are 0 .. `nodes` - 1, capacities integers from 0 on.
    """
    network = _Network(nodes, arcs)
    value = 0
    while True:
        levels = network.levels(source)
        if levels[sink] < 0:
            return value, frozenset(node for node, level in enumerate(levels) if level >= 0)
        value += network.blocking_flow(levels, source, sink)


class _Network:
    """Arcs in pairs: arc i and its reverse i ^ 1; `room`: what each can still take."""

    def __init__(self, nodes: int, arcs: Iterable[Arc]) -> None:
        self._from: list[list[int]] = [[] for _ in range(nodes)]
        self._to: list[int] = []
        self._room: list[int] = []
        for start, end, capacity in arcs:
            for node, other, room in ((start, end, capacity), (end, start, 0)):
                self._from[node].append(len(self._to))
                self._to.append(other)
                self._room.append(room)

    def levels(self, source: int) -> list[int]:
        """Distance of each node from the source, -1 where it is out of reach."""
        found = [-1] * len(self._from)
        found[source] = 0
        queue = [source]
        for node in queue:
            for arc in self._from[node]:
                end = self._to[arc]
                if self._room[arc] and found[end] < 0:
                    found[end] = found[node] + 1
                    queue.append(end)
        return found

    def blocking_flow(self, levels: list[int], source: int, sink: int) -> int:
        """Send flow along shortest paths until each of them has a full arc."""
        untried = [list(arcs) for arcs in self._from]
        path: list[int] = []
        value, node = 0, source
        while True:
            if node == sink:
                value += self._fill(path)
                path, node = [], source
            arc = self._next(untried[node], levels, node)
            if arc is not None:
                path.append(arc)
                node = self._to[arc]
            elif node == source:
                return value
            else:
                node = self._to[path.pop() ^ 1]
                untried[node].pop()

    def _next(self, untried: list[int], levels: list[int], node: int) -> int | None:
        """An arc one step nearer to the sink; those that lead nowhere are struck off."""
        while untried:
            arc = untried[-1]
            if self._room[arc] and levels[self._to[arc]] == levels[node] + 1:
                return arc
            untried.pop()
        return None

    def _fill(self, path: list[int]) -> int:
        most = min(self._room[arc] for arc in path)
        for arc in path:
            self._room[arc] -= most
            self._room[arc ^ 1] += most
        return most
