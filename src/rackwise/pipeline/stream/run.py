"""Writes telemetry from Kafka into tables, each message exactly once, in batches of a stream.

```
Kafka  ->  source: topic, partition, offset, timestamp, value   Spark's, or `kafka.source`
       ->  `stream.messages`, in Python tasks                   one row each, with its reason
       ->  files and sums of each task, counts to the driver    `stream.tasks`
       ->  a folder per batch, and a folder with its sums       `stream.sums`
       ->  then the mark of the batch                           `stream.store`, exactly once
```

No state is kept between batches, so there is no watermark, and no late message is lost. Repeated
and replaced messages are marked later, from all messages of a day (`stream.compact`).

What this does not do: compute prices; the nightly `compact` does.
"""

from __future__ import annotations

import re
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyarrow import parquet
from pyspark.errors import AnalysisException, StreamingQueryException

from rackwise.core.errors import (
    BytesLost,
    CheckpointMismatch,
    ConnectorMissing,
    InvalidConfig,
    WorldError,
)
from rackwise.core.text import escaped
from rackwise.pipeline.ingest.tables import write_table
from rackwise.pipeline.runtime.failures import (
    failure_line,
    free_space_text,
    no_room,
    removed_if_failed,
    spark_failures,
)
from rackwise.pipeline.runtime.session import batches_of
from rackwise.pipeline.schemas import arrow_schema
from rackwise.pipeline.stream.connector import connector_conf, coordinate_for
from rackwise.pipeline.stream.messages import MESSAGES, kafka_columns
from rackwise.pipeline.stream.store import STREAM, SUMS, Batch, Store, token_of
from rackwise.pipeline.stream.sums import SUMS_TABLE, sums
from rackwise.pipeline.stream.tasks import COUNTS, TaskFiles, TaskWriter, Total, total

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from rackwise.pipeline.kafka.records import KafkaTopic

MOST_OFFSETS = 1_000_000
TASKS = "_tasks"
"""The folder of the files of tasks, in that of an attempt; it is gone when the batch counts."""
ROWS, BYTES = 2**11, 2**21
"""Maximum messages and bytes of an Arrow batch; one message may have a MiB, with 50,000 rows."""
_PYTHON_ERROR = re.compile(r"[A-Z]\w*(?:Error|Exception)\b")
_OWN_ERROR = re.compile(r"^rackwise\.core\.errors\.(\w+): (.+)$", re.MULTILINE)
_IS_DOWN = "check that a broker answers at --bootstrap-server"
_ADVICE = {
    "UnknownTopicOrPartition": "create the topic or check --topic",
    "Timed out waiting for a node": _IS_DOWN,
    "KafkaTimeoutError": _IS_DOWN,
}
"""Text of an error of Kafka's clients -> what to do."""
_LOST = ("Some data may have been", "the broker no longer has offset")
"""Texts of errors of both connectors: the offsets of the checkpoint are not in the topic."""
SET_BY_SPARK = (
    "auto.offset.reset",
    "key.deserializer",
    "value.deserializer",
    "key.serializer",
    "value.serializer",
    "enable.auto.commit",
    "interceptor.classes",
)
"""Consumer settings that Spark sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """The input and output of a stream."""

    bootstrap: str
    """`HOST:PORT` of brokers, with commas between them."""
    topic: str
    out: str
    """The folder of the tables."""
    checkpoint: str
    """The folder of Spark's checkpoint."""
    starting: str = "earliest"
    """Where a new checkpoint starts: `earliest` or `latest`."""
    interval: str | None = None
    """Time between batches, such as `60 seconds`; None reads the available records and ends."""
    most_offsets: int = MOST_OFFSETS
    """Maximum records in a batch."""
    kafka: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Options of Kafka's client, with their prefix `kafka.`."""

    def __post_init__(self) -> None:
        for key in self.kafka:
            name = key.lower().removeprefix("kafka.")
            if name in SET_BY_SPARK or not key.lower().startswith("kafka."):
                raise InvalidConfig(
                    "invalid Kafka option: expected one that Spark does not set itself, got "
                    f"{escaped(key)}",
                    wanted="kafka.KEY",
                    had=key,
                    hint="omit it: Spark takes offsets from the checkpoint and reads raw bytes"
                    if name in SET_BY_SPARK
                    else f"write kafka.{escaped(key)}",
                )


