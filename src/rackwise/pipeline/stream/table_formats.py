"""The tables of a run as tables of Delta Lake or Apache Iceberg.

Goals, in order: a run that is killed leaves nothing half-published; no row is written twice; the
Parquet files stay readable by all that reads them, later runs among them.

The Parquet files of a run never change once it has written them. A table format is therefore one
log more, which lists the files of a table. It is written after all tables of the run and before the
manifest that names the run, in the folder of the run:

```
delta     RUN/gold/cross_rack/_delta_log           beside the files
iceberg   RUN/iceberg/gold/cross_rack/metadata     apart, because Spark reads a folder of Parquet
                                                   whole; the data are the files in RUN/gold/..
```

The jars are those of `stream.connector`, found by asking a repository for the line of Spark that
runs. A session that runs already must have them and their SQL extension.

A table without files, which has days and no row, is left out.

What this does not do: keep one table over several runs; compact or remove files.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.errors import ConnectorMissing
from rackwise.core.override import override
from rackwise.pipeline.ingest.files import escape_glob
from rackwise.pipeline.runtime.running import has_class
from rackwise.pipeline.stream.connector import connector_conf, coordinate_for, names_server
from rackwise.pipeline.stream.maven import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


PARQUET = "parquet"
AT_ONCE = 4
"""Tables that are made at the same time."""
EXTENSIONS = "spark.sql.extensions"
SESSION_CATALOG = "spark.sql.catalog.spark_catalog"
CATALOG = "rackwise_lake"
"""The catalog of the Iceberg tables of a run; its name ends with that of the run."""
_RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class LakeLine(Line):
    """A library with a module for each line of Spark, and versions of its own."""

    __slots__ = ()
    hint: ClassVar[str] = (
        "give local jars with --conf spark.jars=FILE,FILE or another repository with "
        "--conf spark.jars.repositories=URL, or use --table-format parquet"
    )

    @property
    @override
    def module(self) -> str:
        """The name of the library: `delta-spark_4.2_2.13`."""
        return f"{self.artifact}{self.minor}_{self.scala}"

    @property
    @override
    def wanted(self) -> str:
        """The coordinate, for a message."""
        return f"{self.group}:{self.module}"

    @property
    @override
    def lacking(self) -> str:
        """What a repository without a version has not."""
        return self.module

    @property
    @override
    def guesses(self) -> tuple[str, ...]:
        """None: the versions do not follow those of Spark."""
        return ()

    @property
    @override
    def in_ivy(self) -> tuple[str, ...]:
        """The versions to ask for, in the words of Ivy."""
        return ("latest.release",)

    @override
    def best(self, versions: Iterable[str]) -> str | None:
        """The newest release.

        >>> LakeLine("4.2.1", "2.13").best(["4.3.0", "4.10.0", "4.11.0-rc1"])
        '4.10.0'
        """
        found = [m for version in versions if (m := _RELEASE.fullmatch(version))]
        return max(found, key=lambda m: [int(part) for part in m.groups()])[0] if found else None


class DeltaLine(LakeLine):
    """Delta Lake."""

    __slots__ = ()
    title: ClassVar[str] = "Delta Lake"
    group: ClassVar[str] = "io.delta"
    artifact: ClassVar[str] = "delta-spark_"


class IcebergLine(LakeLine):
    """Apache Iceberg."""

    __slots__ = ()
    title: ClassVar[str] = "Apache Iceberg"
    group: ClassVar[str] = "org.apache.iceberg"
    artifact: ClassVar[str] = "iceberg-spark-runtime-"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """A format of tables beside Parquet."""

    line: type[LakeLine]
    extension: str
    """The class of its SQL extension."""
    conf: Mapping[str, str]
    """More conf of a session."""
    add: Callable[[SparkSession, str, str, bool], None]
    """Makes a table of the Parquet files of a run. Receives the folder of the run, the table below
    it, and whether each day has a folder."""


def lake_conf(
    table_format: str,
    conf: Mapping[str, str],
    *,
    master: str | None = None,
    remote: str | None = None,
) -> Mapping[str, str]:
    """The conf of a new session that writes this format, with its jars.

    A session that runs already, here, at `remote` or at SPARK_REMOTE, stays as it is.
    Raises `ConnectorMissing`, `JavaMissing`.
    """
    is_running = SparkSession.getActiveSession() is not None or remote is not None
    if table_format == PARQUET or is_running or names_server(master):
        return conf
    one = FORMATS[table_format]
    whole = connector_conf(conf, master=master, kind=one.line)
    extensions = [*filter(None, [conf.get(EXTENSIONS), one.extension])]
    return {**one.conf, **whole, EXTENSIONS: ",".join(dict.fromkeys(extensions))}


def check_lake(spark: SparkSession, table_format: str) -> None:
    """Raise `ConnectorMissing` if the session cannot write the format.

    Spark starts without an extension whose class it does not find, and keeps its name in the conf.
    """
    if table_format == PARQUET:
        return
    one = FORMATS[table_format]
    had = spark.conf.get(EXTENSIONS, None) or ""
    is_named = one.extension in had
    if not is_named or not has_class(spark, one.extension):
        coordinate = coordinate_for(spark, kind=one.line)
        raise ConnectorMissing(
            f"expected a Spark session with {EXTENSIONS}={one.extension}, got "
            f"{had or 'none'}{' without its library' if is_named else ''}",
            wanted=one.extension,
            had=had or None,
            hint=f"start it with --packages {coordinate} and this extension, or use "
            "--table-format parquet",
        )


def add_tables(spark: SparkSession, table_format: str, folder: str) -> None:
    """Make tables of the Parquet files of a run; `table_format`: one of `FORMATS`."""
    add = FORMATS[table_format].add
    tables = _tables(spark, folder)
    # A table is a few small jobs, which mostly wait for each other.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = [pool.submit(add, spark, folder, name, by_day) for name, by_day in tables.items()]
    for each in made:
        each.result()


def _tables(spark: SparkSession, folder: str) -> dict[str, bool]:
    """Table with Parquet files, such as `gold/cross_rack` -> whether each day has a folder."""
    if "://" not in folder:
        paths = [str(path.relative_to(folder)) for path in Path(folder).rglob("*.parquet")]
    else:
        reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        files = reader.option("pathGlobFilter", "*.parquet").load(escape_glob(folder))
        found = files.select(F.col("_metadata.file_path").alias("path")).collect()
        run = folder.rstrip("/").rpartition("/")[2]
        paths = [row.path.partition(f"/{run}/")[2] for row in found]
    parts = sorted(path.split("/") for path in paths if path.count("/") > 1)
    return {"/".join(part[:2]): part[2].startswith("day=") for part in parts}


def _parquet(folder: str, name: str) -> str:
    """A folder of Parquet files as a name in SQL, which has no other way to give it."""
    path = f"{folder}/{name}".replace("`", "``")
    return f"parquet.`{path}`"


def _add_delta(spark: SparkSession, folder: str, name: str, by_day: bool) -> None:  # noqa: FBT001 (a signature for all formats)
    by = " PARTITIONED BY (day DATE)" if by_day else ""
    spark.sql(f"CONVERT TO DELTA {_parquet(folder, name)} NO STATISTICS{by}").collect()


def _add_iceberg(spark: SparkSession, folder: str, name: str, by_day: bool) -> None:  # noqa: FBT001
    catalog = _catalog(spark, folder)
    table = name.replace("/", ".")
    empty = spark.read.parquet(escape_glob(f"{folder}/{name}")).limit(0)
    writer = empty.writeTo(f"{catalog}.{table}").using("iceberg")
    (writer.partitionedBy(F.col("day")) if by_day else writer).create()
    source = _parquet(folder, name).replace("\\", "\\\\").replace("'", "\\'")
    # The parser of Iceberg takes no parameters.
    call = f"add_files(table => '{table}', source_table => '{source}')"
    spark.sql(f"CALL {catalog}.system.{call}").collect()


def _catalog(spark: SparkSession, folder: str) -> str:
    """The name of the catalog of a run, whose tables are in its folder."""
    run = re.sub(r"\W", "_", folder.rstrip("/").rpartition("/")[2])
    name = f"{CATALOG}_{run}"
    spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"spark.sql.catalog.{name}.type", "hadoop")
    spark.conf.set(f"spark.sql.catalog.{name}.warehouse", f"{folder}/iceberg")
    return name


FORMATS: Mapping[str, TableFormat] = {
    "delta": TableFormat(
        line=DeltaLine,
        extension="io.delta.sql.DeltaSparkSessionExtension",
        conf={
            SESSION_CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            # A log of some files needs no 50 tasks to be read.
            "spark.databricks.delta.snapshotPartitions": "1",
        },
        add=_add_delta,
    ),
    "iceberg": TableFormat(
        line=IcebergLine,
        extension="org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        conf={},
        add=_add_iceberg,
    ),
}
"""Name -> format; `parquet` is none of them."""
