"""One fleet, and each of its flow files: what is asked for, drawn, told, spoiled and added up."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.fleet.flows.canonical import canonical_columns, canonical_racks, shown_topics
from rackwise.core.fleet.flows.columns import FlowFile, Numbers, Words
from rackwise.core.fleet.flows.faults import faults_of, spoiled
from rackwise.core.fleet.flows.tally import Tally, outcome_totals, summed, tallied
from rackwise.core.fleet.flows.traffic import (
    EPOCH_ORDINAL,
    REPLICATE,
    drawn_flows,
    file_stream,
    slice_of,
)
from rackwise.core.fleet.flows.truth import ledger, truth_document
from rackwise.core.fleet.flows.vpc import FATES, KEPT, WITHOUT_BYTES, log_columns, logged
from rackwise.core.fleet.world.addresses import of_broker, subnets
from rackwise.core.fleet.world.clusters import generated_cluster
from rackwise.core.fleet.world.endpoints import NOBODY
from rackwise.core.fleet.world.options import FleetOptions, FlowFormat, check_flows, check_options
from rackwise.core.fleet.world.topology import Topology, topology
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.draws import Stream
    from rackwise.core.fleet.flows.traffic import Flows
    from rackwise.core.model import Cluster
    from rackwise.core.racks import Rack
    from rackwise.core.traffic import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Clusters and what flows are drawn from; `racks`: those of all brokers, none twice."""

    options: FleetOptions
    clusters: tuple[Cluster, ...]
    racks: tuple[Rack, ...]
    world: Topology

    @property
    def subnets(self) -> tuple[tuple[str, str], ...]:
        """The table of subnets: network, rack."""
        return tuple((cidr, rack.text) for cidr, rack in subnets(self.racks))

    @property
    def client_racks(self) -> tuple[tuple[str, str], ...]:
        """The table of clients: client id, rack; empty where the flows know no client ids."""
        if self.options.flow_format is not FlowFormat.CANONICAL:
            return ()
        clients = self.world.clients
        return tuple(
            (id_, self.racks[rack].text)
            for id_, rack in zip(clients.ids, clients.table_rack.tolist(), strict=True)
            if rack != NOBODY
        )


def generated_fleet(options: FleetOptions) -> Fleet:
    """Clusters by the options, and their world. Raises `InvalidConfig`, `InvalidRack`."""
    check_options(options)
    clusters = tuple(generated_cluster(options, index) for index in range(options.clusters))
    return _fleet(options, clusters, options.racks)


def observed_fleet(options: FleetOptions, clusters: Sequence[Cluster]) -> Fleet:
    """The world of clusters that exist already; of the options only those about flows count.

    Raises `InvalidConfig`, and `InvalidSnapshot` when a broker has no rack or no address of its
    own, a replica is on a broker that is not listed, or a cluster has no partition with a leader.
    """
    check_flows(options)
    for cluster in clusters:
        _check_observed(cluster)
    racks = {broker.rack for cluster in clusters for broker in cluster.brokers if broker.rack}
    return _fleet(options, tuple(clusters), tuple(sorted(racks)))


