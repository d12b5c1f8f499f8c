"""Creates every Spark session: finds Java, sets the conf, the log file and the Python to use.

A session that is already active belongs to the caller's program. It is used as it is and never
stopped. Only `batches_of` changes its conf, for the time of an action. If no session is active,
one is created and stopped at the end of the `with` block, and the environment of the process is
restored.

Profiles: `batch` uses Spark's defaults, with a driver of half the memory of the machine and at most
4 GiB. `small` starts about 1.5 s sooner and is slower in long jobs. `tiny` also spares Java the
code that Spark generates for each query, which takes longer than the rows of a tiny job.

```
master   local[2]  spark://..  k8s://..   a driver in this process
remote   local[2]                         the same behind Spark Connect, on loopback
remote   sc://HOST:PORT                   a driver elsewhere; no Java is needed here
neither  under spark-submit               the driver that it has started, with its master
         else SPARK_REMOTE, else local[*]
```

What this does not do: download a Kafka connector. To use your own session, create it as described
on `spark.apache.org`; it is used as it is.
"""

from __future__ import annotations

import os
import socket
import sys
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal

from rackwise.core.errors import ServerDied, SessionConflict, SparkMissing, WorldError
from rackwise.core.text import escaped
from rackwise.pipeline.runtime.class_archive import archive_options
from rackwise.pipeline.runtime.java import HINT, find_java
from rackwise.pipeline.runtime.remotes import check_answers, check_is_free, host_of, is_local, shown
from rackwise.pipeline.runtime.store_settings import store_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

Profile = Literal["tiny", "small", "batch"]

LOG4J2 = Path(__file__).with_name("log4j2.properties")
TINY_BELOW_BYTES, SMALL_BELOW_BYTES = 4 * 2**20, 64 * 2**20
"""Input below these sizes is processed with the profiles `tiny` and `small`."""
ANSI = "spark.sql.ansi.enabled"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
EXECUTOR_OPTIONS = "spark.executor.defaultJavaOptions"
"""Java's options of an executor; `spark.executor.extraJavaOptions` follow them and win."""
REMOTE = "SPARK_REMOTE"
SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit; the driver already runs then."""
LARGEST_DRIVER_BYTES = 4 * 2**30
ALL_CORES = "local[*]"
OLDEST = (4, 0)
"""The oldest Spark of a session."""

_TUNED = {
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Java compiles no method above 8000 bytes. A stage that is one such method runs up to three
times slower than a stage in pieces. Spark splits the stages above this limit. To find partitions
that a join does not need, Spark writes the keys of each join as expressions of the files' columns.
For a request log, this takes seconds. No join here has a partition as its key. Timestamps in tables
are longs: Spark's own timestamp type, of 96 bits, is deprecated, has no statistics and takes longer
to write."""
_BY_FILE = "spark.python.unix.domain.socket.enabled"
"""Rows travel between Java and Python through a Unix domain socket. With a TCP socket, each side
may write while its own buffer is full of the other side's data. Linux may then drop the segment
that reports free space again, and both sides wait for ever."""
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # else each expression costs six calls
}
_EXACT = {"spark.sql.session.timeZone": "UTC", ANSI: "true"}
"""The conf of our session on another program's server; the rest of the conf is the server's."""
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.daemon.module": "rackwise.pipeline.runtime.worker_daemon",
}
_ON_LOOPBACK = {"spark.connect.grpc.binding.address": "127.0.0.1"}
_CONNECT = (
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_CONNECT_AUTHENTICATE_TOKEN",
    "SPARK_LOCAL_REMOTE",
    REMOTE,
    *("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP"),
)
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_MOST_ROWS, _MOST_BYTES = 2**15, 2**31 - 1
"""With this limit in bytes, Spark does not measure a batch after each row. Larger batches do not
fit the caches of a processor: with four times as many rows, the transfer to Python takes 1.5 times
as long."""
_STREAM_BYTES = 2**25
"""A row may have megabytes, so that some thousands of rows do not fit into the memory of a task."""
_ONE_TIER = (
    "-XX:TieredStopAtLevel=1",
    # By itself 48 MB with one tier; when it is full, Java says so on stdout, where documents go.
    "-XX:ReservedCodeCacheSize=240m",
)
"""Java compiles fast and does not compile again: the Java of a small job ends before the second
tier pays. Each executor of a cluster compiles all code by itself."""
_SMALL_JAVA = (*_ONE_TIER, "-XX:+UseSerialGC")
_TINY = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""No generated code, and no plan that is made again in the middle of a query."""


@contextmanager
def session(
    app: str = "rackwise",
    *,
    master: str | None = None,
    remote: str | None = None,
    profile: Profile = "batch",
    conf: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A Spark session for the block: the active one, else a new one that is stopped afterwards.

    `conf` overrides the profile. Raises `SparkMissing` without PySpark or the packages that Connect
    needs; `JavaMissing` without a suitable Java; `SessionConflict` if both a master and a remote
    are requested, if Spark is older than `OLDEST`, if the active session is not the requested one,
    has another value of `conf` or has ANSI mode off, or if a remote session rejects `conf`;
    `Unreachable` if no server listens; `ServerDied` if Java exits.
    """
    if master and remote:
        raise SessionConflict(
            f"expected a master or a remote, got both: {escaped(master)} and {shown(remote)}",
            wanted="one of them",
            had="both",
            hint="use --master to run the driver here, or --remote to use a Spark Connect server",
        )
    with _installed():
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
    if active is not None:
        check_version(active.version)
        _check_fits(active, master, remote, conf or {})
        yield active
        return
    remote = remote or (None if master else os.environ.get(REMOTE))
    with _environment_kept():
        if remote:
            created = _connected(app, remote, profile, conf or {})
        else:
            created = _create(app, master, profile, conf or {})
        try:
            check_version(created.version)
            if remote and not is_local(remote):
                _check_has(created, {**_EXACT, **(conf or {})}, "the server's")
            with _silent_loggers():
                yield created
        finally:
            with _ended_allowed():
                created.stop()


