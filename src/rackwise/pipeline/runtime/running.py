"""What the driver of a session tells: how far its jobs are, its cores, UI, file system and Java.

A caller asks from any thread, for example once per second. Nothing runs on the executors for it:

```
classic   tasks    the status tracker of the driver
          rows     an accumulator; a task adds its rows when it is done
Connect   tasks    messages of the server while it executes a query
          rows     not known before the step ends
```

Only this file uses the context of the driver, which Connect does not have.

Limits: tasks are those of the jobs that run now, not of the whole step. A task that runs twice
counts its rows twice until the step ends.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import is_remote

from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How far the running step is."""

    done: int = 0
    """Finished tasks of the running jobs."""
    tasks: int = 0
    """All tasks of the running jobs; 0 while no job runs."""
    rows: int | None = None
    """Rows of flow files that are read; None if the step reads none, or if it is not known."""


class Jobs(Protocol):
    """How far the work of a run is."""

    def look(self) -> Reading:
        """How far the running step is."""

    def begin_step(self) -> None:
        """Forget the rows of the last step."""

    def count_rows(self) -> Callable[[int], None] | None:
        """What a task calls with the number of rows that it has read."""

    def end_rows(self, rows: int) -> None:
        """Set the exact number of rows that the step has read."""


class RunningJobs:
    """The jobs of a session, while they run; see `watched`."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker = None if is_remote() else spark.sparkContext.statusTracker()
        self._spark = spark
        self._counter: Any = None
        self._rows: int | None = None
        self._stages: tuple[int, int] = (0, 0)
        self._is_over = False

    def look(self) -> Reading:
        """How far the running step is."""
        done, tasks = self._stages
        if self._tracker is not None and not self._is_over:
            done, tasks = self._tracked()
        rows = self._rows
        if rows is None and self._counter is not None:
            rows = self._counter.value or None  # before the first task is done, or nobody counts
        return Reading(done=done, tasks=tasks, rows=rows)

    def begin_step(self) -> None:
        """Forget the rows of the last step."""
        self._rows = self._counter = None

    def count_rows(self) -> Callable[[int], None] | None:
        """What a task calls with the number of rows that it has read; None on Connect."""
        if self._tracker is None:
            return None
        self._counter = self._spark.sparkContext.accumulator(0)
        add: Callable[[int], None] = self._counter.add
        return add

    def end_rows(self, rows: int) -> None:
        """Set the exact number of rows that the step has read."""
        self._rows = rows

    def end(self) -> None:
        """Ask Spark no more, because it may stop now."""
        self._is_over = True

    def receive(
        self,
        stages: Iterable[Any] | None,
        inflight_tasks: int,  # noqa: ARG002 (of the interface)
        operation_id: str | None,  # noqa: ARG002
        done: bool,  # noqa: FBT001
    ) -> None:
        """Handle a message of a Connect server."""
        found = () if done else [*(stages or ())]
        self._stages = (
            sum(each.num_completed_tasks for each in found),
            sum(each.num_tasks for each in found),
        )

    def _tracked(self) -> tuple[int, int]:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        tracker = self._tracker
        assert tracker is not None, "asked on classic Spark only"  # noqa: S101
        try:
            jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
            numbers = {stage for job in jobs if job for stage in job.stageIds}
            stages = [tracker.getStageInfo(number) for number in numbers]
        except (Py4JError, OSError):  # Spark stops
            return 0, 0
        found = [each for each in stages if each]
        return sum(s.numCompletedTasks for s in found), sum(s.numTasks for s in found)


@contextmanager
def watched(spark: SparkSession) -> Iterator[RunningJobs]:
    """The jobs that run in the block."""
    jobs = RunningJobs(spark)
    handler: Any = jobs.receive  # Spark's type is an abstract class, which a function is not
    if is_remote():
        spark.registerProgressHandler(handler)
    try:
        yield jobs
    finally:
        jobs.end()
        if is_remote():
            spark.removeProgressHandler(handler)


def core_count(spark: SparkSession) -> int | None:
    """The cores that Spark has at this moment, 2 or more on a cluster; None on Spark Connect.

    More exactly, the number of partitions that Spark creates if nobody says how many.
    """
    return None if is_remote() else spark.sparkContext.defaultParallelism


def java_version(spark: SparkSession) -> str | None:
    """The version of Spark's Java; None on Spark Connect, whose Java is not asked."""
    if is_remote():
        return None
    return str(_java(spark).java.lang.System.getProperty("java.version"))


def has_local_paths(spark: SparkSession) -> bool:
    """Whether a path without a scheme is a file of this machine, which this process can list."""
    if is_remote():
        return False
    defaults = spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS")  # noqa: SLF001
    return str(spark.conf.get("fs.defaultFS", defaults)).startswith("file:")


def has_class(spark: SparkSession, name: str) -> bool:
    """Whether Spark's Java finds a class; true on Spark Connect, whose Java is not asked."""
    if is_remote():
        return True
    from py4j.protocol import Py4JJavaError

    try:
        _java(spark).java.lang.Thread.currentThread().getContextClassLoader().loadClass(name)
    except Py4JJavaError:
        return False
    return True


def _java(spark: SparkSession) -> Any:  # noqa: ANN401 (py4j has no types)
    """The Java of a classic session, by the names of its packages."""
    machine = spark.sparkContext._jvm  # noqa: SLF001 (PySpark has no other way to its Java)
    assert machine is not None, "a classic session has a Java"  # noqa: S101
    return machine


def ui_place(spark: SparkSession) -> str | None:
    """Where people see the jobs of a session, as a line; None if its UI is off.

    A Connect server does not tell the address of its UI. The page Connect of the UI lists sessions
    by id, so the line has the id and the host.
    """
    if is_remote():
        connected: Any = spark
        return f"Spark Connect session {connected.session_id} on {escaped(spark.client.host)}"
    url = spark.sparkContext.uiWebUrl
    return None if url is None else f"Spark UI: {escaped(url)}"
