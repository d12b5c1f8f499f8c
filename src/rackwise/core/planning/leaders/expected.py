"""The leader that each partition is expected to have after a plan, before its set is chosen.

The price of replication depends on the rack of the leader, and the leader is chosen after the set.
Most leaders stay, so the expected leader is the old preferred leader if it may still lead. If it is
dead, drained or must not lead, it is the first replica in list order that may lead: Kafka would
elect that one. A broker that replaces the preferred leader leads in its place.

```
list 1 2 3                expected 1
list 1 2 3, 1 drained     expected 2
list 1 2 3, replace 1=6   expected 6
list 9 8, both dead       none: replication has no price
```

Limits: this module chooses no leaders (`choose` does). With even leaders, some will be others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.leaders.eligible import electable
from rackwise.core.planning.model import Leaders, Replace
from rackwise.core.planning.outcome.dollars import copy_prices
from rackwise.core.planning.problem.steady_costs import SteadyCosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.traffic import Price


def with_steady_costs(instance: Instance, prices: Sequence[Price]) -> Instance:
    """The instance with the price of replication as its second objective, where it has one.

    It has none without prices and rates, if another cost than moves is minimised, if racks do not
    count, or if only leaders are chosen. `prices`: rows of one provider. Raises `InvalidPrices`.
    """
    view = instance.view
    rates = view.table.bytes_in_per_s
    if (
        not (rates > 0).any()
        or instance.minimise != "moves"
        or instance.tree is not view.tree
        or isinstance(instance.goal, Leaders)
    ):
        return instance
    tariff = copy_prices(view, prices)
    if tariff is None:
        return instance
    source = np.append(instance.leaf, -1)[expected_leaders(instance)]
    return replace(instance, steady=SteadyCosts.of(rates, source, tariff))


def expected_leaders(instance: Instance) -> NDArray[np.int64]:
    """The expected leader of each row, a usable broker, -1 = none: int64 [rows]."""
    view = instance.view
    candidates, preferred = electable(instance, instance.held)
    index = np.full(len(view.live), -1, dtype=np.int64)
    index[view.tree.places(instance.brokers)] = np.arange(len(instance.brokers))
    listed = index[view.placed_places]
    rows = view.placed.rows
    is_candidate = candidates.has(rows, listed.clip(min=0))
    is_candidate &= listed >= 0
    found = np.full(len(instance), -1, dtype=np.int64)
    at, first = np.unique(rows[is_candidate], return_index=True)
    found[at] = listed[is_candidate][first]
    stays = is_candidate & (listed == preferred[rows])
    found[rows[stays]] = preferred[rows[stays]]
    if isinstance(instance.goal, Replace):
        for old, new in instance.goal.pairs:
            heir = np.flatnonzero(instance.brokers == new)
            if len(heir):
                found[view.preferred == old] = heir[0]
    return found
