"""Plans every cluster of a fleet, each by core's planner in a Spark task.

Goals, in order: every cluster has a row, with a plan or with the reason for having none; a cluster
that cannot be planned does not affect the others; each proof is checked by other code than the code
that created it.

```
snapshots  ->  tasks, in rounds           ->  silver/planned     row, certificate, moves, file
                                         ->  gold/plan          one row per partition that changes
certificates  ->  bounds from Spark      ->  gold/plan_summary  one row per cluster, with the gap
```

The status of a row is `planned`; `infeasible` where no placement satisfies the rules; `refused`
where a plan is not possible yet (running reassignments, a live broker without rack, unknown sizes);
or `failed` where planning broke. When the process of a task dies, its round fails, and the clusters
of that round are planned again, one by one. The gap uses a cost that is counted from the moves, not
the planner's own.

Rates. A plan is created from the last snapshot alone, so that its proof needs no other file. If
that snapshot has offsets and no rates, the monthly change of the row is computed with the growth
since the earliest snapshot of the day before it:

```
snapshots of a cluster    06:00   07:00 ..  next day 05:00   06:00     rates 06:00 -> next day 06:00
```

What this does not do: choose a goal; apply anything; write plan files (the caller writes the
returned content).
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import LongType, StructField, StructType

from rackwise.core.errors import BytesLost
from rackwise.core.meter.looks import moment_ms
from rackwise.core.planning.model import BrokerGroup, Certificate, TopicPrice
from rackwise.pipeline import schemas
from rackwise.pipeline.columns.arrays import as_batch
from rackwise.pipeline.fleet.tasks import in_tasks
from rackwise.pipeline.plans.certificate import BoundInputs, lower_bounds
from rackwise.pipeline.plans.moved_rows import moves_cost
from rackwise.pipeline.plans.task import empty_row, failed_row, plan_task
from rackwise.pipeline.runtime.failures import failure_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import Snapshot
    from rackwise.pipeline.plans.task import Planning
    from rackwise.pipeline.runtime.engine import Engine, Rows

LEAST_AT_ONCE, MOST_TIMES = 64, 20
"""Clusters per round, at least, and number of rounds, at most; a small fleet needs one round."""
STEP, PROOF = "gold: plans", "gold: proofs"
FILES = "plans"
HASH_DIGITS = 8
DAY_MS = 86_400_000
OUTCOME = StructType(
    [
        *(field for field in schemas.PLANNED.fields if field.name != "moved"),
        StructField("cost", LongType()),
    ]
)
"""A row of PLANNED without moves, and their cost."""
MOVED = StructType([schemas.PLANNED[name] for name in ("cluster", "moved")])
"""The moves of a row of PLANNED; the plan file beside them is as large and is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """The plans of all clusters."""

    goal: str
    rows: Sequence[Mapping[str, Any]]
    """PLAN_SUMMARY, in order of the cluster names."""
    files: Mapping[str, bytes]
    """Path -> content of the plan files."""


