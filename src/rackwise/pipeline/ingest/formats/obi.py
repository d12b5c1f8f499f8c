"""Network metrics of OpenTelemetry eBPF Instrumentation, as OTLP JSON; see `ingest.obi_metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rackwise.core.override import override
from rackwise.pipeline.ingest.formats.vpc import VpcFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.names import FoundNames


class ObiFormat(VpcFormat):
    """Network metrics of OpenTelemetry eBPF Instrumentation: a row per data point."""

    name = "obi"
    title = "network metrics of OpenTelemetry eBPF Instrumentation"
    files = "JSON lines of the OpenTelemetry Collector"
    generated_as: ClassVar[tuple[str, ...]] = ("obi",)
    has_packets = False
    is_by_file = False
    has_row_per_line = False
    reasons: ClassVar[Mapping[str, str]] = {
        "malformed:file": "The gzip file is damaged.",
        "malformed:line": "The line is too long.",
        "malformed:charset": "The line is not UTF-8.",
        "malformed:json": "The line is not an export request of metrics.",
        "other-metric": "The metric of all flows counts, not that of flows between zones.",
        "malformed:temporality": "The sum is neither a delta nor cumulative.",
        "gateway": "OBI runs on the node of neither end, which forwards the flow.",
        "malformed:reporter": "The point does not say on which node OBI runs.",
        "baseline": "The counter began before the files, so its first value is not of their time.",
        "malformed:COLUMN": "The value of the column is missing or out of range.",
        "nodata": "The point has no value.",
        "not-kafka": "Neither end is a TCP listener of a broker.",
        "other-day": "The time of the point starts outside --from and --to.",
        "duplicate-side": "OBI on the node of the other end reported the same flow.",
        "duplicate-row": "An equal row is counted already (--dedupe exact).",
    }

    @override
    def required_columns(self) -> tuple[str, ...]:
        """None: JSON lines have no columns."""
        return ()

    @override
    def read(self, spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
        """Bronze rows of JSON lines."""
        from rackwise.pipeline.ingest.obi_metrics import read_obi_metrics

        return read_obi_metrics(spark, files)

    @override
    def names(self, bronze: DataFrame) -> FoundNames:
        """The zones of nodes."""
        from rackwise.pipeline.ingest.names import find_zones

        return find_zones(bronze)
