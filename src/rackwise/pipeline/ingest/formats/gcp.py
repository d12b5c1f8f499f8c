"""VPC flow logs of Google Cloud, as JSON lines or Parquet; see `ingest.gcp_logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rackwise.core.override import override
from rackwise.pipeline.ingest.formats.vpc import VpcFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.names import FoundNames


class GcpFormat(VpcFormat):
    """VPC flow logs of Google Cloud: an entry per flow and reporter, with bytes estimated."""

    name = "gcp"
    title = "VPC flow logs of Google Cloud"
    files = "JSON lines, or Parquet of BigQuery"
    generated_as: ClassVar[tuple[str, ...]] = ("gcp",)
    is_estimate = True
    is_by_file = False
    reasons: ClassVar[Mapping[str, str]] = {
        "malformed:line": "The line is too long.",
        "malformed:charset": "The line is not UTF-8.",
        "malformed:json": "The line is not an entry of Cloud Logging with a flow.",
        "malformed:reporter": "The reporter is not one that Google documents.",
        "malformed:COLUMN": "The value of the column is missing or out of range.",
        "gateway": "A VPN tunnel or an interconnect reports the flow.",
        "not-kafka": "Neither end is a TCP listener of a broker.",
        "other-day": "The flow starts outside --from and --to.",
        "duplicate-side": "The other side reported the same flow.",
        "duplicate-row": "An equal row is counted already (--dedupe exact).",
    }

    @override
    def required_columns(self) -> tuple[str, ...]:
        """The columns that a Parquet file must have."""
        from rackwise.pipeline.ingest.gcp_logs import PAYLOAD

        return (PAYLOAD,)

    @override
    def read(self, spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
        """Bronze rows of text and Parquet files."""
        from rackwise.pipeline.ingest.gcp_logs import read_gcp_logs

        return read_gcp_logs(spark, files)

    @override
    def names(self, bronze: DataFrame) -> FoundNames:
        """The zones of instances."""
        from rackwise.pipeline.ingest.names import find_zones

        return find_zones(bronze)
