"""Tie-breaking between plans of equal cost: fewer changed partitions, then canonical order.

Goals, in order: cost, the price of replication, bytes and dropped leaders stay the same; fewer
partitions change; the same sets for the same flow, whatever the order in which the solver saw them.

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
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from rackwise.core.model import Ragged
from rackwise.core.view import View, distinct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rackwise.core.planning.problem.instance import Instance

PASSES = 3
"""How often all single moves are tried; a pass can make a move of the next pass possible."""
MOST_TOUCHED = 200_000
"""Above this number of changed partitions the local search is skipped."""

TRIES = 64
"""The most candidates that one partition tries in a pass."""


def break_ties(instance: Instance, sets: Ragged, caps: Mapping[int, NDArray[np.int64]]) -> Ragged:
    """Sets of equal cost and fairness that change as few partitions, and sort lowest."""
    return sort_targets(instance, reduce_touched(instance, sets, caps))


def is_untouched(instance: Instance, sets: Ragged) -> NDArray[np.bool_]:
    """Rows whose set is the placed one: bool [P]."""
    inside = instance.holds(sets.rows, sets.values.astype(np.int64))
    same: NDArray[np.bool_] = (
        (View.sums(sets, inside) == sets.lengths)
        & (instance.held.lengths == sets.lengths)
        & (instance.view.placed.lengths == sets.lengths)
    )
    return same | instance.is_frozen


class _SingleMove(NamedTuple):
    """Row `row` moves one replica, from `old` to `new`, and could stay unchanged."""

    row: int
    old: int
    new: int


def reduce_touched(
    instance: Instance, sets: Ragged, caps: Mapping[int, NDArray[np.int64]]
) -> Ragged:
    """Pass single moves on to partitions that change anyway."""
    moves = _single_moves(instance, sets)
    if not moves or int((~is_untouched(instance, sets)).sum()) > MOST_TOUCHED:
        return sets
    index = _MoveIndex(instance, sets, caps)
    for _ in range(PASSES):
        left = [move for move in moves if not index.hand_over(move)]
        moves = [move for move in left if index.is_single(move)]
    return index.sets()


def _single_moves(instance: Instance, sets: Ragged) -> list[_SingleMove]:
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
    return [_SingleMove(*move) for move in zip(rows.tolist(), old, new, strict=True)]


_Pattern: TypeAlias = tuple[int, tuple[int, ...]]
"""The class of a row and its finest racks, ascending."""


class _MoveIndex:
    """The sets of the touched rows, and an index of the rows that could take a move.

    The index is by the broker that a row keeps, whether that broker is its old leader, and the cost
    of a copy: only rows that agree in these can take a move from each other. Below these it is by
    the racks of the row, so that rows whose racks forbid the move are not tried one by one.
    """

    def __init__(
        self, instance: Instance, sets: Ragged, caps: Mapping[int, NDArray[np.int64]]
    ) -> None:
        self._instance = instance
        self._before = sets
        rows = np.flatnonzero(~is_untouched(instance, sets))
        names = rows.tolist()
        self._sets = {row: set(found) for row, found in zip(names, _lists(sets, rows), strict=True)}
        self._held = {
            row: set(found) for row, found in zip(names, _lists(instance.held, rows), strict=True)
        }
        self._first = dict(zip(names, instance.preferred[rows].tolist(), strict=True))
        self._price = dict(zip(names, _price_classes(instance, rows).tolist(), strict=True))
        self._steady = dict(zip(names, _steady_classes(instance, rows).tolist(), strict=True))
        self._leaf = instance.leaf.tolist()
        self._open = instance.is_open.tolist()
        self._exchanges: dict[_Pattern, NDArray[np.bool_]] = {}
        self._patterns = {row: self._pattern_of(row) for row in names}
        self._keepers: dict[tuple[int, bool, int], dict[_Pattern, dict[int, None]]] = {}
        for row in names:
            self._index(row)
        self._caps = caps
        self._load: dict[tuple[int, int], int] = {}
        if caps:
            keys = instance.topic[sets.rows].astype(np.int64) * len(self._leaf) + sets.values
            places, numbers = np.unique(keys, return_counts=True)
            for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
                self._load[divmod(place, len(self._leaf))] = number

    def _key(self, row: int, broker: int) -> tuple[int, bool, int]:
        return broker, self._first[row] == broker, self._price[row]

    def _pattern_of(self, row: int) -> _Pattern:
        leaves = sorted(self._leaf[broker] for broker in self._sets[row])
        return int(self._instance.class_of[row]), tuple(leaves)

    def _index(self, row: int) -> None:
        """Let the row take moves from the brokers that it keeps."""
        for broker in self._sets[row] & self._held[row]:
            by_pattern = self._keepers.setdefault(self._key(row, broker), {})
            by_pattern.setdefault(self._patterns[row], {})[row] = None

    def _remove(self, row: int) -> None:
        """The opposite of `_index`."""
        for broker in self._sets[row] & self._held[row]:
            del self._keepers[self._key(row, broker)][self._patterns[row]][row]

    def is_single(self, move: _SingleMove) -> bool:
        """Whether the row still makes this one move; it may have taken another one meanwhile."""
        found = self._sets.get(move.row)
        return found is not None and found - self._held[move.row] == {move.new}

    def hand_over(self, move: _SingleMove) -> bool:
        """Let another row make the move, if one may."""
        if not self.is_single(move) or not self._open[move.new]:
            return False
        racks = self._leaf[move.old], self._leaf[move.new]
        by_pattern = self._keepers.get(self._key(move.row, move.old), {})
        for pattern, candidates in by_pattern.items():
            if not candidates or not self._is_legal(pattern, *racks):
                continue
            for row in islice(candidates, TRIES):
                if self._can_take(row, move):
                    self._hand_over_to(move, row)
                    return True
        return False

    def _can_take(self, row: int, move: _SingleMove) -> bool:
        return (
            move.new not in self._sets[row]
            and move.new not in self._held[row]
            and row != move.row
            and self._replicates_alike(row, move)
            and self._fits_caps(row, move)
            and move.old not in self._instance.pins.row(row)
        )

    def _replicates_alike(self, row: int, move: _SingleMove) -> bool:
        """Whether replication costs the same if `row` makes the move."""
        is_near: bool = self._leaf[move.old] == self._leaf[move.new]
        return is_near or bool(self._steady[row] == self._steady[move.row])

    def _fits_caps(self, row: int, move: _SingleMove) -> bool:
        from_topic, to_topic = (int(self._instance.topic[at]) for at in (move.row, row))
        if from_topic == to_topic:
            return True
        return self._has_room(to_topic, move.new) and self._has_room(from_topic, move.old)

    def _has_room(self, topic: int, broker: int) -> bool:
        return topic not in self._caps or self._load.get((topic, broker), 0) < int(
            self._caps[topic][broker]
        )

    def _is_legal(self, pattern: _Pattern, old: int, new: int) -> bool:
        """Whether a row with these racks may move a replica from one finest rack to another."""
        if old == new:
            return True
        if pattern not in self._exchanges:
            class_, leaves = pattern
            counts = np.bincount(leaves, minlength=self._instance.leaves).astype(np.int64)
            self._exchanges[pattern] = self._instance.classes[class_].exchanges(counts)
        return bool(self._exchanges[pattern][old, new])

    def _hand_over_to(self, move: _SingleMove, taker: int) -> None:
        topics = self._instance.topic
        for row, removed, added in (
            (move.row, move.new, move.old),
            (taker, move.old, move.new),
        ):
            topic = int(topics[row])
            self._load[topic, removed] = self._load.get((topic, removed), 0) - 1
            self._load[topic, added] = self._load.get((topic, added), 0) + 1
        self._remove(move.row)
        del self._sets[move.row]
        self._remove(taker)
        self._sets[taker] = (self._sets[taker] - {move.old}) | {move.new}
        self._patterns[taker] = self._pattern_of(taker)
        self._index(taker)

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


def _steady_classes(instance: Instance, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class of the price of replication of each row, int64 [rows]; one class without prices."""
    if instance.steady is None:
        return np.zeros(len(rows), dtype=np.int64)
    return distinct([instance.steady.per_day[rows], instance.steady.source[rows]])[0]


