"""The failures of actions: Spark's exceptions, the line that has the cause, and a full disk."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile

from pyspark.errors import PySparkException

from rackwise.core.errors import WorldError
from rackwise.core.text import escaped

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk, a quota or a limit of the size of files that has no room."""
LONGEST_FAILURE = 300
"""Characters of the line of a failure."""
_JAVA = ": "
"""What begins the line of an exception of Java that has no condition."""
_CONDITION = re.compile(r"\[[A-Z_]+[A-Z_0-9.]*\]")


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


def full_disk(error: BaseException, tables: str) -> WorldError | None:
    """The error for a run whose tables or intermediate files found a disk full; None: another one.

    `tables`: their folder or URI. Arrow and Spark do not say which file it was, so the folders of
    this machine that a run writes to are named with the bytes that are free for this user.
    """
    is_named = isinstance(error, OSError) and error.filename is not None
    reason = no_room(str(error))
    if is_named or reason is None:
        return None
    places = [*([] if "://" in tables else [tables]), tempfile.gettempdir()]
    free = [f"{shutil.disk_usage(each).free:,} bytes in {escaped(each)}" for each in places]
    return WorldError(
        f"the tables in {escaped(tables)} cannot be written: {reason}; free on this machine: "
        f"{', '.join(free)}",
        wanted="space for the tables and the intermediate files of the run",
        had=reason,
        hint="free space there, or set --tables or TMPDIR to another disk; the result that was "
        "published before is still there",
        where=tables,
    )
