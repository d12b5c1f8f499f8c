"""Bounded locality without coordination between producers: a penalty for each overloaded rack.

Goals, in order:

1. The load of a rack falls to `1 + eps` times its even share.
2. Producers need no coordination: each one sees only the load of every leader rack.
3. As many bytes as possible stay local.

The algorithm. From time to time each producer reads the loads and updates its penalties:

    penalty = max(0, penalty + gain * (load / ((1 + eps) * mean) - 1))

It sends to rack r with weight `weight_r * exp(-penalty_r)`, times `leak` where r is not its own
rack.

```
a 1, b 1, c 0; eps 0.1; bound 0.733      look 1   penalties a 0.073, b 0.073   own 0.960, c 0.021
                                         look 2   penalties a 0.145, b 0.145   own 0.959, c 0.022
                                         look 40  own about 0.73, c about 0.24
```

The leak makes the response gradual: no penalty switches a rack from everything to nothing, which
would oscillate. (A controller that integrates the local share itself oscillates to load factors of
1.3 to 1.9.) Nothing leaks while no rack has a penalty.

What this does not do: use rack levels, because it separates only the own rack from all others;
reach the optimum exactly, because it stays about one percent away.

Source: KIP-1123, bounded; dual ascent.
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
"""How much a penalty grows where a load is twice its bound."""
LEAK = 0.02
"""The weight of another rack relative to the own one, before penalties."""


def penalty_step(
    penalty: Mapping[str, float],
    observed: Mapping[str, float],
    weights: Mapping[str, float],
    eps: float,
    *,
    gain: float = GAIN,
) -> Mapping[str, float]:
    """The next penalties, rack -> penalty, from the observed load, rack -> bytes_per_s.

    A rack that is missing in `penalty` or `observed` counts as 0 there. A rack without weight has
    no penalty. Penalties do not change where nothing was sent. Raises `SplitError`.
    """
    check_eps(eps)
    check_weights(weights)
    for noun, values in (("penalty", penalty), ("load", observed)):
        for rack in sorted(values):
            check_number(noun, rack, values[rack])
    total = math.fsum(observed.values())
    whole = math.fsum(weights.values())
    penalties = {}
    for rack in sorted(weights):
        before = penalty.get(rack, 0.0) if weights[rack] else 0.0
        bound = (1 + eps) * total * (weights[rack] / whole)
        over = observed.get(rack, 0.0) / bound - 1 if bound else 0.0
        penalties[rack] = max(0.0, before + gain * over)
    return MappingProxyType(penalties)


def shares_from_penalties(
    penalty: Mapping[str, float],
    weights: Mapping[str, float],
    own_rack: str,
    *,
    leak: float = LEAK,
) -> Mapping[str, float]:
    """The shares that a client of `own_rack` sends to each leader rack, adding up to 1.

    Only weights and penalties decide where the own rack has no weight. Raises `SplitError`.
    """
    check_weights(weights)
    for rack in sorted(penalty):
        check_number("penalty", rack, penalty[rack])
    if not 0 <= leak <= 1:
        raise SplitError(
            f"invalid leak: expected 0 to 1, got {leak}",
            wanted="0 to 1",
            had=leak,
            hint=f"use {LEAK}, which is tested",
            where=escaped(own_rack),
        )
    far = leak if any(penalty.values()) else 0.0
    if not weights.get(own_rack):
        far = 1.0
    pull = {
        rack: weights[rack] * (1.0 if rack == own_rack else far)
        for rack in sorted(weights)
        if weights[rack] and (far or rack == own_rack)
    }
    least = min(penalty.get(rack, 0.0) for rack in pull)
    # Only differences of penalties count; relative to the least one no exponential underflows to 0
    # for all racks.
    pull = {
        rack: weight * math.exp(least - penalty.get(rack, 0.0)) for rack, weight in pull.items()
    }
    total = math.fsum(pull.values())
    return MappingProxyType({rack: pull.get(rack, 0.0) / total for rack in sorted(weights)})
