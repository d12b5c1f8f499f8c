"""What the reads of a group cost in 30 days, and why that is not known.

Each partition is read at its rate from one replica, by each of its likely readers with the same
chance. The price is that of the level in which the racks of the two differ:

```
orders-0  1 MB/s   leader a, read by m1 in a          free
orders-1  1 MB/s   leader b, read by m1 in a   zone   2,592 GB a month at 0.01 + 0.01 per GB
orders-2  1 MB/s   leader b, read by m1 in a or m2 in b: half of it
```

An unknown is never zero: without the rate of each partition, the rack of each member and of each
replica that is read, and a price, the cost is not known.

What this does not do: consider which replicas are in sync.

Source: KIP-392.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from rackwise.core.assignors.distance import rack_of_read_replica
from rackwise.core.assignors.measure.migration import likely_reads
from rackwise.core.errors import InvalidRack
from rackwise.core.savings.tariff import NO_COST
from rackwise.core.text import counted
from rackwise.core.traffic import MONTH_S

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from rackwise.core.assignors import (
        LikelyReaders,
        Members,
        ReplicaRacks,
        Target,
        TopicPartition,
    )
    from rackwise.core.savings.tariff import Tariff

FETCH = "fetch"
"""The kind of traffic whose price applies to reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCost:
    """The cost of reads."""

    nano: int | None = None
    """Nano-dollars in 30 days; None = not known."""
    reason: str | None = None
    """Why it is not known and what to do about it."""

    def minus(self, other: ReadCost) -> ReadCost:
        """How much more this is; not known where one of them is not."""
        if self.nano is None or other.nano is None:
            return ReadCost(reason=self.reason or other.reason)
        return ReadCost(nano=self.nano - other.nano)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPricing:
    """What prices the reads of groups."""

    tariff: Tariff | None
    """None without prices."""
    day: date
    target: Target

    def cost(
        self,
        readers: LikelyReaders,
        members: Members,
        racks: ReplicaRacks,
        weights: Mapping[TopicPartition, int] | None,
    ) -> ReadCost:
        """The cost of these reads. `weights`: bytes_per_s. Raises `InvalidPrices`."""
        if weights is None:
            return ReadCost(reason="no traffic is known: give --weights CSV")
        if self.tariff is None:
            return ReadCost(reason="no price is known: give --provider NAME")
        if silent := sum(tp not in weights for tp in readers):
            rows = counted(silent, "partition")
            return ReadCost(reason=f"no rate is known of {rows}: add rows to --weights")
        if silent := sum(member.rack is None for member in members.values()):
            silent_members = counted(silent, "member")
            return ReadCost(
                reason=f"no rack is known of {silent_members}: give --rack or --client-rack"
            )
        # (rack of the replica, rack of the reader) -> bytes in 30 days
        routes: defaultdict[tuple[str | None, str | None], Fraction] = defaultdict(Fraction)
        for (rack, replicas), rate in likely_reads(readers, members, racks, weights).items():
            routes[rack_of_read_replica(rack, replicas, self.target), rack] += rate * MONTH_S
        return self._priced(self.tariff, routes)

    def _priced(
        self, tariff: Tariff, routes: Mapping[tuple[str | None, str | None], Fraction]
    ) -> ReadCost:
        if any(sender is None and bytes_ for (sender, _), bytes_ in routes.items()):
            return ReadCost(reason="no rack is known of a broker that is read: set broker.rack")
        total = NO_COST
        try:
            for (sender, receiver), bytes_ in routes.items():
                cost = tariff.cost((self.day, FETCH, sender, receiver), round(bytes_))
                total = total.plus(cost)
        except InvalidRack as error:
            return ReadCost(reason=f"{error.message}: {error.hint}")
        if total.unpriced:
            return ReadCost(reason="no price is known of some reads: add rows to --prices")
        return ReadCost(nano=total.nano)
