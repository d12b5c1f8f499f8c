"""Tables of different columns as rows of one frame: a name, and the rows as an Arrow stream.

A task that has several results gives each a name. A frame has one schema, so that without this each
result would need a pass of its own, or a frame with the columns of all:

```
name      data                          name      table
by_topic  <Arrow stream, 3 rows>        by_topic  5 rows
by_day    <Arrow stream, 1 row>    ->   by_day    1 row
by_topic  <Arrow stream, 2 rows>
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKED = StructType([StructField("name", StringType()), StructField("data", BinaryType())])
MOST_ROWS = 2**16
"""Rows of a table in one row of a frame."""
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")
"""The driver receives all rows of all clusters, whose names are mostly equal."""
_SCHEMA = pa.schema([("name", pa.string()), ("data", pa.binary())])


def packed_tables(tables: Mapping[str, pa.Table]) -> Iterator[pa.RecordBatch]:
    """The tables as rows of `PACKED`; a table without rows has no row."""
    for name, table in tables.items():
        for first in range(0, len(table), MOST_ROWS):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as stream:
                stream.write_table(table.slice(first, MOST_ROWS))
            data = sink.getvalue().to_pybytes()
            yield pa.RecordBatch.from_arrays(
                [pa.array([name]), pa.array([data], pa.binary())], schema=_SCHEMA
            )


def unpacked_tables(rows: pa.Table) -> dict[str, list[pa.Table]]:
    """The parts of each table, in the order of the rows; `rows`: PACKED.

    >>> rows = pa.Table.from_batches(packed_tables({"a": pa.table({"n": [1, 2]})}))
    >>> [part.to_pydict() for part in unpacked_tables(rows)["a"]]
    [{'n': [1, 2]}]
    """
    found: dict[str, list[pa.Table]] = {}
    for name, data in zip(rows.column("name").to_pylist(), rows.column("data"), strict=True):
        with pa.ipc.open_stream(data.as_buffer()) as stream:
            found.setdefault(name, []).append(stream.read_all())
    return found
