"""Rows that stay in Python between the tasks of Spark: Java gets them as Arrow streams.

A row that crosses between Python and Java is converted on both sides, column by column. Canonical
flows have a hundred times as many sums as VPC flow logs, and several steps read them. So tasks
store them as streams, and the steps on a stored table run one after another in one task:

```
stored    part 0  <stream, 65,536 sums>      part 3  <stream, 1 count>
step      Spark keeps part 0  ->  a task reads the streams  ->  work, filter, work  ->  its result
```

Sums over tasks move between them as streams, too. A key belongs to a slice by its hash. A task
has the streams of a slice together, so that it holds the sums of one slice at a time:

```
task 1   slice 0 <a 1, b 2>   slice 1 <c 3>        slice 0   a 1, b 2, a 4   ->   a 5, b 2
task 2   slice 0 <a 4>        slice 1 <d 1>        slice 1   c 3, d 1        ->   c 3, d 1
```

What this does not do: run anything (`engines.spark`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from rackwise.pipeline.columns.arrays import filled
from rackwise.pipeline.columns.groups import Groups
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from rackwise.pipeline.runtime.engine import Work

STREAMS = StructType([StructField("part", IntegerType()), StructField("data", BinaryType())])
"""A part of a table: its number, and rows as an Arrow stream."""
LEAST_SLICES = 16
"""Slices of the keys of a sum, unless Spark has more partitions."""
_STREAMS = arrow_schema(STREAMS)
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
_NO_KEY, _FACTOR, _HIGH_BITS = -1, np.uint64(0x9E3779B97F4A7C15), np.uint64(40)
"""The number of a missing key; an odd factor of 64 bits, whose product has its best bits on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRows:
    """Rows that a task makes of those of a frame; nothing runs before Spark asks for them."""

    source: DataFrame
    works: tuple[Work, ...]
    """What a task does with the rows of the source, in this order."""
    schema: StructType
    """The columns of the result."""
    by: str | None = None
    """The column whose value is `part` of the source; None if there is none, or after a work."""

    @property
    def has_streams(self) -> bool:
        """Whether the rows of the source are streams."""
        return self.source.columns[-1:] == STREAMS.names[-1:]

    @classmethod
    def of(cls, rows: DataFrame | TaskRows) -> TaskRows:
        """The same rows; those of a frame as they are."""
        if isinstance(rows, TaskRows):
            return rows
        return cls(source=rows, works=(), schema=rows.schema)

    def frame(self) -> DataFrame:
        """The rows as rows of Spark."""
        return self.source.mapInArrow(_Chain(self.works), self.schema)

    def streams(self, by: str) -> DataFrame:
        """STREAMS of the rows; `by`: a column of small integers."""
        return self.source_of(AsStreams(by), STREAMS)

    def source_of(self, work: Work, columns: StructType) -> DataFrame:
        """The result of one more work as rows of Spark, whose last column is streams."""
        return self.source.mapInArrow(_Chain((*self.works, work)), columns)

    def map(self, work: Work, schema: StructType) -> TaskRows:
        """The result of one more work, with these columns."""
        works: tuple[Work, ...] = (*self.works, _Shaped(work, schema))
        return TaskRows(source=self.source, works=works, schema=schema)

    def where(self, column: str, value: str | int) -> TaskRows:
        """The rows that have this value in a column; Spark leaves out streams where it can."""
        if column == self.by:
            return replace(self, source=self.source.where(F.col("part") == value))
        works: tuple[Work, ...] = (*self.works, _Equal(column, value))
        return replace(self, works=works)

    def summed(self, keys: Sequence[str], measures: Sequence[str], *, partitions: int) -> TaskRows:
        """The rows with equal keys as one; `keys`: columns of integers.

        `partitions`: those of a shuffle.
        """
        columns = StructType([self.schema[name] for name in (*keys, *measures)])
        slices = max(LEAST_SLICES, partitions)
        work = _Slices(keys=(*keys,), measures=(*measures,), slices=slices)
        found = self.source_of(work, STREAMS)
        # Without a number of partitions, Spark combines small ones.
        source = found.repartition("part").sortWithinPartitions("part")
        merged = _SliceSums(keys=work.keys, measures=work.measures, schema=columns)
        return TaskRows(source=source, works=(merged,), schema=columns)


def frame_of(rows: DataFrame | TaskRows) -> DataFrame:
    """The rows as rows of Spark."""
    return rows.frame() if isinstance(rows, TaskRows) else rows


