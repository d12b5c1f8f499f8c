"""Flow files of a run, found by Spark wherever Spark can look."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from rackwise.core.errors import InvalidFlows
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_PATTERN = re.compile(r"([\[\]{}*?,\\])")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FlowFile:
    """One file: `uri` as `_metadata.file_path` has it, `path` as it is opened, `size` in bytes."""

    uri: str
    path: str
    size: int

    @property
    def pattern(self) -> str:
        """The path as Spark opens it."""
        return literally(self.path)

    @property
    def is_parquet(self) -> bool:
        """Whether its name says Parquet."""
        return self.path.endswith((".parquet", ".parq"))

    @property
    def is_gzip(self) -> bool:
        """Whether its name says gzip."""
        return self.path.endswith(".gz")


def literally(path: str) -> str:
    r"""A path to give to Spark's readers, which take every path for a pattern.

    >>> literally("bill [november]/tables")
    'bill \\[november\\]/tables'
    """
    return _PATTERN.sub(r"\\\1", path)


def flow_files(spark: SparkSession, paths: Sequence[str]) -> tuple[FlowFile, ...]:
    """The files under paths (files, folders, globs), in order of their names; an action.

    Empty files, and names that begin with `_` or `.`, are left out. Raises `InvalidFlows` for a
    path that is not there.
    """
    try:
        found = (
            spark.read.format("binaryFile")
            .option("recursiveFileLookup", "true")
            .load(list(paths))
            .select("_metadata.file_path", "path", "length")
            .collect()
        )
    except AnalysisException as error:
        had = ", ".join(escaped(path) for path in paths)
        raise InvalidFlows(
            f"flow files are wanted; Spark finds none at {had}: {error.getCondition()}",
            wanted="files, folders or globs",
            had=had,
            hint="check the paths of --flows; a remote one needs its scheme, such as s3a://",
        ) from error
    rows = {FlowFile(uri=row.file_path, path=row.path, size=row.length) for row in found}
    return tuple(sorted(rows))


def repeated(files: Sequence[FlowFile]) -> tuple[tuple[FlowFile, ...], ...]:
    """Files of equal name and size in several places: probably one file given twice."""
    places: defaultdict[tuple[str, int], list[FlowFile]] = defaultdict(list)
    for file in files:
        places[PurePosixPath(file.path).name, file.size].append(file)
    return tuple(tuple(same) for same in places.values() if len(same) > 1)
