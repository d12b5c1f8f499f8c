"""What each assignor would make of a group, with members added or taken away.

Goals: the same group, the same racks, one row for each assignor, at the point where it settles.

```
assignor              after  local  moves
range                     1     51     20     each round is the same
cooperative-sticky        2     58      9     given up first, given later
rack-optimal              2     60      9
```

The algorithm. Each assignor is run until nothing moves any more (`simulate_rounds`); racks are left
out for "cooperative-sticky" where it would not settle, as its plug-in does. What it gives then is
measured against what members have now. New members list every topic that the group lists; what
members had that are taken away counts as moved where the group before is given.

What this does not do: simulate lag, time, or members that fail in between.

Source: KIP-429, KIP-881.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rackwise.core.assignors.kafka.cooperative import assign_cooperative
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.kafka.roundrobin import assign_roundrobin
from rackwise.core.assignors.kafka.sticky import assign_sticky
from rackwise.core.assignors.measure.evaluate import evaluate
from rackwise.core.assignors.measure.simulate import MAX_ROUNDS, simulate_rounds
from rackwise.core.assignors.members import Member
from rackwise.core.assignors.optimal.assign import assign_optimal
from rackwise.core.errors import InvalidConfig, InvalidMember
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.assignors.measure.evaluate import AssignmentReport
    from rackwise.core.assignors.measure.simulate import Assign
    from rackwise.core.assignors.members import (
        Assignment,
        Members,
        ReplicaRacks,
        Target,
        TopicPartition,
    )
    from rackwise.core.assignors.optimal.assign import Balance

OPTIMAL = "rack-optimal"
COOPERATIVE = "cooperative-sticky"
ASSIGNORS = ("range", "roundrobin", "sticky", COOPERATIVE, OPTIMAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Where one assignor leaves a group.

    `assignment` is that of the last round, `report` measures it against what members have now;
    `rounds`: how many it took to settle, None where that were more than allowed.
    """

    assignor: str
    assignment: Assignment
    report: AssignmentReport
    rounds: int | None


def simulated(
    assignor: str,
    members: Members,
    racks: ReplicaRacks,
    *,
    target: Target = "follower",
    balance: Balance = "total",
    weights: Mapping[TopicPartition, int] | None = None,
    max_rounds: int = MAX_ROUNDS,
    before: Members | None = None,
) -> Simulated:
    """Run one assignor until it settles, for `max_rounds` at most.

    `before`: the group before members came and went, which moves are counted from.
    Raises `InvalidConfig` for an unknown name, what `evaluate` raises, and for "rack-optimal" what
    `assign_optimal` raises, `MissingDependency` without ortools.
    """
    assign = _assignor(assignor, target=target, balance=balance, weights=weights)
    rounds = simulate_rounds(
        assign, members, racks, max_rounds=max_rounds + 1, settling=assignor == COOPERATIVE
    )
    made = rounds[:max_rounds][-1]
    return Simulated(
        assignor=assignor,
        assignment=made,
        report=evaluate(made, members, racks, target=target, weights=weights, before=before),
        rounds=len(rounds) if len(rounds) <= max_rounds else None,
    )


def changed(members: Members, *, add: Mapping[str, int], remove: Iterable[str] = ()) -> Members:
    """The group with so many new members in each rack, and without some.

    New ones are called `new-RACK-1` and so on. Raises `InvalidMember` for one to remove that is not
    there.
    """
    kept = dict(members)
    for member in remove:
        if kept.pop(member, None) is None:
            raise InvalidMember(
                f"invalid member to remove: expected a member of the group, got {escaped(member)}",
                wanted="a member of the group",
                had=member,
                hint="list the members with rackwise consumer evaluate --json (by_member)",
            )
    topics = tuple(sorted({topic for member in members.values() for topic in member.topics}))
    for rack, count in add.items():
        for number in range(1, count + 1):
            kept[f"new-{rack}-{number}"] = Member(topics=topics, rack=rack)
    return kept


def _assignor(
    name: str,
    *,
    target: Target,
    balance: Balance,
    weights: Mapping[TopicPartition, int] | None,
) -> Assign:
    if name == OPTIMAL:
        return partial(
            assign_optimal, balance=balance, target=target, weights=weights, cooperative=True
        )
    known: dict[str, Assign] = {
        "range": assign_range,
        "roundrobin": assign_roundrobin,
        "sticky": assign_sticky,
        COOPERATIVE: assign_cooperative,
    }
    if name not in known:
        raise InvalidConfig(
            f'invalid assignor: expected one of {", ".join(ASSIGNORS)}, got "{escaped(name)}"',
            wanted=", ".join(ASSIGNORS),
            had=name,
            hint="use the name that clients report to the group",
        )
    return known[name]
