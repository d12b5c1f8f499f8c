"""Levels: spreads replicas as far as the racks allow at every level, then as evenly as possible.

Goals, in order. An earlier goal always takes priority over a later one:

1. Level-optimal. In every partition, at every node of the rack tree, water filling splits the
   replicas of the node among its children: no child has two more than another child that still has
   a free broker. Therefore a partition survives the loss of any rack, at any level, if any
   placement of it can survive that loss.
2. Even replicas. With `balance="brokers"` the fullest broker holds as few replicas as a
   level-optimal placement allows. Within this limit, the total of each node is split in proportion
   to the brokers below its children, rounded up or down. With `balance="racks"`, the total is split
   evenly among the children, regardless of their size. On racks of unequal size, only one of the
   two is possible. Both keep goal 1.
3. Even leaders: no chain of preferred-leader swaps inside the sets makes them more even.
4. The replicas of other topics and random numbers decide ties only. The placer keeps no state.

Constraints: no broker twice in a row; the same request gives the same rows.

The algorithm walks down the tree. At a node the partitions form at most two groups, of b and b + 1
replicas, so every child holds `base` or `base + 1` of any of them, and there are two groups again:

```
racks a (2 brokers) b (2) c (1), 50 partitions, 2 replicas: base 0, 100 odd replicas
shares        40 40 20 in proportion to 2 2 1         (balance racks: 34 33 33)
columns       each rack's run laid on 50 columns, round and round: no partition meets a rack twice
below a       its 40 partitions hold one replica each: broker 0 takes 20, broker 1 takes 20
```

`apportion` splits the totals within the bounds of goal 1 and within the rooms that the lowest
possible maximum load leaves (`capacity`). `column_runs` selects the partitions that get the odd
replicas. Then `even_leaders` selects the leaders. Adding partitions works in the same way and
counts the existing replicas. Loops run over nodes and blocks. Operations on single partitions use
numpy.

This placer does not move existing replicas (a planner does), does not weigh partitions by bytes,
and guarantees nothing for rows of other placers.

Source: KIP-36 and KIP-879 (goals). The algorithm is Rackwise's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rackwise.core.errors import InvalidConfig
from rackwise.core.placement.placers.apportion import apportion
from rackwise.core.placement.placers.capacity import WaterTable, least_rooms
from rackwise.core.placement.placers.column_runs import owners, run_partitions
from rackwise.core.placement.placers.even_leaders import TURNS, tie_ranks, with_leaders
from rackwise.core.placement.placers.rack_tree import Tree
from rackwise.core.placement.placers.resize import existing_rows, resized

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.placement.model import Draws, Request
    from rackwise.core.placement.placers.apportion import Tie
    from rackwise.core.placement.placers.rack_tree import RackNode

    Group = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The default placer: spread at every rack level, then as even as possible.

    `balance`: what is even if racks differ in size, brokers or racks.

    Raises `InvalidConfig` for another balance.
    """

    name: ClassVar[str] = "levels"
    balance: Literal["brokers", "racks"] = "brokers"
    """What is even if racks differ in size."""

    def __post_init__(self) -> None:
        if self.balance not in {"brokers", "racks"}:
            raise InvalidConfig(
                f"invalid balance: expected brokers or racks, got {self.balance}",
                wanted="brokers, racks",
                had=self.balance,
                hint="use brokers for even brokers, racks for even racks",
            )

    def place(self, request: Request, /) -> NDArray[np.int32]:
        """Level-optimal rows, int32 [partitions, replication].

        Raises `NotEnoughBrokers` for more replicas than brokers.
        """
        tree = Tree.of(request.brokers, pad=True)
        layout = _Layout(tree, request, is_by_racks=self.balance == "racks")
        rows = layout.rows()
        led = np.zeros(len(tree.brokers), dtype=np.int64)
        if request.existing is not None:
            led = tree.replica_counts(request.existing.leaders)
        load = {} if request.load is None else request.load.leaders
        ranks = tie_ranks(_by_leaf(tree, load), layout.turn)
        return tree.brokers[with_leaders(rows, led, ranks)]

    def change(self, request: Request, /) -> NDArray[np.int32]:
        """The existing rows with `request.replication` replicas; leaders and old places stay."""
        return resized(
            Tree.of(request.brokers, pad=True),
            existing_rows(request),
            request.replication,
            first=request.first_partition,
            is_by_racks=self.balance == "racks",
            turn=_turn(request.rng),
        )


def _turn(rng: Draws | None) -> int:
    return 0 if rng is None else rng.randrange(TURNS)


def _by_leaf(tree: Tree, numbers: Mapping[int, int]) -> NDArray[np.int64]:
    return np.array([numbers.get(id_, 0) for id_ in tree.brokers.tolist()], dtype=np.int64)


