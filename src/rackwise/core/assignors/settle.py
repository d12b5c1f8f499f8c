"""When racks are left out, so that a cooperative group comes to rest.

Goals: every group settles; a group that settles by itself is never touched.

Kafka's cooperative sticky rule looks at racks first and at what members have second. With differing
subscriptions it can go back and forth between two assignments for ever, though nothing changes:

```
round      1        2        3        4        5                  6
rule       racks    racks    racks    racks    no racks           -
m0         u-0 u-1  u-0 u-1  u-0      u-0 u-1  u-0 u-1 (as in 4)  settled
m2         -        t-0      -        t-0      t-0
```

The rule. Rounds are counted in which something moved, in a row, while members, their topics and
racks, and the racks of replicas stay what they are. Once `PATIENCE` of them have passed, racks are
left out: the next round is assigned as if no member had one. A round that moves nothing begins the
count anew, and so does any change. Nothing moves where every member gets what it owned, or where
all is as the round before had it: eager members may not say what they own.

What this does not do: assign anything, or ask for a round.

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
"""Rounds in a row that may move something before racks are left out."""

Told: TypeAlias = tuple[frozenset[str], str | None]
"""What a member says that matters here: its topics and its rack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """What the leader of a group remembers between rounds; begin with `Settling()`.

    `rounds`: how many in a row have moved something. `told`: member -> topics and rack, `racks`:
    topic -> partition -> racks, `owned`: member -> partitions, all as of the last round; `given`:
    what the round before that gave.
    """

    rounds: int = 0
    told: Mapping[str, Told] = field(default_factory=lambda: MappingProxyType({}))
    racks: RackSets = field(default_factory=dict)
    owned: Mapping[str, tuple[TopicPartition, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    given: Assignment | None = None


def settle_step(
    state: Settling, members: Members, racks: ReplicaRacks, last: Assignment | None
) -> tuple[Settling, Literal["racks", "no-racks"]]:
    """Whether this round heeds racks, asked before it is assigned.

    `last`: what the round before gave, None where this leader made none. Raises `InvalidMember` and
    `InvalidReplicaRacks`.
    """
    now = Settling(
        told=MappingProxyType(
            {key: (frozenset(member.topics), member.rack) for key, member in members.items()}
        ),
        racks=rack_sets(members, racks),
        owned=MappingProxyType({key: member.owned for key, member in members.items()}),
        given=last,
    )
    is_same = (now.told, now.racks) == (state.told, state.racks)
    if last is not None and is_same and last != state.given and _moved(state.owned, last):
        now = replace(now, rounds=state.rounds + 1)
    return now, "no-racks" if now.rounds >= PATIENCE else "racks"


def without_racks(members: Members) -> Members:
    """The same members, none of them with a rack."""
    return {key: replace(member, rack=None) for key, member in members.items()}


def _moved(owned: Mapping[str, tuple[TopicPartition, ...]], last: Assignment) -> bool:
    return any(
        set(owned.get(member, ())) != set(given) for member, given in last.partitions.items()
    )
