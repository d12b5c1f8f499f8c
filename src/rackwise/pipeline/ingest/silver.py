"""From flow files to facts: every row once, with its fate, counted before anything is built on it.

The rows that are traffic become the table `flow_fact`, the malformed ones `quarantine`, and of the
others the counts remain. What text says is read once, into few numbers; whether the other side has
logged a row too is cheaper to look up again than to keep:

```
bronze        counted on its own                             rows_in, bytes_in
_row          flows as numbers, racks and brokers found      (not for readers)
_row_of_side  and whose they are, where no row says it       (not for readers)
_logged       whose addresses are logged on which day        (not for readers)
_flow_row     and which are equal, with `--dedupe exact`     (not for readers)
              counted by file and reason                     fates
flow_fact     kept
quarantine    malformed:*
```

What this does not do: tell a row's fate (`flows`); take away what is not for readers from a store
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
from rackwise.core.racks import Rack
from rackwise.pipeline.ingest.canonical_facts import names
from rackwise.pipeline.ingest.files import literally
from rackwise.pipeline.ingest.row_outcomes import KEPT, Fates
from rackwise.pipeline.ingest.tables import quarantined, stored, write_table
from rackwise.pipeline.runtime.session import large_batches
from rackwise.pipeline.schemas import FLOW_FACT, QUARANTINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, Row

    from rackwise.pipeline.ingest.facts import Once
    from rackwise.pipeline.ingest.files import FlowFile

HALF_BITS = 32
GREATEST_SUM = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNames:
    """Names that flows tell and that stand perhaps in no snapshot."""

    racks: tuple[Rack, ...] = ()
    groups: tuple[str, ...] = ()
    topics: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Silver:
    """`facts`: FLOW_FACT as written; `seen`: first and last moment of the traffic, None of none."""

    facts: DataFrame
    fates: Fates
    seen: tuple[datetime, datetime] | None


def names_in(bronze: DataFrame) -> FoundNames:
    """Racks, client groups and (cluster, topic) that flows tell, sorted; an action.

    Texts that are no racks are left out: their rows are judged elsewhere.
    """
    found: dict[str, list[tuple[str | None, str]]] = {}
    for row in names(bronze).collect():
        found.setdefault(row.what, []).append((row.cluster, row.name))
    racks = (Rack(name) for name in sorted(name for _, name in found.get("client_rack", ())))
    return FoundNames(
        racks=tuple(rack for rack in racks if rack.is_sound),
        groups=tuple(sorted(name for _, name in found.get("client_group", ()))),
        topics=tuple(
            sorted((cluster, name) for cluster, name in found.get("topic", ()) if cluster)
        ),
    )


def counted(bronze: DataFrame) -> tuple[int, int]:
    """Rows, and the sum of the bytes that are a number from 0; an action."""
    number = F.col("bytes")
    if isinstance(bronze.schema["bytes"].dataType, StringType):
        number = F.when(number.rlike(r"^[0-9]+\z"), number.try_cast("bigint"))
    row = bronze.agg(F.count("*").alias("rows"), *_halves(F.when(number >= 0, number))).collect()[0]
    return row.rows, _whole(row) or 0


def once_in(folder: str) -> Once:
    """Stores what `flows.flow_facts` needs more than once below `folder`; `silver` removes it."""
    return lambda df, name: stored(df, f"{folder}/_{name}")


def silver(
    rows: DataFrame, *, counts: tuple[int, int], files: Sequence[FlowFile], folder: str
) -> Silver:
    """Write what `flows.flow_facts` gives below `folder`; `counts`: of bronze, from `counted`.

    Raises `BytesLost` when rows or bytes went missing on the way, `InvalidFlows` when the bytes
    have more than 63 bits.
    """
    by_reason = _by_reason(rows)
    fates = Fates.of(
        ((row.source_file or "", row.reason, row.rows, _whole(row)) for row in by_reason),
        rows_in=counts[0],
        bytes_in=counts[1],
    )
    fates.check_conserved()
    _check_fits(fates.bytes_kept)
    if fates.rows_quarantined:
        write_table(quarantined(rows, files), f"{folder}/quarantine", QUARANTINE)
    facts = rows.where(F.col("reason") == KEPT)
    counts_kept = write_table(facts, f"{folder}/flow_fact", FLOW_FACT)
    fates.check_kept(counts_kept.rows, counts_kept.bytes or 0)
    kept = [row for row in by_reason if row.reason == KEPT]
    if "://" not in folder:
        for stage in Path(folder).glob("_*"):
            shutil.rmtree(stage)
    return Silver(
        facts=rows.sparkSession.read.schema(FLOW_FACT).parquet(literally(f"{folder}/flow_fact")),
        fates=fates,
        seen=(_moment(min(row.first for row in kept)), _moment(max(row.last for row in kept)))
        if kept
        else None,
    )


def _by_reason(rows: DataFrame) -> list[Row]:
    """Of each file and reason: rows, bytes in halves, first and last second; an action."""
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
    """The sum of longs from 0 in two longs, `high` and `low`: of 2^31 rows none overflows."""
    long = number.cast("long")
    low = long.bitwiseAND(F.lit((1 << HALF_BITS) - 1))
    return F.sum(F.shiftright(long, HALF_BITS)).alias("high"), F.sum(low).alias("low")


def _whole(row: Row) -> int | None:
    """The sum that `_halves` has cut in two; null where nothing was summed."""
    return None if row.high is None else (row.high << HALF_BITS) + row.low


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
