"""Simulated rounds of a group: one assignor, each round with the result of the one before.

Goals: the number of rounds until nothing moves, and the assignment at that point.

A round assigns. In the next round every member owns what it got, and no member owns what was
withheld. The simulation ends with the round that would repeat for ever:

```
round    m1        m2     withheld
before   t-0 t-1   -
1        t-0       -      t-1 for m2
2        t-0       t-1                  a third round would give the same: 2 rounds
```

All members report the same generation, one above the newest of the round before, as if all of them
had taken part.

What this does not do: simulate members that join, leave or do not answer; rounds are complete.

Source: KIP-429 (rounds of cooperative rebalancing).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.assignors.settle import Settling, settle_step, without_racks
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.core.assignors.members import Assignment, Members, ReplicaRacks

    Assign: TypeAlias = Callable[[Members, ReplicaRacks], Assignment]

MAX_ROUNDS = 12
"""The default; in the tests of the laws every cooperative group settles within 8 rounds."""


def simulate_rounds(
    assign: Assign,
    members: Members,
    racks: ReplicaRacks,
    *,
    max_rounds: int = MAX_ROUNDS,
    settling: bool = False,
) -> tuple[Assignment, ...]:
    """The rounds until nothing moves any more: at least one, at most `max_rounds`.

    A result of `max_rounds` rounds may mean that the group does not settle. `settling`: ignore
    racks where they keep the group from settling, as the plug-ins do (`settle_step`). Raises what
    `assign` raises, and `InvalidConfig` for less than 1 round.
    """
    if max_rounds < 1:
        raise InvalidConfig(
            f"invalid max_rounds: expected at least 1, got {max_rounds}",
            wanted="at least 1 round",
            had=max_rounds,
            hint="use 2 or more for a cooperative assignor",
        )
    rounds: list[Assignment] = []
    state = Settling()
    while len(rounds) < max_rounds:
        participants = members
        if settling:
            state, rule = settle_step(state, members, racks, rounds[-1] if rounds else None)
            participants = members if rule == "racks" else without_racks(members)
        assignment = assign(participants, racks)
        if rounds and assignment == rounds[-1]:
            break
        rounds.append(assignment)
        members = next_members(members, assignment)
    return tuple(rounds)


def next_members(members: Members, assignment: Assignment) -> Members:
    """The members in the round after `assignment`: they own what they got."""
    generation = max(member.generation for member in members.values()) + 1
    return {
        key: replace(member, owned=assignment.partitions.get(key, ()), generation=generation)
        for key, member in members.items()
    }
