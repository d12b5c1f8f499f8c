"""What becomes of a group: rounds of one assignor, each fed with what the one before gave.

Goals: how many rounds a group needs until nothing moves, and what it has then.

A round hands out; in the next one every member owns what it was given, and nobody what was
withheld. The last round is the one that would be repeated for ever:

```
round    m1        m2     withheld
before   t-0 t-1   -
1        t-0       -      t-1 for m2
2        t-0       t-1                  a third round would give the same: 2 rounds
```

All members say the same generation, one above the newest of the round before, as if all had been
there.

What this does not do: simulate members that come, go or do not answer; rounds are whole.

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


def simulate_rounds(
    assign: Assign,
    members: Members,
    racks: ReplicaRacks,
    *,
    max_rounds: int = MAX_ROUNDS,
    settling: bool = False,
) -> tuple[Assignment, ...]:
    """The rounds until nothing moves any more: at least one, at most `max_rounds`.

    As many as `max_rounds` may mean that the group does not settle. `settling`: leave racks out
    where they keep a group from it, as the plug-ins do (`settle_step`). Raises what `assign`
    raises, and `InvalidConfig` for less than 1 round.
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
        told = members
        if settling:
            state, rule = settle_step(state, members, racks, rounds[-1] if rounds else None)
            told = members if rule == "racks" else without_racks(members)
        made = assign(told, racks)
        if rounds and made == rounds[-1]:
            break
        rounds.append(made)
        members = next_members(members, made)
    return tuple(rounds)


def next_members(members: Members, made: Assignment) -> Members:
    """What the members say in the round after `made`: they own what it gave them."""
    generation = max(member.generation for member in members.values()) + 1
    return {
        key: replace(member, owned=made.partitions.get(key, ()), generation=generation)
        for key, member in members.items()
    }
