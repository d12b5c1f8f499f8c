"""What prices are worth: which of them are believed, and the most that a group's loads can cost.

```
group 1 2 3, low 1 1 1, high 2 2 2, total 5       prices 3 1 0
every broker its low          3 + 1 + 0 = 4
two are left, dearest first   3 + 1     = 4       worth 8
```

What this does not do: add up a bound (`certificate`, `leadership`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rackwise.core.planning.model import Group

MOST_PRICE = 2**50
"""Prices lie between it and its negative, so that those of a set are far from what is `NEVER`."""


def believed(brokers: NDArray[np.int64], prices: Mapping[int, int]) -> NDArray[np.int64]:
    """Price of each usable broker, int64 [B]; 0 where there is none, or none that is believed."""
    found = [prices.get(id_, 0) for id_ in brokers.tolist()]
    return np.array([one if abs(one) <= MOST_PRICE else 0 for one in found], dtype=np.int64)


def can_be(group: Group) -> bool:
    """Whether a group has a low and a high for each broker, and its total lies between them."""
    return (
        len(group.brokers) == len(group.low) == len(group.high)
        and all(0 <= low <= high for low, high in zip(group.low, group.high, strict=True))
        and sum(group.low) <= group.total <= sum(group.high)
    )


def worth(group: Group, brokers: NDArray[np.int64], prices: NDArray[np.int64]) -> int:
    """The most that the loads of a group can be worth.

    `brokers`: ids of the usable ones, `prices`: theirs, both [B]; other brokers ask 0.
    """
    index: dict[int, int] = dict(zip(brokers.tolist(), prices.tolist(), strict=True))
    asked = [index.get(id_, 0) for id_ in group.brokers]
    found = sum(price * low for price, low in zip(asked, group.low, strict=True))
    left = group.total - sum(group.low)
    for price, low, high in sorted(zip(asked, group.low, group.high, strict=True), reverse=True):
        taken = min(left, high - low)
        found += taken * price
        left -= taken
    return found
