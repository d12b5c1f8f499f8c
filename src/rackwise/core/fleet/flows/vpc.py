"""Flows as VPC flow logs tell them: seen from interfaces, some twice, some of no interest.

An interface logs what it sends (egress) and what it receives (ingress). All brokers' interfaces are
logged and half of the clients', so one flow gives one row or two:

```
sender    receiver   rows
client    broker     egress at a logged client, kept; perhaps ingress at the broker, duplicate
client    broker     ingress at the broker, kept, where the client is not logged
broker    client     egress at the broker, kept; perhaps ingress at a logged client, duplicate
broker    broker     egress at the sender, kept; perhaps ingress at the receiver, duplicate
```

Besides, of a thousand flows, 4 become NODATA rows, 1 SKIPDATA, 10 REJECT and 30 use other ports.
Version 5 says the direction; version 2 does not, so there each interface of a file also asks
the name server once, which leaves it as the only address that stands in all rows of its interface.

What this does not do: spoil rows (`faults`); add up (`tally`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.flows.columns import Numbers, Words, constant, numbers, words
from rackwise.core.fleet.flows.traffic import Flows, slice_of
from rackwise.core.fleet.world.endpoints import NOBODY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.fleet.draws import Stream
    from rackwise.core.fleet.world.endpoints import Endpoints
    from rackwise.core.fleet.world.options import FleetOptions
    from rackwise.core.fleet.world.topology import Topology

KEPT, NO_DATA, SKIP_DATA, REJECTED, NOT_KAFKA, DUPLICATE = range(6)
FATES = ("kept", "nodata", "skipdata", "rejected", "not-kafka", "duplicate-side")
"""Fate code -> name."""

WITHOUT_BYTES = (NO_DATA, SKIP_DATA)
FATE_TICKETS = np.full(1000, KEPT)
FATE_TICKETS[:45] = np.repeat([NO_DATA, SKIP_DATA, REJECTED, NOT_KAFKA], [4, 1, 10, 30])
OTHER_PORTS = np.array([22, 53, 443, 2181, 8083])
OWN_PORTS = np.arange(1024, 5024)
NAME_PORT = 53
NAME_QUERY_BYTES = 124
DIRECTION_SINCE = 5
"""Version of the flow log format that first had a direction."""
ACCOUNT = "123456789010"
TCP = 6
TCP_FLAGS = 18
BARE_SHARE = 0.1
"""Rows without container that leave the packet's own addresses out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRows:
    """One row per line of a log: the flow it tells of, from which side, and its fate.

    `flow`, `fate`: int64; `is_ingress`: seen by the receiver's interface.
    """

    flow: NDArray[np.int64]
    is_ingress: NDArray[np.bool_]
    fate: NDArray[np.int64]


def logged(
    stream: Stream, options: FleetOptions, world: Topology, flows: Flows, index: int
) -> tuple[Flows, LogRows]:
    """The flows as they end up on the wire, and the rows that tell of them, in order of time."""
    ends = world.endpoints
    fate = FATE_TICKETS[stream.below(len(FATE_TICKETS), len(flows))]
    flows = _elsewhere(stream, flows, fate == NOT_KAFKA, ends)
    is_ingress = ~ends.is_logged[flows.sender]
    is_seen_twice = (fate == KEPT) & ~is_ingress & ends.is_logged[flows.receiver]
    copies = slice_of(round(options.flows * options.duplicates), options.files, index)
    copied = np.flatnonzero(is_seen_twice)[:copies]
    told = np.concatenate([np.arange(len(flows)), copied])
    is_ingress = np.concatenate([is_ingress, np.ones(len(copied), dtype=bool)])
    fate = np.concatenate([fate, np.full(len(copied), DUPLICATE)])
    if options.log_version < DIRECTION_SINCE:
        own = np.where(is_ingress, flows.receiver[told], flows.sender[told])
        queries = _name_queries(flows, np.unique(own), len(ends.address) - 1)
        told = np.concatenate([told, len(flows) + np.arange(len(queries))])
        is_ingress = np.concatenate([is_ingress, np.zeros(len(queries), dtype=bool)])
        fate = np.concatenate([fate, np.full(len(queries), NOT_KAFKA)])
        flows = flows.followed_by(queries)
    order = np.argsort(flows.start[told], kind="stable")
    return flows, LogRows(flow=told[order], is_ingress=is_ingress[order], fate=fate[order])


