"""Ring: the multi-level algorithm of KIP-879 exactly as its text describes it, for reference.

Goals, in order: the rows of the KIP's algorithm; if the algorithm repeats a broker in a row, one of
three reactions, which the caller selects.

The algorithm. Every node of the rack tree has a pointer to one of its children. A pick descends
from the root: it selects the child at the pointer, advances the pointer by one, and continues in
that child until it reaches a broker. Each row takes the next picks, one for each replica. The
pointers keep their positions from row to row. Of a new topic, the pointer of each node points
towards a random broker below the node. Therefore every broker is equally likely to lead partition
0. `start` points all nodes at one child instead, as in the drawing:

```
racks /a {1, 2}  /b {3}      root points to a, a to 1, b to 3
pick 1  root a, a 1   -> 1        pick 3  root a, a 2 -> 2       rows of two: 1 3
pick 2  root b, b 3   -> 3        pick 4  root b, b 3 -> 3                    2 3
```

Closed form: pick q at a node of c children whose pointer starts at s goes to child (q + s) mod c,
and is pick q div c there. Therefore a child gets every c-th pick of its parent, and strided writes
fill the rows, node by node.

If racks are uneven enough, a node assigns more replicas to a child than the child has brokers. Then
`skip` decides:

```
none      DuplicateReplica: the text, taken at its word
subtree   a child without a free broker is passed over where it stands, its turn is used up
root      a repeated broker is dropped and the pick starts again at the root; levels lose evenness
```

Added replicas and added partitions continue where the last partition ended. In the KIP, Kafka's
controller keeps the pointers. This placer finds them again in the existing rows: each pointer is
one after the child that holds the last replica below the node. A node without a replica gets a
random pointer, the same as for a new topic if the seed is the same.

```
rows 1 3, 2 3    last below the root: 3, so it points to a    last below a: 2, so it points to 1
```

The rows of a topic that ring placed with `skip` none or subtree on the same brokers then continue
as if all partitions had been created at once. Dropped picks of `root` and the order in which
replicas were added earlier leave no trace in the rows. With a `start`, the pointers are computed
from it, and the existing rows do not count.

The placer keeps the known faults of the algorithm. On even trees, only every
gcd(brokers, replicas)-th broker ever leads. There are few different replica sets. One other broker
inherits all leaderships of a failed broker. On uneven trees, a broker's share is the product of
1/children along its path.

This placer ignores loads and does not pad short paths. A node can have brokers and racks as
children.

Source: KIP-879 (multi-level rack assignment), never released in Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rackwise.core.errors import DuplicateReplica, InvalidConfig, InvalidRack
from rackwise.core.placement.placers.even_leaders import TURNS, splitmix64
from rackwise.core.placement.placers.rack_tree import Tree
from rackwise.core.placement.placers.resize import existing_rows, resized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Broker
    from rackwise.core.placement.model import Draws, Request
    from rackwise.core.placement.placers.rack_tree import RackNode

SKIPS = ("subtree", "root", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """KIP-879's rule. Raises `InvalidConfig` for other values."""

    name: ClassVar[str] = "ring"
    start: int | None = None
    """First pointer of every node; None: from the existing rows, or random for a new topic."""
    skip: Literal["subtree", "root", "none"] = "subtree"
    """The reaction if the rule repeats a broker."""

    def __post_init__(self) -> None:
        if self.start is not None and (type(self.start) is not int or self.start < 0):
            raise InvalidConfig(
                f"invalid start: expected an integer >= 0, got {self.start!r}",
                wanted=0,
                had=self.start,
                hint="0 is the first child of each node",
            )
        if self.skip not in SKIPS:
            raise InvalidConfig(
                f"invalid skip: expected one of {', '.join(SKIPS)}, got {self.skip}",
                wanted=", ".join(SKIPS),
                had=self.skip,
                hint="use subtree: it repeats no broker and spreads each level as far as possible",
            )

    def place(self, request: Request, /) -> NDArray[np.int32]:
        """The next rows of the rule, int32 [partitions, replication].

        Raises `InvalidRack` for racks that are not paths, `DuplicateReplica` with skip none, and
        `InvalidConfig` if pointers must be drawn without `rng`.
        """
        first = request.first_partition
        walk = self._walk(_slashed(request.brokers), request, first, request.replication)
        nothing = np.empty((request.partitions, 0), dtype=np.int32)
        return walk.extended(nothing, request.replication, first=first)

    def change(self, request: Request, /) -> NDArray[np.int32]:
        """The existing rows with `request.replication` replicas; leaders and old places stay.

        Each row takes the picks after those of the last row. Raises what `place` raises.
        """
        tree, rows = _slashed(request.brokers), existing_rows(request)
        first, more = request.first_partition, request.replication - rows.shape[1]
        if more <= 0:
            return resized(tree, rows, request.replication, first=first)
        walk = self._walk(tree, request, first + len(rows), rows.shape[1])
        return walk.extended(rows, more, first=first)

    def _walk(self, tree: Tree, request: Request, partitions: int, replication: int) -> _Walk:
        """The pointers after the first `partitions` rows of `replication` replicas."""
        if self.start is None and request.existing is not None:
            return _Walk(tree, _pointers_after(tree, request.existing.rows, request.rng), self.skip)
        pointers = _first_pointers(tree, self.start, request.rng)
        walk = _Walk(tree, _settled(pointers), self.skip)
        walk.replay(partitions, replication)
        return walk


