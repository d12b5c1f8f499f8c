"""Writes flows as columns of VPC flow logs: as interfaces see them, some twice, some not Kafka.

An interface logs what it sends (egress) and what it receives (ingress). The interfaces of all
brokers and of half of the clients are logged, so one flow gives one row or two:

```
sender    receiver   rows
client    broker     egress at a logged client, kept; perhaps ingress at the broker, duplicate
client    broker     ingress at the broker, kept, where the client is not logged
broker    client     egress at the broker, kept; perhaps ingress at a logged client, duplicate
broker    broker     egress at the sender, kept; perhaps ingress at the receiver, duplicate
```

Of a thousand flows, 4 become NODATA rows, 1 SKIPDATA, 10 REJECT and 30 use other ports. Version 5
has the direction; version 2 does not. In version 2 each interface of a file also queries the name
server once, so that its own address is the only one that is in all rows of the interface.

What this does not do: add malformed rows (`faults`); compute sums (`tally`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.flows.columns import (
    FlowNumberColumn,
    FlowTextColumn,
    constant_column,
    number_column,
    text_column,
)
from rackwise.core.fleet.flows.traffic import Flows, part_size
from rackwise.core.fleet.world.endpoints import NOBODY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.core.fleet.draws import Stream
    from rackwise.core.fleet.world.endpoints import Endpoints
    from rackwise.core.fleet.world.options import FleetOptions
    from rackwise.core.fleet.world.topology import Topology

KEPT, NO_DATA, SKIP_DATA, REJECTED, NOT_KAFKA, DUPLICATE, GATEWAY = range(7)
OUTCOMES = ("kept", "nodata", "skipdata", "rejected", "not-kafka", "duplicate-side", "gateway")
"""Outcome code -> name."""

WITHOUT_BYTES = (NO_DATA, SKIP_DATA)
"""The outcomes of rows that have no bytes."""
# One ticket per thousand rows: 4 NODATA, 1 SKIPDATA, 10 REJECT, 30 other ports, 955 kept.
OUTCOME_TICKETS = np.full(1000, KEPT)
NOISE_TICKETS = np.repeat([NO_DATA, SKIP_DATA, REJECTED, NOT_KAFKA], [4, 1, 10, 30])
OUTCOME_TICKETS[: len(NOISE_TICKETS)] = NOISE_TICKETS
NOISE_SHARE = len(NOISE_TICKETS) / len(OUTCOME_TICKETS)
"""Share of flows that a reader does not keep."""
OTHER_PORTS = np.array([22, 53, 443, 2181, 8083])
OWN_PORTS = np.arange(1024, 5024)
NAME_PORT = 53
NAME_QUERY_BYTES = 124
ACCOUNT = "123456789010"
TCP = 6
TCP_FLAGS = 18
BARE_SHARE = 0.1
"""Share of rows outside containers that leave the packet's addresses out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRows:
    """The lines of a log, as columns [lines]."""

    flow: NDArray[np.int64]
    """The flow that the line is about."""
    is_ingress: NDArray[np.bool_]
    """Whether the receiver's interface logged it."""
    outcome: NDArray[np.int64]
    """What a reader must do with it, as an index into `OUTCOMES`."""


