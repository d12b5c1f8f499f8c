"""The failures of actions: Spark's exceptions, their causes, and the errors that a user sees.

```
full disk        of tables and intermediate files
lost run         tasks, executors or Java that were killed or crashed
damaged table    a file of an earlier run that Spark cannot read
```
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.errors import PySparkException

from rackwise.core.errors import InvalidConfig, ServerDied, WorldError
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk, a quota or a limit of the size of files that has no room."""
LONGEST_FAILURE = 300
"""Characters of the line of a failure."""
_JAVA = ": "
"""What begins the line of an exception of Java that has no condition."""
_CONDITION = re.compile(r"\[[A-Z_]+[A-Z_0-9.]*\]")
WORKER_CRASHED = "Python worker exited unexpectedly"
"""What Spark says of a Python worker that was killed or crashed."""
_ATTEMPTS = re.compile(r"Task \d+ in stage [\d.]+ failed (\d+) times?, most recent failure")
_EXECUTOR_LOST = re.compile(r"ExecutorLostFailure \(.*?\) Reason: ([^\n]*)")
_LOST = (
    *("has failed the maximum allowable number of times", "FetchFailed("),
    *("Master removed our application", "SparkContext was shut down"),
)
"""What Spark says of a stage that lost executors too often, and of a cluster that ended the run."""
_NO_SERVER = ("UNAVAILABLE", "failed to connect to all addresses", "Socket closed")
"""What a client of Connect says of a server that is gone."""
_UNREADABLE = ("[FAILED_READ_FILE", "[PATH_NOT_FOUND]")
_RUN_AGAIN = (
    "run the command again; if this happens again, look in the log of the system for a process "
    "that was killed because memory ended, and use machines or executors with more memory"
)


def spark_failures() -> tuple[type[Exception], ...]:
    """The exceptions that a failed action raises, on classic Spark and on Connect."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    return (PySparkException, Py4JJavaError)


def failure_line(error: Exception) -> str:
    """The line of a failure that has its cause; in Spark it begins with `[CONDITION]`."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    for line in lines:
        if found := _CONDITION.search(line):
            return escaped(line[found.start() :][:LONGEST_FAILURE])
    line = next((line.removeprefix(_JAVA) for line in lines if line.startswith(_JAVA)), lines[0])
    return escaped(line[:LONGEST_FAILURE])


def no_room(text: str) -> str | None:
    """The reason in the text of an error that a file has no room to grow; None: another error.

    >>> no_room("OSError: [Errno 28] No space left on device: 'a.parquet'"), no_room("x")
    ('No space left on device', None)
    """
    return next((reason for reason in map(os.strerror, FULL) if reason in text), None)


def free_space_text(folders: Iterable[str]) -> str:
    """The bytes that are free for this user in folders and in that of temporary files."""
    places = [*folders, tempfile.gettempdir()]
    free = [f"{_free(Path(each)):,} bytes in {escaped(each)}" for each in places]
    return f"free on this machine: {', '.join(free)}"


def _free(folder: Path) -> int:
    """Bytes that are free on the disk of a folder, which may not exist because the disk is full."""
    there = (each for each in (folder, *folder.absolute().parents) if each.exists())
    return shutil.disk_usage(next(there)).free


def full_disk(error: BaseException, tables: str) -> WorldError | None:
    """The error for a run whose tables or intermediate files found a disk full; None: another one.

    `tables`: their folder or URI. Arrow and Spark do not say which file it was, so the folders of
    this machine that a run writes to are named with the bytes that are free for this user.
    """
    is_named = isinstance(error, OSError) and error.filename is not None
    reason = no_room(str(error))
    if is_named or reason is None:
        return None
    return WorldError(
        f"the tables in {escaped(tables)} cannot be written: {reason}; "
        f"{free_space_text([] if '://' in tables else [tables])}",
        wanted="space for the tables and the intermediate files of the run",
        had=reason,
        hint="free space there, or set TMPDIR, or --tables of rackwise analyze, to another disk; "
        "the result that was published before is still there",
        where=tables,
    )


