"""The Spark room: DataFrame in, DataFrame out; one file creates sessions, one reads and writes.

`from rackwise import pipeline as rp` gives the files by name, so that `rp.flows.flow_facts` is a
function and `rp.session.session` another, and loads PySpark only when the first of them that needs
it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.errors import SparkMissing

if TYPE_CHECKING:
    from rackwise.pipeline import (
        audit,
        blast,
        certificate,
        cost,
        flows,
        job,
        plans,
        racks,
        recipes,
        savings,
        schemas,
        session,
        stream,
        tables,
        traffic,
    )
    from rackwise.pipeline.java import Java, find_java

__all__ = [
    "Java",
    "audit",
    "blast",
    "certificate",
    "cost",
    "find_java",
    "flows",
    "job",
    "plans",
    "racks",
    "recipes",
    "savings",
    "schemas",
    "session",
    "stream",
    "tables",
    "traffic",
]

_HOME = {"Java": "java", "find_java": "java"}
"""Public name that is no file -> the file it lives in."""


def __getattr__(name: str) -> object:
    """Load the file of a public name when it is first asked for (PEP 562)."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        file = import_module(f"{__name__}.{_HOME.get(name, name)}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pyspark"):
            raise
        raise SparkMissing(
            f"PySpark is wanted for rackwise.pipeline.{name}; it is not installed",
            wanted="pyspark",
            had=None,
            hint='pip install "rackwise[spark]"',
        ) from error
    return getattr(file, name) if name in _HOME else file


def __dir__() -> list[str]:
    return sorted(__all__)
