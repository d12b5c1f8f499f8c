"""Deals parts of flow files to the tasks of an engine, which read them without the JVM.

Goals, in order: every row of every file is read once; tasks have similar loads; a task streams its
rows, whatever the size of the file or of its row groups.

A file of up to `SPLIT_BYTES` is one part. A larger file has several parts. The row groups of a
Parquet file are dealt to its parts in turn, by the task that opens it, so no footer is read before.
A part of a text file is a range of bytes (`text_lines`), and a gzip file is one part:

```
file 0   40 MB   row groups 0 1          part 0 of 1   0 1
file 1  300 MB   row groups 0 1 2 3 4    part 0 of 3   0 3      part 1 of 3   1 4      part 2   2
```

Rows of a task are those that Spark's reader would give: columns by lower-case names with `_`, long
texts are cut, and each row has the number of its file and its place there. Texts stay coded as in
the file, so that each distinct one is looked at once.

A task opens a file of this machine, or of a store (`runtime.stores.filesystems`). A file whose size
or time is not that of the list is an error, before its first row and after its last one.

Limits: text of compressions other than gzip, and files that Spark has listed on a store, are read
by Spark.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from rackwise.core.errors import InvalidFlows
from rackwise.core.text import escaped
from rackwise.pipeline.columns.arrays import cut_texts
from rackwise.pipeline.fleet.tasks import in_own_partitions, task_count, task_keys
from rackwise.pipeline.ingest.files import PARQUET
from rackwise.pipeline.ingest.text_lines import TextPart
from rackwise.pipeline.runtime.child_process import ReaderEnded, in_child
from rackwise.pipeline.runtime.failures import WORKER_CRASHED
from rackwise.pipeline.runtime.stores.filesystems import (
    ChangedFile,
    check_unchanged,
    open_place,
    shown,
    store_uri,
)
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.runtime.engine import Engine, Rows

SPLIT_BYTES = 128 * 2**20
ROWS = 2**16
"""Rows of a batch."""
LONGEST_FAILURE = 300
"""Characters of a message."""
_NO_OBJECT = ("NO_SUCH_KEY", "RESOURCE_NOT_FOUND")
"""What the S3 client calls an object that is gone: it does not always read the server's answer."""
_CHANGED = (f"{ChangedFile.__name__}: ", f"{FileNotFoundError.__name__}: ", *_NO_OBJECT)
"""What a message has if the file is not the one that was listed."""
STORE_BUFFER = 2**23
"""Bytes that a task reads from a store at a time, for each column of a Parquet file."""
SPLIT = StructType(
    [
        StructField("file", IntegerType()),
        StructField("name", StringType()),
        StructField("path", StringType()),
        StructField("size", LongType()),
        StructField("modified_s", LongType()),
        StructField("part", IntegerType()),
        StructField("parts", IntegerType()),
    ]
)
"""A part of a file; `file` is its index in the list of URIs, or null and then `name` is its URI."""


_CRASH = StructType([StructField("crash", StringType())])
"""The path of a file that crashes its reader, and how."""


def are_dealt(files: Sequence[FlowFile], *, deals_text: bool) -> bool:
    """Whether tasks can open all of these files; `deals_text`: text is that of flow logs."""
    return bool(files) and all(file.is_dealt and (file.is_parquet or deals_text) for file in files)


def splits(
    spark: SparkSession, files: Sequence[FlowFile], uris: Sequence[str], *, whole: bool = False
) -> DataFrame:
    """`file, name, path, size, modified_s, part, parts` of each part, in tasks of similar loads.

    `file`: index in `uris`, null if the file is not there; then `name` is its URI. `whole`: each
    file is one part.
    """
    table, sizes = split_table(files, uris, whole=whole)
    count = reading_tasks(task_count(spark), sizes)
    tasks = pa.array(task_keys(sizes, count), pa.int32())
    columns = StructType([StructField("task", IntegerType()), *SPLIT.fields])
    dealt = table.append_column("task", tasks).select(columns.names)
    return in_own_partitions(spark.createDataFrame(dealt, columns), count).drop("task")


def dealt_splits(engine: Engine, files: Sequence[FlowFile], uris: Sequence[str]) -> Rows:
    """The same parts for an engine; whole files if there is one task."""
    table, sizes = split_table(files, uris, whole=engine.is_this_process)
    return engine.dealt(table, SPLIT, loads=sizes, most=SPLIT_BYTES)


