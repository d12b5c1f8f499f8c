"""A plan for every cluster of a fleet, each made by core's planner in some Spark task.

Goals, in order: every cluster has a row, with a plan or with the reason why there is none; a
cluster that cannot be planned stops nobody; one proof made here, and checked elsewhere.

```
snapshots  ->  tasks, so many at a time  ->  silver/planned     row, certificate, moves, file
                                         ->  gold/plan          one row per partition that changes
certificates  ->  Spark's own bound      ->  gold/plan_summary  one row per cluster, with the gap
```

A row says `planned`, `infeasible` where no placement keeps the rules, `refused` where a plan cannot
be asked for (replicas on the move, a live broker without rack, sizes that are not known), or
`failed` where planning broke. A task that ends with its process takes its round with it, so that
round's clusters are planned again, one by one. The cost that the gap is measured by is counted from
the moves, not taken from the planner.

What this does not do: choose a goal by itself; apply anything; write the plan files (the caller
does, from what is given back).
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.pandas.types import to_arrow_schema

from rackwise.core.errors import BytesLost
from rackwise.core.planning.model import BrokerGroup, Certificate, TopicPrice
from rackwise.pipeline import schemas
from rackwise.pipeline.fleet.tasks import in_tasks, task_count
from rackwise.pipeline.ingest.files import literally
from rackwise.pipeline.ingest.tables import write_arrow
from rackwise.pipeline.ingest.text import failure_line, spark_failures
from rackwise.pipeline.plans.certificate import Claims, bounds
from rackwise.pipeline.plans.task import failed, outcome, planned
from rackwise.pipeline.runtime.session import large_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from decimal import Decimal

    from pyspark.sql import Column, DataFrame, SparkSession

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import Snapshot
    from rackwise.pipeline.plans.task import Planning

LEAST_AT_ONCE, MOST_TIMES = 64, 20
"""Clusters are planned in at most so many rounds; a small fleet in one."""
STEP, PROOF = "gold: plans", "gold: proofs"
FILES = "plans"
HASH_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """`rows` of PLAN_SUMMARY in order of the cluster names.

    `files`: path -> content of the plan files.
    """

    goal: str
    rows: Sequence[Mapping[str, Any]]
    files: Mapping[str, bytes]


def rounds(snapshots: Sequence[Snapshot]) -> Iterator[Sequence[Snapshot]]:
    """The clusters that are planned at the same time, round by round."""
    size = max(LEAST_AT_ONCE, -(-len(snapshots) // MOST_TIMES))
    for first in range(0, len(snapshots), size):
        yield snapshots[first : first + size]


def plan_clusters(
    spark: SparkSession,
    fleet: Fleet,
    planning: Planning,
    folder: str,
    *,
    begin: Callable[[str, str], None] = lambda _step, _which: None,
) -> Plans:
    """Plan every cluster; tables are written below `folder`.

    `begin`: told the name of a step that begins, and which clusters it is about, empty for all.
    Raises `BytesLost` where a cluster has no row or two.
    """
    made = _made(spark, fleet, planning, f"{folder}/silver/planned", begin)
    with ThreadPoolExecutor(1) as beside:  # each of the two leaves Spark's cores idle for the most
        written = beside.submit(_moves(made).write.parquet, f"{folder}/gold/plan")
        told = _told(made)
        _check_conserved(fleet, told)
        begin(PROOF, "")
        rows = [
            _row(number, one, bound)
            for number, (one, bound) in enumerate(_bounded(spark, fleet, planning, told), start=1)
        ]
        written.result()
    columns = to_arrow_schema(schemas.PLAN_SUMMARY, timezone="UTC")
    table = pa.Table.from_pylist(rows, schema=columns)
    write_arrow(spark, table, f"{folder}/gold/plan_summary", schemas.PLAN_SUMMARY)
    content = {one["cluster"]: one["file"] for one in told}
    files = {row["file"]: content[row["cluster"]] for row in rows if row["file"] is not None}
    return Plans(goal=planning.goal_name, rows=rows, files=files)


def _made(
    spark: SparkSession,
    fleet: Fleet,
    planning: Planning,
    path: str,
    begin: Callable[[str, str], None],
) -> DataFrame:
    done, count, tasks = 0, len(fleet.latest), task_count(spark)
    for some in rounds(fleet.latest):
        is_all = len(some) == count
        begin(STEP, "" if is_all else f", clusters {done + 1} to {done + len(some)} of {count}")
        try:
            _write(spark, some, planning, path, tasks)
        except spark_failures():
            for one in some:
                _write_alone(spark, one, planning, path)
        done += len(some)
    return spark.read.schema(schemas.PLANNED).parquet(literally(path))


def _write(
    spark: SparkSession, some: Sequence[Snapshot], planning: Planning, path: str, tasks: int
) -> None:
    """The rows of these clusters, all of them or none."""
    rows = in_tasks(spark, some, tasks).mapInArrow(planned(planning), schemas.PLANNED)
    with large_batches(spark):
        rows.write.mode("append").parquet(path)


def _write_alone(spark: SparkSession, one: Snapshot, planning: Planning, path: str) -> None:
    """The row of one cluster, also where its planning takes its process down with it."""
    try:
        _write(spark, [one], planning, path, 1)
    except spark_failures() as error:
        row = failed(outcome(one.name, planning), f"its task ended: {failure_line(error)}")
        schema = to_arrow_schema(schemas.PLANNED, timezone="UTC")
        table = pa.Table.from_pylist([row], schema=schema)
        spark.createDataFrame(table, schemas.PLANNED).write.mode("append").parquet(path)


def _moves(made: DataFrame) -> DataFrame:
    """PLAN, in order of the cluster names, then in that of the plans."""
    each = made.select("cluster", F.posexplode("moved").alias("number", "move"))
    ordered = each.repartition(1).sortWithinPartitions("cluster", "number")
    return ordered.select("cluster", "number", "move.*").select(
        *(field.name for field in schemas.PLAN)
    )


def _told(made: DataFrame) -> list[dict[str, Any]]:
    """What the tasks made but the moves, in order of the cluster names; `cost` counted anew."""
    none = F.lit(0).cast("bigint")
    cost = F.aggregate("moved", none, lambda so_far, move: so_far + _cost(move))
    names = [name for name in made.columns if name != "moved"]
    table = made.select(*names, cost.alias("cost")).toArrow()
    rows: list[dict[str, Any]] = table.sort_by("cluster").to_pylist()
    return rows


def _cost(move: Column) -> Column:
    """What a move costs, by what the plan made small."""
    copies = F.size(F.array_except(move["after"], move["before"])).cast("bigint")
    nano = (move["usd"] * 10**9).cast("bigint")
    by_bytes = F.when(F.col("minimise") == "bytes", copies * move["bytes"])
    return by_bytes.when(F.col("minimise") == "usd", F.coalesce(nano, F.lit(0))).otherwise(copies)


def _check_conserved(fleet: Fleet, told: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what is not one row for each cluster."""
    wanted = Counter(snapshot.name for snapshot in fleet.latest)
    had = Counter(one["cluster"] for one in told)
    if wanted != had:
        raise BytesLost(
            f"expected one row of plans for each of {len(wanted)} clusters, got {had.total()}; "
            "nothing was published",
            wanted=len(wanted),
            had=had.total(),
            hint="this is a fault of Rackwise, not of your files; please report it",
        )


