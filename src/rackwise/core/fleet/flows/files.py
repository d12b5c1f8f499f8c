"""Builds a fleet and each of its flow files: draw flows, write rows, add faults, add up."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.fleet.flows.batch_flows import MALFORMED, NOISE, draw_mixed_flows, part_sizes
from rackwise.core.fleet.flows.canonical import canonical_columns, canonical_racks, topics_in_rows
from rackwise.core.fleet.flows.cloud_logs import (
    AS_DRAWN,
    OUTCOMES_OF,
    azure_columns,
    gcp_columns,
    obi_columns,
    tgw_columns,
)
from rackwise.core.fleet.flows.columns import FlowNumberColumn, FlowTextColumn, GeneratedFile
from rackwise.core.fleet.flows.faults import faults_of, spoil_rows
from rackwise.core.fleet.flows.tally import Tally, add_tallies, outcome_totals, tally_rows
from rackwise.core.fleet.flows.traffic import (
    REPLICATE,
    draw_flows,
    file_stream,
    part_size,
)
from rackwise.core.fleet.flows.truth import price_tally, truth_document
from rackwise.core.fleet.flows.vpc import (
    KEPT,
    OUTCOMES,
    WITHOUT_BYTES,
    draw_outcomes,
    log_columns,
    log_flows,
)
from rackwise.core.fleet.looks.batches import draw_batches, generate_metering
from rackwise.core.fleet.looks.snapshots import look_states, snapshot_at, steady_cluster
from rackwise.core.fleet.world.addresses import broker_addresses, subnets
from rackwise.core.fleet.world.clusters import generate_cluster
from rackwise.core.fleet.world.endpoints import NOBODY
from rackwise.core.fleet.world.options import (
    EPOCH_ORDINAL,
    FleetOptions,
    FlowFormat,
    check_flows,
    check_options,
)
from rackwise.core.fleet.world.topology import Topology, build_topology
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.draws import Stream
    from rackwise.core.fleet.flows.traffic import Flows
    from rackwise.core.fleet.flows.vpc import LoggedRows
    from rackwise.core.fleet.looks.batches import Batches, Metering
    from rackwise.core.model import Cluster
    from rackwise.core.racks import Rack
    from rackwise.core.traffic import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedFleet:
    """Clusters, and the columns from which their flows are drawn."""

    options: FleetOptions
    clusters: tuple[Cluster, ...]
    racks: tuple[Rack, ...]
    """The distinct racks of all brokers."""
    world: Topology
    metering: Metering | None = None
    """Readers and logs; None if there is one look."""

    @property
    def subnets(self) -> tuple[tuple[str, str], ...]:
        """The subnet table: (network, rack)."""
        return tuple((cidr, rack.text) for cidr, rack in subnets(self.racks))

    @property
    def client_racks(self) -> tuple[tuple[str, str], ...]:
        """The table of clients: (client id, rack); empty if the flows have no client ids."""
        if self.options.flow_format is not FlowFormat.CANONICAL:
            return ()
        clients = self.world.clients
        return tuple(
            (id_, self.racks[rack].text)
            for id_, rack in zip(clients.ids, clients.table_rack.tolist(), strict=True)
            if rack != NOBODY
        )


def generate_fleet(options: FleetOptions) -> GeneratedFleet:
    """A fleet of generated clusters. Raises `InvalidConfig`, `InvalidRack`."""
    check_options(options)
    clusters = tuple(generate_cluster(options, index) for index in range(options.clusters))
    return _build_fleet(options, clusters, options.racks)


def fleet_of_clusters(options: FleetOptions, clusters: Sequence[Cluster]) -> GeneratedFleet:
    """A fleet of existing clusters; only the options about flows are used.

    Raises `InvalidConfig`, and `InvalidSnapshot` if a broker has no rack or no address of its own,
    a replica is on a broker that is not listed, or a cluster has no partition with a leader.
    """
    check_flows(options)
    for cluster in clusters:
        _check_observed(cluster)
    racks = {broker.rack for cluster in clusters for broker in cluster.brokers if broker.rack}
    return _build_fleet(options, tuple(clusters), tuple(sorted(racks)))


def replace_addresses(options: FleetOptions, clusters: Sequence[Cluster]) -> tuple[Cluster, ...]:
    """The same clusters with generated addresses, one or more for each broker."""
    racks = sorted({b.rack for cluster in clusters for b in cluster.brokers if b.rack})
    ordinals = count()
    return tuple(
        replace(
            cluster,
            brokers=tuple(
                replace(
                    broker,
                    addresses=broker_addresses(
                        racks.index(broker.rack) if broker.rack else 0,
                        next(ordinals),
                        has_ipv6=options.ipv6 > 0,
                    ),
                )
                for broker in cluster.brokers
            ),
        )
        for cluster in clusters
    )


def flow_file(fleet: GeneratedFleet, index: int) -> tuple[GeneratedFile, Tally]:
    """File `index` (0..options.files-1), and the tally of its rows."""
    stream = file_stream(fleet.options, index)
    drawn = _draw_flows(stream, fleet, index)
    write_rows = _canonical_rows if fleet.options.flow_format is FlowFormat.CANONICAL else _log_rows
    return _spoil_file(fleet, write_rows(stream, fleet, drawn, index), index)


def iter_looks(fleet: GeneratedFleet) -> Iterator[tuple[Cluster, ...]]:
    """The clusters of the fleet at each look, in order of time."""
    options, world, metering, racks = fleet.options, fleet.world, fleet.metering, fleet.racks
    if metering is None:
        yield fleet.clusters
        return
    steady = [
        steady_cluster(cluster, number, world, metering, racks)
        for number, cluster in enumerate(fleet.clusters)
    ]
    states = look_states(
        options, world, metering, lambda index: _draw_batches(fleet, metering, index)
    )
    for time, state in zip(options.look_times(), states, strict=True):
        yield tuple(snapshot_at(time, state, each, world, metering) for each in steady)


def truth(
    fleet: GeneratedFleet, tallies: Iterable[Tally], prices: Sequence[Price]
) -> dict[str, Any]:
    """The document of `truth.json` from the tallies of all files; `prices`: of one provider."""
    tally = add_tallies(tallies)
    return truth_document(
        options=_options_as_json(fleet.options),
        clusters=fleet.clusters,
        racks=fleet.racks,
        tally=tally,
        bill=price_tally(
            fleet.clusters,
            fleet.racks,
            fleet.world,
            tally,
            prices,
            is_estimate=fleet.options.flow_format is FlowFormat.GCP,
        ),
        has_looks=fleet.metering is not None,
    )


def _check_observed(cluster: Cluster) -> None:
    """Raise `InvalidSnapshot` for a cluster whose truth cannot be computed."""
    rackless = [broker.id for broker in cluster.brokers if broker.rack is None]
    ids = [broker.id for broker in cluster.brokers]
    unlisted = np.setdiff1d(cluster.partitions.replicas.values, ids)
    if rackless or len(unlisted):
        had = (
            f"none on broker {rackless[0]}"
            if rackless
            else f"replicas on broker {unlisted[0]}, which is not listed"
        )
        name = escaped(str(cluster.cluster_id))
        raise InvalidSnapshot(
            f"expected a rack of every broker of cluster {name}, got {had}",
            wanted="a rack of every broker",
            had=had,
            hint="set broker.rack, wait until all brokers are up, and take the snapshot again",
        )


def _build_fleet(
    options: FleetOptions, clusters: tuple[Cluster, ...], racks: tuple[Rack, ...]
) -> GeneratedFleet:
    world = build_topology(options, clusters, racks)
    return GeneratedFleet(
        options=options,
        clusters=clusters,
        racks=racks,
        world=world,
        metering=None
        if options.looks == 1
        else generate_metering(options, clusters, world, len(racks)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawnFlows:
    """The flows of one file, and the part of the file that each is in, if looks meter them."""

    flows: Flows
    part: NDArray[np.int64] | None = None
    """[flows], see `batch_flows`."""


def _draw_flows(stream: Stream, fleet: GeneratedFleet, index: int) -> _DrawnFlows:
    options, world, metering = fleet.options, fleet.world, fleet.metering
    if metering is None:
        count = part_size(options.flows, options.files, index)
        return _DrawnFlows(flows=draw_flows(stream, options, world, index=index, count=count))
    batches = _draw_batches(fleet, metering, index)
    flows, part = draw_mixed_flows(stream, options, world, metering, batches, index)
    return _DrawnFlows(flows=flows, part=part)


def _draw_batches(fleet: GeneratedFleet, metering: Metering, index: int) -> Batches:
    metered, _, _ = part_sizes(fleet.options, index)
    return draw_batches(fleet.options, fleet.world, metering, index=index, flows=metered)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileRows:
    """Rows of one file, before faults are added."""

    columns: dict[str, FlowTextColumn | FlowNumberColumn]
    cells: Mapping[str, NDArray[np.int64]]
    """Name in `CELL` -> column [rows]."""
    outcome: NDArray[np.int64]
    """[rows], index into `OUTCOMES`."""
    bytes: NDArray[np.int64]
    """[rows], 0 where a reader cannot know them."""
    can_spoil: NDArray[np.bool_]
    """Whether the loss of the row changes no other row's outcome."""


