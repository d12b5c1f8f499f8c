"""Tie-breaking between plans of equal cost: fewer changed partitions, then canonical order.

Goals, in order: cost, bytes and dropped leaders stay the same; fewer partitions change; the same
sets for the same flow, whatever the order in which the solver saw them.

Fewer changed partitions. If a partition moves one replica, b -> b', and could have stayed
unchanged, another partition that changes anyway may make this move instead: one that keeps a
replica on b and may have one on b'.

```
orders-1   1 2 -> 1 5        orders-1   1 2            stays
orders-7   2 3 -> 2 4        orders-7   2 3 -> 5 4     2 -> 5 as well as 3 -> 4
```

Partitions are tried in canonical order, the first possible one takes the move, in three passes. The
fewest changed partitions are no linear cost, so this is a local search, and a plan states a bound.
With more than `MOST_TOUCHED` changed partitions it is left out, because it would take longer than
the plan itself.

Canonical order. All replicas that move into one finest rack, from partitions with one replica
there, can trade their targets. In row order they take the targets in canonical order, so that no
trade of two of them would make the list of moves sort lower.

Limits: no chains of more than one exchange.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.view import View, distinct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance

PASSES = 3
MOST_TOUCHED = 200_000
"""Above this number of changed partitions the local search is skipped."""

TRIES = 64
"""The most candidates that one partition tries in a pass."""


def break_ties(instance: Instance, sets: Ragged, caps: Mapping[int, NDArray[np.int64]]) -> Ragged:
    """Sets of equal cost and fairness that change as few partitions, and sort lowest."""
    return read_smallest(instance, fewer_touched(instance, sets, caps))


def untouched(instance: Instance, sets: Ragged) -> NDArray[np.bool_]:
    """Rows whose set is the placed one: bool [P]."""
    inside = instance.holds(sets.rows, sets.values.astype(np.int64))
    same: NDArray[np.bool_] = (
        (View.sums(sets, inside) == sets.lengths)
        & (instance.held.lengths == sets.lengths)
        & (instance.view.placed.lengths == sets.lengths)
    )
    return same


class _Unit(NamedTuple):
    """Row `row` moves one replica, from `old` to `new`, and could stay unchanged."""

    row: int
    old: int
    new: int


def fewer_touched(
    instance: Instance, sets: Ragged, caps: Mapping[int, NDArray[np.int64]]
) -> Ragged:
    """Pass single moves on to partitions that change anyway."""
    units = _single_moves(instance, sets)
    if not units or int((~untouched(instance, sets)).sum()) > MOST_TOUCHED:
        return sets
    search = _Search(instance, sets, caps)
    for _ in range(PASSES):
        left = [unit for unit in units if not search.hand_over(unit)]
        units = [unit for unit in left if search.is_single(unit)]
    return search.sets()


def _single_moves(instance: Instance, sets: Ragged) -> list[_Unit]:
    """Rows that move one replica and whose placed set is legal."""
    held, placed = instance.held, instance.view.placed
    is_new = ~instance.holds(sets.rows, sets.values.astype(np.int64))
    is_whole = (held.lengths == placed.lengths) & (held.lengths == sets.lengths)
    rows = np.flatnonzero(is_whole & (View.sums(sets, is_new) == 1))
    if not len(rows):
        return []
    rows = rows[instance.legal(held)[rows]]
    width = len(instance.brokers)
    chosen, before = sets.take(rows), held.take(rows)
    keys = chosen.rows * width + chosen.values
    kept = before.rows * width + before.values
    new = chosen.values[~np.isin(keys, kept)].tolist()
    old = before.values[~np.isin(kept, keys)].tolist()
    return [_Unit(*unit) for unit in zip(rows.tolist(), old, new, strict=True)]


class _Search:
    """The sets of the touched rows, and an index of the rows that could take a move.

    The index is by the broker that a row keeps, whether that broker is its old leader, and the cost
    of a copy: only rows that agree in these can take a move from each other.
    """

    def __init__(
        self, instance: Instance, sets: Ragged, caps: Mapping[int, NDArray[np.int64]]
    ) -> None:
        self._instance = instance
        self._before = sets
        rows = np.flatnonzero(~untouched(instance, sets))
        names = rows.tolist()
        self._sets = {row: set(found) for row, found in zip(names, _lists(sets, rows), strict=True)}
        self._held = {
            row: set(found) for row, found in zip(names, _lists(instance.held, rows), strict=True)
        }
        self._first = dict(zip(names, instance.preferred[rows].tolist(), strict=True))
        self._price = dict(zip(names, _price_classes(instance, rows).tolist(), strict=True))
        self._keepers: dict[tuple[int, bool, int], dict[int, None]] = {}
        for row, found in self._sets.items():
            for broker in found & self._held[row]:
                self._keepers.setdefault(self._key(row, broker), {})[row] = None
        self._leaf = instance.leaf.tolist()
        self._open = instance.is_open.tolist()
        self._exchanges: dict[tuple[int, tuple[int, ...]], NDArray[np.bool_]] = {}
        self._caps = caps
        self._on: dict[tuple[int, int], int] = {}
        if caps:
            keys = instance.topic[sets.rows].astype(np.int64) * len(self._leaf) + sets.values
            places, numbers = np.unique(keys, return_counts=True)
            for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
                self._on[divmod(place, len(self._leaf))] = number

    def _key(self, row: int, broker: int) -> tuple[int, bool, int]:
        return broker, self._first[row] == broker, self._price[row]

    def is_single(self, unit: _Unit) -> bool:
        """Whether the row still makes this one move; it may have taken another one meanwhile."""
        found = self._sets.get(unit.row)
        return found is not None and found - self._held[unit.row] == {unit.new}

    def hand_over(self, unit: _Unit) -> bool:
        """Let another row make the move, if one may."""
        if not self.is_single(unit) or not self._open[unit.new]:
            return False
        alike = self._keepers.get(self._key(unit.row, unit.old), {})
        for row in islice(alike, TRIES):
            if self._may_take(row, unit):
                self._move(unit, row)
                return True
        return False

    def _may_take(self, row: int, unit: _Unit) -> bool:
        return (
            unit.new not in self._sets[row]
            and unit.new not in self._held[row]
            and row != unit.row
            and self._fits_caps(row, unit)
            and self._stays_legal(row, unit)
        )

    def _fits_caps(self, row: int, unit: _Unit) -> bool:
        gives, takes = (int(self._instance.topic[at]) for at in (unit.row, row))
        if gives == takes:
            return True
        return self._has_room(takes, unit.new) and self._has_room(gives, unit.old)

    def _has_room(self, topic: int, broker: int) -> bool:
        return topic not in self._caps or self._on.get((topic, broker), 0) < int(
            self._caps[topic][broker]
        )

    def _stays_legal(self, row: int, unit: _Unit) -> bool:
        old, new = self._leaf[unit.old], self._leaf[unit.new]
        if unit.old in self._instance.pins.row(row):
            return False
        if old == new:
            return True
        class_ = int(self._instance.class_of[row])
        key = (class_, tuple(sorted(self._leaf[b] for b in self._sets[row])))
        if key not in self._exchanges:
            counts = np.bincount(key[1], minlength=self._instance.leaves).astype(np.int64)
            self._exchanges[key] = self._instance.classes[class_].exchanges(counts)
        return bool(self._exchanges[key][old, new])

    def _move(self, unit: _Unit, taker: int) -> None:
        topics = self._instance.topic
        for row, gone, come in (
            (unit.row, unit.new, unit.old),
            (taker, unit.old, unit.new),
        ):
            topic = int(topics[row])
            self._on[topic, gone] = self._on.get((topic, gone), 0) - 1
            self._on[topic, come] = self._on.get((topic, come), 0) + 1
        for broker in self._sets.pop(unit.row) & self._held[unit.row]:
            self._keepers[self._key(unit.row, broker)].pop(unit.row, None)
        self._sets[taker] = (self._sets[taker] - {unit.old}) | {unit.new}
        self._keepers[self._key(taker, unit.old)].pop(taker)

    def sets(self) -> Ragged:
        """The present set of every row: touched rows as found, the others as placed."""
        values = self._before.values.copy()
        offsets = self._before.offsets
        stays = np.ones(len(self._before), dtype=np.bool_)
        stays[list(self._sets)] = False
        rows = np.flatnonzero(stays)
        wanted = np.repeat(stays, self._before.lengths)
        values[wanted] = self._instance.held.take(rows).values
        for row, found in self._sets.items():
            values[offsets[row] : offsets[row + 1]] = sorted(found)
        return Ragged(offsets, values)


def _price_classes(instance: Instance, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The price class of each row, int64 [rows]: a copy costs the same within a class."""
    sizes = instance.view.table.bytes[rows]
    return distinct([sizes, instance.costs.source[rows], instance.costs.size[rows]])[0]


