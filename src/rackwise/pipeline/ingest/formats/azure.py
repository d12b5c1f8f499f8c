"""Virtual network flow logs of Azure, as JSON documents; see `ingest.azure_logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rackwise.core.override import override
from rackwise.pipeline.ingest.formats.vpc import VpcFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile


class AzureFormat(VpcFormat):
    """Virtual network flow logs of Azure: a row per flow tuple and direction."""

    name = "azure"
    title = "virtual network flow logs of Azure"
    files = "JSON"
    generated_as: ClassVar[tuple[str, ...]] = ("azure",)
    is_by_file = False
    has_row_per_line = False
    reasons: ClassVar[Mapping[str, str]] = {
        "malformed:file": "The gzip file is damaged.",
        "malformed:json": "The document or a record of it is not that of flow logs.",
        "malformed:columns": "The tuple does not have 13 values.",
        "malformed:flow_state": "The state is none of B, C, E and D.",
        "malformed:COLUMN": "The value of the column is missing or out of range.",
        "nodata": "The flow begins (state B); the tuple has no bytes.",
        "rejected": "The flow is denied (state D).",
        "not-kafka": "Neither end is a TCP listener of a broker.",
        "other-day": "The tuple is of a time outside --from and --to.",
        "duplicate-side": "The other side logged the same flow.",
        "duplicate-row": "An equal row is counted already (--dedupe exact).",
    }

    @override
    def required_columns(self) -> tuple[str, ...]:
        """None: documents have no columns."""
        return ()

    @override
    def read(self, spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
        """Bronze rows of JSON documents."""
        from rackwise.pipeline.ingest.azure_logs import read_azure_logs

        return read_azure_logs(spark, files)
