"""Distributes units over targets: the counts of a flow become units with names.

Goals, in order: each target gets as many units as the flow says; consecutive units go to different
targets, so that a topic spreads; the same input gives the same result.

Each unit has a key, and for each key some targets take a number of its units. The units of a key
are distributed in their order.

```
units of key 0: t-0 t-1 t-2 t-3 t-4       targets take: m1 3, m2 1, m3 1

one after the other        m1 m1 m1 m2 m3
around, skipping the full  m1 m2 m3 m1 m1
evenly                     m1 m2 m3 m1 m1      m1 2, m2 4: m1 m2 m2 m1 m2 m2
```

In the way `evenly`, the i-th of the n units of a target has position i/n.

What this does not do: consider racks, costs or members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rackwise.core.assignors.optimal.group import NOBODY, stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

Way = Literal["one after the other", "around", "evenly"]
STEPS = 2**15
"""The number of distinct positions in the way `evenly`."""


def distribute(
    keys: NDArray[np.int64],
    target_keys: NDArray[np.int64],
    targets: NDArray[np.int64],
    counts: NDArray[np.int64],
    way: Way,
) -> NDArray[np.int64]:
    """The target of each unit, int64 [units]; `NOBODY` for the last units that no target takes.

    `keys`: the key >= 0 of each unit. `targets[i]` takes `counts[i]` units of the key
    `target_keys[i]`. The targets of a key take at most as many units as the key has.
    """
    if not counts.any():
        return np.full(len(keys), NOBODY)
    # [takes], an index into `targets` for each unit that is taken, in order of keys
    taken = _order_of_taking(target_keys, counts, way)
    key_count = 1 + max(int(keys.max(initial=-1)), int(target_keys.max()))
    # [keys], how many units a key has, and how many of them its targets take
    units = np.bincount(keys, minlength=key_count)
    takes = np.bincount(target_keys[taken], minlength=key_count)
    # A shortcut: every key has one target, which takes all of its units.
    only = np.full(key_count, NOBODY)
    only[target_keys] = targets
    if (takes == units).all() and (only[target_keys] == targets).all():
        return only[keys]
    order = stable_order(keys)
    # [units], the position of each unit among the units of its key
    turn = np.arange(len(keys)) - np.repeat(np.cumsum(units) - units, units)
    is_taken = turn < np.repeat(takes, units)
    found = np.full(len(keys), NOBODY)
    found[order[is_taken]] = targets[taken]
    return found


def _order_of_taking(
    keys: NDArray[np.int64], counts: NDArray[np.int64], way: Way
) -> NDArray[np.int64]:
    """The index of the target that takes each unit, in order of keys and then of the way."""
    taken = np.repeat(np.arange(len(counts)), counts)
    if way != "one after the other":
        # the position of each take among the takes of its target
        turn = np.arange(len(taken)) - np.repeat(np.cumsum(counts) - counts, counts)
        if way == "evenly":
            turn = turn * STEPS // counts[taken]
        taken = taken[stable_order(turn)]
    return taken[stable_order(keys[taken])]