def check_version(
    version: str,
    oldest: tuple[int, int] = OLDEST,
    *,
    what: str = "a session",
    instead: str = "omit --remote and --master to run on this machine",
) -> None:
    """Reject a Spark version, of `what`, that lacks functions used here; `instead` for the hint."""
    found = tuple(int(part) for part in version.split(".")[:2])
    if found < oldest:
        wanted = ".".join(map(str, oldest))
        raise SessionConflict(
            f"expected Spark {wanted} or later for {what}, got Spark {escaped(version)}",
            wanted=wanted,
            had=version,
            hint=f"start Spark {wanted} or later, or {instead}",
            where="spark.version",
        )


def profile_for(input_bytes: int | None) -> Profile:
    """The profile for an input of this size; None = unknown.

    >>> profile_for(2**20), profile_for(2**25), profile_for(None)
    ('tiny', 'small', 'batch')
    """
    if input_bytes is None or input_bytes >= SMALL_BELOW_BYTES:
        return "batch"
    return "small" if input_bytes >= TINY_BELOW_BYTES else "tiny"


def settings(
    master: str,
    profile: Profile,
    conf: Mapping[str, str],
    *,
    java_options: Sequence[str] = (),
) -> dict[str, str]:
    """The conf of a session that is created here: key -> value; `java_options`: more options."""
    is_small = profile != "batch"
    log = f"-Dlog4j2.configurationFile={LOG4J2.as_uri()}"
    java = [log, *(_SMALL_JAVA if is_small else ()), *java_options]
    return {
        **_QUIET,
        **_TUNED,
        **store_settings(os.environ),
        **({_BY_FILE: "true"} if hasattr(socket, "AF_UNIX") else {}),
        **(_LOCAL if is_local(master) else {}),
        **({EXECUTOR_OPTIONS: " ".join(_ONE_TIER)} if is_small and not is_local(master) else {}),
        **(_TINY if profile == "tiny" else {}),
        **_tasks(master, profile),
        "spark.driver.memory": "1g" if is_small else f"{_driver_bytes() // 2**20}m",
        JAVA_OPTIONS: " ".join(java),
        **conf,
    }


