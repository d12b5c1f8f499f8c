"""Flow logs to facts against a bare scan: `python tests/bench/bench_flows.py [FLOWS]`.

Pairs: bronze to silver, that is `flow_fact` written and every row counted, from Parquet and from
text, against reading the columns that the job reads from Parquet and summing each; two cores,
interleaved, one warm-up, best of five. Rows and bytes are compared with the truth of the generated
logs before anything is timed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pairs import seconds, tell
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import StringType

from rackwise.adapters.files.flow_text import write_flow_text
from rackwise.core.fleet import Fleet as GeneratedFleet
from rackwise.core.fleet import FleetOptions, FlowFormat, flow_file, generated_fleet
from rackwise.core.subnets import parse_subnets
from rackwise.pipeline.fates import KEPT
from rackwise.pipeline.files import flow_files
from rackwise.pipeline.fleet import fleet_frames
from rackwise.pipeline.flows import flow_facts
from rackwise.pipeline.generate import write_flow_parquet
from rackwise.pipeline.racks import subnet_buckets
from rackwise.pipeline.schemas import VPC_REQUIRED
from rackwise.pipeline.session import session
from rackwise.pipeline.silver import counted, once_in, silver
from rackwise.pipeline.tables import bronze

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rackwise.pipeline.fates import Fates
    from rackwise.pipeline.fleet import Fleet
    from rackwise.pipeline.racks import Buckets

FLOWS, ROUNDS = 5_000_000, 5
GATES = {FlowFormat.VPC: 8, FlowFormat.VPC_TEXT: 25}
NAMES = {FlowFormat.VPC: "flow logs in Parquet", FlowFormat.VPC_TEXT: "flow logs as text"}
OPTIONAL = ("pkt_srcaddr", "pkt_dstaddr", "flow_direction")
"""Columns of version 5 that are read where they are there."""


def write_logs(fleet: GeneratedFleet, folder: Path) -> tuple[int, int]:
    """The flow logs of a fleet in a new folder; their rows, and the rows that are traffic."""
    folder.mkdir()
    rows = kept = 0
    for index in range(fleet.options.files):
        file, tally = flow_file(fleet, index)
        if fleet.options.flow_format is FlowFormat.VPC_TEXT:
            write_flow_text(folder / f"{file.name}.log", file)
        else:
            write_flow_parquet(folder / f"{file.name}.parquet", file)
        rows += sum(count for count, _ in tally.fates.values())
        kept += sum(count for (_, fate), (count, _) in tally.fates.items() if fate == KEPT)
    return rows, kept


def to_silver(spark: SparkSession, logs: Path, fleet: Fleet, buckets: Buckets) -> Fates:
    """The step of the job: facts written, all rows counted; what was written is removed."""
    with tempfile.TemporaryDirectory(dir=logs.parent) as folder:
        listed = flow_files(spark, [str(logs)])
        rows = bronze(spark, listed, "vpc")
        facts = flow_facts(rows, fleet, buckets, format="vpc", once=once_in(folder))
        return silver(facts, counts=counted(rows), files=listed, folder=folder).fates


def scan(spark: SparkSession, logs: Path) -> None:
    """One sum over each of the columns."""
    rows = spark.read.parquet(str(logs))
    names = [name.replace("_", "-") for name in (*VPC_REQUIRED, *OPTIONAL)]
    names = [name if name in rows.columns else name.replace("-", "_") for name in names]
    sums = [
        F.sum(F.length(name) if isinstance(rows.schema[name].dataType, StringType) else F.col(name))
        for name in names
    ]
    rows.agg(*sums).write.format("noop").mode("overwrite").save()


def compare(spark: SparkSession, folder: Path, count: int) -> None:
    """Check each format against its truth, then print the ratio of the best."""
    parquet = folder / "parquet"
    for flow_format, gate in GATES.items():
        options = FleetOptions(flows=count, flow_format=flow_format)
        generated = generated_fleet(options)
        logs = parquet if flow_format is FlowFormat.VPC else folder / "text"
        wanted = write_logs(generated, logs)
        (snapshot,) = generated.clusters
        lines = [f"{cidr},{rack}" for cidr, rack in generated.subnets]
        subnets = parse_subnets("\n".join(lines))
        fleet = fleet_frames(spark, [("bench.json", b"")], lambda _, made=snapshot: made)
        buckets = subnet_buckets(subnets, fleet.codes.racks)
        fates = to_silver(spark, logs, fleet, buckets)
        if (had := (fates.rows_in, fates.rows_of(KEPT))) != wanted:
            raise SystemExit(f"{wanted} is wanted; {had} was found")
        ours, floor = partial(to_silver, spark, logs, fleet, buckets), partial(scan, spark, parquet)
        floor()
        times = [(seconds(ours), seconds(floor)) for _ in range(ROUNDS)]
        best = [min(column) for column in zip(*times, strict=True)]
        print(f"{best[0]:.2f} s, scan {best[1]:.2f} s", file=sys.stderr)
        pair = f"{NAMES[flow_format]} to silver / scan, {wanted[0]:,} rows"
        tell(pair, best[0] / best[1], gate=gate)
        if logs != parquet:
            shutil.rmtree(logs)


if __name__ == "__main__":
    flows = int(sys.argv[1]) if len(sys.argv) > 1 else FLOWS
    with (
        tempfile.TemporaryDirectory() as folder,
        session("rackwise-bench", master="local[2]", profile="batch") as spark,
    ):
        compare(spark, Path(folder), flows)
