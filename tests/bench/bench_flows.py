"""Flows to facts against a bare scan: `python tests/bench/bench_flows.py [FLOWS] [FORMAT]..`.

Pairs: bronze to silver (writing `flow_sum`, counting every row and, for canonical flows,
collecting the names) against reading the columns that the job reads from Parquet and summing each;
two cores, interleaved, one warm-up, best of five. Rows and bytes are compared with the truth of the
generated flows before anything is timed. Formats are canonical, vpc (Parquet) and vpc-text.
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
from pyspark.sql.types import StringType, TimestampType

from rackwise.adapters.files.tables.flow_text import write_flow_text
from rackwise.core.fleet import FleetOptions, FlowFormat, GeneratedFleet, flow_file, generate_fleet
from rackwise.core.subnets import parse_subnets
from rackwise.pipeline.engines.spark import SessionEngine
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.snapshots import read_snapshots
from rackwise.pipeline.fleet.subnet_racks import subnet_buckets
from rackwise.pipeline.ingest.files import flow_files
from rackwise.pipeline.ingest.formats import input_format, read_bronze
from rackwise.pipeline.ingest.formats.base import FactOptions
from rackwise.pipeline.ingest.generate import flow_parquet
from rackwise.pipeline.ingest.row_outcomes import KEPT
from rackwise.pipeline.ingest.silver import write_silver
from rackwise.pipeline.runtime.session import session
from rackwise.pipeline.schemas import FLOW_INPUT, VPC_REQUIRED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import DataType

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.row_outcomes import RowOutcomes

FLOWS, ROUNDS = 5_000_000, 5
GATES = {FlowFormat.CANONICAL: 8, FlowFormat.VPC: 4, FlowFormat.VPC_TEXT: 8}
NAMES = {
    FlowFormat.CANONICAL: "canonical flows",
    FlowFormat.VPC: "flow logs in Parquet",
    FlowFormat.VPC_TEXT: "flow logs as text",
}
VPC = (*VPC_REQUIRED, "pkt_srcaddr", "pkt_dstaddr", "flow_direction")
"""Columns of version 5 that are read."""


def write_flows(fleet: GeneratedFleet, folder: Path) -> tuple[int, int]:
    """Write the flows of a fleet to a new folder; returns all rows and the traffic rows."""
    folder.mkdir()
    rows = kept = 0
    for index in range(fleet.options.files):
        file, tally = flow_file(fleet, index)
        if fleet.options.flow_format is FlowFormat.VPC_TEXT:
            write_flow_text(folder / f"{file.name}.log", file)
        else:
            (folder / f"{file.name}.parquet").write_bytes(flow_parquet(file))
        rows += sum(count for count, _ in tally.outcomes.values())
        kept += sum(count for (_, outcome), (count, _) in tally.outcomes.items() if outcome == KEPT)
    return rows, kept


def to_silver(
    spark: SparkSession, flows: Path, form: FlowFormat, fleet: Fleet, buckets: Buckets
) -> RowOutcomes:
    """The step of the job: facts written, all rows counted; the result is removed."""
    read_as = "canonical" if form is FlowFormat.CANONICAL else "vpc"
    with tempfile.TemporaryDirectory(dir=flows.parent) as folder:
        listed = flow_files(spark, [str(flows)])
        rows = read_bronze(spark, listed, read_as)
        input_format(read_as).names(rows)
        options = FactOptions()
        given = input_format(read_as).fact_input(rows, fleet, buckets, options)
        return write_silver(
            SessionEngine(spark),
            given,
            fleet,
            options,
            format=read_as,
            files=listed,
            folder=folder,
        ).outcomes


def scan(spark: SparkSession, flows: Path, columns: Sequence[str]) -> None:
    """One sum over each of the columns."""
    rows = spark.read.parquet(str(flows))
    names = [name if name in rows.columns else name.replace("_", "-") for name in columns]
    sums = [F.sum(number(rows.schema[name].dataType, name)) for name in names]
    rows.agg(*sums).write.format("noop").mode("overwrite").save()


def number(kind: DataType, name: str) -> Column:
    """A column as a number that can be summed."""
    if isinstance(kind, StringType):
        return F.length(name)
    return F.unix_seconds(name) if isinstance(kind, TimestampType) else F.col(name)


def compare(spark: SparkSession, folder: Path, count: int, forms: Sequence[FlowFormat]) -> None:
    """Check each format against its truth, then print the ratio of the best times."""
    for form in forms:
        generated = generate_fleet(FleetOptions(flows=count, flow_format=form))
        flows = scanned = folder / form.value
        wanted = write_flows(generated, flows)
        if form is FlowFormat.VPC_TEXT:
            scanned = folder / "as-parquet"
            write_flows(generate_fleet(FleetOptions(flows=count)), scanned)
        (snapshot,) = generated.clusters
        lines = [f"{cidr},{rack}" for cidr, rack in generated.subnets]
        subnets = parse_subnets("\n".join(lines))
        read, _ = read_snapshots([("bench.json", b"")], lambda _, made=snapshot: made)
        fleet = fleet_of_snapshots(read)
        buckets = subnet_buckets(subnets, fleet.codes.racks)
        outcomes = to_silver(spark, flows, form, fleet, buckets)
        if (had := (outcomes.rows_in, outcomes.rows_of(KEPT))) != wanted:
            raise SystemExit(f"expected {wanted}, got {had} was found")
        columns = FLOW_INPUT.names if form is FlowFormat.CANONICAL else VPC
        ours = partial(to_silver, spark, flows, form, fleet, buckets)
        floor = partial(scan, spark, scanned, columns)
        floor()
        times = [(seconds(ours), seconds(floor)) for _ in range(ROUNDS)]
        best = [min(column) for column in zip(*times, strict=True)]
        print(f"{best[0]:.2f} s, scan {best[1]:.2f} s", file=sys.stderr)
        pair = f"{NAMES[form]} to silver / scan, {wanted[0]:,} rows"
        tell(pair, best[0] / best[1], gate=GATES[form])
        for made in {flows, scanned}:
            shutil.rmtree(made)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else FLOWS
    forms = [FlowFormat(word) for word in sys.argv[2:]] or list(GATES)
    with (
        tempfile.TemporaryDirectory() as folder,
        session("rackwise-bench", master="local[2]", profile="batch") as spark,
    ):
        compare(spark, Path(folder), count, forms)