def large_batches(spark: SparkSession) -> AbstractContextManager[None]:
    """Limit Arrow batches to Python by rows only, for the actions inside; restored afterwards.

    With a limit in bytes, which is the default, Spark measures the batch again after every row.
    """
    return batches_of(spark, _MOST_ROWS, _MOST_BYTES)


def stream_batches(spark: SparkSession) -> AbstractContextManager[None]:
    """Limit Arrow batches to Python by bytes, for actions whose rows are large, inside."""
    return batches_of(spark, _MOST_ROWS, _STREAM_BYTES)


_LIMITS_LOCK = Lock()
_limits_of: dict[int, list[dict[str, str]]] = {}
"""Session -> its own limits of batches, then those of each open block, the latest one last."""


@contextmanager
def batches_of(spark: SparkSession, rows: int, most_bytes: int) -> Iterator[None]:
    """Limit Arrow batches to Python by rows and bytes, as `large_batches` does.

    Blocks of several threads may overlap: the session has the limits of the latest open one.
    """
    limits = {
        "spark.sql.execution.arrow.maxBytesPerBatch": str(most_bytes),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(rows),
    }
    with _LIMITS_LOCK:
        own = {key: spark.conf.get(key) or "" for key in limits}
        _limits_of.setdefault(id(spark), [own]).append(limits)
        _set_limits(spark, limits)
    try:
        yield
    finally:
        with _LIMITS_LOCK:
            held = _limits_of[id(spark)]
            del held[next(at for at, one in enumerate(held) if one is limits)]
            _set_limits(spark, held[-1])
            if len(held) == 1:
                del _limits_of[id(spark)]


def _set_limits(spark: SparkSession, limits: Mapping[str, str]) -> None:
    for key, value in limits.items():
        spark.conf.set(key, value)


def _create(
    app: str, master: str | None, profile: Profile, conf: Mapping[str, str]
) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app)
    if SUBMITTED in os.environ and master is None:
        return _with(builder, {**_EXACT, **_TUNED, **conf}).getOrCreate()
    needed = _needed(master or ALL_CORES)
    stored = archive_options(Path(needed["JAVA_HOME"]), os.environ)
    wanted = settings(master or ALL_CORES, profile, conf, java_options=stored)
    with _environment(needed), _staying_up():
        return _with(builder.master(master or ALL_CORES), wanted).getOrCreate()


def _tasks(master: str, profile: Profile) -> dict[str, str]:
    """Two tasks of a core after a shuffle and to list files, if Spark runs on this machine.

    Spark's own 200 and 10,000 are for a cluster. A task of one file takes longer to start than to
    list the file.
    """
    cores = local_cores(master)
    if cores is None:
        return {} if profile == "batch" else {"spark.sql.shuffle.partitions": "2"}
    count = str(2 * cores)
    return {
        "spark.sql.shuffle.partitions": count if profile == "batch" else "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": count,
    }


def local_cores(master: str) -> int | None:
    """The cores that a master on this machine uses; None for another master.

    >>> local_cores("local"), local_cores("local[4]"), local_cores("spark://there:7077")
    (1, 4, None)
    """
    if not is_local(master):
        return None
    given = master.partition("[")[2].partition("]")[0].partition(",")[0]
    return int(given) if given.isdigit() else (os.cpu_count() or 1 if given else 1)


