"""Plans of a fleet, their proofs, and the way to Python: `python tests/bench/bench_fleet.py`.

Pairs: facts through a Python function with our Arrow conf / with Spark's own; the bound of a
certificate added up by Spark / by numpy; fifty clusters planned and proved on Spark / by core, one
after another, as if it used all cores. Bounds, rows and moves of the two sides are compared.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pairs import seconds, tell
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import LongType, TimestampType

sys.path.insert(0, str(Path(__file__).parents[1]))

from planner_vectors import generated_cluster
from rackwise.adapters import files
from rackwise.core.fleet import FleetOptions, Shape, generate_fleet
from rackwise.core.planning.model import Balance, BrokerGroup, Certificate
from rackwise.core.planning.plan import plan
from rackwise.core.planning.proof.certificate import lower_bound
from rackwise.core.policy import Policy
from rackwise.pipeline.engines.spark import SessionEngine
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.snapshots import read_snapshots
from rackwise.pipeline.plans.certificate import BoundInputs, lower_bounds
from rackwise.pipeline.plans.fleet_plans import plan_clusters
from rackwise.pipeline.plans.task import Planning
from rackwise.pipeline.runtime.session import large_batches, session
from rackwise.pipeline.schemas import FLOW_FACT

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructField

    from rackwise.core.model import Cluster

CORES, ROUNDS = 2, 5
HOP_ROWS, CODES = 5_000_000, 100
HOP_GATE, BOUND_GATE, FLEET_GATE = 1 / 3, 20, 1.5
BROKERS, RACKS, PARTITIONS = 300, 5, 1_000_000
CLUSTERS = FleetOptions(clusters=50, brokers=24, topics=40, shape=Shape.RANDOM)
START_S = 5
"""What a fleet may take beyond its planning."""


def through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The first row of each batch: all rows go to Python, few return."""
    for batch in batches:
        yield batch.slice(0, 1)


def hop(spark: SparkSession) -> None:
    """Facts passed to Python in large batches, and in those that Spark makes by default."""
    facts = spark.range(HOP_ROWS).select(*map(fact_column, FLOW_FACT.fields))
    there = facts.mapInArrow(through, facts.schema)

    def large() -> None:
        with large_batches(spark):
            run(there)

    large(), run(there)
    times = [(seconds(large), seconds(partial(run, there))) for _ in range(ROUNDS)]
    ours, default = (min(column) for column in zip(*times, strict=True))
    say("hop", ours, default)
    pair = f"facts to Python, our Arrow conf / Spark's own, {HOP_ROWS:,} rows"
    tell(pair, ours / default, gate=HOP_GATE)


def fact_column(field: StructField) -> Column:
    """A column like that of facts, quickly made: moments and other longs grow, codes recur."""
    number = F.col("id")
    if isinstance(field.dataType, TimestampType):
        return F.timestamp_seconds(number).alias(field.name)
    whole = number if isinstance(field.dataType, LongType) else number % CODES
    return whole.cast(field.dataType).alias(field.name)


def run(df: DataFrame) -> None:
    """Compute all rows, keep none."""
    df.write.format("noop").mode("overwrite").save()


def certificate(cluster: Cluster) -> Certificate:
    """Prices that no solver found: any prices give a bound."""
    ids = tuple(broker.id for broker in cluster.brokers)
    least, more = divmod(len(cluster.partitions.replicas.values), len(ids))
    low, high = (least,) * len(ids), (least + (more > 0),) * len(ids)
    total = least * len(ids) + more
    return Certificate(
        objective="moves",
        unit="replicas",
        groups=(BrokerGroup(brokers=ids, low=low, high=high, total=total),),
        cuts=(),
        prices={id_: id_ % 3 - 1 for id_ in ids},
        lower_bound=0,
    )


def proof(spark: SparkSession) -> None:
    """The bound of one certificate over a million partitions."""
    cluster = generated_cluster("random", BROKERS, RACKS, PARTITIONS, 3)
    read, _ = read_snapshots([("bench.json", b"")], lambda _: cluster)
    fleet, told = fleet_of_snapshots(read), certificate(cluster)
    claims = BoundInputs(
        certificates={read[0].name: told},
        goal=Balance(),
        policy=Policy(),
        parse=lambda _: cluster,
    )

    def by_spark() -> int:
        (bound,) = lower_bounds(SessionEngine(spark), fleet, claims).values()
        return bound

    by_numpy = partial(lower_bound, cluster, Policy(), told)
    if (had := by_spark()) != (wanted := by_numpy()):
        raise SystemExit(f"expected a bound of {wanted}, got {had} was found")
    times = [(seconds(by_spark), seconds(by_numpy)) for _ in range(ROUNDS)]
    ours, peer = (min(column) for column in zip(*times, strict=True))
    say("bound", ours, peer)
    pair = f"bound by Spark / by numpy, {PARTITIONS:,} x {BROKERS} in {RACKS} racks"
    tell(pair, ours / peer, gate=BOUND_GATE)


def fleet(spark: SparkSession, folder: Path) -> None:
    """Plans and proofs of fifty clusters."""
    clusters = generate_fleet(CLUSTERS).clusters
    parse = partial(files.parse_snapshot, where="a snapshot")
    contents = [(f"{number}.json", files.snapshot_bytes(c)) for number, c in enumerate(clusters)]
    made = fleet_of_snapshots(read_snapshots(contents, parse)[0])
    planning = Planning(goal_name="repair", parse=parse, sealed=files.sealed_for)

    def on_spark() -> int:
        with tempfile.TemporaryDirectory(dir=folder) as tables:
            plans = plan_clusters(SessionEngine(spark), made, planning, tables)
            return sum(row["moves"] for row in plans.rows)

    def by_core() -> int:
        found = (plan(cluster, Policy(), planning.goal) for cluster in clusters)
        return sum(one.totals.moves for one in found)

    if (had := on_spark()) != (wanted := by_core()):
        raise SystemExit(f"expected {wanted} moves, got {had} were found")
    times = [(seconds(on_spark), seconds(by_core) / CORES) for _ in range(ROUNDS)]
    ours, peer = (min(column) for column in zip(*times, strict=True))
    say("fleet", ours, peer)
    pair = f"{len(clusters)} clusters planned on Spark, less {START_S} s / by core on {CORES} cores"
    tell(pair, max(0, ours - START_S) / peer, gate=FLEET_GATE)


def say(name: str, ours: float, peer: float) -> None:
    """Print the seconds."""
    print(f"{name}: {ours:.2f} s, {peer:.2f} s", file=sys.stderr)


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as folder,
        session("rackwise-bench", master=f"local[{CORES}]", profile="batch") as spark,
    ):
        hop(spark)
        proof(spark)
        fleet(spark, Path(folder))
