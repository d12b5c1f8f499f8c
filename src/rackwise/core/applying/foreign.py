"""A plan from replica lists that somebody else chose: Kafka's JSON, or rows of a placement.

Goals, in order: what the plan names exists on the cluster; the lists of before are recorded, so
that the plan can be checked again, resumed and rolled back; nothing is claimed about it.

```
target     orders-0  1,3      cluster  orders-0  1,2      move  orders-0  1,2 -> 1,3
           orders-1  2,3               orders-1  2,3      (none: it is there already)
```

Moves run from the largest to the smallest, and those that copy nothing last.

What this does not do: judge the lists. The plan has no certificate, and says that it is not proved.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from rackwise.core.applying.reverse import sum_totals
from rackwise.core.errors import ForeignReassignment, StalePlan
from rackwise.core.planning.model import (
    Fair,
    MadeFrom,
    Move,
    Plan,
    Repair,
    SeenBroker,
    Verdict,
)
from rackwise.core.text import counted, names_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.model import Cluster, Partition, PartitionId

NOT_OURS = "not proved: not ours"
"""What is said about the proof of such a plan."""
SOLVER = "not ours"
"""The solver that such a plan names."""

_REASON = "not-ours"
_NO_POLICY = 'format = "rackwise.policy/1"\n'
_SHOWN = 10


def is_foreign(plan: Plan) -> bool:
    """Whether somebody else chose the replica lists of a plan."""
    return plan.solver == SOLVER


def foreign_plan(cluster: Cluster, targets: Mapping[PartitionId, tuple[int, ...]]) -> Plan:
    """The plan that gives these partitions these replicas; its `sha256` is empty.

    `cluster`: with all partitions of these topics. Raises `StalePlan` where a partition or a broker
    does not exist, `ForeignReassignment` where one of the partitions is being reassigned.
    """
    rows = {(row.topic, row.partition): row for row in cluster.partitions}
    _check(cluster, rows, targets)
    moves = sorted(
        (
            _move(cluster, rows[which], after)
            for which, after in targets.items()
            if rows[which].replicas != after
        ),
        key=_order,
    )
    names = {topic for topic, _ in targets}
    cost = sum(len(move.added) for move in moves)
    return Plan(
        cluster_id=cluster.cluster_id,
        made_from=MadeFrom(
            snapshot_sha256="",
            brokers={
                each.id: SeenBroker(each.rack, each.is_fenced) for each in cluster.settled().brokers
            },
            policy=_NO_POLICY,
            policy_sha256=hashlib.sha256(_NO_POLICY.encode()).hexdigest(),
            partitions=Counter(topic for topic, _ in rows if topic in names),
        ),
        goal=Repair(),
        minimise="moves",
        solver=SOLVER,
        moves=tuple(moves),
        totals=sum_totals(tuple(moves)),
        fair=Fair(),
        certificates=(),
        verdict=Verdict(
            cost=cost,
            lower_bound=0,
            gap=cost,
            is_legal=False,
            is_fair=False,
            problems=(NOT_OURS,),
        ),
    )


def _move(cluster: Cluster, row: Partition, after: tuple[int, ...]) -> Move:
    return Move(
        topic=row.topic,
        partition=row.partition,
        topic_id=cluster.topics[row.topic].id,
        before=row.replicas,
        after=after,
        bytes=row.bytes,
        reasons=(_REASON,),
    )


def _order(move: Move) -> tuple[bool, int, bytes, int]:
    copied = (move.bytes or 0) * len(move.added)
    return not move.added, -copied, move.topic.encode(), move.partition


def _check(
    cluster: Cluster,
    rows: Mapping[PartitionId, Partition],
    targets: Mapping[PartitionId, tuple[int, ...]],
) -> None:
    listed = {broker.id for broker in cluster.brokers}
    wrong = [
        f"{topic}-{number} does not exist"
        if (topic, number) not in rows
        else f"{topic}-{number}: broker {min(set(after) - listed)} is not listed"
        for (topic, number), after in targets.items()
        if (topic, number) not in rows or not listed.issuperset(after)
    ]
    if wrong:
        raise StalePlan(
            f"expected partitions and brokers of the cluster, got others in "
            f"{counted(len(wrong), 'row')}: {names_text(wrong, most=_SHOWN)}",
            wanted="partitions and brokers of the cluster",
            had="; ".join(wrong),
            hint="correct the file, or set --bootstrap-server to a broker of its cluster",
        )
    moving = [f"{t}-{n}" for t, n in targets if rows[t, n].adding or rows[t, n].removing]
    if moving:
        raise ForeignReassignment(
            f"expected partitions that are not being reassigned, got {len(moving)} that are: "
            f"{names_text(moving, most=_SHOWN)}",
            wanted=0,
            had=", ".join(moving),
            hint="wait until these reassignments end",
        )