def _connected(app: str, remote: str, profile: Profile, conf: Mapping[str, str]) -> SparkSession:
    """A session on a Spark Connect server; for a local master, the server is started here."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    host_of(remote)
    with _installed():
        import pyspark.sql.connect.session  # noqa: F401 (checks the packages that Connect needs)
    builder = SparkSession.builder.appName(app).remote(remote)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fixed conf of a running server
        if is_local(remote):
            check_is_free()
            needed = _needed(remote)
            os.environ.update(needed)
            stored = archive_options(Path(needed["JAVA_HOME"]), os.environ)
            with _staying_up():
                wanted = {**settings(remote, profile, conf, java_options=stored), **_ON_LOOPBACK}
                return _with(builder, wanted).getOrCreate()
        check_answers(remote)
        try:
            return _with(builder, {**_EXACT, **_TUNED, **conf}).getOrCreate()
        except PySparkException as error:
            cause = escaped(str(error).strip().partition("\n")[0])
            raise WorldError(
                f"the Spark Connect server at {shown(remote)} gives no session: {cause}",
                wanted=shown(remote),
                had=cause,
                hint="check that it runs Spark 4 and that the URL has its token: sc://HOST/;token=...",
                where=shown(remote),
            ) from error


def _with(builder: SparkSession.Builder, conf: Mapping[str, str]) -> SparkSession.Builder:
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder


@contextmanager
def _installed() -> Iterator[None]:
    """Make failed imports of PySpark or of Connect's packages name the command to install them."""
    try:
        yield
    except ImportError as error:
        name = (getattr(error, "name", None) or "").partition(".")[0]
        is_spark = name == "pyspark"
        what = "PySpark is" if is_spark else "the packages of Spark Connect are"
        raise SparkMissing(
            f"{what} not installed",
            wanted="pyspark" if is_spark else "pyspark[connect]",
            had=None,
            hint=HINT if is_spark else 'pip install "rackwise[connect]"',
        ) from error


@contextmanager
def _ended_allowed() -> Iterator[None]:
    """Stop a session whose Java may have ended: the error that this caused counts."""
    from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

    with suppress(Py4JNetworkError, ConnectionError):
        yield


@contextmanager
def _staying_up() -> Iterator[None]:
    from pyspark.errors import PySparkRuntimeError

    try:
        yield
    except PySparkRuntimeError as error:
        raise ServerDied(
            "Spark's Java ended before Spark was ready",
            wanted="a running Spark",
            had=error.getCondition(),
            hint="its last lines are above; try another Java by setting JAVA_HOME",
        ) from error


def _needed(master: str) -> dict[str, str]:
    """The additional environment variables with which Spark is started."""
    needed = {"JAVA_HOME": str(find_java(os.environ).home)}
    if "PYSPARK_PYTHON" not in os.environ:
        needed["PYSPARK_PYTHON"] = sys.executable
    if is_local(master) and "SPARK_LOCAL_IP" not in os.environ:
        needed["SPARK_LOCAL_IP"] = "127.0.0.1"
    return needed


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Restore the variables by which PySpark marks a process as a Connect client."""
    before = {name: os.environ.get(name) for name in _CONNECT}
    try:
        yield
    finally:
        _put_back(before)


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        _put_back(before)


def _put_back(before: Mapping[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _silent_loggers() -> Iterator[None]:
    """Silence PySpark's loggers, which print each failed query as a page of JSON, caught or not."""
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


def _check_fits(
    active: SparkSession, master: str | None, remote: str | None, conf: Mapping[str, str]
) -> None:
    from pyspark.sql import is_remote

    had = f"Connect on {active.client.host}" if is_remote() else "a driver in this process"
    if master and is_remote():
        raise _conflict("spark.master", master, had)
    if remote and (not is_remote() or host_of(remote) != host_of(f"sc://{active.client.host}")):
        raise _conflict("spark.remote", shown(remote), had)
    wanted = {"spark.master": master} if master else {}
    if remote and is_local(remote):
        wanted = {"spark.master": remote}
    _check_has(active, {**wanted, ANSI: "true", **conf}, "the active one")


def _check_has(session: SparkSession, wanted: Mapping[str, str], whose: str) -> None:
    for key, value in wanted.items():
        had = session.conf.get(key) if key == ANSI else session.conf.get(key, None)
        if had != value:
            raise _conflict(key, value, had, whose)


def _conflict(
    key: str, wanted: str | None, had: str | None, whose: str = "the active one"
) -> SessionConflict:
    return SessionConflict(
        f"expected a Spark session with {escaped(key)}={escaped(str(wanted))}, got {whose} with "
        f"{escaped(str(had))}",
        wanted=wanted,
        had=had,
        hint=f"stop the active session, or omit {escaped(key)}"
        if whose == "the active one"
        else f"omit {escaped(key)}, or start the server with it",
        where=key,
    )