def readdressed(options: FleetOptions, clusters: Sequence[Cluster]) -> tuple[Cluster, ...]:
    """The same clusters with made-up addresses, one or more of its own for each broker."""
    racks = sorted({b.rack for cluster in clusters for b in cluster.brokers if b.rack})
    ordinals = count()
    return tuple(
        replace(
            cluster,
            brokers=tuple(
                replace(
                    broker,
                    addresses=of_broker(
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


def flow_file(fleet: Fleet, index: int) -> tuple[FlowFile, Tally]:
    """File `index` (0..options.files-1) and what it holds."""
    stream = file_stream(fleet.options, index)
    flows = drawn_flows(stream, fleet.options, fleet.world, index)
    tell = _canonical if fleet.options.flow_format is FlowFormat.CANONICAL else _log
    return _spoiled(fleet, tell(stream, fleet, flows, index), index)


def truth(fleet: Fleet, tallies: Iterable[Tally], prices: Sequence[Price]) -> dict[str, Any]:
    """The document of `truth.json`, from all files' tallies; `prices`: rows of one provider."""
    tally = summed(tallies)
    return truth_document(
        options=_plain(fleet.options),
        clusters=fleet.clusters,
        racks=fleet.racks,
        tally=tally,
        bill=ledger(fleet.clusters, fleet.racks, fleet.world, tally, prices),
    )


def _check_observed(cluster: Cluster) -> None:
    """Refuse what the truth could not be told of."""
    rackless = [broker.id for broker in cluster.brokers if broker.rack is None]
    ids = [broker.id for broker in cluster.brokers]
    strangers = np.setdiff1d(cluster.partitions.replicas.values, ids)
    if rackless or len(strangers):
        had = (
            f"none on broker {rackless[0]}"
            if rackless
            else f"replicas on broker {strangers[0]}, which is not listed"
        )
        name = escaped(str(cluster.cluster_id))
        raise InvalidSnapshot(
            f"expected a rack of every broker of cluster {name}, got {had}",
            wanted="a rack of every broker",
            had=had,
            hint="set broker.rack, wait until all brokers are up, and take the snapshot again",
        )


def _fleet(options: FleetOptions, clusters: tuple[Cluster, ...], racks: tuple[Rack, ...]) -> Fleet:
    return Fleet(
        options=options,
        clusters=clusters,
        racks=racks,
        world=topology(options, clusters, racks),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """Rows of one file, none spoiled yet; `can_spoil`: losing them changes no other fate."""

    columns: dict[str, Words | Numbers]
    cells: Mapping[str, NDArray[np.int64]]
    fate: NDArray[np.int64]
    bytes: NDArray[np.int64]
    can_spoil: NDArray[np.bool_]


def _log(stream: Stream, fleet: Fleet, drawn: Flows, index: int) -> _Told:
    options, ends = fleet.options, fleet.world.endpoints
    flows, rows = logged(stream, options, fleet.world, drawn, index)
    at = rows.flow
    sender, receiver = flows.sender[at], flows.receiver[at]
    is_copy = flows.kind[at] == REPLICATE
    is_told_twice = np.bincount(at, minlength=len(flows)) > 1
    has_bytes = ~np.isin(rows.fate, WITHOUT_BYTES)
    return _Told(
        columns=log_columns(stream, options, fleet.world, flows, rows),
        cells={
            "cluster": flows.cluster[at],
            "kind": flows.kind[at],
            "broker": np.where(is_copy, ends.broker[sender], NOBODY),
            "peer": np.where(is_copy, ends.broker[receiver], NOBODY),
            "from_rack": ends.rack[sender].astype(np.int64),
            "to_rack": ends.rack[receiver].astype(np.int64),
        },
        fate=rows.fate,
        bytes=np.where(has_bytes, flows.bytes[at], 0),
        can_spoil=(rows.fate == KEPT) & ~is_told_twice[at],
    )


def _canonical(stream: Stream, fleet: Fleet, flows: Flows, index: int) -> _Told:
    del index
    topic = shown_topics(stream, flows)
    is_copy = flows.kind == REPLICATE
    from_rack, to_rack = canonical_racks(fleet.world, flows)
    group = fleet.world.clients.group[flows.client]
    return _Told(
        columns=canonical_columns(fleet.clusters, fleet.racks, fleet.world, flows, topic),
        cells={
            "cluster": flows.cluster,
            "kind": flows.kind,
            "topic": topic,
            "broker": np.where(is_copy, flows.broker, NOBODY),
            "peer": np.where(is_copy, flows.peer, NOBODY),
            "group": np.where(is_copy, NOBODY, group),
            "from_rack": from_rack,
            "to_rack": to_rack,
        },
        fate=np.full(len(flows), KEPT),
        bytes=flows.bytes,
        can_spoil=~is_copy,
    )


def _spoiled(fleet: Fleet, told: _Told, index: int) -> tuple[FlowFile, Tally]:
    """The file with its bad rows, and what is left to find in it."""
    options = fleet.options
    bad = round(options.flows * options.bad_rows)
    rows = _evenly(np.flatnonzero(told.can_spoil), slice_of(bad, options.files, index))
    kinds = faults_of(options)
    turn = bad * index // options.files % len(kinds)
    faults = (*kinds[turn:], *kinds[:turn])
    columns, in_text = spoiled(told.columns, rows, faults)
    which = np.arange(len(rows)) % len(faults)
    hidden = np.array([fault.hides_bytes for fault in faults])
    fate, bytes_ = told.fate.copy(), told.bytes.copy()
    fate[rows] = len(FATES) + which
    bytes_[rows[hidden[which]]] = 0
    is_kept = fate == KEPT
    day = options.first_day.toordinal() - EPOCH_ORDINAL + index // options.files_per_day
    cells = {name: column[is_kept] for name, column in told.cells.items()}
    cells["day"] = np.full(int(is_kept.sum()), day)
    names = (*FATES, *(fault.reason for fault in faults))
    tally = tallied(cells, bytes_[is_kept], outcome_totals(day, fate, bytes_, names))
    name = f"{options.first_day + timedelta(index // options.files_per_day)}-{index:05d}"
    return FlowFile(name=name, columns=columns, spoiled=in_text), tally


def _evenly(rows: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    """`wanted` of the rows, or all if there are fewer, at equal distances."""
    wanted = min(wanted, len(rows))
    return rows[np.arange(wanted) * len(rows) // max(wanted, 1)]


def _plain(options: FleetOptions) -> dict[str, Any]:
    """The options as JSON has them."""
    values = {column.name: getattr(options, column.name) for column in fields(options)}
    values["racks"] = [rack.text for rack in options.racks]
    values["first_day"] = options.first_day.isoformat()
    return values
