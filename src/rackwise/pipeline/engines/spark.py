"""Runs tasks on Spark: rows are a DataFrame, or what tasks make of one (`task_rows`).

What this does not do: start a session (`runtime.session`).
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql import is_remote
from pyspark.sql.types import IntegerType, StructField, StructType

from rackwise.core.override import override
from rackwise.pipeline.bill.billed.cost_report import cost_report_files, read_cost_report
from rackwise.pipeline.engines.job_engine import JobEngine, OpenedFlows
from rackwise.pipeline.fleet.tasks import in_own_partitions, task_count, task_keys
from rackwise.pipeline.ingest.files import escape_glob, flow_files
from rackwise.pipeline.ingest.formats import input_format, read_bronze, with_all_columns
from rackwise.pipeline.ingest.names import names_by_task
from rackwise.pipeline.ingest.splits import are_dealt, with_named_damage
from rackwise.pipeline.ingest.table_files import (
    FILE,
    PLACE,
    FileRows,
    TableFiles,
    name_files,
    new_folder,
    table_places,
)
from rackwise.pipeline.ingest.tables import (
    WriteCounts,
    check_has_bytes,
    store,
    write_arrow,
    write_table,
)
from rackwise.pipeline.request import check_shared, claim_folder
from rackwise.pipeline.runtime.failures import spark_failures
from rackwise.pipeline.runtime.running import java_version, watched
from rackwise.pipeline.runtime.session import large_batches, stream_batches
from rackwise.pipeline.runtime.stores.folders import remove_folders
from rackwise.pipeline.runtime.task_clusters import by_cluster
from rackwise.pipeline.runtime.task_rows import TaskRows, frame_of, stored_rows
from rackwise.pipeline.stream.table_formats import add_tables, check_lake

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.bill.billed.cost_report import CostReport
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import FactInput
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats.base import FactOptions, InputFormat
    from rackwise.pipeline.ingest.names import FoundNames
    from rackwise.pipeline.request import AnalyzeRequest
    from rackwise.pipeline.runtime.engine import ClusterWork, Work
    from rackwise.pipeline.runtime.running import RunningJobs

    SparkRows: TypeAlias = DataFrame | TaskRows

NOTHING: Mapping[str, Collection[Any]] = MappingProxyType({})
_TASK = StructField("task", IntegerType())


def batches_for(rows: SparkRows) -> Callable[[SparkSession], AbstractContextManager[None]]:
    """What limits the batches to Python of an action on these rows."""
    has_streams = isinstance(rows, TaskRows) and rows.has_streams
    return stream_batches if has_streams else large_batches


@dataclass(frozen=True, slots=True)
class SessionEngine(JobEngine):
    """Runs everything in tasks of a session."""

    spark: SparkSession

    @property
    @override
    def is_this_process(self) -> bool:
        """Never: a worker gets copies."""
        return False

    @property
    @override
    def failures(self) -> tuple[type[Exception], ...]:
        """The errors of Spark."""
        return spark_failures()

    @override
    def table(self, table: pa.Table, schema: StructType) -> DataFrame:
        """A small table as a frame."""
        return self.spark.createDataFrame(table.select(schema.names).combine_chunks(), schema)

    @override
    def dealt(
        self, table: pa.Table, schema: StructType, *, loads: Sequence[int], most: int | None = None
    ) -> DataFrame:
        """The rows in partitions of similar loads."""
        least = 0 if most is None else sum(loads) // most
        count = max(1, min(max(least, task_count(self.spark)), len(loads)))
        tasks = pa.array(task_keys(loads, count), pa.int32())
        whole = StructType([_TASK, *schema.fields])
        frame = self.table(table.append_column("task", tasks), whole)
        return in_own_partitions(frame, count).drop("task")

    @override
    def read(
        self, path: str, schema: StructType, *, only: Mapping[str, Collection[Any]] = NOTHING
    ) -> DataFrame:
        """The rows of a folder or URI. Raises `InvalidConfig`."""
        check_has_bytes(path)
        rows = self.spark.read.schema(schema).parquet(escape_glob(path)).select(*schema.names)
        for name, values in only.items():
            rows = rows.where(F.col(name).isin(sorted(values)))
        return rows

    @override
    def read_own(self, path: str, schema: StructType) -> SparkRows:
        """The rows as tasks read them in a folder, and Spark at a URI or behind Connect."""
        if not self._shares_folder(path):
            return self.read(path, schema)
        folder = Path(path).absolute()
        places = table_places(folder)
        named = pa.table({"place": pa.array(map(str, places), pa.string())})
        sizes = [(folder / place).stat().st_size for place in places]
        found = TaskRows.of(self.dealt(named, PLACE, loads=sizes))
        return found.map(FileRows(folder=str(folder), schema=schema), schema)

    @override
    def map(self, rows: SparkRows, work: Work, schema: StructType) -> TaskRows:
        """The result of a task for each partition; works on one result run in one task."""
        return TaskRows.of(rows).map(work, schema)

    @override
    def where(self, rows: SparkRows, column: str, value: str | int) -> SparkRows:
        """The rows of a frame that Java finds, mostly when it reads them; others in their task."""
        if isinstance(rows, TaskRows):
            return rows.where(column, value)
        return rows.where(F.col(column) == value)

    @override
    def union(self, parts: Sequence[SparkRows]) -> SparkRows:
        """The rows of all frames."""
        if len(parts) == 1:
            return parts[0]
        return reduce(lambda one, other: one.unionByName(other), map(frame_of, parts))

    @override
    def summed(self, rows: SparkRows, keys: Sequence[str], measures: Sequence[str]) -> SparkRows:
        """The rows with equal keys as one; of a frame by Java, others in tasks."""
        if isinstance(rows, TaskRows):
            partitions = int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1)
            return rows.summed(keys, measures, partitions=partitions)
        return rows.groupBy(*keys).agg(*(F.sum(name).alias(name) for name in measures))

    @override
    def by_cluster(
        self,
        left: SparkRows,
        right: SparkRows,
        work: ClusterWork,
        schema: StructType,
        *,
        tasks: int,
    ) -> TaskRows:
        """The result of `work` for the rows of each cluster, in this number of tasks."""
        return by_cluster(TaskRows.of(left), TaskRows.of(right), work, schema, tasks=tasks)

    @override
    def store(self, rows: TaskRows, path: str, schema: StructType, *, by: str) -> TaskRows:
        """The rows at a path, as streams in Parquet."""
        return stored_rows(store(rows.streams(by), path), schema, by=by)

    @override
    def write(
        self,
        rows: SparkRows,
        path: str,
        schema: StructType,
        *,
        by: Sequence[str] = (),
        one_file: Sequence[str] = (),
    ) -> WriteCounts:
        """Write a table and count it; tasks write one that they have to a folder."""
        if isinstance(rows, TaskRows) and not one_file and self._shares_folder(path):
            return self._write_files(rows, path, schema, by)
        batches = batches_for(rows)
        rows = frame_of(rows)
        if one_file:
            at = F.monotonically_increasing_id().alias("_at")
            ordered = rows.select("*", at).repartition(1)
            rows = ordered.sortWithinPartitions(*one_file, "_at").drop("_at")
        return write_table(rows, path, schema, by=by, batches=batches)

    def _shares_folder(self, path: str) -> bool:
        """Whether this process and all tasks share the folder of a table (see `check`).

        A server of Connect may run as a user of its own, whose files this process cannot rename.
        """
        return "://" not in path and not is_remote()

    def _write_files(
        self, rows: TaskRows, path: str, schema: StructType, by: Sequence[str]
    ) -> WriteCounts:
        folder = new_folder(path)
        work = TableFiles(folder=str(folder), schema=schema, by=tuple(by))
        files = self.collect(rows.map(work, FILE)).to_pylist()
        name_files(folder, files, schema, by=by)
        has_bytes = "bytes" in schema.names
        return WriteCounts(
            rows=sum(file["rows"] for file in files),
            bytes=sum(file["bytes"] for file in files) if has_bytes else None,
        )

    @override
    def append(self, rows: SparkRows, path: str, schema: StructType) -> None:  # noqa: ARG002
        """Add the files of a job."""
        with large_batches(self.spark):
            frame_of(rows).write.mode("append").parquet(path)

    @override
    def save(self, table: pa.Table, path: str, schema: StructType) -> None:
        """Write one file."""
        write_arrow(self.spark, table, path, schema)

    @override
    def collect(self, rows: SparkRows) -> pa.Table:
        """The rows on the driver."""
        with batches_for(rows)(self.spark):
            return frame_of(rows).toArrow()

    @override
    def remove(self, folders: Sequence[str]) -> None:
        """Remove temporary tables; one that a store keeps goes with the folder of the run."""
        remove_folders(self.spark, [folder for folder in folders if "://" in folder])
        for folder in folders:
            if "://" not in folder:
                shutil.rmtree(folder)

    @override
    def watched(self) -> AbstractContextManager[RunningJobs]:
        """The jobs of the session."""
        return watched(self.spark)

    @override
    def check(self, request: AnalyzeRequest) -> None:
        """Check that Spark can write the tables. Raises `OutputNotShared`, `ConnectorMissing`."""
        check_lake(self.spark, request.table_format)
        check_shared(self.spark, request.tables)

    @override
    def add_tables(self, table_format: str, folder: str) -> None:
        """The log of the format beside the files."""
        add_tables(self.spark, table_format, folder)

    @override
    def list_flows(self, paths: Sequence[str]) -> tuple[FlowFile, ...]:
        """The files, as tasks or Spark list them."""
        return flow_files(self.spark, paths)

    @override
    def open_flows(
        self,
        files: Sequence[FlowFile],
        format: str,  # noqa: A002 (the word of the command line)
        *,
        keep: str | None,
    ) -> SparkFlows:
        """A frame of the rows."""
        rows = read_bronze(self.spark, files, format)
        if keep is not None:
            rows = with_all_columns(rows, format)
            with with_named_damage(*self.failures):
                rows.write.parquet(keep)
            rows = self.spark.read.schema(rows.schema).parquet(escape_glob(keep))
        return SparkFlows(self, rows, files, input_format(format))

    @override
    def cost_report(self, paths: Sequence[str], note: Callable[[str], None]) -> CostReport | None:
        """The provider's own bill."""
        if not paths:
            return None
        files, ignored = cost_report_files(self.spark, paths)
        if ignored:
            note(
                f"--billed: {len(ignored)} files are neither CSV nor Parquet and are not read; the "
                f"first is {ignored[0]}"
            )
        return read_cost_report(self.spark, files)

    @override
    def claim(self, tables: str, run: str) -> str:
        """A new folder, also on a store."""
        return claim_folder(self.spark, tables, run)

    @override
    def remove_run(self, folder: str) -> str | None:
        """Remove a folder, also of a store."""
        if "://" in folder:
            return remove_folders(self.spark, [folder])
        shutil.rmtree(folder)
        return None

    @override
    def versions(self) -> dict[str, str]:
        """Of Spark and its Java."""
        found = java_version(self.spark)
        if found is None:
            names = ("java.lang.System", "getProperty", "java.version")
            java = F.call_function("java_method", *map(F.lit, names))
            found = str(self.spark.range(1).select(java).collect()[0][0])
        return {"spark": self.spark.version, "java": found}


@dataclass(frozen=True, slots=True)
class SparkFlows(OpenedFlows):
    """The rows of flow files as a frame."""

    engine: SessionEngine
    rows: DataFrame
    files: Sequence[FlowFile]
    format: InputFormat

    @override
    def names(self) -> FoundNames:
        """Names in the rows; an action. Raises `InvalidFlows` for a damaged file."""
        if self.format.is_by_file and are_dealt(self.files, deals_text=self.format.deals_text):
            return names_by_task(self.engine, self.files, self.rows.columns)
        return self.format.names(self.rows)

    @override
    def fact_input(self, fleet: Fleet, buckets: Buckets, options: FactOptions) -> FactInput:
        """What turns the rows into facts."""
        return self.format.fact_input(self.rows, fleet, buckets, options)
