"""Groups, ranges and cuts: from one fair vector of loads to all fair vectors.

`reached(starts)` returns the brokers to which a replica can be passed from any of the starts, by
exchanges that keep every set legal. A replica that leaves broker b decreases the sum of squares
over weights by `(2 load - 1) / weight`. A replica that arrives increases it by
`(2 load + 1) / weight`. If the two are equal, the exchange is free and the new vector is as fair.

```
loads 3 2 2, weights 1, all reached from all      leaving 5 3 3, coming 7 5 5: 3 -> 2 is free
broker 1: 2..3   broker 2: 2..3   broker 3: 2..3   one group, total 7
```

Limits: this module does not find the first vector (`targets` does).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.model import BrokerGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Reached = Callable[[Iterable[int]], Sequence[bool]]


class Ranges(NamedTuple):
    """The fair loads of all brokers, as groups with ranges and totals."""

    group: NDArray[np.int64]
    """Index of each broker's group, int64 [B]."""
    low: NDArray[np.int64]
    """Fewest replicas of each broker, int64 [B]."""
    high: NDArray[np.int64]
    """Most replicas of each broker, int64 [B]."""
    totals: tuple[int, ...]
    """Replicas of each group."""
    cuts: tuple[tuple[NDArray[np.int64], int], ...] = ()
    """Nested sets of brokers (indexes) with the least number of replicas that they hold."""

    def groups(self, ids: NDArray[np.int64]) -> tuple[BrokerGroup, ...]:
        """The groups as values; `ids`: ids of the brokers."""
        found = []
        for number, total in enumerate(self.totals):
            members = np.flatnonzero(self.group == number)
            members = members[np.argsort(ids[members])]
            found.append(
                BrokerGroup(
                    brokers=tuple(ids[members].tolist()),
                    low=tuple(self.low[members].tolist()),
                    high=tuple(self.high[members].tolist()),
                    total=total,
                )
            )
        return tuple(found)

    def exact(self) -> Ranges:
        """The same, with `low` equal to `high` in groups that need every broker at `high`."""
        most = np.bincount(self.group, weights=self.high, minlength=len(self.totals))
        is_full = most.astype(np.int64) == np.array(self.totals, dtype=np.int64)
        return self._replace(low=np.where(is_full[self.group], self.high, self.low))

    def with_slack(self, slack: int) -> Ranges:
        """The same in one group of all brokers, with each range extended by `slack`."""
        return Ranges(
            np.zeros_like(self.group),
            np.maximum(self.low - slack, 0),
            self.high + slack,
            (sum(self.totals),),
            self.cuts,
        )


def weight_steps(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each broker, the least common multiple of all weights divided by its own weight."""
    multiple = math.lcm(*(int(weight) for weight in weights)) if len(weights) else 1
    # Python integers: the multiple of many weights may exceed 64 bits.
    return np.array([multiple // int(weight) for weight in weights], dtype=object)


def even_shares(total: int, step: Sequence[int]) -> list[int]:
    """Loads with sum `total` and the least sum of `load^2 * step`; ties go to earlier brokers.

    >>> even_shares(7, [1, 1, 1]), even_shares(7, [2, 1])
    ([3, 2, 2], [2, 5])
    """
    if not step:
        return []

    def loads_below(price: int) -> list[int]:
        return [(price // width + 1) // 2 for width in step]

    low, high = 0, (2 * total + 1) * max(step)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(loads_below(middle)) <= total:
            low = middle
        else:
            high = middle - 1
    loads = loads_below(low)
    for at in range(len(step)):
        if sum(loads) < total and (2 * loads[at] + 1) * step[at] == low + 1:
            loads[at] += 1
    return loads


def ranges_of(loads: Sequence[int], weights: NDArray[np.int64], reached: Reached) -> Ranges:
    """All fair vectors of loads, from one of them."""
    step = weight_steps(weights).tolist()
    leaving = [
        (2 * load - 1) * width if load else -1 for load, width in zip(loads, step, strict=True)
    ]
    coming = [(2 * load + 1) * width for load, width in zip(loads, step, strict=True)]
    if len(set(step)) <= 1:
        high = _highest_loads(loads, leaving, coming, reached)
        low = [max(0, most - 1) for most in high]
        names = sorted(set(high), reverse=True)
        group = [names.index(most) for most in high]
    else:
        low, high, group = _ranges_by_exchange(loads, leaving, coming, reached)
    number = np.array(group, dtype=np.int64)
    totals = np.bincount(number, weights=loads, minlength=0) if group else np.zeros(0)
    return Ranges(
        number,
        np.array(low, dtype=np.int64),
        np.array(high, dtype=np.int64),
        tuple(int(total) for total in totals),
        tuple(_cuts(loads, leaving, reached)),
    )


def _highest_loads(
    loads: Sequence[int], leaving: Sequence[int], coming: Sequence[int], reached: Reached
) -> list[int]:
    high = list(loads)
    for price in sorted(set(leaving) & set(coming)):
        seen = reached(b for b, own_price in enumerate(leaving) if own_price == price)
        for b, price_in in enumerate(coming):
            if price_in == price and seen[b]:
                high[b] = loads[b] + 1
    return high


def _ranges_by_exchange(
    loads: Sequence[int], leaving: Sequence[int], coming: Sequence[int], reached: Reached
) -> tuple[list[int], list[int], list[int]]:
    low, high = list(loads), list(loads)
    parent = list(range(len(loads)))

    def root(b: int) -> int:
        while parent[b] != b:
            b = parent[b]
        return b

    for b, price in enumerate(leaving):
        takers = [c for c, price_in in enumerate(coming) if price_in == price and c != b]
        if not takers:
            continue
        seen = reached([b])
        for c in takers:
            if seen[c]:
                low[b], high[c] = loads[b] - 1, loads[c] + 1
                parent[max(root(b), root(c))] = min(root(b), root(c))
    roots = [root(b) for b in range(len(loads))]
    names = sorted(set(roots))
    return low, high, [names.index(found) for found in roots]


def _cuts(
    loads: Sequence[int], leaving: Sequence[int], reached: Reached
) -> Iterable[tuple[NDArray[np.int64], int]]:
    """Closed sets of brokers above each threshold, the largest first, without the full set."""
    last = 0
    for price in sorted(set(leaving) - {-1}, reverse=True):
        seen = reached(b for b, own_price in enumerate(leaving) if own_price >= price)
        inside = np.flatnonzero(np.array(seen, dtype=np.bool_))
        if last < len(inside) < len(loads):
            last = len(inside)
            yield inside, sum(loads[b] for b in inside.tolist())
