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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.leaders.choose import choose_leaders
from rackwise.core.planning.leaders.state import MOST_COST
from rackwise.core.savings.model import FETCH, PRODUCE, UNATTRIBUTED
from rackwise.core.savings.tariff import Costs
from rackwise.core.savings.traffic.columns import Lists, apportion_rows
from rackwise.core.solver import COST_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.tariff import CrossingCost, RatesOfRoutes
    from rackwise.core.savings.traffic.chunks import Chunk, Lanes, Traffic, TrafficNames
    from rackwise.core.savings.traffic.columns import Codes
    from rackwise.core.savings.traffic.patterns import PatternRacks, Patterns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeaderMoves:
    """The choice of leaders of a cluster."""

    layout: Layout
    patterns: Patterns
    lanes: Lanes
    names: TrafficNames
    rates: RatesOfRoutes
    follows: NDArray[np.bool_]
    """Group -> whether it reads from replicas in its racks."""

    def apply(self, traffic: Traffic, value_of: Callable[[CrossingCost], int]) -> list[Chunk]:
        """The traffic with the cheapest fair leaders.

        `value_of`: the amount of a cost that is minimized. Raises `MissingDependency` without
        ortools, and `OptimumTooLarge`.
        """
        costs = self._costs(traffic)
        width = self.patterns.table.width
        values = [value_of(costs.one(row)) for row in range(len(costs.cross))]
        chosen = _choose(
            self.layout,
            self.patterns,
            self.names,
            [values[at:][:width] for at in range(0, len(values), width)],
        )
        lists = Lists.of([len(counts) for counts in chosen])
        entries = [entry for counts in chosen for entry in counts]
        position = np.array([position for position, _ in entries], dtype=np.int64)
        count = np.array([count for _, count in entries], dtype=np.int64)
        return [self._moved(chunk, lists, position, count) for chunk in traffic]

    def ends(self, keys: Chunk, position: Codes) -> tuple[Codes, Codes]:
        """`near` and `far` of keys where the replica at that position leads."""
        return ends_with_leader(
            self.names.kinds[keys.kind],
            (keys.near, keys.far),
            self.patterns.table,
            self.patterns.pattern(keys.slot),
            self.patterns.follower(keys.slot),
            position,
            follows=self.follows[self.lanes.group[keys.lane]],
        )

    def _moved(self, chunk: Chunk, lists: Lists, position: Codes, count: Codes) -> Chunk:
        is_known = chunk.slot != UNATTRIBUTED
        keys = chunk.part(np.flatnonzero(is_known))
        own = lists.of_rows(self.patterns.pattern(keys.slot))
        row, entry = own.expanded()
        share = apportion_rows(keys.bytes, own.length, count[entry])
        parts = keys.part(row)
        near, far = self.ends(parts, position[entry])
        stays = chunk.part(np.flatnonzero(~is_known))
        return stays.joined(parts._replace(near=near, far=far, bytes=share))

    def _costs(self, traffic: Traffic) -> Costs:
        """The cost of all partitions of a pattern, by the position of the leader.

        One row for each slot.
        """
        table = self.patterns.table
        costs = Costs.zero(table.racks.size, self.rates.dtype)
        for chunk in traffic:
            keys = chunk.part(np.flatnonzero(chunk.slot != UNATTRIBUTED))
            pattern = self.patterns.pattern(keys.slot)
            length = table.lengths[pattern]
            for position in range(table.width):
                rows = np.flatnonzero(length > position)
                part = keys.part(rows)
                near, far = self.ends(part, np.full(len(rows), position))
                moved = part._replace(near=near, far=far)
                rate = self.rates.of(self.lanes.day[part.lane], part.kind, *self.rates.ends(moved))
                costs.add_at(
                    pattern[rows] * table.width + position, self.rates.cost(rate, part.bytes)
                )
        return costs


def ends_with_leader(
    kind: str,
    ends: tuple[Codes, Codes],
    table: PatternRacks,
    pattern: Codes,
    follower: Codes,
    position: Codes,
    *,
    follows: NDArray[np.bool_],
) -> tuple[Codes, Codes]:
    """`near` and `far` of bytes of one kind where the replica at that position leads.

    `ends`: both today. `follows`: whether the client reads from replicas in its rack.
    """
    near, far = ends
    today, new = table.racks[pattern, 0], table.racks[pattern, position]
    if kind == PRODUCE:
        return new, far
    if kind == FETCH:
        is_far = near != today
        is_near = follows & table.has(pattern, far)
        return np.where(is_far | is_near, near, new), far
    return new, np.where(follower == position, today, far)


def _choose(
    layout: Layout, patterns: Patterns, names: TrafficNames, costs: Sequence[Sequence[int]]
) -> list[list[tuple[int, int]]]:
    """For each pattern, the positions of the new leaders, and their partitions.

    `costs`: for each pattern, of all its partitions, by the position of the leader.
    """
    code_of = {name: code for code, name in enumerate(names.topics)}
    firsts = [patterns.first[code_of[name]] for name in layout.topics]
    rows = np.flatnonzero(layout.pattern != UNATTRIBUTED)
    numbers = [
        firsts[topic] + number
        for topic, number in zip(
            layout.topic[rows].tolist(), layout.pattern[rows].tolist(), strict=True
        )
    ]
    counts = patterns.count.tolist()
    sets, leader_costs, positions = [], [], []
    for row, pattern in zip(rows.tolist(), numbers, strict=True):
        ids = layout.replicas.row(row)
        # Only the present leader, and brokers that are live and have a rack, may lead.
        eligible = sorted(
            (id_, position)
            for position, id_ in enumerate(ids)
            if position == 0 or id_ in layout.may_lead
        )
        sets.append([id_ for id_, _ in eligible])
        positions.append(dict(eligible))
        leader_costs += [costs[pattern][position] // counts[pattern] for _, position in eligible]
    leaders = np.array([layout.replicas.row(row)[0] for row in rows.tolist()], dtype=np.int64)
    ragged = Ragged.of(sets)
    # Costs count twice and a change of the leader once, so changes decide only between equal costs.
    is_change = (ragged.values != leaders[ragged.rows]).astype(np.int64)
    chosen = choose_leaders(ragged, leaders, cost=2 * _scale_costs(leader_costs) + is_change)
    found: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for own, pattern, leader in zip(positions, numbers, chosen.leader.tolist(), strict=True):
        found[pattern][own[leader]] += 1
    return [sorted(found[pattern].items()) for pattern in range(len(counts))]


def _scale_costs(costs: list[int]) -> NDArray[np.int64]:
    """The costs in a unit so coarse that `choose_leaders` and the solver accept them."""
    # The solver multiplies costs by nodes: at most one for each replica, and two for each broker.
    most = min(MOST_COST, COST_LIMIT // (3 * len(costs) + 1))
    unit = max(1, -(-4 * max(costs, default=0) // most))
    return np.array([cost // unit for cost in costs], dtype=np.int64)