def _lists(rows: Ragged, chosen: NDArray[np.int64]) -> list[list[int]]:
    taken = rows.take(chosen)
    values, offsets = taken.values.tolist(), taken.offsets.tolist()
    return [values[offsets[i] : offsets[i + 1]] for i in range(len(chosen))]


def sort_targets(instance: Instance, sets: Ragged) -> Ragged:
    """Targets of moves into one rack, in canonical order over the rows."""
    rows, brokers = sets.rows, sets.values.astype(np.int64)
    is_new = ~instance.holds(rows, brokers)
    leaf = instance.leaf[brokers]
    # A cell is a row in a finest rack; `alone` marks replicas that are the only one in their cell.
    cells = rows * instance.leaves + leaf
    order = np.argsort(cells, kind="stable")
    first = np.flatnonzero(np.diff(cells[order], prepend=-1))
    sizes = np.diff(np.append(first, len(cells)))
    alone = np.zeros(len(cells), dtype=np.bool_)
    alone[order[first[sizes == 1]]] = True
    moved = np.flatnonzero(is_new & alone)
    is_pinned = instance.pins.has(rows[moved], brokers[moved])
    moved = moved[~is_pinned]
    topic = instance.topic[rows[moved]].astype(np.int64)
    aggregate = np.where(instance.is_capped[topic], topic + 1, 0)
    by_row = moved[np.lexsort((rows[moved], leaf[moved], aggregate))]
    by_broker = moved[np.lexsort((brokers[moved], leaf[moved], aggregate))]
    values = sets.values.copy()
    values[by_row] = brokers[by_broker]
    arranged = np.lexsort((values, rows))
    return Ragged(sets.offsets, values[arranged])
