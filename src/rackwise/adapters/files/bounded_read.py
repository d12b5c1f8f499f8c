"""Reads a complete file of limited size, and decompresses gzip.

Goals, in order: only regular files are read (a pipe would block, a device has no end); memory stays
below the limit, also for a gzip bomb; errors name the file and a remedy.

A gzip file is recognised by its first bytes. If its content could exceed the limit, it is
decompressed twice: first to count the bytes, then to keep them.

Standard input is read only where a caller asks for it, with the same limit.

What this does not do: follow a growing file.
"""

from __future__ import annotations

import os
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig, RackwiseError
from rackwise.core.json.faults import Fault, Faults
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from rackwise.core.errors import InputError

MAX_BYTES = 256 * 2**20
"""The default limit, in bytes after decompression."""

GZIP = b"\x1f\x8b"
_GREATEST_RATIO = 1032
"""The greatest compression ratio of deflate."""
_SLICE = 2**13
"""Compressed bytes per step."""
_CHUNK = 2**20
"""Decompressed bytes per step."""
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
    """The content of a regular file, decompressed if it is gzip.

    Raises `InvalidConfig` for a file that does not exist, is not regular, cannot be read or is
    larger than `max_bytes` after decompression; `error` for damaged gzip data.
    """
    name = os.fspath(path)
    try:
        return _read(Path(path), name, error, max_bytes)
    except RackwiseError:  # some are ValueErrors, which here stand for a path with a NUL
        raise
    except OSError as cause:
        raise InvalidConfig(
            f"{escaped(name)} cannot be read: {cause.strerror}",
            wanted="a readable file",
            had=cause.strerror,
            hint="look at the path and its permissions",
            where=name,
        ) from None
    except ValueError as cause:
        raise InvalidConfig(
            f"{escaped(name)} is no path: {escaped(str(cause))}",
            wanted="a path",
            had=escaped(name),
            hint="a path holds no NUL",
            where=escaped(name),
        ) from None


def read_stream(stream: BinaryIO, *, name: str, max_bytes: int = MAX_BYTES) -> bytes:
    """All bytes of a stream. Raises `InvalidConfig` if there are more than `max_bytes`."""
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise _too_large(name, max_bytes, "more")
    return data


def _read(path: Path, name: str, error: type[InputError], max_bytes: int) -> bytes:
    _check_regular(path.stat(), name)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular(status, name)
        if status.st_size > max_bytes:
            raise _too_large(name, max_bytes, str(status.st_size))
        # One read reserves memory for all bytes that it may return, so it asks for no more than
        # the file has. A file that grows, or that states no size, is read on.
        data = file.read(status.st_size + 1)
        if len(data) > status.st_size:
            data += file.read(max_bytes + 1 - len(data))
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
    """Decompressed chunks of one or more gzip members; zero bytes after the last are padding."""
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
