"""The costs that compare replica sets, in order of priority, as columns of integers.

```
minimised              first                second           third
moves                  1 for each copy      its bytes        1 for an old preferred leader dropped
bytes                  its bytes            1 for each copy  the same
usd                    its nano-dollars     1 for each copy  the same
```

An unknown size counts as 0 if bytes are the second cost. If moves are minimised, and rates and
prices are known, the price of replication comes between the first and the second
(`steady_costs`). If loads are free, they are evened out after the first cost, but never before the
number of copies or the price of replication.

Limits: this module does not even out loads (`search.even_loads` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance

STAGES = 3
"""Costs in order of priority: the two of `copy_costs`, then one for a dropped old leader."""


def copy_costs(
    instance: Instance, rows: NDArray[np.int64], leaves: NDArray[np.int64]
) -> NDArray[np.int64]:
    """First and second cost of a copy of each row to the aligned finest rack: int64 [2, rows]."""
    first = instance.costs.at(rows, leaves)
    if instance.minimise == "moves":
        return np.stack([first, instance.view.table.bytes[rows].clip(min=0)])
    return np.stack([first, np.ones_like(first)])


def stages_before_squares(instance: Instance) -> int:
    """The number of costs that come before the evening out of free loads."""
    if instance.minimise != "moves":
        return 2
    return 1 if instance.steady is None else 2


def is_preferred(
    instance: Instance, rows: NDArray[np.int64], brokers: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the aligned broker of each row is its old preferred leader."""
    found: NDArray[np.bool_] = instance.preferred[rows] == brokers
    return found
