"""Snapshot files, format `rackwise.snapshot/1`: a cluster at one moment, read strictly.

Goals, in order: `read(write(x)) == x`; whatever is wrong is named by its JSON path, wanted and had,
with the number of further faults; a million partitions cost little more than parsing their text.

Racks, and strings that clients choose (client id, member id, group), may hold anything that has a
UTF-8; names that Kafka checks (topics, ids) and host names hold no control character. Partitions
have no number in the file: they stand in order from 0, so no gap can be written. Topics and brokers
may stand in any order; the cluster has them in canonical order.

What this does not do: judge the cluster or its racks; guess what is missing (null is "not known");
write (see `write`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.snapshot.format import FORMAT, SNAPSHOT
from rackwise.adapters.files.snapshot.partitions import KEYS, RowTaker, are_in_place, table_of
from rackwise.adapters.files.snapshot.write import fingerprint
from rackwise.adapters.files.snapshot.written_rows import written_rows
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json.faults import Faults
from rackwise.core.json.node import JsonNode, check_format
from rackwise.core.json.strict import collector_held_back, parse
from rackwise.core.model import Cluster

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwise.adapters.files.snapshot.format import SnapshotDocument


def read_snapshot(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Cluster:
    """The cluster in a snapshot file, `.gz` too.

    Raises `InvalidConfig` where the path is no readable regular file within `max_bytes` (after
    unpacking), `InvalidSnapshot` where the content is no snapshot.
    """
    data = read_bytes(path, error=InvalidSnapshot, max_bytes=max_bytes)
    return parse_snapshot(data, where=str(path))


class FingerprintedCluster(NamedTuple):
    """A cluster, and the hash that a plan names it by."""

    cluster: Cluster
    sha256: str
    """`fingerprint(cluster)`."""


def read_fingerprinted(path: str | Path, *, max_bytes: int = MAX_BYTES) -> FingerprintedCluster:
    """The cluster in a snapshot file with its fingerprint; raises what `read_snapshot` raises.

    A file that Rackwise wrote is hashed without writing its partitions again.
    """
    data = read_bytes(path, error=InvalidSnapshot, max_bytes=max_bytes)
    with collector_held_back(len(data)):
        found = _written_cluster(data)
        if found is not None:
            return FingerprintedCluster(found.cluster, fingerprint(found.cluster, found.row_texts))
    cluster = parse_snapshot(data, where=str(path))
    return FingerprintedCluster(cluster, fingerprint(cluster))


def parse_snapshot(data: bytes, *, where: str) -> Cluster:
    """The cluster in the content of a snapshot file; `where` names the file in messages.

    Raises `InvalidSnapshot`.
    """
    with collector_held_back(len(data)):
        written = _written_cluster(data)
        if written is not None:
            return written.cluster
        taker = RowTaker()
        value = parse(data, where=where, error=InvalidSnapshot, hook=taker.hook())
        if taker.columns() is None or not are_in_place(taker, value):
            taker = RowTaker()
            value = parse(data, where=where, error=InvalidSnapshot)
        return _cluster(JsonNode(value, Faults(where, InvalidSnapshot)), taker)


class _WrittenCluster(NamedTuple):
    cluster: Cluster
    row_texts: Mapping[str, bytes | memoryview] | None
    """Topic -> its partitions as `fingerprint` takes them; None where they are written shorter."""


def _written_cluster(data: bytes) -> _WrittenCluster | None:
    """The cluster in a content whose partitions are written as Rackwise does; None for others."""
    found = written_rows(data)
    if found is None:
        return None
    try:
        value = parse(found.rest, where="", error=InvalidSnapshot)
        names = found.put_into(value)
        if not are_in_place(found.taker, value):
            return None
        cluster = _cluster(JsonNode(value, Faults("", InvalidSnapshot)), found.taker)
    except InvalidSnapshot:
        return None
    # Offsets that are all unknown are not written.
    is_shorter = cluster.partitions.offsets is None and found.keys != KEYS
    texts = (
        None if is_shorter else {str(n): text for n, text in zip(names, found.texts, strict=True)}
    )
    return _WrittenCluster(cluster, texts)


def _cluster(root: JsonNode, taker: RowTaker) -> Cluster:
    check_format(root, FORMAT)
    found: SnapshotDocument = SNAPSHOT.read(root)
    cluster = Cluster(
        cluster_id=found.cluster_id,
        taken_at=found.taken_at,
        brokers=found.brokers,
        topics=MappingProxyType({rows.name: rows.topic for rows in found.topics}),
        partitions=table_of(found.topics, taker, root.faults),
        groups=found.groups,
        configs=found.configs,
        notes=found.notes,
        source=found.source,
        name=found.name,
        answered=found.answered,
    )
    root.faults.raise_if_any()
    return cluster