def log_columns(
    stream: Stream, options: FleetOptions, world: Topology, flows: Flows, rows: LogRows
) -> dict[str, Words | Numbers]:
    """The columns of a flow log of the version asked for, in its own names and order."""
    ends, at = world.endpoints, rows.flow
    sender, receiver = flows.sender[at], flows.receiver[at]
    own = np.where(rows.is_ingress, receiver, sender)
    source = np.where(rows.is_ingress, ends.address[sender], ends.machine[sender])
    target = np.where(rows.is_ingress, ends.machine[receiver], ends.address[receiver])
    is_empty = (rows.fate == NO_DATA) | (rows.fate == SKIP_DATA)
    action = np.where(is_empty, NOBODY, rows.fate == REJECTED)
    status = np.select([rows.fate == NO_DATA, rows.fate == SKIP_DATA], [1, 2], 0)
    columns: dict[str, Words | Numbers] = {
        "version": numbers(np.full(len(at), options.log_version)),
        "account_id": constant(ACCOUNT, len(at)),
        "interface_id": words(ends.interface[own], ends.interfaces),
        "srcaddr": words(source, ends.words, is_empty),
        "dstaddr": words(target, ends.words, is_empty),
        "srcport": numbers(flows.sender_port[at], is_empty),
        "dstport": numbers(flows.receiver_port[at], is_empty),
        "protocol": numbers(np.full(len(at), TCP), is_empty),
        "packets": numbers(flows.packets[at], is_empty),
        "bytes": numbers(flows.bytes[at], is_empty),
        "start": numbers(flows.start[at]),
        "end": numbers(flows.start[at] + flows.window_s[at]),
        "action": words(action, ("ACCEPT", "REJECT")),
        "log_status": words(status, ("OK", "NODATA", "SKIPDATA")),
    }
    if options.log_version >= DIRECTION_SINCE:
        columns |= _later_columns(stream, ends, rows, sender, receiver, own, is_empty)
    return columns


def _later_columns(
    stream: Stream,
    ends: Endpoints,
    rows: LogRows,
    sender: NDArray[np.int64],
    receiver: NDArray[np.int64],
    own: NDArray[np.int64],
    is_empty: NDArray[np.bool_],
) -> dict[str, Words | Numbers]:
    count = len(rows.flow)
    has_container = ends.machine[own] != ends.address[own]
    is_bare = is_empty | (stream.hits(BARE_SHARE, count) & ~has_container)
    racks = int(ends.rack.max()) + 1
    zones = tuple(f"use1-az{rack + 1}" for rack in range(racks))
    return {
        "tcp_flags": numbers(np.full(count, TCP_FLAGS), is_empty),
        "pkt_srcaddr": words(ends.address[sender], ends.words, is_bare),
        "pkt_dstaddr": words(ends.address[receiver], ends.words, is_bare),
        "az_id": words(ends.rack[own], zones),
        "flow_direction": words(rows.is_ingress.astype(np.int32), ("egress", "ingress"), is_empty),
        "traffic_path": numbers(np.ones(count, dtype=np.int64), is_empty | rows.is_ingress),
    }


def _elsewhere(stream: Stream, flows: Flows, is_other: NDArray[np.bool_], ends: Endpoints) -> Flows:
    """The flows with the ports of the others changed so that neither end is a listener.

    A client that sends to another port does so from the listeners' port: it is no listener there.
    """
    count = len(flows)
    targets, sources = np.setdiff1d(OTHER_PORTS, ends.port), np.setdiff1d(OWN_PORTS, ends.port)
    port = targets[stream.below(len(targets), count)]
    own = sources[stream.below(len(sources), count)]
    is_client = ends.broker[flows.sender] == NOBODY
    own = np.where(is_client, ends.port[flows.receiver], own)
    return replace(
        flows,
        sender_port=np.where(is_other, own, flows.sender_port),
        receiver_port=np.where(is_other, port, flows.receiver_port),
    )


def _name_queries(flows: Flows, own: NDArray[np.int64], resolver: int) -> Flows:
    """One query of the name server by each of these endpoints, while the flows go on."""
    count = len(own)

    def all_of(value: int) -> NDArray[np.int64]:
        return np.full(count, value, dtype=np.int64)

    return Flows(
        kind=all_of(NOBODY),
        cluster=all_of(NOBODY),
        topic=all_of(NOBODY),
        partition=all_of(NOBODY),
        client=all_of(NOBODY),
        broker=all_of(NOBODY),
        peer=all_of(NOBODY),
        sender=own,
        receiver=all_of(resolver),
        sender_port=all_of(int(OWN_PORTS[0])),
        receiver_port=all_of(NAME_PORT),
        start=np.resize(flows.start, count),
        window_s=all_of(60),
        bytes=all_of(NAME_QUERY_BYTES),
        packets=all_of(2),
    )
