"""Writing a file whole or not at all, and the two texts that need care: CSV and gzip.

Goals, in order: a reader sees the old file or the new one, never a part; what is announced as
written is on the disk; the same content gives the same bytes.

A file is written beside its place under a hidden name, synced, renamed over it, and the folder is
synced. Its mode is what the caller's umask leaves of 0666; a link is followed, so that it stays
one.

CSV: every cell is quoted, and a text that a spreadsheet would take for a formula (it begins with
`= + - @`, TAB or CR) gets a `'` in front; numbers stay numbers. gzip: no name and no time in the
header.

What is there and no regular file (a folder, a pipe, a device) is refused, and so is the file that
standard output or standard error goes to: a new file in its place would leave them writing into
nothing.

What this does not do: create folders for a single file; lock (see `publishing`).
"""

from __future__ import annotations

import errno
import io
import os
import stat
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig, RackwiseError, WorldError
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet compute a cell."""

_CALLERS = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR}
    | {errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
)
"""What a path given by the caller is at fault for; anything else the disk is."""

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


def write_text(path: str | Path, text: str) -> None:
    """`write_bytes` of the text as UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Put a file in its place, whole or not at all.

    Raises `InvalidConfig` where the path cannot be written, `WorldError` where the disk fails.
    """
    name = os.fspath(path)
    try:
        _check_place(name)
        place = Path(os.path.realpath(path))
        beside = _beside(place)
        try:
            write_synced(beside, data)
            beside.rename(place)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        sync_folder(place.parent)
    except OSError as cause:
        raise not_written(name, cause) from None


def check_places(paths: Iterable[str | Path | None]) -> None:
    """Refuse now what could not be written after long work, and before any of them is written.

    None is no file. Raises `InvalidConfig`, `WorldError`, as `write_bytes` would.
    """
    for name in (os.fspath(path) for path in paths if path is not None):
        try:
            _check_place(name)
            folder = Path(os.path.realpath(name)).parent
            os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as cause:
            raise not_written(name, cause) from None


def _check_place(name: str) -> None:
    """Refuse what no file may be renamed over: `InvalidConfig`. Raises `OSError`."""
    try:
        status = Path(name).stat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        had, wanted = "something else", "a regular file or a new name"
    elif any(os.path.samestat(status, each) for each in _streams()):
        had, wanted = "the file that the output goes to", "another file"
    else:
        return
    raise InvalidConfig(
        f"invalid {escaped(name)}: expected {wanted}, got {had}",
        wanted="a regular file",
        had=had,
        hint="give the path of a file",
        where=name,
    )


def _streams() -> Iterator[os.stat_result]:
    """What standard output and standard error are, where they are open."""
    for descriptor in (1, 2):
        with suppress(OSError):
            yield os.fstat(descriptor)


def _beside(place: Path) -> Path:
    """A hidden name in the same folder; what a killed process left there is written over."""
    return place.with_name(f".{place.name[:200]}.{os.getpid()}.unfinished")


def write_synced(path: Path, data: bytes) -> None:
    """Write a file of one's own and wait until it is on the disk. Raises `OSError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def not_written(name: str, cause: OSError) -> RackwiseError:
    """The error for a path that could not be written: the caller's fault, or the disk's."""
    is_callers = cause.errno in _CALLERS
    return (InvalidConfig if is_callers else WorldError)(
        f"{escaped(name)} cannot be written: {cause.strerror}",
        wanted="a path that can be written",
        had=cause.strerror,
        hint="look at the folder and its permissions; nothing was changed"
        if is_callers
        else "look at the disk; what was there before is still there",
        where=name,
    )


def packed(data: bytes) -> bytes:
    """The data as gzip; equal data gives equal bytes, on any machine and at any time."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(data) + deflate.flush()
    return (
        _GZIP_HEADER
        + body
        + zlib.crc32(data).to_bytes(4, "little")
        + (len(data) % 2**32).to_bytes(4, "little")
    )


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""A CSV table with a header: LF, all cells quoted except None, which is an empty cell.

    A reader can thus tell None from an empty text.

    >>> csv_text(["a", "b", "c"], [[1, "=2+3", None], ["", 'x"y', 0]])
    '"a","b","c"\n"1","\'=2+3",\n"","x""y","0"\n'
    """
    out = io.StringIO(newline="")
    out.write(_csv_line(columns))
    for row in rows:
        out.write(_csv_line(row))
    return out.getvalue()


def _csv_line(row: Iterable[object]) -> str:
    cells = ("" if v is None else '"' + csv_cell(v).replace('"', '""') + '"' for v in row)
    return ",".join(cells) + "\n"


def csv_cell(value: object) -> str:
    """The text of a cell that no spreadsheet computes.

    >>> csv_cell("@SUM(A1)"), csv_cell(None), csv_cell(-3)
    ("'@SUM(A1)", '', '-3')
    """
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return "" if value is None else str(value)
