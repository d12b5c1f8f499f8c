"""The effect of each bound on a topic's rack loads, and the leader counts that remove its cost.

Goals, in order: the price of each bound in bytes that cross, beside the price of rack-blind
partitioning; the numbers of leaders per rack with which no bytes need to cross.

```
rates a 1, b 1, c 0; 12 partitions, 4 leaders in each rack
racks ignored         local 0.333   load factor 1
bound 0               local 0.667   load factor 1
bound 0.1             local 0.733   load factor 1.1
no bound, KIP-1123    local 1       load factor 1.5
advised leaders       a 6, b 6, c 0: local 1 at load factor 1
```

The advice gives each rack a share of the partitions equal to its share of all rates. Whole numbers
come from the largest remainder, equal remainders go to the first rack. Only racks with live brokers
are advised.

What this does not do: move leaders, or check whether a rack's replicas allow it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.partitioner.split.cost import CrossCost, cross_cost, produce_cost
from rackwise.core.partitioner.split.rates import RackColumns
from rackwise.core.partitioner.split.split import (
    least_eps,
    split_by_balance,
    split_of,
    uniform_shares,
)
from rackwise.core.placement.placers.apportion import apportion

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rackwise.core.partitioner.split.rates import RackRates
    from rackwise.core.partitioner.split.split import Split

BOUNDS = (0.0, 0.05, 0.1, 0.2, math.inf)
"""The bounds that are shown beside the requested one; the last is KIP-1123."""
_PARTS = 10**12
"""The greatest rate in integer parts, because `apportion` takes integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPrice:
    """The effect and the cost of a bound, per 30 days."""

    eps: float | None
    """The bound; None: racks are ignored."""
    split: Split
    cost: CrossCost
    usd_saved: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAdvice:
    """The prices of several bounds, and the advised leaders."""

    bounds: tuple[BoundPrice, ...]
    """Rack-blind first, then ascending bounds."""
    kip_load_factor: float
    least_eps: float
    full_locality_eps: float
    leaderless: tuple[str, ...]
    """Racks with clients whose weight is 0."""
    leaders: Mapping[str, int]
    """Rack -> advised number of leaders."""

    def at(self, eps: float) -> BoundPrice:
        """The price of one of the bounds."""
        return next(price for price in self.bounds if price.eps == eps)


def split_advice(
    rates: RackRates,
    weights: Mapping[str, float],
    eps: float,
    *,
    partitions: int,
    broker_racks: Collection[str],
    usd_per_gib: float,
) -> SplitAdvice:
    """The effect of each bound, including `eps`, and the advised leaders. Raises `SplitError`.

    `broker_racks`: racks that can have leaders.
    """
    columns = RackColumns.of(rates, weights)
    blind = _rack_blind_split(columns, weights)
    base = produce_cost(blind, rates, usd_per_gib=usd_per_gib)
    prices = [BoundPrice(eps=None, split=blind, cost=base, usd_saved=0.0)]
    for bound in sorted({*BOUNDS, eps}):
        split = split_by_balance(rates, weights, bound)
        cost = cross_cost(math.fsum(split.bytes_by_common_levels[:-1]), usd_per_gib=usd_per_gib)
        saved = base.usd_per_30d - cost.usd_per_30d
        prices.append(BoundPrice(eps=bound, split=split, cost=cost, usd_saved=saved))
    factor = prices[-1].split.load_factor
    return SplitAdvice(
        bounds=tuple(prices),
        kip_load_factor=factor,
        least_eps=least_eps(rates, weights),
        full_locality_eps=max(0.0, factor - 1),
        leaderless=tuple(
            rack for rack, rate in rates.free.items() if rate and not weights.get(rack)
        ),
        leaders=advised_leaders(rates, partitions, broker_racks),
    )


def advised_leaders(
    rates: RackRates, partitions: int, broker_racks: Collection[str]
) -> Mapping[str, int]:
    """Rack -> its share of the leaders, in proportion to its bytes.

    The bytes of a rack are those that its clients send, and those that are pinned to it.

    The result is empty if no rack that can have leaders has a rate.
    """
    sent = {
        rack: rates.free.get(rack, 0.0) + rates.pinned.get(rack, 0.0)
        for rack in sorted(broker_racks)
    }
    greatest = max(sent.values(), default=0.0)
    if not greatest:
        return MappingProxyType({})
    parts = {rack: round(rate / greatest * _PARTS) for rack, rate in sent.items()}
    racks = [rack for rack, part in parts.items() if part]
    counts = apportion(
        partitions,
        weight=[parts[rack] for rack in racks],
        fixed=[0] * len(racks),
        low=[0] * len(racks),
        high=[partitions] * len(racks),
        tie=lambda place: (Fraction(0), place),
    )
    given = dict(zip(racks, counts, strict=True))
    return MappingProxyType({rack: given.get(rack, 0) for rack in sent})


def _rack_blind_split(columns: RackColumns, weights: Mapping[str, float]) -> Split:
    """The split by weight, the same for each sender."""
    row = uniform_shares(weights, "", 0.0)
    return split_of(
        columns,
        {
            (client, leader): row[rack]
            for client, rate in enumerate(columns.free)
            if rate
            for leader, rack in enumerate(columns.racks)
            if row.get(rack)
        },
        math.inf,
    )
