"""The scope of a limited goal: the partitions that a plan may change, and how far rules bind there.

A goal that names brokers or topics touches what it must. In the rest of the cluster, a broken rule
stays as it is. Partitions of topics that the policy excludes are frozen for every goal, and those
with a replica on a broker that the cluster does not list for the goal `leaders`:

```
drain 7      orders-4  1 2 7     touched: it holds a replica on 7
             orders-5  1 2 3     frozen: its legal sets are {1 2 3} alone, whatever the rules say
add 9        orders-4  1 2 3     may move for even loads
             orders-6  1 2 8     frozen: 8 is dead, and nothing asks to repair that
leaders      orders-4  1 2 3     another order
             orders-7  1 2 9     frozen: 9 is not listed, and Kafka accepts no new list with it
```

A touched partition may break a rule already. Then it need not be repaired. Its new replicas go
where the rules want them, and no rule is broken more than before (`relaxed_classes`). Replicas on
brokers that are not usable are replaced, because no list that a plan writes may hold them. A goal
that also balances loads repairs the partitions that it touches.

Size. A touched partition keeps its number of replicas, unless the goal sets it.

Pins. A missing pinned broker is added if the partition takes new replicas anyway.

Limits: a class of partitions that no set can satisfy makes a touched partition infeasible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.planning.problem.partition_class import parts
from rackwise.core.planning.problem.rack_bounds import RackCapacity, rack_bounds, rack_capacity
from rackwise.core.planning.problem.relaxed_classes import relaxed_class
from rackwise.core.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.planning.problem.goals import ResolvedGoal, TouchedPart
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.planning.problem.partition_class import PartitionClass


class GoalScope(NamedTuple):
    """The partitions that a goal touches, may move, and leaves as they are."""

    is_touched: NDArray[np.bool_]
    """Whether the goal itself asks for a change of the partition, bool [P]."""
    is_frozen: NDArray[np.bool_]
    """Whether the partition keeps its list, bool [P]."""
    replicas: NDArray[np.int64]
    """Number of replicas on usable brokers after the plan, int64 [P]."""

    @classmethod
    def of(cls, view: View, touched: TouchedPart | None, held: Ragged) -> GoalScope:
        """The scope of a goal; `held`: the usable brokers of each row."""
        by_rules = np.array([rules.replication or 0 for rules in view.rules], dtype=np.int64)
        wanted = by_rules[view.row_rules]
        placed = view.placed.lengths
        sized = np.where(wanted > 0, wanted, placed)
        is_excluded = np.array([rules.exclude for rules in view.rules], dtype=np.bool_)
        excluded = is_excluded[view.row_rules]
        if touched is None:
            nothing = np.zeros(len(placed), dtype=np.bool_)
            return cls(nothing, excluded, np.where(excluded, held.lengths, sized))
        leaves = View.sums(view.placed, np.isin(view.placed.values, touched.leaving)) > 0
        resized = _named_rows(view, touched) & (sized != placed)
        is_touched = (leaves | resized) & ~excluded
        if touched.repairs:
            return cls(is_touched, excluded, np.where(excluded, held.lengths, sized))
        is_frozen = ~is_touched
        if touched.balances:
            is_frozen &= excluded | (held.lengths < placed)
        replicas = np.where(is_frozen, held.lengths, np.where(resized, sized, placed))
        return cls(is_touched, is_frozen, replicas)


def _named_rows(view: View, touched: TouchedPart) -> NDArray[np.bool_]:
    """The rows of topics that a block of the goal names."""
    first = touched.first_block
    if first is None:
        return np.zeros(len(view.table), dtype=np.bool_)
    topics = view.table.topics
    named = [any(block >= first for block in view.policy.blocks_of(name)) for name in topics]
    return np.array(named, dtype=np.bool_)[view.table.topic]


def with_limits(instance: Instance, resolved: ResolvedGoal, limits: TouchedPart) -> Instance:
    """The instance with rules that rows can keep which are not frozen."""
    pins, lost = _limited_pins(instance, resolved, limits)
    found = replace(instance, pins=pins, lost_pins=lost)
    return _with_relaxed_classes(found, resolved, limits)


def freeze(instance: Instance) -> Instance:
    """The instance whose frozen rows are pinned to the usable brokers that they hold."""
    frozen = instance.is_frozen
    if not frozen.any():
        return instance
    held, pins = instance.held, instance.pins
    mine, theirs = held.keep(frozen[held.rows]), pins.keep(~frozen[pins.rows])
    offsets = mine.offsets + theirs.offsets
    values = np.empty(offsets[-1], dtype=np.int32)
    values[np.repeat(frozen, np.diff(offsets))] = mine.values
    values[np.repeat(~frozen, np.diff(offsets))] = theirs.values
    lost = instance.lost_pins
    return replace(
        instance,
        pins=Ragged(offsets, values),
        lost_pins=lost[~frozen[lost]],
        replicas=np.where(frozen, held.lengths, instance.replicas),
    )


def _limited_pins(
    instance: Instance, resolved: ResolvedGoal, limits: TouchedPart
) -> tuple[Ragged, NDArray[np.int64]]:
    """The pins that rows can keep with the replicas that they take anyway, and the lost ones.

    A pin is lost if the goal itself empties the broker.
    """
    pins, width = instance.pins, len(instance.brokers)
    rows, brokers = pins.rows, pins.values.astype(np.int64)
    is_held = instance.holds(rows, brokers)
    is_heir = np.isin(rows * width + brokers, _heir_keys(instance, resolved))
    taken = instance.held.lengths + View.sums(pins, is_heir & ~is_held)
    is_missing = ~is_held & ~is_heir
    is_addable = is_missing & instance.is_open[brokers]
    before: NDArray[np.int64] = np.cumsum(is_addable) - is_addable
    starts = np.append(before, 0)[np.minimum(pins.offsets[:-1], len(before))]
    place = before - starts[rows]  # how many pins of the row are to be added before this one
    is_added = is_addable & (place < (instance.replicas - taken)[rows])
    lost = [
        row
        for row in instance.lost_pins.tolist()
        if not set(limits.leaving).isdisjoint(_pinned_ids(instance.view, row))
    ]
    return pins.keep(is_held | is_heir | is_added), np.array(lost, dtype=np.int64)


def _heir_keys(instance: Instance, resolved: ResolvedGoal) -> NDArray[np.int64]:
    """A number for each row and each usable broker that replaces one of the row."""
    placed, width = instance.view.placed, len(instance.brokers)
    index = {id_: at for at, id_ in enumerate(instance.brokers.tolist())}
    keys = [
        placed.rows[placed.values == old] * width + index[new]
        for old, new in resolved.heirs
        if new in index
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *keys])


def _pinned_ids(view: View, row: int) -> tuple[int, ...]:
    rules = view.rules[int(view.row_rules[row])]
    return dict(rules.pin).get(int(view.table.partition[row]), ())


def _with_relaxed_classes(
    instance: Instance, resolved: ResolvedGoal, limits: TouchedPart
) -> Instance:
    """The instance with relaxed classes for rows whose replicas cannot become legal by adding some.

    A row that may move, and whose class is impossible, is frozen.
    """
    classes = list(instance.classes)
    class_of = instance.class_of.copy()
    is_frozen = instance.is_frozen.copy()
    kept = _kept_sets(instance, resolved)
    trial = replace(instance, pins=_union(instance, kept, instance.pins))
    for number, class_ in enumerate(instance.classes):
        rows = np.flatnonzero((class_of == number) & ~is_frozen)
        if not class_.is_possible:
            is_frozen[rows[~instance.is_touched[rows]]] = True
            continue
        if limits.balances:
            rows = rows[~instance.is_touched[rows]]
        for part in parts(rows, instance.leaves):
            counts = instance.leaf_counts(kept.take(part))
            room = rack_capacity(trial, part)
            stuck = np.flatnonzero(~_can_become_legal(class_, counts, room))
            if not len(stuck):
                continue
            # One pattern: replicas kept in each finest rack, then the most that each can hold.
            table = np.concatenate([counts, room.pinned + room.free], axis=1)[stuck]
            patterns, which = np.unique(table, axis=0, return_inverse=True)
            class_of[part[stuck]] = len(classes) + which.ravel()
            classes += [relaxed_class(class_, *np.split(one, 2)) for one in patterns]
    return replace(instance, classes=tuple(classes), class_of=class_of, is_frozen=is_frozen)


def _kept_sets(instance: Instance, resolved: ResolvedGoal) -> Ragged:
    """Brokers that each row holds after the plan in any case.

    A broker that replaces one of the same rack counts as that one.
    """
    pins = instance.pins
    away = [pair for pair in resolved.heirs if not _share_rack(instance, *pair)]
    keys = pins.rows * len(instance.brokers) + pins.values
    elsewhere = np.isin(keys, _heir_keys(instance, resolved._replace(heirs=tuple(away))))
    return _union(instance, instance.held, pins.keep(~elsewhere))


def _share_rack(instance: Instance, old: int, new: int) -> bool:
    tree = instance.tree
    nodes = tree.nodes[-1][tree.places(np.array([old, new], dtype=np.int32))]
    return bool(nodes[0] == nodes[1])


def _union(instance: Instance, one: Ragged, other: Ragged) -> Ragged:
    """The brokers of each row in either, ascending; nothing of frozen rows."""
    width, is_active = len(instance.brokers), ~instance.is_frozen
    some = (sets.keep(np.repeat(is_active, sets.lengths)) for sets in (one, other))
    keys = np.unique(np.concatenate([sets.rows * width + sets.values for sets in some]))
    offsets = np.searchsorted(keys, np.arange(len(one) + 1, dtype=np.int64) * width)
    return Ragged(offsets.astype(np.int64), (keys % max(width, 1)).astype(np.int32))


def _can_become_legal(
    class_: PartitionClass, counts: NDArray[np.int64], room: RackCapacity
) -> NDArray[np.bool_]:
    """Whether rows become legal by new replicas alone, or by dropping some alone: bool [rows].

    `counts`: replicas that are kept in each finest rack, int64 [rows, leaves].
    """
    missing = class_.replicas - counts.sum(axis=1)
    found = class_.fits(counts)
    more, fewer = np.flatnonzero(missing > 0), np.flatnonzero(missing < 0)
    grown = RackCapacity(room.pinned[more], room.free[more])
    found[more] = rack_bounds(class_, grown).is_possible
    shrunk = RackCapacity(np.zeros_like(counts[fewer]), counts[fewer])
    found[fewer] = rack_bounds(class_, shrunk).is_possible
    return found
