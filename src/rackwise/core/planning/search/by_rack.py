"""Replica sets of each finest rack alone, if the rules fix how many replicas each rack gets.

With as many replicas as racks, and one in each, the racks are independent. A partition has one
replica in each rack: on a broker that holds it already, or on another one for a copy. The same
holds for every partition class whose racks hold zero or one replica of a partition.

Goals, in order: the same costs in the same order of priority as the network of all racks
(`network`); a million partitions in a few passes over arrays. The price of replication is the same
for all sets here, because each rack has its fixed number of replicas.

The algorithm. If one broker of the rack holds a partition, the partition stays or moves. Among
partitions of equal cost it does not matter which one moves. If all partitions are of this kind, no
flow is needed. Each broker gives away its cheapest partitions until it reaches its load. The higher
loads go to the brokers that save most by them:

```
broker   holds   low..high   moves   saved by one more       two places to give
1        5       2..3        3       its 3rd cheapest, 1     yes: moves 2
2        4       2..3        2       1                       yes: moves 1
3        1       2..3        0       0                       no: takes 1 more, ends at 2
```

A partition that two brokers of the rack hold must drop one. Then a small network decides.
Partitions with one holder are not nodes in it: they are supplied at their broker, and arcs to the
hub, cheapest first, carry those that move. Partitions with the same holders and costs are one node.

Limits: no pins, excluded brokers, capped topics or free loads (`network` handles these).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.planning.problem.copy_costs import STAGES, copy_costs, is_preferred
from rackwise.core.planning.problem.instance import sets_of
from rackwise.core.planning.search.lexicographic_flow import Arcs, cheapest
from rackwise.core.solver import cheapest_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.fair_loads.ranges import Ranges
    from rackwise.core.planning.fair_loads.targets import Targets
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.solver import Solve


class _RowBrokerPairs(NamedTuple):
    """Replicas as two aligned columns."""

    rows: NDArray[np.int64]
    """Row of each replica, int64 [replicas]."""
    brokers: NDArray[np.int64]
    """Broker of each replica, int64 [replicas]."""


class _RackProblem(NamedTuple):
    """One finest rack; its brokers are numbered from 0."""

    members: NDArray[np.int64]
    """Indexes of the rack's brokers."""
    empty: NDArray[np.int64]
    """Rows that get a replica here and hold none."""
    single: NDArray[np.int64]
    """Rows that one broker holds: brokers ascending, cheapest row first."""
    holder: NDArray[np.int64]
    """The broker of each of `single`."""
    costs: NDArray[np.int64]
    """Cost of moving each of `single`, [stages, single]."""
    many: NDArray[np.int64]
    """Row and broker of the rows that several brokers hold, [2, ..]."""
    many_costs: NDArray[np.int64]
    """Cost of moving away from all, and whether the broker is the old leader, [stages, ..]."""
    group: NDArray[np.int64]
    """Group of each member."""
    low: NDArray[np.int64]
    """Fewest replicas of each member."""
    high: NDArray[np.int64]
    """Most replicas of each member."""
    totals: NDArray[np.int64]
    """Totals of the groups, as far as they are in this rack."""


def are_racks_independent(instance: Instance, targets: Targets) -> bool:
    """Whether every rack can be planned independently."""
    ranges = targets.ranges
    if ranges is None or targets.caps or len(instance.pins.values) or not instance.is_open.all():
        return False
    for class_ in instance.classes:
        fixed = (class_.low[-1] == class_.high[-1]) & (class_.high[-1] <= 1)
        if not class_.has_boxes or not fixed.all():
            return False
    return _has_own_groups(instance, ranges)


def _has_own_groups(instance: Instance, ranges: Ranges) -> bool:
    """Whether each rack is in one group, or each group is in one rack."""
    pairs = np.unique(np.stack([instance.leaf, ranges.group]), axis=1)
    return any(len(np.unique(side)) == pairs.shape[1] for side in pairs)


