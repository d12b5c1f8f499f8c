"""Partition classes: the numbers of replicas that the rules allow in each rack.

Partitions with the same rules and the same number of replicas form one class. A class knows racks,
not brokers: a set of brokers keeps the rules exactly if its numbers in the finest racks do.

```
3 replicas, even over /a /b, two racks of two brokers      low  1 1    high  2 2
numbers per rack    2 1  1 2     legal
                    3 0          not legal: /b has less than low
from 2 1            /a -> /b     gives 1 2, legal: one replica of /a may go to /b
                    /b -> /a     gives 3 0, not legal
                    /a -> /a     numbers stay: always legal
```

A rack of a coarser level holds what the finest racks below it hold together. So the boxes
(`core.boxes`) of all levels are one test of the numbers in the finest racks. `at_least` is another
test: the number of distinct racks, at its level, that hold a replica.

Limits: a class knows no pinned brokers, excluded brokers or current replicas (`instance` does).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.boxes import boxes
from rackwise.core.policy import AtLeast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.policy import TopicRules
    from rackwise.core.racks import RackTree


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionClass:
    """The rules of partitions with `replicas` replicas; nodes are numbered as in the rack tree."""

    rules: TopicRules
    replicas: int
    up: tuple[NDArray[np.int64], ...]
    """For each level, the node above each finest rack, int64 [leaves], non-decreasing."""
    low: tuple[NDArray[np.int64], ...]
    """For each level, the fewest replicas below each node, int64 [nodes]."""
    high: tuple[NDArray[np.int64], ...]
    """For each level, the most replicas below each node, int64 [nodes]."""
    at_least: tuple[int, ...]
    """For each level, the number of distinct racks that must hold a replica, 0 = any."""
    is_possible: bool
    """Whether any numbers keep the rules."""

    @classmethod
    def of(
        cls,
        tree: RackTree,
        usable: Sequence[NDArray[np.int64]],
        rules: TopicRules,
        replicas: int,
    ) -> PartitionClass:
        """From the rules; `usable[level]`: usable brokers below each node."""
        found = boxes(tree, usable, rules, replicas)
        finest = tree.depth - 1
        at_least = tuple(
            min(rule.racks, replicas) if isinstance(rule, AtLeast) else 0 for rule in rules.spread
        )
        possible = found is not None and all(
            int((below > 0).sum()) >= wanted for below, wanted in zip(usable, at_least, strict=True)
        )
        empty = tuple(np.zeros_like(below) for below in usable)
        return cls(
            rules=rules,
            replicas=replicas,
            up=tuple(tree.ancestors(finest, level) for level in range(tree.depth)),
            low=tuple(box.low for box in found) if found else empty,
            high=tuple(box.high for box in found) if found else empty,
            at_least=at_least,
            is_possible=possible and int(usable[0].sum()) >= replicas,
        )

    @property
    def has_boxes(self) -> bool:
        """Whether the boxes are the whole test, as they are without `at_least`."""
        return not any(self.at_least)

    def at(self, level: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers in the finest racks, [.., leaves], summed up to a level's nodes, [.., nodes]."""
        nodes = self.up[level]
        if len(nodes) == len(self.low[level]):
            return counts
        starts = np.flatnonzero(np.diff(nodes, prepend=-1))
        return np.add.reduceat(counts, starts, axis=-1)

    def fits(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether numbers in the finest racks, [rows, leaves], keep the rules: bool [rows]."""
        good: NDArray[np.bool_] = counts.sum(axis=-1) == self.replicas
        if not self.is_possible:
            return np.zeros_like(good)
        for level, wanted in enumerate(self.at_least):
            found = self.at(level, counts)
            good &= ((found >= self.low[level]) & (found <= self.high[level])).all(axis=-1)
            if wanted:
                good &= (found > 0).sum(axis=-1) >= wanted
        return good

    def exchanges(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Where legal numbers, [leaves], let one replica move: bool [from leaf, to leaf]."""
        leaves = len(counts)
        legal = np.broadcast_to((counts > 0)[:, None], (leaves, leaves)).copy()
        for level, wanted in enumerate(self.at_least):
            nodes = self.up[level]
            found = self.at(level, counts)
            can_give = (found > self.low[level])[nodes]
            can_take = (found < self.high[level])[nodes]
            stays = nodes[:, None] == nodes[None, :]
            legal &= stays | (can_give[:, None] & can_take[None, :])
            if wanted:
                racks = int((found > 0).sum())
                after = racks - (found == 1)[nodes][:, None] + (found == 0)[nodes][None, :]
                legal &= stays | (after >= wanted)
        return legal


def parts(rows: NDArray[np.int64], width: int, cells: int = 1 << 23) -> list[NDArray[np.int64]]:
    """Rows in parts whose tables of `width` columns fit into memory."""
    return np.array_split(rows, 1 + len(rows) * width // cells)
