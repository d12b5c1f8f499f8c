"""What replication costs each day, replica by replica: the objective after the number of moves.

Goals, in order: exact nano-dollars; linear in the set of a partition, so that the network of sets
can minimise it and a certificate can bound it.

Each follower copies the new records of its partition from the leader. For a given rack of the
leader, the price of a set is a sum over its brokers: the price of the bytes of a day from that rack
into the rack of the broker, 0 in the rack of the leader itself. The leader is one of the brokers
and costs 0, so it needs no exception:

```
1 MB/s, leader in /a       /a 0    /b 1.728    /c 1.728   dollars per day
set  /a /a /b              0 + 0 + 1.728
set  /a /b /c              0 + 1.728 + 1.728
```

A replica costs the same whether it is copied or kept. Where each rack holds a fixed number of
replicas, all sets cost the same; otherwise the choice of racks matters: more replicas than racks,
several levels, counts per rack, or no spread rule.

The leader is chosen after the sets, for even numbers of leaders. Its rack is therefore expected
(`leaders.expected`), not known; the dollars that a plan states use the leaders of the plan.

A partition of unknown rate has no price here: it has no say in the choice, as without rates.

Limits: no one-time prices of copies (`copy_prices` has them), and no choice of leaders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.problem.copy_prices import CopyPrices

DAY_S = 86_400
"""Seconds of a day."""
MOST_NANO = 2**40
"""A replica costs at most so many nano-dollars per day; sums with weights stay exact in int64."""
MOST_BYTES = 2**60
"""A partition gets at most so many bytes per day."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteadyCosts:
    """Nano-dollars per day of a replica of each partition in each finest rack."""

    per_day: NDArray[np.int64]
    """Bytes that producers write to each partition in a day, int64 [partitions], 0 = unknown."""
    source: NDArray[np.int64]
    """Finest rack of the expected leader, int64 [partitions], -1 = none."""
    prices: CopyPrices
    """Prices between the finest racks."""

    @classmethod
    def of(
        cls, rates: NDArray[np.int64], source: NDArray[np.int64], prices: CopyPrices
    ) -> SteadyCosts | None:
        """From bytes per second, -1 = unknown; None if the costs are too large to be added."""
        fastest = int(rates.max(initial=0)) * DAY_S
        terms = (column.ravel().tolist() for column in (prices.out, prices.into, prices.gb))
        dearest = max(
            (fastest * (out + into) // gb for out, into, gb in zip(*terms, strict=True)), default=0
        )
        if fastest > MOST_BYTES or dearest > MOST_NANO:
            return None
        return cls(per_day=rates.clip(min=0) * DAY_S, source=source, prices=prices)

    def at(self, rows: NDArray[np.int64], leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of a replica of each row in the rack that is aligned with it."""
        return self.prices.nano(self.per_day[rows], self.source[rows], leaves)

    def most(self) -> int:
        """The largest cost of a replica of any partition in any rack."""
        leaves = range(self.prices.out.shape[0])
        rows = np.arange(len(self.per_day))
        return max(int(self.at(rows, np.full(len(rows), leaf)).max(initial=0)) for leaf in leaves)
