"""The traffic of facts against a bare scan: `python tests/bench/bench_traffic.py [FACTS]`.

Pairs: the daily topic matrix, without and with the client group in its key, as a task makes it,
against reading the same columns and summing each; Parquet, one process, interleaved, one warm-up,
best of five. Rows and bytes of all are compared before anything is timed.

DuckDB makes the matrix as well, on the same files with one thread. It is a yardstick, not a gate.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import date
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb_process import DuckDB
from pairs import seconds, tell
from pyarrow import parquet

from rackwise import Broker, Cluster, Rack, Topic
from rackwise.core.model import PartitionTable, Ragged
from rackwise.pipeline.bill.coded_fleet import CodedFleet
from rackwise.pipeline.bill.traffic import FACT, ROW, columns_of, traffic_task
from rackwise.pipeline.columns.groups import summed_longs
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.snapshots import read_snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FACTS, FILES, ROUNDS = 5_000_000, 8, 5
GATE, GROUPS_GATE = 3.5, 5.0
BROKERS, TOPICS, RACKS = 60, 2_000, ("/eu/a", "/eu/b", "/eu/c")
GROUPS = 180
"""Client groups; of 5,000,000 facts they make hundreds of thousands of rows of the matrix."""
FIRST_IP = int(ip_network("10.0.0.0/8").network_address)
DAY = (date(2026, 11, 1) - date(1970, 1, 1)).days
ROWS = 2**15
"""Rows of a batch."""
COLUMNS = (
    *("day", "kind", "client_ip", "client_rack", "broker", "broker_rack", "peer", "peer_rack"),
    *("topic", "bytes"),
)
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


def write_facts(folder: Path, count: int) -> None:
    """Facts of one day: clients read and write, brokers copy; racks are codes from 1."""
    rng = np.random.Generator(np.random.PCG64(7))
    for number in range(FILES):
        rows = count * (number + 1) // FILES - count * number // FILES
        kind = rng.choice(np.array([0, 1, 1, 2], dtype=np.int8), rows)
        is_copy = kind == 2
        broker = rng.integers(1, BROKERS + 1, rows)
        peer = np.where(is_copy, rng.integers(1, BROKERS + 1, rows), 0)
        ip = FIRST_IP + rng.integers(0, 90 << 8, rows)
        columns = {
            "client_rack": np.where(is_copy, 0, (ip >> 8) % len(RACKS) + 1),
            "broker": broker,
            "broker_rack": (broker - 1) % len(RACKS) + 1,
            "peer": peer,
            "peer_rack": np.where(is_copy, (peer - 1) % len(RACKS) + 1, 0),
            "topic": np.minimum(rng.zipf(1.3, rows), TOPICS),
            "client": np.where(is_copy, 0, rng.integers(1, GROUPS + 1, rows)),
        }
        table = pa.table(
            {
                "day": np.full(rows, DAY, dtype=np.int32),
                "kind": kind,
                "client_ip": pa.array(ip, mask=is_copy),
                **{name: values.astype(np.int32) for name, values in columns.items()},
                "bytes": rng.integers(0, 1 << 30, rows),
            }
        )
        parquet.write_table(table, folder / f"part-{number}.parquet")


def batches(folder: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The facts as a task gets them."""
    for path in sorted(folder.glob("*.parquet")):
        with parquet.ParquetFile(path) as file:
            yield from file.iter_batches(ROWS, columns=[*names], use_threads=False)


def matrix(folder: Path, fleet: CodedFleet, names: Sequence[str]) -> tuple[int, int]:
    """Rows and bytes of the daily topic matrix of facts."""

    def prepared(batch: pa.RecordBatch) -> pa.Table:
        zeros = pa.array(np.zeros(batch.num_rows, dtype=np.int64))
        ones = pa.array(np.ones(batch.num_rows, dtype=np.int64))
        constant = {"cluster": ones, "source": ones}
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        return pa.table({name: columns.get(name, constant.get(name, zeros)) for name in FACT})

    parts = list(traffic_task(fleet, prepared)(batches(folder, names)))
    columns = columns_of(pa.Table.from_batches(parts), (*ROW, "bytes"))
    whole = summed_longs(columns, ROW)  # as `gold.bill_cluster` does
    return len(whole), sum(whole["bytes"].to_pylist())


def scan(folder: Path, names: Sequence[str]) -> None:
    """One sum over each of the columns."""
    for batch in batches(folder, names):
        for column in batch.columns:
            pc.sum(column)


def compare(folder: Path, count: int) -> None:
    """Check that all see the same bytes, then print the ratios of the best of five."""
    write_facts(folder, count)
    read, _ = read_snapshots([("bench.json", b"")], lambda _: cluster())
    fleet = fleet_of_snapshots(read, groups=[f"group-{i:03}" for i in range(GROUPS)])
    coded = CodedFleet.of(fleet)
    wanted = sum(sum(batch["bytes"].to_pylist()) for batch in batches(folder, ["bytes"]))
    plain, grouped = COLUMNS, (*COLUMNS, "client")
    rows, bytes_ = matrix(folder, coded, plain)
    group_rows, group_bytes = matrix(folder, coded, grouped)
    if {bytes_, group_bytes} != {wanted}:
        raise SystemExit(f"expected {wanted} bytes, got {bytes_} and {group_bytes} were found")
    with DuckDB(folder) as duck:
        if (had := duck.matrix()) != (rows, bytes_):
            raise SystemExit(f"DuckDB: expected {(rows, bytes_)}, got {had} was found")
        works = (
            *(partial(matrix, folder, coded, plain), partial(scan, folder, plain)),
            *(partial(matrix, folder, coded, grouped), partial(scan, folder, grouped)),
            duck.matrix,
        )
        for work in works:
            work()
        times = [[seconds(work) for work in works] for _ in range(ROUNDS)]
    ours, floor, groups, group_floor, peer = (min(column) for column in zip(*times, strict=True))
    told = ", ".join(f"{best:.2f}" for best in (ours, floor, groups, group_floor, peer))
    print(f"s: matrix, scan; with groups, scan; DuckDB: {told}", file=sys.stderr)
    tell(f"topic matrix / scan, {count:,} facts", ours / floor, gate=GATE)
    tell(
        f"the same with client groups, {group_rows:,} rows / scan",
        groups / group_floor,
        gate=GROUPS_GATE,
    )
    tell("topic matrix / DuckDB's, on the same files", ours / peer, gate=None)


if __name__ == "__main__":
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else FACTS
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), facts)
