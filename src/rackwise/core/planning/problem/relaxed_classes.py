"""Partition classes of partitions that break a rule, and whose rule need not be repaired.

Goals, in order: the replicas that a partition keeps are legal as they are; a new replica goes where
the rule wants it; no rule is broken more than before.

The boxes of a class are changed for the numbers of replicas that the partition keeps:

```
3 replicas, one in each of /a /b /c          kept       boxes of /a /b /c
two in /a, the third on a drained broker     2 0 0      2..2  0..1  0..1     one more, in /b or /c
all in /a, none must move                    3 0 0      1..3  0..1  0..1     as it is, or better
four in /a, one to drop                      4 0 0      1..4  0..0  0..0     dropped in /a
```

If replicas are added, a rack that holds too many takes no more, and racks that hold too few come
first: if there are fewer new replicas than are missing, only such racks take one. If replicas are
dropped, racks that hold too many give first. This is decided from the coarsest level down: what a
rack may take limits the racks in it.

`at_least` becomes the number of distinct racks that the new replicas can reach.

Limits: below a rack that gets only a part of what it lacks, its own racks are filled in any order
up to what the rules allow, unless they lack more together than it gets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.problem.partition_class import PartitionClass


def relaxed_class(
    class_: PartitionClass, kept: NDArray[np.int64], room: NDArray[np.int64]
) -> PartitionClass:
    """The class of partitions that keep these numbers of replicas.

    `kept`: replicas in each finest rack, `room`: the most that each can hold; int64 [leaves].
    """
    missing = class_.replicas - int(kept.sum())
    held = [class_.at(level, kept) for level in range(len(class_.up))]
    if missing > 0:
        most = [class_.at(level, room) for level in range(len(class_.up))]
        low, high = _boxes_to_grow(class_, held, most)
    elif missing < 0:
        low, high = _boxes_to_shrink(class_, held)
    else:
        low = [np.minimum(*pair) for pair in zip(class_.low, held, strict=True)]
        high = [np.maximum(*pair) for pair in zip(class_.high, held, strict=True)]
    reachable = [int((found > 0).sum()) + max(missing, 0) for found in held]
    return replace(
        class_,
        low=tuple(low),
        high=tuple(high),
        at_least=tuple(map(min, class_.at_least, reachable)),
    )


def _boxes_to_grow(
    class_: PartitionClass, held: list[NDArray[np.int64]], most: list[NDArray[np.int64]]
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Boxes in which no rack loses a replica, and new ones go where replicas are missing."""
    low = [np.maximum(*pair) for pair in zip(class_.low, held, strict=True)]
    high = [np.maximum(*pair) for pair in zip(class_.high, held, strict=True)]
    high = [np.minimum(*pair) for pair in zip(high, most, strict=True)]
    above = _parents(class_)
    finest = len(held) - 1
    for level in range(finest, -1, -1):
        if level < finest:
            below = above[level + 1]
            high[level] = np.minimum(high[level], _sums(below, high[level + 1], len(high[level])))
            low[level] = np.maximum(low[level], _sums(below, low[level + 1], len(low[level])))
        low[level] = np.minimum(low[level], high[level])
    limits = np.array([class_.replicas])
    # Whether each node is below a rack that cannot get all that is missing in it.
    is_short = np.zeros(1, dtype=np.bool_)
    for level, parents in enumerate(above):
        is_over = (_sums(parents, low[level], len(limits)) > limits)[parents]
        inherits = is_short[parents]
        high[level] = np.where(is_over, low[level], high[level])
        low[level] = np.where(is_over | inherits, held[level], low[level])
        limits, is_short = high[level], is_over | inherits
    return low, high


def _boxes_to_shrink(
    class_: PartitionClass, held: list[NDArray[np.int64]]
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Boxes in which no rack gains a replica, and racks with too many give first."""
    low = [np.minimum(*pair) for pair in zip(class_.low, held, strict=True)]
    high = [np.minimum(*pair) for pair in zip(class_.high, held, strict=True)]
    above = _parents(class_)
    for level in range(len(held) - 2, -1, -1):
        below = above[level + 1]
        high[level] = np.minimum(high[level], _sums(below, high[level + 1], len(high[level])))
    wanted = np.array([class_.replicas])
    # Whether each node is below a rack that keeps some of what it has too many.
    is_full = np.zeros(1, dtype=np.bool_)
    for level, parents in enumerate(above):
        is_under = (_sums(parents, high[level], len(wanted)) < wanted)[parents]
        inherits = is_full[parents]
        low[level] = np.where(is_under & ~inherits, high[level], low[level])
        high[level] = np.where(is_under | inherits, held[level], high[level])
        wanted, is_full = low[level], is_under | inherits
    return low, high


def _parents(class_: PartitionClass) -> list[NDArray[np.int64]]:
    """For each level, the node above each node; 0 at the coarsest level."""
    found = [np.zeros(len(class_.low[0]), dtype=np.int64)]
    for coarse, fine in zip(class_.up, class_.up[1:], strict=False):
        found.append(coarse[np.flatnonzero(np.diff(fine, prepend=-1))])
    return found


def _sums(parents: NDArray[np.int64], values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The sum of the values below each of `count` nodes."""
    return np.bincount(parents, values, count).astype(np.int64)