class _Layout:
    """One walk down the tree; `rows` contain leaves in tree order, without chosen leaders."""

    def __init__(self, tree: Tree, request: Request, *, is_by_racks: bool) -> None:
        self._tree = tree
        self._shape = (request.partitions, request.replication)
        self._is_by_racks = is_by_racks
        self._water = WaterTable()
        self.turn = _turn(request.rng)
        held = np.zeros(len(tree.brokers), dtype=np.int64)
        if request.existing is not None:
            held = tree.replica_counts(request.existing.rows)
        load = {} if request.load is None else request.load.replicas
        self._held = _sums(held)
        self._load = _sums(_by_leaf(tree, load))
        self._water.at(tree.root, request.replication)
        self._rooms = (
            None
            if is_by_racks
            else least_rooms(tree, self._water, request.partitions, request.replication, held)
        )
        self._cells = np.empty(request.partitions * request.replication, dtype=np.int32)
        self._filled = np.zeros(request.partitions, dtype=np.int16)

    def rows(self) -> NDArray[np.int32]:
        """All rows, int32 [partitions, replication]."""
        partitions, replication = self._shape
        everyone = np.arange(partitions, dtype=np.int32)
        self._fill(self._tree.root, {replication: everyone})
        return np.ascontiguousarray(self._cells.reshape(replication, partitions).T)

    def _fill(self, node: RackNode, groups: Mapping[int, Group]) -> None:
        """Place replicas below a node; partitions ascend, by their number of replicas."""
        if not node.children:
            for group in groups.values():
                self._write(node.first, group)
            return
        children = len(node.children)
        order = [(self.turn + node.number + i) % children for i in range(children)]
        odd = self._odd(node, {replicas: len(group) for replicas, group in groups.items()})
        base = self._water.at(node, min(groups)).low
        if children == node.capacity:
            for group, mine in zip(groups.values(), odd, strict=True):
                self._write_all(node, group, (base * len(group) + mine)[order], order)
            return
        runs = [
            run_partitions(len(group), mine[order].tolist(), number=node.number)
            for group, mine in zip(groups.values(), odd, strict=True)
        ]
        for place, *takers in zip(order, *runs, strict=True):
            below = _child_groups(list(groups.values()), takers, int(base[place]))
            if below:
                self._fill(node.children[place], below)

    def _write(self, leaf: int, group: Group) -> None:
        """Write the broker into the next free column of its partitions."""
        filled = self._filled[group]
        self._cells[filled.astype(np.int64) * self._shape[0] + group] = leaf
        self._filled[group] = filled + 1

    def _write_all(
        self, node: RackNode, group: Group, lengths: NDArray[np.int64], order: Sequence[int]
    ) -> None:
        """Write all children of a node at once; each child is, or contains, one broker."""
        leaves = np.array([node.children[place].first for place in order], dtype=np.int32)
        cells = self._filled[group].astype(np.int64) * self._shape[0] + group
        met = owners(len(group), lengths.tolist(), number=node.number)
        for runs in met:
            self._cells[cells] = leaves[runs]
            cells += self._shape[0]
        self._filled[group] += len(met)

    def _odd(self, node: RackNode, sizes: Mapping[int, int]) -> list[NDArray[np.int64]]:
        """The odd replicas of each child, for each group: those beyond its base."""
        fewest, partitions = min(sizes), sum(sizes.values())
        base = self._water.at(node, fewest).low
        least = [size * (self._water.at(node, k).low - base) for k, size in sizes.items()]
        most = [size * (self._water.at(node, k).high - base) for k, size in sizes.items()]
        high = partitions * base + sum(most)
        if self._rooms is not None:
            high = np.minimum(high, self._rooms.below[node.number])
        totals = apportion(
            sum(k * size for k, size in sizes.items()),
            weight=[1 if self._is_by_racks else child.capacity for child in node.children],
            fixed=self._below(self._held, node),
            low=(partitions * base + sum(least)).tolist(),
            high=high.tolist(),
            tie=self._tie(node),
        )
        odd = np.array(totals) - partitions * base
        if len(sizes) == 1:
            return [odd]
        first = np.array(
            apportion(
                sizes[fewest] * (fewest - int(base.sum())),
                weight=np.maximum(odd, 1).tolist(),
                fixed=[0] * len(odd),
                low=np.maximum(odd - most[1], 0).tolist(),
                high=np.minimum(odd - least[1], most[0]).tolist(),
                tie=self._tie(node),
            )
        )
        return [first, odd - first]

    def _tie(self, node: RackNode) -> Tie:
        loads, children = self._below(self._load, node), node.children

        def tie(place: int) -> tuple[Fraction, int]:
            share = Fraction(loads[place], children[place].capacity)
            return share, (place - self.turn) % len(children)

        return tie

    @staticmethod
    def _below(sums: NDArray[np.int64], node: RackNode) -> list[int]:
        first = np.array([child.first for child in node.children])
        end = np.array([child.first + child.capacity for child in node.children])
        below: list[int] = (sums[end] - sums[first]).tolist()
        return below


def _sums(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(numbers)))


def _child_groups(
    groups: Sequence[Group], takers: Sequence[NDArray[np.int64]], base: int
) -> dict[int, Group]:
    """The partitions of a child by their number of replicas, without partitions that have none."""
    more = [group[mine] for group, mine in zip(groups, takers, strict=True)]
    found = {base + 1: _joined(more)}
    if base:
        fewer = [np.delete(group, mine) for group, mine in zip(groups, takers, strict=True)]
        found = {base: _joined(fewer), **found}
    return {replicas: group for replicas, group in found.items() if len(group)}


def _joined(parts: Sequence[Group]) -> Group:
    if len(parts) == 1:
        return parts[0]
    joined = np.concatenate(parts)
    joined.sort()
    return joined