@contextmanager
def removed_if_failed(tables: str, remove: Callable[[], object]) -> Iterator[None]:
    """Call `remove` if the block fails. Raises `WorldError` where it found a disk full.

    `tables`: the folder or URI that the block writes to.
    """
    try:
        yield
    except BaseException as error:
        full = None
        with suppress(Exception):  # Java, which has the text of the error, may be gone
            full = full_disk(error, tables)  # before the tables are removed
        with suppress(Exception):  # Spark may be what has failed; the next run removes it
            remove()
        if full is not None:
            raise full from None
        raise


@contextmanager
def with_clear_failures(tables: Iterable[str]) -> Iterator[None]:
    """Raise an error of one line in place of a failure of Spark whose cause is not the code.

    `tables`: folders or URIs of what earlier runs wrote.
    """
    try:
        yield
    except Exception as error:
        told = lost_run(error) or unreadable_table(error, tables)
        if told is None:
            raise
        raise told from error


def lost_run(error: Exception) -> WorldError | None:
    """The error for a run whose tasks, executors or Java were killed or crashed; None: another one.

    Spark runs a task again, four times on a cluster and not at all on this machine, and gives up.
    """
    if _is_without_java(error):
        had = "Spark's Java ended in the middle of the run"
        return ServerDied(had, wanted="a running Spark", had=had, hint=_RUN_AGAIN)
    text = str(error) if isinstance(error, spark_failures()) else ""
    attempts, lost = _ATTEMPTS.search(text), _EXECUTOR_LOST.search(text)
    what = f"a task after {counted(int(attempts[1]), 'attempt')}" if attempts else "a stage"
    if lost:
        had = f"its executor was lost: {escaped(lost[1])}"
    elif attempts and WORKER_CRASHED in text:
        had = "its Python worker ended"
    elif any(each in text for each in _LOST):
        had = "executors were lost, and results with them"
    else:
        return None
    return WorldError(
        f"Spark gave up {what}: {had}",
        wanted="a task that ends with a result",
        had=had,
        hint=_RUN_AGAIN,
    )


def _is_without_java(error: Exception) -> bool:
    """Whether the driver, in this process or behind Connect, is gone."""
    from py4j.protocol import Py4JJavaError, Py4JNetworkError

    if isinstance(error, Py4JJavaError):  # Java has answered
        return False
    if type(error).__name__ == "SparkConnectGrpcException":
        return any(each in str(error) for each in _NO_SERVER)
    return isinstance(error, Py4JNetworkError | ConnectionRefusedError | ConnectionResetError)


def unreadable_table(error: Exception, tables: Iterable[str]) -> WorldError | InvalidConfig | None:
    """The error for a file that Spark cannot read; None for another failure.

    `tables`: as in `with_clear_failures`.
    """
    lines = str(error).splitlines() if isinstance(error, spark_failures()) else []
    marked = (line[line.index(each) :] for line in lines for each in _UNREADABLE if each in line)
    line = next(marked, None)
    if line is None:
        return None
    place = unquote(line)
    where = next((each for each in tables if each in line or each in place), None)
    if where is not None:
        return damaged_table(escaped(place), where)
    return WorldError(
        f"Spark cannot read a file: {escaped(line)}",
        wanted="files that do not change during the run",
        had=line,
        hint="look at the disk or the store of the file, and run the command again",
    )


def damaged_table(had: str, where: str) -> InvalidConfig:
    """The error for a table in the folder `where` of which a file is missing or cannot be read."""
    return InvalidConfig(
        f"expected a table of an earlier run that can be read, got a damaged file: {had}",
        wanted="readable files",
        had=had,
        hint="restore the file, or start a new result with another --out",
        where=where,
    )
