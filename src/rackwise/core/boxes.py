"""The range of replicas that each rack may hold, from the rules of one topic.

Every rack has a box `low..high`; the root holds exactly the replicas of the partition. From the
coarsest level down:

```
off, at_least   0..replicas
distinct        0..1
even            least and greatest share that water filling gives over the parent's box
count           the numbers given; racks beside the counted ones 0..0 (none) or free (any);
                at a level that is distinct as well, at most 1
```

`even` shares out what the nearest coarser level that is not off holds. No box is higher than the
usable brokers below it; then what the siblings cannot take is forced, and what they must take is
not there:

```
3 replicas, distinct, racks /a /b /c     0..1 each; the other two take 2 at most, so 1..1 each
3 replicas, even, racks /e /w            1..2 each
below /e (1..2), even over /e/a /e/b     0..1 each from 1, 1..1 from 2: 0..1
```

What this does not do: say which sets of brokers are legal (at_least and pins are not boxes), or
judge a placement: an audit asks what is even below the number that is really there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.racks import water_fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.policy import TopicRules
    from rackwise.core.racks import RackTree


class Boxes(NamedTuple):
    """`low`, `high`: int64 [nodes] of one level."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


def boxes(
    tree: RackTree, usable: Sequence[NDArray[np.int64]], rules: TopicRules, replicas: int
) -> tuple[Boxes, ...] | None:
    """Boxes of every level, coarsest first; None if the rules cannot be met.

    `usable`: usable brokers below each node, per level; `replicas`: of the partition.
    """
    found: list[Boxes] = []
    root = Boxes(np.array([replicas]), np.array([replicas]))
    for level in range(tree.depth):
        raw = _raw(tree, usable, rules, replicas, level, [root, *found])
        if raw is None:
            return None
        box = _tightened(
            Boxes(raw.low, np.minimum(raw.high, usable[level])),
            found[-1] if found else root,
            tree.parents[level],
        )
        if (box.low > box.high).any():
            return None
        found.append(box)
    return tuple(found)


def level_above(rules: TopicRules, counted: set[int], level: int) -> int:
    """The nearest coarser level that is counted or not off; -1 is the root."""
    judged = (
        coarser
        for coarser in range(level - 1, -1, -1)
        if coarser in counted or rules.spread[coarser] != "off"
    )
    return next(judged, -1)


def counted_racks(tree: RackTree, rules: TopicRules) -> list[tuple[int, int]]:
    """Level and node of each rack that `count` names, those the tree lacks left out."""
    return [place for rack in rules.count if (place := tree.find(rack.rack)) is not None]


def _raw(
    tree: RackTree,
    usable: Sequence[NDArray[np.int64]],
    rules: TopicRules,
    replicas: int,
    level: int,
    above: Sequence[Boxes],
) -> Boxes | None:
    """What the rule of one level says by itself; `above`: the root and the coarser levels."""
    counted = counted_racks(tree, rules)
    levels = {place[0] for place in counted}
    nodes = len(tree.names[level])
    if level in levels:
        box = Boxes(np.zeros(nodes, dtype=np.int64), np.full(nodes, replicas, dtype=np.int64))
        if rules.count_others == "none":
            box.high[~_touching(tree, counted, level)] = 0
        for rack, (at, node) in zip(rules.count, counted, strict=True):
            if at == level:
                box.low[node] = rack.min
                box.high[node] = replicas if rack.max is None else rack.max
        if rules.spread[level] == "distinct":
            box.high[:] = np.minimum(box.high, 1)
        return box
    if rules.spread[level] == "even":
        parent = level_above(rules, levels, level)
        return _even(tree.ancestors(level, parent), usable[level], above[parent + 1])
    most = 1 if rules.spread[level] == "distinct" else replicas
    return Boxes(np.zeros(nodes, dtype=np.int64), np.full(nodes, most, dtype=np.int64))


def _touching(tree: RackTree, counted: Sequence[tuple[int, int]], level: int) -> NDArray[np.bool_]:
    """Which nodes of a level are in, or hold, a counted rack (level, node)."""
    found = np.zeros(len(tree.names[level]), dtype=np.bool_)
    for at, node in counted:
        if at <= level:
            found |= tree.ancestors(level, at) == node
        else:
            found[tree.ancestors(at, level)[node]] = True
    return found


def _even(up: NDArray[np.int64], usable: NDArray[np.int64], parents: Boxes) -> Boxes | None:
    low, high = np.zeros_like(usable), np.zeros_like(usable)
    for parent in range(len(parents.low)):
        children = np.flatnonzero(up == parent)
        shares = [
            share
            for count in range(int(parents.low[parent]), int(parents.high[parent]) + 1)
            if (share := water_fill(usable[children].tolist(), count)) is not None
        ]
        if not shares:
            return None
        table = np.array(shares, dtype=np.int64).reshape(len(shares), len(children), 2)
        low[children], high[children] = table[..., 0].min(axis=0), table[..., 1].max(axis=0)
    return Boxes(low, high)


def _tightened(box: Boxes, parents: Boxes, up: NDArray[np.int64]) -> Boxes:
    """What siblings cannot take is forced; what they must take is not there."""
    all_low = np.bincount(up, box.low, len(parents.low)).astype(np.int64)
    all_high = np.bincount(up, box.high, len(parents.low)).astype(np.int64)
    low = np.maximum(box.low, (parents.low - all_high)[up] + box.high)
    high = np.minimum(box.high, (parents.high - all_low)[up] + box.low)
    return Boxes(low, high)