def needs_flow(instance: Instance) -> bool:
    """Whether a row holds two replicas in a rack, so that it must drop one."""
    rows = instance.held.rows
    keys = rows * instance.leaves + instance.leaf[instance.held.values]
    return bool((keys[1:] == keys[:-1]).any())


def by_rack(
    instance: Instance,
    ranges: Ranges,
    *,
    should_stop: Callable[[], bool],
    solve: Solve = cheapest_flow,
) -> Ragged:
    """The best set of each row, as usable brokers, ascending.

    Raises `NoFlow`; `MissingDependency` if `needs_flow` and ortools is not installed.
    """
    found = [_RowBrokerPairs(*np.zeros((2, 0), dtype=np.int64))]
    for rack in _racks(instance, ranges):
        pairs = _solve_with_flow(rack, should_stop, solve) if rack.many.size else _closed_form(rack)
        found.append(_RowBrokerPairs(pairs.rows, rack.members[pairs.brokers]))
    rows = np.concatenate([pairs.rows for pairs in found])
    return sets_of(rows, np.concatenate([pairs.brokers for pairs in found]), len(instance))


def _racks(instance: Instance, ranges: Ranges) -> Iterator[_RackProblem]:
    held = instance.held
    rows, brokers = held.rows, held.values.astype(np.int64)
    leaf = instance.leaf[brokers]
    for number in np.unique(instance.leaf).tolist():
        members = np.flatnonzero(instance.leaf == number)
        index = np.full(len(instance.brokers), -1, dtype=np.int64)
        index[members] = np.arange(len(members))
        takes_one = np.array(
            [class_.high[-1][number] > 0 for class_ in instance.classes], dtype=np.bool_
        )
        gets_one = takes_one[instance.class_of]
        here = np.flatnonzero((leaf == number) & gets_one[rows])
        holders = np.bincount(rows[here], minlength=len(instance))
        is_single = holders[rows[here]] == 1
        single, many = here[is_single], here[~is_single]
        order, costs = _order_by_cost(instance, rows[single], brokers[single], number)
        names, group = np.unique(ranges.group[members], return_inverse=True)
        totals = np.array([ranges.totals[name] for name in names.tolist()], dtype=np.int64)
        yield _RackProblem(
            members=members,
            empty=np.flatnonzero(gets_one & (holders == 0)),
            single=rows[single][order],
            holder=index[brokers[single][order]],
            costs=costs,
            many=np.stack([rows[many], index[brokers[many]]]),
            many_costs=_many_costs(instance, rows[many], brokers[many], number),
            group=group.astype(np.int64),
            low=ranges.low[members],
            high=ranges.high[members],
            totals=totals if len(names) > 1 else np.array([int(gets_one.sum())], dtype=np.int64),
        )


