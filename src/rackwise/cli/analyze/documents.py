"""The documents of `rackwise analyze --explain-plan`, `generate`, `stream` and `spark-check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NewType

from rackwise.cli.documents import ReadingFindingDocument
from rackwise.core.json.codec import Codec
from rackwise.pipeline.ingest.explain.model import Estimate, FileKind, FlowReading, SparkEngine
from rackwise.pipeline.stream.counts import CompactCounts
from rackwise.report.shape import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Mapping

Summary = NewType("Summary", dict[str, Any])
"""A summary of a run, `rackwise.summary/1`."""

_SHARED: Final = (CompactCounts, Estimate, FileKind, FlowReading, SparkEngine)

CODEC: Final = Codec(names={each.__name__: each for each in _SHARED}, forms={Summary: SUMMARY})
"""The codec of these documents, with the parts that are declared elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzePlanDocument:
    """What a run of `rackwise analyze` would do."""

    format: Literal["rackwise.analyze-plan/1"] = "rackwise.analyze-plan/1"
    snapshots: int
    """Number of snapshots that were read."""
    skipped: int
    """Number of snapshots that could not be read."""
    clusters: int
    """Number of clusters."""
    brokers: int
    """Number of brokers of the last snapshots of all clusters."""
    partitions: int
    """Number of partitions of the last snapshots of all clusters."""
    flow_format: str
    """Format of the flow files."""
    engine: SparkEngine
    """The Spark that executes the run."""
    flows: FlowReading
    """The flow files, and how the run reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedDocument:
    """The files of a generated fleet, and the command that analyzes them."""

    format: Literal["rackwise.generated/1"] = "rackwise.generated/1"
    out: str
    """Folder of the files."""
    truth: str
    """Path of the file with the exact totals that `analyze` must find."""
    analyze: tuple[str, ...]
    """The words of the command that analyzes the files."""
    clusters: int
    """Number of clusters."""
    brokers: int
    """Number of brokers of all clusters."""
    partitions: int
    """Number of partitions of all clusters."""
    flows: int
    """Number of flows in all files."""
    files: int
    """Number of flow files."""
    looks: int
    """Number of snapshots of each cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRunDocument:
    """The messages that one run of `stream run` read."""

    format: Literal["rackwise.stream-run/1"] = "rackwise.stream-run/1"
    batches: int
    """Number of new batches."""
    messages: int
    """Number of messages, kept or not."""
    kept: int
    """Number of kept messages."""
    reasons: Mapping[str, int]
    """`kept`, or the reason why messages were not kept -> number of messages."""
    bytes: int
    """Bytes of the rows of kept messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactDocument:
    """The bill of one day from telemetry."""

    format: Literal["rackwise.compact/1"] = "rackwise.compact/1"
    date: str
    """The day, UTC."""
    telemetry: CompactCounts
    """Outcomes of the messages of the day."""
    summary: Summary
    """The summary of the day, as `rackwise analyze` prints it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JvmDocument:
    """The answer of one JVM; null where the JVM does not have the value."""

    host: str | None
    """Address of the host."""
    pid: str | None
    """Id of the process."""
    rack: str | None
    """Value of the environment variable."""
    automatic_config_providers: str | None
    """Value of the system property that restricts providers of configuration."""
    kafka_clients: str | None
    """Version of kafka-clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorDocument(JvmDocument):
    """The answer of the JVM of an executor."""

    answers: int
    """Number of partitions of the question that it answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkFindingDocument(ReadingFindingDocument):
    """A finding about a Spark job."""

    where: str | None
    """The place, where the other fields cannot name it, such as `option kafka.client.rack`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCheckDocument:
    """What keeps the executors of a Spark job from reading in their own rack."""

    format: Literal["rackwise.spark-check/1"] = "rackwise.spark-check/1"
    variable: str
    """Environment variable with the rack of an executor."""
    options: Mapping[str, str]
    """Checked options of the job's Kafka reader."""
    asked: int
    """Number of partitions of the question."""
    executors: tuple[ExecutorDocument, ...]
    """The answers of the executors."""
    driver: JvmDocument | None
    """The answer of the driver; null if it could not be asked."""
    racks: Mapping[str, int]
    """Rack -> number of executors in it."""
    counts: Mapping[str, int]
    """Rule -> number of its findings."""
    findings: tuple[SparkFindingDocument, ...]
    """All findings, causes before their effects."""
    not_checked: Mapping[str, str]
    """Rule -> why it was not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCacheDocument:
    """The archive of the classes that Spark's Java loads."""

    format: Literal["rackwise.spark-cache/1"] = "rackwise.spark-cache/1"
    path: str
    """Path of the archive."""
    bytes: int
    """Size of the archive."""
