"""VPC flow logs of versions 2 to 5, as text or Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rackwise.core.override import override
from rackwise.pipeline.ingest.formats.base import InputFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import FactInput
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats.base import FactOptions
    from rackwise.pipeline.ingest.names import FoundNames
    from rackwise.pipeline.ingest.text_lines import TextHead


class VpcFormat(InputFormat):
    """VPC flow logs: a row per flow that a network interface saw."""

    name = "vpc"
    title = "VPC flow logs"
    files = "text or Parquet"
    names_brokers_by_address = True
    client_columns: ClassVar[tuple[str, ...]] = ()
    is_estimate: ClassVar[bool] = False
    """Whether the bytes of all rows are estimates."""
    has_packets: ClassVar[bool] = True
    """Whether rows with data must have packets."""
    is_by_file: ClassVar[bool] = True
    needs_columns: ClassVar[tuple[str, ...]] = ("flow_direction",)
    deals_text: ClassVar[bool] = True
    has_row_per_line: ClassVar[bool] = True
    generated_as: ClassVar[tuple[str, ...]] = ("vpc", "vpc-text")
    reasons: ClassVar[Mapping[str, str]] = {
        "malformed:COLUMN": "The value of the column is missing or out of range.",
        "nodata": "The log status is NODATA.",
        "skipdata": "The log status is SKIPDATA.",
        "rejected": "The action is not ACCEPT.",
        "not-kafka": "Neither end is a TCP listener of a broker.",
        "other-day": "The flow starts outside --from and --to.",
        "duplicate-side": "The other side logged the same flow.",
        "duplicate-row": "An equal row is counted already (--dedupe exact).",
    }

    @override
    def required_columns(self) -> tuple[str, ...]:
        """The columns that a file must have."""
        from rackwise.pipeline.schemas import VPC_REQUIRED

        return VPC_REQUIRED

    @override
    def bronze_schema(self) -> StructType:
        """All columns that bronze rows may have."""
        from rackwise.pipeline.schemas import BRONZE_VPC

        return BRONZE_VPC

    @override
    def read(self, spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
        """Bronze rows of text and Parquet files."""
        from rackwise.pipeline.ingest.vpc_files import read_vpc_files

        return read_vpc_files(spark, files)

    @override
    def names(self, bronze: DataFrame) -> FoundNames:  # noqa: ARG002 (of every format)
        """None: flow logs name neither racks nor groups nor topics."""
        from rackwise.pipeline.ingest.names import FoundNames

        return FoundNames()

    @override
    def fact_input(
        self, bronze: DataFrame, fleet: Fleet, buckets: Buckets, options: FactOptions
    ) -> FactInput:
        """What turns the rows into facts."""
        from rackwise.pipeline.ingest.vpc_facts import vpc_input
        from rackwise.pipeline.ingest.vpc_files import has_direction

        return vpc_input(
            bronze,
            fleet,
            buckets,
            side=options.side,
            days=options.days,
            has_direction=has_direction(bronze),
            is_exact=options.is_exact,
            is_estimate=self.is_estimate,
            has_packets=self.has_packets,
            is_by_file=self.is_by_file,
        )

    @override
    def check_parquet(self, schema: StructType, where: str) -> None:
        """Check names and types of columns."""
        from rackwise.pipeline.ingest.vpc_files import check_log_columns
        from rackwise.pipeline.schemas import BRONZE_VPC, VPC_REQUIRED

        check_log_columns(schema, BRONZE_VPC.names, VPC_REQUIRED, where)

    @override
    def check_text(
        self, heads: Sequence[tuple[FlowFile, TextHead]]
    ) -> Sequence[tuple[FlowFile, tuple[str, ...]]]:
        """Check the names of columns in headers."""
        from rackwise.pipeline.ingest.vpc_files import log_headers
        from rackwise.pipeline.schemas import VPC_REQUIRED

        return log_headers(heads, VPC_REQUIRED)

    @override
    def task_input(
        self, uris: Sequence[str], fleet: Fleet, buckets: Buckets, options: FactOptions
    ) -> FactInput:
        """What turns rows that tasks read into facts."""
        from rackwise.pipeline.ingest.vpc_facts import vpc_input

        return vpc_input(
            None,
            fleet,
            buckets,
            side=options.side,
            days=options.days,
            has_direction=None,
            is_exact=options.is_exact,
            is_estimate=self.is_estimate,
            uris=uris,
        )

    @override
    def facts(self, given: FactInput, fleet: Fleet, options: FactOptions) -> DataFrame:
        """Facts of every row, with its reason."""
        from rackwise.pipeline.ingest.vpc_facts import vpc_facts

        return vpc_facts(given, fleet, store=options.store)
