"""Flow files of a run: lists them, and replaces their names by numbers on the way to Python.

Plain folders of this machine are listed here (`local_files`), other paths of this machine by Spark.
Tasks list URIs of stores (`runtime.stores.listing`): then a run needs no jar of the store, and no
credentials where the driver is. Where tasks cannot, because the store is not one of
`runtime.stores.filesystems` or rejects their credentials, Spark lists and reads, if it can.

File names are long, and every row has one. Rows that go to Python and back, or to a temporary
table, have a number instead:

```
source_file  file:/day/a.parquet     with_file_numbers ->  file 0     file_named ->  file:/day/a..
             not listed, or too many files                 file null, the name stays
```
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.errors import InvalidFlows
from rackwise.core.text import escaped
from rackwise.pipeline.ingest.local_files import LOCAL, local_places
from rackwise.pipeline.ingest.text_lines import GZIP, OTHER_CODECS
from rackwise.pipeline.runtime.failures import failure_line, spark_failures
from rackwise.pipeline.runtime.running import has_local_paths
from rackwise.pipeline.runtime.stores.filesystems import check_no_password, store_uri
from rackwise.pipeline.runtime.stores.listing import ListingFailed, list_stores

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

MOST_NUMBERED = 1_000
"""Maximum number of files with a number; their names are text in Spark's plan and event log."""
BETWEEN_NAMES = "\n"
PARQUET = (".parquet", ".parq")
FILES = "rackwise.files"
"""Metadata key of a column `source_file`: the URIs of all files, with `BETWEEN_NAMES`."""
_NO_HOST = re.compile("^file:///")
_PATTERN = re.compile(r"([\[\]{}*?,\\])")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FlowFile:
    """One flow file."""

    uri: str
    """The file as `_metadata.file_path` names it."""
    path: str
    """The file as Spark lists it."""
    size: int
    """Bytes."""
    modified_s: int | None = None
    """The second of the last change, since 1970, of a file of a store that a task listed; else
    None."""

    @property
    def is_stored(self) -> bool:
        """Whether a task has listed it on a store, so that tasks can open it."""
        return self.modified_s is not None

    @property
    def pattern(self) -> str:
        """The path as an argument of Spark's readers."""
        return escape_glob(self.path)

    @property
    def is_dealt(self) -> bool:
        """Whether tasks can open it, if it is text of a format that they read."""
        is_opened = self.is_stored or self.path.startswith(LOCAL)
        return is_opened and not self.path.endswith(OTHER_CODECS)

    @property
    def place(self) -> str:
        """The path or URI of a file that tasks can open."""
        return self.path.removeprefix(LOCAL)

    @property
    def is_parquet(self) -> bool:
        """Whether its name ends like that of a Parquet file."""
        return self.path.endswith(PARQUET)

    @property
    def has_local_colon(self) -> bool:
        """Whether it is a local file with a colon in its name, which Spark cannot read."""
        return self.path.startswith(LOCAL) and ":" in PurePosixPath(self.path).name

    @property
    def is_gzip(self) -> bool:
        """Whether its name ends like that of a gzip file."""
        return self.path.endswith(GZIP)


def escape_glob(path: str) -> str:
    r"""The path, escaped for Spark's readers, which interpret every path as a pattern.

    >>> escape_glob("bill [november]/tables")
    'bill \\[november\\]/tables'
    """
    return _PATTERN.sub(r"\\\1", path)


def files_at(spark: SparkSession, paths: Sequence[str]) -> tuple[FlowFile, ...]:
    """The files at paths (files, folders, globs), in order of their names.

    Empty files, and names that begin with `_` or `.`, are left out. Raises what `spark_failures`
    has, for example if a path does not exist.
    """
    if has_local_paths(spark) and (files := local_files(paths)) is not None:
        return files
    return listed_by_spark(spark, paths)


def local_files(paths: Sequence[str]) -> tuple[FlowFile, ...] | None:
    """The result of `files_at` without Spark; None if Spark has to list the files."""
    places = local_places(paths)
    if places is None:
        return None
    return tuple(FlowFile(uri=uri, path=path, size=size) for uri, path, size in sorted(places))


def listed_by_spark(spark: SparkSession, paths: Sequence[str]) -> tuple[FlowFile, ...]:
    """The result of `files_at` from Spark's own listing; an action."""
    found = (
        spark.read.format("binaryFile")
        .option("recursiveFileLookup", "true")
        .load(list(paths))
        .select("_metadata.file_path", "path", "length")
        .collect()
    )
    rows = {FlowFile(uri=row.file_path, path=row.path, size=row.length) for row in found}
    return tuple(sorted(rows))