def _slashed(brokers: Sequence[Broker]) -> Tree:
    for broker in brokers:
        if broker.rack is not None and not broker.rack.is_path:
            raise InvalidRack(
                f"ring wants rack paths that begin with /; "
                f"broker {broker.id} has the name {broker.rack}",
                wanted="/level/level",
                had=broker.rack.text,
                hint="write racks as paths such as /eu/a, or place with levels or kip36",
                where=f"broker {broker.id}",
            )
    return Tree.of(brokers, pad=False)


class _Walk:
    """The pointers of all nodes, and the operations on them; leaves represent brokers."""

    def __init__(self, tree: Tree, pointers: list[int], skip: str) -> None:
        self._tree = tree
        self._skip = skip
        self._pointers = pointers

    def replay(self, partitions: int, replication: int) -> None:
        """Move the pointers past rows that were placed before."""
        if self._skip == "none":
            self._advance(self._tree.root, partitions * replication)
        elif partitions:
            self.extended(np.empty((partitions, 0), dtype=np.int32), replication, first=0)

    def extended(self, rows: NDArray[np.int32], more: int, *, first: int) -> NDArray[np.int32]:
        """The rows with `more` picks each; `first`: partition of row 0, used in errors."""
        partitions, old = rows.shape
        picks = np.empty(partitions * more, dtype=np.int32)
        self._pick(self._tree.root, picks, 0)
        made = np.concatenate((rows, picks.reshape(partitions, more)), axis=1)
        ordered = np.sort(made, axis=1)
        repeats = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        clean = int(repeats[0]) if len(repeats) else partitions
        if clean < partitions and self._skip == "none":
            _refuse(made[clean].tolist(), first + clean)
        self._advance(self._tree.root, clean * more)
        leaves = self._tree.leaves(rows[clean:]).tolist()
        for row, held in enumerate(leaves, start=clean):
            made[row, old:] = self._tree.brokers[self._next_picks(held, more)]
        return made

    def _pick(self, node: RackNode, cells: NDArray[np.int32], picked: int) -> None:
        """Fill the cells, a strided view, with the picks of a node from number `picked` on."""
        size = len(node.children)
        if not size:
            cells[...] = self._tree.brokers[node.first]
            return
        for place, child in enumerate(node.children):
            begin = (place - self._pointers[node.number] - picked) % size
            self._pick(child, cells[begin::size], (picked + begin) // size)

    def _advance(self, node: RackNode, picks: int) -> None:
        """Advance the pointers of a node and of all nodes below it by so many picks."""
        size, pointer = len(node.children), self._pointers[node.number]
        for place, child in enumerate(node.children):
            if child.children:
                begin = (place - pointer) % size
                self._advance(child, (picks - begin + size - 1) // size)
        self._pointers[node.number] = (pointer + picks) % size

    def _next_picks(self, held: Sequence[int], more: int) -> list[int]:
        """The next picks of a row that already holds these leaves, one by one."""
        row = list(held)
        while len(row) < len(held) + more:
            leaf = self._pick_leaf(row)
            if leaf not in row:
                row.append(leaf)
        return row[len(held) :]

    def _pick_leaf(self, row: Sequence[int]) -> int:
        """One pick from the root down; with skip subtree, full children are skipped."""
        node = self._tree.root
        while node.children:
            child = node.children[self._pointers[node.number]]
            self._pointers[node.number] = (self._pointers[node.number] + 1) % len(node.children)
            if self._skip == "root" or _held(child, row) < child.capacity:
                node = child
        return node.first


def _held(node: RackNode, row: Sequence[int]) -> int:
    return sum(node.first <= leaf < node.first + node.capacity for leaf in row)


def _first_pointers(tree: Tree, start: int | None, rng: Draws | None) -> list[int | None]:
    """The pointer of each inner node of a new topic; None where it must be drawn without `rng`."""
    if start is not None:
        return [start % len(node.children) for node in tree.inner]
    if rng is None:
        return [None] * len(tree.inner)
    # One draw and a hash: the first draws of neighbouring seeds of `java.util.Random` are equal.
    turn = rng.randrange(TURNS)
    return [_random_child(node, turn) for node in tree.inner]


def _random_child(node: RackNode, turn: int) -> int:
    """The child that has a random broker; each broker below the node is equally likely."""
    leaf = node.first + splitmix64(node.number, turn) % node.capacity
    return sum(child.first <= leaf for child in node.children) - 1


def _pointers_after(tree: Tree, rows: NDArray[np.int32], rng: Draws | None) -> list[int]:
    """The pointer of each inner node after the last replica of the rows.

    `rows`: int32 [partitions, replication]; brokers that the tree lacks are skipped.
    """
    leaves = tree.leaves(rows).ravel()
    known = np.flatnonzero(leaves >= 0)
    # (brokers,) of int64: the cell of the last replica on each leaf, -1 for none
    last = np.full(len(tree.brokers), -1, dtype=np.int64)
    np.maximum.at(last, leaves[known], known)
    pointers = _first_pointers(tree, None, rng)
    for node in tree.inner:
        cells = [last[each.first : each.first + each.capacity].max() for each in node.children]
        if max(cells) >= 0:
            pointers[node.number] = (int(np.argmax(cells)) + 1) % len(cells)
    return _settled(pointers)


def _settled(pointers: list[int | None]) -> list[int]:
    """The pointers. Raises `InvalidConfig` if one must be drawn and there is no `rng`."""
    settled = [pointer for pointer in pointers if pointer is not None]
    if len(settled) == len(pointers):
        return settled
    raise InvalidConfig(
        "invalid start: expected a start or an rng, got neither",
        wanted="start or rng",
        had=None,
        hint="give start=0, or a seeded rng",
    )


def _refuse(row: Sequence[int], partition: int) -> None:
    twice = next(broker for place, broker in enumerate(row) if broker in row[:place])
    raise DuplicateReplica(
        f"the rule of KIP-879 gives partition {partition} broker {twice} twice: "
        f"{':'.join(map(str, row))}",
        wanted=len(row),
        had=len(set(row)),
        hint="use skip=subtree, or place with levels",
    )
