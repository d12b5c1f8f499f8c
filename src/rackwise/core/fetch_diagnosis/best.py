"""Compares a running group's assignment with the best one, and with that of its own assignor.

A static member that comes back gets the partitions that it had, also in another rack, because the
group does not rebalance (KIP-345). So the assignment of a group with static members may be older
than the racks of its members. Then the group's own assignor would decide otherwise today.

What this does not do: find the best assignment; `review` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.assignors.described import (
    CONSUMER,
    STABLE,
    WITHOUT_CHOICE,
    describe_group,
    target_of,
)
from rackwise.core.assignors.measure.compare import ASSIGNORS, simulate_assignor
from rackwise.core.assignors.measure.evaluate import evaluate
from rackwise.core.assignors.measure.migration import server_outcomes
from rackwise.core.assignors.measure.review import review
from rackwise.core.fetch_diagnosis.facts import GroupBest

if TYPE_CHECKING:
    from rackwise.core.assignors.described import DescribedGroup
    from rackwise.core.assignors.members import ReplicaRacks
    from rackwise.core.model import Group


def group_best(group: Group, racks: ReplicaRacks) -> GroupBest | None:
    """How many partitions the group reads locally, and could.

    None for a group that is not stable, or whose subscriptions are not visible. Raises
    `MissingDependency` if a solver is needed to find the best assignment and none is installed.
    """
    described = describe_group(group)
    if group.state not in {None, STABLE} or not described.members or described.without_topics:
        return None
    if group.protocol in WITHOUT_CHOICE:
        return _without_choice(described, racks)
    seen = review(described.assignment, described.members, racks)
    after = None
    has_static = any(each.instance_id for each in group.members)
    if has_static and group.protocol != CONSUMER and group.assignor in ASSIGNORS:
        after = simulate_assignor(group.assignor, described.members, racks).report.local
    return GroupBest(
        partitions=seen.now.partitions,
        local=seen.now.local,
        best_local=seen.now.best_local or 0,
        is_better=seen.is_better,
        moves=None if seen.best is None else seen.best.moves,
        after_rebalance=after,
        on_server={
            each.assignor: round(each.local)
            for each in server_outcomes(described.assignment, described.members, racks)
            if each.local is not None
        }
        if group.protocol == CONSUMER
        else {},
    )


def _without_choice(described: DescribedGroup, racks: ReplicaRacks) -> GroupBest:
    target = target_of(described.group, "follower")
    now = evaluate(described.assignment, described.members, racks, target=target)
    return GroupBest(
        partitions=now.partitions, local=now.local, best_local=now.local, is_better=False
    )
