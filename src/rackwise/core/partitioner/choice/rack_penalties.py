"""Bounded locality where producers do not know of each other: racks that are too full get a price.

Goals, in order: a rack's load comes down to `1 + eps` times its even part; no talk between
producers, each sees only the load per leader rack; as much stays near as that lets.

The algorithm. From time to time each producer looks at the loads, moves its prices by

    price = max(0, price + gain * (load / ((1 + eps) * mean) - 1))

and sends to rack r with weight `weight_r * exp(-price_r)`, times `leak` where r is not its own.

```
a 1, b 1, c 0; eps 0.1; bound 0.733      look 1   prices a 0.073, b 0.073   own 0.960, c 0.021
                                         look 2   prices a 0.145, b 0.145   own 0.959, c 0.022
                                         look 40  own about 0.73, c about 0.24
```

The leak makes the answer soft: there is no price at which a rack falls from all to nothing, which
would swing (a controller that integrates the local share itself does, to load factors of 1.3 to
1.9). While no rack has a price nothing leaks.

What this does not do: know levels, of which only the own rack is told apart; reach the optimum,
from which it stays about one percent away. Source: KIP-1123, bounded; dual ascent.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.errors import SplitError
from rackwise.core.partitioner.split.rates import check_eps, check_number, check_weights
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

GAIN = 0.2
LEAK = 0.02


def price_step(
    price: Mapping[str, float],
    observed: Mapping[str, float],
    weights: Mapping[str, float],
    eps: float,
    *,
    gain: float = GAIN,
) -> Mapping[str, float]:
    """The next prices, rack -> price, from the load that was seen, rack -> bytes_per_s.

    A rack that `price` or `observed` does not name has 0 there; one without weight has no price.
    Where nothing was sent, prices stay. Raises `SplitError`.
    """
    check_eps(eps)
    check_weights(weights)
    for noun, values in (("price", price), ("load", observed)):
        for rack in sorted(values):
            check_number(noun, rack, values[rack])
    total = math.fsum(observed.values())
    whole = math.fsum(weights.values())
    prices = {}
    for rack in sorted(weights):
        had = price.get(rack, 0.0) if weights[rack] else 0.0
        bound = (1 + eps) * total * (weights[rack] / whole)
        over = observed.get(rack, 0.0) / bound - 1 if bound else 0.0
        prices[rack] = max(0.0, had + gain * over)
    return MappingProxyType(prices)


def shares_from_prices(
    price: Mapping[str, float],
    weights: Mapping[str, float],
    own_rack: str,
    *,
    leak: float = LEAK,
) -> Mapping[str, float]:
    """What a client of `own_rack` sends to each leader rack at these prices, adding up to 1.

    A client whose own rack has no weight goes by weight and price alone. Raises `SplitError`.
    """
    check_weights(weights)
    for rack in sorted(price):
        check_number("price", rack, price[rack])
    if not 0 <= leak <= 1:
        raise SplitError(
            f"expected a leak of 0 to 1, got {leak}",
            wanted="0 to 1",
            had=leak,
            hint=f"{LEAK} is tried",
            where=escaped(own_rack),
        )
    far = leak if any(price.values()) else 0.0
    if not weights.get(own_rack):
        far = 1.0
    pull = {
        rack: weights[rack] * (1.0 if rack == own_rack else far)
        for rack in sorted(weights)
        if weights[rack] and (far or rack == own_rack)
    }
    least = min(price.get(rack, 0.0) for rack in pull)
    pull = {rack: had * math.exp(least - price.get(rack, 0.0)) for rack, had in pull.items()}
    total = math.fsum(pull.values())
    return MappingProxyType({rack: pull.get(rack, 0.0) / total for rack in sorted(weights)})
