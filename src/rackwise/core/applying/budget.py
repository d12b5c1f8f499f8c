"""The budget of a run: how much it may begin, and until when.

Goals, in order: begin nothing beyond the budget; let moves in progress end; let a killed run
continue with what is left of its budget.

```
budget             a move is begun only if
moves  5           fewer than 5 moves were begun in this run
bytes  2 TB        its copies fit in what is left of the 2 TB
until  05:00       it is earlier
```

Example, 1 TB and 300 GB were begun of a budget of 2 TB: a move of 800 GB is passed over, a smaller
one is begun. A move of unknown size is not begun under a budget of bytes. A move that is requested
again counts once; one that Kafka rejects does not count, nor do moves of earlier runs that still
move.

The journal names the budget in the line that begins a run. A run that was killed has no line that
ends it: the next run with the same budget continues it, and its moves count.

What this does not do: end moves; read a clock, as time is an argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one run may begin; None: no limit."""

    moves: int | None = None
    """Moves to begin."""
    bytes: int | None = None
    """Bytes of the copies to begin."""
    until: str | None = None
    """Time after which no move is begun, UTC, ISO 8601."""
    lasts_ms: int | None = None
    """Length of the run if it was given as a length; `until` follows from it."""
    window: str | None = None
    """Hours of every day that the run is in, such as `22:00-05:00 UTC`; `until` is not later."""
    end_ms: int | None = None
    """`until` on the clock of this process; the journal does not have it."""

    @property
    def limits(self) -> tuple[int | None, int | None, str | None]:
        """What two runs with the same budget have in common."""
        return self.moves, self.bytes, self.until

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.limits != (None, None, None)


@dataclass(slots=True)
class BudgetRoom:
    """What is left of a budget."""

    moves: int | None
    bytes: int | None
    is_over: bool
    """Whether the time is over."""
    begun: Collection[PartitionId]
    """Partitions that count already."""

    def fits(self, which: PartitionId, move: Move) -> bool:
        """Whether the move may be begun."""
        if self.is_over:
            return False
        if which in self.begun:
            return True
        if self.moves is not None and self.moves < 1:
            return False
        if self.bytes is None:
            return True
        size = copied_bytes(move)
        return size is not None and size <= self.bytes

    def take(self, which: PartitionId, move: Move) -> None:
        """Count one more move."""
        if which in self.begun:
            return
        if self.moves is not None:
            self.moves -= 1
        if self.bytes is not None:
            self.bytes -= copied_bytes(move) or 0


def room_of(
    budget: Budget,
    begun: Collection[PartitionId],
    moves: Mapping[PartitionId, Move],
    at_ms: int,
) -> BudgetRoom:
    """What is left after `begun`, at this time."""
    left = BudgetRoom(
        moves=budget.moves,
        bytes=budget.bytes,
        is_over=budget.end_ms is not None and at_ms >= budget.end_ms,
        begun=(),
    )
    if budget.moves is not None or budget.bytes is not None:
        for which in begun:
            if which in moves:
                left.take(which, moves[which])
    left.begun = begun
    return left


def copied_bytes(move: Move) -> int | None:
    """Bytes of all copies of a move; None: unknown."""
    if not move.added:
        return 0
    return None if move.bytes is None else move.bytes * len(move.added)


def smallest_copy(moves: Iterable[Move]) -> int | None:
    """The bytes that the smallest of these moves copies; None if no size is known."""
    return min((size for move in moves if (size := copied_bytes(move)) is not None), default=None)


def spent_text(room: BudgetRoom, budget: Budget, left: Collection[Move]) -> str:
    """Why no other move is begun. `left`: the moves that are not begun.

    >>> budget = Budget(moves=2, bytes=1_000)
    >>> spent_text(BudgetRoom(moves=0, bytes=400, is_over=False, begun=()), budget, [])
    '2 moves were begun'
    >>> spent_text(BudgetRoom(moves=1, bytes=400, is_over=False, begun=()), budget, [])
    'no move that is left has a known size, so none fits in 1000 bytes'
    """
    if room.is_over:
        return f"it is later than {budget.until}"
    if room.moves is not None and room.moves < 1:
        return (
            f"{counted(budget.moves or 0, 'move')} {'was' if budget.moves == 1 else 'were'} begun"
        )
    least, most = smallest_copy(left), budget.bytes or 0
    if least is None:
        return f"no move that is left has a known size, so none fits in {most} bytes"
    if least > most:
        return f"no move that is left fits in {most} bytes: the smallest copies {least} bytes"
    return f"no move that is left fits in the remaining {room.bytes} of {most} bytes"
