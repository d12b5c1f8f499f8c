"""When the leader of a group should ask for a new assignment: racks of replicas changed for good.

Goals: one rejoin for each lasting change of the racks that hold a partition, and for each change of
the number of partitions; none for a broker that restarts, a new leader, or a swap within a rack.

The rule. Racks are looked up by replica id, with the last rack that each broker was seen in: a
broker that is away keeps its rack, one that is back with another has that one. What was so at the
last assignment is compared with what is so now.

```
assigned with   t-0 on brokers 0 1, in a b
broker 1 away   known 1 -> b             a b: stay     (it lost its rack in Kafka's metadata)
broker 1 back   in b                     a b: stay
t-0 on 0 4      4 is in b                a b: stay
t-0 on 0 2 1    2 copies, not in sync    a b: stay
t-0 on 0 2      2 is in sync, in c       a c: rejoin
```

A replica that was not there at the assignment counts once it is in sync: one that copies cannot be
read yet, and a move would be seen twice, as it begins and as it ends. Without knowledge of who is
in sync all count.

A leader without rack compares numbers of partitions alone, as its group ignores racks. Requests are
at least `min_interval_ms` apart; a change in between stays pending, for the comparison goes on.

What this does not do: ask for anything itself, or know the clock; `now_ms` is part of the view.

Source: KIP-881 (rebalance after reassignments); `ConsumerCoordinator.MetadataSnapshot`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.assignors.members import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

MIN_INTERVAL_MS = 60_000

Racks: TypeAlias = frozenset[str] | None
"""Racks of one partition; None where the partition is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackView:
    """What the client's metadata shows. `brokers`: live broker id -> rack.

    `replicas`: topic -> partition -> broker ids, of the topics that the group subscribes to;
    `in_sync`: those of them that are in sync, where it is known. `now_ms`: of a clock that never
    goes back.
    """

    brokers: Mapping[int, str | None]
    replicas: Mapping[str, Sequence[Sequence[int]]]
    now_ms: int
    in_sync: Mapping[str, Sequence[Collection[int]]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RackWatch:
    """What is remembered. `known`: broker id -> rack it was last seen in.

    `assigned`: partition -> its racks at the last assignment, `replicas`: its broker ids then.
    `asked_at_ms`: when a new assignment was last asked for.
    """

    known: Mapping[int, str | None] = field(default_factory=lambda: MappingProxyType({}))
    assigned: Mapping[TopicPartition, frozenset[str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    replicas: Mapping[TopicPartition, frozenset[int]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    asked_at_ms: int | None = None

    def having_seen(self, brokers: Mapping[int, str | None]) -> RackWatch:
        """The state of a member that has seen live brokers, whether it leads or not."""
        return replace(self, known=MappingProxyType({**self.known, **brokers}))

    def after_assignment(self, view: RackView) -> RackWatch:
        """The state of a leader that has just made an assignment from this view."""
        seen = self.having_seen(view.brokers)
        replicas = {tp: frozenset(brokers) for tp, brokers in _partitions(view.replicas)}
        assigned = {tp: _racks(seen.known, brokers) for tp, brokers in replicas.items()}
        return replace(seen, assigned=assigned, replicas=replicas)


@dataclass(frozen=True, slots=True)
class Stay:
    """Nothing to ask for now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejoin:
    """Ask for a new assignment. `changes`: partition -> racks before, after."""

    changes: Mapping[TopicPartition, tuple[Racks, Racks]]


def rack_watch_step(
    state: RackWatch,
    view: RackView,
    *,
    rack: str | None,
    min_interval_ms: int = MIN_INTERVAL_MS,
) -> tuple[RackWatch, Stay | Rejoin]:
    """Judge one view of the metadata. `rack`: of the leader; None or the empty text is no rack."""
    seen = state.having_seen(view.brokers)
    now = _readable_racks(seen, view)
    changes = {
        tp: (state.assigned.get(tp), now.get(tp))
        for tp in sorted(state.assigned.keys() | now.keys())
        if (tp in state.assigned) != (tp in now) or (rack and state.assigned[tp] != now[tp])
    }
    is_soon = state.asked_at_ms is not None and view.now_ms - state.asked_at_ms < min_interval_ms
    if not changes or is_soon:
        return seen, Stay()
    return replace(seen, asked_at_ms=view.now_ms), Rejoin(changes=MappingProxyType(changes))


def _readable_racks(seen: RackWatch, view: RackView) -> Mapping[TopicPartition, frozenset[str]]:
    """Racks of the replicas that were there at the last assignment, or are in sync."""
    found = {}
    in_sync = None if view.in_sync is None else dict(_partitions(view.in_sync))
    for tp, brokers in _partitions(view.replicas):
        counted = set(brokers)
        if in_sync is not None and tp in seen.replicas:
            counted &= {*seen.replicas[tp], *in_sync.get(tp, brokers)}
        found[tp] = _racks(seen.known, counted)
    return found


def _partitions(
    topics: Mapping[str, Sequence[Collection[int]]],
) -> Iterator[tuple[TopicPartition, Collection[int]]]:
    for topic, partitions in topics.items():
        for partition, brokers in enumerate(partitions):
            yield TopicPartition(topic, partition), brokers


def _racks(known: Mapping[int, str | None], brokers: Collection[int]) -> frozenset[str]:
    return frozenset(rack for broker in brokers if (rack := known.get(broker)))
