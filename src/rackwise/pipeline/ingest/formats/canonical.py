"""Canonical flows: Parquet files with the columns of `schemas.FLOW_INPUT`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rackwise.core.errors import InvalidFlows
from rackwise.core.override import override
from rackwise.core.text import escaped
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


class CanonicalFormat(InputFormat):
    """Canonical flows: a row per client, broker, topic and window."""

    name = "canonical"
    title = "canonical flows"
    files = "Parquet"
    names_brokers_by_address = False
    client_columns: ClassVar[tuple[str, ...]] = ("client_id", "client_group")
    generated_as: ClassVar[tuple[str, ...]] = ("canonical",)
    is_by_file: ClassVar[bool] = True
    reasons: ClassVar[Mapping[str, str]] = {
        "malformed:COLUMN": "The value of the column is missing, unknown or out of range.",
        "other-day": "The window starts outside --from and --to.",
        "superseded": "The emitter sent the window again with a higher revision.",
        "duplicate-row": "An equal row is counted already (--dedupe exact).",
    }

    @override
    def required_columns(self) -> tuple[str, ...]:
        """The columns that a file must have."""
        from rackwise.pipeline.schemas import FLOW_INPUT_REQUIRED

        return FLOW_INPUT_REQUIRED

    @override
    def bronze_schema(self) -> StructType:
        """All columns that bronze rows may have."""
        from rackwise.pipeline.schemas import BRONZE_INPUT

        return BRONZE_INPUT

    @override
    def read(self, spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
        """Bronze rows of Parquet files."""
        from rackwise.pipeline.ingest.parquet_files import existing_columns, read_parquet
        from rackwise.pipeline.schemas import BRONZE_INPUT, FLOW_INPUT

        self.check_kinds(files)
        if not files:
            return spark.createDataFrame([], BRONZE_INPUT)
        rows = read_parquet(spark, files, wanted=FLOW_INPUT.names)
        self.check_parquet(rows.schema, files[0].uri)
        return existing_columns(rows, BRONZE_INPUT)

    @override
    def check_kinds(self, files: Sequence[FlowFile]) -> None:
        """Check that all files are Parquet."""
        other = next((file for file in files if not file.is_parquet), None)
        if other is not None:
            raise InvalidFlows(
                f"expected Parquet files of canonical flows, got {escaped(other.uri)}",
                wanted="*.parquet",
                had=other.uri,
                hint="use --flow-format vpc for flow logs as text",
                where=other.uri,
            )

    @override
    def check_parquet(self, schema: StructType, where: str) -> None:
        """Check names and types of columns."""
        from rackwise.pipeline.ingest.parquet_files import check_columns, check_type, types_like
        from rackwise.pipeline.schemas import FLOW_INPUT

        check_columns(schema.names, self.required_columns(), where)
        for field in schema.fields:
            if field.name in FLOW_INPUT.names:
                check_type(field, types_like(FLOW_INPUT[field.name].dataType), where)

    @override
    def task_input(
        self, uris: Sequence[str], fleet: Fleet, buckets: Buckets, options: FactOptions
    ) -> FactInput:
        """What turns rows that tasks read into facts."""
        from rackwise.pipeline.ingest.canonical_facts import canonical_input

        return canonical_input(
            None,
            fleet,
            buckets,
            days=options.days,
            clients=options.clients,
            is_exact=options.is_exact,
            uris=uris,
        )

    @override
    def names(self, bronze: DataFrame) -> FoundNames:
        """Racks, client groups and topics in the rows."""
        from rackwise.pipeline.ingest.names import find_names

        return find_names(bronze)

    @override
    def fact_input(
        self, bronze: DataFrame, fleet: Fleet, buckets: Buckets, options: FactOptions
    ) -> FactInput:
        """What turns the rows into facts."""
        from rackwise.pipeline.ingest.canonical_facts import canonical_input

        return canonical_input(
            bronze,
            fleet,
            buckets,
            days=options.days,
            clients=options.clients,
            is_exact=options.is_exact,
        )

    @override
    def facts(self, given: FactInput, fleet: Fleet, options: FactOptions) -> DataFrame:  # noqa: ARG002 (of every format)
        """Facts of every row, with its reason."""
        from rackwise.pipeline.ingest.canonical_facts import canonical_facts

        return canonical_facts(given, store=options.store)
