"""Meters the traffic of a fleet from its snapshots: consecutive snapshots of a cluster are a pair.

`core.meter` computes a pair; here Spark tasks do that for hundreds of clusters with dozens of
snapshots each. A task gets the content of some consecutive snapshots of one cluster, parses each
once, and computes the pairs between them:

```
cluster a   08:00 09:00 10:00 .. 23:00      task 1: 08:00 .. 16:00, eight pairs
                                            task 2: 16:00 .. 23:00, seven pairs
cluster b   08:00 (no offsets) 09:00 10:00  task 3: 09:00 10:00, one pair
```

Only snapshots with offsets are paired. Bytes of a pair across midnight are divided by time. Flows
become facts with codes; what is not known is a row with a reason, never a fact of 0 bytes.

What this does not do: judge what is exact (`core.meter`); choose between sources (`gold`).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from rackwise.core.meter import REASONS, day_parts, look_pair, metered_flows
from rackwise.core.meter.flows import METERED_KINDS
from rackwise.core.meter.looks import moment_ms
from rackwise.pipeline.bill.traffic import FACT
from rackwise.pipeline.columns.addresses import NONE, PairIndex, address_number
from rackwise.pipeline.columns.clock import DAY_S
from rackwise.pipeline.columns.groups import whole_longs
from rackwise.pipeline.schemas import ESTIMATED, KINDS, METERED, SOURCES, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.meter import MeteredFlows
    from rackwise.core.model import Cluster
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf
    from rackwise.pipeline.fleet.snapshots import Snapshot
    from rackwise.pipeline.runtime.engine import Engine, Rows

SOURCE = SOURCES.index("meter")
MOST_PAIRS = 8
"""Pairs of one cluster in one task; a snapshot at the end of a task is parsed by the next, too."""
WINDOW = ("start_s", "window_s")
"""Columns of the facts of the meter besides those of `FACT`: the time between two snapshots."""
UNKNOWN = ("cluster_name", "kind", "topic_name", "client_group", "reason")
"""The columns that identify what is not known."""
KIND_CODES = np.array([KINDS.index(name) for name in METERED_KINDS])

_INPUT = StructType(
    [
        StructField("run", IntegerType()),
        StructField("cluster", StringType()),
        StructField("packed", ArrayType(BinaryType())),
    ]
)
METERED_FLOW = StructType(
    [
        StructField("cluster_name", StringType()),
        StructField("start_s", LongType()),
        StructField("window_s", IntegerType()),
        StructField("kind", ByteType()),
        StructField("quality", ByteType()),
        StructField("topic_name", StringType()),
        StructField("client_group", StringType()),
        StructField("client_ip", LongType()),
        StructField("client_path", StringType()),
        StructField("broker_id", IntegerType()),
        StructField("broker_path", StringType()),
        StructField("peer_id", IntegerType()),
        StructField("peer_path", StringType()),
        StructField("bytes", LongType()),
        StructField("reason", StringType()),
        StructField("partitions", LongType()),
    ]
)
"""A flow; or, with a reason, a number of partitions whose bytes are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterRun:
    """Consecutive snapshots of one cluster with offsets, oldest first; at least two."""

    cluster: str
    snapshots: tuple[Snapshot, ...]


def meter_runs(snapshots: Sequence[Snapshot]) -> tuple[MeterRun, ...]:
    """The snapshots with offsets, by cluster and in order of time, in runs of `MOST_PAIRS` pairs.

    Of two snapshots of one moment, one is used.
    """
    by_cluster: dict[str, dict[int, Snapshot]] = {}
    for one in sorted(snapshots, key=lambda one: (one.name, one.fingerprint)):
        if one.cluster.partitions.offsets is not None:
            by_cluster.setdefault(one.name, {})[moment_ms(one.cluster)] = one
    return tuple(
        MeterRun(cluster=name, snapshots=tuple(ordered[first : first + MOST_PAIRS + 1]))
        for name, looks in by_cluster.items()
        for ordered in [[looks[moment] for moment in sorted(looks)]]
        for first in range(0, len(ordered) - 1, MOST_PAIRS)
    )


