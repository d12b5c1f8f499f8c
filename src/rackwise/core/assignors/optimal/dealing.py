"""Counts become names: units are dealt to the places that a flow only counts.

Goals, in order: as many to each as the flow says; consecutive units to different places, so that a
topic spreads; the same input, the same deal.

Units are known by a key, and for each key some places take so many of its units. The units of a key
are dealt in their order.

```
units of key 0: t-0 t-1 t-2 t-3 t-4       places take: m1 3, m2 1, m3 1

one after the other        m1 m1 m1 m2 m3
around, skipping the full  m1 m2 m3 m1 m1
evenly                     m1 m2 m3 m1 m1      m1 2, m2 4: m1 m2 m2 m1 m2 m2
```

Evenly, the i-th of the n units of a place stands at i/n of the way.

What this does not do: look at racks, costs or members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rackwise.core.assignors.optimal.group import NOBODY, stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

Way = Literal["one after the other", "around", "evenly"]
STEPS = 2**15
"""As finely is the way divided."""


def dealt(
    keys: NDArray[np.int64],
    place_keys: NDArray[np.int64],
    places: NDArray[np.int64],
    counts: NDArray[np.int64],
    way: Way,
) -> NDArray[np.int64]:
    """The place of each unit, int64 [units]; `NOBODY` of the last ones that no place takes.

    `keys`: of each unit, from 0 on. Place `places[i]` takes `counts[i]` units of `place_keys[i]`;
    no more units are taken than there are.
    """
    if not counts.any():
        return np.full(len(keys), NOBODY)
    taken = _in_turn(place_keys, counts, way)
    key_count = 1 + max(int(keys.max(initial=-1)), int(place_keys.max()))
    units = np.bincount(keys, minlength=key_count)
    takes = np.bincount(place_keys[taken], minlength=key_count)
    only = np.full(key_count, NOBODY)
    only[place_keys] = places
    if (takes == units).all() and (only[place_keys] == places).all():
        return only[keys]
    order = stable_order(keys)
    turn = np.arange(len(keys)) - np.repeat(np.cumsum(units) - units, units)
    is_dealt = turn < np.repeat(takes, units)
    found = np.full(len(keys), NOBODY)
    found[order[is_dealt]] = places[taken]
    return found


def _in_turn(keys: NDArray[np.int64], counts: NDArray[np.int64], way: Way) -> NDArray[np.int64]:
    """Numbers of places, each as often as it takes a unit, in the order in which they do."""
    taken = np.repeat(np.arange(len(counts)), counts)
    if way != "one after the other":
        turn = np.arange(len(taken)) - np.repeat(np.cumsum(counts) - counts, counts)
        if way == "evenly":
            turn = turn * STEPS // counts[taken]
        taken = taken[stable_order(turn)]
    return taken[stable_order(keys[taken])]
