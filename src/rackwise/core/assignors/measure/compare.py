"""Comparison of assignors: the settled assignment of each one, also with members added or removed.

Goals: the same group and the same racks, one row for each assignor, after it has settled.

```
assignor              after  local  moves
range                     1     51     20     every round is the same
cooperative-sticky        2     58      9     revoked first, assigned in the next round
rack-optimal              2     60      9
server-uniform            1     20     40     Kafka's `uniform` on the broker (KIP-848)
```

The algorithm. Each assignor runs until nothing moves any more (`simulate_rounds`). Racks are
ignored for "cooperative-sticky" where it would not settle, as its plug-in does. The last assignment
is compared with what members have now. New members list every topic that the group lists. What
removed members had counts as moved where the group before is given.

The assignors on the broker, `server-uniform` and `server-range`, see no racks. A group that changes
to the consumer protocol restarts all its members, so it is simulated as if nobody owned anything.

What this does not do: simulate lag, time, or members that fail in between.

Source: KIP-429, KIP-848, KIP-881.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rackwise.core.assignors.described import BROKER_ASSIGNORS
from rackwise.core.assignors.kafka.cooperative import assign_cooperative
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.kafka.roundrobin import assign_roundrobin
from rackwise.core.assignors.kafka.sticky import assign_sticky
from rackwise.core.assignors.measure.evaluate import evaluate
from rackwise.core.assignors.measure.simulate import MAX_ROUNDS, simulate_rounds
from rackwise.core.assignors.members import Member
from rackwise.core.assignors.optimal.assign import assign_optimal
from rackwise.core.assignors.server.group import NO_IDS
from rackwise.core.assignors.server.range import assign_server_range
from rackwise.core.assignors.server.uniform import assign_uniform
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
    from rackwise.core.assignors.optimal.assign import BalanceScope

OPTIMAL = "rack-optimal"
COOPERATIVE = "cooperative-sticky"
ASSIGNORS = ("range", "roundrobin", "sticky", COOPERATIVE, OPTIMAL)
"""The assignors of the classic protocol."""
SERVER_UNIFORM, SERVER_RANGE = (f"server-{each}" for each in BROKER_ASSIGNORS)
SERVER_ASSIGNORS = (SERVER_UNIFORM, SERVER_RANGE)
"""Kafka's own assignors of the consumer protocol, by their names in a simulation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedAssignor:
    """The settled assignment of one assignor."""

    assignor: str
    assignment: Assignment
    """The assignment of the last round."""
    report: AssignmentReport
    """Measures the assignment against what members have now."""
    rounds: int | None
    """The number of rounds until it settled; None where it did not settle in the rounds allowed."""


def simulate_assignor(
    assignor: str,
    members: Members,
    racks: ReplicaRacks,
    *,
    target: Target = "follower",
    balance: BalanceScope = "total",
    weights: Mapping[TopicPartition, int] | None = None,
    max_rounds: int = MAX_ROUNDS,
    before: Members | None = None,
    topic_ids: Mapping[str, str] = NO_IDS,
    is_on_server: bool = False,
) -> SimulatedAssignor:
    """Run one assignor until it settles, for at most `max_rounds` rounds.

    `before`: the group before members were added or removed; moves are counted from it.
    `topic_ids`: topic -> id, for the assignors on the broker. `is_on_server`: the group already
    uses one, which keeps what members own. Raises `InvalidConfig` for an unknown name, what
    `evaluate` raises, and for "rack-optimal" what `assign_optimal` raises, such as
    `MissingDependency` without ortools.
    """
    assign = _find_assignor(
        assignor, target=target, balance=balance, weights=weights, topic_ids=topic_ids
    )
    joining = members
    if assignor in SERVER_ASSIGNORS and not is_on_server:
        joining = {key: replace(member, owned=()) for key, member in members.items()}
    rounds = simulate_rounds(
        assign, joining, racks, max_rounds=max_rounds + 1, settling=assignor == COOPERATIVE
    )
    last = rounds[:max_rounds][-1]
    return SimulatedAssignor(
        assignor=assignor,
        assignment=last,
        report=evaluate(last, members, racks, target=target, weights=weights, before=before),
        rounds=len(rounds) if len(rounds) <= max_rounds else None,
    )


def change_members(
    members: Members, *, add: Mapping[str, int], remove: Iterable[str] = ()
) -> Members:
    """The group with members added in racks, and members removed.

    `add`: rack -> number of new members. They are called `new-RACK-1` and so on, without the
    numbers that members have already. `remove`: member ids. Raises `InvalidMember` for a member to
    remove that does not exist.
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
        names = (f"new-{rack}-{number}" for number in itertools.count(1))
        free = (name for name in names if name not in members)
        kept |= {name: Member(topics=topics, rack=rack) for name in itertools.islice(free, count)}
    return kept


def _find_assignor(
    name: str,
    *,
    target: Target,
    balance: BalanceScope,
    weights: Mapping[TopicPartition, int] | None,
    topic_ids: Mapping[str, str],
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
        SERVER_UNIFORM: partial(assign_uniform, topic_ids=topic_ids),
        SERVER_RANGE: assign_server_range,
    }
    if name not in known:
        names = ", ".join((*ASSIGNORS, *SERVER_ASSIGNORS))
        raise InvalidConfig(
            f'invalid assignor: expected one of {names}, got "{escaped(name)}"',
            wanted=names,
            had=name,
            hint="use the name that clients report to the group, or server- and the name of "
            "Kafka's assignor on the broker",
        )
    return known[name]
