"""Flow logs of AWS Transit Gateways, as text or Parquet; see `ingest.tgw_logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rackwise.core.override import override
from rackwise.pipeline.ingest.formats.vpc import VpcFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.names import FoundNames


class TgwFormat(VpcFormat):
    """Flow logs of AWS Transit Gateways: a row per flow and attachment."""

    name = "tgw"
    title = "Transit Gateway flow logs"
    files = "text or Parquet"
    generated_as: ClassVar[tuple[str, ...]] = ("tgw",)
    is_by_file = False
    reasons: ClassVar[Mapping[str, str]] = {
        "malformed:COLUMN": "The value of the column is missing or out of range.",
        "nodata": "The log status is NODATA.",
        "skipdata": "The log status is SKIPDATA.",
        "not-kafka": "Neither end is a TCP listener of a broker.",
        "other-day": "The flow starts outside --from and --to.",
        "duplicate-side": "The attachment of the sender logged the same flow.",
        "duplicate-row": "An equal row is counted already (--dedupe exact).",
    }

    @override
    def required_columns(self) -> tuple[str, ...]:
        """The columns that a file must have."""
        from rackwise.pipeline.ingest.tgw_logs import TGW_REQUIRED

        return TGW_REQUIRED

    @override
    def read(self, spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
        """Bronze rows of text and Parquet files."""
        from rackwise.pipeline.ingest.tgw_logs import read_tgw_logs

        return read_tgw_logs(spark, files)

    @override
    def names(self, bronze: DataFrame) -> FoundNames:
        """The zones of senders."""
        from rackwise.pipeline.ingest.names import find_zones

        return find_zones(bronze)
