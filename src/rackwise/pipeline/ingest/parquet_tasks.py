"""Parquet files of stores as a Spark frame whose rows tasks read: no jar of the store is needed.

Spark needs the columns and types of a frame before it runs. So a first action reads the footers:

```
footers   tasks read them, each distinct one leaves once     columns and their types, merged
rows      tasks read parts of files                          a row each, where rows are needed
```

Most runs add the rows up in the tasks that read them (`splits`, `sums`) and use the frame only for
its columns. Types are those that Spark's own reader gives.

Limits: columns of equal names have equal types in all files. A column that the caller does not
need is in the frame by name, so that errors can list it, and is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    BinaryType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from rackwise.core.errors import InvalidFlows
from rackwise.core.text import escaped
from rackwise.pipeline.ingest.splits import (
    ROWS,
    STORE_BUFFER,
    Guarded,
    readable,
    split_table,
    splits,
    with_named_damage,
)
from rackwise.pipeline.runtime.failures import spark_failures
from rackwise.pipeline.runtime.stores.filesystems import check_unchanged, open_place
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from rackwise.pipeline.ingest.files import FlowFile

_FOOTERS = StructType([StructField("name", StringType()), StructField("columns", BinaryType())])
_PLACE = [StructField("source_file", StringType()), StructField("row_offset", LongType())]
_UNSIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
_INT96 = "INT96"


def parquet_rows(
    spark: SparkSession,
    files: Sequence[FlowFile],
    *,
    wanted: frozenset[str],
    left_out: frozenset[str],
) -> DataFrame:
    """The columns of the files, `source_file` and `row_offset`; an action.

    `wanted`: names in lower case with `_`; other columns are null. `left_out`: names in lower case
    of columns that the frame does not have. Raises `InvalidFlows` for a file
    that cannot be read, and for wanted columns that do not agree.
    """
    frame = splits(spark, files, (), whole=True).mapInArrow(_footers, _FOOTERS)
    with with_named_damage(*spark_failures()):
        footers = frame.collect()
    found = ((row.name, bytes(row.columns)) for row in footers)
    schema = _merged(found, wanted=wanted, left_out=left_out)
    reader = _RowReader(columns=schema, wanted=wanted)
    return splits(spark, files, ()).mapInArrow(reader, schema)


def parquet_columns(
    files: Sequence[FlowFile], *, wanted: frozenset[str], left_out: frozenset[str]
) -> StructType:
    """The columns of the rows of `parquet_rows`, from footers that this process reads.

    Raises `UnreadableFile`, and `InvalidFlows` for wanted columns that do not agree.
    """
    table, _ = split_table(files, (), whole=True)
    seen = {
        bytes(row["columns"]): row["name"]
        for batch in Guarded(_footers)(table.to_batches())
        for row in reversed(batch.to_pylist())
    }
    found = ((name, columns) for columns, name in seen.items())
    return _merged(found, wanted=wanted, left_out=left_out)


def _merged(
    footers: Iterable[tuple[str, bytes]], *, wanted: frozenset[str], left_out: frozenset[str]
) -> StructType:
    """The columns of files with these footers, and the place of a row."""
    columns: dict[str, tuple[DataType, str]] = {}
    for file, own in sorted(footers):
        fields_of_file = pa.ipc.read_schema(pa.py_buffer(own))
        _check_once(fields_of_file.names, file, wanted)
        for field in fields_of_file:
            if field.name.lower() in left_out:
                continue
            is_wanted = _known(field.name) in wanted
            kind = _spark_type(field, file) if is_wanted else StringType()
            first, where = columns.setdefault(field.name, (kind, file))
            if first != kind:
                raise _differ(field.name, (first, where), (kind, file))
    fields = (StructField(name, kind) for name, (kind, _) in columns.items())
    return StructType([*fields, *_PLACE])


def _check_once(names: Sequence[str], where: str, wanted: frozenset[str]) -> None:
    """Raise `InvalidFlows` if a file has a wanted column twice."""
    known = [_known(name) for name in names]
    twice = next((name for name in sorted(wanted) if known.count(name) > 1), None)
    if twice is not None:
        raise InvalidFlows(
            f"invalid columns of {escaped(where)}: expected each column once, got {twice} twice",
            wanted="each column once",
            had=f"{twice} twice",
            hint="write the file again with one column of this name",
            where=where,
        )


def _known(name: str) -> str:
    return name.replace("-", "_").lower()


def _footers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each distinct list of columns of a task, with the name of its first file."""
    seen: set[bytes] = set()
    for batch in batches:
        for split in batch.to_pylist():
            for columns in readable(map(_columns, [split]), split["path"]):
                if columns not in seen:
                    seen.add(columns)
                    row = {"name": split["name"], "columns": columns}
                    yield pa.RecordBatch.from_pylist([row], schema=arrow_schema(_FOOTERS))


