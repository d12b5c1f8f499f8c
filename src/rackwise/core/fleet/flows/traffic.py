"""Draws the flows of one file: sender, receiver, size and time, before any log format.

Each file is a function of (seed, file index) and covers an equal part of one day. A flow is one of

```
produce     client:port    -> leader:listener
fetch       broker:listener -> client:port        one in five from a follower (KIP-392)
replicate   leader:listener -> follower:port      one in ten the other way: the follower's requests
```

Sizes are log-uniform from half a KiB to a GiB. What this does not do: write rows; see `vpc` and
`canonical`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.draws import Stream
from rackwise.core.fleet.world.endpoints import NOBODY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.fleet.world.options import FleetOptions
    from rackwise.core.fleet.world.topology import Topology
    from rackwise.core.model import Ragged

PRODUCE, FETCH, REPLICATE = range(3)
KINDS = ("produce", "fetch", "replicate")
"""Kind code -> name."""

FLOW_STREAM = 3
# Shares in per cent: 30 produce, 45 fetch, 25 replicate.
KIND_TICKETS = np.repeat(np.array([PRODUCE, FETCH, REPLICATE]), [30, 45, 25])
FOLLOWER_ONE_IN = 5
REQUEST_ONE_IN = 10
FIRST_PORT = 32_768
"""The first ephemeral port of Linux by default."""
PORTS = 28_000
"""The number of ephemeral ports in use; Linux has 28,232."""
SEGMENT_BYTES = 1448
"""Bytes of a TCP segment: an MTU of 1500 less 52 bytes of headers with timestamps."""
LEAST_DIGITS = 10
MOST_DIGITS = 30
"""Sizes of a flow have this many binary digits: half a KiB to a GiB."""
WINDOWS_S = np.array([60, 60, 60, 300, 600])


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Flows as columns [flows]."""

    kind: NDArray[np.int64]
    """Index into `KINDS`."""
    cluster: NDArray[np.int64]
    """Index of the cluster."""
    topic: NDArray[np.int64]
    """Topic row in `Partitions`."""
    partition: NDArray[np.int64]
    """Partition row in `Partitions`."""
    client: NDArray[np.int64]
    """Row in `Clients`; -1 = none."""
    broker: NDArray[np.int64]
    """Index of the broker that serves the flow."""
    group: NDArray[np.int64]
    """Index into `Clients.groups`; -1 = none."""
    peer: NDArray[np.int64]
    """Index of the other broker of a replicate flow; -1 = none."""
    sender: NDArray[np.int64]
    """Endpoint."""
    receiver: NDArray[np.int64]
    """Endpoint."""
    sender_port: NDArray[np.int64]
    receiver_port: NDArray[np.int64]
    start: NDArray[np.int64]
    """Epoch second."""
    window_s: NDArray[np.int64]
    """Seconds that the flow's row covers."""
    bytes: NDArray[np.int64]
    packets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, order: NDArray[np.int64]) -> Flows:
        """The flows with these numbers, in this order."""
        return Flows(**{column.name: getattr(self, column.name)[order] for column in fields(self)})

    def concatenate(self, others: Flows) -> Flows:
        """These flows, followed by the others."""
        return Flows(
            **{
                column.name: np.concatenate(
                    [getattr(self, column.name), getattr(others, column.name)]
                )
                for column in fields(self)
            }
        )


def part_size(total: int, parts: int, index: int) -> int:
    """Size of part `index` of `total`, divided into `parts` that differ by at most one."""
    return total * (index + 1) // parts - total * index // parts


def file_stream(options: FleetOptions, index: int) -> Stream:
    """The draws of file `index`; everything in the file depends on them alone."""
    return Stream(options.seed, FLOW_STREAM, index)


