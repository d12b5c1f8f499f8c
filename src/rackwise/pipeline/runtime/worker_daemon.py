"""Spark's daemon of Python workers, which loads once what all workers need.

Spark starts this module in place of `pyspark.daemon`. Workers are forks of the daemon, so that they
have the modules that it has loaded. Without this, each worker takes nearly a second of a processor
to load them. PySpark is loaded from its folder, which has compiled files, and not from the archives
that Spark puts in front of it, whose lists each worker reads again.

The daemon is silent about workers that are stopped because they are idle. After a minute without a
task, Spark closes the socket of a worker. The worker ends, and still writes to the socket. With a
Unix domain socket this fails, and `pyspark.daemon` prints a traceback for each worker, although
nothing is lost:

```
Spark    close socket                              (idle for a minute)
worker   read: end of file -> write the reason -> BrokenPipeError -> end, silently
```

A worker that has a task and loses its socket ends in the same way; Spark reports the lost task.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from zipimport import zipimporter

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

LOADED = (
    *("pandas", "pyarrow.compute", "pyarrow.parquet", "pyspark.worker"),
    *("rackwise.pipeline.ingest.canonical_facts", "rackwise.pipeline.ingest.vpc_facts"),
    *("rackwise.pipeline.ingest.sums", "rackwise.pipeline.ingest.table_files"),
    *("rackwise.pipeline.bill.gold.cross_rack", "rackwise.pipeline.bill.gold.results"),
    "rackwise.pipeline.runtime.task_clusters",
)
"""What tasks of `analyze` need. Loading them opens no connection and begins no pool of threads."""
ARCHIVES = (".zip", ".jar")


def silent(
    worker: Callable[[socket.socket, bool], int],
) -> Callable[[socket.socket, bool], int]:
    """The same worker, which returns 1 where its socket is closed while it writes."""

    def work(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001 (as Spark calls it)
        try:
            return worker(sock, authenticated)
        except BrokenPipeError:
            return 1

    return work


def without_archives(path: Sequence[str]) -> list[str]:
    """The places of modules without the archives in the folder of an installed PySpark."""
    return [
        place
        for place in path
        if Path(place).suffix not in ARCHIVES
        or not any(
            parent.name == "pyspark" and (parent / "worker.py").is_file()
            for parent in Path(place).parents
        )
    ]


def has_pyspark_of(archives: Sequence[str]) -> bool:
    """Whether Python loads the PySpark in whose folder these archives are, and what it needs.

    SPARK_HOME may be a PySpark of another environment, or a folder without py4j.
    """
    found = find_spec("pyspark")
    if found is None or found.origin is None or find_spec("py4j") is None:
        return False
    home = Path(found.origin).resolve().parent
    return all(Path(place).resolve().is_relative_to(home) for place in archives)


def load() -> None:
    """Load `LOADED`; a module that cannot be loaded is an error of the task that needs it."""
    for name in LOADED:
        with suppress(ImportError):
            import_module(name)


def forget_archives() -> None:
    """Forget the finders of archives; Python makes them again from its lists where it needs one."""
    for place, finder in [*sys.path_importer_cache.items()]:
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[place]


def main() -> None:
    """Start workers until Spark ends."""
    given = [*sys.path]
    sys.path[:] = without_archives(given)
    if not has_pyspark_of([place for place in given if place not in sys.path]):
        sys.path[:] = given
    from pyspark import daemon

    load()
    forget_archives()
    daemon.worker = silent(daemon.worker)  # type: ignore[assignment]
    daemon.manager()


if __name__ == "__main__":
    main()
