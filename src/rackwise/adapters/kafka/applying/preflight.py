"""The reading that precedes a run; nothing is written.

It contains the partitions of the plan with all running reassignments, the brokers with their racks,
and the log folders of the brokers in the new lists. A missing permission shows here, before the
first write. `core.applying.preflight` decides whether the plan may run.

Source: KIP-455, KIP-516, KIP-827, KIP-1066, KIP-1073.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.applying.metadata import read_replica_logs
from rackwise.adapters.kafka.read import read_brokers
from rackwise.core.applying.preflight import ClusterFacts, check_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.adapters.kafka.applying.world import World
    from rackwise.core.planning.model import Plan


def read_facts(
    world: World, plan: Plan, *, progress: Callable[[int], None] = lambda _: None
) -> ClusterFacts:
    """The state of the cluster that the plan needs. `progress` is called for each of `READINGS`.

    Raises `WrongCluster`, `StalePlan` for a plan of no cluster, `MissingPermission`, `Unreachable`,
    `AuthenticationFailed` or `ServerRefused`.
    """
    admin = world.admin
    cluster_id = world.cluster_id()
    check_cluster(plan, cluster_id)
    progress(1)
    found = world.read_partitions(
        [(move.topic, move.partition) for move in plan.moves], is_whole=True
    )
    progress(1)
    brokers = {broker.id: broker for broker in read_brokers(admin)}
    named = {broker for move in plan.moves for broker in move.after} & found.live
    logs = read_replica_logs(admin, sorted(named), "folders_only")
    progress(1)
    return ClusterFacts(
        cluster_id=cluster_id,
        brokers={
            id_: replace(broker, log_dirs=logs.log_dirs.get(id_, ()))
            for id_, broker in brokers.items()
        },
        partitions=found.partitions,
        foreign=found.foreign,
        counts=found.counts,
    )


READINGS = 3
"""Number of calls of `progress`."""
