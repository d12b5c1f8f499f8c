"""Folders of tables on a store: whether Spark can write there, and their removal.

Goals, in order: a run finds out first that it cannot write; a folder that is removed is gone, on
classic Spark and on Spark Connect; nothing else is touched.

Spark writes tables with its own file system, such as `hadoop-aws`, and with its own settings. A
frame cannot remove a folder, so a task does it with pyarrow, as tasks read. Where the executors
have no credentials of their own, Spark replaces the folder by a table without rows and without
files. Of the folder, an empty marker may then be left:

```
task      pyarrow.fs, credentials of the executors    the folder is gone
Spark     overwritten, without a row                  its files are gone
```

Limits: old versions of objects, in a bucket that keeps them, stay until its lifecycle rules remove
them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import StringType, StructField, StructType

from rackwise.core.errors import OutputNotShared
from rackwise.core.text import escaped
from rackwise.pipeline.runtime.failures import failure_line, spark_failures
from rackwise.pipeline.runtime.stores.filesystems import S3, opened, shown, store_uri
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

_FAILED = StructType([StructField("reason", StringType())])
_NO_MARK = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
_ABSENT = ("ClassNotFoundException", "No FileSystem for scheme", "UnsupportedFileSystem")


def check_writable(spark: SparkSession, folder: str, *, probe: str) -> None:
    """Write a table of one row into a folder of a store, and remove it; `probe`: its name.

    Raises `OutputNotShared` if Spark cannot write there.
    """
    place = f"{folder.rstrip('/')}/{probe}"
    try:
        spark.range(1).coalesce(1).write.mode("overwrite").parquet(place)
    except spark_failures() as error:
        had = failure_line(error).replace(place, folder)
        raise OutputNotShared(
            f"expected a folder for tables that Spark can write, got {escaped(folder)}: {had}",
            wanted=folder,
            had=had,
            hint=_write_hint(spark, folder, str(error)),
            where=folder,
        ) from error
    remove_folders(spark, [place])


def remove_folders(spark: SparkSession, folders: Sequence[str]) -> str | None:
    """Remove folders of stores with all that is in them; why one is left, or None.

    A folder that does not exist is as good as removed.
    """
    if not folders:
        return None
    frame = spark.createDataFrame([(folder,) for folder in folders], "folder string").coalesce(1)
    try:
        if not frame.mapInArrow(_remove, _FAILED).collect():
            return None
        for folder in folders:
            _replace_by_nothing(spark, folder)
    except spark_failures() as error:
        return failure_line(error)
    return None


def _replace_by_nothing(spark: SparkSession, folder: str) -> None:
    """A partitioned table without rows has no files, and replaces what was there."""
    nothing = spark.range(0).select("id", F.col("id").alias("part"))
    nothing.write.mode("overwrite").options(**_NO_MARK).partitionBy("part").parquet(folder)


def _remove(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for folder in batch.column("folder").to_pylist():
            if reason := remove_folder(folder):
                rows = [{"reason": reason}]
                yield pa.RecordBatch.from_pylist(rows, schema=arrow_schema(_FAILED))


def remove_folder(folder: str) -> str | None:
    """Remove one folder; why it cannot be removed, or None."""
    uri = store_uri(folder)
    if uri is None or not uri.key.strip("/"):
        return "pyarrow does not open this store"
    try:
        store = opened(uri)
        (info,) = store.get_file_info([uri.path])
        if info.type is fs.FileType.Directory:
            store.delete_dir(uri.path)
    except (OSError, ImportError, pa.ArrowException, ValueError) as error:
        return shown(error, os.environ)
    return None


def _write_hint(spark: SparkSession, folder: str, failure: str) -> str:
    scheme = folder.partition("://")[0]
    if not any(mark in failure for mark in _ABSENT):
        return "check the bucket, its permissions and the credentials of Spark"
    if scheme not in S3:
        return f"add the jar of the file system for {escaped(scheme)}:// to Spark"
    version = F.call_function(
        "java_method", F.lit("org.apache.hadoop.util.VersionInfo"), F.lit("getVersion")
    )
    hadoop = spark.range(1).select(version).collect()[0][0]
    return f"add --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:{hadoop}"
