"""Writes what the flow files hold: sums of the kept rows, the malformed rows, and the outcomes.

Every row has an outcome, and no row or byte is lost between the files and the sums. Rows become
sums in the tasks that read them (`sums`). Row-level facts are made where rows are compared with
each other (no directions, `--dedupe exact`), or where they are kept (`--keep facts`):

```
in tasks     _sum          sums, malformed rows and counts of each task              (temporary)
by rows      bronze        counted in a pass of its own
             _row          flows as numbers, with racks and brokers                  (temporary)
             _row_of_side  and their direction, where no row has it                  (temporary)
             _logged       addresses that are logged, per day                        (temporary)
             _flow_row     and which rows are equal (`--dedupe exact`)               (temporary)
             flow_fact     kept rows, with `--keep facts`
then         counted by file and reason                     row outcomes
             flow_sum      kept
             quarantine    malformed:*
```

What this does not do: decide the reason of a row (`formats`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import StringType

from rackwise.core.errors import InvalidFlows
from rackwise.pipeline.ingest.formats import facts_of
from rackwise.pipeline.ingest.row_outcomes import KEPT, MALFORMED, RowOutcomes, check_bytes
from rackwise.pipeline.ingest.splits import crash_in, with_named_damage
from rackwise.pipeline.ingest.sums import (
    HALF_BITS,
    OUTCOME_SUM,
    RowCounts,
    bad_rows,
    flow_sums,
    halves,
    outcome_sums,
    summed_facts,
    sums_by_task,
    task_columns,
    task_counts,
)
from rackwise.pipeline.ingest.tables import store, write_table
from rackwise.pipeline.ingest.text import with_line_numbers
from rackwise.pipeline.runtime.task_rows import frame_of
from rackwise.pipeline.schemas import FLOW_FACT, FLOW_SUM, QUARANTINE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.ingest.facts import FactInput, Persist
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats.base import FactOptions
    from rackwise.pipeline.runtime.engine import Engine, Rows

GREATEST_SUM = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Silver:
    """What the flow files hold, as written."""

    sums: Rows
    """FLOW_SUM."""
    outcomes: RowOutcomes
    period: tuple[datetime, datetime] | None
    """Start and end of the traffic; None if no row is kept."""


def write_silver(
    engine: Engine,
    given: FactInput,
    fleet: Fleet,
    options: FactOptions,
    *,
    format: str,  # noqa: A002 (the word of the command line)
    files: Sequence[FlowFile],
    folder: str,
    keeps_facts: bool = False,
) -> Silver:
    """Write the rows of `given`, the input of a format, below `folder`.

    `keeps_facts`: also write FLOW_FACT of the kept rows.

    Raises `BytesLost` when rows or bytes are missing, `InvalidFlows` when a file cannot be read or
    the bytes do not fit into 63 bits.
    """
    with with_named_damage(*engine.failures, crash=partial(crash_in, engine, files)):
        stages: list[str] = []
        options = replace(options, persist=store_in(folder, stages))
        added = _added(engine, given, fleet, options, format, files, f"{folder}/_sum", stages)
        by_reason: list[dict[str, Any]] = engine.collect(added.outcomes).to_pylist()
        outcomes = RowOutcomes.of(
            (
                (row["source_file"] or "", row["reason"], row["rows"], _whole(row))
                for row in by_reason
            ),
            rows_in=added.counts.rows,
            bytes_in=added.counts.bytes,
        )
        outcomes.check_conserved()
        _check_fits(outcomes.bytes_kept)
        if outcomes.rows_quarantined:
            has_numbers = engine.is_this_process  # it reads whole files
            bad = added.rows if has_numbers else quarantined_rows(added.rows, files)
            engine.write(bad, f"{folder}/quarantine", QUARANTINE)
        names = [name for name in FLOW_SUM.names if name not in {"rows", "bytes"}]
        kept = engine.where(added.sums, "reason", KEPT)
        whole = engine.summed(kept, names, ["rows", "bytes"])
        written = engine.write(whole, f"{folder}/flow_sum", FLOW_SUM)
        check_bytes("flow_sum", {KEPT: outcomes.bytes_kept}, {KEPT: written.bytes or 0})
        if keeps_facts:
            facts = added.facts or facts_of(given, fleet, options, format=format)
            of_kept = facts.where(F.col("reason") == KEPT)
            found = write_table(of_kept, f"{folder}/flow_fact", FLOW_FACT)
            outcomes.check_kept(found.rows, found.bytes or 0)
        kept_by_file = [row for row in by_reason if row["reason"] == KEPT]
        engine.remove(stages)
        return Silver(
            sums=engine.read_own(f"{folder}/flow_sum", FLOW_SUM),
            outcomes=outcomes,
            period=(
                _moment(min(row["first"] for row in kept_by_file)),
                _moment(max(row["last"] for row in kept_by_file)),
            )
            if kept_by_file
            else None,
        )


def _added(
    engine: Engine,
    given: FactInput,
    fleet: Fleet,
    options: FactOptions,
    format: str,  # noqa: A002 (the word of the command line)
    files: Sequence[FlowFile],
    path: str,
    stages: list[str],
) -> _Added:
    """The sums of the files, by tasks where rows need not be compared; `path`: for those of tasks.

    What is stored on the way is added to `stages`.
    """
    added = None
    if not given.needs_rows:
        stages.append(path)
        added = _by_tasks(engine, given, fleet, options, files, path)
    if added is None and given.rows is None:
        raise InvalidFlows(
            "expected a direction in all rows of flow logs for --engine local, got some without",
            wanted="flow_direction in each row",
            had="rows without",
            hint="omit --engine local: Spark compares rows with each other",
        )
    if added is None:
        facts = facts_of(given, fleet, options, format=format)
        counts = count_rows(given.rows)
        sums = summed_facts(facts, fleet)
        by_key = sums.select(*OUTCOME_SUM.names)
        by_outcome = engine.map(by_key, outcome_sums, OUTCOME_SUM)
        added = _Added(sums, by_outcome, facts, counts, facts)
    return added


class _Added(NamedTuple):
    """What is known of all rows."""

    sums: Rows
    """SUMMED."""
    outcomes: Rows
    """OUTCOME_SUM."""
    rows: Rows
    """Rows with the columns of QUARANTINE, the malformed ones among them."""
    counts: RowCounts
    facts: DataFrame | None = None
    """The result of `facts_of`, if the sums are those of facts."""


def _by_tasks(
    engine: Engine,
    given: FactInput,
    fleet: Fleet,
    options: FactOptions,
    files: Sequence[FlowFile],
    path: str,
) -> _Added | None:
    """The sums of the tasks that read the files; None if rows must be compared with each other."""
    columns = task_columns(given.builder.bits)
    found = sums_by_task(engine, given, fleet, options, files)
    by_task = engine.store(found, path, columns, by="what")
    counts = task_counts(engine, by_task)
    if given.has_directions is None and counts.lacking:
        return None
    return _Added(*flow_sums(engine, by_task, given), bad_rows(engine, by_task, given), counts)


def count_rows(bronze: DataFrame) -> RowCounts:
    """Rows, and the sum of the bytes that are a number from 0; an action."""
    number = F.col("bytes")
    if isinstance(bronze.schema["bytes"].dataType, StringType):
        number = F.when(number.rlike(r"^[0-9]+\z"), number.try_cast("bigint"))
    row = bronze.agg(F.count("*").alias("rows"), *halves(F.when(number >= 0, number))).collect()[0]
    return RowCounts(row.rows, _whole(row.asDict()) or 0)


def store_in(folder: str, stages: list[str]) -> Persist:
    """Store rows for `flow_facts` below `folder`; `stages` receives where, to be removed."""

    def persist(df: DataFrame, name: str) -> DataFrame:
        stages.append(f"{folder}/_{name}")
        return store(df, stages[-1])

    return persist


def quarantined_rows(rows: Rows, files: Sequence[FlowFile]) -> Rows:
    """QUARANTINE of the malformed ones of rows that have its columns, with line numbers of text.

    Only a file of text needs Spark for that, and an action.
    """
    if all(file.is_parquet for file in files):
        return rows
    bad = frame_of(rows).where(F.col("reason").startswith(MALFORMED))
    columns = bad.select(*(field.name for field in QUARANTINE))
    return with_line_numbers(bad.sparkSession, columns, files)


def _check_fits(bytes_kept: int) -> None:
    if bytes_kept > GREATEST_SUM:
        raise InvalidFlows(
            f"expected flows of at most {GREATEST_SUM} bytes in all, got {bytes_kept}",
            wanted=GREATEST_SUM,
            had=bytes_kept,
            hint="look for rows with absurd sizes, or analyze fewer days with --from and --to",
        )


def _whole(row: Mapping[str, Any]) -> int | None:
    """The sum that `halves` cut in two; None where nothing was summed."""
    whole: int | None = row["high"]
    return None if whole is None else (whole << HALF_BITS) + int(row["low"])


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
