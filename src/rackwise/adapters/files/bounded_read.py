"""Reading a file whole, within a cap, gzip unpacked.

Goals, in order: nothing but a regular file is opened for reading (a pipe would hang, a device has
no end); nothing over the cap is held in memory, a gzip bomb neither; the error names the file and
says what to do.

A gzip file is recognised by its first bytes. Where its packed size could unpack to more than the
cap, it is unpacked twice: once to count, keeping nothing, once to keep.

What this does not do: read standard input; follow a growing file.
"""

from __future__ import annotations

import os
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig
from rackwise.core.json.faults import Fault, Faults
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.errors import InputError

MAX_BYTES = 256 * 2**20
"""The cap where none is given, in bytes after unpacking."""

GZIP = b"\x1f\x8b"
_GREATEST_RATIO = 1032
"""Deflate cannot do better."""
_SLICE = 2**13
"""Packed bytes taken at once."""
_CHUNK = 2**20
"""Unpacked bytes held at once."""
_WINDOW = 31
"""zlib: the largest window, with a gzip header."""

_KINDS = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "FIFO"),
    (stat.S_ISCHR, "character device"),
    (stat.S_ISBLK, "block device"),
    (stat.S_ISSOCK, "socket"),
)


def read_bytes(path: str | Path, *, error: type[InputError], max_bytes: int = MAX_BYTES) -> bytes:
    """The content of a regular file, unpacked if it is gzip.

    Raises `InvalidConfig` where there is no such file, it is no regular file, cannot be read or is
    larger than `max_bytes` after unpacking; `error` where its gzip is damaged.
    """
    name = os.fspath(path)
    try:
        return _read(Path(path), name, error, max_bytes)
    except OSError as cause:
        raise InvalidConfig(
            f"{escaped(name)} cannot be read: {cause.strerror}",
            wanted="a readable file",
            had=cause.strerror,
            hint="look at the path and its permissions",
            where=name,
        ) from None
    except ValueError as cause:
        if isinstance(cause, InvalidConfig | error):
            raise
        raise InvalidConfig(
            f"{escaped(name)} is no path: {escaped(str(cause))}",
            wanted="a path",
            had=escaped(name),
            hint="a path holds no NUL",
            where=escaped(name),
        ) from None


def _read(path: Path, name: str, error: type[InputError], max_bytes: int) -> bytes:
    _check_regular(path.stat(), name)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular(status, name)
        if status.st_size > max_bytes:
            raise _too_large(name, max_bytes, str(status.st_size))
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise _too_large(name, max_bytes, "more")
    if data.startswith(GZIP):
        return _unpacked(data, name, error, max_bytes)
    if path.suffix == ".gz":
        raise Faults(name, error).last(
            Fault(
                place="",
                sentence="expected gzip data, as the name ends with .gz, got something else",
                wanted=GZIP.hex(" "),
                had=data[:2].hex(" "),
                hint="rename it, or pack it with gzip",
            )
        )
    return data


def _check_regular(status: os.stat_result, name: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kind = next((kind for is_it, kind in _KINDS if is_it(status.st_mode)), "special file")
    raise InvalidConfig(
        f"invalid {escaped(name)}: expected a regular file, got a {kind}",
        wanted="a regular file",
        had=kind,
        hint="give the path of a file; of a pipe, write its output to a file first",
        where=name,
    )


def _too_large(name: str, max_bytes: int, had: str) -> InvalidConfig:
    return InvalidConfig(
        f"invalid {escaped(name)}: expected at most {max_bytes} bytes, got {had}",
        wanted=max_bytes,
        had=had,
        hint="if the file is meant to be so large, raise --max-input",
        where=name,
    )


def _unpacked(data: bytes, name: str, error: type[InputError], max_bytes: int) -> bytes:
    faults = Faults(name, error)
    if len(data) * _GREATEST_RATIO > max_bytes:
        size = 0
        for chunk in _chunks(data, faults):
            size += len(chunk)
            if size > max_bytes:
                raise _too_large(name, max_bytes, "more after unpacking")
    return b"".join(_chunks(data, faults))


def _chunks(data: bytes, faults: Faults) -> Iterator[bytes]:
    """Unpacked chunks of one or more gzip members; zeros after the last one are padding."""
    start = 0
    while start < len(data):
        if start and data[start] == 0 and not data[start:].strip(b"\0"):
            return
        member = zlib.decompressobj(_WINDOW)
        while not member.eof:
            packed = member.unconsumed_tail
            if not packed:
                packed = data[start : start + _SLICE]
                start += len(packed)
            try:
                chunk = member.decompress(packed, _CHUNK)
            except zlib.error:
                raise faults.last(_damaged("wrong data or a wrong checksum")) from None
            if not packed and not chunk and not member.eof:
                raise faults.last(_damaged("the end of the file within a member"))
            yield chunk
        start -= len(member.unused_data)


def _damaged(why: str) -> Fault:
    return Fault(
        place="",
        sentence=f"expected whole gzip data, got {why}",
        wanted="whole gzip data",
        had=why,
        hint="fetch or pack the file again",
    )
