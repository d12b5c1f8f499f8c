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
t-0 on 0 2      2 is in c                a c: rejoin
```

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
    from collections.abc import Mapping, Sequence

MIN_INTERVAL_MS = 60_000

Racks: TypeAlias = frozenset[str] | None
"""Racks of one partition; None where the partition is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackView:
    """What the client's metadata shows. `brokers`: live broker id -> rack.

    `replicas`: topic -> partition -> broker ids, of the topics that the group subscribes to.
    `now_ms`: of a clock that never goes back.
    """

    brokers: Mapping[int, str | None]
    replicas: Mapping[str, Sequence[Sequence[int]]]
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RackWatch:
    """What is remembered. `known`: broker id -> rack it was last seen in.

    `assigned`: partition -> its racks at the last assignment. `asked_at_ms`: when a new assignment
    was last asked for.
    """

    known: Mapping[int, str | None] = field(default_factory=lambda: MappingProxyType({}))
    assigned: Mapping[TopicPartition, frozenset[str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    asked_at_ms: int | None = None

    def after_assignment(self, view: RackView) -> RackWatch:
        """The state of a leader that has just made an assignment from this view."""
        known = _known(self, view)
        return replace(self, known=known, assigned=_racks(known, view))


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
    known = _known(state, view)
    seen = replace(state, known=known)
    now = _racks(known, view)
    changes = {
        tp: (state.assigned.get(tp), now.get(tp))
        for tp in sorted(state.assigned.keys() | now.keys())
        if (tp in state.assigned) != (tp in now) or (rack and state.assigned[tp] != now[tp])
    }
    is_soon = state.asked_at_ms is not None and view.now_ms - state.asked_at_ms < min_interval_ms
    if not changes or is_soon:
        return seen, Stay()
    return replace(seen, asked_at_ms=view.now_ms), Rejoin(changes=MappingProxyType(changes))


def _known(state: RackWatch, view: RackView) -> Mapping[int, str | None]:
    return MappingProxyType({**state.known, **view.brokers})


def _racks(
    known: Mapping[int, str | None], view: RackView
) -> Mapping[TopicPartition, frozenset[str]]:
    return {
        TopicPartition(topic, partition): frozenset(
            rack for broker in brokers if (rack := known.get(broker))
        )
        for topic, partitions in view.replicas.items()
        for partition, brokers in enumerate(partitions)
    }
