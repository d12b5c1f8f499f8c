"""The costs that compare replica sets, in order of priority, as columns of integers.

```
goal to make small     first                second           third
moves                  1 for each copy      its bytes        1 for an old preferred leader dropped
bytes                  its bytes            1 for each copy  the same
usd                    its nano-dollars     1 for each copy  the same
```

Unknown sizes count as 0 where bytes come second. Where loads are left free they are evened out
after the first, and after the number of copies in any case.

What this does not do: even loads out (`search.even_loads`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance

STAGES = 3


def copy_costs(
    instance: Instance, rows: NDArray[np.int64], leaves: NDArray[np.int64]
) -> NDArray[np.int64]:
    """First and second cost of a copy of each row to the finest rack beside it: int64 [2, rows]."""
    first = instance.costs.at(rows, leaves)
    if instance.minimise == "moves":
        return np.stack([first, instance.view.table.bytes[rows].clip(min=0)])
    return np.stack([first, np.ones_like(first)])


def stages_before_squares(instance: Instance) -> int:
    """How many of the costs come before loads that are left free are evened out."""
    return 1 if instance.minimise == "moves" else 2


def is_preferred(
    instance: Instance, rows: NDArray[np.int64], brokers: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the broker beside each row is its old preferred leader."""
    found: NDArray[np.bool_] = instance.preferred[rows] == brokers
    return found
