"""From which broker to which broker or client the metered bytes went.

Goals, in order: each written byte is in one produce flow, and in one replicate flow per follower;
each read byte is in one fetch flow; sums are exact.

```
produce    unknown rack    -> leader's rack      what was written
replicate  leader's rack   -> follower's rack    what was written, once per live follower
fetch      replica's rack  -> member's rack      what the group read
```

A member reads from a replica in its own rack if the leader has the rack-aware selector, the member
reports a rack, and an in-sync replica is there; else it reads from the leader.

Half of the time belongs to the earlier snapshot and half to the later one. Bytes are halved, and
each half goes where leaders, followers and owners were. Where nothing moved, the halves have equal
ends and are added again:

```
orders-0   100,001 bytes, leader 1 in a -> leader 2 in b     50,000 from a, 50,001 from b, estimated
orders-1   100,001 bytes, leader 1 in a, both times          100,001 from a, exact
```

A follower that was dead in the earlier snapshot and lives in the later one has caught up: it counts
for both halves.

What this does not do: know the racks of producers; see readers that commit nothing.

Source: KIP-392 (follower fetching).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rackwise.core.meter.growth import growth
from rackwise.core.meter.places import LookPlaces, MeterCodes
from rackwise.core.meter.reads import reads
from rackwise.core.meter.reasons import Reason
from rackwise.core.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.core.meter.growth import Growth
    from rackwise.core.meter.looks import LookPair
    from rackwise.core.meter.places import RackOf
    from rackwise.core.meter.reads import GroupReads

METERED_KINDS = ("produce", "fetch", "replicate")
"""MeterCodes of the kinds; the index is the kind of a flow."""
PRODUCE, FETCH, REPLICATE = range(len(METERED_KINDS))

KEY = (
    *("kind", "topic", "group", "broker", "broker_rack"),
    *("peer", "peer_rack", "address", "client_rack", "is_exact"),
)
"""The columns that tell flows apart."""
MOST_CODE = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmetered:
    """Partitions whose bytes are not known."""

    kind: str
    """`produce`, and with it what is replicated; or `fetch`."""
    topic: str
    group: str | None
    """The group that reads; None for produce."""
    reason: Reason
    partitions: int
    """Number of partitions."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeteredFlows:
    """Metered bytes as columns; rows are distinct but for their bytes. -1 = none or not known."""

    topics: tuple[str, ...]
    groups: tuple[str, ...]
    racks: tuple[str, ...]
    """Texts of racks."""
    addresses: tuple[str, ...]
    """IP addresses of members."""
    kind: NDArray[np.int64]
    """Index into `METERED_KINDS`."""
    topic: NDArray[np.int64]
    """Index into `topics`."""
    group: NDArray[np.int64]
    """Index into `groups`; -1 for produce and replicate."""
    broker: NDArray[np.int64]
    """Broker id: the leader, or the replica that a member reads; -1 = no leader."""
    broker_rack: NDArray[np.int64]
    """Index into `racks`."""
    peer: NDArray[np.int64]
    """Broker id of the follower; -1 for produce and fetch."""
    peer_rack: NDArray[np.int64]
    """Index into `racks`."""
    address: NDArray[np.int64]
    """Index into `addresses`: the member that read."""
    client_rack: NDArray[np.int64]
    """Index into `racks`: the rack of the member."""
    is_exact: NDArray[np.int64]
    """1 = exact, 0 = estimated."""
    bytes: NDArray[np.int64]
    """From 1."""
    unmetered: tuple[Unmetered, ...]
    """Partitions whose bytes are not known: produce before fetch, by topic and group."""


def metered_flows(
    pair: LookPair, rack_of: RackOf, earlier_rack_of: RackOf | None = None
) -> MeteredFlows:
    """The flows between two snapshots; `rack_of` returns the rack of a group's member.

    `earlier_rack_of` returns it at the time of the first snapshot, if it may differ then.
    """
    written = growth(pair)
    read = reads(pair, written)
    names = MeterCodes(pair)
    early = LookPlaces(pair, pair.first, earlier_rack_of or rack_of, names)
    late = LookPlaces(pair, pair.second, rack_of, names)
    parts = [
        *_produced(pair, written, early, late),
        *_replicated(pair, written, early, late),
        *_fetched(pair, read, early, late),
    ]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in (*KEY, "bytes")}
    summed = _summed(columns)
    of_code = np.append(names.brokers, UNKNOWN)
    return MeteredFlows(
        topics=pair.second.partitions.topics,
        groups=read.groups,
        racks=names.racks,
        addresses=names.addresses,
        unmetered=(*_unmetered(pair, written), *_unread(pair, read)),
        **summed | {end: of_code[summed[end]] for end in ("broker", "peer")},
    )


