"""Writes and checks tables of the pipeline: Parquet, with their schema and their counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import LongType

from rackwise.core.text import escaped
from rackwise.pipeline.ingest.files import escape_glob
from rackwise.pipeline.runtime.failures import damaged_table
from rackwise.pipeline.runtime.session import large_batches
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCounts:
    """The size of a table that was written."""

    rows: int
    bytes: int | None
    """Sum of the column `bytes`; None for a table without one."""


def write_table(
    df: DataFrame,
    path: str,
    schema: StructType,
    *,
    by: Sequence[str] = (),
    batches: Callable[[SparkSession], AbstractContextManager[None]] = large_batches,
) -> WriteCounts:
    """Write Parquet with exactly the columns and types of `schema`, and count what was written.

    An older table at `path` is replaced. `by`: columns whose values are folders, `day=2026-11-01`;
    `batches`: limits those to Python.
    """
    columns = [F.col(field.name).cast(field.dataType) for field in schema.fields]
    names = [field.name for field in schema.fields]
    shaped = df.select(*(c.alias(name) for c, name in zip(columns, names, strict=True)))
    with batches(df.sparkSession):
        shaped.write.mode("overwrite").partitionBy(*by).parquet(path)
    has_bytes = "bytes" in names
    if "://" not in path:
        return _counts_of(Path(path), has_bytes=has_bytes)
    written = df.sparkSession.read.schema(schema).parquet(escape_glob(path))
    total = F.sum("bytes") if has_bytes else F.lit(None)
    row = written.agg(F.count("*").alias("rows"), total.alias("bytes")).collect()[0]
    return WriteCounts(rows=row.rows, bytes=(row.bytes or 0) if has_bytes else None)


def _counts_of(folder: Path, *, has_bytes: bool) -> WriteCounts:
    """What the files of a folder hold; no Spark job, which would take longer than small files."""
    rows = total = 0
    for path in sorted(folder.rglob("*.parquet")):
        with parquet.ParquetFile(path) as file:
            rows += file.metadata.num_rows
            if has_bytes:
                parts = file.iter_batches(columns=["bytes"])
                total += sum(pc.sum(part.column(0)).as_py() or 0 for part in parts)
    return WriteCounts(rows=rows, bytes=total if has_bytes else None)


def check_has_bytes(path: str) -> None:
    """Raise `InvalidConfig` for an empty file, which Spark reads as no rows; not on a store."""
    for file in [] if "://" in path else sorted(Path(path).rglob("*.parquet")):
        if file.is_file() and file.stat().st_size == 0:
            raise damaged_table(f"{escaped(str(file))} is empty", path)


def write_arrow(spark: SparkSession, table: pa.Table, path: str, schema: StructType) -> None:
    """Write a small table of the driver, in its order, as one Parquet file in a new folder.

    If `path` is a URI, Spark writes the table. Otherwise no Spark job runs.
    """
    if "://" in path:
        spark.createDataFrame(table, schema).coalesce(1).write.parquet(path)
        return
    Path(path).mkdir(parents=True)
    arrow = arrow_schema(schema)
    parquet.write_table(table.cast(arrow), Path(path, "part-00000.parquet"))


def write_rows(
    spark: SparkSession, rows: Iterable[Mapping[str, Any]], path: str, schema: StructType
) -> None:
    """Write rows of the driver as `write_arrow` does."""
    arrow = arrow_schema(schema)
    write_arrow(spark, pa.Table.from_pylist(list(rows), schema=arrow), path, schema)


def store(df: DataFrame, path: str) -> DataFrame:
    """Compute rows once, store them at `path` as Parquet, and return them.

    The rows are temporary, so longs are written without a dictionary: filling a dictionary takes
    longer than writing the longs.
    """
    longs = [field.name for field in df.schema if isinstance(field.dataType, LongType)]
    plain = {f"parquet.enable.dictionary#{name}": "false" for name in longs}
    with large_batches(df.sparkSession):
        df.write.mode("overwrite").option("compression", "uncompressed").options(**plain).parquet(
            path
        )
    return df.sparkSession.read.schema(df.schema).parquet(escape_glob(path))
