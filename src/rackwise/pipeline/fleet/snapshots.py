"""Parsed snapshots: their clusters and times, and the snapshots that could not be read.

Each snapshot has the name of its cluster (see `cluster_names`). The rack of a group's member is the
text that its client sends. If that text is not a valid rack, the rack is unknown and the snapshot
gets a note; the run continues. Racks of brokers stay verbatim until the policy is known, then only
those that count are left (`with_settled_racks`).

What this does not do: read files. The caller passes their content and the parser.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rackwise.core.errors import InputError, InvalidSnapshot
from rackwise.core.model import Note
from rackwise.core.text import escaped
from rackwise.pipeline.fleet.cluster_names import cluster_names, whole_stem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date

    from rackwise.core.model import Cluster

HOUR_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One parsed snapshot."""

    file: str
    """Its path."""
    name: str
    """The name of its cluster."""
    taken_at: datetime
    cluster: Cluster
    fingerprint: str
    """SHA-256 of the content."""
    packed: bytes = field(repr=False)
    """The compressed content, for tasks that parse it again."""

    @property
    def first_hour(self) -> int:
        """The first hour that the snapshot covers, in hours since 1970-01-01 UTC."""
        return -(-int(self.taken_at.timestamp() * 1_000_000) // (HOUR_S * 1_000_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedSnapshot:
    """One snapshot that could not be read, and the reason."""

    file: str
    error: InputError


def read_snapshots(
    contents: Sequence[tuple[str, bytes]], parse: Callable[[bytes], Cluster]
) -> tuple[tuple[Snapshot, ...], tuple[FailedSnapshot, ...]]:
    """Parse path -> content; returns the snapshots and the failures of `parse`, in path order.

    The names of the clusters are those of these snapshots alone; a caller that reads files one by
    one calls `with_names` for all of them.
    """
    read: list[Snapshot] = []
    failed: list[FailedSnapshot] = []
    for file, content in sorted(contents):
        try:
            read.append(_snapshot(file, content, parse))
        except InputError as error:
            failed.append(FailedSnapshot(file=file, error=error))
    return with_names(read), tuple(failed)


def with_names(snapshots: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    """The snapshots, in their order, each with the name of its cluster among all of them."""
    names = cluster_names(snapshots)
    return tuple(replace(one, name=name) for one, name in zip(snapshots, names, strict=True))


def with_settled_racks(
    snapshots: Sequence[Snapshot], names: Mapping[str, str]
) -> tuple[Snapshot, ...]:
    """The snapshots with the racks that count; `names`: plain name of a rack -> path."""
    return tuple(replace(one, cluster=one.cluster.settled(names)) for one in snapshots)


def last_day(snapshots: Iterable[Snapshot]) -> date:
    """The day on which the last snapshot was taken, in UTC."""
    return max(snapshot.taken_at.date() for snapshot in snapshots)


def require_addresses(snapshots: Iterable[Snapshot]) -> None:
    """Check that each broker has an address; flow logs identify brokers by address alone.

    Raises `InvalidSnapshot` with the name of the first broker without an address.
    """
    for snapshot in snapshots:
        missing = [broker.id for broker in snapshot.cluster.brokers if not broker.addresses]
        if missing:
            raise InvalidSnapshot(
                f"expected an IP address for every broker to read flow logs, got none for broker "
                f"{missing[0]} of cluster {escaped(snapshot.name)}",
                wanted=len(snapshot.cluster.brokers),
                had=len(snapshot.cluster.brokers) - len(missing),
                hint="take the snapshot with `rackwise snapshot --resolve`",
                where=snapshot.file,
            )


def _snapshot(file: str, content: bytes, parse: Callable[[bytes], Cluster]) -> Snapshot:
    cluster = _without_odd_racks(parse(content))
    try:
        taken_at = datetime.fromisoformat(cluster.taken_at)
    except ValueError:
        taken_at = None
    if taken_at is None or taken_at.utcoffset() != timedelta(0):
        raise InvalidSnapshot(
            "invalid taken_at: expected a time in UTC such as 2026-11-01T00:00:00Z, got "
            f'"{escaped(cluster.taken_at)}"',
            wanted="2026-11-01T00:00:00Z",
            had=cluster.taken_at,
            hint="take the snapshot again with `rackwise snapshot`",
            where="$.taken_at",
        )
    return Snapshot(
        file=file,
        name=whole_stem(file),
        taken_at=taken_at,
        cluster=cluster,
        fingerprint=hashlib.sha256(content).hexdigest(),
        packed=zlib.compress(content, level=1),
    )


def _without_odd_racks(cluster: Cluster) -> Cluster:
    """The cluster; members with an invalid rack get no rack."""
    odd = {m.rack for g in cluster.groups for m in g.members if m.rack and not m.rack.is_sound}
    if not odd:
        return cluster
    first = min(escaped(rack.text) for rack in odd)
    text = f'client racks that are not valid: {len(odd)}; one is "{first}"'
    groups = tuple(
        replace(
            group,
            members=tuple(replace(m, rack=None) if m.rack in odd else m for m in group.members),
        )
        for group in cluster.groups
    )
    notes = (*cluster.notes, Note(kind="client-rack", text=text))
    return replace(cluster, groups=groups, notes=notes)
