"""Partitions that reach a legal set by dropping replicas alone, many of them as one node.

A large cluster whose topics get fewer replicas has an arc for almost every replica, and no memory
for them. Where loads are free and moves are minimised, a partition that can drop replicas copies
none: a copy costs a move, and saves none of another partition. So it has no arcs to hubs, and only
brokers between which it can choose are left. Partitions with the same choice are one node:

```
2 replicas in two of /a /b /c, held on 1 2 of /a and 5 of /b
5 must stay, one of 1 and 2       kept 5       node of all partitions with this choice --- 1, 2
held on 1 of /a, 5 of /b, 9 of /c
one must go                       kept none    node of all partitions with this choice --- 1, 5, 9
```

Two choices are the same if they are between the same brokers, keep as many of them, and have the
old preferred leader on the same broker or on none.

Limits: one level of racks; the choices of a partition must be independent of each other, which they
are not if a rack keeps some of its replicas and other racks any number. Others have all their arcs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.problem.copy_costs import is_preferred
from rackwise.core.planning.search.network.cells import CellNodes
from rackwise.core.planning.search.network.columns import NONE, Piece
from rackwise.core.view import distinct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.rack_bounds import RackBounds


MOST_APART = 200_000
"""Up to this number of partitions that may change, each has nodes of its own."""


class _Choices(NamedTuple):
    """Choices between equally many brokers, one for each row and set of racks."""

    rows: NDArray[np.int64]
    """Row of each choice, int64 [choices]."""
    brokers: NDArray[np.int64]
    """Held brokers, of which some stay, ascending, int64 [choices, brokers]."""
    stay: NDArray[np.int64]
    """How many stay, int64 [choices]."""


class DropNodes(CellNodes):
    """Adds nodes for rows that only drop replicas."""

    choice_units = 0
    """Most units of all arcs of choices: free loads have an arc for each of them."""

    @cached_property
    def shares_drops(self) -> bool:
        """Whether rows share nodes, and no row that can drop replicas copies one."""
        instance = self.instance
        is_free = self.targets.ranges is None and not self.targets.caps
        is_large = int((~instance.is_frozen).sum()) > MOST_APART
        return is_large and is_free and instance.minimise == "moves" and instance.steady is None

    def add_drops(
        self,
        rows: NDArray[np.int64],
        shape: RackBounds,
        held: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> NDArray[np.bool_]:
        """Add the rows that can drop replicas, and tell which these are, bool [rows].

        `held`: (position in rows, broker) of the replicas, none of which is pinned.
        """
        at, brokers = held
        leaf, leaves = self.instance.leaf[brokers], self.instance.leaves
        holders = np.bincount(at * leaves + leaf, minlength=len(rows) * leaves)
        holders = holders.reshape(len(rows), leaves)
        least, most = shape.low[0], np.minimum(holders, shape.high[0])
        units = shape.units[:, None]
        is_enough = (holders >= least).all(axis=1) & (most.sum(axis=1) >= shape.units)
        # What the other racks can keep and must keep bounds each rack.
        least = np.maximum(least, units - (most.sum(axis=1, keepdims=True) - most))
        most = np.minimum(most, units - (least.sum(axis=1, keepdims=True) - least))
        is_joint = least < most
        is_plain = ~is_joint | ((least == 0) & (most == holders))
        is_drop: NDArray[np.bool_] = np.logical_and(is_enough, is_plain.all(axis=1))
        # joint: units of the racks that may keep any number of their replicas, int64 [rows].
        joint = shape.units - np.where(is_joint, 0, least).sum(axis=1)
        is_added = is_drop[at]
        at, brokers, leaf = at[is_added], brokers[is_added], leaf[is_added]
        is_kept = least[at, leaf] == holders[at, leaf]
        none = np.full(int(is_kept.sum()), NONE, dtype=np.int64)
        self.add_kept(rows[at[is_kept]], brokers[is_kept], none, none)
        is_choice = ~is_kept & (most[at, leaf] > 0)
        at, brokers, leaf = at[is_choice], brokers[is_choice], leaf[is_choice]
        stay = np.where(is_joint[at, leaf], joint[at], least[at, leaf])
        key = at * (leaves + 1) + np.where(is_joint[at, leaf], leaves, leaf)
        for choices in _by_size(key, rows[at], brokers, stay):
            self._add_choices(choices)
        return is_drop

    def _add_choices(self, choices: _Choices) -> None:
        """One node for all choices that are the same."""
        count, width = choices.brokers.shape
        leads = is_preferred(
            self.instance, np.repeat(choices.rows, width), choices.brokers.ravel()
        ).reshape(count, width)
        first = np.where(leads.any(axis=1), leads.argmax(axis=1), NONE)
        code, examples = distinct([choices.stay, first, *choices.brokers.T])
        sizes = np.bincount(code)
        number = self.new_groups(choices.rows, code, sizes)
        nodes = self.new_nodes(np.ones(len(examples), dtype=np.bool_))
        self.supply_nodes(nodes, choices.stay[examples] * sizes)
        self.choice_units += count * width
        rows = np.repeat(choices.rows[examples], width)
        brokers = choices.brokers[examples].ravel()
        self.arcs.add(
            Piece(
                np.repeat(nodes, width),
                self.entry_nodes(rows, brokers),
                np.repeat(sizes, width),
                row=rows,
                broker=brokers,
                leaf=self.instance.leaf[brokers],
                group=np.repeat(number, width),
            )
        )


def _by_size(
    key: NDArray[np.int64],
    rows: NDArray[np.int64],
    brokers: NDArray[np.int64],
    stay: NDArray[np.int64],
) -> Iterator[_Choices]:
    """The choices, those between equally many brokers together; a choice has one `key`."""
    order = np.argsort(key, kind="stable")
    _, first, sizes = np.unique(key[order], return_index=True, return_counts=True)
    for size in np.unique(sizes).tolist():
        starts = first[sizes == size]
        places = order[starts[:, None] + np.arange(size)]
        yield _Choices(rows[places[:, 0]], brokers[places], stay[places[:, 0]])
