"""One day of telemetry as facts without double counting: marks repeated and replaced messages.

A client sends a window again if it does not know whether the first message arrived, and sends a new
revision when it has better numbers. One message per emitter and window is accepted:

```
emitter  window  revision  offset  bytes
e1       00:00   0         10      100     superseded
e1       00:00   1         11      120     duplicate of what follows, another content: a conflict
e1       00:00   1         17      130     accepted: highest revision, then last offset
e2       00:00   0         12      100     accepted
```

Malformed and late messages are marked on arrival (`stream.messages`). All messages of the day =
accepted + superseded + duplicate + quarantined; this is checked before any result is built. The
accepted messages become canonical flows, which `analyze` reads like all other flows.

A late message reopens its day: for three days, the day must be compacted again. A message that
arrives after that is quarantined. It belongs to the day of its arrival and changes no bill.

What this does not do: publish the day. The caller runs `analyze` and publishes its result.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.errors import BytesLost, InvalidFlows
from rackwise.core.text import counted, escaped
from rackwise.pipeline.columns.clock import day_at, day_number
from rackwise.pipeline.ingest.row_outcomes import KEPT
from rackwise.pipeline.runtime.failures import (
    damaged_table,
    failure_line,
    removed_if_failed,
    with_clear_failures,
)
from rackwise.pipeline.runtime.session import large_batches
from rackwise.pipeline.schemas import FLOW_INPUT
from rackwise.pipeline.stream.counts import CompactCounts
from rackwise.pipeline.stream.messages import (
    CLIENT_FIELDS,
    LATE_MS,
    MESSAGES,
    bytes_of_rows,
    lateness_ms,
)
from rackwise.pipeline.stream.store import STREAM, Store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from pyspark.sql import Column, DataFrame, SparkSession

    from rackwise.pipeline.stream.store import Batch

OUTCOMES = ("accepted", "superseded", "duplicate")
SOURCE = "telemetry"
FEW_MESSAGES = 100_000
"""A stream with fewer messages runs with the profile `small`."""


def with_outcomes(messages: DataFrame) -> DataFrame:
    """Adds `outcome`, `is_conflict` and `lateness_ms` to kept messages of `stream.messages`."""
    content = F.xxhash64(*(name for name in CLIENT_FIELDS if name != "revision"))
    same = Window.partitionBy("emitter", "window_start_ms").orderBy(
        F.desc("revision"), F.desc("kafka_offset"), F.desc("kafka_topic"), F.desc("kafka_partition")
    )
    ranked = messages.withColumns({"lateness_ms": lateness_ms(), "content": content}).withColumns(
        {
            "place": F.row_number().over(same),
            "best": F.first("revision").over(same),
            "best_content": F.first("content").over(same),
        }
    )
    is_equal = F.col("revision") == F.col("best")
    outcome = (
        F.when(F.col("place") == 1, "accepted").when(is_equal, "duplicate").otherwise("superseded")
    )
    is_conflict = (F.col("outcome") == "duplicate") & (F.col("content") != F.col("best_content"))
    return (
        ranked.withColumn("outcome", outcome)
        .withColumn("is_conflict", is_conflict)
        .drop("content", "place", "best", "best_content")
    )


def flows_of(accepted: DataFrame) -> DataFrame:
    """The rows of accepted messages as `schemas.FLOW_INPUT`."""
    rows = accepted.select("*", F.explode("rows").alias("row"))
    values: dict[str, Column] = {
        "window_start": F.timestamp_millis("window_start_ms"),
        "window_s": F.call_function("div", F.col("window_ms") + 999, F.lit(1000)),
        "kind": F.col("row.kind"),
        "topic": F.col("row.topic"),
        "partition": F.col("row.partition"),
        "broker_id": F.col("row.broker_id"),
        "bytes": F.col("row.bytes"),
        "source": F.lit(SOURCE),
    }
    own = ("cluster", "client_id", "client_group", "client_rack", "emitter", "revision")
    values |= {name: F.col(name) for name in own}
    return rows.select(
        *(
            values.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in FLOW_INPUT.fields
        )
    )


def compact(spark: SparkSession, out: str, day: date) -> tuple[CompactCounts, str]:
    """The day's counts, and the folder with its canonical flows; the caller removes the folder.

    Raises `InvalidFlows` if no batch holds a message of the day; `InvalidConfig` for a damaged
    batch; `WorldError` where tasks or Spark were killed; `BytesLost`.
    """
    store = Store(out)
    number = day_number(day)
    batches = [
        each for each in store.batches() if each.days and each.days[0] <= number <= each.days[1]
    ]
    if not batches:
        raise _no_messages(day, store)
    for batch in batches:
        _check_stored(store.folder_of(batch), batch.messages)
    path = f"{store.out}/{STREAM}/_compacting-{day.isoformat()}"
    remove = partial(shutil.rmtree, path, ignore_errors=True)
    with with_clear_failures([store.out]), removed_if_failed(path, remove):
        return _compact(spark, store, day, batches, path)


def _check_stored(folder: str, messages: int) -> None:
    """Raise `InvalidConfig` for a batch of which files are missing, empty or cut.

    Spark reads an empty file, and a folder without one of its files, as fewer messages.
    """
    rows = 0
    for file in sorted(Path(folder).glob("*.parquet")):
        try:
            rows += parquet.read_metadata(file).num_rows
        except (OSError, pa.ArrowException) as error:
            had = f"{escaped(str(file))}: {failure_line(error)}"
            raise damaged_table(had, folder) from None
    if rows != messages:
        raise damaged_table(f"{escaped(folder)} has {rows} of {messages} messages", folder)


def _compact(
    spark: SparkSession, store: Store, day: date, batches: Sequence[Batch], path: str
) -> tuple[CompactCounts, str]:
    number = day_number(day)
    folders = [store.folder_of(each) for each in batches]
    of_day = spark.read.schema(MESSAGES).parquet(*folders).where(F.col("day") == number)
    messages = with_outcomes(of_day.where(F.col("reason") == KEPT)).cache()
    found = {row.outcome: row for row in _counts(messages).collect()}
    by_reason = {row.reason: row["count"] for row in of_day.groupBy("reason").count().collect()}
    reasons = {reason: by_reason[reason] for reason in sorted(by_reason) if reason != KEPT}
    with large_batches(spark):
        flows_of(messages.where("outcome = 'accepted'")).write.mode("overwrite").parquet(path)
    messages.unpersist()
    written = spark.read.schema(FLOW_INPUT).parquet(path)
    row = written.agg(F.count("*").alias("rows"), F.sum("bytes").alias("bytes")).collect()[0]
    by_outcome = {
        outcome: found[outcome].messages if outcome in found else 0 for outcome in OUTCOMES
    }
    accepted = found.get("accepted")
    if accepted is None:
        raise _none_kept(day, store, reasons) if reasons else _no_messages(day, store)
    _check_equal("messages", by_reason[KEPT], sum(by_outcome.values()))
    _check_equal("bytes", accepted.bytes, row.bytes or 0)
    counts = CompactCounts(
        messages=sum(by_reason.values()),
        accepted=by_outcome["accepted"],
        superseded=by_outcome["superseded"],
        duplicate=by_outcome["duplicate"],
        quarantined=sum(reasons.values()),
        conflicts=sum(each.conflicts for each in found.values()),
        late=sum(each.late for each in found.values()),
        rows=row.rows,
        bytes=row.bytes or 0,
        batches=len(batches),
        reasons=reasons,
    )
    return counts, _rename_files(Path(path))


def _counts(messages: DataFrame) -> DataFrame:
    return messages.groupBy("outcome").agg(
        F.count("*").alias("messages"),
        F.sum(F.col("is_conflict").cast("int")).alias("conflicts"),
        F.count(F.when(F.col("lateness_ms") > LATE_MS, 1)).alias("late"),
        F.sum(bytes_of_rows()).alias("bytes"),
    )


def _rename_files(folder: Path) -> str:
    """Rename files so that equal content has equal names; the id of a run depends on the names."""
    for number, part in enumerate(sorted(folder.glob("part-*.parquet"))):
        part.rename(folder / f"telemetry-{number:05}.parquet")
    for rest in folder.glob(".*.crc"):
        rest.unlink()
    return str(folder)


def _check_equal(what: str, wanted: int, had: int) -> None:
    if wanted != had:
        raise BytesLost(
            f"expected {wanted} {what} of all outcomes, got {had}; nothing was published",
            wanted=wanted,
            had=had,
            hint="this is a fault of Rackwise, not of your messages; please report it",
        )


def _none_kept(day: date, store: Store, reasons: Mapping[str, int]) -> InvalidFlows:
    """The error for a day of which all messages are in quarantine."""
    count = sum(reasons.values())
    had = ", ".join(f"{number} {reason}" for reason, number in reasons.items())
    return InvalidFlows(
        f"expected a valid message of {day}, got {counted(count, 'message')} in quarantine: "
        f"{escaped(had)}",
        wanted="a valid message",
        had=dict(reasons),
        hint=f"correct the clients that send them: column `raw` of {escaped(store.out)}/{STREAM} "
        "has each message",
        where=store.out,
    )


def _no_messages(day: date, store: Store) -> InvalidFlows:
    """The error for a day without messages; it names a day before it and one after it with some."""
    number = day_number(day)
    days = [end for each in store.batches() if each.days for end in each.days]
    near = [max((n for n in days if n < number), default=None)]
    near += [min((n for n in days if n > number), default=None)]
    named = " and ".join(str(day_at(each)) for each in near if each is not None)
    had = f"messages of {named}" if named else "none"
    return InvalidFlows(
        f"expected messages of {day}, got {had}",
        wanted=str(day),
        had=had,
        hint="run `rackwise stream run` first, or choose another --date",
        where=store.out,
    )