def _columns(split: Mapping[str, Any]) -> bytes:
    """The columns of a file, as Arrow writes a schema."""
    place = split["path"]
    check_unchanged(place, split["size"], split["modified_s"])
    with open_place(place) as file:
        footer = parquet.read_metadata(file)
    physical = {
        column.path: column.physical_type
        for column in (footer.schema.column(i) for i in range(len(footer.schema)))
    }
    fields = [
        field.with_type(pa.timestamp("us", "UTC")) if physical.get(field.name) == _INT96 else field
        for field in footer.schema.to_arrow_schema()
    ]
    columns = pa.schema([field.remove_metadata() for field in fields])
    content: bytes = columns.serialize().to_pybytes()
    return content


def _spark_type(field: pa.Field, where: str) -> DataType:
    kind = _UNSIGNED.get(field.type, field.type)
    try:
        return from_arrow_type(kind, prefer_timestamp_ntz=True)
    except PySparkException:
        raise InvalidFlows(
            f"invalid column {escaped(field.name)} of {escaped(where)}: expected a type that Spark "
            f"reads, got {kind}",
            wanted="a type that Spark reads",
            had=str(kind),
            hint="write the column with its declared type",
            where=where,
        ) from None


def _differ(name: str, one: tuple[DataType, str], other: tuple[DataType, str]) -> InvalidFlows:
    (kind, where), (had, place) = one, other
    return InvalidFlows(
        f"expected Parquet files whose columns agree, got {escaped(name)} as "
        f"{kind.simpleString()} in {escaped(where)} and {had.simpleString()} in {escaped(place)}",
        wanted=kind.simpleString(),
        had=had.simpleString(),
        hint="write the column with one type in all files",
        where=place,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowReader:
    """Reads the rows of splits; Spark sends it to the workers."""

    columns: StructType
    wanted: frozenset[str]
    """The columns to read, in lower case with `_`."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of all splits. Raises `UnreadableFile`."""
        for batch in batches:
            for split in batch.to_pylist():
                yield from readable(self._rows(**split), split["path"])

    def _rows(
        self,
        *,
        name: str,
        path: str,
        size: int,
        modified_s: int,
        part: int,
        parts: int,
        file: int | None,  # noqa: ARG002 (a column of a split)
    ) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(self.columns)
        check_unchanged(path, size, modified_s)
        with (
            open_place(path) as source,
            parquet.ParquetFile(
                source, buffer_size=STORE_BUFFER, coerce_int96_timestamp_unit="us"
            ) as content,
        ):
            names = content.schema_arrow.names
            own = [name for name in schema.names if name in names and _known(name) in self.wanted]
            first = 0
            for group in range(content.num_row_groups):
                rows = content.metadata.row_group(group).num_rows
                if group % parts == part:
                    at = first
                    for batch in content.iter_batches(ROWS, [group], own, use_threads=False):
                        place = {
                            "source_file": pa.repeat(name, batch.num_rows),
                            "row_offset": pa.array(np.arange(at, at + batch.num_rows)),
                        }
                        yield _shaped(batch, place, schema)
                        at += batch.num_rows
                first += rows
        check_unchanged(path, size, modified_s)


def _shaped(batch: pa.RecordBatch, place: dict[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """The batch with all columns of the schema; a missing one is null."""
    found = dict(zip(batch.schema.names, batch.columns, strict=True)) | place
    arrays = [
        found[field.name].cast(field.type, safe=False)
        if field.name in found
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
