"""The Spark room: DataFrame in, DataFrame out; one file creates sessions, one reads and writes.

`from rackwise import pipeline as rp` gives the functions by name and loads PySpark only when the
first of them that needs it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.errors import SparkMissing

if TYPE_CHECKING:
    from rackwise.pipeline.java import Java, find_java
    from rackwise.pipeline.session import session

__all__ = ["Java", "find_java", "session"]

_HOME = {"Java": "java", "find_java": "java", "session": "session"}
"""Public name -> the file it lives in."""


def __getattr__(name: str) -> object:
    """Load the file of a public name when it is first asked for (PEP 562)."""
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pyspark"):
            raise
        raise SparkMissing(
            f"PySpark is wanted for rackwise.pipeline.{name}; it is not installed",
            wanted="pyspark",
            had=None,
            hint='pip install "rackwise[spark]"',
        ) from error


def __dir__() -> list[str]:
    return sorted(__all__)