def stored_rows(streams: DataFrame, schema: StructType, *, by: str) -> TaskRows:
    """The rows of stored STREAMS; `by`: the column whose value is `part`."""
    return TaskRows(source=streams, works=(_OfStreams(),), schema=schema, by=by)


@dataclass(frozen=True, slots=True)
class AsStreams:
    """The work of a task: rows in, STREAMS out."""

    by: str
    """A column of small integers, which is `part`."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of each batch and part as one stream."""
        for batch in batches:
            parts = filled(batch.column(self.by), _NO_KEY)
            for part in np.unique(parts).tolist():
                yield _stream(part, batch.take(pa.array(np.flatnonzero(parts == part))))


@dataclass(frozen=True, slots=True)
class _OfStreams:
    """The work of a task: STREAMS in, their rows out."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of each stream."""
        for batch in batches:
            for data in batch.column("data"):
                yield from stream_rows(data)


@dataclass(frozen=True, slots=True)
class _Chain:
    """The work of a task: works, each on the result of the one before."""

    works: tuple[Work, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = iter(batches)
        for work in self.works:
            found = work(found)
        return found


@dataclass(frozen=True, slots=True)
class _Shaped:
    """A work whose result has exactly the columns of a schema, as Spark would give them."""

    work: Work
    schema: StructType

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        wanted = arrow_schema(self.schema)
        for batch in self.work(batches):
            arrays = [batch.column(field.name).cast(field.type) for field in wanted]
            yield pa.RecordBatch.from_arrays(arrays, schema=wanted)


@dataclass(frozen=True, slots=True)
class _Equal:
    """The work of a task: the rows that have a value in a column."""

    column: str
    value: str | int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pc.equal(batch.column(self.column), self.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slices:
    """The work of a task: rows in, STREAMS of their sums out, by slices of the keys."""

    keys: tuple[str, ...]
    measures: tuple[str, ...]
    slices: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cut = AsStreams("_slice")
        sums = Groups(self.keys, self.measures)
        for batch in batches:
            sums.add(pa.table({name: batch[name] for name in (*self.keys, *self.measures)}))
            if sums.is_full:
                yield from cut(map(self._with_slices, sums.take()))
        yield from cut(map(self._with_slices, sums.take()))

    def _with_slices(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows and the slice of each; equal keys have one slice in every task."""
        mixed = np.zeros(batch.num_rows, dtype=np.uint64)
        for name in self.keys:
            number: NDArray[np.int64] = filled(batch.column(name), _NO_KEY)
            mixed = (mixed ^ number.astype(np.uint64)) * _FACTOR
            mixed ^= mixed >> np.uint64(32)
        slices = (((mixed * _FACTOR) >> _HIGH_BITS) % np.uint64(self.slices)).astype(np.int32)
        names = [*batch.schema.names, "_slice"]
        return pa.RecordBatch.from_arrays([*batch.columns, pa.array(slices)], names)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SliceSums:
    """The work of a task: STREAMS of `_Slices` in order of the slices in, each key once out."""

    keys: tuple[str, ...]
    measures: tuple[str, ...]
    schema: StructType

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        wanted = arrow_schema(self.schema)
        sums, last = Groups(self.keys, self.measures), _NO_KEY
        for batch in batches:
            for part, data in zip(batch["part"].to_pylist(), batch["data"], strict=True):
                if part != last:
                    yield from _cast(sums.take(), wanted)
                    last = part
                for rows in stream_rows(data):
                    sums.add(pa.Table.from_batches([rows]))
        yield from _cast(sums.take(), wanted)


def _cast(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(schema.names).cast(schema)


def _stream(part: int, rows: pa.RecordBatch) -> pa.RecordBatch:
    """A row of STREAMS."""
    return pa.RecordBatch.from_arrays(
        [pa.array([part], pa.int32()), packed_rows(rows)], schema=_STREAMS
    )


def packed_rows(rows: pa.RecordBatch) -> pa.Array:
    """The rows as a stream; shape (1,)."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_COMPRESSED) as stream:
        stream.write_batch(rows)
    return pa.array([sink.getvalue().to_pybytes()], pa.binary())


def stream_rows(data: pa.BinaryScalar) -> Iterator[pa.RecordBatch]:
    """The rows of a stream."""
    with pa.ipc.open_stream(data.as_buffer()) as stream:
        yield from stream
