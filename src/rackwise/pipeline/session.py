"""The one place that creates a Spark session: found Java, quiet conf, our own log, right Python.

A session that is active already belongs to somebody: it is taken as it is and never stopped; its
conf is never changed but by `large_batches`, for the time of an action. Otherwise one is made and
stopped at the end of the `with` block, and the process's environment is afterwards what it was
before.

Profiles. `small` starts about 1.5 s sooner and is slower in long jobs; `batch` is Spark as Spark
wants to be, with a driver of half the memory of the machine and at most 4 GiB.

What this does not do: Spark Connect or a Kafka connector; see `spark.apache.org` for a session of
your own, which is then taken as it is.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rackwise.core.errors import ServerDied, SessionConflict, SparkMissing
from rackwise.pipeline.java import HINT, find_java

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

Profile = Literal["small", "batch"]

LOG4J2 = Path(__file__).with_name("log4j2.properties")
SMALL_BELOW_BYTES = 64 * 2**20
"""Input below this size is a job for the profile `small`."""
ANSI = "spark.sql.ansi.enabled"
LARGEST_DRIVER_BYTES = 4 * 2**30

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # else each expression costs six calls
}
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_BATCHES = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(2**17),
}
_SMALL_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@contextmanager
def session(
    app: str = "rackwise",
    *,
    master: str | None = None,
    profile: Profile = "batch",
    conf: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A Spark session for the block; an active one is taken, else one is made and stopped after.

    `master` defaults to `local[*]`. `conf` wins over the profile. Raises `SparkMissing` without
    PySpark, `JavaMissing` without a fit Java, `SessionConflict` when an active session has another
    master, another value of `conf`, or ANSI mode off, `ServerDied` when Java does not stay up.
    """
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise SparkMissing(
            "PySpark is wanted to run this; it is not installed",
            wanted="pyspark",
            had=None,
            hint=HINT,
        ) from error
    active = SparkSession.getActiveSession()
    if active is not None:
        _check_fits(active, master, conf or {})
        yield active
        return
    made = _made(app, master or "local[*]", profile, conf or {})
    try:
        with _silent_loggers():
            yield made
    finally:
        made.stop()


def settings(master: str, profile: Profile, conf: Mapping[str, str]) -> dict[str, str]:
    """The conf of a session that is made here: key -> value."""
    is_small = profile == "small"
    java = [f"-Dlog4j2.configurationFile={LOG4J2.as_uri()}", *(_SMALL_JAVA if is_small else ())]
    return {
        **_QUIET,
        **(_LOCAL if is_local(master) else {}),
        **({"spark.sql.shuffle.partitions": "2"} if is_small else {}),
        "spark.driver.memory": "1g" if is_small else f"{_driver_bytes() // 2**20}m",
        "spark.driver.extraJavaOptions": " ".join(java),
        **conf,
    }


@contextmanager
def large_batches(spark: SparkSession) -> Iterator[None]:
    """Arrow batches to Python cut by rows alone, for the actions inside; put back afterwards.

    With a limit in bytes, as it is by default, Spark measures the batch anew after every row.
    """
    before = {key: spark.conf.get(key) or "" for key in _BATCHES}
    for key, value in _BATCHES.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def is_local(master: str) -> bool:
    """Whether a master runs inside this process: `local`, `local[2]`, `local[*]`."""
    return master.partition("[")[0] == "local"


def _made(app: str, master: str, profile: Profile, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app).master(master)
    for key, value in settings(master, profile, conf).items():
        builder = builder.config(key, value)
    with _environment(_needed(master)):
        try:
            return builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise ServerDied(
                "Spark's Java ended before Spark was ready",
                wanted="a running Spark",
                had=error.getCondition(),
                hint="its last lines are above; try another Java by setting JAVA_HOME",
            ) from error


def _needed(master: str) -> dict[str, str]:
    """The environment Spark is started in, beyond what is there."""
    needed = {"JAVA_HOME": str(find_java(os.environ).home)}
    if "PYSPARK_PYTHON" not in os.environ:
        needed["PYSPARK_PYTHON"] = sys.executable
    if is_local(master) and "SPARK_LOCAL_IP" not in os.environ:
        needed["SPARK_LOCAL_IP"] = "127.0.0.1"
    return needed


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _silent_loggers() -> Iterator[None]:
    """PySpark's own loggers print every failed query as a page of JSON, caught or not."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def _driver_bytes() -> int:
    return min(LARGEST_DRIVER_BYTES, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def _check_fits(active: SparkSession, master: str | None, conf: Mapping[str, str]) -> None:
    wanted = {**({"spark.master": master} if master else {}), ANSI: "true", **conf}
    for key, value in wanted.items():
        had = active.conf.get(key) if key == ANSI else active.conf.get(key, None)
        if had != value:
            raise SessionConflict(
                f"a session with {key}={value} is wanted; the active one has {had}",
                wanted=value,
                had=had,
                hint=f"stop the active session, or leave {key} to it",
                where=key,
            )
