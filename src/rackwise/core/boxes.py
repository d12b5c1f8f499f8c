"""Computes the range of replicas that each rack may hold under the rules of one topic.

Every rack has a box `low..high`; the root holds exactly the replicas of the partition. The boxes
are computed from the coarsest level down:

```
off, at_least   0..replicas
distinct        0..1
even            least and greatest share that water filling gives, over the parent's box
count           the given numbers; racks that are not named: 0..0 (none) or 0..replicas (any);
                at most 1 if the level is distinct as well
```

`even` divides what the nearest coarser level that is not `off` holds. No box is higher than the
number of usable brokers below it. Then each box is tightened by its siblings: what they cannot hold
is forced on it, and what they must hold is not available to it:

```
3 replicas, distinct, racks /a /b /c     0..1 each; the other two hold 2 at most, so 1..1 each
3 replicas, even, racks /e /w            1..2 each
below /e (1..2), even over /e/a /e/b     0..1 each from 1, 1..1 from 2: 0..1
```

What this does not do: say which sets of brokers are legal (`at_least` and `pin` are no boxes), or
check a placement: the audit compares below the number of replicas that a rack actually holds.
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
    """The boxes of one level."""

    low: NDArray[np.int64]
    """Least number of replicas, [nodes]."""
    high: NDArray[np.int64]
    """Greatest number of replicas, [nodes]."""


def boxes(
    tree: RackTree, usable: Sequence[NDArray[np.int64]], rules: TopicRules, replicas: int
) -> tuple[Boxes, ...] | None:
    """The boxes of every level, coarsest first; None if the rules cannot be met.

    `usable`: per level, the usable brokers below each node. `replicas`: of the partition.
    """
    found: list[Boxes] = []
    root = Boxes(np.array([replicas]), np.array([replicas]))
    for level in range(tree.depth):
        raw = _boxes_of_level(tree, usable, rules, replicas, level, [root, *found])
        if raw is None:
            return None
        box = _tighten(
            Boxes(raw.low, np.minimum(raw.high, usable[level])),
            found[-1] if found else root,
            tree.parents[level],
        )
        if (box.low > box.high).any():
            return None
        found.append(box)
    return tuple(found)


def level_above(rules: TopicRules, counted: set[int], level: int) -> int:
    """The nearest coarser level in `counted` or not `off`; -1 is the root."""
    coarser_levels = (
        coarser
        for coarser in range(level - 1, -1, -1)
        if coarser in counted or rules.spread[coarser] != "off"
    )
    return next(coarser_levels, -1)


def counted_racks(tree: RackTree, rules: TopicRules) -> list[tuple[int, int]]:
    """Level and node of each rack that `count` names; racks missing from the tree are left out."""
    return [place for rack in rules.count if (place := tree.find(rack.rack)) is not None]


def _boxes_of_level(
    tree: RackTree,
    usable: Sequence[NDArray[np.int64]],
    rules: TopicRules,
    replicas: int,
    level: int,
    above: Sequence[Boxes],
) -> Boxes | None:
    """The boxes from the rule of one level alone; `above`: the root and the coarser levels."""
    counted = counted_racks(tree, rules)
    levels = {place[0] for place in counted}
    nodes = len(tree.names[level])
    if level in levels:
        box = Boxes(np.zeros(nodes, dtype=np.int64), np.full(nodes, replicas, dtype=np.int64))
        if rules.count_others == "none":
            box.high[~_overlaps(tree, counted, level)] = 0
        for rack, (at, node) in zip(rules.count, counted, strict=True):
            if at == level:
                box.low[node] = rack.min
                box.high[node] = replicas if rack.max is None else rack.max
        if rules.spread[level] == "distinct":
            box.high[:] = np.minimum(box.high, 1)
        return box
    if rules.spread[level] == "even":
        parent = level_above(rules, levels, level)
        return _even_boxes(tree.ancestors(level, parent), usable[level], above[parent + 1])
    most = 1 if rules.spread[level] == "distinct" else replicas
    return Boxes(np.zeros(nodes, dtype=np.int64), np.full(nodes, most, dtype=np.int64))


def _overlaps(tree: RackTree, counted: Sequence[tuple[int, int]], level: int) -> NDArray[np.bool_]:
    """Which nodes of a level are in, or contain, a counted rack (level, node), bool [nodes]."""
    found = np.zeros(len(tree.names[level]), dtype=np.bool_)
    for at, node in counted:
        if at <= level:
            found |= tree.ancestors(level, at) == node
        else:
            found[tree.ancestors(at, level)[node]] = True
    return found


def _even_boxes(up: NDArray[np.int64], usable: NDArray[np.int64], parents: Boxes) -> Boxes | None:
    """The boxes of even shares below each parent, for every number that the parent may hold.

    `up`: index of each node's parent, int64 [nodes]; `usable`: brokers below each node, int64
    [nodes]. None if a parent cannot hold any number that its box allows.
    """
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
        # table: int64 [numbers of the parent, children, 2]; the last axis is (low, high).
        table = np.array(shares, dtype=np.int64).reshape(len(shares), len(children), 2)
        low[children], high[children] = table[..., 0].min(axis=0), table[..., 1].max(axis=0)
    return Boxes(low, high)


def _tighten(box: Boxes, parents: Boxes, up: NDArray[np.int64]) -> Boxes:
    """The boxes, narrowed to what the parent's box and the siblings' boxes leave.

    `up`: index of each box's parent, int64 [nodes].
    """
    all_low = np.bincount(up, box.low, len(parents.low)).astype(np.int64)
    all_high = np.bincount(up, box.high, len(parents.low)).astype(np.int64)
    low = np.maximum(box.low, (parents.low - all_high)[up] + box.high)
    high = np.minimum(box.high, (parents.high - all_low)[up] + box.low)
    return Boxes(low, high)
