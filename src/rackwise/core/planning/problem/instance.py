"""A planning problem as columns of integers: the one definition of a legal set.

Search, certificate and check all read it; none of them has rules of its own.

Terms. Usable brokers are live and not to be drained. They are numbered in canonical order: by the
segments of the rack path as UTF-8 bytes, then by id. Partitions are the rows of the table. A set x
of usable brokers is legal for row p, x in X_p, if

- it has `replicas[p]` brokers, all different;
- its numbers in the finest racks keep the rules of the class of p (`partition_class`);
- every broker pinned to p is in it;
- a broker that is not open (excluded) is in it only if p already holds a live replica there.

A frozen row has one legal set: the usable brokers that it holds (`goal_scope`).

Kafka rejects every new list that names a cordoned broker (KIP-1066), also of a partition that the
broker holds. So a partition on a cordoned broker either is frozen, or leaves the broker: a cordoned
broker is in no other set.

Each broker of x that p does not hold costs `cost_at`. Keeping and dropping a held replica are free,
unless the instance is one `with_steady_objective`: then every replica has a price (`steady_costs`).

```
usable   0: id 1 /a    1: id 2 /a    2: id 4 /b         broker 3 is dead
held     row 0: {0}    from the list [1 3]              kept or not, broker 0 is free
X_0      {0 2} {1 2}   even over /a /b, 2 replicas      cost 1, 2
```

Limits: this module does not define the load of a broker (`fair_loads` does), and chooses no sets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.problem.partition_class import PartitionClass, parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.model import Goal, Minimise
    from rackwise.core.planning.problem.copy_prices import CopyCosts
    from rackwise.core.planning.problem.steady_costs import SteadyCosts
    from rackwise.core.racks import RackTree
    from rackwise.core.view import View


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instance:
    """A planning problem with B usable brokers, P partitions and L finest racks."""

    view: View
    """The cluster and the policy, changed by the goal."""
    goal: Goal
    """What a plan has to reach."""
    minimise: Minimise
    """What a plan makes small."""
    tree: RackTree
    """The racks; a single rack if racks do not count."""
    brokers: NDArray[np.int64]
    """Ids, int64 [B]."""
    leaf: NDArray[np.int64]
    """Finest rack of each broker, int64 [B]."""
    weights: NDArray[np.int64]
    """Weight of each broker, int64 [B]."""
    is_open: NDArray[np.bool_]
    """Whether each broker takes new replicas, bool [B]."""
    classes: tuple[PartitionClass, ...]
    """The partition classes."""
    class_of: NDArray[np.int64]
    """Index into `classes`, int64 [P]."""
    replicas: NDArray[np.int64]
    """Number of replicas of each partition, int64 [P]."""
    held: Ragged
    """Usable brokers that hold each row, ascending."""
    pins: Ragged
    """Usable brokers that must be in the set of each row, ascending."""
    lost_pins: NDArray[np.int64]
    """Rows that are pinned to a broker that is not usable."""
    preferred: NDArray[np.int64]
    """First placed broker of each row, int64 [P], -1 if it is not usable."""
    is_touched: NDArray[np.bool_]
    """Whether the goal itself asks for a change of each row, bool [P]."""
    is_frozen: NDArray[np.bool_]
    """Whether each row keeps its list, bool [P]; frozen rows are pinned to what they hold."""
    is_capped: NDArray[np.bool_]
    """Whether topic_spread of each topic is even, bool [topics]."""
    costs: CopyCosts
    """The cost of a new replica."""
    steady: SteadyCosts | None = None
    """The price of replication, the objective after the moves; None if it is none."""
    weight: int = 1
    """How often the cost of a new replica counts."""
    kept: SteadyCosts | None = None
    """What every replica costs, a new one in addition; None if a held replica costs nothing."""

    def __len__(self) -> int:
        return len(self.class_of)

    @property
    def leaves(self) -> int:
        """The number of finest racks, those without usable brokers included."""
        return len(self.tree.names[-1])

    @property
    def topic(self) -> NDArray[np.int32]:
        """The topic of each row, an index into the table's `topics`."""
        return self.view.table.topic

    def name(self, row: int) -> str:
        """`orders-0`."""
        return self.view.table.name(row)

    def holds(self, rows: NDArray[np.int64], brokers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each row holds a live replica on the usable broker that is aligned with it."""
        return self.held.has(rows, brokers)

    def cost_at(self, rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of a replica of each row in the aligned finest rack, if it is not held."""
        copies = self.costs.at(rows, leaves)
        if self.kept is None:
            return copies
        return copies * self.weight + self.kept.at(rows, leaves)

    def held_cost_at(self, rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of a replica of each row in the aligned finest rack, if it is held."""
        return np.zeros_like(rows) if self.kept is None else self.kept.at(rows, leaves)

    def cost(self, sets: Ragged) -> int:
        """The cost of sets of usable brokers, one for each row."""
        rows, brokers = sets.rows, sets.values.astype(np.int64)
        new = ~self.holds(rows, brokers)
        return sum(self.costs.at(rows[new], self.leaf[brokers[new]]).tolist())

    def with_steady_objective(self, weight: int) -> Instance:
        """The same instance whose cost is the price of replication, plus `weight` for a copy."""
        return replace(self, weight=weight, kept=self.steady)

    def loads(self, sets: Ragged) -> NDArray[np.int64]:
        """The replicas on each usable broker: int64 [B]."""
        return np.bincount(sets.values, minlength=len(self.brokers)).astype(np.int64)

    def leaf_counts(self, sets: Ragged) -> NDArray[np.int64]:
        """The replicas of each row in each finest rack: int64 [P, L]."""
        keys = sets.rows * self.leaves + self.leaf[sets.values]
        flat = np.bincount(keys, minlength=len(sets) * self.leaves)
        return flat.reshape(len(sets), self.leaves).astype(np.int64)

    def legal(self, sets: Ragged) -> NDArray[np.bool_]:
        """Whether the set of each row is in X_p: bool [P]. `sets` contains usable brokers only."""
        rows, brokers = sets.rows, sets.values.astype(np.int64)
        width = len(self.brokers)
        keys = _sorted_keys(sets, width)  # equal neighbours: a broker twice in a row
        is_legal_row = np.ones(len(sets), dtype=np.bool_)
        is_legal_row[keys[1:][keys[1:] == keys[:-1]] // max(width, 1)] = False
        closed = np.flatnonzero(~self.is_open[brokers])
        is_legal_row[rows[closed[~self.holds(rows[closed], brokers[closed])]]] = False
        pinned = self.pins.rows
        is_in = sets.has(pinned, self.pins.values)
        is_legal_row[pinned[~is_in]] = False
        is_legal_row[self.lost_pins] = False
        for number, class_ in enumerate(self.classes):
            chosen = np.flatnonzero((self.class_of == number) & ~self.is_frozen)
            for part in parts(chosen, self.leaves):
                is_legal_row[part] &= class_.fits(self.leaf_counts(sets.take(part)))
        # Frozen rows are pinned to all that they hold, so only a further broker is wrong.
        is_legal_row[self.is_frozen & (sets.lengths != self.replicas)] = False
        return is_legal_row


def _sorted_keys(sets: Ragged, width: int) -> NDArray[np.int64]:
    """A number for each row and broker of it, ascending; broker numbers are below `width`."""
    # The stable sort is a merge sort that uses what is in order: it takes one pass if the brokers
    # of each row rise, and little more if only the rows do.
    return np.sort(sets.rows * width + sets.values, kind="stable")


def sets_of(rows: NDArray[np.int64], brokers: NDArray[np.int64], count: int) -> Ragged:
    """Sets from (row, broker) pairs in any order, brokers ascending."""
    order = np.lexsort((brokers, rows))
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=offsets[1:])
    return Ragged(offsets, brokers[order].astype(np.int32))
