"""The reads that each broker serves: locality may load one rack and leave others idle.

Goals: for an assignment, the number of partitions and the bytes that are read from each broker, and
how much of this leaves the broker's rack.

```
            leader  in sync     read by          from
t-0         1 (a)   1 2 (b)     m in b           2, in its own rack
t-1         1 (a)   1           m in b           1, across racks
t-2         1 (a)   1 2 3 (b)   m in b           2 or 3: the broker picks the one that caught up
                                                 most; here the one with fewer reads counts
```

The algorithm. Partitions are visited in order, and each is read where `read_replica` says. A member
without rack reads from the leader. Whether that crosses racks is not known, so it is not counted as
crossing.

What this does not do: count partitions without leader, partitions that the cluster does not have,
or topics that no member lists; the sum over brokers shows how many were counted. A withheld
partition counts for the member that gets it next.

Source: KIP-392.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from rackwise.core.assignors.distance import check_weights
from rackwise.core.assignors.measure.evaluate import holders_of
from rackwise.core.assignors.measure.replica_read import read_replica
from rackwise.core.assignors.members import check_members, replica_racks, sorted_partitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.assignors.members import Assignment, Members, TopicPartition
    from rackwise.core.model import Cluster, PartitionId


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReads:
    """The reads that one broker serves."""

    partitions: int = 0
    bytes_per_s: int | None = None
    """None without weights."""
    cross: int = 0
    """Partitions that members of other racks read."""


def reads_by_broker(
    assignment: Assignment,
    members: Members,
    cluster: Cluster,
    *,
    selector: Literal["rack-aware", "leader"],
    weights: Mapping[TopicPartition, int] | None = None,
) -> Mapping[int, BrokerReads]:
    """Broker id -> the reads that it serves, for all brokers of the cluster in id order.

    `selector`: `rack-aware` where the brokers have RackAwareReplicaSelector. `weights`: bytes_per_s
    of each partition; a partition without weight counts as 0. Raises `InvalidMember`,
    `InvalidWeights`, and `InvalidConfig` for an unknown selector.
    """
    check_members(members)
    topics = {topic for member in members.values() for topic in member.topics}
    check_weights(weights, replica_racks(cluster, topics))
    racks = {broker.id: str(broker.rack or "") for broker in cluster.brokers}
    holders = dict(holders_of(assignment, members))
    table, row_of = cluster.partitions, _row_numbers(cluster)
    # broker id -> (partitions, bytes_per_s, partitions that cross racks)
    found = dict.fromkeys(sorted(racks), (0, 0, 0))
    for tp in sorted_partitions(tp for tp in holders if tp in row_of and tp.topic in topics):
        row = table[row_of[tp]]
        rack = members[holders[tp]].rack
        near = read_replica(row.replicas, row.leader, row.isr, racks, rack, selector=selector)
        known = [broker_id for broker_id in near if broker_id in found]
        broker = min(known, key=lambda broker_id: found[broker_id][0], default=None)
        if broker is not None:
            partitions, size, cross = found[broker]
            weight = 0 if weights is None else weights.get(tp, 0)
            crosses = rack is not None and rack != racks[broker]
            found[broker] = (partitions + 1, size + weight, cross + crosses)
    return MappingProxyType(
        {
            broker: BrokerReads(
                partitions=partitions, bytes_per_s=None if weights is None else size, cross=cross
            )
            for broker, (partitions, size, cross) in found.items()
        }
    )


def _row_numbers(cluster: Cluster) -> dict[PartitionId, int]:
    """(topic, partition) -> row of the partition table."""
    table = cluster.partitions
    names = [table.topics[number] for number in table.topic.tolist()]
    return {tp: row for row, tp in enumerate(zip(names, table.partition.tolist(), strict=True))}
