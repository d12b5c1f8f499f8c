"""The tree of racks that multi-level placers use: root, racks, brokers.

Goals: placers and the checks of placements use the same tree; the order of children depends only on
ids and texts, and never on the order of the input.

Each prefix of a rack path is a node, and each broker is a leaf. Children are ordered: brokers by
id, then racks by UTF-16 code units, as Java orders texts. Inner nodes are numbered in pre-order,
and leaves from left to right. Therefore the brokers below a node are a contiguous range of leaves:

```
1 /eu/a    2 /eu/b    3 /eu/a    4 /us          leaves  0  1  2  3
                                                brokers 1  3  2  4
root 0 ─┬─ /eu 1 ─┬─ /eu/a 2 ─┬─ broker 1       /eu: leaves 0..2, capacity 3
        │         │           └─ broker 3
        │         └─ /eu/b 3 ─── broker 2
        └─ /us 4 ─── /us/us 5 ── broker 4       padded: /us is as deep as the others
```

Padding repeats the last segment of a short path, as in the tree of the audit. Without padding, a
node can have brokers and racks as children. A broker with the rack `/` is a child of the root. If
no broker has a rack, all brokers are children of the root. If only some brokers have no rack, these
brokers share one unnamed child of the root, which comes before the named children. This is KRaft's
rule.

This module does not decide how many replicas a child takes.

Source: KIP-879 (the tree of rack definitions), KIP-36 (`broker.rack`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, groupby
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rackwise.core.odd_racks import settle_racks
from rackwise.core.racks import NO_RACK, padded, prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Broker

Member: TypeAlias = "tuple[tuple[str, ...], int]"
"""The segments of a broker's rack, and its id."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RackNode:
    """A rack, or a broker if it has no children."""

    name: str
    """The rack's text, "" for the root, the id for a broker."""
    number: int
    """0, 1, .. for inner nodes in pre-order; -1, -2, .. for leaves from left to right, so that one
    list has a place for each node."""
    first: int
    """The first leaf below the node."""
    capacity: int
    """The number of brokers below the node: the leaves first .. first + capacity - 1."""
    children: tuple[RackNode, ...] = ()

    @property
    def capacities(self) -> tuple[int, ...]:
        """The number of brokers below each child."""
        return tuple(child.capacity for child in self.children)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tree:
    """The whole tree of racks and brokers."""

    root: RackNode
    brokers: NDArray[np.int32]
    """Broker id of each leaf, int32 [brokers]."""
    inner: tuple[RackNode, ...]
    """Inner nodes in pre-order."""

    @classmethod
    def of(cls, brokers: Sequence[Broker], *, pad: bool) -> Tree:
        """From brokers in any order; `pad` brings all paths to one depth.

        A broker whose rack is odd (`core.odd_racks`) has none.
        """
        racks = settle_racks((broker.id, broker.rack) for broker in brokers).racks
        named = [rack for rack in racks.values() if rack is not None]
        is_path = any(rack.is_path for rack in named)
        depth = max((len(rack.levels) for rack in named), default=0) if pad else 0
        without = ("",) if named else ()
        members = sorted(
            (
                without if rack is None else padded(rack.levels, depth),
                id_,
            )
            for id_, rack in racks.items()
        )
        ids: list[int] = []
        inner: list[RackNode] = []
        root = _node(members, 0, is_path=is_path, ids=ids, numbers=count(), inner=inner)
        return cls(
            root=root,
            brokers=np.array(ids, dtype=np.int32),
            inner=tuple(sorted(inner, key=lambda node: node.number)),
        )

    def leaves(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """The leaf of each broker id, -1 if the tree lacks it; same shape as `ids`."""
        order = np.argsort(self.brokers)
        ordered = self.brokers[order]
        found = np.minimum(np.searchsorted(ordered, ids), len(order) - 1)
        return np.where(ordered[found] == ids, order[found], -1)

    def replica_counts(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """How often each leaf's broker occurs in `ids`, int64 [brokers]; others are skipped."""
        leaves = self.leaves(ids).ravel()
        return np.bincount(leaves[leaves >= 0], minlength=len(self.brokers)).astype(np.int64)


def utf16(text: str) -> bytes:
    """Sorts texts as Java does, which differs from Python beyond the basic plane."""
    return text.encode("utf-16-be", "surrogatepass")


def _node(
    members: Sequence[Member],
    depth: int,
    *,
    is_path: bool,
    ids: list[int],
    numbers: Iterator[int],
    inner: list[RackNode],
) -> RackNode:
    """The node of members that share their first `depth` segments."""
    number, first = next(numbers), len(ids)
    here = sorted(id_ for path, id_ in members if len(path) == depth)
    children = [
        RackNode(name=str(id_), number=-1 - first - place, first=first + place, capacity=1)
        for place, id_ in enumerate(here)
    ]
    ids.extend(here)
    deeper = sorted(
        (member for member in members if len(member[0]) > depth),
        key=lambda member: utf16(member[0][depth]),
    )
    for _, group in groupby(deeper, key=lambda member: member[0][depth]):
        children.append(
            _node(list(group), depth + 1, is_path=is_path, ids=ids, numbers=numbers, inner=inner)
        )
    path = members[0][0][:depth] if members else ()
    node = RackNode(
        name=_named(path, is_path=is_path),
        number=number,
        first=first,
        capacity=len(ids) - first,
        children=tuple(children),
    )
    inner.append(node)
    return node


def _named(path: tuple[str, ...], *, is_path: bool) -> str:
    if not path:
        return ""
    return prefix(path, len(path), is_path=is_path) if path[0] else NO_RACK
