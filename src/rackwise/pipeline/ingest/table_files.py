"""Tables of a run as Parquet that tasks write and read with pyarrow: no row crosses into Java.

A task writes files under names of their own, which readers of Parquet leave out, and tells the
driver which. The driver gives the files of finished tasks their names, and removes the others:

```
task 0, killed       day=2026-11-01/_8c1f.parquet                  removed
task 0, once more    day=2026-11-01/_42ab.parquet   3 rows    ->   day=2026-11-01/part-00000.parquet
task 1               day=2026-11-01/_e09d.parquet   5 rows    ->   day=2026-11-01/part-00001.parquet
```

A task holds `MOST_ROWS` rows, and a batch, before it writes a file for each folder.

Limits: folders that the driver and all executors share. Values in names of folders are numbers and
dates.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql.types import LongType, StringType, StructField, StructType

from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

FILE = StructType(
    [
        StructField("place", StringType()),
        StructField("rows", LongType()),
        StructField("bytes", LongType()),
    ]
)
"""A file that a task wrote: its path in the folder, its rows, and the sum of their `bytes`."""
PLACE = StructType([StructField("place", StringType())])
"""A file to read: its path in the folder."""
PART = "part-{:05}.parquet"
MOST_ROWS = 2**17
"""Rows that a task holds before it writes them."""
READ_ROWS = 2**16
"""Rows of a batch that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """The work of a task: rows of a table in, FILE of what it wrote out."""

    folder: str
    """An absolute path."""
    schema: StructType
    by: tuple[str, ...] = ()
    """Columns whose values are folders."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The files, each when it is written."""
        wanted = arrow_schema(self.schema)
        held: list[pa.Table] = []
        for batch in batches:
            held.append(with_columns(pa.Table.from_batches([batch]), wanted))
            if sum(map(len, held)) >= MOST_ROWS:
                yield from self._written(pa.concat_tables(held))
                held.clear()
        if held:
            yield from self._written(pa.concat_tables(held))

    def _written(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        for names, part in folder_parts(rows, self.by):
            place = Path(*names, f"_{uuid4().hex}.parquet")
            path = self.folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            parquet.write_table(part.drop_columns([*self.by]), path)
            sums = pc.sum(part["bytes"]).as_py() or 0 if "bytes" in part.column_names else None
            told = {"place": str(place), "rows": len(part), "bytes": sums}
            yield pa.RecordBatch.from_pylist([told], schema=arrow_schema(FILE))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRows:
    """The work of a task: PLACE in, the rows of the files out."""

    folder: str
    """An absolute path."""
    schema: StructType

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows, one file after another."""
        for batch in batches:
            for place in batch.column("place").to_pylist():
                yield from self._rows(Path(place))

    def _rows(self, place: Path) -> Iterator[pa.RecordBatch]:
        wanted = arrow_schema(self.schema)
        values = dict(part.split("=", 1) for part in place.parent.parts)
        with parquet.ParquetFile(self.folder / place) as file:
            for batch in file.iter_batches(READ_ROWS, use_threads=False):
                arrays = [
                    pa.repeat(pa.scalar(values[field.name]).cast(field.type), batch.num_rows)
                    if field.name in values
                    else batch.column(field.name).cast(field.type)
                    for field in wanted
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=wanted)


def new_folder(path: str) -> Path:
    """The folder of a table, empty; an older table there is removed."""
    folder = Path(path).absolute()
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def name_files(
    folder: Path, files: Sequence[Mapping[str, Any]], schema: StructType, *, by: Sequence[str] = ()
) -> None:
    """Give the files of a table their names, and remove what tasks left that did not finish.

    What a task writes after that keeps a name that readers leave out.

    `files`: FILE of all finished tasks; `by`: columns whose values are folders. A table without
    rows becomes one file if it has no folders, so that each reader of Parquet finds its columns.
    """
    counts: Counter[Path] = Counter()
    for file in files:
        written = folder / file["place"]
        written.rename(written.parent / PART.format(counts[written.parent]))
        counts[written.parent] += 1
    for left in folder.rglob("_*.parquet"):
        left.unlink()
    if not files and not by:
        empty = arrow_schema(schema).empty_table()
        parquet.write_table(empty, folder / PART.format(0))


def table_places(folder: Path) -> list[Path]:
    """The Parquet files of a table, relative to its folder; names that Spark hides are left out."""
    places = [file.relative_to(folder) for file in sorted(folder.rglob("*.parquet"))]
    return [place for place in places if not any(part[0] in "_." for part in place.parts)]


def with_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a schema, in its order."""
    arrays = [table.column(field.name).cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def folder_parts(table: pa.Table, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """The rows of each folder, and its name; `by`: columns whose values are folders."""
    if not by:
        yield (), table
        return
    keys = table.select([*by])
    for row in keys.group_by([*by], use_threads=False).aggregate([]).to_pylist():
        is_own = np.ones(len(table), dtype=np.bool_)
        for name, value in row.items():
            is_own &= pc.equal(table[name], value).to_numpy()
        yield (
            tuple(f"{name}={value}" for name, value in row.items()),
            table.filter(pa.array(is_own)),
        )
