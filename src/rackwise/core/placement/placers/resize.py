"""Adds replicas to existing rows or removes them, one replica at a time.

Goals, in order: leaders and the replicas that stay keep their places; a row that was level-optimal
stays so; brokers become as even as a greedy choice allows.

The partitions are processed in order, one added replica at a time. A node is allowed if its parent
is allowed and if it has the fewest replicas of the partition among its siblings with a free broker.
Among the brokers below allowed nodes, the one that holds least of the topic takes the replica. Ties
go to the rack with the least of the topic for its weight, then to the broker whose turn it is.
Removing is the mirror image: most replicas of the partition, most of the topic. The leader is never
removed. If racks shall be even instead of brokers, racks are compared first, from the root down.

```
racks a {1, 2}  b {3}      row 1       to 3 replicas: b has none: 3; then b is full: 2    row 1 3 2
racks a {1, 2}  b {3, 4}   row 1 3 2   to 2 replicas: a holds two, 1 leads: 2 goes        row 1 3
```

Comparing the totals of racks first makes brokers uneven: if the partition already holds the emptier
broker of the selected rack, the fuller broker takes the replica. Brokers then differ by up to 19
replicas after 80 partitions on 3 racks of 2.

Loads per weight are compared in whole numbers: the load times the least common multiple of the
siblings' weights, divided by the node's own weight.

This module does not repair a row that is not level-optimal (`explain` reports it). It does not find
the most even result (a planner does); fixed existing replicas can cost a replica or two.

Source: KIP-879 (increasing the replication factor); the rule is Rackwise's own.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import InvalidAssignment

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from rackwise.core.placement.model import Request
    from rackwise.core.placement.placers.rack_tree import RackNode, Tree


def existing_rows(request: Request) -> NDArray[np.int32]:
    """The rows to change, without padding. Raises `InvalidAssignment` if there are none."""
    if request.existing is None:
        raise InvalidAssignment(
            "invalid request: expected existing rows, got none",
            wanted="rows",
            had=0,
            hint="give the rows of the topic; new topics are placed",
        )
    return request.existing.rows[:, : int(request.existing.lengths.max())]


def resized(
    tree: Tree,
    rows: NDArray[np.int32],
    replication: int,
    *,
    first: int,
    is_by_racks: bool = False,
    turn: int = 0,
) -> NDArray[np.int32]:
    """The rows with `replication` columns, int32 [partitions, replication].

    `rows`: int32 [partitions, old replication], brokers of the tree only; `first`: partition of row
    0; `is_by_racks`: siblings have equal weight, otherwise the weight of their brokers; `turn`:
    breaks ties.
    """
    leaves = tree.leaves(rows)
    tally = _Tally(tree, leaves, is_by_racks=is_by_racks, turn=turn)
    old = rows.shape[1]
    made: list[list[int]] = []
    for partition, row in enumerate(leaves.tolist(), start=first):
        tally.enter(row)
        for _ in range(old, replication):
            row.append(tally.added(partition))
        for _ in range(replication, old):
            row.remove(tally.removed(partition, row[0]))
        tally.leave(row)
        made.append(row)
    return tree.brokers[np.array(made, dtype=np.int64)]


class _Tally:
    """Replicas below every node, by node number: of the topic, and of the current partition."""

    def __init__(
        self, tree: Tree, leaves: NDArray[np.int64], *, is_by_racks: bool, turn: int
    ) -> None:
        self._root = tree.root
        self._turn = turn
        self._is_by_racks = is_by_racks
        nodes = len(tree.inner) + len(tree.brokers)
        self._scale = [1] * nodes
        self._above: list[list[int]] = [[] for _ in tree.brokers]
        for node in tree.inner:
            weights = [1 if is_by_racks else child.capacity for child in node.children]
            for child, weight in zip(node.children, weights, strict=True):
                self._scale[child.number] = lcm(*weights) // weight
                for leaf in range(child.first, child.first + child.capacity):
                    self._above[leaf].append(child.number)
        self._load = [0] * nodes
        self._count = [0] * nodes
        for leaf, held in enumerate(np.bincount(leaves.ravel(), minlength=len(tree.brokers))):
            self._change(self._load, leaf, int(held))

    def _change(self, numbers: list[int], leaf: int, by: int) -> None:
        for number in self._above[leaf]:
            numbers[number] += by

    def enter(self, row: list[int]) -> None:
        """Count the replicas of a partition."""
        for leaf in row:
            self._change(self._count, leaf, 1)

    def leave(self, row: list[int]) -> None:
        """Remove the partition from the counts."""
        for leaf in row:
            self._change(self._count, leaf, -1)

    def added(self, partition: int) -> int:
        """The leaf that takes one more replica of the partition; the replica is counted."""
        leaf = self._next_taker(self._root, self._turn + partition)
        self._change(self._count, leaf, 1)
        self._change(self._load, leaf, 1)
        return leaf

    def removed(self, partition: int, leader: int) -> int:
        """The leaf that loses its replica of the partition; the counts are updated."""
        leaf = self._next_giver(self._root, self._turn + partition, set(self._above[leader]))
        self._change(self._count, leaf, -1)
        self._change(self._load, leaf, -1)
        return leaf

    def _next_taker(self, node: RackNode, turn: int) -> int:
        """The leaf below an inner node that would take one more replica."""
        count, size = self._count, len(node.children)
        free = [
            (at, child)
            for at, child in enumerate(node.children)
            if count[child.number] < child.capacity
        ]
        fewest = min(count[child.number] for _, child in free)
        *_, leaf = min(
            (
                0 if self._is_by_racks else self._load[-1 - leaf],
                self._load[child.number] * self._scale[child.number],
                (at - turn) % size,
                leaf,
            )
            for at, child in free
            if count[child.number] == fewest
            for leaf in [self._next_taker(child, turn) if child.children else child.first]
        )
        return leaf

    def _next_giver(self, node: RackNode, turn: int, leading: Collection[int]) -> int:
        """The leaf below an inner node that would lose one; nodes in `leading` keep one."""
        count, size = self._count, len(node.children)
        held = [
            (at, child)
            for at, child in enumerate(node.children)
            if count[child.number] > (child.number in leading)
        ]
        most = max(count[child.number] for _, child in held)
        *_, leaf = min(
            (
                0 if self._is_by_racks else -self._load[-1 - leaf],
                -self._load[child.number] * self._scale[child.number],
                (at - turn) % size,
                leaf,
            )
            for at, child in held
            if count[child.number] == most
            for leaf in [self._next_giver(child, turn, leading) if child.children else child.first]
        )
        return leaf