def start(
    spark: SparkSession, options: StreamOptions, python: KafkaTopic | None = None
) -> StreamingQuery:
    """Start the stream; if `interval` is None, it ends after the available records.

    `python`: the topic for `kafka.source`, which replaces Spark's connector.
    Raises `ConnectorMissing`, `CheckpointMismatch`; `finish` raises it for a topic that is not the
    topic of the checkpoint.
    """
    store = Store(options.out)
    if python is None:
        source = _source(spark, options)
    else:
        from rackwise.pipeline.kafka.source import NAME, source_of

        spark.dataSource.register(source_of(python))
        source = spark.readStream.format(NAME).load()
    token = token_of(options.checkpoint, store)
    writer: DataStreamWriter = (
        source.writeStream.queryName("rackwise-stream")
        .option("checkpointLocation", options.checkpoint)
        .foreachBatch(batch_writer(options.out, token))
    )
    if options.interval is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=options.interval)
    try:
        return writer.start()
    except spark_failures() as error:
        if not no_room(str(error)):
            raise
        raise _ended(failure_line(error), error, options) from None


def usable_conf(
    conf: Mapping[str, str], *, master: str | None = None, is_jvm: bool = True
) -> Mapping[str, str]:
    """The conf of a new session, with Spark's connector if `is_jvm`; empty if one is active.

    The connector of an active session is checked on first use. Raises `ConnectorMissing`.
    """
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        return {}
    return connector_conf(conf, master=master) if is_jvm else conf


def finish(query: StreamingQuery, options: StreamOptions) -> None:
    """Wait until the query ends or the wait is interrupted, then stop it.

    Raises `WorldError`, and `CheckpointMismatch` for a topic that was created again.
    """
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise _ended(_cause(str(error)), error, options) from None
    finally:
        query.stop()


def _ended(cause: str, error: Exception, options: StreamOptions) -> WorldError | CheckpointMismatch:
    """The error of a stream that Spark did not start or has ended; `cause`: a line of `error`."""
    text = str(error)
    if any(name == CheckpointMismatch.__name__ for name, _ in _OWN_ERROR.findall(text)):
        return CheckpointMismatch(cause, wanted=options.topic, where=options.checkpoint)
    reason = no_room(text)
    if reason and reason not in cause:
        cause = f"{cause}: {reason}"
    if reason and _OWN_ERROR.search(text) is None:
        cause = f"{cause}; {free_space_text([options.out, options.checkpoint])}"
    return WorldError(
        f"Spark ended the stream: {cause}",
        wanted="running",
        had=cause,
        hint=_hint(text),
    )


def _hint(text: str) -> str:
    """What to do about the error of a stream."""
    if any(each in text for each in _LOST):
        return (
            f"{CheckpointMismatch.remedy}; the topic was deleted and created again, or retention "
            "deleted records that were not read: set a longer one"
        )
    advice = next((told for found, told in _ADVICE.items() if found in text), "remove the cause")
    if no_room(text):
        advice = "free space on the disks of --out, --checkpoint and TMPDIR"
    return f"{advice} and run it again: it continues after the last committed batch"


def _cause(text: str) -> str:
    r"""The error of Rackwise that ended a batch; else the first line, with an error of Python.

    >>> _cause("Query failed: Traceback\n  File x\nModuleNotFoundError: No module named 'x'\n")
    "Query failed: Traceback: ModuleNotFoundError: No module named 'x'"
    """
    if own := _OWN_ERROR.findall(text):
        return escaped(own[-1][1])
    first, *rest = text.splitlines() or [""]
    errors = [line for line in rest if _PYTHON_ERROR.match(line)]
    return escaped(": ".join([first, *errors[-1:]]))


