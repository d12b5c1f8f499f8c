"""What is known of a run before it starts; this file imports no PySpark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number that is not known exactly; null bounds are not known, which is not zero."""

    low: int | None
    """Least value."""
    high: int | None
    """Greatest value."""
    quality: Literal["counted", "estimate", "unknown"]
    """Whether the number is exact, estimated or not known."""
    source: str
    """Where the number comes from, or why it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """The flow files of one kind."""

    kind: str
    """`parquet`, `text`, or `text` with the end of the name of a compression, such as `text.gz`."""
    files: int
    """Number of files."""
    bytes: int
    """Bytes of the files, as they are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkEngine:
    """The Spark that executes the run."""

    version: str
    """Version of Spark."""
    place: str
    """The master, or the host of the Spark Connect server."""
    cores: int | None
    """Number of cores that tasks use; null if it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReading:
    """The flow files, and how the run reads them."""

    kinds: tuple[FileKind, ...]
    """The files by kind."""
    reader: Literal["tasks", "spark", "none"]
    """Who reads the files: Python tasks with pyarrow, Spark, or nobody because there are none."""
    reasons: tuple[str, ...]
    """Why Spark reads them; empty if it does not."""
    splits: int | None
    """Number of parts of files; null if Spark decides it."""
    tasks: int | None
    """Number of tasks that read them; null if Spark decides it."""
    rows: Estimate
    """Rows of the files."""
    cpu_s: Estimate
    """CPU seconds of the run."""
    wall_s: Estimate
    """Seconds that the run takes, if its cores do nothing else."""
