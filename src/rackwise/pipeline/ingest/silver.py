"""Writes facts: every row once, with its reason, counted before later steps use it.

Kept rows become the table `flow_fact`, malformed rows become `quarantine`, and other rows are only
counted. Text is parsed once, into few numbers. Temporary tables hold the results of each step. The
result of the lookup of duplicates is not stored, because another lookup is cheaper:

```
bronze        counted in a pass of its own                   rows_in, bytes_in
_row          flows as numbers, with racks and brokers       (temporary)
_row_of_side  and their direction, where no row has it       (temporary)
_logged       addresses that are logged, per day             (temporary)
_flow_row     and which rows are equal (`--dedupe exact`)    (temporary)
              counted by file and reason                     row outcomes
flow_fact     kept
quarantine    malformed:*
```

What this does not do: decide the reason of a row (`formats`); remove temporary tables from a store
behind a URI.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import StringType

from rackwise.core.errors import InvalidFlows
from rackwise.pipeline.ingest.files import escape_glob
from rackwise.pipeline.ingest.row_outcomes import KEPT, MALFORMED, RowOutcomes
from rackwise.pipeline.ingest.tables import store, write_table
from rackwise.pipeline.ingest.text import with_line_numbers
from rackwise.pipeline.runtime.session import large_batches
from rackwise.pipeline.schemas import FLOW_FACT, QUARANTINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, Row

    from rackwise.pipeline.ingest.facts import Persist
    from rackwise.pipeline.ingest.files import FlowFile

HALF_BITS = 32
"""Bits of each half of a long in exact sums."""
GREATEST_SUM = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Silver:
    """The facts of a run, as written."""

    facts: DataFrame
    """FLOW_FACT."""
    outcomes: RowOutcomes
    period: tuple[datetime, datetime] | None
    """Start and end of the traffic; None if no row is kept."""


def count_rows(bronze: DataFrame) -> tuple[int, int]:
    """Rows, and the sum of the bytes that are a number from 0; an action."""
    number = F.col("bytes")
    if isinstance(bronze.schema["bytes"].dataType, StringType):
        number = F.when(number.rlike(r"^[0-9]+\z"), number.try_cast("bigint"))
    row = bronze.agg(F.count("*").alias("rows"), *_halves(F.when(number >= 0, number))).collect()[0]
    return row.rows, _whole(row) or 0


def store_in(folder: str) -> Persist:
    """Store rows for `flow_facts` below `folder`; `write_silver` removes them."""
    return lambda df, name: store(df, f"{folder}/_{name}")


def quarantined_rows(facts: DataFrame, files: Sequence[FlowFile]) -> DataFrame:
    """The malformed rows of `flow_facts` as QUARANTINE, with the line numbers of text.

    An action runs only where text has malformed lines.
    """
    bad = facts.where(F.col("reason").startswith(MALFORMED))
    columns = bad.select(*(field.name for field in QUARANTINE))
    return with_line_numbers(facts.sparkSession, columns, files)


def write_silver(
    rows: DataFrame, *, counts: tuple[int, int], files: Sequence[FlowFile], folder: str
) -> Silver:
    """Write the rows of `flow_facts` below `folder`.

    `counts`: rows and bytes of the bronze table, from `count_rows`, to compare with.

    Raises `BytesLost` when rows or bytes are missing, `InvalidFlows` when the bytes do not fit into
    63 bits.
    """
    by_reason = _by_reason(rows)
    outcomes = RowOutcomes.of(
        ((row.source_file or "", row.reason, row.rows, _whole(row)) for row in by_reason),
        rows_in=counts[0],
        bytes_in=counts[1],
    )
    outcomes.check_conserved()
    _check_fits(outcomes.bytes_kept)
    if outcomes.rows_quarantined:
        write_table(quarantined_rows(rows, files), f"{folder}/quarantine", QUARANTINE)
    facts = rows.where(F.col("reason") == KEPT)
    counts_kept = write_table(facts, f"{folder}/flow_fact", FLOW_FACT)
    outcomes.check_kept(counts_kept.rows, counts_kept.bytes or 0)
    kept = [row for row in by_reason if row.reason == KEPT]
    if "://" not in folder:
        for stage in Path(folder).glob("_*"):
            shutil.rmtree(stage)
    return Silver(
        facts=rows.sparkSession.read.schema(FLOW_FACT).parquet(escape_glob(f"{folder}/flow_fact")),
        outcomes=outcomes,
        period=(_moment(min(row.first for row in kept)), _moment(max(row.last for row in kept)))
        if kept
        else None,
    )


def _by_reason(rows: DataFrame) -> list[Row]:
    """Rows, bytes in halves, first and last second of each file and reason; an action."""
    start = _epoch(F.col("window_start"))
    counts = rows.groupBy("source_file", "reason").agg(
        F.count("*").alias("rows"),
        *_halves(F.col("bytes")),
        F.min(start).alias("first"),
        F.max(start + F.coalesce("window_s", F.lit(0))).alias("last"),
    )
    with large_batches(rows.sparkSession):
        return counts.collect()


def _check_fits(bytes_kept: int) -> None:
    if bytes_kept > GREATEST_SUM:
        raise InvalidFlows(
            f"expected flows of at most {GREATEST_SUM} bytes in all, got {bytes_kept}",
            wanted=GREATEST_SUM,
            had=bytes_kept,
            hint="look for rows with absurd sizes, or analyze fewer days with --from and --to",
        )


def _epoch(at: Column) -> Column:
    return F.unix_seconds(at)


def _halves(number: Column) -> tuple[Column, Column]:
    """The sum of longs from 0 as two longs, `high` and `low`; 2^31 rows do not overflow them."""
    long = number.cast("long")
    low = long.bitwiseAND(F.lit((1 << HALF_BITS) - 1))
    return F.sum(F.shiftright(long, HALF_BITS)).alias("high"), F.sum(low).alias("low")


def _whole(row: Row) -> int | None:
    """The sum that `_halves` cut in two; None where nothing was summed."""
    return None if row.high is None else (row.high << HALF_BITS) + row.low


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