def _log_rows(stream: Stream, fleet: GeneratedFleet, drawn: _DrawnFlows, index: int) -> _FileRows:
    options, world, ends, part = fleet.options, fleet.world, fleet.world.endpoints, drawn.part
    count = len(drawn.flows)
    outcome = draw_outcomes(stream, count, None if part is None else part == NOISE)
    outcome = OUTCOMES_OF.get(options.flow_format, AS_DRAWN)[outcome]
    may_spoil = np.full(count, fill_value=True) if part is None else part == MALFORMED
    flows, rows = log_flows(
        stream,
        options,
        world,
        drawn.flows,
        outcome,
        is_single=np.zeros(count, dtype=bool) if part is None else may_spoil,
        index=index,
    )
    at = rows.flow
    may_spoil = np.append(may_spoil, np.zeros(len(flows) - count, dtype=bool))
    sender, receiver = flows.sender[at], flows.receiver[at]
    is_copy = flows.kind[at] == REPLICATE
    is_logged_twice = np.bincount(at, minlength=len(flows)) > 1
    has_bytes = ~np.isin(rows.outcome, WITHOUT_BYTES)
    return _FileRows(
        columns=_log_columns(stream, fleet, flows, rows),
        cells={
            "cluster": flows.cluster[at],
            "kind": flows.kind[at],
            "broker": np.where(is_copy, ends.broker[sender], NOBODY),
            "peer": np.where(is_copy, ends.broker[receiver], NOBODY),
            "from_rack": ends.rack[sender].astype(np.int64),
            "to_rack": ends.rack[receiver].astype(np.int64),
            # Logs name neither, but what is metered has them.
            **({} if part is None else {"topic": flows.topic[at], "group": flows.group[at]}),
        },
        outcome=rows.outcome,
        bytes=np.where(has_bytes, flows.bytes[at], 0),
        can_spoil=(rows.outcome == KEPT) & ~is_logged_twice[at] & may_spoil[at],
    )


