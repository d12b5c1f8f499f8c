"""The one file of this room that reads and writes tables: flow files in, Parquet out.

Bronze is what a source gave, under one set of names, with the place of every row:

```
interface_id srcaddr dstaddr srcport .. action log_status   pkt_srcaddr pkt_dstaddr flow_direction
malformed    why the line is no row (text alone), else null
raw          the line (text alone)
source_file  row_offset      row number from 0 in a Parquet file; null in text until `located`
```

Values are as the file has them, numbers or text: `flow_logs` and `input_facts` judge them. What
no file has is no column of `bronze`: each one takes its time on the way to Python, full or not.

What this does not do: keep what it has read; text is parsed again by each action unless `stored`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pyarrow import parquet
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, TimestampNTZType, TimestampType

from rackwise.core.errors import InvalidFlows
from rackwise.core.text import escaped
from rackwise.pipeline import schemas
from rackwise.pipeline.ingest.files import FlowFile, flow_files, literally
from rackwise.pipeline.ingest.request_log import MARK, request_rows
from rackwise.pipeline.ingest.row_outcomes import MALFORMED
from rackwise.pipeline.ingest.text import (
    FILE,
    OF_FILE,
    failure_line,
    located,
    marked_lines,
    spark_failures,
    surveyed,
    text_rows,
)
from rackwise.pipeline.ingest.vpc_rows import MISSING
from rackwise.pipeline.runtime.session import large_batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

FlowFormat = Literal["vpc", "canonical", "request-log"]

PARTIAL = "rackwise.partial"
"""Set in the metadata of a bronze column that is missing where it is needed in some rows."""
OURS = frozenset({"malformed", "principal", "fate", "raw", "source_file", "row_offset"})
"""Columns that we tell of a row; a file's own of these names are not read."""
INTEGERS = ("tinyint", "smallint", "int", "bigint")
_BRONZE = {
    "vpc": schemas.BRONZE_VPC,
    "canonical": schemas.BRONZE_INPUT,
    "request-log": schemas.BRONZE_REQUEST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCounts:
    """What stands in a table that was written: `bytes` is the sum of its column of that name."""

    rows: int
    bytes: int | None


def write_table(
    df: DataFrame, path: str, schema: StructType, *, partition_by: Sequence[str] = ()
) -> WriteCounts:
    """Write Parquet with exactly the columns and types of `schema`; count what is then there.

    An older table at `path` is replaced.
    """
    columns = [F.col(field.name).cast(field.dataType) for field in schema.fields]
    names = [field.name for field in schema.fields]
    shaped = df.select(*(c.alias(name) for c, name in zip(columns, names, strict=True)))
    with large_batches(df.sparkSession):
        shaped.write.mode("overwrite").partitionBy(*partition_by).parquet(path)
    written = df.sparkSession.read.schema(schema).parquet(literally(path))
    has_bytes = "bytes" in names
    total = F.sum("bytes") if has_bytes else F.lit(None)
    row = written.agg(F.count("*").alias("rows"), total.alias("bytes")).collect()[0]
    return WriteCounts(rows=row.rows, bytes=(row.bytes or 0) if has_bytes else None)


def write_arrow(spark: SparkSession, table: pa.Table, path: str, schema: StructType) -> None:
    """Write a small table that is at hand, in its order, as one Parquet file in a new folder.

    Behind a URI Spark does it; here it takes no job.
    """
    if "://" in path:
        spark.createDataFrame(table, schema).coalesce(1).write.parquet(path)
        return
    Path(path).mkdir(parents=True)
    arrow = to_arrow_schema(schema, timezone="UTC")
    parquet.write_table(table.cast(arrow), Path(path, "part-00000.parquet"))


def stored(df: DataFrame, path: str) -> DataFrame:
    """The same rows, computed once and kept at `path` as Parquet, which is not for long.

    Hence longs stand there as they are: a dictionary of them takes longer to fill than they take
    to write.
    """
    longs = [field.name for field in df.schema if isinstance(field.dataType, LongType)]
    plain = {f"parquet.enable.dictionary#{name}": "false" for name in longs}
    with large_batches(df.sparkSession):
        df.write.mode("overwrite").option("compression", "uncompressed").options(**plain).parquet(
            path
        )
    return df.sparkSession.read.schema(df.schema).parquet(literally(path))


def read_flows(spark: SparkSession, paths: Sequence[str], format: FlowFormat) -> DataFrame:  # noqa: A002 (the word of the command line)
    """Bronze rows: `schemas.BRONZE_VPC`, `schemas.BRONZE_INPUT` or `schemas.BRONZE_REQUEST`.

    `vpc`: flow logs of versions 2 to 5, Parquet (names with `_`) or text with a header line, plain
    or compressed. `canonical`: Parquet with the columns of `schemas.FLOW_INPUT`. `request-log`:
    text with a line per finished request. An action, for text one pass over the lines. Raises
    `InvalidFlows` for a path that is not there, and for a file without what is needed, or with a
    column of another type.
    """
    return whole(bronze(spark, flow_files(spark, paths), format), format)


def bronze(spark: SparkSession, files: Sequence[FlowFile], format: FlowFormat) -> DataFrame:  # noqa: A002
    """The same for files that are already listed, but for columns that none of them has."""
    if format == "canonical":
        return _canonical(spark, files)
    if format == "request-log":
        return _requests(spark, files)
    parquet = [file for file in files if file.is_parquet]
    if len(parquet) == len(files) > 0:
        rows, is_partial = _vpc_parquet(spark, parquet)
    else:
        rows, is_partial = _texts(spark, [file for file in files if not file.is_parquet])
        if parquet:
            others, lacks = _vpc_parquet(spark, parquet)
            rows = rows.unionByName(whole(others, format).to(schemas.BRONZE_VPC))
            is_partial = is_partial or lacks
    mark = {PARTIAL: is_partial}
    direction = F.col("flow_direction").alias("flow_direction", metadata=mark)
    return rows.select(*(direction if n == "flow_direction" else n for n in rows.columns))


def whole(rows: DataFrame, format: FlowFormat) -> DataFrame:  # noqa: A002
    """All columns that rows of `bronze` may have, in order; null in all rows where one is not."""
    return _shaped(rows, _BRONZE[format])


def quarantined(facts: DataFrame, files: Sequence[FlowFile]) -> DataFrame:
    """The malformed rows of `flow_facts` as a QUARANTINE table, lines of text with their numbers.

    An action of its own where there are malformed lines of text.
    """
    bad = facts.where(F.col("reason").startswith(MALFORMED))
    return located(
        facts.sparkSession, bad.select(*(field.name for field in schemas.QUARANTINE)), files
    )


def _texts(spark: SparkSession, files: Sequence[FlowFile]) -> tuple[DataFrame, bool]:
    texts = surveyed(spark, files)
    for text in texts.files:
        twice = sorted({name for name in text.columns if text.columns.count(name) > 1})
        if twice:
            raise _invalid(text.file.uri, text.columns, schemas.VPC_REQUIRED, f"{twice[0]} twice")
        _check_has(text.columns, schemas.VPC_REQUIRED, text.file.uri)
    rows = text_rows(spark, texts, [field.name for field in schemas.BRONZE_VPC][:-4])
    return rows, any("flow_direction" not in text.columns for text in texts.files)


def _vpc_parquet(spark: SparkSession, files: Sequence[FlowFile]) -> tuple[DataFrame, bool]:
    raw = _parquet(spark, files)
    rows = raw.toDF(*(name.replace("-", "_").lower() for name in raw.columns))
    _check_has(rows.columns, schemas.VPC_REQUIRED, _first(files))
    for field in rows.schema.fields:
        allowed = (*INTEGERS, "string") if field.name in schemas.VPC_NUMBERS else ("string",)
        is_read = field.name in schemas.BRONZE_VPC.names and field.name != "row_offset"
        if is_read and not _is(field, allowed):
            raise _wrong_type(field, allowed, _first(files))
    if "flow_direction" not in rows.columns:
        untold = rows.withColumn("flow_direction", F.lit(None).cast("string"))
        return _present(untold, schemas.BRONZE_VPC), True
    is_missing = F.coalesce(F.col("flow_direction") == MISSING, F.lit(1) == 1)
    lacks = (F.col("log_status") == "OK") & is_missing
    return _present(rows, schemas.BRONZE_VPC), rows.where(lacks).count() > 0


def _requests(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    lines, broken = marked_lines(spark, files, MARK)
    strays = spark.createDataFrame(
        [(FILE, file.uri, OF_FILE) for file in broken],
        "fate string, source_file string, row_offset long",
    )
    return request_rows(lines).unionByName(_shaped(strays, schemas.BRONZE_REQUEST))


def _canonical(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    other = next((file for file in files if not file.is_parquet), None)
    if other is not None:
        raise InvalidFlows(
            f"expected Parquet files of canonical flows, got {escaped(other.uri)}",
            wanted="*.parquet",
            had=other.uri,
            hint="use --flow-format vpc for flow logs as text",
            where=other.uri,
        )
    if not files:
        return spark.createDataFrame([], schemas.BRONZE_INPUT)
    rows = _parquet(spark, files)
    _check_has(rows.columns, schemas.FLOW_INPUT_REQUIRED, _first(files))
    for field in rows.schema.fields:
        if field.name in schemas.FLOW_INPUT.names:
            wanted = schemas.FLOW_INPUT[field.name].dataType
            allowed = _allowed(wanted)
            if not _is(field, allowed):
                raise _wrong_type(field, allowed, _first(files))
    return _present(rows, schemas.BRONZE_INPUT)


def _parquet(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    """All columns of Parquet files, and the place of each row."""
    try:
        rows = (
            spark.read.option("mergeSchema", "true")
            .option("ignoreCorruptFiles", "false")
            .parquet(*(file.pattern for file in files))
        )
        rows.schema  # noqa: B018 (Connect looks when it is asked something)
    except spark_failures() as error:
        had = failure_line(error)
        raise InvalidFlows(
            f"expected Parquet files whose columns agree, got an error from Spark: {had}",
            wanted="Parquet",
            had=had,
            hint="read the files one by one to find the one that differs",
            where=_first(files),
        ) from error
    own = [name for name in rows.columns if name.lower() not in OURS]
    return rows.select(
        *(F.col(f"`{name.replace('`', '``')}`") for name in own),
        F.col("_metadata.file_path").alias("source_file"),
        F.col("_metadata.row_index").alias("row_offset"),
    )


def _present(rows: DataFrame, schema: StructType) -> DataFrame:
    """The columns of `schema` that there are, in its order, with the types they have."""
    return rows.select(*(name for name in schema.names if name in rows.columns))


def _shaped(rows: DataFrame, schema: StructType) -> DataFrame:
    """The columns of `schema` in its order, with the types they have; nulls where one is not."""
    return rows.select(
        *(
            F.col(field.name)
            if field.name in rows.columns
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in schema.fields
        )
    )


def _first(files: Sequence[FlowFile]) -> str:
    return files[0].uri


def _allowed(kind: DataType) -> tuple[str, ...]:
    if isinstance(kind, StringType):
        return ("string",)
    return ("timestamp",) if isinstance(kind, TimestampType) else INTEGERS


def _is(field: StructField, allowed: Sequence[str]) -> bool:
    return field.dataType.simpleString() in allowed


def _wrong_type(field: StructField, allowed: Sequence[str], where: str) -> InvalidFlows:
    had = field.dataType.simpleString()
    hint = "write the column with its declared type"
    if isinstance(field.dataType, TimestampNTZType):
        hint = "write timestamps as UTC instants, with a time zone"
    return InvalidFlows(
        f"invalid column {field.name} of {escaped(where)}: expected {' or '.join(allowed)}, "
        f"got {had}",
        wanted=" or ".join(allowed),
        had=had,
        hint=hint,
        where=where,
    )


def _check_has(columns: Sequence[str], wanted: Sequence[str], where: str) -> None:
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise _invalid(where, columns, wanted, f"no {missing[0]}")


def _invalid(where: str, columns: Sequence[str], wanted: Sequence[str], fault: str) -> InvalidFlows:
    own = [name for name in columns if name not in {"source_file", "row_offset"}]
    is_canonical = all(name in columns for name in schemas.FLOW_INPUT_REQUIRED)
    is_vpc = all(name in columns for name in schemas.VPC_REQUIRED)
    hint = "add the missing columns to the format of the flow log"
    if is_canonical or is_vpc:
        hint = f"--flow-format {'canonical' if is_canonical else 'vpc'}"
    return InvalidFlows(
        f"invalid columns of {escaped(where)}: expected {' '.join(wanted)}, got {fault}, but "
        f"{' '.join(escaped(name) for name in own)}",
        wanted=" ".join(wanted),
        had=" ".join(own),
        hint=hint,
        where=where,
    )
