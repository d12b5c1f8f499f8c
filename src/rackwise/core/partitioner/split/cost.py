"""The cost of bytes that cross racks: of a split, and of a cluster of even racks.

```
a split                       free bytes whose two ends are in different racks, on the finest level
even racks, nothing known     produce P (1 - 1/R)   replicate P (RF - 1)   consume G P (1 - 1/R)
```

P bytes_per_s come in, R racks, replication factor RF <= R, G consumer groups. A month is 30 days,
a GiB 2^30 bytes; the price is an input and includes both sides of a crossing.

What this does not do: use a price per level, or read bills (the pipeline does, in exact integers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.errors import SplitError
from rackwise.core.partitioner.split.rates import GREATEST
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.core.partitioner.split.rates import RackRates
    from rackwise.core.partitioner.split.split import Split

GIB = 2**30
SECONDS_PER_30D = 30 * 24 * 60 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossCost:
    """Bytes between racks, and their price for 30 days."""

    bytes_per_s: float
    usd_per_30d: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EvenCross:
    """Bytes_per_s between even racks, by kind of traffic."""

    produce: float
    replicate: float
    consume: float


def cross_cost(bytes_per_s: float, *, usd_per_gib: float) -> CrossCost:
    """The price of these crossing bytes. Raises `SplitError` for a price not of 0 to 2^63."""
    if not 0 <= usd_per_gib <= GREATEST:
        raise SplitError(
            f"invalid price: expected 0 to 2^63 usd per GiB, got {usd_per_gib}",
            wanted="0 to 2^63",
            had=usd_per_gib,
            hint="0.02 is both sides of a crossing between zones at the list price of many clouds",
        )
    return CrossCost(
        bytes_per_s=bytes_per_s,
        usd_per_30d=bytes_per_s * SECONDS_PER_30D / GIB * usd_per_gib,
    )


def produce_cost(split: Split, rates: RackRates, *, usd_per_gib: float) -> CrossCost:
    """The crossing free bytes at these rates with the split's shares, and their cost.

    Pinned bytes are left out, because their origin is unknown. Raises `SplitError` for a rack with
    free bytes and no row in the split.
    """
    crossing = 0.0
    for rack, rate in rates.free.items():
        if not rate:
            continue
        if rack not in split.shares:
            raise SplitError(
                f"the split has no shares for rack {escaped(rack)}",
                wanted=rack,
                had=", ".join(sorted(split.shares)),
                hint="make the split from these rates",
                where=rack,
            )
        crossing += rate * math.fsum(
            share for leader, share in split.shares[rack].items() if leader != rack
        )
    return cross_cost(crossing, usd_per_gib=usd_per_gib)


def even_cross(
    bytes_per_s: float, *, racks: int, replication_factor: int, groups: int
) -> EvenCross:
    """The crossing bytes if racks are ignored and each rack has an equal part of everything.

    >>> even_cross(300.0, racks=3, replication_factor=3, groups=2).replicate
    600.0
    """
    away = bytes_per_s * (racks - 1) / racks
    return EvenCross(
        produce=away,
        replicate=bytes_per_s * (replication_factor - 1),
        consume=groups * away,
    )
