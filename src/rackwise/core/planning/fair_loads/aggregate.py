"""Equal partitions as one node: a small network of the replicas that each broker can hold.

Which of several equal partitions puts a replica on a broker does not matter for the loads. So the
partitions of one class, with the same pins and the same excluded brokers that hold them, form one
aggregate. What one partition may do, an aggregate of n may do n times. The network is integral, so
every flow of the aggregate splits into n flows of single partitions.

```
source --- aggregate of 40, 3 replicas ---- /a  0..40 --- broker 1 (at most 40)
       120                             ---- /b 40..80 --- broker 2, 3         --- sink
```

The lower bound of a rack is supplied to it directly; the root of the aggregate keeps the rest.
Topics with caps form aggregates of their own, with a node for each broker before the broker.

A frozen partition of n replicas is n aggregates of one pinned replica each, because only the
number of such replicas on each broker matters.

Limits: this module ignores costs, and the current replicas except those on excluded brokers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.max_flow import FlowNetwork
from rackwise.core.planning.problem.rack_bounds import RackCapacity, fresh_racks, rack_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.partition_class import PartitionClass

SOURCE, SINK = 0, 1


FROZEN = -1
"""The class of a replica of a frozen partition."""


class Aggregate(NamedTuple):
    """Partitions with the same legal sets; brokers are indexes, ascending."""

    class_number: int
    """Index into the classes of the instance, or `FROZEN`."""
    topic: int
    """Topic of the table if it has caps, else -1."""
    pins: tuple[int, ...]
    """Brokers that the partitions must hold."""
    closed: tuple[int, ...]
    """Excluded brokers that the partitions hold, and may therefore keep."""


def aggregates_of(
    instance: Instance, rows: NDArray[np.int64] | None = None, *, by_topic: bool = True
) -> Counter[Aggregate]:
    """The aggregates of rows (all rows if None) with their sizes.

    `by_topic`: keep capped topics apart.
    """
    chosen = np.arange(len(instance), dtype=np.int64) if rows is None else rows
    found = _frozen_replicas(instance, chosen[instance.is_frozen[chosen]], by_topic=by_topic)
    chosen = chosen[~instance.is_frozen[chosen]]
    topic = instance.topic[chosen].astype(np.int64)
    capped = instance.is_capped[topic] & by_topic if len(chosen) else topic > 0
    width = len(instance.is_capped) + 1
    keys = instance.class_of[chosen] * width + np.where(capped, topic, -1) + 1
    is_special = instance.pins.lengths[chosen] > 0
    held = instance.held
    if not instance.is_open.all():
        holds_closed = np.zeros(len(held), dtype=np.bool_)
        holds_closed[held.rows[~instance.is_open[held.values]]] = True
        is_special |= holds_closed[chosen]
    plain, numbers = np.unique(keys[~is_special], return_counts=True)
    for key, number in zip(plain.tolist(), numbers.tolist(), strict=True):
        found[Aggregate(key // width, key % width - 1, (), ())] += number
    for at in np.flatnonzero(is_special).tolist():
        row, key = int(chosen[at]), int(keys[at])
        closed = tuple(b for b in held.row(row) if not instance.is_open[b])
        found[Aggregate(key // width, key % width - 1, instance.pins.row(row), closed)] += 1
    return found


def _frozen_replicas(
    instance: Instance, rows: NDArray[np.int64], *, by_topic: bool
) -> Counter[Aggregate]:
    """The replicas of frozen rows as aggregates of one pinned replica."""
    held = instance.held.take(rows)
    topic = instance.topic[rows[held.rows]].astype(np.int64)
    aggregate = np.where(instance.is_capped[topic], topic, -1) if by_topic else topic * 0 - 1
    keys, numbers = np.unique(np.stack([aggregate, held.values]), axis=1, return_counts=True)
    return Counter(
        {
            Aggregate(FROZEN, topic, (broker,), ()): number
            for (topic, broker), number in zip(keys.T.tolist(), numbers.tolist(), strict=True)
        }
    )


class AggregateNetwork:
    """Aggregates -> racks -> brokers -> sink as a network; brokers are the nodes 2..B + 1."""

    def __init__(
        self,
        instance: Instance,
        aggregates: Mapping[Aggregate, int],
        caps: Mapping[int, NDArray[np.int64]],
    ) -> None:
        """`caps`: topic -> most replicas of it on each broker, int64 [B]."""
        self.instance = instance
        self.width = len(instance.brokers)
        """Number of brokers, B."""
        self.network = FlowNetwork(2 + self.width)
        self.supply = 0
        """Units that leave the source: the replicas of all partitions."""
        self._caps = caps
        self._topic_nodes: dict[tuple[int, int], int] = {}
        # Arc of each broker to the sink; its capacity is the load that the broker may have.
        self.exits = [self.network.add_arc(2 + b, SINK, 0) for b in range(self.width)]
        for aggregate, size in aggregates.items():
            self._add_aggregate(aggregate, size)
        self._residuals = list(self.network.residuals)

    def fill(self, limits: Sequence[int]) -> int:
        """The value of the largest flow with at most `limits[b]` on each broker."""
        self.network.residuals = list(self._residuals)
        for arc, limit in zip(self.exits, limits, strict=True):
            self.network.reset(arc, limit)
        return self.network.push(SOURCE, SINK)

    def _add_aggregate(self, aggregate: Aggregate, size: int) -> None:
        for b in aggregate.pins:
            self._supply_node(self._entry_node(aggregate.topic, b), size)
        if aggregate.class_number == FROZEN:
            return
        class_ = self.instance.classes[aggregate.class_number]
        allowed = np.flatnonzero(self.instance.is_open).tolist()
        allowed = sorted({*allowed, *aggregate.closed} - set(aggregate.pins))
        by_leaf: dict[int, list[int]] = {}
        for b in allowed:
            by_leaf.setdefault(int(self.instance.leaf[b]), []).append(b)
        add_racks = self._add_boxes if class_.has_boxes else self._add_distinct_racks
        for leaf, node in add_racks(class_, aggregate, size, by_leaf).items():
            for b in by_leaf[leaf]:
                self.network.add_arc(node, self._entry_node(aggregate.topic, b), size)

    def _supply_node(self, node: int, units: int) -> None:
        if units:
            self.network.add_arc(SOURCE, node, units)
            self.supply += units

    def _entry_node(self, topic: int, broker: int) -> int:
        if topic < 0:
            return 2 + broker
        node = self._topic_nodes.get((topic, broker))
        if node is None:
            node = self._topic_nodes[topic, broker] = self.network.add_node()
            self.network.add_arc(node, 2 + broker, int(self._caps[topic][broker]))
        return node

    def _rack_capacity(
        self, aggregate: Aggregate, by_leaf: Mapping[int, Sequence[int]]
    ) -> RackCapacity:
        pinned = np.bincount(
            self.instance.leaf[list(aggregate.pins)], minlength=self.instance.leaves
        )
        free = np.zeros(self.instance.leaves, dtype=np.int64)
        for leaf, brokers in by_leaf.items():
            free[leaf] = len(brokers)
        return RackCapacity(pinned.astype(np.int64)[None, :], free[None, :])

    def _add_boxes(
        self,
        class_: PartitionClass,
        aggregate: Aggregate,
        size: int,
        by_leaf: Mapping[int, Sequence[int]],
    ) -> dict[int, int]:
        """The nodes of the racks, with bounds as supplies and capacities; leaf -> its node."""
        shape = rack_bounds(class_, self._rack_capacity(aggregate, by_leaf))
        above = {0: self.network.add_node()}
        up = np.zeros(len(class_.up[0]), dtype=np.int64)
        # Node -> units per partition that its low bound requires beyond those of its children.
        required = {0: int(shape.units[0])}
        for level, nodes in enumerate(class_.up):
            low, high = shape.low[level][0], shape.high[level][0]
            here: dict[int, int] = {}
            for leaf in np.flatnonzero(np.diff(nodes, prepend=-1)).tolist():
                node, parent = int(nodes[leaf]), int(up[leaf])
                if high[node] > 0 and parent in above:
                    here[node] = self.network.add_node()
                    required[parent] -= int(low[node])
                    spare = int(high[node] - low[node]) * size
                    self.network.add_arc(above[parent], here[node], spare)
            for parent, units in required.items():
                self._supply_node(above[parent], units * size)
            above, up = here, nodes
            required = {node: int(low[node]) for node in here}
        for node, units in required.items():
            self._supply_node(above[node], units * size)
        return above

    def _add_distinct_racks(
        self,
        class_: PartitionClass,
        aggregate: Aggregate,
        size: int,
        by_leaf: Mapping[int, Sequence[int]],
    ) -> dict[int, int]:
        """The nodes of the racks, with units for distinct racks by level; leaf -> its node."""
        pinned = self._rack_capacity(aggregate, by_leaf).pinned
        left = class_.replicas - len(aggregate.pins)
        above = {0: self.network.add_node()}
        up = np.zeros(len(class_.up[0]), dtype=np.int64)
        placed = 0
        for level, fresh, more in fresh_racks(class_, pinned):
            if int(more[0]) <= placed:
                continue
            units, placed = int(more[0]) - placed, int(more[0])
            self._supply_any_node(above, units * size)
            here: dict[int, int] = {}
            for leaf in sorted(by_leaf):
                node = int(class_.up[level][leaf])
                if node not in here:
                    here[node] = self.network.add_node()
                    room = size if fresh[0, node] else 0
                    self.network.add_arc(above[int(up[leaf])], here[node], room)
            above, up = here, class_.up[level]
        self._supply_any_node(above, (left - placed) * size)
        return {leaf: above[int(up[leaf])] for leaf in by_leaf}

    def _supply_any_node(self, nodes: Mapping[int, int], units: int) -> None:
        """Supply units that may enter any of the nodes."""
        entry = self.network.add_node()
        self._supply_node(entry, units)
        for node in nodes.values():
            self.network.add_arc(entry, node, units)