def flow_files(spark: SparkSession, paths: Sequence[str]) -> tuple[FlowFile, ...]:
    """The files of `--flows`, in order of their names; an action.

    Raises `InvalidFlows` if a path does not exist or cannot be listed.
    """
    check_no_password("--flows", paths, InvalidFlows)
    found: set[FlowFile] = set()
    for places, is_stored in (
        ([path for path in paths if store_uri(path) is None], False),
        ([path for path in paths if store_uri(path) is not None], True),
    ):
        if places:
            found.update(_stored_files(spark, places) if is_stored else _listed(spark, places))
    return tuple(sorted(found, key=lambda file: file.uri))


def _stored_files(spark: SparkSession, uris: Sequence[str]) -> Iterable[FlowFile]:
    """The files at URIs of stores, as tasks list them; as Spark does where tasks cannot."""
    try:
        listed = list_stores(spark, uris)
    except ListingFailed as failure:
        if failure.fault in {"denied", "unopened"}:
            try:
                return files_at(spark, uris)
            except spark_failures():
                pass  # the store has said why
        raise _no_files([failure.place], failure.reason, failure) from failure
    return [
        FlowFile(
            uri=encoded(file.place), path=file.place, size=file.size, modified_s=file.modified_s
        )
        for file in listed
    ]


def _listed(spark: SparkSession, paths: Sequence[str]) -> Iterable[FlowFile]:
    try:
        return files_at(spark, paths)
    except spark_failures() as error:
        raise _no_files(paths, f"Spark reports {failure_line(error)}", error) from error


def _no_files(paths: Sequence[str], reason: str, error: Exception) -> InvalidFlows:
    had = ", ".join(escaped(path) for path in paths)
    hint = "check the paths of --flows; a remote path needs its scheme, such as s3a://"
    if isinstance(error, ListingFailed) and error.fault != "missing":
        hint = "check the URI, and the credentials and the endpoint in the environment of Spark"
    return InvalidFlows(
        f"expected flow files at {had}, got none: {escaped(reason)}",
        wanted="files, folders or globs",
        had=had,
        hint=hint,
    )


def encoded(place: str) -> str:
    """A URI as `_metadata.file_path` writes it: characters that no URI may have are encoded.

    >>> encoded("s3a://lake/a b/c%20é.log")
    's3a://lake/a%20b/c%2520é.log'
    """
    scheme, mark, rest = place.partition("://")
    return (
        scheme
        + mark
        + "".join(
            each if each > "\x7f" and each.isprintable() else quote(each, safe="/_-!.~'()*,;:$&+=@")
            for each in rest
        )
    )


def find_repeated(files: Sequence[FlowFile]) -> tuple[tuple[FlowFile, ...], ...]:
    """Groups of files with equal name and size, which are probably one file given twice."""
    places: defaultdict[tuple[str, int], list[FlowFile]] = defaultdict(list)
    for file in files:
        places[PurePosixPath(file.path).name, file.size].append(file)
    return tuple(tuple(same) for same in places.values() if len(same) > 1)


def repeated_notes(files: Sequence[FlowFile]) -> list[str]:
    """A note for each group of `find_repeated`."""
    return [
        f"{len(same)} flow files have equal name and size; all of them are read: "
        + ", ".join(file.path for file in same)
        for same in find_repeated(files)
    ]


def read_files(rows: DataFrame) -> tuple[str, ...]:
    """The URIs of the files of these rows; empty if there are more than `MOST_NUMBERED`."""
    if (named := rows.schema["source_file"].metadata.get(FILES)) is not None:
        return tuple(named.split(BETWEEN_NAMES))
    uris = {_NO_HOST.sub("file:/", uri) for uri in rows.inputFiles()}
    return tuple(sorted(uris)) if len(uris) <= MOST_NUMBERED else ()


def naming_files(column: Column, files: Sequence[FlowFile]) -> Column:
    """`source_file` with the names of the files for `read_files`, unless they are too many."""
    uris = sorted(file.uri for file in files)
    is_named = 0 < len(uris) <= MOST_NUMBERED
    metadata = {FILES: BETWEEN_NAMES.join(uris)} if is_named else {}
    return column.alias("source_file", metadata=metadata)


def with_file_numbers(rows: DataFrame, uris: Sequence[str]) -> DataFrame:
    """Adds `file`, the index of `source_file` in `uris`; only rows without index keep the name."""
    numbered = [(uri, number) for number, uri in enumerate(uris)]
    files = rows.sparkSession.createDataFrame(numbered, "_uri string, file int")
    found = rows.join(F.broadcast(files), F.col("source_file") == F.col("_uri"), "left")
    name = F.when(F.col("file").isNull(), F.col("source_file"))
    return found.drop("_uri").withColumn("source_file", name)


def file_named(uris: Sequence[str]) -> Column:
    """The `source_file` of rows from `with_file_numbers`, for the same `uris`."""
    names = F.split(F.lit(BETWEEN_NAMES.join(uris)), BETWEEN_NAMES)
    return F.coalesce(F.get(names, F.col("file")), "source_file")
