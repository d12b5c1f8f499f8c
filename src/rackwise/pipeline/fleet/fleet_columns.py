"""Codes of a fleet's names, and its tables as Arrow columns.

Names sort by code point. Broker codes sort by (cluster name, broker id), so the codes of one
cluster's brokers are consecutive integers, and a binary search turns a million replica ids into
codes:

```
cluster a: ids 1 2 7  -> codes 1 2 3          id 7 of a: 0 + position 2 + 1 = 3
cluster b: ids 1 3    -> codes 4 5            id 3 of b: 3 + position 1 + 1 = 5
```

A broker id that appears only in replica lists has a code and no row: the broker is dead.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from rackwise.core.racks import MAX_LEVELS, Rack, prefix
from rackwise.pipeline import schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, GroupMember, Ragged
    from rackwise.pipeline.fleet.snapshots import Snapshot

HOUR_US = 3_600_000_000
SELECTOR = "replica.selector.class"
NO_IDS = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names by code: the name with code c is at index c - 1."""

    clusters: tuple[str, ...]
    racks: tuple[str, ...]
    """Whole paths of all racks and of their ancestors."""
    topics: tuple[str, ...]
    clients: tuple[str, ...]
    """Client groups."""
    brokers: tuple[tuple[str, int], ...]
    """(cluster name, broker id)."""
    cluster_topics: tuple[tuple[str, str], ...]
    """(cluster name, topic), sorted; these have no codes of their own."""
    depth: int
    """Number of levels of the deepest broker rack."""

    @classmethod
    def of(
        cls,
        snapshots: Sequence[Snapshot],
        *,
        racks: Iterable[Rack],
        groups: Iterable[str],
        topics: Iterable[tuple[str, str]],
    ) -> Names:
        """All names of the snapshots and the further names, sorted and without duplicates."""
        own_racks = {b.rack for s in snapshots for b in s.cluster.brokers if b.rack}
        all_racks = {*racks, *own_racks}
        all_groups = set(groups)
        all_topics = set(topics)
        brokers: set[tuple[str, int]] = set()
        for snapshot in snapshots:
            cluster = snapshot.cluster
            all_racks.update(m.rack for g in cluster.groups for m in g.members if m.rack)
            all_groups.update(group.group for group in cluster.groups)
            all_topics.update((snapshot.name, topic) for topic in cluster.topics)
            all_topics.update((snapshot.name, topic) for topic in cluster.partitions.topics)
            all_topics.update(
                (snapshot.name, topic)
                for group in cluster.groups
                for member in group.members
                for topic, _ in member.partitions
            )
            brokers.update((snapshot.name, id_) for id_ in _broker_ids(cluster))
        return cls(
            clusters=tuple(sorted({snapshot.name for snapshot in snapshots})),
            racks=tuple(sorted({path for rack in all_racks for path in _with_ancestors(rack)})),
            topics=tuple(sorted({topic for _, topic in all_topics})),
            clients=tuple(sorted(all_groups)),
            brokers=tuple(sorted(brokers)),
            cluster_topics=tuple(sorted(all_topics)),
            depth=max((len(rack.levels) for rack in own_racks), default=0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """Name -> code, dense from 1."""

    clusters: Mapping[str, int]
    racks: Mapping[str, int]
    topics: Mapping[str, int]
    clients: Mapping[str, int]
    """Client group -> code."""
    brokers: Mapping[tuple[str, int], int]
    """(cluster name, broker id) -> code."""
    broker_ids: Mapping[str, NDArray[np.int32]]
    """Cluster name -> the ids of its brokers, ascending; their codes are consecutive. A cluster
    without brokers is missing."""

    @classmethod
    def of(cls, names: Names) -> Codes:
        """The inverse of the names."""
        return cls(
            clusters=_coded(names.clusters),
            racks=_coded(names.racks),
            topics=_coded(names.topics),
            clients=_coded(names.clients),
            brokers=_coded(names.brokers),
            broker_ids={
                cluster: np.array([id_ for _, id_ in own], dtype=np.int32)
                for cluster, own in groupby(names.brokers, key=itemgetter(0))
            },
        )

    def broker_codes(self, cluster: str) -> Callable[[NDArray[np.int32]], NDArray[np.int64]]:
        """A function from broker ids of one cluster to their codes; unknown ids give any number."""
        ids = self.broker_ids.get(cluster, NO_IDS)
        first = self.first_broker(cluster) or 0

        def codes_of(values: NDArray[np.int32]) -> NDArray[np.int64]:
            return np.searchsorted(ids, values).astype(np.int64) + first

        return codes_of

    def first_broker(self, cluster: str) -> int | None:
        """The code of the cluster's first broker; None for a cluster without brokers."""
        ids = self.broker_ids.get(cluster, NO_IDS)
        return self.brokers[cluster, int(ids[0])] if len(ids) else None

    def rack(self, rack: Rack | None) -> int:
        """The code of a rack; 0 for None."""
        return 0 if rack is None else self.racks[rack.text]


def tables(
    history: Mapping[str, Sequence[Snapshot]],
    names: Names,
    codes: Codes,
) -> dict[str, tuple[pa.Table, StructType]]:
    """`Fleet` field -> columns and schema; `history`: cluster name -> snapshots, oldest first."""
    ordered = {name: history[name] for name in names.clusters}
    rows = [
        row
        for snapshots in ordered.values()
        for row in zip(snapshots, (*snapshots[1:], None), strict=True)
    ]
    last = [snapshots[-1] for snapshots in ordered.values()]
    return {
        "brokers": _table(
            [
                broker
                for snapshot, following in rows
                for broker in _brokers(snapshot, following, codes)
            ],
            schemas.BROKER,
        ),
        "topics": _table(_topics(ordered, names, codes), schemas.TOPIC),
        "partitions": (partition_table(rows, codes), schemas.PARTITION),
        "members": _table(
            [row for snapshot in last for row in _members(snapshot, codes)], schemas.MEMBER
        ),
        "snapshots": _table(
            [
                (
                    codes.clusters[snapshot.name],
                    snapshot.file,
                    snapshot.fingerprint,
                    snapshot.taken_at,
                    *_validity(snapshot, following),
                )
                for snapshot, following in rows
            ],
            schemas.SNAPSHOT,
        ),
        "racks": _table(
            [_rack(path, codes.racks) for path in names.racks],
            schemas.RACK,
        ),
        "clusters": _table(
            [
                (codes.clusters[snapshot.name], snapshot.name, snapshot.cluster.cluster_id)
                for snapshot in last
            ],
            schemas.CLUSTER,
        ),
        "clients": _table([(code, name) for name, code in codes.clients.items()], schemas.CLIENT),
    }


def _coded(names: Sequence[Any]) -> dict[Any, int]:
    return {name: code for code, name in enumerate(names, start=1)}


def _with_ancestors(rack: Rack) -> Iterable[str]:
    levels = rack.levels
    return (rack.text, *(prefix(levels, depth) for depth in range(1, len(levels)) if rack.is_path))


def _rack(path: str, codes: Mapping[str, int]) -> tuple[Any, ...]:
    rack = Rack(path)
    levels = rack.levels
    ancestors = [
        codes[prefix(levels, depth, is_path=rack.is_path)] for depth in range(1, len(levels) + 1)
    ]
    return (codes[path], path, len(levels), *ancestors, *([0] * (MAX_LEVELS - len(levels))))


def _broker_ids(cluster: Cluster) -> set[int]:
    table = cluster.partitions
    used = np.concatenate(
        [table.replicas.values, table.isr.values, table.leader[table.leader >= 0]]
    )
    return {broker.id for broker in cluster.brokers} | set(np.unique(used).tolist())


def _validity(snapshot: Snapshot, following: Snapshot | None) -> tuple[int, int | None]:
    """First covered hour, and first hour no longer covered or None; microseconds since 1970."""
    return (
        snapshot.first_hour * HOUR_US,
        None if following is None else following.first_hour * HOUR_US,
    )


def _brokers(
    snapshot: Snapshot, following: Snapshot | None, codes: Codes
) -> Iterable[tuple[Any, ...]]:
    configs = snapshot.cluster.configs.brokers
    for broker in snapshot.cluster.brokers:
        yield (
            codes.clusters[snapshot.name],
            codes.brokers[snapshot.name, broker.id],
            broker.id,
            codes.rack(broker.rack),
            list(broker.addresses),
            [] if broker.port is None else [broker.port],
            broker.is_fenced,
            configs.get(broker.id, {}).get(SELECTOR),
            *_validity(snapshot, following),
        )


def _topics(
    history: Mapping[str, Sequence[Snapshot]], names: Names, codes: Codes
) -> list[tuple[Any, ...]]:
    described = {
        (name, topic.name): topic
        for name, snapshots in history.items()
        for snapshot in snapshots
        for topic in snapshot.cluster.topics.values()
    }
    rows: list[tuple[Any, ...]] = []
    for name, topic in names.cluster_topics:
        if name in codes.clusters:
            known = described.get((name, topic))
            rows.append(
                (
                    codes.clusters[name],
                    codes.topics[topic],
                    topic,
                    known.min_insync_replicas if known else None,
                    known.retention_bytes if known else None,
                )
            )
    return rows


def _members(snapshot: Snapshot, codes: Codes) -> Iterable[tuple[Any, ...]]:
    cluster = codes.clusters[snapshot.name]
    for group in snapshot.cluster.groups:
        for member in group.members:
            for topic, partitions in _by_topic(member):
                yield (
                    cluster,
                    codes.clients[group.group],
                    member.member_id,
                    member.client_id,
                    member.address,
                    codes.rack(member.rack),
                    codes.topics[topic] if topic is not None else 0,
                    partitions,
                )


def _by_topic(member: GroupMember) -> Iterable[tuple[str | None, list[int]]]:
    by_topic: dict[str | None, list[int]] = {}
    for topic, partition in sorted(member.partitions):
        by_topic.setdefault(topic, []).append(partition)
    return by_topic.items() if by_topic else [(None, [])]


def partition_table(
    rows: Sequence[tuple[Snapshot, Snapshot | None]],
    codes: Codes,
    names: Sequence[str] = schemas.PARTITION.names,
) -> pa.Table:
    """PARTITION of all snapshots, each column in one chunk: Spark stops reading at an empty chunk.

    `rows`: each snapshot, and the next one of its cluster; `names`: the columns that are made.

    A fleet has millions of rows. So one column after another is made of all snapshots and joined,
    and the parts of at most one column are in memory.
    """
    target = schemas.arrow_schema(StructType([schemas.PARTITION[name] for name in names]))
    makers = [_partition_columns(snapshot, following, codes) for snapshot, following in rows]
    columns = [
        pa.chunked_array(
            [makers_of[field.name]().cast(field.type) for makers_of in makers], field.type
        ).combine_chunks()
        for field in target
    ]
    return pa.Table.from_arrays(columns, schema=target)


def _partition_columns(
    snapshot: Snapshot, following: Snapshot | None, codes: Codes
) -> dict[str, Callable[[], pa.Array]]:
    """What makes each column of PARTITION for one snapshot."""
    table = snapshot.cluster.partitions
    coded = codes.broker_codes(snapshot.name)
    count = len(table)
    valid_from, valid_to = _validity(snapshot, following)
    time = pa.timestamp("us", tz="UTC")

    def topics() -> pa.Array:
        known = np.array([codes.topics[topic] for topic in table.topics], dtype=np.int32)
        return pa.array(known[table.topic] if count else np.zeros(0, dtype=np.int32))

    def lists(ragged: Ragged) -> pa.Array:
        return pa.ListArray.from_arrays(
            pa.array(ragged.offsets.astype(np.int32)),
            pa.array(coded(ragged.values).astype(np.int32)),
        )

    def times(value: int | None) -> pa.Array:
        mask = np.full(count, value is None)
        return pa.array(np.full(count, value or 0, dtype=np.int64), mask=mask).cast(time)

    def leaders() -> pa.Array:
        return pa.array(np.where(table.leader >= 0, coded(table.leader), 0).astype(np.int32))

    return {
        "cluster": lambda: pa.array(np.full(count, codes.clusters[snapshot.name], dtype=np.int32)),
        "topic": topics,
        "partition": lambda: pa.array(table.partition),
        "replicas": lambda: lists(table.placed),
        "leader": leaders,
        "isr": lambda: lists(table.isr),
        "bytes": lambda: pa.array(table.bytes, mask=table.bytes < 0),
        "valid_from": lambda: times(valid_from),
        "valid_to": lambda: times(valid_to),
    }


def _table(rows: Sequence[tuple[Any, ...]], schema: StructType) -> tuple[pa.Table, StructType]:
    target = schemas.arrow_schema(schema)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(target)
    arrays = [
        pa.array(column, type=field.type) for column, field in zip(columns, target, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=target), schema
