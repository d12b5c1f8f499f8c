"""The lowest possible load of the fullest broker, and the room that it leaves below each rack.

Goals: compute, before any replica is placed, the smallest M so that a level-optimal placement
exists in which no broker holds more than M replicas; and the total number of replicas that each
rack can then take.

Level-optimal: in each partition, water filling splits the replicas of a node among its children.
Therefore a node that holds x replicas over all partitions holds x div P in each, one more in x mod
P of them, and each child has a smallest and a largest total, `low(x)` and `high(x)`.

The room of a node below M:

```
broker       min(P, M - what it holds already)
other node   the greatest x with low(x) <= room of each child, and
             the sum of min(high(x), room) over the children >= x
```

If x fails one of the two conditions, every larger x fails it, too. Therefore bisection finds x.
Bisection also finds M, starting at the mean. If the racks force no share, M is the mean.

```
3 racks of 2, 2 and 1 brokers, 50 partitions
3 replicas   each rack holds one of each, so the lone broker holds 50: M = 50, the mean is 30
2 replicas   M = 20, the mean
```

Shares in proportion to the brokers below a rack are not sufficient. A large rack can contain a
small rack with one broker, and that broker then gets more than necessary (67 where 63 is possible).

This module does not split a total among children (see `apportion`), and places no replicas.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.errors import NotEnoughBrokers
from rackwise.core.racks import water_fill
from rackwise.core.text import are, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.placement.placers.rack_tree import RackNode, Tree


class Shares(NamedTuple):
    """The least and greatest number of replicas of one partition for each child."""

    low: NDArray[np.int64]
    """Least replicas of one partition, int64 [children]."""
    high: NDArray[np.int64]
    """Greatest replicas of one partition, int64 [children]."""


class WaterTable:
    """Water filling at the nodes of one tree; each number of replicas is computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Shares] = {}

    def at(self, node: RackNode, replicas: int) -> Shares:
        """The shares of the children of an inner node with `replicas` replicas of a partition.

        Raises `NotEnoughBrokers` for more replicas than brokers below it.
        """
        key = node.number, replicas
        if key not in self._known:
            found = water_fill(node.capacities, replicas)
            if found is None:
                raise NotEnoughBrokers(
                    f"replication {replicas} needs {counted(replicas, 'broker')}; "
                    f"{node.capacity} {are(node.capacity)} available",
                    wanted=replicas,
                    had=node.capacity,
                    hint="ask for fewer replicas, or start more brokers",
                )
            table = np.array(found, dtype=np.int64)
            self._known[key] = Shares(table[:, 0], table[:, 1])
        return self._known[key]


class Rooms(NamedTuple):
    """The lowest possible load of the fullest broker, and the room that it leaves."""

    most: int
    """M, the lowest possible load of the fullest broker."""
    below: tuple[NDArray[np.int64], ...]
    """Room of each child, by the number of its parent, int64 [children]."""


def least_rooms(
    tree: Tree, water: WaterTable, partitions: int, replicas: int, held: NDArray[np.int64]
) -> Rooms:
    """The least M for `partitions` new rows of `replicas`, and the rooms below it.

    `held`: existing replicas of the topic on each leaf, int64 [brokers].
    """
    total = partitions * replicas

    def rooms(top: int) -> Rooms:
        return Rooms(top, _below(tree, water, partitions, np.clip(top - held, 0, partitions)))

    def is_met(top: int) -> bool:
        return _fits(tree.root, water, partitions, rooms(top).below[0], total)

    mean = -(-(int(held.sum()) + total) // len(held))
    if is_met(mean):
        return rooms(mean)
    tops = range(mean + 1, int(held.max()) + partitions + 1)
    return rooms(tops[bisect_left(tops, True, key=is_met)])  # noqa: FBT003 (from unmet to met)


def _below(
    tree: Tree, water: WaterTable, partitions: int, leaf_rooms: NDArray[np.int64]
) -> tuple[NDArray[np.int64], ...]:
    """The room of each child, by the number of its parent."""
    below = [np.zeros(len(node.children), dtype=np.int64) for node in tree.inner]
    for node in reversed(tree.inner):
        rooms = below[node.number]
        for place, child in enumerate(node.children):
            rooms[place] = (
                _room(child, water, partitions, below[child.number])
                if child.children
                else leaf_rooms[child.first]
            )
    return tuple(below)


def _room(node: RackNode, water: WaterTable, partitions: int, rooms: NDArray[np.int64]) -> int:
    least, most = 0, int(rooms.sum())
    middle = most
    while least < most:
        if _fits(node, water, partitions, rooms, middle):
            least = middle
        else:
            most = middle - 1
        middle = (least + most + 1) // 2
    return least


def _fits(
    node: RackNode, water: WaterTable, partitions: int, rooms: NDArray[np.int64], total: int
) -> bool:
    """Whether the children can take `total` together, in level-optimal shares."""
    base, more = divmod(total, partitions)
    here = water.at(node, base)
    low, high = here.low * (partitions - more), here.high * (partitions - more)
    if more:
        above = water.at(node, base + 1)
        low, high = low + above.low * more, high + above.high * more
    return bool((low <= rooms).all()) and int(np.minimum(high, rooms).sum()) >= total
