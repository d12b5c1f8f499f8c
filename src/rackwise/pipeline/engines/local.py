"""Runs tasks in this process, one after another: no Java, no other program.

```
rows     a function that gives batches; nothing is computed before they are read
tables   Parquet of pyarrow, in the folders that Spark would write: gold/cross_rack/day=2026-11-01
```

Rows of one kind are in memory where they are grouped by key or cluster. A child process reads the
flow files and adds them up (see `runtime.child_process`), because a damaged one can end it.

Limits: paths of this machine only.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql.types import StructField, StructType

from rackwise.core.errors import InvalidConfig, InvalidFlows
from rackwise.core.override import override
from rackwise.core.text import escaped
from rackwise.pipeline.engines.job_engine import JobEngine, OpenedFlows
from rackwise.pipeline.engines.local_tables import table_batches
from rackwise.pipeline.ingest.files import local_files
from rackwise.pipeline.ingest.formats import input_format, invalid_columns
from rackwise.pipeline.ingest.names import names_by_task
from rackwise.pipeline.ingest.parquet_files import RESERVED, UnfitColumns
from rackwise.pipeline.ingest.parquet_tasks import parquet_columns
from rackwise.pipeline.ingest.splits import Guarded, SplitReader, UnreadableFile, with_named_damage
from rackwise.pipeline.ingest.table_files import PART, folder_parts, new_folder, with_columns
from rackwise.pipeline.ingest.tables import WriteCounts
from rackwise.pipeline.ingest.text_tasks import local_heads
from rackwise.pipeline.request import claim_folder
from rackwise.pipeline.runtime.running import Reading
from rackwise.pipeline.schemas import arrow_schema
from rackwise.pipeline.stream.table_formats import PARQUET

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import FactInput
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats.base import FactOptions, InputFormat
    from rackwise.pipeline.ingest.names import FoundNames
    from rackwise.pipeline.request import AnalyzeRequest
    from rackwise.pipeline.runtime.engine import ClusterWork, Work

NOTHING: Mapping[str, Collection[Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRows:
    """Batches of one schema, as often as they are asked for."""

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]

    def table(self) -> pa.Table:
        """All of them."""
        return pa.Table.from_batches(list(self.batches()), schema=self.schema)


class LocalEngine(JobEngine):
    """Runs everything in this process."""

    @property
    @override
    def is_this_process(self) -> bool:
        """Always."""
        return True

    @property
    @override
    def failures(self) -> tuple[type[Exception], ...]:
        """A task raises what it raises; of files, this."""
        return (UnreadableFile,)

    @override
    def table(self, table: pa.Table, schema: StructType) -> LocalRows:
        """A small table as rows."""
        shaped = with_columns(table, arrow_schema(schema))
        return LocalRows(schema=shaped.schema, batches=lambda: iter(shaped.to_batches()))

    @override
    def dealt(
        self,
        table: pa.Table,
        schema: StructType,
        *,
        loads: Sequence[int],  # noqa: ARG002 (there is one task)
        most: int | None = None,  # noqa: ARG002
    ) -> LocalRows:
        """The rows in their order, one per batch."""
        shaped = with_columns(table, arrow_schema(schema))
        return LocalRows(
            schema=shaped.schema, batches=lambda: iter(shaped.to_batches(max_chunksize=1))
        )

    @override
    def read(
        self, path: str, schema: StructType, *, only: Mapping[str, Collection[Any]] = NOTHING
    ) -> LocalRows:
        """The rows of the files of a folder. Raises `InvalidConfig` if there is none."""
        wanted = arrow_schema(schema)
        return LocalRows(schema=wanted, batches=table_batches(Path(path), wanted, only))

    @override
    def read_own(self, path: str, schema: StructType) -> LocalRows:
        """The same."""
        return self.read(path, schema)

    @override
    def map(self, rows: LocalRows, work: Work, schema: StructType) -> LocalRows:
        """The result of one call of `work`; what reads files runs in a child process."""
        wanted = arrow_schema(schema)
        if isinstance(work, SplitReader):
            work = Guarded(work)
        return LocalRows(
            schema=wanted,
            batches=lambda: (
                pa.RecordBatch.from_arrays(
                    [batch.column(field.name).cast(field.type) for field in wanted],
                    schema=wanted,
                )
                for batch in work(rows.batches())
            ),
        )

    @override
    def where(self, rows: LocalRows, column: str, value: str | int) -> LocalRows:
        """The rows of each batch."""

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in rows.batches():
                yield batch.filter(pc.equal(batch.column(column), value))

        return LocalRows(schema=rows.schema, batches=batches)

    @override
    def union(self, parts: Sequence[LocalRows]) -> LocalRows:
        """The rows of the parts, one part after the other."""
        return LocalRows(
            schema=parts[0].schema,
            batches=lambda: (batch for part in parts for batch in part.batches()),
        )

    @override
    def summed(self, rows: LocalRows, keys: Sequence[str], measures: Sequence[str]) -> LocalRows:
        """The rows with equal keys as one, in order of their first row."""
        schema = pa.schema([rows.schema.field(name) for name in (*keys, *measures)])

        def batches() -> Iterator[pa.RecordBatch]:
            found = rows.table().group_by([*keys], use_threads=False)
            sums = found.aggregate([(name, "sum") for name in measures])
            yield from sums.rename_columns(schema.names).cast(schema).to_batches()

        return LocalRows(schema=schema, batches=batches)

    @override
    def by_cluster(
        self,
        left: LocalRows,
        right: LocalRows,
        work: ClusterWork,
        schema: StructType,
        *,
        tasks: int,  # noqa: ARG002 (there is one)
    ) -> LocalRows:
        """The result of `work` for one cluster after the other."""

        def batches() -> Iterator[pa.RecordBatch]:
            sides = [left.table(), right.table()]
            empty = [side.slice(0, 0) for side in sides]
            own, others = (_clusters(side) for side in sides)
            for name in sorted({*own, *others}):
                found = work(own.get(name, empty[0]), others.get(name, empty[1]))
                yield from found.to_batches()

        return LocalRows(schema=arrow_schema(schema), batches=batches)

    @override
    def store(
        self,
        rows: LocalRows,
        path: str,  # noqa: ARG002 (there is no file)
        schema: StructType,  # noqa: ARG002
        *,
        by: str,  # noqa: ARG002
    ) -> LocalRows:
        """The rows in memory: what tasks leave is small."""
        table = rows.table()
        return LocalRows(schema=table.schema, batches=lambda: iter(table.to_batches()))

    @override
    def write(
        self,
        rows: LocalRows,
        path: str,
        schema: StructType,
        *,
        by: Sequence[str] = (),
        one_file: Sequence[str] = (),
    ) -> WriteCounts:
        """Write one file, or one for each folder."""
        tables: Iterable[pa.Table] = (pa.Table.from_batches([batch]) for batch in rows.batches())
        if one_file:
            tables = [_ordered(rows.table(), one_file)]
        wanted = arrow_schema(schema)
        kept = pa.schema([field for field in wanted if field.name not in by])
        folder = new_folder(path)
        count = total = 0
        has_bytes = "bytes" in wanted.names
        with ExitStack() as opened:
            writers: dict[tuple[str, ...], parquet.ParquetWriter] = {}
            if not by:
                writers[()] = opened.enter_context(_writer(folder / PART.format(0), kept))
            for one in tables:
                table = with_columns(one, wanted)
                count += len(table)
                total += pc.sum(table["bytes"]).as_py() or 0 if has_bytes else 0
                for place, part in folder_parts(table, by):
                    if place not in writers:
                        own = folder.joinpath(*place)
                        own.mkdir(parents=True)
                        writers[place] = opened.enter_context(_writer(own / PART.format(0), kept))
                    writers[place].write_table(part.select(kept.names))
        return WriteCounts(rows=count, bytes=total if has_bytes else None)

    @override
    def append(self, rows: LocalRows, path: str, schema: StructType) -> None:
        """Write one more file of a folder, one batch after another."""
        wanted = arrow_schema(schema)
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        name = PART.format(len([*folder.iterdir()]))
        unfinished = folder / f"_{name}"
        try:
            with _writer(unfinished, wanted) as writer:
                for batch in rows.batches():
                    writer.write_table(with_columns(pa.Table.from_batches([batch]), wanted))
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        unfinished.rename(folder / name)

    @override
    def save(self, table: pa.Table, path: str, schema: StructType) -> None:
        """Write one file in a new folder."""
        self.write(self.table(table, schema), path, schema)

    @override
    def watched(self) -> AbstractContextManager[LocalJobs]:
        """The rows that are read."""
        return nullcontext(LocalJobs())

    @override
    def check(self, request: AnalyzeRequest) -> None:
        """Raise `InvalidConfig` for what only Spark does."""
        if "://" in request.tables:
            raise only_on_spark("to write tables to a URI", request.tables)
        earlier = [each.tables for each in request.standing if each.tables]
        earlier += [request.earlier.tables] if request.earlier else []
        if stored := next((each for each in earlier if "://" in each), ""):
            raise only_on_spark("to continue a result whose tables are at a URI", stored)
        if request.table_format != PARQUET:
            raise only_on_spark(f"for --table-format {request.table_format}", request.table_format)
        if request.billed:
            raise only_on_spark("to read the provider's own bill", request.billed[0])
        if request.dedupe == "exact":
            raise only_on_spark("for --dedupe exact", request.dedupe)
        if request.keep:
            raise only_on_spark("for --keep", request.keep[0])
        if request.flows and not input_format(request.flow_format).is_by_file:
            raise only_on_spark(f"for --flow-format {request.flow_format}", request.flow_format)

    @override
    def add_tables(self, table_format: str, folder: str) -> None:
        """Only Parquet is written (see `check`)."""
        raise NotImplementedError(table_format, folder)

    @override
    def list_flows(self, paths: Sequence[str]) -> Sequence[FlowFile]:
        """The files of folders of this machine. Raises `InvalidFlows`."""
        files = local_files(paths)
        if files is None:
            had = ", ".join(map(escaped, paths))
            raise InvalidFlows(
                f"expected flow files in plain paths of this machine, got {had}",
                wanted="files or folders",
                had=had,
                hint="check the paths of --flows; omit --engine local for globs and URIs",
            )
        return files

    @override
    def open_flows(
        self,
        files: Sequence[FlowFile],
        format: str,  # noqa: A002 (the word of the command line)
        *,
        keep: str | None,  # noqa: ARG002 (see `check`)
    ) -> LocalFlows:
        """Files, with their columns checked. Raises `InvalidFlows`, `InvalidConfig`."""
        reads = input_format(format)
        reads.check_kinds(files)
        texts = [file for file in files if not file.is_parquet]
        if other := next((file for file in texts if not file.is_dealt), None):
            raise only_on_spark("to read text of other compressions than gzip", other.uri)
        tables = [file for file in files if file.is_parquet]
        names: set[str] = set()
        try:
            with with_named_damage(UnreadableFile):
                for file, header in reads.check_text(local_heads(texts)) if texts else ():
                    names |= _with_all(header, reads, file)
                if tables:
                    names |= _with_all(_table_columns(tables, reads).names, reads, tables[0])
        except UnfitColumns as error:
            raise invalid_columns(error) from None
        return LocalFlows(files=files, format=reads, columns=frozenset(names))

    @override
    def cost_report(
        self,
        paths: Sequence[str],
        note: Callable[[str], None],
    ) -> None:
        """None: see `check`."""

    @override
    def claim(self, tables: str, run: str) -> str:
        """A new folder."""
        return claim_folder(None, tables, run)

    @override
    def remove_run(self, folder: str) -> str | None:
        """Remove a folder."""
        if "://" in folder:
            return "only Spark removes the tables of a store; run once without --engine local"
        shutil.rmtree(folder)
        return None

    @override
    def versions(self) -> dict[str, str]:
        """That tasks run in this process."""
        return {"engine": "local"}

    @override
    def collect(self, rows: LocalRows) -> pa.Table:
        """All rows."""
        return rows.table()

    @override
    def remove(self, folders: Sequence[str]) -> None:
        """Remove folders; those of tables in memory do not exist."""
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


class LocalJobs:
    """The rows that are read; there are no tasks."""

    def __init__(self) -> None:
        self._rows = np.frombuffer(mmap(-1, 8), dtype=np.int64)
        """One number, in memory that a child process shares; negative if it is not known."""
        self.begin_step()

    def look(self) -> Reading:
        """The rows of the running step."""
        rows = int(self._rows[0])
        return Reading(rows=None if rows < 0 else rows)

    def begin_step(self) -> None:
        """Forget the rows of the last step."""
        self._rows[0] = -1

    def count_rows(self) -> Callable[[int], None]:
        """Counts rows as they are read."""

        def count(rows: int) -> None:
            self._rows[0] = max(0, int(self._rows[0])) + rows

        return count

    def end_rows(self, rows: int) -> None:
        """Set the exact number of rows."""
        self._rows[0] = rows


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFlows(OpenedFlows):
    """Flow files, whose columns are checked."""

    files: Sequence[FlowFile]
    format: InputFormat
    columns: frozenset[str]
    """Columns that a file has, in lower case with `_`."""

    @override
    def names(self) -> FoundNames:
        """Names in the rows that need codes. Raises `InvalidFlows` for a damaged file."""
        return names_by_task(LocalEngine(), self.files, self.columns)

    @override
    def fact_input(self, fleet: Fleet, buckets: Buckets, options: FactOptions) -> FactInput:
        """What turns the rows into facts."""
        uris = tuple(file.uri for file in self.files)
        return self.format.task_input(uris, fleet, buckets, options)


def _table_columns(files: Sequence[FlowFile], reads: InputFormat) -> StructType:
    """The columns of Parquet files, checked. Raises `UnfitColumns`, `InvalidFlows`."""
    wanted = frozenset(reads.bronze_schema().names) - RESERVED
    found = parquet_columns(files, wanted=wanted, left_out=RESERVED)
    columns = StructType(
        [
            StructField(field.name.replace("-", "_").lower(), field.dataType)
            for field in found.fields
        ]
    )
    reads.check_parquet(columns, files[0].uri)
    return columns


def _with_all(names: Sequence[str], reads: InputFormat, file: FlowFile) -> set[str]:
    """The names of columns. Raises `InvalidConfig` if one is missing that this engine needs."""
    if lacking := next((name for name in reads.needs_columns if name not in names), ""):
        raise only_on_spark(f"to read flow logs without {lacking}", file.uri)
    return {*names}


def only_on_spark(what: str, had: str) -> InvalidConfig:
    """The error for what this engine cannot do."""
    return InvalidConfig(
        f"invalid --engine: expected spark {what}, got local",
        wanted="spark",
        had=had,
        hint="omit --engine local; Spark requires Java 17 or later",
    )


def _clusters(rows: pa.Table) -> dict[str, pa.Table]:
    """The rows of each cluster, in their order."""
    found: dict[str, list[pa.RecordBatch]] = {}
    for batch in rows.to_batches():
        coded = batch.column("cluster").dictionary_encode()
        codes = coded.indices.to_numpy()
        counts = np.bincount(codes, minlength=len(coded.dictionary)).tolist()
        whole = batch.take(pa.array(np.argsort(codes, kind="stable")))
        first = 0
        for name, count in zip(coded.dictionary.to_pylist(), counts, strict=True):
            found.setdefault(name, []).append(whole.slice(first, count))
            first += count
    return {name: pa.Table.from_batches(parts) for name, parts in found.items()}


def _ordered(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows by these columns; a table that has this order is not copied."""
    order = pc.sort_indices(table, [(name, "ascending") for name in names])
    is_ordered = np.array_equal(order.to_numpy(), np.arange(len(table)))
    return table if is_ordered else table.take(order)


def _writer(file: Path, schema: pa.Schema) -> parquet.ParquetWriter:
    """A writer of a file.

    A binary value is a whole file, for which a dictionary or statistics would take several times
    its memory.
    """
    if not any(pa.types.is_binary(field.type) for field in schema):
        return parquet.ParquetWriter(file, schema)
    others = [path for field in schema for path in _leaves(field.name, field.type)]
    return parquet.ParquetWriter(file, schema, use_dictionary=others, write_statistics=others)


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    """The paths in Parquet of the columns of a field that are not binary."""
    if pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif not pa.types.is_binary(kind):
        yield path
