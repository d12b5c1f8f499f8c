"""The failures of Spark's actions: which exceptions they are, and the line that has the cause."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from rackwise.core.text import escaped

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
