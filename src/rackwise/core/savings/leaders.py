"""The saving of the cluster: other leaders inside the replica sets, as few per broker as today.

The cost of a leader is what its clients and followers pay: producing from their racks to its rack,
fetching from it, and copying to the followers. Copying changes with the leader as well: the old
leader receives what the new leader received before.

```
replicas    leader first   produced from   leader costs today   best
orders-0    2 1            a               b: crosses           1, in a
orders-1    3 2            b               c: crosses           2, in b
orders-2    1 3            c               a: crosses           3, in c
```

`choose_leaders` chooses the leaders: every broker leads as many partitions as the others, as far as
the sets allow, and at the least cost. A leader does not change where the cost is equal. Hardly any
two partitions cost the same; a flow still finds the choice in seconds.

What this does not do: move a replica; consider which replicas are in sync.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.choose import choose_leaders
from rackwise.core.planning.leaders.state import MOST_COST
from rackwise.core.savings.model import FETCH, PRODUCE, UNATTRIBUTED, TrafficKey
from rackwise.core.solver import COST_LIMIT
from rackwise.core.traffic import apportion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import RackTraffic
    from rackwise.core.savings.tariff import CrossingCost, Tariff

    PatternKey: TypeAlias = tuple[str, int]
    """Topic and pattern."""


def apply_leader_moves(
    traffic: RackTraffic,
    layout: Layout,
    tariff: Tariff,
    *,
    follows: Callable[[str], bool],
    value_of: Callable[[CrossingCost], int],
) -> RackTraffic:
    """The traffic with the cheapest fair leaders.

    `follows`: client group -> whether it reads from replicas in its racks. `value_of`: the amount
    of a cost that is minimized. Raises `MissingDependency` without ortools, and `OptimumTooLarge`.
    """
    chosen = _choose(layout, _costs(traffic, layout, tariff, follows=follows, value_of=value_of))
    after = Counter[TrafficKey]()
    for key, bytes_ in traffic.items():
        if key.pattern == UNATTRIBUTED:
            after[key] += bytes_
            continue
        racks = layout.racks[key.topic][key.pattern]
        counts = sorted(chosen[key.topic, key.pattern].items())
        shares = apportion(bytes_, [count for _, count in counts])
        for (position, _), share in zip(counts, shares, strict=True):
            after[key_with_leader(key, racks, position, follows=follows)] += share
    return after


def key_with_leader(
    key: TrafficKey,
    racks: Sequence[str | None],
    position: int,
    *,
    follows: Callable[[str], bool],
) -> TrafficKey:
    """The key of the bytes where the replica at that position leads.

    `racks`: the racks of the replicas, the present leader first.
    """
    if key.kind == PRODUCE:
        return key._replace(near=racks[position])
    if key.kind == FETCH:
        is_far = key.near != racks[0]
        is_near = follows(key.client_group) and key.far in racks
        return key if is_far or is_near else key._replace(near=racks[position])
    far = racks[0] if key.follower == position else key.far
    return key._replace(near=racks[position], far=far)


def _costs(
    traffic: RackTraffic,
    layout: Layout,
    tariff: Tariff,
    *,
    follows: Callable[[str], bool],
    value_of: Callable[[CrossingCost], int],
) -> Mapping[PatternKey, list[int]]:
    """The cost of all partitions of a pattern, by the position of the leader."""
    found: defaultdict[PatternKey, list[int]] = defaultdict(list)
    for key, bytes_ in traffic.items():
        if key.pattern == UNATTRIBUTED:
            continue
        pattern_key = (key.topic, key.pattern)
        racks = layout.racks[key.topic][key.pattern]
        costs = found[pattern_key] or [0] * len(racks)
        for position in range(len(racks)):
            moved = key_with_leader(key, racks, position, follows=follows)
            route = (moved.day, moved.kind, *moved.ends)
            costs[position] += value_of(tariff.cost(route, bytes_))
        found[pattern_key] = costs
    return found


def _choose(
    layout: Layout, costs: Mapping[PatternKey, list[int]]
) -> Mapping[PatternKey, Counter[int]]:
    """The partitions of each pattern by the position of their new leader."""
    rows = np.flatnonzero(layout.pattern != UNATTRIBUTED)
    sets, leader_costs, positions = [], [], []
    for row in rows.tolist():
        topic = layout.topics[layout.topic[row]]
        pattern = int(layout.pattern[row])
        ids = layout.replicas.row(row)
        total = costs.get((topic, pattern), [0] * len(ids))
        count = layout.counts[topic][pattern]
        # Only the present leader, and brokers that are live and have a rack, may lead.
        eligible = sorted(
            (id_, position)
            for position, id_ in enumerate(ids)
            if position == 0 or id_ in layout.may_lead
        )
        sets.append([id_ for id_, _ in eligible])
        positions.append(dict(eligible))
        leader_costs += [total[position] // count for _, position in eligible]
    leaders = np.array([layout.replicas.row(row)[0] for row in rows.tolist()], dtype=np.int64)
    ragged = Ragged.of(sets)
    # Costs count twice and a change of the leader once, so changes decide only between equal costs.
    is_change = (ragged.values != leaders[ragged.rows]).astype(np.int64)
    chosen = choose_leaders(ragged, leaders, cost=2 * _scale_costs(leader_costs) + is_change)
    found: defaultdict[PatternKey, Counter[int]] = defaultdict(Counter)
    for number, (row, leader) in enumerate(zip(rows.tolist(), chosen.leader.tolist(), strict=True)):
        pattern_key = (layout.topics[layout.topic[row]], int(layout.pattern[row]))
        found[pattern_key][positions[number][leader]] += 1
    return found


def _scale_costs(costs: list[int]) -> NDArray[np.int64]:
    """The costs in a unit so coarse that `choose_leaders` and the solver accept them."""
    # The solver multiplies costs by nodes: at most one for each replica, and two for each broker.
    most = min(MOST_COST, COST_LIMIT // (3 * len(costs) + 1))
    unit = max(1, -(-4 * max(costs, default=0) // most))
    return np.array([cost // unit for cost in costs], dtype=np.int64)