def _order_by_cost(
    instance: Instance, rows: NDArray[np.int64], brokers: NDArray[np.int64], leaf: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order of rows with one holder, by holder, cheapest first; the cost of moving each."""
    copies = copy_costs(instance, rows, np.full(len(rows), leaf))
    leads = is_preferred(instance, rows, brokers)
    if len(rows) and (copies == copies[:, :1]).all():
        key = brokers * 2 + leads
        order = np.argsort(key.astype(np.min_scalar_type(int(key.max()))), kind="stable")
    else:
        order = np.lexsort((leads, copies[1], copies[0], brokers))
    return order, np.concatenate([copies, leads[None, :].astype(np.int64)])[:, order]


def _many_costs(
    instance: Instance, rows: NDArray[np.int64], brokers: NDArray[np.int64], leaf: int
) -> NDArray[np.int64]:
    """The cost of moving away from all holders, and what keeping the old leader saves."""
    copies = copy_costs(instance, rows, np.full(len(rows), leaf))
    leads = is_preferred(instance, rows, brokers).astype(np.int64)
    return np.concatenate([copies, leads[None, :]])


def _closed_form(rack: _RackProblem) -> _RowBrokerPairs:
    """Without a flow: each extra place goes to the broker that saves most by it."""
    width = len(rack.members)
    holds = np.bincount(rack.holder, minlength=width)
    ends = np.cumsum(holds)
    # A seat is one replica between the low and the high of a broker: arrays below are [seats].
    seats = rack.high - rack.low
    broker = np.repeat(np.arange(width), seats)
    seat = np.arange(len(broker)) - np.repeat(np.cumsum(seats) - seats, seats)
    place = holds[broker] - rack.low[broker] - 1 - seat
    # saves: what a seat saves, [stages, seats]: the cost of the row that then need not move.
    saves = np.zeros((STAGES, len(broker)), dtype=np.int64)
    is_held = place >= 0
    first = ends - holds
    saves[:, is_held] = rack.costs[:, first[broker[is_held]] + place[is_held]]
    order = np.lexsort((seat, broker, -saves[2], -saves[1], -saves[0], rack.group[broker]))
    spare = _group_remainders(rack)
    counts = np.bincount(rack.group[broker], minlength=len(rack.totals))
    rank = np.arange(len(broker)) - np.repeat(np.cumsum(counts) - counts, counts)
    taken = order[rank < np.repeat(spare, counts)]
    loads = rack.low + np.bincount(broker[taken], minlength=width)
    moved = np.maximum(holds - loads, 0)
    return _sets_of_rack(rack, moved, loads - np.minimum(holds, loads), [], rack.empty)


def _sets_of_rack(
    rack: _RackProblem,
    moved: NDArray[np.int64],
    room: NDArray[np.int64],
    staying: list[_RowBrokerPairs],
    waiting: NDArray[np.int64],
) -> _RowBrokerPairs:
    """The sets of a rack as rows and brokers.

    `moved`: how many single rows leave each broker; `room`: how many replicas it takes.
    """
    holds = np.bincount(rack.holder, minlength=len(rack.members))
    first = np.cumsum(holds) - holds
    leaves = np.arange(len(rack.holder)) - first[rack.holder] < moved[rack.holder]
    units = np.sort(np.concatenate([waiting, rack.single[leaves]]))
    targets = np.repeat(np.arange(len(rack.members)), room)
    stay = _RowBrokerPairs(rack.single[~leaves], rack.holder[~leaves])
    pairs = [stay, _RowBrokerPairs(units, targets), *staying]
    return _RowBrokerPairs(
        np.concatenate([pair.rows for pair in pairs]),
        np.concatenate([pair.brokers for pair in pairs]),
    )


def _solve_with_flow(
    rack: _RackProblem, should_stop: Callable[[], bool], solve: Solve
) -> _RowBrokerPairs:
    """With a flow: rows with several holders are nodes, and equal rows share a node."""
    width, groups = len(rack.members), len(rack.totals)
    hub, everyone = width, np.arange(width)
    # Nodes: the members, the hub, the groups, then one for each type of rows.
    types = _row_types(rack)
    number = np.arange(len(types.sizes))
    shared = width + 1 + groups
    holds = np.bincount(rack.holder, minlength=width)
    starts = _run_starts(rack)
    sizes = np.diff(np.append(starts, len(rack.holder)))
    none = np.zeros((STAGES, width), dtype=np.int64)
    tails = [rack.holder[starts], np.full(width, hub), shared + types.node, shared + number]
    heads = [np.full(len(starts), hub), everyone, types.broker, np.full(len(number), hub)]
    room = [sizes, np.full(width, int(rack.totals.sum())), types.sizes[types.node], types.sizes]
    arcs = Arcs(
        tails=np.concatenate([*tails, everyone]),
        heads=np.concatenate([*heads, width + 1 + rack.group]),
        capacities=np.concatenate([*room, rack.high - rack.low]),
        supplies=np.concatenate(
            [holds - rack.low, [len(rack.empty)], -_group_remainders(rack), types.sizes]
        ),
        shared=shared,
        rows=shared,
    )
    costs = np.concatenate(
        [rack.costs[:, starts], none, types.stay_costs, types.leave_costs, none], axis=1
    )
    stages = [partial(np.asarray, cost) for cost in costs]
    flow = cheapest(arcs, stages, should_stop=should_stop, solve=solve)
    ends = np.cumsum([len(each) for each in tails])
    left, taken, stays, goes = np.split(flow, ends)[:4]
    moved = np.bincount(rack.holder[starts], weights=left, minlength=width).astype(np.int64)
    staying, waiting = _distribute_rows(types, stays, goes)
    return _sets_of_rack(rack, moved, taken, [staying], np.concatenate([rack.empty, waiting]))


class _RowTypes(NamedTuple):
    """Types of rows that several brokers of a rack hold: rows with equal holders and costs."""

    rows: NDArray[np.int64]
    """Rows of the first type, then those of the next one."""
    sizes: NDArray[np.int64]
    """Number of rows of each type."""
    node: NDArray[np.int64]
    """The type of each (type, holder) pair."""
    broker: NDArray[np.int64]
    """The holder of each (type, holder) pair."""
    stay_costs: NDArray[np.int64]
    """Cost of staying on that holder, [stages, pairs]."""
    leave_costs: NDArray[np.int64]
    """Cost of leaving all holders, [stages, types]."""


def _row_types(rack: _RackProblem) -> _RowTypes:
    """The types in the order of their first rows."""
    rows, first, row = np.unique(rack.many[0], return_index=True, return_inverse=True)
    holders = np.bincount(row)
    leave_costs = rack.many_costs[:2, first]
    holder_keys = np.full((int(holders.max()), len(rows)), -1, dtype=np.int64)
    holder_keys[np.arange(len(row)) - first[row], row] = rack.many[1] * 2 + rack.many_costs[2]
    keys = np.concatenate([leave_costs, holder_keys])
    order = np.lexsort(keys[::-1])
    is_new = np.append(True, (keys[:, order[1:]] != keys[:, order[:-1]]).any(axis=0))
    type_ = np.empty(len(rows), dtype=np.int64)
    type_[order] = order[is_new][np.cumsum(is_new) - 1]
    model, type_ = np.unique(type_, return_inverse=True)
    counts = holders[model]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    held = np.repeat(first[model], counts) + within
    return _RowTypes(
        rows=rows[np.argsort(type_, kind="stable")],
        sizes=np.bincount(type_),
        node=np.repeat(np.arange(len(model)), counts),
        broker=rack.many[1][held],
        stay_costs=np.concatenate([np.zeros((2, len(held)), np.int64), -rack.many_costs[2:, held]]),
        leave_costs=np.concatenate([leave_costs[:, model], np.zeros((1, len(model)), np.int64)]),
    )


def _distribute_rows(
    types: _RowTypes, stays: NDArray[np.int64], goes: NDArray[np.int64]
) -> tuple[_RowBrokerPairs, NDArray[np.int64]]:
    """Which rows stay and on which broker, and which move; of equal rows the last ones move."""
    node = np.append(types.node, np.arange(len(goes)))
    broker = np.append(types.broker, np.full(len(goes), -1))
    order = np.argsort(node, kind="stable")
    chosen = np.repeat(broker[order], np.append(stays, goes)[order])
    is_kept = chosen >= 0
    return _RowBrokerPairs(types.rows[is_kept], chosen[is_kept]), types.rows[~is_kept]


def _group_remainders(rack: _RackProblem) -> NDArray[np.int64]:
    """The part of each group's total above the lows of its brokers."""
    lows = np.bincount(rack.group, weights=rack.low, minlength=len(rack.totals))
    return rack.totals - lows.astype(np.int64)


def _run_starts(rack: _RackProblem) -> NDArray[np.int64]:
    """The first of each run of rows with the same holder and cost."""
    if not len(rack.holder):
        return np.zeros(0, dtype=np.int64)
    differs = rack.holder[1:] != rack.holder[:-1]
    differs = differs | (rack.costs[:, 1:] != rack.costs[:, :-1]).any(axis=0)
    return np.append(0, np.flatnonzero(differs) + 1)
