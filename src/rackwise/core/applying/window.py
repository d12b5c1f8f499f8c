"""Which partitions are begun next: the plan's order, as far as the limits leave room.

Goals, in order: no broker takes or gives more than it should; the plan's order, which mends broken
rules first; nothing waits while there is room for it.

Algorithm, list scheduling: what moves takes up room, foreign reassignments too. The partitions that
are not begun are gone through in the plan's order; each that fits is taken. One that does not fit
lets smaller ones pass. A request has either lists of unchanged length or others, as the flag that
protects the former forbids the latter.

```
at most 2 into one broker     moving: a->4, b->4
c->4  no room    d->5  begun    e->4  no room    f->5  begun
```

A partition larger than all that may be in flight, or of unknown size where that is limited, moves
alone.

What this does not do: the shortest schedule, which is edge colouring of a multigraph; any order is
safe, as each partition's list is legal by itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.applying.model import ApplyState, Caps, PartitionId, Progress, Seen
    from rackwise.core.planning.model import Move

MOST_TRIES = 5
"""Requests for one partition whose answers were lost, or which asked to come again."""


@dataclass(slots=True)
class Room:
    """What is taken up. `into`, `out_of`: partitions by broker; `alone`: of unknown size."""

    caps: Caps
    moving: int = 0
    bytes: int = 0
    alone: bool = False
    into: Counter[int] = field(default_factory=Counter)
    out_of: Counter[int] = field(default_factory=Counter)

    def fits(self, adding: tuple[int, ...], leader: int | None, size: int | None) -> bool:
        """Whether one more may move."""
        caps = self.caps
        if self.moving >= caps.at_once:
            return False
        if not adding:
            return True
        if leader is not None and self.out_of[leader] >= caps.per_leader:
            return False
        if any(self.into[broker] >= caps.per_broker for broker in adding):
            return False
        if caps.bytes_in_flight is None or not (self.bytes or self.alone):
            return True
        is_small = size is not None and self.bytes + size * len(adding) <= caps.bytes_in_flight
        return is_small and not self.alone

    def take(self, adding: tuple[int, ...], leader: int | None, size: int | None) -> None:
        """One more moves."""
        self.moving += 1
        if not adding:
            return
        self.into.update(adding)
        if leader is not None:
            self.out_of[leader] += 1
        self.alone |= size is None
        self.bytes += (size or 0) * len(adding)


def room_of(state: ApplyState, foreign: Mapping[PartitionId, Seen]) -> Room:
    """What is taken up by ours that move, or may, and by those of others."""
    room = Room(caps=state.caps)
    for partition, progress in state.partitions.items():
        if progress.class_ in {"moving", "foreign_moving"} or is_unsettled(progress):
            move = state.moves[partition]
            room.take(adding_of(move, progress.seen), _leader(progress.seen), move.bytes)
    for seen in foreign.values():
        room.take(seen.adding, seen.leader, 0)
    return room


def is_unsettled(progress: Progress) -> bool:
    """A request went out, and what became of it is not known."""
    return not progress.is_settled and progress.sent != "none"


def adding_of(move: Move, seen: Seen | None) -> tuple[int, ...]:
    """Brokers that it is, or will be, copied to."""
    if seen is None:
        return move.added
    return tuple(each for each in move.after if each not in seen.placed)


def is_pending(progress: Progress) -> bool:
    """It is to be begun."""
    return progress.class_ == "not_started" and progress.tries < MOST_TRIES


def next_batch(
    state: ApplyState, ready: Iterable[PartitionId], foreign: Mapping[PartitionId, Seen]
) -> tuple[tuple[PartitionId, ...], bool]:
    """What of `ready` is begun now, and whether list lengths change."""
    room = room_of(state, foreign)
    batch: list[PartitionId] = []
    changes: bool | None = None
    for partition in ready:
        if len(batch) >= state.caps.per_request:
            break
        move, seen = state.moves[partition], state.partitions[partition].seen
        does_change = len(move.before) != len(move.after)
        if changes is not None and does_change != changes:
            continue
        adding, leader = adding_of(move, seen), _leader(seen)
        if room.fits(adding, leader, move.bytes):
            room.take(adding, leader, move.bytes)
            batch.append(partition)
            changes = does_change
    return tuple(batch), bool(changes)


def _leader(seen: Seen | None) -> int | None:
    return None if seen is None else seen.leader
