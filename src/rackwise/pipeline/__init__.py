"""The Spark room: DataFrame in, DataFrame out; one file creates sessions, one reads and writes.

`from rackwise import pipeline as rp` gives the files by name, so that `rp.formats.flow_facts` is a
function and `rp.session.session` another, and loads PySpark only when the first of them that needs
it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.errors import SparkMissing

if TYPE_CHECKING:
    from rackwise.pipeline import audit, job, plans, schemas, stream
    from rackwise.pipeline.audit import blast
    from rackwise.pipeline.bill import cost, savings, traffic
    from rackwise.pipeline.fleet import subnet_racks
    from rackwise.pipeline.ingest import formats, tables
    from rackwise.pipeline.plans import certificate
    from rackwise.pipeline.runtime import session
    from rackwise.pipeline.runtime.java import Java, find_java
    from rackwise.pipeline.spark_racks import recipes

__all__ = [
    "Java",
    "audit",
    "blast",
    "certificate",
    "cost",
    "find_java",
    "formats",
    "job",
    "plans",
    "recipes",
    "savings",
    "schemas",
    "session",
    "stream",
    "subnet_racks",
    "tables",
    "traffic",
]

_HOMES = {
    "Java": "runtime.java",
    "blast": "audit",
    "certificate": "plans",
    "cost": "bill",
    "find_java": "runtime.java",
    "formats": "ingest",
    "recipes": "spark_racks",
    "savings": "bill",
    "session": "runtime",
    "subnet_racks": "fleet",
    "tables": "ingest",
    "traffic": "bill",
}
"""Public name -> the package or file that it lives in, where that is not this one."""


def __getattr__(name: str) -> object:
    """Load the file of a public name when it is first asked for (PEP 562)."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = f"{__name__}.{_HOMES[name]}" if name in _HOMES else __name__
    try:
        if name in {"Java", "find_java"}:
            value: object = getattr(import_module(home), name)
        else:
            value = import_module(f"{home}.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pyspark"):
            raise
        raise SparkMissing(
            f"rackwise.pipeline.{name} requires PySpark, which is not installed",
            wanted="pyspark",
            had=None,
            hint='pip install "rackwise[spark]"',
        ) from error
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
