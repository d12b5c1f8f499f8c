"""What each broker has to give: locality may fill one rack's brokers while others are idle.

Goals: for an assignment, how many partitions and how much is read from each broker, and how much of
it leaves the broker's rack.

```
            leader  in sync     read by          from
t-0         1 (a)   1 2 (b)     m in b           2, in its own rack
t-1         1 (a)   1           m in b           1, across racks
t-2         1 (a)   1 2 3 (b)   m in b           3: the broker takes the one that has caught up
                                                 most; counted is the one read least so far
```

The algorithm. Partitions in order, each read where `read_replica` says. A member without rack reads
from the leader; whether that crosses nobody knows, so it is not counted as crossing.

What this does not do: count partitions that have no leader, that the cluster does not have, or of
topics that no member lists; the sum over brokers tells how many are there. One that is withheld
counts for the member that gets it next.

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
    from rackwise.core.model import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReads:
    """What is read from one broker.

    `cross`: partitions read by members of other racks; `bytes_per_s` is None without weights.
    """

    partitions: int = 0
    bytes_per_s: int | None = None
    cross: int = 0


def reads_by_broker(
    assignment: Assignment,
    members: Members,
    cluster: Cluster,
    *,
    selector: Literal["rack-aware", "leader"],
    weights: Mapping[TopicPartition, int] | None = None,
) -> Mapping[int, BrokerReads]:
    """Broker id -> what is read from it, of all brokers of the cluster, in id order.

    `selector`: `rack-aware` where the brokers have RackAwareReplicaSelector. `weights`: bytes_per_s
    of each partition; one without counts as 0. Raises `InvalidMember`, `InvalidWeights`, and
    `InvalidConfig` for another selector.
    """
    check_members(members)
    topics = {topic for member in members.values() for topic in member.topics}
    check_weights(weights, replica_racks(cluster, topics))
    racks = {broker.id: str(broker.rack or "") for broker in cluster.brokers}
    holders = dict(holders_of(assignment, members))
    table, row_of = cluster.partitions, _rows(cluster)
    found = dict.fromkeys(sorted(racks), (0, 0, 0))
    for tp in sorted_partitions(tp for tp in holders if tp in row_of and tp.topic in topics):
        told = table[row_of[tp]]
        rack = members[holders[tp]].rack
        near = read_replica(told.replicas, told.leader, told.isr, racks, rack, selector=selector)
        known = [one for one in near if one in found]
        broker = min(known, key=lambda one: found[one][0], default=None)
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


def _rows(cluster: Cluster) -> dict[tuple[str, int], int]:
    table = cluster.partitions
    names = [table.topics[number] for number in table.topic.tolist()]
    return {tp: row for row, tp in enumerate(zip(names, table.partition.tolist(), strict=True))}