def _log_columns(
    stream: Stream, fleet: GeneratedFleet, flows: Flows, rows: LoggedRows
) -> dict[str, FlowTextColumn | FlowNumberColumn]:
    if fleet.options.flow_format is FlowFormat.GCP:
        return gcp_columns(fleet.world, fleet.racks, flows, rows)
    if fleet.options.flow_format is FlowFormat.AZURE:
        return azure_columns(fleet.world, flows, rows)
    if fleet.options.flow_format is FlowFormat.TGW:
        return tgw_columns(fleet.world, fleet.racks, flows, rows)
    if fleet.options.flow_format is FlowFormat.OBI:
        return obi_columns(fleet.world, fleet.racks, flows, rows)
    return log_columns(stream, fleet.options, fleet.world, flows, rows)


def _canonical_rows(
    stream: Stream, fleet: GeneratedFleet, drawn: _DrawnFlows, index: int
) -> _FileRows:
    del index
    flows, part = drawn.flows, drawn.part
    topic = topics_in_rows(stream, flows) if part is None else flows.topic
    is_copy = flows.kind == REPLICATE
    from_rack, to_rack = canonical_racks(fleet.world, flows)
    return _FileRows(
        columns=canonical_columns(fleet.clusters, fleet.racks, fleet.world, flows, topic),
        cells={
            "cluster": flows.cluster,
            "kind": flows.kind,
            "topic": topic,
            "broker": np.where(is_copy, flows.broker, NOBODY),
            "peer": np.where(is_copy, flows.peer, NOBODY),
            "group": flows.group,
            "from_rack": from_rack,
            "to_rack": to_rack,
        },
        outcome=np.full(len(flows), KEPT),
        bytes=flows.bytes,
        can_spoil=~is_copy if part is None else part == MALFORMED,
    )


def _spoil_file(
    fleet: GeneratedFleet, file_rows: _FileRows, index: int
) -> tuple[GeneratedFile, Tally]:
    """The file with its malformed rows, and the tally of the others."""
    options = fleet.options
    bad = round(options.flows * options.bad_rows)
    rows = _pick_evenly(np.flatnonzero(file_rows.can_spoil), part_size(bad, options.files, index))
    # Each file continues with the fault after the last one of the file before.
    kinds = faults_of(options)
    turn = bad * index // options.files % len(kinds)
    faults = (*kinds[turn:], *kinds[:turn])
    columns, in_text = spoil_rows(file_rows.columns, rows, faults)
    which = np.arange(len(rows)) % len(faults)
    hidden = np.array([fault.hides_bytes for fault in faults])
    outcome, bytes_ = file_rows.outcome.copy(), file_rows.bytes.copy()
    outcome[rows] = len(OUTCOMES) + which
    bytes_[rows[hidden[which]]] = 0
    is_kept = outcome == KEPT
    day = options.first_day.toordinal() - EPOCH_ORDINAL + index // options.files_per_day
    cells = {name: column[is_kept] for name, column in file_rows.cells.items()}
    cells["day"] = np.full(int(is_kept.sum()), day)
    names = (*OUTCOMES, *(fault.reason for fault in faults))
    tally = tally_rows(cells, bytes_[is_kept], outcome_totals(day, outcome, bytes_, names))
    name = f"{options.first_day + timedelta(index // options.files_per_day)}-{index:05d}"
    return GeneratedFile(name=name, columns=columns, spoiled=in_text), tally


def _pick_evenly(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """`count` of the rows at equal distances, or all rows if there are fewer."""
    count = min(count, len(rows))
    return rows[np.arange(count) * len(rows) // max(count, 1)]


def _options_as_json(options: FleetOptions) -> dict[str, Any]:
    """The options as JSON values."""
    values = {column.name: getattr(options, column.name) for column in fields(options)}
    values["racks"] = [rack.text for rack in options.racks]
    values["first_day"] = options.first_day.isoformat()
    if options.looks == 1:
        for name in ("looks", "retention"):
            del values[name]
    return values
