"""The dual prices that prove a plan, and their terms of the lower bound.

Goals, in order: the prices of a cheapest plan give a lower bound equal to its cost; one answer for
one plan; arrays only.

A dual price is the marginal cost of a replica on a broker. Brokers that must give replicas away
have high prices, brokers that must take replicas have low ones. The price of a broker comes from
its distance in the exchange graph. Every distance starts at 0, and falls while some path to the
node is shorter. The limits of the loads are part of the graph:

```
broker -> pool of its group    0     if it may take one more
pool -> broker                 0     if it may give one
(topic, broker) -> broker      0     if the topic is below its cap there
broker -> (topic, broker)      0     if the topic has a replica there
b -> b'                        what the cheapest exchange changes
```

The price of a broker is the negative of its distance. In the end, the distance of `b'` is at most
the distance of `b` plus the length of the arc `b -> b'`. In prices: replacing `b` by `b'` in a set
never makes the set cheaper. So each set of the plan is the cheapest under the prices. A cycle of
negative length would let distances fall for ever. Then the plan is not the cheapest, and the
computation stops with the prices so far.

```
brokers 1 (2 replicas, at most 1) and 2 (0, at least 1)     1 -> 2 costs 1: not yet a plan
after the move: 1 has 1, 2 has 1, pool between them          2 -> 1 gives -1, back to what was held
distances   1: -1   2: 0        prices   1: 1   2: 0         bound: two sets of 1 less 1 = 1
```

Without groups any load is fair, and every broker's price is 0.

Limits: this module does not sum up the lower bound (`certificate` does).

Source: Bellman (1958), Ford (1956) for distances; Murota, "Discrete Convex Analysis" (2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.proof.exchange_graph import ExchangeGraph, PricedSets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.model import BrokerGroup
    from rackwise.core.planning.problem.instance import Instance

MOST_PRICE = 2**50
"""Prices lie between it and its negative, so that those of a set are far from what is `NEVER`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadLimits:
    """The fair loads, by broker index."""

    group: NDArray[np.int64]
    """Group of each broker, int64 [B], -1 = none."""
    low: NDArray[np.int64]
    """Fewest replicas of each broker, int64 [B]."""
    high: NDArray[np.int64]
    """Most replicas of each broker, int64 [B]."""
    totals: NDArray[np.int64]
    """Replicas of each group, int64 [groups]."""
    capped: NDArray[np.int64]
    """Topics with caps, ascending."""
    caps: NDArray[np.int64]
    """Most replicas of each capped topic on each broker, int64 [capped topics, B]."""

    @classmethod
    def of(
        cls,
        instance: Instance,
        groups: Sequence[BrokerGroup],
        topic_caps: Mapping[str, Mapping[int, int]],
    ) -> LoadLimits:
        """From groups and caps by broker id; a broker that a cap leaves out has no limit."""
        index = {id_: at for at, id_ in enumerate(instance.brokers.tolist())}
        group, low, high = np.full((3, len(index)), -1, dtype=np.int64)
        for number, one in enumerate(groups):
            at = [index[id_] for id_ in one.brokers]
            group[at], low[at], high[at] = number, one.low, one.high
        names = instance.view.table.topics
        capped = [code for code, name in enumerate(names) if name in topic_caps]
        caps = np.full((len(capped), len(index)), len(instance), dtype=np.int64)
        first: dict[int, int] = {}
        for row, code in enumerate(capped):
            topic_cap = topic_caps[names[code]]
            first_row = first.setdefault(id(topic_cap), row)
            if first_row < row:
                caps[row] = caps[first_row]
                continue
            for id_, cap in topic_cap.items():
                caps[row, index[id_]] = cap
        return cls(
            group=group,
            low=low,
            high=high,
            totals=np.array([one.total for one in groups], dtype=np.int64),
            capped=np.array(capped, dtype=np.int64),
            caps=caps,
        )

    def row_class(self, instance: Instance) -> NDArray[np.int64]:
        """The class of each row: 0, or 1 + the index of its topic among the capped ones."""
        code = np.zeros(len(instance.view.table.topics) + 1, dtype=np.int64)
        code[self.capped] = 1 + np.arange(len(self.capped))
        return code[instance.topic]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DualPrices:
    """The dual prices of brokers and of capped topics on brokers."""

    brokers: NDArray[np.int64]
    """Price of a replica on each broker, int64 [B]."""
    topics: NDArray[np.int64]
    """Price of a replica of a capped topic on each broker, int64 [capped topics, B], >= 0."""
    is_settled: bool
    """False if a cycle of negative length kept distances from settling."""


