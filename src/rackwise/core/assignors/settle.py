"""When racks are ignored, so that a cooperative group settles.

Goals: every group settles; a group that settles without this rule is never changed.

Kafka's cooperative sticky rule considers racks first, and the owned partitions second. Where
subscriptions differ, it can alternate between two assignments for ever, though nothing changes:

```
round      1        2        3        4        5                  6
rule       racks    racks    racks    racks    no racks           -
m0         u-0 u-1  u-0 u-1  u-0      u-0 u-1  u-0 u-1 (as in 4)  settled
m2         -        t-0      -        t-0      t-0
```

The rule. Consecutive rounds that move something are counted, as long as the members, their topics
and racks, and the racks of the replicas stay the same. After `PATIENCE` such rounds, racks are
ignored: the next round is assigned as if no member had a rack. The count restarts after a round
that moves nothing, and after any change. A round moves nothing where every member gets what it
owned, or where it equals the round before: eager members may not report what they own.

What this does not do: assign partitions, or ask for a round.

Source: KIP-429, KIP-881; `AbstractStickyAssignor.GeneralAssignmentBuilder` (Kafka 3.5 and later).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.core.assignors.members import rack_sets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.assignors.members import (
        Assignment,
        Members,
        RackSets,
        ReplicaRacks,
        TopicPartition,
    )

PATIENCE = 4
"""The number of consecutive rounds that may move something before racks are ignored."""

Subscription: TypeAlias = tuple[frozenset[str], str | None]
"""The topics and the rack that a member reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """What the leader of a group remembers between rounds. The initial state is `Settling()`."""

    rounds: int = 0
    """The number of consecutive rounds that moved something."""
    subscriptions: Mapping[str, Subscription] = field(default_factory=lambda: MappingProxyType({}))
    """member -> topics and rack, in the last round."""
    racks: RackSets = field(default_factory=dict)
    """topic -> partition -> racks, in the last round."""
    owned: Mapping[str, tuple[TopicPartition, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """member -> owned partitions, in the last round."""
    previous: Assignment | None = None
    """The assignment of the round before the last one."""


def settle_step(
    state: Settling, members: Members, racks: ReplicaRacks, last: Assignment | None
) -> tuple[Settling, Literal["racks", "no-racks"]]:
    """Decide, before a round is assigned, whether it considers racks.

    `last`: the assignment of the round before, None where this leader made none. Raises
    `InvalidMember` and `InvalidReplicaRacks`.
    """
    now = Settling(
        subscriptions=MappingProxyType(
            {key: (frozenset(member.topics), member.rack) for key, member in members.items()}
        ),
        racks=rack_sets(members, racks),
        owned=MappingProxyType({key: member.owned for key, member in members.items()}),
        previous=last,
    )
    is_same = (now.subscriptions, now.racks) == (state.subscriptions, state.racks)
    if (
        last is not None
        and is_same
        and last != state.previous
        and _moves_something(state.owned, last)
    ):
        now = replace(now, rounds=state.rounds + 1)
    return now, "no-racks" if now.rounds >= PATIENCE else "racks"


def without_racks(members: Members) -> Members:
    """The same members without racks."""
    return {key: replace(member, rack=None) for key, member in members.items()}


def _moves_something(owned: Mapping[str, tuple[TopicPartition, ...]], last: Assignment) -> bool:
    """Whether a member got other partitions than it owned."""
    return any(
        set(owned.get(member, ())) != set(given) for member, given in last.partitions.items()
    )
