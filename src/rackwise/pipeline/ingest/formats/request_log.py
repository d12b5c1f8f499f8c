"""The request log of brokers (KIP-673), as text with JSON; see `ingest.request_log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rackwise.core.override import override
from rackwise.pipeline.ingest.formats.canonical import CanonicalFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import FactInput
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats.base import FactOptions


class RequestLogFormat(CanonicalFormat):
    """Request logs: a line per finished request. Its rows become canonical flows, then facts."""

    name = "request-log"
    title = "request logs"
    files = "text of brokers"
    names_brokers_by_address = True
    client_columns: ClassVar[tuple[str, ...]] = ("client_id", "client_group", "principal")
    generated_as: ClassVar[tuple[str, ...]] = ()
    is_by_file: ClassVar[bool] = False
    reasons: ClassVar[Mapping[str, str]] = {
        "malformed:line": "The line is too long.",
        "malformed:charset": "The line is not UTF-8.",
        "malformed:json": "The request is not the JSON that brokers write.",
        "malformed:time": "The line has no time.",
        "malformed:connection": "The connection is not that of a broker and a client.",
        "other-request": "The request is neither Produce nor Fetch.",
        "nodata": "The Fetch found no records.",
        "no-bytes": "The line has no sizes.",
        "not-kafka": "The broker's address is in no snapshot, or in several clusters.",
        **CanonicalFormat.reasons,
    }

    @override
    def required_columns(self) -> tuple[str, ...]:
        """The columns that a file must have."""
        return ()

    @override
    def bronze_schema(self) -> StructType:
        """All columns that bronze rows may have."""
        from rackwise.pipeline.schemas import BRONZE_REQUEST

        return BRONZE_REQUEST

    @override
    def read(self, spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
        """Bronze rows of text files."""
        from rackwise.pipeline.ingest.request_log import read_request_logs

        return read_request_logs(spark, files)

    @override
    def fact_input(
        self, bronze: DataFrame, fleet: Fleet, buckets: Buckets, options: FactOptions
    ) -> FactInput:
        """What turns the rows into facts."""
        from rackwise.pipeline.ingest.request_log import request_flows

        return super().fact_input(request_flows(bronze, fleet), fleet, buckets, options)
