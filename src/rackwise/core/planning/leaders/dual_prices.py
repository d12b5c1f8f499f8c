"""The dual prices of a choice of leaders, which prove that no other choice is cheaper.

The nodes of the exchange graph are the brokers and one pool for each group of brokers. The arc from
broker a to broker b is as long as the least change of cost of a row that a leads and b may lead. A
broker that may lead one more has an arc of length 0 to its pool. A broker that may lead one less
has an arc of length 0 from its pool.

```
sets        0 1    0 2    0 1 2        0 led all three rows before; one each is fair
choice      1      2      0            two changes
arcs        1 -> 0: -1   2 -> 0: -1   0 -> 1: 1   0 -> 2: 1
distances   0: -1   1: 0   2: 0        from every node at 0
prices      0: 1    1: 0   2: 0
bound       1 + 1 + 1, the least price and cost of each row, less 1, the price of fair loads: 2
```

The dual price of a broker is the negative of its distance. Along every arc a distance grows by no
more than the length of the arc. So under these prices each row has its cheapest leader, and the sum
of the least costs is a lower bound that the choice meets.

Limits: the choice is the input; this module does not improve it.

Source: Ahuja, Magnanti and Orlin, "Network Flows" (1993), chapter 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.leaders.state import FAR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.leaders.fair_counts import LeaderLoads
    from rackwise.core.planning.leaders.state import LeaderChoice


def dual_prices_of_leaders(choice: LeaderChoice, fair: LeaderLoads) -> NDArray[np.int64]:
    """The dual price of each broker, int64 [brokers], for a cheapest choice with fair loads."""
    lengths = _exchange_graph(choice, fair)
    distance = np.zeros(len(lengths), dtype=np.int64)
    front = np.arange(len(lengths))  # nodes whose distance fell in the round before
    # A cheapest choice has no cycle of negative length: distances are final after [nodes] rounds.
    for _ in range(len(lengths)):
        nearer = (distance[front, None] + lengths[front]).min(axis=0, initial=FAR)
        front = np.flatnonzero(nearer < distance)
        distance[front] = nearer[front]
    prices: NDArray[np.int64] = -distance[: len(choice.loads)]
    return prices


def _exchange_graph(choice: LeaderChoice, fair: LeaderLoads) -> NDArray[np.int64]:
    """Length of each arc, int64 [nodes, nodes], FAR where there is none; pools follow brokers."""
    count = len(choice.loads)
    brokers, pools = np.arange(count), count + fair.group
    lengths = np.full((count + len(fair.totals),) * 2, FAR, dtype=np.int64)
    for broker in range(count):
        lengths[broker, :count] = choice.step_costs(broker)
    lengths[brokers, pools] = np.where(choice.loads < fair.high, 0, FAR)
    lengths[pools, brokers] = np.where(choice.loads > fair.low, 0, FAR)
    return lengths
