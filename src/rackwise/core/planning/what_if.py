"""A cluster after a hypothetical change: racks and brokers lost, added or moved.

Changes apply in order, each to the result of the changes before it:

```
LoseRack("/eu/a")       all its brokers die at once
LoseBroker(4)           it dies; its replicas stay listed
AddBroker(9, /eu/a)     it joins, live and empty
MoveBroker(4, /eu/b)    it moves to another rack with its replicas
SetReplication(..)      the policy changes, not the cluster; see `what_if_policy`
```

A broker that dies leaves the in-sync replicas of every partition. The next leader of a partition
that it led is the first live in-sync replica, in list order, as in the blast radius. If no in-sync
replica survives, the partition has no leader and its in-sync replicas stay unchanged: Kafka keeps
the last one, and waits for it (no unclean election).

```
orders-0  [1 3 4], in sync all    lose 1    led by 3, in sync 3 4
orders-1  [1], in sync 1          lose 1    no leader, in sync 1
```

The result is marked: its `source` is `suppose`. A plan made from it is hypothetical and is never
executed.

Limits: this module audits nothing, estimates no traffic or sizes, and changes no configurations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rackwise.core.errors import InvalidConfig
from rackwise.core.model import UNKNOWN, Broker, Ragged
from rackwise.core.planning.model import SetReplication
from rackwise.core.policy import Policy, TopicBlock
from rackwise.core.racks import RackTree
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, PartitionTable
    from rackwise.core.racks import Rack

SOURCE = "suppose"
"""The `source` of a hypothetical cluster, as snapshots write it."""


@dataclass(frozen=True, slots=True)
class LoseRack:
    """All brokers below a rack die at once; the rack is one of a broker, or an ancestor (`/eu`)."""

    rack: str


@dataclass(frozen=True, slots=True)
class LoseBroker:
    """A broker dies; its replicas stay listed."""

    id: int


@dataclass(frozen=True, slots=True)
class AddBroker:
    """A broker joins, live and empty."""

    id: int
    rack: Rack | None = None


@dataclass(frozen=True, slots=True)
class MoveBroker:
    """A broker moves to another rack with all its replicas."""

    id: int
    rack: Rack | None


Change: TypeAlias = LoseRack | LoseBroker | AddBroker | MoveBroker | SetReplication
"""One hypothetical change."""


def what_if(cluster: Cluster, *changes: Change) -> Cluster:
    """The cluster after all changes, in their order, marked as hypothetical.

    Racks of the cluster that do not count are left out first (`Cluster.settled`). Raises
    `InvalidConfig` for an unknown rack or broker, for an added broker that exists already or that
    replicas name already, and `InvalidRack` for a rack of a change that is malformed or of another
    form than those of the cluster.
    """
    cluster = cluster.settled()
    for change in changes:
        if isinstance(change, LoseRack):
            cluster = _lose_brokers(cluster, _brokers_below(cluster, change.rack))
        elif isinstance(change, LoseBroker):
            _find_broker(cluster, change.id)
            cluster = _lose_brokers(cluster, {change.id})
        elif isinstance(change, AddBroker):
            cluster = _add_broker(cluster, change)
        elif isinstance(change, MoveBroker):
            moved = replace(_find_broker(cluster, change.id), rack=change.rack)
            cluster = _with_brokers(
                cluster, (moved if broker.id == moved.id else broker for broker in cluster.brokers)
            )
    return replace(cluster, source=SOURCE)


def what_if_policy(policy: Policy, *changes: Change) -> Policy:
    """The policy with the replication factors of the changes; later changes win."""
    blocks = tuple(
        TopicBlock(match=(glob,), replication=count)
        for change in changes
        if isinstance(change, SetReplication)
        for glob, count in change.by_topic
    )
    return replace(policy, topics=(*policy.topics, *blocks))


def _brokers_below(cluster: Cluster, rack: str) -> set[int]:
    tree = RackTree.of((broker.id, broker.rack) for broker in cluster.brokers)
    place = tree.find(rack)
    if place is None:
        known = ", ".join(name for names in tree.names for name in names) or "none"
        raise InvalidConfig(
            f'invalid rack to lose: expected a rack of the cluster, got "{escaped(rack)}"',
            wanted="a rack",
            had=rack,
            hint=f"racks: {escaped(known)}",
        )
    level, node = place
    return set(tree.brokers[tree.nodes[level][:-1] == node].tolist())


def _find_broker(cluster: Cluster, id_: int) -> Broker:
    for broker in cluster.brokers:
        if broker.id == id_:
            return broker
    raise InvalidConfig(
        f"invalid broker: expected a broker of the cluster, got {id_}",
        wanted="a broker id",
        had=id_,
        hint=f"brokers: {', '.join(str(broker.id) for broker in cluster.brokers) or 'none'}",
    )


def _with_brokers(cluster: Cluster, brokers: Iterable[Broker]) -> Cluster:
    """Brokers in id order, with racks that can be together in one cluster."""
    found = tuple(sorted(brokers, key=lambda broker: broker.id))
    RackTree.of((broker.id, broker.rack) for broker in found)
    return replace(cluster, brokers=found)


def _add_broker(cluster: Cluster, change: AddBroker) -> Cluster:
    held = int((cluster.partitions.replicas.values == change.id).sum())
    if any(broker.id == change.id for broker in cluster.brokers) or held:
        had = f", which holds {counted(held, 'replica')}" if held else ", which exists already"
        raise InvalidConfig(
            f"invalid broker to add: expected a new broker id, got {change.id}{had}",
            wanted="a new broker id",
            had=change.id,
            hint="use another id, or move the existing broker to another rack",
        )
    return _with_brokers(cluster, (*cluster.brokers, Broker(id=change.id, rack=change.rack)))


def _lose_brokers(cluster: Cluster, lost: set[int]) -> Cluster:
    brokers = tuple(
        replace(broker, is_live=False, is_fenced=None if broker.is_fenced is None else True)
        if broker.id in lost
        else broker
        for broker in cluster.brokers
    )
    live = [broker.id for broker in brokers if broker.is_live]
    table = cluster.partitions
    isr = _surviving_isr(table.isr, live)
    return replace(
        cluster,
        brokers=brokers,
        partitions=replace(table, isr=isr, leader=_leaders_after(table, isr, live)),
    )


def _surviving_isr(isr: Ragged, live: list[int]) -> Ragged:
    """Rows without dead brokers; rows that would be empty stay unchanged."""
    is_live = np.isin(isr.values, live)
    some = np.zeros(len(isr), dtype=np.bool_)
    some[isr.rows[is_live]] = True
    return isr.keep(is_live | ~some[isr.rows])


def _leaders_after(table: PartitionTable, isr: Ragged, live: list[int]) -> NDArray[np.int32]:
    """Live leaders stay; the others are replaced by the first live in-sync replica."""
    leader = table.leader.copy()
    leaderless = (leader >= 0) & ~np.isin(leader, live)
    leader[leaderless] = UNKNOWN
    replicas = table.replicas
    pairs = replicas.rows << 32 | replicas.values
    in_sync = np.isin(pairs, isr.rows << 32 | isr.values) & np.isin(replicas.values, live)
    heirs = np.flatnonzero(in_sync & leaderless[replicas.rows])
    rows, first = np.unique(replicas.rows[heirs], return_index=True)
    leader[rows] = replicas.values[heirs[first]]
    return leader