def _halves(bytes_: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The parts of the earlier and of the later half of the time."""
    return bytes_ // 2, bytes_ - bytes_ // 2


def _part(count: int, **columns: NDArray[Any] | int) -> dict[str, NDArray[np.int64]]:
    """Columns of `count` flows; a column that is not given is -1."""
    return {
        name: np.broadcast_to(np.asarray(columns.get(name, UNKNOWN), dtype=np.int64), (count,))
        for name in (*KEY, "bytes")
    }


def _produced(
    pair: LookPair, written: Growth, early: LookPlaces, late: LookPlaces
) -> Iterator[dict[str, NDArray[np.int64]]]:
    rows = np.flatnonzero(written.bytes > 0)
    is_exact = (written.reason == Reason.EXACT) & (early.leader == late.leader)
    for places, bytes_ in zip((early, late), _halves(written.bytes[rows]), strict=True):
        leader = places.leader[rows]
        yield _part(
            len(rows),
            kind=PRODUCE,
            topic=pair.second.partitions.topic[rows],
            broker=leader,
            broker_rack=places.rack[leader],
            is_exact=is_exact[rows],
            bytes=bytes_,
        )


def _replicated(
    pair: LookPair, written: Growth, early: LookPlaces, late: LookPlaces
) -> Iterator[dict[str, NDArray[np.int64]]]:
    is_exact = (
        (written.reason == Reason.EXACT)
        & (early.leader == late.leader)
        & early.replicas.equal_rows(late.replicas)
    )
    stays = early.replicas.values_in(late.replicas)
    for places, half in ((early, 0), (late, 1)):
        rows, follower = places.replicas.rows, places.replicas.values.astype(np.int64)
        is_live = places.is_live[follower]
        if places is early:
            is_live = is_live | (late.is_live[follower] & stays)
        is_copy = (written.bytes[rows] > 0) & (follower != places.leader[rows]) & is_live
        rows, follower = rows[is_copy], follower[is_copy]
        leader = places.leader[rows]
        yield _part(
            len(rows),
            kind=REPLICATE,
            topic=pair.second.partitions.topic[rows],
            broker=leader,
            broker_rack=places.rack[leader],
            peer=follower,
            peer_rack=places.rack[follower],
            is_exact=is_exact[rows] & (early.is_live[follower] == late.is_live[follower]),
            bytes=_halves(written.bytes[rows])[half],
        )


def _fetched(
    pair: LookPair, read: GroupReads, early: LookPlaces, late: LookPlaces
) -> Iterator[dict[str, NDArray[np.int64]]]:
    found = np.flatnonzero(read.bytes > 0)
    group, row = read.group[found], read.row[found]
    owners = [places.owners(group, row) for places in (early, late)]
    sources = [
        places.sources(row, reported)
        for places, (_, _, reported) in zip((early, late), owners, strict=True)
    ]
    (address1, rack1, _), (address2, rack2, _) = owners
    is_same = (address1 == address2) & (rack1 == rack2) & (sources[0] == sources[1])
    is_exact = (read.reason[found] == Reason.EXACT) & is_same
    for places, (address, rack, _), source, bytes_ in zip(
        (early, late), owners, sources, _halves(read.bytes[found]), strict=True
    ):
        yield _part(
            len(found),
            kind=FETCH,
            topic=pair.second.partitions.topic[row],
            group=group,
            broker=source,
            broker_rack=places.rack[source],
            address=address,
            client_rack=rack,
            is_exact=is_exact,
            bytes=bytes_,
        )


def _summed(columns: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
    """The sum of the bytes of each key, keys ascending; flows without bytes are left out."""
    code = np.zeros(len(columns["bytes"]), dtype=np.int64)
    size = 1
    for name in KEY:
        column = columns[name] + 1  # -1 becomes 0
        width = int(column.max(initial=0)) + 1
        if size * width > MOST_CODE:
            # Codes become dense, in the same order.
            code = np.unique(code, return_inverse=True)[1]
            size = len(code) + 1
        code, size = code * width + column, size * width
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    total = np.zeros(len(first), dtype=np.int64)
    np.add.at(total, place, columns["bytes"])
    return {name: columns[name][first][total > 0] for name in KEY} | {"bytes": total[total > 0]}


def _unmetered(pair: LookPair, written: Growth) -> Iterator[Unmetered]:
    table = pair.second.partitions
    rows = np.flatnonzero(written.bytes < 0)
    for (topic, reason), count in _counted(table.topic[rows], written.reason[rows]):
        yield Unmetered(
            kind=METERED_KINDS[PRODUCE],
            topic=table.topics[topic],
            group=None,
            reason=Reason(reason),
            partitions=count,
        )


def _unread(pair: LookPair, read: GroupReads) -> Iterator[Unmetered]:
    table = pair.second.partitions
    found = np.flatnonzero(read.bytes < 0)
    topics = table.topic[read.row[found]]
    for (topic, group, reason), count in _counted(topics, read.group[found], read.reason[found]):
        yield Unmetered(
            kind=METERED_KINDS[FETCH],
            topic=table.topics[topic],
            group=read.groups[group],
            reason=Reason(reason),
            partitions=count,
        )


def _counted(*columns: NDArray[np.signedinteger]) -> list[tuple[tuple[int, ...], int]]:
    """Each distinct row of the columns with its count, ascending."""
    rows, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    return [(tuple(row), count) for row, count in zip(rows.tolist(), counts.tolist(), strict=True)]
