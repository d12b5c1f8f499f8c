"""Writes files atomically, and formats CSV and gzip.

Goals, in order: a reader sees the old file or the new one, never a part; a file is on the disk when
the function returns; the same content gives the same bytes.

The content is written to a hidden file in the same folder, synced and renamed; then the folder is
synced. The mode is 0666 without the bits of the caller's umask. A symbolic link is followed.

The name of the hidden file is random, and the file must not exist. In a folder that others may
write to, such as `/tmp`, nobody can prepare that file: a file of another user would be published
with his owner and his mode, a link would be written through, and a pipe would block.

```
/tmp/plan.json   <- rename -   /tmp/.plan.json.9f86d081884c7d65.unfinished   (O_EXCL, O_NOFOLLOW)
```

CSV: every cell is quoted. A text that a spreadsheet would read as a formula (it begins with
`= + - @`, TAB or CR) gets a `'` in front; numbers stay numbers. gzip: the header has no name and no
time.

A path that exists and is no regular file (a folder, a pipe, a device) is rejected. So is the file
of standard output or standard error: after the rename, the output would go to a file without a
name.

What this does not do: create folders for a single file; lock (see `publishing`); remove the hidden
file of a process that was killed: it may belong to a process that runs.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
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
"""Errors that the given path causes; all others are errors of the disk."""

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


def write_text(path: str | Path, text: str) -> None:
    """`write_bytes` of the text as UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file atomically.

    Raises `InvalidConfig` if the path cannot be written, `WorldError` if the disk fails.
    """
    name = os.fspath(path)
    try:
        _check_place(name)
        place = Path(os.path.realpath(path))
        beside = unfinished_name(place)
        write_synced(beside, data)
        try:
            beside.rename(place)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        sync_folder(place.parent)
    except OSError as cause:
        raise not_written(name, cause) from None


def check_places(paths: Iterable[str | Path | None]) -> None:
    """Check before long work that all of these files can be written; None is skipped.

    Raises `InvalidConfig`, `WorldError`, as `write_bytes` would.
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
    """Raises `InvalidConfig` for a path that must not be replaced, and `OSError`."""
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
    """The files of standard output and standard error, if they are open."""
    for descriptor in (1, 2):
        with suppress(OSError):
            yield os.fstat(descriptor)


def unfinished_name(place: Path) -> Path:
    """A hidden name in the same folder that nobody can foresee."""
    return place.with_name(f".{place.name[:200]}.{secrets.token_hex(8)}.unfinished")


def write_synced(path: Path, data: bytes) -> None:
    """Create a file, and sync it to the disk; if that fails, there is no file.

    Raises `OSError`; `FileExistsError` if the name exists, and what has it is not touched.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def not_written(name: str, cause: OSError) -> RackwiseError:
    """The error for a path that could not be written, because of the path or of the disk."""
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
    """The data as gzip. Equal data gives equal bytes on every machine."""
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

    So None differs from an empty text.

    >>> csv_text(["a", "b", "c"], [[1, "=2+3", None], ["", 'x"y', 0]])
    '"a","b","c"\n"1","\'=2+3",\n"","x""y","0"\n'
    """
    out = io.StringIO(newline="")
    out.writelines(_csv_lines(columns, rows))
    return out.getvalue()


def csv_data(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """The bytes of `csv_text` in UTF-8. Keeps one copy of the table in memory."""
    out = io.BytesIO()
    out.writelines(line.encode() for line in _csv_lines(columns, rows))
    return out.getvalue()


def _csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield _csv_line(columns)
    yield from map(_csv_line, rows)


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
