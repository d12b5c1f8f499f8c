"""The computations on Spark: functions from DataFrames to DataFrames.

`from rackwise import pipeline as rp` gives access to the files by name: `rp.formats.flow_facts`,
`rp.session.session`. `__init__.pyi` lists them. A file is imported when it is first used; PySpark
is loaded only by a file that needs it.
"""

from __future__ import annotations

from rackwise import lazy_names
from rackwise.core.errors import SparkMissing

_get, __dir__ = lazy_names(__name__)


def __getattr__(name: str) -> object:
    try:
        return _get(name)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pyspark"):
            raise
        raise SparkMissing(
            f"rackwise.pipeline.{name} requires PySpark, which is not installed",
            wanted="pyspark",
            had=None,
            hint='pip install "rackwise[spark]"',
        ) from error
