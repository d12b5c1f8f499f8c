"""The possible leaders of each partition, its leader, and the cost of a change of leader.

`LeaderCandidates` is a matrix: for each partition the brokers that may lead it, and the cost of
each. Free cells hold the number `brokers`, which no broker has.

```
row   members     costs          brokers = 3, so 3 is a free cell
0     0  1  2     0  1  1        broker 0 led before: to keep it costs nothing
1     2  1  3     0  1  -        two brokers may lead
2     0  1  3     1  1  -        the old leader may not lead any more
```

`LeaderChoice` is one leader for each row. It changes along paths: on a path 0 -> 1 -> 2 some rows
of 0 go to 1 and as many rows of 1 go to 2. `step_costs(b)` holds, for each other broker, the least
change of cost if one row that b leads goes there: the arcs of the exchange graph. The values are
cached until a row of b comes or goes.

Limits: this module chooses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged

FAR: Final = 2**60
"""No way; more than any sum of costs."""

MOST_COST: Final = 2**40
"""Costs of one leadership lie between it and its negative."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeaderCandidates:
    """The brokers that may lead each row, and what each of them costs."""

    members: NDArray[np.int32]
    """Brokers that may lead each row, ascending, free cells last, int32 [rows, width]."""
    costs: NDArray[np.int64]
    """Cost of each member, int64 [rows, width]; FAR in free cells."""
    brokers: int
    """Number of brokers."""

    @classmethod
    def of(cls, sets: Ragged, costs: NDArray[np.int64], brokers: int) -> LeaderCandidates:
        """From sets of brokers 0 to `brokers` - 1 and a cost for each of their members."""
        lengths = sets.lengths
        width = int(lengths.max(initial=1))
        column = np.arange(len(sets.values), dtype=np.int64) - np.repeat(sets.offsets[:-1], lengths)
        members = np.full((len(sets), width), brokers, dtype=np.int32)
        padded = np.full((len(sets), width), FAR, dtype=np.int64)
        members[sets.rows, column] = sets.values
        padded[sets.rows, column] = costs
        if (members[:, 1:] >= members[:, :-1]).all():
            return cls(members=members, costs=padded, brokers=brokers)
        order = np.argsort(members, axis=1)
        return cls(
            members=np.take_along_axis(members, order, axis=1),
            costs=np.take_along_axis(padded, order, axis=1),
            brokers=brokers,
        )

    def cheapest(self) -> NDArray[np.int64]:
        """The column of the cheapest member of each row, the first of equal ones."""
        columns: NDArray[np.int64] = self.costs.argmin(axis=1)
        return columns

    def bound(self, prices: NDArray[np.int64]) -> int:
        """The sum over rows of the least cost and price; `prices`: int64 [brokers]."""
        return int((self.costs + np.append(prices, [0])[self.members]).min(axis=1).sum())


class LeaderChoice:
    """A choice of leaders that changes along paths."""

    def __init__(self, candidates: LeaderCandidates, column: NDArray[np.int64]) -> None:
        """`column`: column of the leader in `candidates.members`, int64 [rows]."""
        self.candidates = candidates
        rows = np.arange(len(column))
        self.leader: NDArray[np.int32] = candidates.members[rows, column]
        """Leader of each row, int32 [rows]."""
        self.cost: NDArray[np.int64] = candidates.costs[rows, column]
        """Cost of the leader of each row, int64 [rows]."""
        brokers = candidates.brokers
        self.loads = np.bincount(self.leader, minlength=brokers).astype(np.int64)
        """Rows that each broker leads, int64 [brokers]."""
        ends = np.cumsum(self.loads)
        self._rows_by_leader = np.split(np.argsort(self.leader, kind="stable"), ends[:-1])
        self._step_costs = np.full((brokers, brokers), FAR, dtype=np.int64)
        self._stale = set(range(brokers))

    def step_costs(self, broker: int) -> NDArray[np.int64]:
        """The least change of cost if one of its rows goes to each broker, int64 [brokers].

        FAR if no row can go.
        """
        if broker in self._stale:
            self._step_costs[broker] = self._compute_step_costs(broker)
            self._stale.discard(broker)
        found: NDArray[np.int64] = self._step_costs[broker]
        return found

    def _compute_step_costs(self, broker: int) -> NDArray[np.int64]:
        least = np.full(self.candidates.brokers + 1, FAR, dtype=np.int64)
        rows_led = self._rows_by_leader[broker]
        changes = self.candidates.costs[rows_led] - self.cost[rows_led][:, None]
        np.minimum.at(least, self.candidates.members[rows_led].ravel(), changes.ravel())
        least[broker] = 0
        return least[:-1]

    def move_rows(self, path: Sequence[int], most: int) -> None:
        """Pass `most` rows, or all that can move if they are fewer, along a path of brokers."""
        # Rows are chosen on all steps before any of them moves.
        found = [self._movable_rows(here, there) for here, there in pairwise(path)]
        count = min(most, *map(len, found))
        for (here, there), rows in zip(pairwise(path), found, strict=True):
            self._move_between(here, there, rows[:count])

    def _movable_rows(self, here: int, there: int) -> NDArray[np.int64]:
        """Rows that one broker leads and another broker may lead."""
        rows_led = self._rows_by_leader[here]
        at, _ = np.nonzero(self.candidates.members[rows_led] == there)
        return rows_led[at]

    def _move_between(self, here: int, there: int, rows: NDArray[np.int64]) -> None:
        column = (self.candidates.members[rows] == there).argmax(axis=1)
        self.leader[rows] = there
        self.cost[rows] = self.candidates.costs[rows, column]
        rows_led = self._rows_by_leader[here]
        self._rows_by_leader[here] = rows_led[self.leader[rows_led] == here]
        self._rows_by_leader[there] = np.concatenate((self._rows_by_leader[there], rows))
        self.loads[here] -= len(rows)
        self.loads[there] += len(rows)
        self._stale.update((here, there))
