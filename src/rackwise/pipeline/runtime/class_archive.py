"""Stores the classes that Spark's Java loads, so that a session starts with less work.

Java reads, checks and lays out some 15,000 classes whenever Spark starts. An archive has them as
Java keeps them in memory (class data sharing). Java itself checks that an archive is whole and fits
its version and the jars, and otherwise loads the classes as usual.

```
stored_classes    a session with -XX:ArchiveClassesAtExit=PATH   ->   its Java ends  ->  rename
archive_options   the archive is there   ->   -XX:SharedArchiveFile=PATH, in every later session
```

An archive belongs to one Java and one PySpark; another of either has another file in the cache.

What this does not do: store anything unless it is asked to; share archives between machines.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rackwise.core.errors import ServerDied, SessionConflict
from rackwise.pipeline.runtime.java import cache_folder, find_java

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping
    from pathlib import Path

END_S = 300
"""Seconds that Java has to write the archive."""
SILENT = "-Xlog:disable"
"""Java would warn on stdout about classes that it cannot store, or an archive that does not fit."""


def archive_path(java_home: Path, env: Mapping[str, str]) -> Path:
    """The place of the archive of a Java and of the PySpark that is installed."""
    import pyspark

    java = (java_home / "bin" / "java").resolve()
    kept = f"{java}\n{java.stat().st_mtime_ns}\n{pyspark.__path__[0]}\n{pyspark.__version__}"
    name = hashlib.sha256(kept.encode()).hexdigest()[:12]
    return cache_folder(env) / f"spark-{pyspark.__version__}-{name}.jsa"


def archive_options(java_home: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """The options of Java for the archive; none if there is no archive."""
    path = archive_path(java_home, env)
    return (_option("SharedArchiveFile", path), SILENT) if path.is_file() else ()


def _option(name: str, path: Path) -> str:
    """An option of Java; Spark divides options at spaces, except in quotes."""
    option = f"-XX:{name}={path}"
    return f'"{option}"' if " " in option else option


@contextmanager
def stored_classes(env: Mapping[str, str]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Store the classes that a session in the block has loaded; the path, and the options for it.

    The Java of the process ends with the block. Raises `SessionConflict` if one runs already, and
    `ServerDied` if Java stores nothing.
    """
    from pyspark import SparkContext

    if SparkContext._gateway is not None:  # noqa: SLF001 (PySpark has no other way to its Java)
        raise SessionConflict(
            "expected no running Java of Spark, got one that other code started",
            wanted=None,
            had="a running Java",
            hint="run rackwise spark-cache in a process of its own",
        )
    path = archive_path(find_java(env).home, env)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = path.with_suffix(f".{os.getpid()}.unfinished")
    try:
        yield path, (_option("ArchiveClassesAtExit", unfinished), SILENT)
        code = _end_java()
        if code or not unfinished.is_file():
            raise ServerDied(
                f"expected Java to write {path}, got exit code {code}",
                wanted=str(path),
                had=code,
                hint="try another Java by setting JAVA_HOME, or free space in the cache",
            )
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _end_java() -> int | None:
    """Let the Java of this process end, and return its exit code; None without one."""
    from pyspark import SparkContext

    gateway, SparkContext._gateway = SparkContext._gateway, None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001
    if gateway is None:
        return None
    java: subprocess.Popen[bytes] = gateway.proc
    gateway.shutdown()
    if java.stdin is not None:
        java.stdin.close()
    return java.wait(END_S)
