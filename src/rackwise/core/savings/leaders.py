"""The lever of the cluster: another leader inside each replica set, and as few leaders a broker.

A leader is worth what its clients and followers pay: produce from their racks to its own, fetches
that are read from it, and copies to the followers. With another leader the copies change as well:
what the new one received the old one receives.

```
rotated     replicas   produced from   leader costs today   best
orders-0    2 1        a               b: crosses           1, in a
orders-1    3 2        b               c: crosses           2, in b
orders-2    1 3        c               a: crosses           3, in c
```

Leaders are chosen by core's cheapest fair choice: every broker leads as many as the others, where
the sets allow. At equal cost nobody changes. As hardly two partitions cost the same, a flow finds
it in seconds.

What this does not do: move a replica; heed which replicas are in sync.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.choose import choose_leaders
from rackwise.core.planning.leaders.state import MOST_COST
from rackwise.core.savings.model import FETCH, LOOSE, PRODUCE, Place
from rackwise.core.solver import MOST
from rackwise.core.traffic import apportion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from numpy.typing import NDArray

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import State
    from rackwise.core.savings.tariff import Sum, Tariff

    Kind: TypeAlias = tuple[str, int]
    """Topic and `alike`."""


def led_elsewhere(
    state: State,
    layout: Layout,
    tariff: Tariff,
    *,
    follows: Callable[[str], bool],
    worth: Callable[[Sum], int],
) -> State:
    """The cheapest fair leaders. `follows`: client group -> whether it reads near replicas.

    Raises `MissingDependency` without ortools, and `OptimumTooLarge`.
    """
    chosen = _chosen(layout, _costs(state, layout, tariff, follows=follows, worth=worth))
    after = Counter[Place]()
    for place, bytes_ in state.items():
        if place.alike == LOOSE:
            after[place] += bytes_
            continue
        ways = sorted(chosen[place.topic, place.alike].items())
        shares = apportion(bytes_, [count for _, count in ways])
        for (position, _), share in zip(ways, shares, strict=True):
            after[_led_by(place, layout, position, follows=follows)] += share
    return after


def _led_by(
    place: Place, layout: Layout, position: int, *, follows: Callable[[str], bool]
) -> Place:
    """The place of the bytes when the replica at that position leads."""
    racks = layout.racks[place.topic][place.alike]
    if place.kind == PRODUCE:
        return place._replace(near=racks[position])
    if place.kind == FETCH:
        is_far = place.near != racks[0]
        is_near = follows(place.client_group) and place.far in racks
        return place if is_far or is_near else place._replace(near=racks[position])
    far = racks[0] if place.follower == position else place.far
    return place._replace(near=racks[position], far=far)


def _costs(
    state: State,
    layout: Layout,
    tariff: Tariff,
    *,
    follows: Callable[[str], bool],
    worth: Callable[[Sum], int],
) -> Mapping[Kind, list[int]]:
    """What all partitions that are alike cost with the leader at each position."""
    found: defaultdict[Kind, list[int]] = defaultdict(list)
    for place, bytes_ in state.items():
        if place.alike == LOOSE:
            continue
        kind = (place.topic, place.alike)
        width = len(layout.racks[place.topic][place.alike])
        costs = found[kind] or [0] * width
        for position in range(width):
            led = _led_by(place, layout, position, follows=follows)
            way = (led.day, led.kind, *led.ends)
            costs[position] += worth(tariff.cost(way, bytes_))
        found[kind] = costs
    return found


def _chosen(layout: Layout, costs: Mapping[Kind, list[int]]) -> Mapping[Kind, Counter[int]]:
    """Kind -> position of the new leader -> partitions."""
    rows = np.flatnonzero(layout.alike != LOOSE)
    sets, prices, positions = [], [], []
    for row in rows.tolist():
        topic = layout.topics[layout.topic[row]]
        alike = int(layout.alike[row])
        ids = layout.replicas.row(row)
        total = costs.get((topic, alike), [0] * len(ids))
        count = layout.counts[topic][alike]
        may = sorted(
            (id_, position)
            for position, id_ in enumerate(ids)
            if position == 0 or id_ in layout.may_lead
        )
        sets.append([id_ for id_, _ in may])
        positions.append(dict(may))
        prices += [total[position] // count for _, position in may]
    leaders = np.array([layout.replicas.row(row)[0] for row in rows.tolist()], dtype=np.int64)
    ragged = Ragged.of(sets)
    is_change = (ragged.values != leaders[ragged.rows]).astype(np.int64)
    made = choose_leaders(ragged, leaders, cost=2 * _scaled(prices) + is_change)
    found: defaultdict[Kind, Counter[int]] = defaultdict(Counter)
    for number, (row, leader) in enumerate(zip(rows.tolist(), made.leader.tolist(), strict=True)):
        kind = (layout.topics[layout.topic[row]], int(layout.alike[row]))
        found[kind][positions[number][leader]] += 1
    return found


def _scaled(prices: list[int]) -> NDArray[np.int64]:
    """Prices in a unit so coarse that `choose_leaders` and the solver accept them."""
    # The solver multiplies costs by nodes: at most one for each replica, and two for each broker.
    most = min(MOST_COST, MOST // (3 * len(prices) + 1))
    unit = max(1, -(-4 * max(prices, default=0) // most))
    return np.array([price // unit for price in prices], dtype=np.int64)
