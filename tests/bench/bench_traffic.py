"""The bill against a bare scan: `python tests/bench/bench_traffic.py [FACTS]`.

Pair: silver joins (broker, peer and client racks) and the daily topic matrix, against reading the
same columns and summing each; Parquet, two cores, interleaved, one warm-up, best of five. Rows and
bytes of both are compared before anything is timed.
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
from pairs import seconds, tell
from pyarrow import parquet
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise import Broker, Cluster, Rack, Topic
from rackwise.core.model import PartitionTable, Ragged
from rackwise.core.subnets import Subnet
from rackwise.pipeline.fleet import fleet_frames
from rackwise.pipeline.listeners import with_brokers
from rackwise.pipeline.racks import subnet_buckets, with_rack_of
from rackwise.pipeline.session import session
from rackwise.pipeline.traffic import traffic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.fleet import Fleet
    from rackwise.pipeline.racks import Buckets

FACTS, FILES, ROUNDS, GATE = 5_000_000, 8, 5, 3.5
BROKERS, TOPICS, RACKS = 60, 2_000, ("/eu/a", "/eu/b", "/eu/c")
FIRST_IP = int(ip_network("10.0.0.0/8").network_address)
DAY_S = 86_400
START = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp())
COLUMNS = ("window_start", "kind", "client_ip", "broker", "peer", "topic", "bytes")
"""What the job reads."""


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
                "bytes": rng.integers(0, 1 << 30, rows),
            }
        )
        parquet.write_table(table, folder / f"part-{number}.parquet")


def matrix(facts: DataFrame, fleet: Fleet, buckets: Buckets) -> DataFrame:
    """The daily topic matrix of facts that have no racks yet."""
    at = F.unix_seconds("window_start")
    rows = with_brokers(facts, fleet, F.col("broker"), at, into="_near")
    rows = with_brokers(rows, fleet, F.col("peer"), at, into="_far")
    rows = with_rack_of(
        rows, F.col("client_ip"), F.lit(None).cast("long"), buckets, into="client_rack"
    )
    zero = F.lit(0)
    return traffic(
        rows.withColumns(
            {
                "broker_rack": F.coalesce(F.col("_near.rack"), zero),
                "peer_rack": F.coalesce(F.col("_far.rack"), zero),
                "day": F.call_function("div", at, F.lit(DAY_S)),
                "cluster": F.lit(1),
                "source": F.lit(1),
                "quality": zero,
                "client": zero,
            }
        ),
        fleet,
    )


def scan(facts: DataFrame) -> DataFrame:
    """One sum over each of the columns."""
    sums = [
        F.sum(F.unix_seconds(name) if name == "window_start" else F.col(name)) for name in COLUMNS
    ]
    return facts.agg(*sums)


def run(df: DataFrame) -> None:
    """Compute all rows, keep none."""
    df.write.format("noop").mode("overwrite").save()


def compare(spark: SparkSession, folder: Path, count: int) -> None:
    """Check that both see the same bytes, then print the ratio of the best of five."""
    write_facts(folder, count)
    facts = spark.read.parquet(str(folder)).select(*COLUMNS)
    fleet = fleet_frames(spark, [("bench.json", b"")], lambda _: cluster())
    made = matrix(facts, fleet, subnet_buckets(subnets(), fleet.codes.racks))
    wanted = facts.agg(F.count("*"), F.sum("bytes")).collect()[0]
    had = made.agg(F.sum("bytes")).collect()[0][0]
    if (count, had) != tuple(wanted):
        raise SystemExit(f"{tuple(wanted)} is wanted; {(count, had)} was found")
    ours, floor = partial(run, made), partial(run, scan(facts))
    ours(), floor()
    times = [(seconds(ours), seconds(floor)) for _ in range(ROUNDS)]
    best = [min(column) for column in zip(*times, strict=True)]
    print(f"{best[0]:.2f} s, scan {best[1]:.2f} s", file=sys.stderr)
    tell(f"silver joins and topic matrix / scan, {count:,} facts", best[0] / best[1], gate=GATE)


if __name__ == "__main__":
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else FACTS
    with (
        tempfile.TemporaryDirectory() as folder,
        session("rackwise-bench", master="local[2]", profile="batch") as spark,
    ):
        compare(spark, Path(folder), facts)