def dual_prices_of(instance: Instance, sets: Ragged, limits: LoadLimits) -> DualPrices:
    """Prices that prove the cheapest legal sets (brokers ascending in each row) with fair loads."""
    row_class = limits.row_class(instance)
    placement = PricedSets.of(instance, sets, row_class=row_class)
    classes, width = len(limits.capped) + 1, len(instance.brokers)
    graph = ExchangeGraph.of(placement, classes)
    placed = np.bincount(placement.nodes, minlength=classes * width).reshape(classes, width)
    distance = np.zeros((classes, width), dtype=np.int64)
    is_settled = False
    most = 2 * (width + len(limits.totals)) + _SPARE_ROUNDS
    for _ in range(min(most, classes * width + len(limits.totals) + 2)):
        nearer = _relax_loads(graph.relax(distance), placed, limits)
        is_settled = bool((nearer == distance).all())
        distance = nearer
        if is_settled or int(distance.min(initial=0)) < -_FAR:
            break
    own = -distance[0]
    if not len(limits.totals):
        own = np.zeros_like(own)
    topics = np.maximum(distance[0] - distance[1:], 0)
    return DualPrices(brokers=own, topics=topics, is_settled=is_settled)


_FAR = MOST_PRICE // 2
"""Distances that are longer go round a cycle."""

_SPARE_ROUNDS = 64
"""A path seldom passes a broker twice, with one topic and with another."""


def _relax_loads(
    distance: NDArray[np.int64], placed: NDArray[np.int64], limits: LoadLimits
) -> NDArray[np.int64]:
    """Distances over pools, and between brokers and their topics."""
    loads = placed.sum(axis=0)
    own, topics = distance[0], distance[1:]
    np.minimum(own, np.where(placed[1:] < limits.caps, topics, 0).min(axis=0, initial=0), out=own)
    if not len(limits.totals):
        own[:] = own.min(initial=0)
    for number in range(len(limits.totals)):
        inside = limits.group == number
        takes, gives = inside & (loads < limits.high), inside & (loads > limits.low)
        own[gives] = np.minimum(own[gives], own[takes].min(initial=0))
    distance[1:] = np.where(placed[1:] > 0, np.minimum(topics, own), topics)
    return distance


def valid_prices(brokers: NDArray[np.int64], prices: Mapping[int, int]) -> NDArray[np.int64]:
    """Price of each usable broker, int64 [B]; 0 if it is missing or out of range."""
    found = [prices.get(id_, 0) for id_ in brokers.tolist()]
    return np.array([one if abs(one) <= MOST_PRICE else 0 for one in found], dtype=np.int64)


def is_valid_group(group: BrokerGroup) -> bool:
    """Whether a group has a low and a high for each broker, and its total lies between them."""
    return (
        len(group.brokers) == len(group.low) == len(group.high)
        and all(0 <= low <= high for low, high in zip(group.low, group.high, strict=True))
        and sum(group.low) <= group.total <= sum(group.high)
    )


def group_term(group: BrokerGroup, brokers: NDArray[np.int64], prices: NDArray[np.int64]) -> int:
    """The most that the loads of a group can cost at these prices.

    `brokers`: ids of the usable brokers, `prices`: their prices, both [B]; other brokers have price
    0.
    """
    index: dict[int, int] = dict(zip(brokers.tolist(), prices.tolist(), strict=True))
    asked = [index.get(id_, 0) for id_ in group.brokers]
    found = sum(price * low for price, low in zip(asked, group.low, strict=True))
    left = group.total - sum(group.low)
    for price, low, high in sorted(zip(asked, group.low, group.high, strict=True), reverse=True):
        taken = min(left, high - low)
        found += taken * price
        left -= taken
    return found
