"""Lists flow files of local folders without Spark: the same files as Spark lists, in less memory.

Spark makes one row per file, which Java and Python keep as objects. This lists folders one after
the other. What Spark does differently from a plain listing is followed:

```
_a.log  .git/                        left out, see `stores.spark_names`
empty files                          left out
links                                followed
a path that is given twice           its files are listed once
```

Spark lists what is not plain: patterns, URIs, names that are not UTF-8, folders that cannot be
read, paths that do not exist. It then reports the error.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, TypeAlias

from rackwise.pipeline.runtime.stores.spark_names import is_left_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOCAL = "file:"
Place: TypeAlias = tuple[str, str, int]
"""URI, path as Spark lists it, and bytes of a file."""
_NOT_PLAIN = re.compile(r"[\[\]{}*?\\:]|[^\x20-\x7e]")
"""Characters of a path that is a pattern or a URI, or that is left to Spark to be safe."""
_OTHER_NAME = re.compile(r"[^\x20-\x7e]")
_QUOTED = re.compile(r"""[ "#%<>?\[\\\]^`{|}]""")
"""Characters that a URI of Java does not have."""


class _NotPlain(Exception):
    """Spark has to list this."""


def local_places(paths: Sequence[str]) -> set[Place] | None:
    """The files at paths of files and folders; None if Spark has to list them."""
    try:
        return {place for path in paths for place in _below(path)}
    except (_NotPlain, OSError):
        return None


def _below(path: str) -> Iterator[Place]:
    if _NOT_PLAIN.search(path):
        raise _NotPlain
    place = os.path.abspath(path)  # noqa: PTH100 (a string, and links stay as they are)
    if os.path.isdir(place):  # noqa: PTH112
        yield from _in_folder(place)
    else:
        yield from _file(place, os.path.basename(place), os.stat(place).st_size)  # noqa: PTH116, PTH119


def _in_folder(folder: str) -> Iterator[Place]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if _OTHER_NAME.search(entry.name):
                raise _NotPlain
            if not entry.is_dir():
                yield from _file(entry.path, entry.name, entry.stat().st_size)
            elif not is_left_out(entry.name, is_folder=True):
                yield from _in_folder(entry.path)


def _file(place: str, name: str, size: int) -> Iterator[Place]:
    if size and not is_left_out(name, is_folder=False):
        quoted = _QUOTED.sub(lambda found: f"%{ord(found[0]):02X}", place)
        yield f"{LOCAL}{quoted}", f"{LOCAL}{place}", size
