"""VPC flow log files as bronze rows: text with a header line, Parquet, or both together."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import StringType, StructField, StructType

from rackwise.pipeline.ingest import text_tasks
from rackwise.pipeline.ingest.files import naming_files
from rackwise.pipeline.ingest.parquet_files import (
    INTEGERS,
    UnfitColumns,
    check_columns,
    check_type,
    existing_columns,
    read_parquet,
    with_schema,
)
from rackwise.pipeline.ingest.text import check_header, find_headers, text_rows
from rackwise.pipeline.ingest.text_lines import column_names
from rackwise.pipeline.ingest.vpc_rows import MISSING, OK
from rackwise.pipeline.schemas import BRONZE_VPC, VPC_NUMBERS, VPC_REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.text_lines import TextHead

VPC_COLUMNS = (*VPC_REQUIRED, "pkt_srcaddr", "pkt_dstaddr", "flow_direction", "az_id")
"""The columns that are read from text."""
_PLACE = ("malformed", "raw", "source_file", "row_offset")
PARTIAL = "rackwise.partial"
"""Metadata key of a bronze column: whether some rows with data lack the value. Without the key,
only the rows can tell."""


def read_vpc_files(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    """Bronze rows of flow logs, without columns that no file has.

    Parquet columns have names with `_`. Raises `UnfitColumns`, `InvalidFlows`.
    """
    parquet = [file for file in files if file.is_parquet]
    if len(parquet) == len(files) > 0:
        rows, is_partial = _read_parquet(spark, parquet)
    else:
        rows, is_partial = _read_text(spark, [file for file in files if not file.is_parquet])
        if parquet:
            others, lacks = _read_parquet(spark, parquet)
            shaped = with_schema(others, BRONZE_VPC).to(BRONZE_VPC)
            rows = with_schema(rows, BRONZE_VPC).unionByName(shaped)
            is_partial = True if is_partial or lacks else lacks
    mark = {} if is_partial is None else {PARTIAL: is_partial}
    known = {
        "flow_direction": F.col("flow_direction").alias("flow_direction", metadata=mark),
        "source_file": naming_files(F.col("source_file"), files),
    }
    return rows.select(*(known.get(name, F.col(name)) for name in rows.columns))


def has_direction(bronze: DataFrame) -> bool | None:
    """Whether every row with data has a direction; None if the metadata of the column is silent."""
    is_partial: bool | None = bronze.schema["flow_direction"].metadata.get(PARTIAL)
    return None if is_partial is None else not is_partial


def has_direction_in_all(rows: DataFrame) -> bool:
    """The same from the rows; an action."""
    is_missing = F.coalesce(F.col("flow_direction") == MISSING, F.lit(1) == 1)
    return rows.where((F.col("log_status") == OK) & is_missing).isEmpty()


def _read_text(spark: SparkSession, files: Sequence[FlowFile]) -> tuple[DataFrame, bool]:
    rows, headers = read_log_text(spark, files, VPC_COLUMNS, VPC_REQUIRED)
    return rows, any("flow_direction" not in header for header in headers)


def _read_parquet(spark: SparkSession, files: Sequence[FlowFile]) -> tuple[DataFrame, bool | None]:
    rows = read_log_parquet(spark, files, BRONZE_VPC.names, VPC_REQUIRED)
    if "flow_direction" not in rows.columns:
        without = rows.withColumn("flow_direction", F.lit(None).cast("string"))
        return existing_columns(without, BRONZE_VPC), True
    return existing_columns(rows, BRONZE_VPC), None


def read_log_text(
    spark: SparkSession,
    files: Sequence[FlowFile],
    columns: Sequence[str],
    required: Sequence[str],
) -> tuple[DataFrame, list[tuple[str, ...]]]:
    """The rows of text with a header, as in `text.text_rows`, and the columns of the headers.

    Tasks read the files that they can open, Spark reads the others. Raises `UnfitColumns`,
    `InvalidFlows`.
    """
    own = [file for file in files if file.is_dealt]
    others = [file for file in files if not file.is_dealt]
    headers: list[tuple[str, ...]] = []
    frames = []
    if own:
        heads = text_tasks.text_heads(spark, own)
        headers += [names for _, names in log_headers(heads, required)]
        texts_and_place = [StructField(name, StringType()) for name in columns]
        texts_and_place += [BRONZE_VPC[name] for name in _PLACE]
        frames.append(text_tasks.text_rows(spark, own, StructType(texts_and_place)))
    if others or not own:
        texts = find_headers(spark, others)
        for text in texts.files:
            _check_names(text.file, text.columns, required)
            headers.append(text.columns)
        frames.append(text_rows(spark, texts, columns))
    return reduce(DataFrame.unionByName, frames), headers


def log_headers(
    heads: Iterable[tuple[FlowFile, TextHead]], required: Sequence[str]
) -> list[tuple[FlowFile, tuple[str, ...]]]:
    """The columns of each file that has a header. Raises `UnfitColumns`, `InvalidFlows`."""
    headers = []
    for file, head in heads:
        if head.header is None:
            check_header(file, head.first)
        else:
            names = column_names(head.header)
            _check_names(file, names, required)
            headers.append((file, names))
    return headers


def _check_names(file: FlowFile, names: tuple[str, ...], required: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UnfitColumns(
            where=file.uri, columns=names, required=required, fault=f"{twice[0]} twice"
        )
    check_columns(names, required, file.uri)


def read_log_parquet(
    spark: SparkSession,
    files: Sequence[FlowFile],
    columns: Sequence[str],
    required: Sequence[str],
) -> DataFrame:
    """Rows of flow logs in Parquet with names in lower case with `_`; `columns`: of known types.

    Raises `UnfitColumns`, `InvalidFlows`.
    """
    raw, where = read_parquet(spark, files, wanted=(*columns, *required)), files[0].uri
    rows = raw.toDF(*(name.replace("-", "_").lower() for name in raw.columns))
    check_log_columns(rows.schema, columns, required, where)
    return rows


def check_log_columns(
    schema: StructType, columns: Sequence[str], required: Sequence[str], where: str
) -> None:
    """Check the columns of flow logs in Parquet, by names in lower case with `_`.

    Raises `UnfitColumns`, and `InvalidFlows` for a type.
    """
    check_columns(schema.names, required, where)
    for field in schema.fields:
        if field.name in columns and field.name != "row_offset":
            is_number = field.name in VPC_NUMBERS
            check_type(field, (*INTEGERS, "string") if is_number else ("string",), where)
