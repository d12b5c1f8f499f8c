"""The one place that creates a Spark session: found Java, quiet conf, our own log, right Python.

A session that is active already belongs to somebody: it is taken as it is and never stopped; its
conf is never changed but by `large_batches`, for the time of an action. Otherwise one is made and
stopped at the end of the `with` block, and the process's environment is afterwards what it was
before.

Profiles. `small` starts about 1.5 s sooner and is slower in long jobs; `batch` is Spark as Spark
wants to be, with a driver of half the memory of the machine and at most 4 GiB.

```
master   local[2]  spark://..  k8s://..   a driver in this process
remote   local[2]                         the same behind Spark Connect, on loopback
remote   sc://HOST:PORT                   a driver elsewhere; no Java is needed here
neither  under spark-submit               the driver that it has started, with its master
         else SPARK_REMOTE, else local[*]
```

What this does not do: fetch a Kafka connector; see `spark.apache.org` for a session of your own,
which is then taken as it is.
"""

from __future__ import annotations

import os
import socket
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rackwise.core.errors import ServerDied, SessionConflict, SparkMissing, WorldError
from rackwise.core.text import escaped
from rackwise.pipeline.runtime.java import HINT, find_java
from rackwise.pipeline.runtime.remotes import check_answers, check_is_free, host_of, is_local, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

Profile = Literal["small", "batch"]

LOG4J2 = Path(__file__).with_name("log4j2.properties")
SMALL_BELOW_BYTES = 64 * 2**20
"""Input below this size is a job for the profile `small`."""
ANSI = "spark.sql.ansi.enabled"
REMOTE = "SPARK_REMOTE"
SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit, whose driver is then up already."""
LARGEST_DRIVER_BYTES = 4 * 2**30
ALL_CORES = "local[*]"
OLDEST = (4, 2)

_TUNED = {
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Java compiles no method above 8000 bytes. A stage that is one such method runs up to three
times slower than in pieces, which is what Spark makes of those above the limit. Moments in tables
are longs: Spark's own type for them, of 96 bits, is deprecated, has no statistics and takes longer
to write."""
_BY_FILE = "spark.python.unix.domain.socket.enabled"
"""Rows travel between Java and Python through a socket that is a file. Through one of TCP, where
each side writes while its own buffer is full of what the other wrote, Linux may drop the segment
that says there is room again, and both wait for ever."""
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # else each expression costs six calls
}
_EXACT = {"spark.sql.session.timeZone": "UTC", ANSI: "true"}
"""What a session of ours has on somebody's server, where the rest of the conf is theirs."""
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_ON_LOOPBACK = {"spark.connect.grpc.binding.address": "127.0.0.1"}
_CONNECT = (
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_CONNECT_AUTHENTICATE_TOKEN",
    "SPARK_LOCAL_REMOTE",
    REMOTE,
    *("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP"),
)
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_BATCHES = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(2**15),
}
"""With so many bytes Spark does not measure a batch after each row. Batches of more rows leave the
caches of a processor: with four times as many the way to Python takes half as long again."""
_SMALL_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@contextmanager
def session(
    app: str = "rackwise",
    *,
    master: str | None = None,
    remote: str | None = None,
    profile: Profile = "batch",
    conf: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A Spark session for the block; an active one is taken, else one is made and stopped after.

    `conf` wins over the profile. Raises `SparkMissing` without PySpark or what Connect needs,
    `JavaMissing` without a fit Java; `SessionConflict` when both a master and a remote are asked
    for, when Spark is older than `OLDEST`, when an active session is another than the one asked
    for, has another value of `conf` or ANSI mode off, and when a remote one does not take `conf`;
    `Unreachable` when nobody listens there, `ServerDied` when Java does not stay up.
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
            made = _connected(app, remote, profile, conf or {})
        else:
            made = _create(app, master, profile, conf or {})
        try:
            check_version(made.version)
            if remote and not is_local(remote):
                _check_has(made, {**_EXACT, **(conf or {})}, "the server's")
            with _silent_loggers():
                yield made
        finally:
            made.stop()


def check_version(version: str) -> None:
    """Refuse a Spark, an active one or a server's, that lacks functions this room calls."""
    found = tuple(int(part) for part in version.split(".")[:2])
    if found < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise SessionConflict(
            f"expected Spark {wanted} or later, got a session of Spark {escaped(version)}",
            wanted=wanted,
            had=version,
            hint=f"start Spark {wanted}, or omit --remote and --master to run on this machine",
            where="spark.version",
        )


def settings(master: str, profile: Profile, conf: Mapping[str, str]) -> dict[str, str]:
    """The conf of a session that is made here: key -> value."""
    is_small = profile == "small"
    java = [f"-Dlog4j2.configurationFile={LOG4J2.as_uri()}", *(_SMALL_JAVA if is_small else ())]
    return {
        **_QUIET,
        **_TUNED,
        **({_BY_FILE: "true"} if hasattr(socket, "AF_UNIX") else {}),
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


def _create(
    app: str, master: str | None, profile: Profile, conf: Mapping[str, str]
) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app)
    if SUBMITTED in os.environ and master is None:
        return _with(builder, {**_EXACT, **_TUNED, **conf}).getOrCreate()
    wanted = settings(master or ALL_CORES, profile, conf)
    with _environment(_needed(master or ALL_CORES)), _staying_up():
        return _with(builder.master(master or ALL_CORES), wanted).getOrCreate()


def _connected(app: str, remote: str, profile: Profile, conf: Mapping[str, str]) -> SparkSession:
    """A session on a server of Spark Connect, or on one that is started here for it."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    host_of(remote)
    with _installed():
        import pyspark.sql.connect.session  # noqa: F401 (it looks for what Connect needs)
    builder = SparkSession.builder.appName(app).remote(remote)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of conf that is fixed when a server starts
        if is_local(remote):
            check_is_free()
            os.environ.update(_needed(remote))
            with _staying_up():
                wanted = {**settings(remote, profile, conf), **_ON_LOOPBACK}
                return _with(builder, wanted).getOrCreate()
        check_answers(remote)
        try:
            return _with(builder, {**_EXACT, **_TUNED, **conf}).getOrCreate()
        except PySparkException as error:
            told = escaped(str(error).strip().partition("\n")[0])
            raise WorldError(
                f"the Spark Connect server at {shown(remote)} gives no session: {told}",
                wanted=shown(remote),
                had=told,
                hint="check that it runs Spark 4.2 and that the URL has its token: sc://HOST/;token=...",
                where=shown(remote),
            ) from error


def _with(builder: SparkSession.Builder, conf: Mapping[str, str]) -> SparkSession.Builder:
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder


@contextmanager
def _installed() -> Iterator[None]:
    """Imports of PySpark, and of what its Connect needs, fail with the line that installs them."""
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
    """The environment Spark is started in, beyond what is there."""
    needed = {"JAVA_HOME": str(find_java(os.environ).home)}
    if "PYSPARK_PYTHON" not in os.environ:
        needed["PYSPARK_PYTHON"] = sys.executable
    if is_local(master) and "SPARK_LOCAL_IP" not in os.environ:
        needed["SPARK_LOCAL_IP"] = "127.0.0.1"
    return needed


@contextmanager
def _environment_kept() -> Iterator[None]:
    """PySpark tells itself by variables that a process is on Connect; they go with the session."""
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
