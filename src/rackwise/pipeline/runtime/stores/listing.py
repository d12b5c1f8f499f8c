r"""Lists files of stores in a task of Spark, with the credentials of the executors.

Goals, in order: the files of a URI are those that Spark would list; all of them or an error; no jar
is needed, and no credentials of the driver.

A driver on Spark Connect has no credentials of the store, and Spark itself needs a jar of hundreds
of megabytes for it. So a task lists, as tasks read:

```
s3a://lake/flows/         all files below it
s3a://lake/flows/1*/a     files, and all files below folders, that match: * ? [ab] [^a-c] {x,y} \*
```

Files without bytes are left out, and names that Spark leaves out (`spark_names`): those of
files, and those of folders below the path or below what matches the pattern.

An error is a row of the result and not of the task, so that Spark does not repeat the task. Its
kind says what to do next:

```
missing       no file or folder is there
denied        the store rejects the credentials, or finds none      } Spark may have others: it
unopened      pyarrow cannot open the store on the executor         } lists and reads the files
failed        the store does not answer, or has no such bucket
```

Limits: a pattern in the name of a bucket; a pattern lists all that is below its first folder.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from pyarrow import fs
from pyspark.sql.types import LongType, StringType, StructField, StructType

from rackwise.pipeline.runtime.stores.filesystems import modified_second, opened, shown, store_uri
from rackwise.pipeline.runtime.stores.spark_names import is_left_out
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

Fault = Literal["missing", "denied", "unopened", "failed"]

_DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|INVALID_CLIENT_TOKEN_ID|SIGNATURE|CREDENTIAL|"
    r"INVALID_TOKEN|EXPIRED_TOKEN|HTTP status 40[13]|\b40[13]\b|[Pp]ermission|[Cc]redential|OAuth2"
)
_GLOB = re.compile(r"(?<!\\)[*?\[{]")
_LISTED = StructType(
    [
        StructField("place", StringType()),
        StructField("size", LongType()),
        StructField("modified_s", LongType()),
        StructField("fault", StringType()),
        StructField("reason", StringType()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ListedFile:
    """A file of a store."""

    place: str
    """Its URI, with the key as it is, not encoded."""
    size: int
    """Bytes."""
    modified_s: int
    """The second of its last change, since 1970."""


class ListingFailed(Exception):
    """A store could not be listed; the text is the reason."""

    def __init__(self, *, place: str, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        self.fault = fault
        self.reason = reason


def list_stores(spark: SparkSession, places: Sequence[str]) -> list[ListedFile]:
    """The files at URIs of stores, each once; an action. Raises `ListingFailed`."""
    frame = spark.createDataFrame([(place,) for place in places], "place string")
    rows = frame.mapInArrow(_list, _LISTED).collect()
    for row in rows:
        if row.fault:
            raise ListingFailed(place=row.place, fault=row.fault, reason=row.reason)
    return sorted(
        {ListedFile(place=row.place, size=row.size, modified_s=row.modified_s) for row in rows}
    )


def _list(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(_LISTED)
    for batch in batches:
        for place in batch.column("place").to_pylist():
            rows = [*listed_rows(place)]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)


def listed_rows(place: str) -> Iterator[dict[str, object]]:
    """The rows of `list_stores` for a URI: a row per file, or one with the fault."""
    uri = store_uri(place)
    assert uri is not None, "only URIs of stores are listed"  # noqa: S101
    try:
        store = opened(uri)
    except (OSError, ImportError, pa.ArrowException, ValueError) as error:
        yield {"place": place, "fault": "unopened", "reason": shown(error, os.environ)}
        return
    head = uri.head
    try:
        found = find_files(store, head, uri.key.rstrip("/"))
    except (OSError, pa.ArrowException) as error:
        reason = shown(error, os.environ)
        yield {
            "place": place,
            "fault": "denied" if _DENIED.search(reason) else "failed",
            "reason": reason,
        }
        return
    if found is None:
        yield {"place": place, "fault": "missing", "reason": _absence(store, head.rstrip("/"))}
        return
    for info in found:
        yield {
            "place": uri.root + info.path[len(head) :],
            "size": info.size,
            "modified_s": modified_second(info),
        }


def _absence(store: fs.FileSystem, bucket: str) -> str:
    is_there = not bucket or store.get_file_info([bucket])[0].type is not fs.FileType.NotFound
    return "no file or folder is there" if is_there else f"there is no bucket {bucket}"


def find_files(store: fs.FileSystem, head: str, pattern: str) -> list[fs.FileInfo] | None:
    """The files that match a pattern below `head`, or are below a folder that does.

    None if nothing matches. `head`: a path with a slash at its end, or none. Raises `OSError`.
    """
    found = [_matching(store, head, one) for one in expand(pattern)]
    if all(one is None for one in found):
        return None
    return [info for one in found for info in one or ()]


def _matching(store: fs.FileSystem, head: str, pattern: str) -> list[fs.FileInfo] | None:
    parts = pattern.split("/")
    count = next((i for i, part in enumerate(parts) if _GLOB.search(part)), len(parts))
    base = head + "/".join(_plain(part) for part in parts[:count])
    (info,) = store.get_file_info([base.rstrip("/")])
    if info.type is fs.FileType.File:
        if count < len(parts):
            return None
        return [info] if _is_listed(info) else []
    if info.type is fs.FileType.NotFound and pattern:
        return None
    infos = store.get_file_info(fs.FileSelector(base.rstrip("/"), recursive=True))
    wanted = [_matcher(part) for part in parts[count:]]
    start = len(base.rstrip("/")) + 1
    matches, any_matches = [], not wanted
    for info in infos:
        names = info.path[start:].split("/")
        is_match = len(names) >= len(wanted) and all(
            one.fullmatch(name) for one, name in zip(wanted, names, strict=False)
        )
        any_matches = any_matches or is_match
        if is_match and _is_listed(info) and not _is_below_hidden(names[len(wanted) : -1]):
            matches.append(info)
    return matches if any_matches else None


def _is_listed(info: fs.FileInfo) -> bool:
    """Whether Spark lists this if it is asked for it by its path."""
    if info.type is not fs.FileType.File or not info.size:
        return False
    return not is_left_out(info.base_name, is_folder=False)


def _is_below_hidden(folders: Sequence[str]) -> bool:
    return any(is_left_out(name, is_folder=True) for name in folders)


def _plain(part: str) -> str:
    return re.sub(r"\\(.)", r"\1", part)


def _matcher(part: str) -> re.Pattern[str]:
    r"""The names that a part of a pattern matches.

    >>> [bool(_matcher(r"a*[^0-3]\*").fullmatch(name)) for name in ("axx4*", "a1*", "a4b")]
    [True, False, False]
    """
    found, at = "", 0
    while at < len(part):
        mark = part[at]
        end = part.find("]", at + 2) if mark == "[" else -1
        if mark == "\\" and at + 1 < len(part):
            at += 1
            found += re.escape(part[at])
        elif end > 0:
            inside = part[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            found += f"[{'^' + inside[1:] if inside[0] in '^!' else inside}]"
            at = end
        else:
            found += {"*": "[^/]*", "?": "[^/]"}.get(mark) or re.escape(mark)
        at += 1
    return re.compile(found, re.DOTALL)


def expand(pattern: str) -> list[str]:
    r"""The patterns without braces.

    >>> expand("a{b,c{1,2}}/d"), expand(r"a\{b,c}")
    (['ab/d', 'ac1/d', 'ac2/d'], ['a\\{b,c}'])
    """
    opening = re.search(r"(?<!\\)\{", pattern)
    if opening is None:
        return [pattern]
    depth, start, choices = 0, opening.end(), []
    for at in range(opening.start(), len(pattern)):
        mark = "" if pattern[at - 1 : at] == "\\" else pattern[at]
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if (mark == "," and depth == 1) or (mark == "}" and depth == 0):
            choices.append(pattern[start:at])
            start = at + 1
        if mark == "}" and depth == 0:
            front, rest = pattern[: opening.start()], pattern[at + 1 :]
            return [one for each in choices for one in expand(f"{front}{each}{rest}")]
    return [pattern]
