"""Selects leaders within given replica sets so that leaders and heirs are even.

Goals, in order: no chain of swaps of preferred leaders inside the sets lowers the greatest number
of leaderships or raises the least; ties go to the broker that leads less of other topics; many
different brokers take over from a failed leader.

1. Choice. A block has half as many rows as there are brokers. In each block, a row selects the
   replica that leads least so far, then the one that leads least of other topics. A hash of the
   broker and the turn decides remaining ties. (With `broker - turn` instead of a hash, the first of
   two neighbours would win most ties.)
2. Repair. An edge u -> v stands for rows that u leads and v holds: v could lead them. If a path
   leads from a broker to a broker with at least two leaderships fewer, moving one row along each
   edge makes both more even. A breadth-first search from the broker that leads most finds such a
   path. If there is none, all brokers that the search reached lead equally many rows or one fewer.
   No edge leaves this set, so the search never visits these brokers again. When no path is left,
   the choice is even, by the augmenting-path theorem.

```
rows          1 2   1 2   2 3        leaders 1 1 2: broker 1 leads 2, broker 2 one, 3 none
edges         1 -> 2 -> 3            path 1 2 3: rows become 2 1   1 2   3 2, one each
```

3. Order. The leader is first, and the others follow in cyclic order. With three or more replicas,
   the second replica is the follower that was second to this leader in the fewest blocks so far.
   Here a block has as many rows as there are brokers. Then many brokers share the leaderships of a
   failed leader.

This module does not change a replica set, and ignores racks.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

BLOCK = 65_536
"""Rows that are reordered at once."""

MOST_HEIR_BROKERS = 4096
"""Heirs are counted in a square of brokers; beyond this many they stay cyclic."""

SHORT = 2**16
"""Up to so many brokers fit 16 bits, which numpy sorts by counting."""

WORD = 2**64
TURNS = 2**62
"""One draw below this decides all that is random: ties, and the pointers of rings."""


def tie_ranks(loads: NDArray[np.int64], turn: int) -> NDArray[np.int64]:
    """The rank of each broker among equal ones: least load first, then by hash; int64 [brokers]."""
    order = sorted(
        range(len(loads)), key=lambda leaf: (int(loads[leaf]), splitmix64(leaf, turn), leaf)
    )
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def splitmix64(index: int, turn: int) -> int:
    """Output `index` of the SplitMix64 generator whose state is `turn`.

    Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators (2014).
    """
    mixed = (turn + (index + 1) * 0x9E3779B97F4A7C15) % WORD
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % WORD
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % WORD
    return mixed ^ mixed >> 31


def with_leaders(
    rows: NDArray[np.int32], led: NDArray[np.int64], ranks: NDArray[np.int64]
) -> NDArray[np.int32]:
    """The rows, changed in place, each with its leader in column 0.

    `rows`: int32 [partitions, replication], leaves; `led`: leaderships of unchanged rows, int64
    [brokers]; `ranks`: see `tie_ranks`.
    """
    partitions, replication = rows.shape
    if replication == 1:
        return rows
    chosen, counts = _choice(rows, led, ranks)
    _repair(rows, chosen, counts)
    columns = (rows == chosen[:, None]).argmax(axis=1)
    for part in _blocks(partitions, BLOCK):
        rows[part] = _turned(rows[part], columns[part])
    if replication > 2 and len(led) <= MOST_HEIR_BROKERS:  # noqa: PLR2004 (two heirs or more)
        _spread_heirs(rows, len(led))
    return rows


def _turned(rows: NDArray[np.int32], first: NDArray[np.int64]) -> NDArray[np.int32]:
    """Each row rotated to start at its column `first`."""
    partitions, replication = rows.shape
    cells = (first[:, None] + np.arange(replication)) % replication
    cells += np.arange(0, partitions * replication, replication)[:, None]
    turned: NDArray[np.int32] = rows.take(cells)
    return turned


def _choice(
    rows: NDArray[np.int32], led: NDArray[np.int64], ranks: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The leader of each row, int32 [partitions], and all leaderships, int64 [brokers]."""
    brokers, replication = len(led), rows.shape[1]
    chosen = np.empty(len(rows), dtype=np.int32)
    keys = led * brokers + ranks
    size = max(1, brokers // 2)
    starts = np.arange(size) * replication
    for part in _blocks(len(rows), size):
        block = rows[part]
        columns = keys.take(block).argmin(axis=1)
        leaders = block.take(starts[: len(block)] + columns)
        chosen[part] = leaders
        keys += np.bincount(leaders, minlength=brokers) * brokers
    return chosen, keys // brokers


def _blocks(total: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, total, size))


