"""Flows in the canonical format: names instead of addresses where a client knows them.

One row per flow, from the side of the client; a replicate flow goes from leader to follower. One
row of twenty leaves the topic out. How a client's rack is known differs from client to client, see
`clients`.

```
kind       client_id  client_rack  broker_id  peer_broker_id  topic           from -> to
fetch      web-40     /eu/b        7          -               orders.created  rack of 7 -> /eu/b
produce    etl-41     -            3          -               -               its table -> rack of 3
replicate  -          -            3          9               orders.created  rack of 3 -> rack of 9
```

What this does not do: spoil rows (`faults`); add up (`tally`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.flows.columns import Numbers, Words, constant, numbers, words
from rackwise.core.fleet.flows.traffic import KINDS, PRODUCE, REPLICATE
from rackwise.core.fleet.world.endpoints import NOBODY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.draws import Stream
    from rackwise.core.fleet.flows.traffic import Flows
    from rackwise.core.fleet.world.topology import Topology
    from rackwise.core.model import Cluster
    from rackwise.core.racks import Rack

SOURCE = "otlp"
"""What the rows say they come from; a source of one name is all money or none."""
NO_TOPIC_SHARE = 0.05
EMITTER = "generated"


def canonical_columns(
    clusters: Sequence[Cluster],
    racks: Sequence[Rack],
    world: Topology,
    flows: Flows,
    topic: NDArray[np.int64],
) -> dict[str, Words | Numbers]:
    """The columns of the canonical format, in its own names and order; `topic`: -1 = left out."""
    clients, ends, count = world.clients, world.endpoints, len(flows)
    is_copy = flows.kind == REPLICATE
    rack_names = tuple(rack.text for rack in racks)
    return {
        "cluster": words(flows.cluster, tuple(str(cluster.cluster_id) for cluster in clusters)),
        "window_start": numbers(flows.start, is_time=True),
        "window_s": numbers(flows.window_s),
        "kind": words(flows.kind, KINDS),
        "client_address": words(ends.address[clients.endpoint + flows.client], ends.words, is_copy),
        "client_id": words(flows.client, clients.ids),
        "client_group": words(clients.group[flows.client], clients.groups, is_copy),
        "client_rack": words(clients.row_rack[flows.client], rack_names, is_copy),
        "broker_id": numbers(world.brokers.ids[flows.broker]),
        "peer_broker_id": numbers(world.brokers.ids[flows.peer], ~is_copy),
        "topic": words(topic, world.partitions.names),
        "partition": numbers(world.partitions.number[flows.partition], topic == NOBODY),
        "bytes": numbers(flows.bytes),
        "packets": numbers(flows.packets),
        "source": constant(SOURCE, count),
        "emitter": constant(EMITTER, count),
        "revision": numbers(np.zeros(count, dtype=np.int64)),
    }


def shown_topics(stream: Stream, flows: Flows) -> NDArray[np.int64]:
    """Topic row of each flow, -1 where the row leaves it out."""
    return np.where(stream.hits(NO_TOPIC_SHARE, len(flows)), NOBODY, flows.topic)


def canonical_racks(world: Topology, flows: Flows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Racks of sender and receiver, -1 = unknown, by the first of the ways that answers."""
    clients, ends = world.clients, world.endpoints
    broker_rack = _broker_racks(world)
    known = np.where(clients.row_rack >= 0, clients.row_rack, clients.table_rack)
    by_address = ends.rack[clients.endpoint : clients.endpoint + len(known)]
    client_rack = np.where(known >= 0, known, by_address)
    near = broker_rack[flows.broker]
    far = np.where(flows.kind == REPLICATE, broker_rack[flows.peer], client_rack[flows.client])
    is_inward = flows.kind == PRODUCE
    return np.where(is_inward, far, near), np.where(is_inward, near, far)


def _broker_racks(world: Topology) -> NDArray[np.int32]:
    first = world.brokers.four.offsets[:-1]
    return world.endpoints.rack[world.brokers.four.values[first]]