def meter_flows(
    engine: Engine,
    runs: Sequence[MeterRun],
    parse: Callable[[bytes], Cluster],
    rack_of: RackOf,
) -> Rows:
    """METERED_FLOW of all pairs; `rack_of`: the rack of a member at the time of a snapshot."""
    rows = [
        {"run": number, "cluster": run.cluster, "packed": [one.packed for one in run.snapshots]}
        for number, run in enumerate(runs)
    ]
    table = pa.Table.from_pylist(rows, schema=arrow_schema(_INPUT))
    loads = [sum(len(one.packed) for one in run.snapshots) for run in runs]
    dealt = engine.dealt(table, _INPUT, loads=loads)
    return engine.map(dealt, _meter_task(parse, rack_of), METERED_FLOW)


def _meter_task(
    parse: Callable[[bytes], Cluster], rack_of: RackOf
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of a task: runs of snapshots in, rows of METERED_FLOW out."""

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for one in range(batch.num_rows):
                (run,) = batch.slice(one, 1).to_pylist()
                looks = (parse(zlib.decompress(packed)) for packed in run["packed"])
                for first, second in pairwise(looks):
                    yield from _pair_batches(run["cluster"], first, second, rack_of)

    return rows


def _pair_batches(
    name: str, first: Cluster, second: Cluster, rack_of: RackOf
) -> Iterator[pa.RecordBatch]:
    pair = look_pair(first, second)
    flows = metered_flows(pair, partial(rack_of, second), partial(rack_of, first))
    start_s, end_s = pair.start_ms // 1000, pair.end_ms // 1000
    for part in day_parts(flows.bytes, start_s, end_s):
        kept = np.flatnonzero(part.bytes > 0)
        constants = {"cluster_name": name, "start_s": part.start_s, "window_s": part.seconds}
        yield _batch(_flow_columns(flows, kept, part.bytes[kept]), constants, len(kept))
    unknown = flows.unmetered
    constants = {"cluster_name": name, "start_s": start_s, "window_s": max(1, end_s - start_s)}
    columns = {
        "kind": [KINDS.index(one.kind) for one in unknown],
        "topic_name": [one.topic for one in unknown],
        "client_group": [one.group for one in unknown],
        "reason": [REASONS[one.reason].name for one in unknown],
        "partitions": [one.partitions for one in unknown],
    }
    yield _batch(columns, constants, len(unknown))


def _flow_columns(
    flows: MeteredFlows, kept: NDArray[np.int64], bytes_: NDArray[np.int64]
) -> dict[str, Any]:
    numbers = np.array([address_number(text)[0] for text in flows.addresses], dtype=np.int64)
    ips = pa.array(numbers, mask=numbers == NONE)
    broker, peer = flows.broker[kept], flows.peer[kept]
    return {
        "kind": KIND_CODES[flows.kind[kept]],
        "quality": np.where(flows.is_exact[kept] == 1, METERED, ESTIMATED),
        "topic_name": _taken(pa.array(flows.topics, pa.string()), flows.topic[kept]),
        "client_group": _taken(pa.array(flows.groups, pa.string()), flows.group[kept]),
        "client_ip": _taken(ips, flows.address[kept]),
        "client_path": _taken(pa.array(flows.racks, pa.string()), flows.client_rack[kept]),
        "broker_id": pa.array(broker, mask=broker < 0),
        "broker_path": _taken(pa.array(flows.racks, pa.string()), flows.broker_rack[kept]),
        "peer_id": pa.array(peer, mask=peer < 0),
        "peer_path": _taken(pa.array(flows.racks, pa.string()), flows.peer_rack[kept]),
        "bytes": bytes_,
    }


def _taken(values: pa.Array, places: NDArray[np.int64]) -> pa.Array:
    """The values at these places; null for -1."""
    return values.take(pa.array(places, mask=places < 0))


def _batch(columns: Mapping[str, Any], constants: Mapping[str, Any], count: int) -> pa.RecordBatch:
    schema = arrow_schema(METERED_FLOW)
    arrays = [
        pa.array([constants[field.name]] * count, field.type)
        if field.name in constants
        else pa.array(columns.get(field.name, [None] * count)).cast(field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterNames:
    """Makes facts of the flows of the meter: names become codes; sent to tasks."""

    clusters: pa.Array
    """Names, sorted; the code of a name is its place + 1, in all of these arrays."""
    topics: pa.Array
    clients: pa.Array
    racks: pa.Array
    own_topics: PairIndex
    """(topic code, cluster code) of the topics of each cluster."""
    brokers: PairIndex
    """(broker id, cluster code) -> place of the broker."""
    days: tuple[int, int] | None
    """First and last day to keep, in days since 1970-01-01; None keeps all."""

    @classmethod
    def of(cls, fleet: Fleet, days: tuple[int, int] | None = None) -> MeterNames:
        """The codes of a fleet."""
        codes, names = fleet.codes, fleet.names
        own = [row for row in names.cluster_topics if row[0] in codes.clusters]
        return cls(
            clusters=pa.array(names.clusters, pa.string()),
            topics=pa.array(names.topics, pa.string()),
            clients=pa.array(names.clients, pa.string()),
            racks=pa.array(names.racks, pa.string()),
            own_topics=PairIndex(
                (codes.topics[topic] for _, topic in own),
                (codes.clusters[name] for name, _ in own),
            ),
            brokers=PairIndex(
                (id_ for _, id_ in names.brokers),
                (codes.clusters[name] for name, _ in names.brokers),
            ),
            days=days,
        )

    def facts(self, flows: pa.RecordBatch) -> pa.Table:
        """FACT and WINDOW of the rows of `meter_flows` with bytes; a code that is unknown is 0."""
        cluster = _codes(flows.column("cluster_name"), self.clusters)
        day = whole_longs(flows.column("start_s")) // DAY_S
        is_fact = whole_longs(pc.is_valid(flows.column("bytes"))) == 1
        is_fact &= cluster > 0
        if self.days is not None:
            is_fact &= (day >= self.days[0]) & (day <= self.days[1])
        kept = flows.filter(pa.array(is_fact))
        cluster, day = cluster[is_fact], day[is_fact]
        topic = _codes(kept.column("topic_name"), self.topics)
        is_own = self.own_topics.find(topic, cluster) >= 0
        columns = {
            "day": day,
            "cluster": cluster,
            "source": np.full(len(day), SOURCE),
            "client": _codes(kept.column("client_group"), self.clients),
            "topic": np.where(is_own, topic, 0),
            **{
                f"{end}_rack": _codes(kept.column(f"{end}_path"), self.racks)
                for end in ("client", "broker", "peer")
            },
            **{end: self._broker(kept.column(f"{end}_id"), cluster) for end in ("broker", "peer")},
        }
        as_is = {name: kept.column(name) for name in (*FACT, *WINDOW) if name not in columns}
        return pa.table({name: (columns | as_is)[name] for name in (*FACT, *WINDOW)})

    def _broker(self, ids: pa.Array, cluster: NDArray[np.int64]) -> NDArray[np.int64]:
        found = self.brokers.find(whole_longs(ids), cluster) + 1
        return np.where(whole_longs(pc.is_valid(ids)) == 1, found, 0)


def _codes(texts: pa.Array, names: pa.Array) -> NDArray[np.int64]:
    """The code of each name; 0 for null and for a name that has none."""
    found = pc.index_in(texts, value_set=names, skip_nulls=True)
    return whole_longs(pc.add(found.cast(pa.int64()), 1))


def unmetered_sums(flows: pa.RecordBatch) -> pa.Table:
    """What is not known: `UNKNOWN`, partitions (`most`) and seconds of each row of a batch."""
    unknown = flows.filter(pc.is_valid(flows.column("reason")))
    return pa.table(
        {
            **{name: unknown.column(name) for name in UNKNOWN},
            "most": unknown.column("partitions"),
            "seconds": unknown.column("window_s").cast(pa.int64()),
        }
    )


def unmetered_rows(unknown: pa.Table | None) -> list[dict[str, Any]]:
    """Rows of UNMETERED, by cluster, kind, topic and group; `unknown`: sums of `unmetered_sums`."""
    if unknown is None:
        return []
    texts = {reason.name: reason for reason in REASONS}

    def place(row: Mapping[str, Any]) -> list[tuple[bool, Any]]:
        return [(row[name] is not None, row[name]) for name in UNKNOWN]  # None comes first

    return [
        {
            "cluster": row["cluster_name"],
            "kind": KINDS[row["kind"]],
            "topic": row["topic_name"],
            "client_group": row["client_group"],
            "reason": row["reason"],
            "cause": texts[row["reason"]].cause,
            "cure": texts[row["reason"]].cure,
            "partitions": row["most"],
            "seconds": row["seconds"],
        }
        for row in sorted(unknown.to_pylist(), key=place)
    ]


def meter_period(runs: Sequence[MeterRun]) -> tuple[int, int]:
    """Start and end of the time that the runs cover, in seconds since 1970, UTC."""
    moments = [moment_ms(one.cluster) // 1000 for run in runs for one in run.snapshots]
    return min(moments), max(moments)