def rounds(snapshots: Sequence[Snapshot]) -> Iterator[Sequence[Snapshot]]:
    """The clusters that are planned at the same time, round by round."""
    size = max(LEAST_AT_ONCE, -(-len(snapshots) // MOST_TIMES))
    for first in range(0, len(snapshots), size):
        yield snapshots[first : first + size]


def plan_clusters(
    engine: Engine,
    fleet: Fleet,
    planning: Planning,
    folder: str,
    *,
    snapshots: Sequence[Snapshot] = (),
    begin: Callable[[str, str], None] = lambda _step, _which: None,
) -> Plans:
    """Plan every cluster; tables are written below `folder`.

    `snapshots`: all that were read, for rates. `begin` is called with the name of each step and its
    clusters, an empty text for all of them.
    Raises `BytesLost` where a cluster has no row or two rows.
    """
    earlier = growth_starts(fleet.latest, snapshots)
    if engine.is_this_process:
        tables = {one.name: one.cluster.partitions for one in fleet.latest}
        planning = replace(planning, tables=tables)
    tasks = _Tasks(engine, planning, f"{folder}/silver/planned", earlier)
    _plan_in_rounds(tasks, fleet, begin)
    with ThreadPoolExecutor(1) as beside:  # neither of the two jobs uses all of Spark's cores
        moved = engine.map(engine.read(tasks.path, MOVED), moves, schemas.PLAN)
        written = beside.submit(
            engine.write, moved, f"{folder}/gold/plan", schemas.PLAN, one_file=("cluster",)
        )
        if engine.is_this_process:
            written.result()  # the two jobs would not be faster at once, and take more memory
        outcomes = _outcomes(engine, engine.read(tasks.path, schemas.PLANNED))
        _check_conserved(fleet, outcomes)
        begin(PROOF, "")
        rows = [
            _summary_row(number, one, bound)
            for number, (one, bound) in enumerate(
                _with_bounds(engine, fleet, planning, outcomes), start=1
            )
        ]
        written.result()
    columns = schemas.arrow_schema(schemas.PLAN_SUMMARY)
    table = pa.Table.from_pylist(rows, schema=columns)
    engine.save(table, f"{folder}/gold/plan_summary", schemas.PLAN_SUMMARY)
    content = {one["cluster"]: one["file"] for one in outcomes}
    files = {row["file"]: content[row["cluster"]] for row in rows if row["file"] is not None}
    return Plans(goal=planning.goal_name, rows=rows, files=files)


def growth_starts(
    latest: Sequence[Snapshot], snapshots: Sequence[Snapshot]
) -> Mapping[str, Snapshot]:
    """Cluster -> the earliest snapshot with offsets in the day before its last one.

    Only clusters whose last snapshot has offsets. `snapshots`: in any order.
    """
    starts: dict[str, Snapshot] = {}
    ends = {one.name: one for one in latest if one.cluster.partitions.offsets is not None}
    for one in sorted(snapshots, key=lambda one: (one.taken_at, one.fingerprint)):
        end = ends.get(one.name)
        if end is None or one.cluster.partitions.offsets is None:
            continue
        before_ms = moment_ms(end.cluster) - moment_ms(one.cluster)
        if 0 < before_ms <= DAY_MS:
            starts.setdefault(one.name, one)
    return starts


@dataclass(frozen=True, slots=True)
class _Tasks:
    """Starts tasks that plan clusters."""

    engine: Engine
    planning: Planning
    path: str
    """Of the table that the rows are added to."""
    earlier: Mapping[str, Snapshot]
    """The result of `growth_starts`."""

    def write(self, some: Sequence[Snapshot], *, is_alone: bool = False) -> None:
        """Write the rows of these clusters, all of them or none."""
        inputs = in_tasks(self.engine, some, earlier=self.earlier, is_alone=is_alone)
        rows = self.engine.map(inputs, plan_task(self.planning), schemas.PLANNED)
        self.engine.append(rows, self.path, schemas.PLANNED)

    def write_alone(self, one: Snapshot) -> None:
        """Write the row of one cluster, also where planning it kills its process."""
        try:
            self.write([one], is_alone=True)
        except self.engine.failures as error:
            row = failed_row(
                empty_row(one.name, self.planning), f"its task ended: {failure_line(error)}"
            )
            schema = schemas.arrow_schema(schemas.PLANNED)
            table = pa.Table.from_pylist([row], schema=schema)
            rows = self.engine.table(table, schemas.PLANNED)
            self.engine.append(rows, self.path, schemas.PLANNED)


def _plan_in_rounds(tasks: _Tasks, fleet: Fleet, begin: Callable[[str, str], None]) -> None:
    done, count = 0, len(fleet.latest)
    for some in rounds(fleet.latest):
        is_all = len(some) == count
        begin(STEP, "" if is_all else f", clusters {done + 1} to {done + len(some)} of {count}")
        try:
            tasks.write(some)
        except tasks.engine.failures:
            for one in some:
                tasks.write_alone(one)
        done += len(some)


def moves(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task: MOVED in, PLAN out, in the order of each plan."""
    schema = schemas.arrow_schema(schemas.PLAN)
    for batch in batches:
        moved = batch.column("moved")
        each = pc.list_flatten(moved)
        columns = {
            "cluster": batch.column("cluster").take(pc.list_parent_indices(moved)),
            **{
                field.name: pc.struct_field(each, field.name)
                for field in schema
                if field.name != "cluster"
            },
        }
        yield as_batch(columns, schema, len(each))


def costed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task: PLANNED in, OUTCOME out: `cost` is counted from the moves."""
    schema = schemas.arrow_schema(OUTCOME)
    for batch in batches:
        costs = [
            moves_cost(moved.values, minimise.as_py()) if moved.is_valid else None
            for moved, minimise in zip(batch.column("moved"), batch.column("minimise"), strict=True)
        ]
        yield as_batch(
            dict(zip(batch.schema.names, batch.columns, strict=True))
            | {"cost": pa.array(costs, pa.int64())},
            schema,
            len(batch),
        )


def _outcomes(engine: Engine, planned: Rows) -> list[dict[str, Any]]:
    """OUTCOME, in order of the cluster names."""
    table = engine.collect(engine.map(planned, costed, OUTCOME))
    rows: list[dict[str, Any]] = table.to_pylist()
    return sorted(rows, key=itemgetter("cluster"))


def _check_conserved(fleet: Fleet, outcomes: Sequence[Mapping[str, Any]]) -> None:
    """Raise `BytesLost` unless each cluster has exactly one row."""
    wanted = Counter(snapshot.name for snapshot in fleet.latest)
    had = Counter(one["cluster"] for one in outcomes)
    if wanted != had:
        raise BytesLost(
            f"expected one row of plans for each of {len(wanted)} clusters, got {had.total()}; "
            "nothing was published",
            wanted=len(wanted),
            had=had.total(),
            hint="this is a fault of Rackwise, not of your files; please report it",
        )


def _with_bounds(
    engine: Engine, fleet: Fleet, planning: Planning, outcomes: Sequence[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], int | None]]:
    """Each row with the bound that tasks compute; None where there is no plan."""
    inputs = BoundInputs(
        certificates={
            one["cluster"]: _certificate(one) for one in outcomes if one["status"] == "planned"
        },
        goal=planning.goal,
        policy=planning.policy,
        parse=planning.parse,
        prices=planning.prices,
    )
    found = lower_bounds(engine, fleet, inputs) if inputs.certificates else {}
    for one in outcomes:
        yield one, found.get(one["cluster"])


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


def _summary_row(number: int, one: Mapping[str, Any], bound: int | None) -> dict[str, Any]:
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
