r"""Trees over the brokers of a rack: all brokers except a few, in few arcs.

Goals, in order: exact; arcs that grow with the logarithm of the brokers, however many sets of
brokers are left out.

The brokers of a rack that take replicas are the leaves of a binary tree. Its root is the hub of the
rack. A partition that holds brokers of the rack can get a new replica on the others only. These are
the largest subtrees without a held broker:

```
                 root                          held: broker 3
         /                  \                   left out: the path from the root to 3
     1 2 3 4              5 6 7 8              found: [1 2], [4], [5 6 7 8]
    /       \            /       \
  1 2      3 4         5 6      7 8
```

The search starts at each held broker and goes up: at each level, the sibling of the node on the
path is found, unless it is on the path of another held broker.

A position is the index of a broker among the leaves of its tree. A node at height h covers the
positions `p << h` to `((p + 1) << h) - 1`.

Limits: this module numbers no nodes of a network (`network` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Subtrees(NamedTuple):
    """Nodes of trees, each found for one set of held brokers."""

    sets: NDArray[np.int64]
    """The set of each node, an index, int64 [nodes]."""
    heights: NDArray[np.int64]
    """Height of each node, 0 for a leaf, int64 [nodes]."""
    places: NDArray[np.int64]
    """Index of each node among those of its height, int64 [nodes]."""


def tree_height(count: int) -> int:
    """The height of the root of a tree of so many leaves, at least 1."""
    return max(1, (count - 1).bit_length())


def width_at(count: int, height: int) -> int:
    """The number of nodes of a height in a tree of `count` leaves."""
    return -(-count >> height)


def subtrees_without(held: NDArray[np.int64], count: int) -> Subtrees:
    """The largest subtrees without a held position, for each set of them.

    `held`: positions, int64 [sets, any], -1 = none; `count`: leaves of the tree. A set without a
    held position has no subtree: its node is the root.
    """
    height = tree_height(count)
    sets, column = np.nonzero(held >= 0)
    paths = np.unique(sets << height | held[sets, column])
    found = [np.zeros((3, 0), dtype=np.int64)]
    for level in range(height):
        beside = paths ^ 1
        beside = beside[~np.isin(beside, paths, assume_unique=True)]
        place = beside & ((1 << (height - level)) - 1)
        exists = place << level < count
        owner = beside[exists] >> (height - level)
        found.append(np.stack([owner, np.full_like(owner, level), place[exists]]))
        paths = np.unique(paths >> 1)
    return Subtrees(*np.concatenate(found, axis=1))
