"""The choice of the partitions that start next: the plan's order, within the limits.

Goals, in order: no broker sends or receives more than its limit; keep the order of the plan, which
repairs violations first; leave no capacity unused.

Algorithm, list scheduling: running moves use capacity, foreign reassignments too. The partitions
that are not started are visited in the order of the plan; each one that fits is started. A
partition that does not fit lets smaller ones pass. One request contains only lists of unchanged
length or only others, because the flag that protects the former forbids the latter.

```
at most 2 into one broker     moving: a->4, b->4
c->4  full       d->5  started    e->4  full       f->5  started
```

A partition larger than the limit of bytes in flight, or of unknown size under such a limit, moves
alone.

What this does not do: find the shortest schedule, which is edge colouring of a multigraph. Any
order is safe, because each partition's list is legal by itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.applying.budget import BudgetRoom
    from rackwise.core.applying.model import ApplyState, Caps, ObservedPartition, Progress
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move

MOST_TRIES = 5
"""Requests for one partition whose answers were lost, or which Kafka asked to repeat."""


@dataclass(slots=True)
class Capacity:
    """The capacity that is in use."""

    caps: Caps
    moving: int = 0
    """Number of partitions that move."""
    bytes: int = 0
    """Bytes of the partitions that move."""
    alone: bool = False
    """Whether one of unknown size moves."""
    into: Counter[int] = field(default_factory=Counter)
    """Broker -> partitions that it receives."""
    out_of: Counter[int] = field(default_factory=Counter)
    """Leader -> partitions that it sends."""

    def fits(self, adding: tuple[int, ...], leader: int | None, size: int | None) -> bool:
        """Whether one more partition may move."""
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
        """Count one more partition that moves."""
        self.moving += 1
        if not adding:
            return
        self.into.update(adding)
        if leader is not None:
            self.out_of[leader] += 1
        self.alone |= size is None
        self.bytes += (size or 0) * len(adding)


def capacity_in_use(
    state: ApplyState, foreign: Mapping[PartitionId, ObservedPartition]
) -> Capacity:
    """The capacity used by our moves, certain or not, and by those of others."""
    room = Capacity(caps=state.caps)
    for partition, progress in state.partitions.items():
        if progress.class_ in {"moving", "foreign_moving"} or is_outcome_unknown(progress):
            move = state.moves[partition]
            room.take(brokers_to_add(move, progress.seen), _leader(progress.seen), move.bytes)
    for seen in foreign.values():
        room.take(seen.adding, seen.leader, 0)
    return room


def is_outcome_unknown(progress: Progress) -> bool:
    """Whether a request was sent and its result is unknown."""
    return not progress.is_certain and progress.sent != "none"


def brokers_to_add(move: Move, seen: ObservedPartition | None) -> tuple[int, ...]:
    """Brokers that receive, or will receive, a copy of the partition."""
    if seen is None:
        return move.added
    return tuple(each for each in move.after if each not in seen.placed)


def is_pending(progress: Progress) -> bool:
    """Whether the partition is to be started."""
    return progress.class_ == "not_started" and progress.tries < MOST_TRIES


def next_batch(
    state: ApplyState,
    ready: Iterable[PartitionId],
    foreign: Mapping[PartitionId, ObservedPartition],
    budget: BudgetRoom,
) -> tuple[tuple[PartitionId, ...], bool]:
    """The partitions of `ready` to start now, and whether lengths of lists change.

    `budget`: what is left of it; what is started is taken from it.
    """
    room = capacity_in_use(state, foreign)
    batch: list[PartitionId] = []
    changes: bool | None = None
    for partition in ready:
        if len(batch) >= state.caps.per_request:
            break
        move, seen = state.moves[partition], state.partitions[partition].seen
        does_change = len(move.before) != len(move.after)
        if changes is not None and does_change != changes:
            continue
        adding, leader = brokers_to_add(move, seen), _leader(seen)
        if budget.fits(partition, move) and room.fits(adding, leader, move.bytes):
            budget.take(partition, move)
            room.take(adding, leader, move.bytes)
            batch.append(partition)
            changes = does_change
    return tuple(batch), bool(changes)


def _leader(seen: ObservedPartition | None) -> int | None:
    return None if seen is None else seen.leader