def _bounded(
    spark: SparkSession, fleet: Fleet, planning: Planning, told: Sequence[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], int | None]]:
    """What was told beside the bound that Spark gives; None where there is no plan."""
    claims = Claims(
        certificates={
            one["cluster"]: _certificate(one) for one in told if one["status"] == "planned"
        },
        goal=planning.goal,
        policy=planning.policy,
        parse=planning.parse,
        prices=planning.prices,
    )
    found: dict[str, Decimal | None] = {}
    if claims.certificates:
        rows = bounds(spark, fleet, claims).toArrow().to_pylist()
        found = {row["cluster"]: row["lower_bound"] for row in rows}
    for one in told:
        bound = found.get(one["cluster"])
        yield one, None if bound is None else int(bound)


def _certificate(one: Mapping[str, Any]) -> Certificate:
    return Certificate(
        objective=one["minimise"],
        unit="",
        groups=tuple(
            BrokerGroup(
                brokers=tuple(group["brokers"]),
                low=tuple(group["low"]),
                high=tuple(group["high"]),
                total=group["total"],
            )
            for group in one["groups"]
        ),
        cuts=(),
        prices={price["broker"]: price["price"] for price in one["prices"]},
        topic_prices=tuple(TopicPrice(**price) for price in one["topic_prices"]),
        lower_bound=0,
    )


def _row(number: int, one: Mapping[str, Any], bound: int | None) -> dict[str, Any]:
    row = {name: one.get(name) for name in schemas.PLAN_SUMMARY.fieldNames()}
    if one["status"] != "planned":
        return row | {"file": None}
    gap = None if bound is None else one["cost"] - bound
    is_proved = gap == 0 and one["is_sound"]
    return row | {
        "lower_bound": bound,
        "gap": gap,
        "verdict": "proved" if is_proved else "not proved" if gap is None else f"gap {gap}",
        "file": f"{FILES}/{number:04}-{one['sha256'][:HASH_DIGITS]}.json",
    }