def _lists(rows: Ragged, chosen: NDArray[np.int64]) -> list[list[int]]:
    taken = rows.take(chosen)
    values, offsets = taken.values.tolist(), taken.offsets.tolist()
    return [values[offsets[i] : offsets[i + 1]] for i in range(len(chosen))]


def read_smallest(instance: Instance, sets: Ragged) -> Ragged:
    """Targets of moves into one rack, in canonical order over the rows."""
    rows, brokers = sets.rows, sets.values.astype(np.int64)
    is_new = ~instance.holds(rows, brokers)
    leaf = instance.leaf[brokers]
    cells = rows * instance.leaves + leaf
    order = np.argsort(cells, kind="stable")
    first = np.flatnonzero(np.diff(cells[order], prepend=-1))
    sizes = np.diff(np.append(first, len(cells)))
    alone = np.zeros(len(cells), dtype=np.bool_)
    alone[order[first[sizes == 1]]] = True
    pinned = instance.pins.rows * len(instance.brokers) + instance.pins.values
    is_free = ~np.isin(rows * len(instance.brokers) + brokers, pinned)
    moved = np.flatnonzero(is_new & alone & is_free)
    topic = instance.topic[rows[moved]].astype(np.int64)
    aggregate = np.where(instance.is_capped[topic], topic + 1, 0)
    by_row = moved[np.lexsort((rows[moved], leaf[moved], aggregate))]
    by_broker = moved[np.lexsort((brokers[moved], leaf[moved], aggregate))]
    values = sets.values.copy()
    values[by_row] = brokers[by_broker]
    arranged = np.lexsort((values, rows))
    return Ragged(sets.offsets, values[arranged])