def draw_outcomes(
    stream: Stream, count: int, is_noise: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """The outcome of each of `count` flows; `is_noise`: exactly the flows that are not kept."""
    if is_noise is None:
        return OUTCOME_TICKETS[stream.below(len(OUTCOME_TICKETS), count)]
    return np.where(is_noise, NOISE_TICKETS[stream.below(len(NOISE_TICKETS), count)], KEPT)


def log_flows(
    stream: Stream,
    options: FleetOptions,
    world: Topology,
    flows: Flows,
    outcome: NDArray[np.int64],
    *,
    is_single: NDArray[np.bool_],
    index: int,
) -> tuple[Flows, LoggedRows]:
    """The flows as they are on the wire, and the log lines about them, in order of time.

    `outcome`: of each flow; `is_single`: whether only one end logs the flow.
    """
    ends = world.endpoints
    flows = _to_other_ports(stream, flows, outcome == NOT_KAFKA, ends)
    is_ingress = ~ends.is_logged[flows.sender]
    is_seen_twice = (outcome == KEPT) & ~is_single & ~is_ingress & ends.is_logged[flows.receiver]
    copies = part_size(round(options.flows * options.duplicates), options.files, index)
    copied = np.flatnonzero(is_seen_twice)[:copies]
    # [lines], the flow of each line: one line per flow, then the duplicates, then name queries
    line_flow = np.concatenate([np.arange(len(flows)), copied])
    is_ingress = np.concatenate([is_ingress, np.ones(len(copied), dtype=bool)])
    outcome = np.concatenate([outcome, np.full(len(copied), DUPLICATE)])
    if not options.has_direction:
        own = np.where(is_ingress, flows.receiver[line_flow], flows.sender[line_flow])
        queries = _name_queries(flows, np.unique(own), len(ends.address) - 1)
        line_flow = np.concatenate([line_flow, len(flows) + np.arange(len(queries))])
        is_ingress = np.concatenate([is_ingress, np.zeros(len(queries), dtype=bool)])
        outcome = np.concatenate([outcome, np.full(len(queries), NOT_KAFKA)])
        flows = flows.concatenate(queries)
    order = np.argsort(flows.start[line_flow], kind="stable")
    return flows, LoggedRows(
        flow=line_flow[order], is_ingress=is_ingress[order], outcome=outcome[order]
    )


def log_columns(
    stream: Stream, options: FleetOptions, world: Topology, flows: Flows, rows: LoggedRows
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    """The columns of a flow log of the given version, in its names and order."""
    ends, at = world.endpoints, rows.flow
    sender, receiver = flows.sender[at], flows.receiver[at]
    own = np.where(rows.is_ingress, receiver, sender)
    source = np.where(rows.is_ingress, ends.address[sender], ends.machine[sender])
    target = np.where(rows.is_ingress, ends.machine[receiver], ends.address[receiver])
    is_empty = (rows.outcome == NO_DATA) | (rows.outcome == SKIP_DATA)
    action = np.where(is_empty, NOBODY, rows.outcome == REJECTED)
    status = np.select([rows.outcome == NO_DATA, rows.outcome == SKIP_DATA], [1, 2], 0)
    columns: dict[str, FlowTextColumn | FlowNumberColumn] = {
        "version": number_column(np.full(len(at), options.log_version)),
        "account_id": constant_column(ACCOUNT, len(at)),
        "interface_id": text_column(ends.interface[own], ends.interfaces),
        "srcaddr": text_column(source, ends.words, is_empty),
        "dstaddr": text_column(target, ends.words, is_empty),
        "srcport": number_column(flows.sender_port[at], is_empty),
        "dstport": number_column(flows.receiver_port[at], is_empty),
        "protocol": number_column(np.full(len(at), TCP), is_empty),
        "packets": number_column(flows.packets[at], is_empty),
        "bytes": number_column(flows.bytes[at], is_empty),
        "start": number_column(flows.start[at]),
        "end": number_column(flows.start[at] + flows.window_s[at]),
        "action": text_column(action, ("ACCEPT", "REJECT")),
        "log_status": text_column(status, ("OK", "NODATA", "SKIPDATA")),
    }
    if options.has_direction:
        columns |= _columns_since_version_5(stream, ends, rows, sender, receiver, own, is_empty)
    return columns


def _columns_since_version_5(
    stream: Stream,
    ends: Endpoints,
    rows: LoggedRows,
    sender: NDArray[np.int64],
    receiver: NDArray[np.int64],
    own: NDArray[np.int64],
    is_empty: NDArray[np.bool_],
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    count = len(rows.flow)
    has_container = ends.machine[own] != ends.address[own]
    is_bare = is_empty | (stream.hits(BARE_SHARE, count) & ~has_container)
    racks = int(ends.rack.max()) + 1
    zones = tuple(f"use1-az{rack + 1}" for rack in range(racks))
    return {
        "tcp_flags": number_column(np.full(count, TCP_FLAGS), is_empty),
        "pkt_srcaddr": text_column(ends.address[sender], ends.words, is_bare),
        "pkt_dstaddr": text_column(ends.address[receiver], ends.words, is_bare),
        "az_id": text_column(ends.rack[own], zones),
        "flow_direction": text_column(
            rows.is_ingress.astype(np.int32), ("egress", "ingress"), is_empty
        ),
        "traffic_path": number_column(np.ones(count, dtype=np.int64), is_empty | rows.is_ingress),
    }


def _to_other_ports(
    stream: Stream, flows: Flows, is_other: NDArray[np.bool_], ends: Endpoints
) -> Flows:
    """The flows, with the ports of those in `is_other` changed so that no end is a listener.

    A client that sends to another port uses the number of the listeners' port as its own port.
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
    """One query of the name server by each of these endpoints, during the flows."""
    count = len(own)

    def repeat(value: int) -> NDArray[np.int64]:
        return np.full(count, value, dtype=np.int64)

    return Flows(
        kind=repeat(NOBODY),
        cluster=repeat(NOBODY),
        topic=repeat(NOBODY),
        partition=repeat(NOBODY),
        client=repeat(NOBODY),
        group=repeat(NOBODY),
        broker=repeat(NOBODY),
        peer=repeat(NOBODY),
        sender=own,
        receiver=repeat(resolver),
        sender_port=repeat(int(OWN_PORTS[0])),
        receiver_port=repeat(NAME_PORT),
        start=np.resize(flows.start, count),
        window_s=repeat(60),
        bytes=repeat(NAME_QUERY_BYTES),
        packets=repeat(2),
    )