def _repair(rows: NDArray[np.int32], chosen: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Swap along paths until none is left; changes `chosen` and `counts`."""
    if counts.max() - counts.min() <= 1:
        return
    graph = _Graph(rows, chosen, len(counts))
    is_open = np.ones(len(counts), dtype=np.bool_)
    most = int(counts.max())
    while True:
        source = int(np.where(is_open, counts, -1).argmax())
        if counts[source] - counts.min(where=is_open, initial=most) <= 1:
            return
        seen, path = graph.search(source, counts, is_open)
        if path:
            moved = graph.swap(path, int(counts[source] - counts[path[-1]]) // 2)
            counts[source] -= moved
            counts[path[-1]] += moved
        else:
            is_open[seen] = False


class _Graph:
    """The exchange graph of leaders: an edge u -> v if v is in a row that u leads."""

    def __init__(self, rows: NDArray[np.int32], chosen: NDArray[np.int32], brokers: int) -> None:
        self._rows = rows
        self._chosen = chosen
        keys = chosen.astype(np.uint16) if brokers <= SHORT else chosen
        ends = np.cumsum(np.bincount(chosen, minlength=brokers))
        self._led = np.split(np.argsort(keys, kind="stable"), ends[:-1])
        self._near: dict[int, NDArray[np.int32]] = {}

    def search(
        self, source: int, counts: NDArray[np.int64], is_open: NDArray[np.bool_]
    ) -> tuple[list[int], list[int]]:
        """The visited brokers, and the shortest path to an open broker with two fewer, or []."""
        before = {source: source}
        unseen = is_open.copy()
        unseen[source] = False
        waiting = deque([source])
        while waiting:
            here = waiting.popleft()
            near = self._neighbours(here)
            found = near[unseen[near]]
            unseen[found] = False
            before.update(dict.fromkeys(found.tolist(), here))
            waiting.extend(found.tolist())
            lower = found[counts[found] < counts[source] - 1]
            if len(lower):
                return list(before), _back(before, int(lower[0]))
        return list(before), []

    def _neighbours(self, broker: int) -> NDArray[np.int32]:
        if broker not in self._near:
            self._near[broker] = np.unique(self._rows[self._led[broker]])
        return self._near[broker]

    def swap(self, path: list[int], most: int) -> int:
        """Move up to `most` leaderships along a path, from its first broker to its last; how many.

        Edges are removed only when they are found to be used up: then 0 leaderships are moved.
        """
        steps = []
        for here, there in pairwise(path):
            led = self._led[here]
            found = np.flatnonzero((self._rows[led] == there).any(axis=1))[:most]
            if not len(found):
                del self._near[here]
                return 0
            steps.append((here, there, found))
        moved = min(len(found) for _, _, found in steps)
        for here, there, found in reversed(steps):
            rows = self._led[here][found[:moved]]
            self._led[here] = np.delete(self._led[here], found[:moved])
            self._led[there] = np.concatenate((self._led[there], rows))
            self._chosen[rows] = there
            if there in self._near:
                self._near[there] = np.union1d(self._near[there], self._rows[rows])
        return moved


def _back(before: dict[int, int], last: int) -> list[int]:
    path = [last]
    while before[path[-1]] != path[-1]:
        path.append(before[path[-1]])
    return path[::-1]


def _spread_heirs(rows: NDArray[np.int32], brokers: int) -> None:
    """Rotate the followers of each row: the least frequent second of its leader becomes second."""
    followers = rows.shape[1] - 1
    times = np.zeros(brokers * brokers, dtype=np.int32)
    starts = np.arange(brokers) * followers
    for part in _blocks(len(rows), brokers * max(1, BLOCK // brokers)):
        pairs = rows[part, :1].astype(np.int64) * brokers + rows[part, 1:]
        turns = np.empty(len(pairs), dtype=np.int64)
        for block in _blocks(len(pairs), brokers):
            seconds = pairs[block]
            turn = times.take(seconds).argmin(axis=1)
            turns[block] = turn
            times[seconds.take(starts[: len(turn)] + turn)] += 1
        rows[part, 1:] = _turned(rows[part, 1:], turns)
