"""The optimal assignment: balance first, then the least crossing, then the fewest moves.

Goals, in order: balance; crossings of racks, the coarsest level first; moves, that is, owned
partitions that end with another member. Each goal is as small as the goals before it allow, and
this is proven. Kafka's own assignors are greedy and promise none of these but balance.

```
balance     what is even                                             suits
total       the sum of squared loads is least: with the same         groups that read topics one by
            subscriptions, q or q + 1 partitions each                one
per-topic   the same for each topic                                  topics of unequal traffic
columns     partitions of one number, of topics with the same        joins of co-partitioned topics
            subscribers and size, go to one member; columns are
            even among such topics
```

The algorithm. Partitions with the same subscribers, the same cost in every rack and the same owner
become one node of a network, with their count. A flow through racks and members to the sink is an
assignment, and its cost is crossings and moves. A min-cost flow is computed (`network`), and then
counts become partitions again (`distribute`).

```
                 t-0  t-1  t-2  t-3
replicas in      a    a b  b    b a
owned by         m1   m2   m1   m2      m1 in a, m2 in b
sticky           m1   m2   m1   m2      3 local, for ever
best             m1   m2   m2   m1      4 local, 2 moves
```

Where its own result is given as owned, that result is the only one without moves and with the same
balance and crossings. So it is returned again, and a cooperative group settles in two rounds,
whichever member leads.

What this does not do: spread each topic where `balance` is total (most topics spread nevertheless,
since units go around members); consider which replicas are in sync; promise the same answer from
another release of the solver, only an equally good one.

Source: KIP-881 ("prioritize balancing partitions over improving locality"), KIP-54, KIP-429.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rackwise.core.assignors.distance import check_target
from rackwise.core.assignors.kafka.cooperative import withhold
from rackwise.core.assignors.optimal.group import ReadingGroup
from rackwise.core.assignors.optimal.network import best_members
from rackwise.core.errors import InvalidConfig
from rackwise.core.solver import require_solver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.assignors.members import (
        Assignment,
        Members,
        ReplicaRacks,
        Target,
        TopicPartition,
    )

BalanceScope: TypeAlias = Literal["total", "per-topic", "columns"]
BALANCES: tuple[BalanceScope, ...] = ("total", "per-topic", "columns")
"""What is balanced: all partitions, those of each topic, or columns of co-partitioned topics."""


def assign_optimal(
    members: Members,
    racks: ReplicaRacks,
    *,
    balance: BalanceScope = "total",
    target: Target = "follower",
    cooperative: bool = False,
    weights: Mapping[TopicPartition, int] | None = None,
    level_costs: Sequence[int] | None = None,
) -> Assignment:
    """The assignment with the best balance, then the least crossing, then the fewest moves.

    `weights`: bytes_per_s of each partition, integers >= 0. Crossing is then measured in bytes, and
    a partition without weight counts as 0. `level_costs`: the cost of a read that crosses 0, 1, ..
    levels, finest first; by default one level costs more than all finer ones. `cooperative`: a
    partition that another member may still read is withheld, as by `withhold`.

    Raises `InvalidMember`, `InvalidReplicaRacks`, `InvalidWeights`, `InvalidConfig` for an unknown
    balance or target or for wrong costs, `OptimumTooLarge`, and `MissingDependency` where ortools
    is not installed.
    """
    check_balance(balance)
    check_target(target)
    group = ReadingGroup.of(members, racks, target=target, weights=weights)
    _check_costs(level_costs, group.depth)
    require_solver()
    holder_of = np.zeros(int(group.starts[-1]), dtype=np.int64)
    for units in _balanced_units(group, balance):
        holder_of[units] = best_members(group, units, level_costs)[:, None]
    assignment = group.assignment(members, holder_of)
    return withhold(assignment, members) if cooperative else assignment


def check_balance(balance: str) -> None:
    """Reject an unknown balance. Raises `InvalidConfig`."""
    if balance not in BALANCES:
        raise InvalidConfig(
            f'invalid balance: expected one of {", ".join(BALANCES)}, got "{balance}"',
            wanted=", ".join(BALANCES),
            had=balance,
            hint="use total to balance all partitions of a member together",
        )


def _balanced_units(group: ReadingGroup, balance: BalanceScope) -> Iterator[NDArray[np.int64]]:
    """The groups of units that are balanced separately, each int64 [units, width].

    A unit is `width` partitions that go to one member.
    """
    every = np.arange(group.starts[-1])
    if balance == "total":
        if len(every):
            yield every[:, None]
        return
    # key -> the partitions of each of its topics; the topics of one key have equal sizes
    together: dict[object, list[NDArray[np.int64]]] = {}
    for topic, found in enumerate(np.split(every, group.starts[1:-1])[: len(group.topics)]):
        shape = (group.subscribes[:, topic].tobytes(), len(found))
        together.setdefault(topic if balance == "per-topic" else shape, []).append(found)
    for topics in together.values():
        yield np.column_stack(topics)


def _check_costs(level_costs: Sequence[int] | None, depth: int) -> None:
    if level_costs is None:
        return
    if len(level_costs) != depth + 1 or any(
        type(cost) is not int or cost < 0 for cost in level_costs
    ):
        raise InvalidConfig(
            f"invalid level_costs: expected {depth + 1} integers from 0 on, got "
            f"{list(level_costs)}",
            wanted=f"{depth + 1} integers from 0 on",
            had=str(list(level_costs)),
            hint="give the cost of a read that crosses no level, one level, and so on",
        )
