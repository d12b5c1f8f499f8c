"""When the leader of a group requests a new assignment: the racks of replicas changed for good.

Goals: one rejoin for each lasting change of the racks that hold a partition, and for each change of
the number of partitions. No rejoin for a broker that restarts, a new leader, or a swap in a rack.

The rule. Racks are looked up by replica id, in the rack where each broker was last seen: a broker
that is away keeps its rack, and a broker that returns in another rack has the new one. The racks at
the last assignment are compared with the racks now.

```
assigned with   t-0 on brokers 0 1, in a b
broker 1 away   known 1 -> b             a b: stay     (Kafka's metadata lost its rack)
broker 1 back   in b                     a b: stay
t-0 on 0 4      4 is in b                a b: stay
t-0 on 0 2 1    2 is copying             a b: stay
t-0 on 0 2      2 is in sync, in c       a c: rejoin
```

A replica that was added after the assignment counts once it is in sync. Before that it cannot be
read, and a move would be seen twice, at its start and at its end. All replicas count where it is
not known which ones are in sync.

A leader without rack compares the numbers of partitions only, since its group ignores racks.
Requests are at least `min_interval_ms` apart. A change in between stays pending, because the
comparison with the last assignment continues.

What this does not do: send the request, or read the clock; `now_ms` is part of the view.

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
"""The least time between two requests."""

Racks: TypeAlias = frozenset[str] | None
"""The racks of one partition; None where the partition does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackView:
    """What the client's metadata shows."""

    brokers: Mapping[int, str | None]
    """live broker id -> rack."""
    replicas: Mapping[str, Sequence[Sequence[int]]]
    """topic -> partition -> broker ids, for the topics that the group subscribes to."""
    now_ms: int
    """The time of a monotonic clock."""
    in_sync: Mapping[str, Sequence[Collection[int]]] | None = None
    """topic -> partition -> broker ids in sync; None where not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackWatch:
    """What a member remembers between views."""

    known: Mapping[int, str | None] = field(default_factory=lambda: MappingProxyType({}))
    """broker id -> the rack where it was last seen."""
    assigned: Mapping[TopicPartition, frozenset[str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """partition -> its racks at the last assignment."""
    replicas: Mapping[TopicPartition, frozenset[int]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """partition -> its broker ids at the last assignment."""
    asked_at_ms: int | None = None
    """When a new assignment was last requested."""

    def with_brokers(self, brokers: Mapping[int, str | None]) -> RackWatch:
        """The state after these live brokers were seen; also for a member that does not lead."""
        return replace(self, known=MappingProxyType({**self.known, **brokers}))

    def after_assignment(self, view: RackView) -> RackWatch:
        """The state of a leader after it made an assignment from this view."""
        seen = self.with_brokers(view.brokers)
        replicas = {tp: frozenset(brokers) for tp, brokers in _each_partition(view.replicas)}
        assigned = {tp: _known_racks(seen.known, brokers) for tp, brokers in replicas.items()}
        return replace(seen, assigned=assigned, replicas=replicas)


@dataclass(frozen=True, slots=True)
class Stay:
    """Request no new assignment now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejoin:
    """Request a new assignment."""

    changes: Mapping[TopicPartition, tuple[Racks, Racks]]
    """partition -> racks before, and after."""


def rack_watch_step(
    state: RackWatch,
    view: RackView,
    *,
    rack: str | None,
    min_interval_ms: int = MIN_INTERVAL_MS,
) -> tuple[RackWatch, Stay | Rejoin]:
    """Compare one view of the metadata. `rack`: the leader's; None or the empty text is no rack."""
    seen = state.with_brokers(view.brokers)
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
    """The racks of the replicas that existed at the last assignment, or are in sync."""
    found = {}
    in_sync = None if view.in_sync is None else dict(_each_partition(view.in_sync))
    for tp, brokers in _each_partition(view.replicas):
        counted = set(brokers)
        if in_sync is not None and tp in seen.replicas:
            counted &= {*seen.replicas[tp], *in_sync.get(tp, brokers)}
        found[tp] = _known_racks(seen.known, counted)
    return found


def _each_partition(
    topics: Mapping[str, Sequence[Collection[int]]],
) -> Iterator[tuple[TopicPartition, Collection[int]]]:
    for topic, partitions in topics.items():
        for partition, brokers in enumerate(partitions):
            yield TopicPartition(topic, partition), brokers


def _known_racks(known: Mapping[int, str | None], brokers: Collection[int]) -> frozenset[str]:
    return frozenset(rack for broker in brokers if (rack := known.get(broker)))
