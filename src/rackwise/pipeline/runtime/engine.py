"""What runs the tasks of a job: Spark, or this process.

The work of a job is functions of Arrow batches. An engine moves rows between them and to tables,
and decides nothing:

```
                 SessionEngine                 LocalEngine
map              mapInArrow, many tasks      one call
where            the streams of a part       a filter
by_cluster       streams of each cluster     a loop over clusters
summed           slices of keys              Arrow's group_by
write            pyarrow's writer, in tasks  pyarrow's writer
                 to a store Spark's
```

`Rows` are rows that an engine has, and that can be read several times: a DataFrame, or batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    import pyarrow as pa
    from pyspark.sql.types import StructType

    Rows: TypeAlias = Any
    """Rows of one engine."""
    Work: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    """The work of a task: batches in, batches out."""
    ClusterWork: TypeAlias = Callable[[pa.Table, pa.Table], pa.Table]
    """The work on one cluster: its rows of two kinds in, rows out."""


class TableCounts(Protocol):
    """The size of a table that was written."""

    @property
    def rows(self) -> int:
        """Its rows."""

    @property
    def bytes(self) -> int | None:
        """Sum of the column `bytes`; None for a table without one."""


class Engine(Protocol):
    """Runs tasks, and reads and writes tables."""

    @property
    def is_this_process(self) -> bool:
        """Whether tasks run in this process, one after another, and share its values."""

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What is raised where a task fails."""

    def table(self, table: pa.Table, schema: StructType) -> Rows:
        """A small table of the driver as rows."""

    def dealt(
        self, table: pa.Table, schema: StructType, *, loads: Sequence[int], most: int | None = None
    ) -> Rows:
        """The same, in tasks of similar loads; `loads`: of each row; `most`: of a task."""

    def read(
        self, path: str, schema: StructType, *, only: Mapping[str, Collection[Any]] = {}
    ) -> Rows:
        """The rows of a table that was written; `only`: column -> the values that are read."""

    def read_own(self, path: str, schema: StructType) -> Rows:
        """The rows of a table that this run has written."""

    def map(self, rows: Rows, work: Work, schema: StructType) -> Rows:
        """The result of tasks; `schema`: its columns."""

    def where(self, rows: Rows, column: str, value: str | int) -> Rows:
        """The rows that have this value in a column."""

    def union(self, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts, which have the same columns."""

    def summed(self, rows: Rows, keys: Sequence[str], measures: Sequence[str]) -> Rows:
        """The rows with equal keys as one, measures added up; both are columns of integers."""

    def by_cluster(
        self, left: Rows, right: Rows, work: ClusterWork, schema: StructType, *, tasks: int
    ) -> Rows:
        """The result of `work` for each cluster; both sides have a column `cluster`."""

    def store(self, rows: Rows, path: str, schema: StructType, *, by: str) -> Rows:
        """The result of `map`, computed once and stored at `path`.

        `by`: a column of small integers by which rows are found (`where`).
        """

    def write(
        self,
        rows: Rows,
        path: str,
        schema: StructType,
        *,
        by: Sequence[str] = (),
        one_file: Sequence[str] = (),
    ) -> TableCounts:
        """Write a table with exactly these columns.

        `by`: columns whose values are folders; `one_file`: columns by which the rows are ordered in
        one file; rows that are equal there stay in their order.
        """

    def append(self, rows: Rows, path: str, schema: StructType) -> None:
        """Add rows to a table, which may not exist yet; all of them or none."""

    def save(self, table: pa.Table, path: str, schema: StructType) -> None:
        """Write a small table of the driver, in its order."""

    def collect(self, rows: Rows) -> pa.Table:
        """The rows on the driver."""

    def remove(self, folders: Sequence[str]) -> None:
        """Remove folders of temporary tables."""