def batch_writer(out: str, token: str) -> Callable[[DataFrame, int], None]:
    """The function that writes each batch; it takes plain texts, because Connect serializes it."""

    def keep(rows: DataFrame, batch_id: int) -> None:
        keep_batch(rows, batch_id, store=Store(out), token=token)

    return keep


def keep_batch(rows: DataFrame, batch_id: int, *, store: Store, token: str) -> None:
    """Write one batch of a Kafka source and commit it; a committed batch is left as it is.

    Raises `BytesLost` and `WorldError`; the batch is then not committed, and its files are removed.
    """
    committed = store.committed(token, batch_id)
    if committed is not None:
        store.tidy(committed)
        return
    attempt = secrets.token_hex(4)
    folders = [store.folder(token, batch_id, attempt, table=table) for table in (STREAM, SUMS)]

    def remove() -> None:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    with removed_if_failed(store.out, remove):
        batch = _attempted(rows, batch_id, attempt, store=store, token=token)
    store.commit(batch)


def _attempted(rows: DataFrame, batch_id: int, attempt: str, *, store: Store, token: str) -> Batch:
    """Write the folders of an attempt at a batch; what is to be committed. Raises `BytesLost`."""
    folder = Path(store.folder(token, batch_id, attempt))
    found, by_task = _written(rows, folder)
    batch = Batch(
        token=token,
        batch_id=batch_id,
        attempt=attempt,
        reasons=found.reasons,
        bytes=found.bytes,
        offsets=found.offsets,
        days=found.days,
    )
    summed = write_table(sums(by_task), store.folder_of(batch, table=SUMS), SUMS_TABLE)
    if summed.bytes != batch.bytes:
        raise BytesLost(
            f"expected {batch.bytes} bytes in the sums of batch {batch_id}, got {summed.bytes}; "
            "the batch is not committed",
            wanted=batch.bytes,
            had=summed.bytes,
            hint="this is a fault of Rackwise, not of your messages; please report it",
        )
    shutil.rmtree(folder / TASKS)
    return batch


def _written(rows: DataFrame, folder: Path) -> tuple[Total, DataFrame]:
    """Write the messages to a folder; their counts, and the sums of the tasks."""
    spark = rows.sparkSession
    tasks = folder / TASKS
    tasks.mkdir(parents=True)
    with batches_of(spark, ROWS, BYTES):
        counts = kafka_columns(rows).mapInArrow(TaskWriter(str(tasks)), COUNTS).collect()
    found = total(counts)
    files = [TaskFiles.of(str(tasks), name) for name in found.files]
    for file in files:
        file.messages.rename(folder / file.messages.name)
    if not files:
        parquet.write_table(arrow_schema(MESSAGES).empty_table(), folder / "none.parquet")
    paths = [str(file.sums) for file in files]
    frame = spark.read.schema(SUMS_TABLE)
    return found, frame.parquet(*paths) if paths else spark.createDataFrame([], SUMS_TABLE)


def _source(spark: SparkSession, options: StreamOptions) -> DataFrame:
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap)
        .option("subscribe", options.topic)
        .option("startingOffsets", options.starting)
        .option("maxOffsetsPerTrigger", str(options.most_offsets))
        .options(**options.kafka)
    )
    try:
        loaded = reader.load()
        loaded.schema  # noqa: B018 (Connect loads the source on the first request)
    except AnalysisException as error:
        package = coordinate_for(spark)
        raise ConnectorMissing(
            "expected a Spark session with Spark's Kafka connector, got one without it",
            wanted=package,
            had=error.getCondition(),
            hint=f"start Spark with --packages {package}",
        ) from error
    return loaded
