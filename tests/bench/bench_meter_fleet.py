"""The meter of a fleet on Spark: `python tests/bench/bench_meter_fleet.py [CLUSTERS]`.

Pair: flows between all consecutive snapshots of a fleet / strict read of the same files in Spark
tasks. Both start from the content of the files. The fleet has 20 clusters with 24 snapshots each;
500 of them need more than 24 GB, because the driver keeps each parsed snapshot.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pairs import compare
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.adapters.files import parse_snapshot, snapshot_bytes
from rackwise.core.fleet import FleetOptions, generate_fleet, iter_looks
from rackwise.core.fleet.world.options import MAX_CLUSTERS
from rackwise.pipeline.bill.meter import meter_flows, meter_runs
from rackwise.pipeline.engines.spark import SessionEngine
from rackwise.pipeline.fleet.snapshots import read_snapshots
from rackwise.pipeline.fleet.tasks import in_tasks
from rackwise.pipeline.runtime.session import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rackwise.core.model import Cluster, Group, GroupMember
    from rackwise.core.racks import Rack
    from rackwise.pipeline.fleet.snapshots import Snapshot

CLUSTERS, LOOKS, CORES, GATE = 20, 24, 2, 4
parse = partial(parse_snapshot, where="bench.json")


def contents(clusters: int) -> list[tuple[str, bytes]]:
    """The files of some generated fleets."""
    files = []
    for seed, first in enumerate(range(0, clusters, MAX_CLUSTERS)):
        some = min(MAX_CLUSTERS, clusters - first)
        options = FleetOptions(
            seed=seed, clusters=some, brokers=9, topics=40, flows=100_000, looks=LOOKS
        )
        files += [
            (f"c{number}-2026-11-01T{look:02}.json", snapshot_bytes(named(cluster, number)))
            for look, clusters_then in enumerate(iter_looks(generate_fleet(options)))
            for number, cluster in enumerate(clusters_then, start=first)
        ]
    return files


def named(cluster: Cluster, number: int) -> Cluster:
    """The cluster with an id of its own; fleets of several seeds have equal ids."""
    return replace(cluster, name=None, cluster_id=f"id-{number}")


def own_rack(_cluster: Cluster, _group: Group, member: GroupMember) -> Rack | None:
    """The rack that a member sends."""
    return member.rack


def metered(spark: SparkSession, files: list[tuple[str, bytes]]) -> None:
    """Read the files as `analyze` does, and sum the bytes of all flows."""
    snapshots, _ = read_snapshots(files, parse)
    flows = meter_flows(SessionEngine(spark), meter_runs(snapshots), parse, own_rack)
    flows.groupBy("kind").agg(F.sum("bytes")).collect()


def partitions_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The number of partitions in each file."""
    for batch in batches:
        counts = [
            len(parse(zlib.decompress(one)).partitions) for one in batch["packed"].to_pylist()
        ]
        yield pa.RecordBatch.from_pydict({"partitions": counts})


def scanned(spark: SparkSession, snapshots: tuple[Snapshot, ...]) -> None:
    """Read each file strictly, in tasks."""
    dealt = in_tasks(SessionEngine(spark), snapshots)
    rows = dealt.mapInArrow(partitions_of, "partitions long")
    rows.agg(F.sum("partitions")).collect()


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CLUSTERS
    files = contents(count)
    with session("rackwise-bench", master=f"local[{CORES}]", profile="batch") as spark:
        kept, _ = read_snapshots(files, parse)
        compare(
            f"meter of a fleet / strict read of its files on Spark, {count} clusters x {LOOKS}",
            partial(metered, spark, files),
            partial(scanned, spark, kept),
            gate=GATE,
            rounds=1,
        )
