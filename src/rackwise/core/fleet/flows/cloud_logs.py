"""Writes flows as columns of flow logs of other networks: their outcomes, ends and zones.

These logs have the addresses of pods, so both ends of a flow are the packet's. A zone is the last
level of a rack. Rows that a format does not have become other rows:

```
drawn     gcp obi    azure               tgw
nodata    not-kafka  nodata (state B)    nodata
skipdata  not-kafka  nodata (state B)    skipdata
rejected  gateway    rejected (state D)  not-kafka
```

A tuple of Azure has both directions of a connection. A flow is one direction, and the other one of
its tuple is empty. If its sender answers, the tuple is that of the connection to the sender.

What this does not do: write JSON (see the adapters).
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
from rackwise.core.fleet.flows.vpc import (
    ACCOUNT,
    GATEWAY,
    NO_DATA,
    NOT_KAFKA,
    OUTCOMES,
    REJECTED,
    SKIP_DATA,
    TCP,
    WITHOUT_BYTES,
)
from rackwise.core.fleet.world.options import FlowFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.flows.traffic import Flows
    from rackwise.core.fleet.flows.vpc import LoggedRows
    from rackwise.core.fleet.world.topology import Topology
    from rackwise.core.racks import Rack

AS_DRAWN = np.arange(len(OUTCOMES))


def _outcomes(**instead: int) -> NDArray[np.int64]:
    """Outcome that was drawn -> outcome of the row; `instead`: name -> code."""
    return np.array([instead.get(name, code) for code, name in enumerate(OUTCOMES)])


OUTCOMES_OF: Mapping[FlowFormat, NDArray[np.int64]] = {
    FlowFormat.GCP: _outcomes(nodata=NOT_KAFKA, skipdata=NOT_KAFKA, rejected=GATEWAY),
    FlowFormat.AZURE: _outcomes(skipdata=NO_DATA),
    FlowFormat.TGW: _outcomes(rejected=NOT_KAFKA),
    FlowFormat.OBI: _outcomes(nodata=NOT_KAFKA, skipdata=NOT_KAFKA, rejected=GATEWAY),
}
"""Format -> its outcomes by those that were drawn, if they differ."""
TGW_VERSION = 6
"""Version of the format that has all fields of gateways."""
STATES = ("C", "E", "B", "D")
ROUTER = "100.127.255.254"
"""Address of a node that forwards flows."""
REPORTERS = ("SRC", "DEST", "SRC_GATEWAY", "DEST_GATEWAY")


def gcp_columns(
    world: Topology, racks: Sequence[Rack], flows: Flows, rows: LoggedRows
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    """The columns of VPC flow logs of Google Cloud, with the names of VPC flow logs of AWS."""
    reporter = rows.is_ingress + 2 * (rows.outcome == GATEWAY)
    return {
        **_ends(world, flows, rows),
        "reporter": text_column(reporter.astype(np.int32), REPORTERS),
        **_zones(world, racks, flows, rows),
    }


def azure_columns(
    world: Topology, flows: Flows, rows: LoggedRows
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    """The columns of virtual network flow logs of Azure, with the names of VPC flow logs."""
    count, is_empty = len(rows.flow), rows.outcome == NO_DATA
    sender = flows.sender[rows.flow]
    state = np.select([is_empty, rows.outcome == REJECTED], [2, 3], np.arange(count) % 2)
    is_answer = flows.sender_port[rows.flow] == world.endpoints.port[sender]
    return {
        **_ends(world, flows, rows, is_empty),
        "flow_direction": text_column(rows.is_ingress.astype(np.int32), ("egress", "ingress")),
        "flow_state": text_column(state, STATES),
        "is_answer": number_column(is_answer.astype(np.int64)),
    }


def tgw_columns(
    world: Topology, racks: Sequence[Rack], flows: Flows, rows: LoggedRows
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    """The columns of flow logs of AWS Transit Gateways, in their order.

    A sender is at the ingress of the gateway, where its interface would log egress. The zone of the
    receiver is that of the sender, as a gateway prefers it.
    """
    ends, at = world.endpoints, rows.flow
    count, own = len(at), np.where(rows.is_ingress, flows.receiver[at], flows.sender[at])
    is_empty = np.isin(rows.outcome, WITHOUT_BYTES)
    status = np.select([rows.outcome == NO_DATA, rows.outcome == SKIP_DATA], [1, 2], 0)
    attachments = tuple(name.replace("eni-", "tgw-attach-") for name in ends.interfaces)
    zone = _zones(world, racks, flows, rows)["src_zone"]
    columns = _ends(world, flows, rows, is_empty)
    del columns["interface_id"]
    return {
        "version": number_column(np.full(count, TGW_VERSION)),
        "resource_type": constant_column("TransitGateway", count),
        "account_id": constant_column(ACCOUNT, count),
        "tgw_id": constant_column("tgw-0123456789abcdef0", count),
        "tgw_attachment_id": text_column(ends.interface[own], attachments),
        "tgw_src_az_id": zone,
        "tgw_dst_az_id": zone,
        **columns,
        "log_status": text_column(status, ("OK", "NODATA", "SKIPDATA")),
        "flow_direction": text_column(
            rows.is_ingress.astype(np.int32), ("ingress", "egress"), is_empty
        ),
    }


def obi_columns(
    world: Topology, racks: Sequence[Rack], flows: Flows, rows: LoggedRows
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    """The attributes of network metrics of OBI, with the names of VPC flow logs."""
    ends, at = world.endpoints, rows.flow
    words = (*ends.words, ROUTER)
    own = np.where(rows.is_ingress, flows.receiver[at], flows.sender[at])
    reporter = np.where(rows.outcome == GATEWAY, len(ends.words), ends.machine[own])
    columns = _ends(world, flows, rows)
    del columns["packets"]
    return {
        **columns,
        "obi_ip": text_column(reporter.astype(np.int32), words),
        "src_node": text_column(ends.machine[flows.sender[at]], words),
        "dst_node": text_column(ends.machine[flows.receiver[at]], words),
        **_zones(world, racks, flows, rows),
    }


def _ends(
    world: Topology, flows: Flows, rows: LoggedRows, is_empty: NDArray[np.bool_] | None = None
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    """The interface, the two ends, the times and the sizes of each row; `is_empty`: no sizes."""
    ends, at = world.endpoints, rows.flow
    sender, receiver = flows.sender[at], flows.receiver[at]
    own = np.where(rows.is_ingress, receiver, sender)
    return {
        "interface_id": text_column(ends.interface[own], ends.interfaces),
        "srcaddr": text_column(ends.address[sender], ends.words),
        "dstaddr": text_column(ends.address[receiver], ends.words),
        "srcport": number_column(flows.sender_port[at]),
        "dstport": number_column(flows.receiver_port[at]),
        "protocol": number_column(np.full(len(at), TCP)),
        "packets": number_column(flows.packets[at], is_empty),
        "bytes": number_column(flows.bytes[at], is_empty),
        "start": number_column(flows.start[at]),
        "end": number_column(flows.start[at] + flows.window_s[at]),
    }


def _zones(
    world: Topology, racks: Sequence[Rack], flows: Flows, rows: LoggedRows
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    """The zone of each end; missing where the end has no rack."""
    names = tuple(rack.levels[-1] for rack in racks)
    rack, at = world.endpoints.rack, rows.flow
    return {
        "src_zone": text_column(rack[flows.sender[at]], names),
        "dst_zone": text_column(rack[flows.receiver[at]], names),
    }
