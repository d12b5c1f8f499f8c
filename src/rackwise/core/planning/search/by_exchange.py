"""The cheapest fair sets without a solver: start from what is cheapest, push away what is too much.

Goals, in order: the cost is the least, as exactly as by a flow; the same lesser goals where numbers
are large enough for them; nothing but numpy is needed.

Constraints. Each partition has a legal set of its own; brokers have ranges, groups of them have
totals, topics may have caps. All of that is in `Instance` and `Targets`.

The algorithm. Every partition takes its cheapest legal set (`minima`), as if loads did not matter.
Then some brokers have too many replicas and some too few. As long as there are any, replicas are
pushed along shortest paths of the exchange graph (`graph`) from the former to the latter:

```
grown: 1 has 4, 4 is new, fair is 2 and 2           prices of brokers    1: 0   4: 0
shortest path 1 -> 4, length 1                      prices               1: 0   4: 1
replicas of 1 that can go to 4 at this price        two of them go       1: 2   4: 2    cost 2
```

Prices of all nodes keep every set the cheapest of its partition under them: a push goes only along
arcs whose length is the difference of prices, and prices rise by distances when no such path is
left. So the sets are the cheapest for the loads they reach, at every moment. Paths with the fewest
arcs go first, which keeps a set legal that changes in two places at once; in a round each partition
changes along one path only (`pushing`).

Lesser goals. Costs are numbers with room below them: one copy more weighs more than any bytes and
leaders on the way. Where they do not fit into 64 bits together, the least of them are left out.
Loads that need not be even are evened out among the cheapest sets with the fewest copies first,
which gives their ranges.

What this does not do: even out loads whose topics are capped where balance is off; touch fewer
partitions (`ties`). It is slower than a flow for millions of partitions.

Source: Busacker and Gowen (1960), Edmonds and Karp (1972) for shortest paths with prices; Murota,
"Valuated matroid intersection" (1996) for sets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import OptimumTooLarge
from rackwise.core.override import override
from rackwise.core.planning.fair_loads.ranges import ranges_of
from rackwise.core.planning.problem.cheapest_sets import NEVER, Offers, minima
from rackwise.core.planning.problem.copy_costs import before_squares
from rackwise.core.planning.problem.copy_prices import CopyCosts
from rackwise.core.planning.proof.dual_prices import Limits
from rackwise.core.planning.pushing import Pushing, Weighed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.fair_loads.ranges import Ranges
    from rackwise.core.planning.fair_loads.targets import Targets
    from rackwise.core.planning.problem.instance import Instance

_ROOM = 2**56
"""Lengths of paths stay below it."""


def by_exchange(instance: Instance, targets: Targets, *, should_stop: Callable[[], bool]) -> Ragged:
    """The best set of each row, usable brokers rising; legal ones so far when it is to stop.

    Raises `NoFlow` where loads cannot meet, and `OptimumTooLarge` for copies dearer than 64 bits
    allow.
    """
    ranges = targets.ranges
    caps = dict(sorted(targets.caps.items()))
    if ranges is None and not caps:
        ranges = _evened(instance)
    limits = _limits(instance, ranges, caps)
    weighed = _weighed(instance, limits)
    offers = replace(Offers.flat(weighed.instance), held=weighed.held)
    start = minima(weighed.instance, offers, with_sets=True).sets
    pushing = Pushing(weighed, start, limits)
    while pushing.has_excess and not should_stop():
        pushing.reprice()
        pushing.push()
    return pushing.sets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeighedCosts(CopyCosts):
    """Costs of another, times `worth`, plus what each row's copy weighs in lesser goals."""

    base: CopyCosts
    worth: int
    lesser: NDArray[np.int64]

    @override
    def at(self, rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Cost and lesser weights together."""
        return self.base.at(rows, leaves) * self.worth + self.lesser[rows]


def _weighed(instance: Instance, limits: Limits) -> Weighed:
    """Cost before bytes (or moves) before preferred leaders, as far as that fits."""
    sizes = instance.view.table.bytes.clip(min=0)
    second = sizes if instance.minimise == "moves" else np.ones_like(sizes)
    second = second // max(1, int(np.gcd.reduce(second)) if len(second) else 1)
    zeros = np.zeros(len(instance.held.values), dtype=np.int64)
    is_first = instance.held.values == instance.preferred[instance.held.rows]
    nodes = 2 * (len(instance.brokers) + len(limits.totals) + 1)
    dearest = _dearest(instance)
    for lesser, held in (
        (second * (2 * nodes + 1), np.where(is_first, -1, 0)),
        (second, zeros),
    ):
        worth = 2 * nodes * (int(lesser.max(initial=0)) + 1) + 1
        if (dearest * worth + int(lesser.max(initial=0)) + 1) * nodes < _ROOM:
            return Weighed(_with_lesser(instance, worth, lesser), held.astype(np.int64))
    if dearest * nodes >= _ROOM:
        raise OptimumTooLarge(
            f"copies that cost less than {_ROOM // nodes} are wanted; the dearest costs {dearest}",
            wanted=f"less than {_ROOM // nodes}",
            had=dearest,
            hint="plan with --minimise moves, or install rackwise[plan]",
        )
    return Weighed(instance, zeros)


def _with_lesser(instance: Instance, worth: int, lesser: NDArray[np.int64]) -> Instance:
    base = instance.costs
    costs = WeighedCosts(
        minimise=base.minimise,
        size=base.size,
        source=base.source,
        leaves=base.leaves,
        prices=base.prices,
        base=base,
        worth=worth,
        lesser=lesser,
    )
    return replace(instance, costs=costs)


def _dearest(instance: Instance) -> int:
    rows = np.arange(len(instance))
    return max(
        int(instance.costs.at(rows, rows * 0 + leaf).max(initial=0))
        for leaf in range(instance.leaves)
    )


def _counting_copies(instance: Instance) -> Instance:
    """Of sets that cost the same, those with fewer copies are cheaper, as far as that fits."""
    steps = 2 * (len(instance.brokers) + 1)
    worth = steps + 1
    if (_dearest(instance) * worth + 1) * steps >= _ROOM:
        return instance
    return _with_lesser(instance, worth, np.ones(len(instance), dtype=np.int64))


def _limits(
    instance: Instance, ranges: Ranges | None, caps: Mapping[int, NDArray[np.int64]]
) -> Limits:
    brokers = len(instance.brokers)
    none = np.full(brokers, -1, dtype=np.int64)
    return Limits(
        group=none if ranges is None else ranges.group,
        low=none if ranges is None else ranges.low,
        high=none if ranges is None else ranges.high,
        totals=np.array(() if ranges is None else ranges.totals, dtype=np.int64),
        capped=np.array(list(caps), dtype=np.int64),
        caps=np.array(list(caps.values()), dtype=np.int64).reshape(len(caps), brokers),
    )


def _evened(instance: Instance) -> Ranges:
    """What loads have the least sum of squares among the best sets, loads not mattering."""
    if before_squares(instance) > 1:
        instance = _counting_copies(instance)
    start = minima(instance, Offers.flat(instance), with_sets=True).sets
    held = np.zeros(len(instance.held.values), dtype=np.int64)
    pushing = Pushing(Weighed(instance, held), start, _limits(instance, None, {}))
    pushing.even_out()
    loads = pushing.loads
    graph = pushing.graph

    def reached(starts: Iterable[int]) -> Sequence[bool]:
        distance = np.full((1, len(loads)), NEVER, dtype=np.int64)
        distance[0, list(starts)] = 0
        while True:
            nearer = graph.relaxed(distance)
            if (nearer == distance).all():
                return list(distance[0] == 0)
            distance = nearer

    return ranges_of(loads.tolist(), np.ones_like(loads), reached)