def draw_flows(
    stream: Stream,
    options: FleetOptions,
    world: Topology,
    *,
    index: int,
    count: int,
    tickets: NDArray[np.int64] = KIND_TICKETS,
) -> Flows:
    """`count` independent flows in the time of file `index`; `tickets`: kinds to draw from."""
    cluster = stream.below(len(world.has_ipv6), count)
    topic = world.partitions.draw_topics(stream, cluster)
    partition = world.partitions.first[topic] + stream.below(world.partitions.size[topic])
    leader = world.partitions.leader[partition].astype(np.int64)
    follower = _pick_from_rows(stream, world.partitions.followers, partition)
    kind = tickets[stream.below(len(tickets), count)]
    kind[(kind == REPLICATE) & (follower == NOBODY)] = PRODUCE
    is_follower = (
        (kind == FETCH) & (follower != NOBODY) & _hit_one_in(stream, FOLLOWER_ONE_IN, count)
    )
    broker = np.where(is_follower, follower, leader)
    peer = np.where(kind == REPLICATE, follower, NOBODY)
    client = np.where(kind == REPLICATE, NOBODY, world.clients.draw(stream, cluster))
    ends = draw_ends(stream, options, world, cluster, broker, peer, client)
    is_inward = (kind == PRODUCE) | (
        (kind == REPLICATE) & _hit_one_in(stream, REQUEST_ONE_IN, count)
    )
    ephemeral = FIRST_PORT + stream.below(PORTS, count)
    return connect(
        world,
        ends,
        is_inward,
        ephemeral,
        kind=kind,
        cluster=cluster,
        topic=topic,
        partition=partition,
        client=client,
        group=np.where(client == NOBODY, NOBODY, world.clients.group[client]),
        broker=broker,
        peer=peer,
        bytes=stream.sizes(LEAST_DIGITS, MOST_DIGITS, count),
        start=_draw_starts(stream, options, index, count),
        window_s=WINDOWS_S[stream.below(len(WINDOWS_S), count)],
    )


def connect(
    world: Topology,
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    is_inward: NDArray[np.bool_],
    ephemeral: NDArray[np.int64],
    **columns: NDArray[np.int64],
) -> Flows:
    """Flows between a listener and another end, with all their other columns.

    `ends`: endpoint of the serving broker, and of the other end; `is_inward`: whether the broker
    receives; `ephemeral`: port of the other end.
    """
    here, there = ends
    listener = world.endpoints.port[here].astype(np.int64)
    return Flows(
        sender=np.where(is_inward, there, here),
        receiver=np.where(is_inward, here, there),
        sender_port=np.where(is_inward, ephemeral, listener),
        receiver_port=np.where(is_inward, listener, ephemeral),
        packets=columns["bytes"] // SEGMENT_BYTES + 1,
        **columns,
    )


def _hit_one_in(stream: Stream, many: int, count: int) -> NDArray[np.bool_]:
    return np.equal(stream.below(many, count), 0)


def _pick_from_rows(stream: Stream, lists: Ragged, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """A random value of each of these rows; -1 for an empty row."""
    lengths = lists.lengths[rows]
    drawn = stream.below(np.maximum(lengths, 1))
    if not len(lists.values):
        return np.full(len(rows), NOBODY)
    places = np.minimum(lists.offsets[rows] + drawn, len(lists.values) - 1)
    return np.where(lengths > 0, lists.values[places], NOBODY).astype(np.int64)


def draw_ends(
    stream: Stream,
    options: FleetOptions,
    world: Topology,
    cluster: NDArray[np.int64],
    broker: NDArray[np.int64],
    peer: NDArray[np.int64],
    client: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Endpoints of the serving broker and of the other end, of the same address family."""
    count = len(cluster)
    client_end = world.clients.endpoint + client
    among_brokers = client == NOBODY
    brokers_use_six = stream.hits(options.ipv6, count) & world.has_ipv6[cluster]
    is_six = np.where(among_brokers, brokers_use_six, world.clients.is_ipv6[client])
    here = np.where(
        is_six, world.brokers.six[broker], _pick_from_rows(stream, world.brokers.four, broker)
    )
    peer_end = np.where(
        is_six,
        world.brokers.six[peer],
        _pick_from_rows(stream, world.brokers.four, np.maximum(peer, 0)),
    )
    return here, np.where(among_brokers, peer_end, client_end)


def _draw_starts(
    stream: Stream, options: FleetOptions, index: int, count: int
) -> NDArray[np.int64]:
    """Epoch seconds within the file's part of its day."""
    low, high = options.span(index)
    return low + stream.below(high - low, count)
