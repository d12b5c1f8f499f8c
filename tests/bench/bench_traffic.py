"""The bill against a bare scan: `python tests/bench/bench_traffic.py [FACTS]`.

Pairs: silver joins (broker, peer and client racks) and the daily topic matrix, without and with the
client group in its key, against reading the same columns and summing each; Parquet, two cores,
interleaved, one warm-up, best of five. Rows and bytes of all are compared before anything is timed.

DuckDB does the first of them as well, on the same files with as many threads. It is a yardstick,
not a gate: with this much data one machine without Spark is faster.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from duckdb_process import DuckDB
from pairs import seconds, tell
from pyarrow import parquet
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise import Broker, Cluster, Rack, Topic
from rackwise.core.model import PartitionTable, Ragged
from rackwise.core.subnets import Subnet
from rackwise.pipeline.bill.traffic import traffic
from rackwise.pipeline.fleet.fleet import frames
from rackwise.pipeline.fleet.snapshots import read_snapshots
from rackwise.pipeline.fleet.subnet_racks import subnet_buckets, with_rack_of
from rackwise.pipeline.runtime.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets

FACTS, FILES, ROUNDS = 5_000_000, 8, 5
GATE, GROUPS_GATE = 3.5, 5.0
BROKERS, TOPICS, RACKS = 60, 2_000, ("/eu/a", "/eu/b", "/eu/c")
GROUPS = 180
"""Client groups; of 5,000,000 facts they make some 1.1 million rows of the matrix."""
FIRST_IP = int(ip_network("10.0.0.0/8").network_address)
DAY_S = 86_400
START = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp())
COLUMNS = ("window_start", "kind", "client_ip", "broker", "peer", "topic", "bytes")
"""What the job reads; with the client group in the key it reads `client` too."""


def cluster() -> Cluster:
    """Brokers over three racks; one partition per topic is enough to give it a code."""
    topics = tuple(f"topic-{i:04d}" for i in range(TOPICS))
    rows = np.arange(TOPICS, dtype=np.int32)
    leader = (rows % BROKERS).astype(np.int32)
    lists = Ragged(np.arange(TOPICS + 1, dtype=np.int64), leader)
    nothing = Ragged.empty(TOPICS)
    unknown = np.full(TOPICS, -1, dtype=np.int64)
    return Cluster(
        cluster_id="bench",
        taken_at="2026-10-01T00:00:00Z",
        brokers=tuple(Broker(id=i, rack=Rack(RACKS[i % len(RACKS)])) for i in range(BROKERS)),
        topics={name: Topic(name=name) for name in topics},
        partitions=PartitionTable(
            topics=topics,
            topic=rows,
            partition=np.zeros(TOPICS, dtype=np.int32),
            leader=leader,
            replicas=lists,
            isr=lists,
            adding=nothing,
            removing=nothing,
            bytes=unknown,
            bytes_in_per_s=unknown,
        ),
    )


def subnets() -> list[Subnet]:
    """Ninety /24 and thirty /20, as in a grown network."""
    fine = [ip_network((FIRST_IP + (i << 8), 24)) for i in range(90)]
    coarse = [ip_network((FIRST_IP + (1 << 20) + (i << 12), 20)) for i in range(30)]
    return [
        Subnet(network=network, rack=Rack(RACKS[i % len(RACKS)]))
        for i, network in enumerate([*fine, *coarse])
    ]


def write_facts(folder: Path, count: int) -> None:
    """Facts of one day: clients read and write, brokers copy; every client is in a subnet."""
    rng = np.random.Generator(np.random.PCG64(7))
    for number in range(FILES):
        rows = count * (number + 1) // FILES - count * number // FILES
        kind = rng.choice(np.array([0, 1, 1, 2], dtype=np.int8), rows)
        is_copy = kind == 2
        ip = FIRST_IP + rng.integers(0, 90 << 8, rows)
        start = (START + rng.integers(0, DAY_S, rows)) * 1_000_000
        table = pa.table(
            {
                "window_start": pa.array(start).cast(pa.timestamp("us", tz="UTC")),
                "kind": kind,
                "client_ip": pa.array(ip, mask=is_copy),
                "broker": rng.integers(1, BROKERS + 1, rows).astype(np.int32),
                "peer": np.where(is_copy, rng.integers(1, BROKERS + 1, rows), 0).astype(np.int32),
                "topic": np.minimum(rng.zipf(1.3, rows), TOPICS).astype(np.int32),
                "client": np.where(is_copy, 0, rng.integers(1, GROUPS + 1, rows)).astype(np.int32),
                "bytes": rng.integers(0, 1 << 30, rows),
            }
        )
        parquet.write_table(table, folder / f"part-{number}.parquet")


def matrix(facts: DataFrame, fleet: Fleet, buckets: Buckets) -> DataFrame:
    """The daily topic matrix of facts that have no racks yet."""
    at = F.unix_seconds("window_start")
    rows = facts
    for end in ("broker", "peer"):
        known = fleet.brokers.select(F.col("broker").alias(end), F.col("rack").alias(f"_{end}"))
        rows = rows.join(F.broadcast(known), end, "left")
    rows = with_rack_of(
        rows, F.col("client_ip"), F.lit(None).cast("long"), buckets, into="client_rack"
    )
    zero = F.lit(0)
    return traffic(
        rows.withColumns(
            {
                "broker_rack": F.coalesce("_broker", zero),
                "peer_rack": F.coalesce("_peer", zero),
                "day": F.call_function("div", at, F.lit(DAY_S)),
                "cluster": F.lit(1),
                "source": F.lit(1),
                "quality": zero,
                "client": F.col("client") if "client" in facts.columns else zero,
            }
        ),
        fleet,
    )


def scan(facts: DataFrame) -> DataFrame:
    """One sum over each of the columns."""
    sums = [
        F.sum(F.unix_seconds(name) if name == "window_start" else F.col(name))
        for name in facts.columns
    ]
    return facts.agg(*sums)


def run(df: DataFrame) -> None:
    """Compute all rows, keep none."""
    df.write.format("noop").mode("overwrite").save()


def checked(facts: DataFrame, made: DataFrame) -> tuple[int, int]:
    """Rows and bytes of a matrix, if its bytes are those of the facts."""
    wanted = facts.agg(F.sum("bytes")).collect()[0][0]
    rows, had = made.agg(F.count("*"), F.sum("bytes")).collect()[0]
    if wanted != had:
        raise SystemExit(f"expected {wanted} bytes, got {had} were found")
    return rows, had


def compare(spark: SparkSession, folder: Path, count: int) -> None:
    """Check that all see the same bytes, then print the ratios of the best of five."""
    write_facts(folder, count)
    written = spark.read.parquet(str(folder))
    read, _ = read_snapshots([("bench.json", b"")], lambda _: cluster())
    fleet = frames(spark, read, groups=[f"group-{i:03}" for i in range(GROUPS)])
    nets = subnets()
    buckets = subnet_buckets(nets, fleet.codes.racks)
    plain, grouped = written.select(*COLUMNS), written.select(*COLUMNS, "client")
    made, with_groups = matrix(plain, fleet, buckets), matrix(grouped, fleet, buckets)
    rows, bytes_ = checked(plain, made)
    group_rows, _ = checked(grouped, with_groups)
    with DuckDB(folder, rack_of, nets) as duck:
        if (had := duck.matrix()) != (rows, bytes_):
            raise SystemExit(f"DuckDB: expected {(rows, bytes_)}, got {had} was found")
        works = (
            *(partial(run, made), partial(run, scan(plain))),
            *(partial(run, with_groups), partial(run, scan(grouped))),
            duck.matrix,
        )
        for work in works:
            work()
        times = [[seconds(work) for work in works] for _ in range(ROUNDS)]
    ours, floor, groups, group_floor, peer = (min(column) for column in zip(*times, strict=True))
    told = ", ".join(f"{best:.2f}" for best in (ours, floor, groups, group_floor, peer))
    print(f"s: matrix, scan; with groups, scan; DuckDB: {told}", file=sys.stderr)
    tell(f"silver joins and topic matrix / scan, {count:,} facts", ours / floor, gate=GATE)
    tell(
        f"the same with client groups, {group_rows:,} rows / scan",
        groups / group_floor,
        gate=GROUPS_GATE,
    )
    tell("silver joins and topic matrix / DuckDB's, on the same files", ours / peer, gate=None)


def rack_of(broker: int) -> int:
    """Rank of a broker's rack."""
    return broker % len(RACKS)


if __name__ == "__main__":
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else FACTS
    with (
        tempfile.TemporaryDirectory() as folder,
        session("rackwise-bench", master="local[2]", profile="batch") as spark,
    ):
        compare(spark, Path(folder), facts)
