"""The generated world as columns for drawing flows: endpoints, clients, partitions with a leader.

```
partition rows    cluster 0: topics 0 1 2 ..   cluster 1: ..      a topic is a run of rows
draw              cluster (uniform) -> topic (by weight) -> partition (uniform)
                  -> leader; one of its live followers; a client of the cluster
```

What this does not do: draw flows; see `traffic`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.fleet.draws import Stream, pick
from rackwise.core.fleet.world.addresses import RESOLVER
from rackwise.core.fleet.world.clients import Clients, generate_clients
from rackwise.core.fleet.world.clusters import topic_weights
from rackwise.core.fleet.world.endpoints import (
    NOBODY,
    BrokerEndpoints,
    Endpoints,
    GeneratedEndpoint,
    broker_endpoints,
    endpoint_columns,
)
from rackwise.core.fleet.world.options import FlowFormat
from rackwise.core.model import Ragged
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.world.options import FleetOptions
    from rackwise.core.model import Cluster
    from rackwise.core.racks import Rack

CLIENT_STREAM = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitions:
    """The partitions with a live leader of all clusters; a topic is a run of partitions."""

    names: tuple[str, ...]
    """Name of each topic, [topics]."""
    edges: NDArray[np.int64]
    """Topics of cluster c are `edges[c]` to `edges[c + 1] - 1`, [clusters + 1]."""
    cumulative: NDArray[np.int64]
    """Running sum of the topics' weights, [topics]."""
    first: NDArray[np.int64]
    """First partition row of each topic, [topics]."""
    size: NDArray[np.int64]
    """Number of partition rows of each topic, [topics]."""
    number: NDArray[np.int32]
    """Partition number, [partitions]."""
    leader: NDArray[np.int32]
    """Broker index over all clusters, [partitions]."""
    followers: Ragged
    """Broker indices of the followers in sync."""
    copies: Ragged
    """Broker indices of the live followers, in sync or not."""
    row: NDArray[np.int64]
    """Row in the table of its cluster, [partitions]."""
    bytes: NDArray[np.int64]
    """Size of one replica, [partitions]; -1 = not known."""

    def draw_topics(self, stream: Stream, cluster: NDArray[np.int64]) -> NDArray[np.int64]:
        """A random topic row of each of these clusters, in proportion to the topics' weights."""
        sums = np.concatenate([[0], self.cumulative])[self.edges]
        low, high = sums[cluster], sums[cluster + 1]
        return pick(self.cumulative, low + stream.below(high - low))


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The columns from which flows are drawn.

    The last endpoint is the name server of all others; it is not part of Kafka.
    """

    endpoints: Endpoints
    brokers: BrokerEndpoints
    clients: Clients
    partitions: Partitions
    has_ipv6: NDArray[np.bool_]
    """Whether all brokers of each cluster have an IPv6 address, [clusters]."""

    def broker_racks(self) -> NDArray[np.int32]:
        """The rack of each broker, by the first of its IPv4 addresses."""
        return self.endpoints.rack[self.brokers.four.values[self.brokers.four.offsets[:-1]]]

    def client_racks(self, flow_format: FlowFormat) -> NDArray[np.int64]:
        """The rack of each client that a reader of this format finds; -1 = not known.

        Canonical: that of its rows, else of the table of clients. Else that of its address.
        """
        clients = self.clients
        row_rack, count = clients.row_rack, len(clients.row_rack)
        by_address = self.endpoints.rack[clients.endpoint : clients.endpoint + count]
        if flow_format is not FlowFormat.CANONICAL:
            return by_address.astype(np.int64)
        known = np.where(row_rack >= 0, row_rack, clients.table_rack)
        return np.where(known >= 0, known, by_address).astype(np.int64)


def build_topology(
    options: FleetOptions, clusters: Sequence[Cluster], racks: Sequence[Rack]
) -> Topology:
    """The columns for these clusters; `racks`: the distinct racks of all brokers.

    Raises `InvalidSnapshot` if a broker has no IPv4 address or port of its own, or if a cluster has
    no partition with a leader.
    """
    stream = Stream(options.seed, CLIENT_STREAM)
    rows, brokers = broker_endpoints(clusters, {rack: place for place, rack in enumerate(racks)})
    edges = np.cumsum([0, *(len(cluster.brokers) for cluster in clusters)])
    has_ipv6 = np.minimum.reduceat(brokers.six, edges[:-1]) >= 0
    client_rows, clients = generate_clients(
        stream, options, has_ipv6.tolist(), len(racks), len(rows)
    )
    resolver = GeneratedEndpoint(address=RESOLVER, rack=NOBODY, cluster=NOBODY, is_logged=False)
    return Topology(
        endpoints=endpoint_columns(stream, [*rows, *client_rows, resolver]),
        brokers=brokers,
        clients=clients,
        partitions=_join_partitions(clusters, edges),
        has_ipv6=has_ipv6,
    )


def _join_partitions(clusters: Sequence[Cluster], edges: NDArray[np.int64]) -> Partitions:
    parts = [
        _partitions_of_cluster(cluster, int(first))
        for cluster, first in zip(clusters, edges, strict=False)
    ]
    sizes = np.concatenate([part.size for part in parts])
    return Partitions(
        names=tuple(name for part in parts for name in part.names),
        edges=np.cumsum([0, *(len(part.names) for part in parts)]),
        cumulative=np.cumsum(np.concatenate([topic_weights(part.size) for part in parts])),
        first=np.cumsum(sizes) - sizes,
        size=sizes,
        number=np.concatenate([part.number for part in parts]),
        leader=np.concatenate([part.leader for part in parts]),
        followers=_stack([part.followers for part in parts]),
        copies=_stack([part.copies for part in parts]),
        row=np.concatenate([part.row for part in parts]),
        bytes=np.concatenate([part.bytes for part in parts]),
    )


def _partitions_of_cluster(cluster: Cluster, first_broker: int) -> Partitions:
    """The partitions of one cluster; `first_broker`: index of its first broker."""
    table = cluster.partitions
    ids = np.array([broker.id for broker in cluster.brokers], dtype=np.int32)
    with_leader = np.flatnonzero(np.isin(table.leader, ids))
    if not len(with_leader):
        raise InvalidSnapshot(
            f"expected a partition with a leader, got none among {len(table)} partitions of "
            f"cluster {escaped(str(cluster.cluster_id))}",
            wanted=1,
            had=0,
            hint="take the snapshot while the cluster is up",
        )
    leader = table.leader[with_leader]
    live = np.array([broker.id for broker in cluster.brokers if broker.is_live], dtype=np.int32)
    followers, copies = (
        lists.keep((lists.values != leader[lists.rows]) & np.isin(lists.values, known))
        for lists, known in (
            (table.isr.take(with_leader), ids),
            (table.placed.take(with_leader), live),
        )
    )
    topics, size = np.unique(table.topic[with_leader], return_counts=True)
    return Partitions(
        names=tuple(table.topics[topic] for topic in topics),
        edges=np.array([0, len(topics)]),
        cumulative=np.cumsum(size),
        first=np.cumsum(size) - size,
        size=size.astype(np.int64),
        number=table.partition[with_leader],
        leader=(np.searchsorted(ids, leader) + first_broker).astype(np.int32),
        followers=_as_indices(followers, ids, first_broker),
        copies=_as_indices(copies, ids, first_broker),
        row=with_leader.astype(np.int64),
        bytes=table.bytes[with_leader],
    )


def _as_indices(lists: Ragged, ids: NDArray[np.int32], first_broker: int) -> Ragged:
    """Lists of broker ids as lists of broker indices over all clusters."""
    places = np.searchsorted(ids, lists.values) + first_broker
    return Ragged(lists.offsets, places.astype(np.int32))


def _stack(parts: Sequence[Ragged]) -> Ragged:
    """The rows of all parts, one part after the other."""
    lengths = np.concatenate([part.lengths for part in parts])
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Ragged(offsets, np.concatenate([part.values for part in parts]))
