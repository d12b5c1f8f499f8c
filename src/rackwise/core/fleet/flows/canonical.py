"""Writes flows as columns of the canonical format: names instead of addresses where known.

There is one row per flow, as the client sees it; a replicate flow goes from leader to follower. One
row of twenty has no topic. The source of a client's rack differs from client to client, see
`clients`.

```
kind       client_id  client_rack  broker_id  peer_broker_id  topic           from -> to
fetch      web-40     /eu/b        7          -               orders.created  rack of 7 -> /eu/b
produce    etl-41     -            3          -               -               its table -> rack of 3
replicate  -          -            3          9               orders.created  rack of 3 -> rack of 9
```

What this does not do: add malformed rows (`faults`); compute sums (`tally`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.flows.columns import (
    FlowNumberColumn,
    FlowTextColumn,
    constant_column,
    number_column,
    text_column,
)
from rackwise.core.fleet.flows.traffic import KINDS, PRODUCE, REPLICATE
from rackwise.core.fleet.world.endpoints import NOBODY
from rackwise.core.fleet.world.options import FlowFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.draws import Stream
    from rackwise.core.fleet.flows.traffic import Flows
    from rackwise.core.fleet.world.topology import Topology
    from rackwise.core.model import Cluster
    from rackwise.core.racks import Rack

SOURCE = "otlp"
"""The value of the column `source`."""
NO_TOPIC_SHARE = 0.05
EMITTER = "generated"


def canonical_columns(
    clusters: Sequence[Cluster],
    racks: Sequence[Rack],
    world: Topology,
    flows: Flows,
    topic: NDArray[np.int64],
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    """The columns of the canonical format, in its names and order; `topic`: -1 = left out."""
    clients, ends, count = world.clients, world.endpoints, len(flows)
    is_copy = flows.kind == REPLICATE
    rack_names = tuple(rack.text for rack in racks)
    return {
        "cluster": text_column(
            flows.cluster, tuple(str(cluster.cluster_id) for cluster in clusters)
        ),
        "window_start": number_column(flows.start, is_time=True),
        "window_s": number_column(flows.window_s),
        "kind": text_column(flows.kind, KINDS),
        "client_address": text_column(
            ends.address[clients.endpoint + flows.client], ends.words, is_copy
        ),
        "client_id": text_column(flows.client, clients.ids),
        "client_group": text_column(flows.group, clients.groups),
        "client_rack": text_column(clients.row_rack[flows.client], rack_names, is_copy),
        "broker_id": number_column(world.brokers.ids[flows.broker]),
        "peer_broker_id": number_column(world.brokers.ids[flows.peer], ~is_copy),
        "topic": text_column(topic, world.partitions.names),
        "partition": number_column(world.partitions.number[flows.partition], topic == NOBODY),
        "bytes": number_column(flows.bytes),
        "packets": number_column(flows.packets),
        "source": constant_column(SOURCE, count),
        "emitter": constant_column(EMITTER, count),
        "revision": number_column(np.zeros(count, dtype=np.int64)),
    }


def topics_in_rows(stream: Stream, flows: Flows) -> NDArray[np.int64]:
    """Topic row of each flow; -1 for flows whose row has no topic."""
    return np.where(stream.hits(NO_TOPIC_SHARE, len(flows)), NOBODY, flows.topic)


def canonical_racks(world: Topology, flows: Flows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Racks of sender and receiver, from the first source that has one; -1 = not known."""
    broker_rack = world.broker_racks()
    client_rack = world.client_racks(FlowFormat.CANONICAL)
    near = broker_rack[flows.broker]
    far = np.where(flows.kind == REPLICATE, broker_rack[flows.peer], client_rack[flows.client])
    is_inward = flows.kind == PRODUCE
    return np.where(is_inward, far, near), np.where(is_inward, near, far)
