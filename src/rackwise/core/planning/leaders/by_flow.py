"""The cheapest leaders with given numbers on each broker, as one minimum-cost flow.

Rows with the same members and the same costs are one type. A type supplies its rows. A broker
demands the least number that it must lead, and the pool of its group demands the rest:

```
type (2 rows)  -- 0 -->  broker 0 (demands 1)  -- at most 1 -->  pool (demands 1)
               -- 1 -->  broker 1 (demands 1)  -- at most 1 -->
type (1 row)   -- 1 -->
```

Rows of a type take the brokers of the flow in ascending order.

Limits: this module does not compute fair numbers, and does not choose among equally cheap flows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.solver import Network, cheapest_flow
from rackwise.core.view import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.leaders.fair_counts import LeaderLoads
    from rackwise.core.planning.leaders.state import LeaderCandidates


def cheapest_leaders(candidates: LeaderCandidates, fair: LeaderLoads) -> NDArray[np.int64]:
    """The column of the leader of each row, int64 [rows].

    Raises `NoFlow` if the loads cannot be met, `OptimumTooLarge` and `MissingDependency`.
    """
    members, costs = candidates.members.astype(np.int64), candidates.costs
    _, codes = np.unique(costs, return_inverse=True)
    # type_: type of each row, int64 [rows]; examples: a row of each type, int64 [types].
    type_, examples = distinct([*members.T, *codes.reshape(costs.shape).T])
    types, brokers = len(examples), candidates.brokers
    type_of_arc, column = np.nonzero(members[examples] < brokers)
    heads = types + members[examples][type_of_arc, column]
    span = fair.high - fair.low
    # Nodes: the types, then the brokers, then the groups.
    network = Network(
        tails=np.concatenate((type_of_arc, types + np.arange(brokers))),
        heads=np.concatenate((heads, types + brokers + fair.group)),
        capacities=np.concatenate((np.bincount(type_)[type_of_arc], span)),
        costs=np.concatenate(
            (costs[examples][type_of_arc, column], np.zeros(brokers, dtype=np.int64))
        ),
        supplies=np.concatenate((np.bincount(type_), -fair.low, -fair.needs)),
    )
    flow = cheapest_flow(network)[: len(type_of_arc)]
    columns = np.repeat(column, flow)
    by_type = np.argsort(type_, kind="stable")
    found = np.empty(len(type_), dtype=np.int64)
    found[by_type] = columns
    return found
