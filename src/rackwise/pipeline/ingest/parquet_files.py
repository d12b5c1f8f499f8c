"""Flow files as Parquet: their rows, and checks of their columns and types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import StringType, TimestampNTZType, TimestampType

from rackwise.core.errors import InvalidFlows
from rackwise.core.text import escaped
from rackwise.pipeline.ingest.parquet_tasks import parquet_rows
from rackwise.pipeline.runtime.failures import failure_line, spark_failures

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

    from rackwise.pipeline.ingest.files import FlowFile

RESERVED = frozenset({"malformed", "principal", "outcome", "raw", "source_file", "row_offset"})
"""Columns that the pipeline adds to a row; a file's own columns of these names are not read."""
INTEGERS = ("tinyint", "smallint", "int", "bigint")


class UnfitColumns(Exception):
    """A flow file lacks a column that its format requires, or has one twice."""

    def __init__(
        self, *, where: str, columns: Sequence[str], required: Sequence[str], fault: str
    ) -> None:
        super().__init__(fault)
        self.where = where
        """The URI of the file."""
        self.columns = columns
        """The columns that the file has."""
        self.required = required
        """The columns that its format requires."""
        self.fault = fault
        """What is wrong: `no bytes`, or `bytes twice`."""


def read_parquet(
    spark: SparkSession, files: Sequence[FlowFile], *, wanted: Collection[str]
) -> DataFrame:
    """The columns of Parquet files, and the file and index of each row. Raises `InvalidFlows`.

    `wanted`: columns in lower case with `_`; others may be null.
    """
    if all(file.is_stored for file in files):
        return parquet_rows(spark, files, wanted=frozenset(wanted) - RESERVED, left_out=RESERVED)
    try:
        rows = (
            spark.read.option("mergeSchema", "true")
            .option("ignoreCorruptFiles", "false")
            .parquet(*(file.pattern for file in files))
        )
        rows.schema  # noqa: B018 (Connect reads the files only on a request)
    except spark_failures() as error:
        if all(file.is_dealt for file in files):  # tasks name the file, Spark not always does
            parquet_rows(spark, files, wanted=frozenset(wanted) - RESERVED, left_out=RESERVED)
        had = failure_line(error)
        raise InvalidFlows(
            f"expected Parquet files whose columns agree, got an error from Spark: {had}",
            wanted="Parquet",
            had=had,
            hint="read the files one by one to find the one that differs",
            where=files[0].uri,
        ) from error
    own = [name for name in rows.columns if name.lower() not in RESERVED]
    return rows.select(
        *(F.col(f"`{name.replace('`', '``')}`") for name in own),
        F.col("_metadata.file_path").alias("source_file"),
        F.col("_metadata.row_index").alias("row_offset"),
    )


def existing_columns(rows: DataFrame, schema: StructType) -> DataFrame:
    """The columns of `schema` that the rows have, in its order and with the types of the rows."""
    return rows.select(*(name for name in schema.names if name in rows.columns))


def with_schema(rows: DataFrame, schema: StructType) -> DataFrame:
    """The columns of `schema`, in its order; a missing column is null, others keep their type."""
    return rows.select(
        *(
            F.col(field.name)
            if field.name in rows.columns
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in schema.fields
        )
    )


def types_like(kind: DataType) -> tuple[str, ...]:
    """Types that a file may have for a column of this type."""
    if isinstance(kind, StringType):
        return ("string",)
    return ("timestamp",) if isinstance(kind, TimestampType) else INTEGERS


def check_type(field: StructField, allowed: Sequence[str], where: str) -> None:
    """Raise `InvalidFlows` for a column of a type that is not allowed."""
    had = field.dataType.simpleString()
    if had in allowed:
        return
    hint = "write the column with its declared type"
    if isinstance(field.dataType, TimestampNTZType):
        hint = "write timestamps as UTC instants, with a time zone"
    raise InvalidFlows(
        f"invalid column {field.name} of {escaped(where)}: expected {' or '.join(allowed)}, "
        f"got {had}",
        wanted=" or ".join(allowed),
        had=had,
        hint=hint,
        where=where,
    )


def check_columns(columns: Sequence[str], required: Sequence[str], where: str) -> None:
    """Raise `UnfitColumns` where a required column is missing."""
    missing = [name for name in required if name not in columns]
    if missing:
        raise UnfitColumns(
            where=where, columns=columns, required=required, fault=f"no {missing[0]}"
        )