def split_table(
    files: Sequence[FlowFile], uris: Sequence[str], *, whole: bool = False
) -> tuple[pa.Table, list[int]]:
    """SPLIT of all parts, and the bytes of each."""
    numbers = {uri: number for number, uri in enumerate(uris)}
    parts = [(file, 1 if whole else part_count(file)) for file in files]
    rows = [
        (
            numbers.get(file.uri),
            None if file.uri in numbers else file.uri,
            *(file.place, file.size, file.modified_s, part, count),
        )
        for file, count in parts
        for part in range(count)
    ]
    sizes = [file.size // count for file, count in parts for _ in range(count)]
    named = [dict(zip(SPLIT.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(named, schema=arrow_schema(SPLIT)), sizes


def part_count(file: FlowFile) -> int:
    """The number of parts of a file."""
    return 1 if file.is_gzip else max(1, -(-file.size // SPLIT_BYTES))


def reading_tasks(least: int, sizes: Sequence[int]) -> int:
    """The number of tasks that read parts of these bytes; `least`: that keep all cores busy.

    >>> reading_tasks(4, [10, 10]), reading_tasks(4, [SPLIT_BYTES] * 9)
    (2, 9)
    """
    return max(1, min(max(least, sum(sizes) // SPLIT_BYTES), len(sizes)))


class UnreadableFile(Exception):
    """A file that a task cannot read; its text has the path and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitReader:
    """Reads the rows of splits and passes them on; Spark sends it to the workers."""

    needed: StructType
    """The columns to read."""
    coded: tuple[str, ...]
    """Those of them that the work takes as codes: columns of texts, each distinct one once."""
    work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    """What a task does with its rows."""
    numbers: tuple[str, ...] = ()
    """Those of them that the work takes as integers, too, where text files have only numbers."""
    positive: str | None = None
    """A column of integers; row groups whose numbers are all below 1 there may be left out."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result of the work on the rows of all splits. Raises `UnreadableFile`."""
        return self.work(
            rows
            for batch in batches
            for split in batch.to_pylist()
            for rows in readable(self._rows(**split), split["path"])
        )

    def _rows(
        self,
        *,
        file: int | None,
        name: str | None,
        path: str,
        size: int,
        modified_s: int | None,
        part: int,
        parts: int,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a part of a file."""
        check_unchanged(path, size, modified_s)
        needed = self.needed.names
        if path.endswith(PARQUET):
            rows = _parquet_rows(path, needed, self.coded, part, parts, self.positive)
        else:
            text = TextPart(place=path, size=size, part=part, parts=parts)
            rows = text.batches(needed, self.coded, self.numbers)
        for batch in rows:
            zeros = np.zeros(batch.num_rows, dtype=np.int64)
            arrays = dict(zip(batch.schema.names, batch.columns, strict=True)) | {
                "file": pa.array([file], pa.int32()).take(zeros),
                "source_file": pa.array([name], pa.string()).take(zeros),
            }
            yield pa.RecordBatch.from_pydict(arrays)
        check_unchanged(path, size, modified_s)


@dataclass(frozen=True, slots=True)
class Guarded:
    """Work on splits in a child process: a file that crashes its reader is an unreadable file."""

    work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result of the work. Raises `UnreadableFile`."""
        given = list(batches)  # of this process, such as a socket

        def found(note: Callable[[str], None]) -> Iterator[pa.RecordBatch]:
            yield from self.work(noted(given, note))

        try:
            yield from in_child(found, UnreadableFile)
        except ReaderEnded as error:
            raise UnreadableFile(f"{error.note}: {error}") from None


def noted(
    batches: Iterable[pa.RecordBatch], note: Callable[[str], None]
) -> Iterator[pa.RecordBatch]:
    """The splits, each alone, and each noted by its path when its turn comes."""
    for batch in batches:
        for index, path in enumerate(batch.column("path").to_pylist()):
            note(path)
            yield batch.slice(index, 1)


def readable(rows: Iterator[pa.RecordBatch], path: str) -> Iterator[pa.RecordBatch]:
    """The rows. Raises `UnreadableFile` in place of an error of the reader."""
    while True:
        try:
            batch = next(rows, None)
        except MemoryError:  # Arrow's is an ArrowException, too
            raise
        except (OSError, pa.ArrowException, UnicodeDecodeError, IndexError) as error:
            reason = shown(error, os.environ)
            raise UnreadableFile(f"{path}: {type(error).__name__}: {reason}") from None
        if batch is None:
            return
        yield batch


@contextmanager
def with_named_damage(
    *failures: type[Exception], crash: Callable[[], str | None] = lambda: None
) -> Iterator[None]:
    """Raises `InvalidFlows` in place of a failure of a task or Spark to read a file.

    `crash`: is called if a worker of Spark crashed; the file that does this and how, if it is one.
    """
    try:
        yield
    except failures as error:
        found = crash() if WORKER_CRASHED in str(error) else None
        damaged = _damaged_file(UnreadableFile(found) if found else error)
        if damaged is None:
            raise
        raise damaged from error


def crash_in(engine: Engine, files: Sequence[FlowFile]) -> str | None:
    """The first Parquet file that crashes the process that reads it, and how; an action.

    Files of object stores are left out: a worker has opened the store, whose threads and
    connections its child would not have.
    """
    local = [file for file in files if store_uri(file.place) is None]
    dealt = [file for file in local if file.is_dealt and file.is_parquet]
    if not dealt:
        return None
    table, sizes = split_table(dealt, (), whole=True)
    splits_of_files = engine.dealt(table, SPLIT, loads=sizes)
    found = engine.collect(engine.map(splits_of_files, _crashes, _CRASH))
    return min(found["crash"].to_pylist(), default=None)


def _crashes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task: `_CRASH` of its files."""
    for batch in batches:
        for index in range(batch.num_rows):
            try:
                # A killed child says nothing about its file.
                with suppress(MemoryError):
                    for _ in Guarded(_read_all)([batch.slice(index, 1)]):
                        pass
            except UnreadableFile as error:
                yield pa.RecordBatch.from_pylist([{"crash": str(error)}])


def _read_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Reads all that readers of flow files read, and gives nothing; only a crash counts."""
    for batch in batches:
        for place in batch.column("path").to_pylist():
            with suppress(Exception), open_place(place) as source:
                footer = parquet.read_metadata(source)
                for group in range(footer.num_row_groups):
                    for index in range(footer.num_columns):
                        found = footer.row_group(group).column(index).statistics
                        _ = found is not None and found.has_min_max and found.max
            with suppress(Exception):
                names = footer.schema.to_arrow_schema().names
                known = [name.replace("-", "_").lower() for name in names]
                for coded in ([], known):
                    for _ in _parquet_rows(place, known, coded, 0, 1, None):
                        pass
    yield from ()


def _damaged_file(error: Exception) -> InvalidFlows | None:
    """The error for a file that a task or Spark could not read; None for another failure."""
    is_bare = isinstance(error, UnreadableFile)
    text = f"{UnreadableFile.__name__}: {error}" if is_bare else str(error)
    lines = (line.strip() for line in text.splitlines())
    marks = (f"{UnreadableFile.__name__}: ", "[FAILED_READ_FILE")
    found = (line[line.index(mark) :] for line in lines for mark in marks if mark in line)
    line = next(found, None)
    if line is None:
        return None
    had = line.removeprefix(marks[0])[:LONGEST_FAILURE]
    is_changed = any(mark in line for mark in _CHANGED)
    return InvalidFlows(
        f"expected flow files that can be read, got a damaged one: {escaped(had)}",
        wanted="readable files",
        had=had,
        hint="run the command again when nothing writes to the files"
        if is_changed
        else "download the file again, or omit it",
    )


def _parquet_rows(
    place: str,
    needed: Sequence[str],
    coded: Sequence[str],
    part: int,
    parts: int,
    positive: str | None,
) -> Iterator[pa.RecordBatch]:
    """The rows of a part of a Parquet file: the columns that it has, and `row_offset`.

    `positive`: see `SplitReader`.
    """
    with ExitStack() as opened:
        source = place if store_uri(place) is None else opened.enter_context(open_place(place))
        footer = parquet.read_metadata(source)
        kinds = {field.name: field.type for field in footer.schema.to_arrow_schema()}
        own = {column.replace("-", "_").lower(): column for column in kinds}
        columns = {column: own[column] for column in needed if column in own}
        texts = [
            own[name] for name in coded if name in own and pa.types.is_string(kinds[own[name]])
        ]
        content = opened.enter_context(
            parquet.ParquetFile(
                source,
                metadata=footer,
                buffer_size=2**20 if source is place else STORE_BUFFER,
                coerce_int96_timestamp_unit="us",
                read_dictionary=texts,
            )
        )
        first = 0
        for group in range(content.num_row_groups):
            is_read = positive is None or _may_be_positive(footer, group, own.get(positive))
            if group % parts == part and is_read:
                at = first
                for batch in content.iter_batches(
                    ROWS, [group], [*columns.values()], use_threads=False
                ):
                    arrays = {
                        column: _plain(batch.column(own), is_coded=column in coded)
                        for column, own in columns.items()
                    }
                    arrays["row_offset"] = pa.array(np.arange(at, at + batch.num_rows))
                    yield pa.RecordBatch.from_pydict(arrays)
                    at += batch.num_rows
            first += content.metadata.row_group(group).num_rows


def _may_be_positive(footer: parquet.FileMetaData, group: int, name: str | None) -> bool:
    """Whether a column of a row group may have a number above 0; false without the column."""
    paths = [footer.schema.column(index).path for index in range(footer.num_columns)]
    if name not in paths:
        return False
    found = footer.row_group(group).column(paths.index(name)).statistics
    if found is None:
        return True
    if found.has_min_max:
        return bool(found.max > 0)
    return not found.has_null_count or found.null_count < footer.row_group(group).num_rows


def _plain(column: pa.Array, *, is_coded: bool) -> pa.Array:
    """Texts of at most `LONGEST_TEXT` characters, instants as microseconds."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    if pa.types.is_dictionary(kind) and is_coded:
        return cut_texts(column)
    if pa.types.is_dictionary(kind) or pa.types.is_large_string(kind):
        column = column.cast(pa.string())
    return cut_texts(column) if pa.types.is_string(column.type) else column
