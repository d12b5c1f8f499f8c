"""Log dirs: reads the id on each, and writes the id that a start took.

Goals, in order: an unreadable file is never treated as an absent one; after a crash at any point a
dir has a whole `meta.properties` or none; nothing that exists is overwritten.

Reading opens regular files only. A symbolic link, a FIFO or a device is a problem of that dir. So
is a file of more than 64 KiB, which is not read further. A dir that does not exist counts as empty,
because Kafka creates it.

Writing, for each dir without a file:

```
unlink meta.properties.tmp   open O_EXCL|O_NOFOLLOW   write   fsync   check()   rename   fsync dir
```

A file of version 0 without an id is completed in the same way and keeps its other fields. Kafka
would complete it too, but with an id of its own.

`check` is the caller's last check of its claim, right before each rename. If it raises, the files
of this run are removed again. A dir that fails does not stop the other dirs. The file gets the
owner and group of its dir, and the mode of the dir without the execute bits.

What this does not do: interpret the files; hold the claim. A window remains between `check` and the
rename. Kafka itself rejects a broker that registers under a taken id.

Source: org.apache.kafka.metadata.properties.MetaPropertiesEnsemble, KIP-858.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.core.errors import RackwiseError
from rackwise.core.identity.model import LocalLogDir, Mode
from rackwise.core.identity.nodes.meta import META, format_directory_id, format_meta, parse_meta
from rackwise.core.identity.refusals import MetaUnreadable, MetaWriteFailed
from rackwise.core.java_properties import MAX_BYTES
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rackwise.core.identity.model import MetaProperties

TEMPORARY = f"{META}.tmp"

_PARTITION = re.compile(r"[a-zA-Z0-9._-]{1,249}-[0-9]{1,10}")
_KINDS = (
    (stat.S_ISLNK, "symbolic link"),
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "FIFO"),
    (stat.S_ISSOCK, "socket"),
)
_NO_EXECUTE = 0o666
_DIRECTORY_BYTES = 16


def read_log_dirs(paths: Iterable[str]) -> tuple[LocalLogDir, ...]:
    """Read each log dir, in the order given. Never raises for their content."""
    return tuple(map(_read, paths))


def write_metas(
    log_dirs: Sequence[LocalLogDir],
    meta: MetaProperties,
    *,
    check: Callable[[], None],
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> tuple[str, ...]:
    """Write a `meta.properties` to each dir that lacks the id; return the paths that got one.

    Dirs with a problem are skipped. In version 1 each file gets a new directory.id. Raises
    `MetaWriteFailed` with every dir that failed, after all were tried. An exception of `check` is
    raised after the files of this run are removed.
    """
    mode = Mode.ZOOKEEPER if meta.version == 0 else Mode.KRAFT
    wanted = [each for each in log_dirs if each.lacks_id(mode)]
    taken = {each.meta.directory_id for each in log_dirs if each.meta}
    done: list[str] = []
    failed: list[tuple[str, str]] = []
    for log_dir in wanted:
        path = log_dir.path
        own = meta if log_dir.meta is None else _complete(log_dir.meta, meta)
        if meta.version > 0:
            own = replace(meta, directory_id=_fresh_directory_id(taken, random_bytes))
            taken.add(own.directory_id)
        try:
            _write(path, format_meta(own), check, before=log_dir.meta)
        except OSError as error:
            failed.append((path, _errno_name(error)))
        except RackwiseError:
            remove_metas(done)
            raise
        else:
            done.append(path)
    if failed:
        raise _write_error(done, failed)
    return tuple(done)


def _complete(before: MetaProperties, meta: MetaProperties) -> MetaProperties:
    cluster_id = meta.cluster_id if before.cluster_id is None else before.cluster_id
    return replace(before, broker_id=meta.broker_id, cluster_id=cluster_id)


def remove_metas(paths: Iterable[str]) -> tuple[str, ...]:
    """Remove the file of each dir without partitions; return the paths that lost one."""
    removed = []
    for path in paths:
        with suppress(OSError):
            if not _partitions(path):
                (Path(path) / META).unlink()
                removed.append(path)
                _sync(path)
    return tuple(removed)


def _read(path: str) -> LocalLogDir:
    try:
        partitions = _partitions(path)
    except FileNotFoundError:
        return LocalLogDir(path=path)
    except (OSError, ValueError) as error:
        return LocalLogDir(path=path, problem=_problem("a readable dir", _errno_name(error)))
    try:
        data = _content(f"{path}/{META}")
        meta = None if data is None else parse_meta(data)
    except MetaUnreadable as error:
        return LocalLogDir(path=path, problem=error.message, partitions=partitions)
    except OSError as error:
        problem = _problem("a readable file", _errno_name(error))
        return LocalLogDir(path=path, problem=problem, partitions=partitions)
    return LocalLogDir(path=path, meta=meta, partitions=partitions)


def _partitions(path: str) -> frozenset[str]:
    """Return the partition directories, without those that Kafka deletes or fills."""
    with os.scandir(path) as entries:
        return frozenset(
            entry.name for entry in entries if _PARTITION.fullmatch(entry.name) and entry.is_dir()
        )


def _content(path: str) -> bytes | None:
    """Read a regular file up to one byte over the limit; None = there is no file."""
    try:
        _check_regular(os.lstat(path))
    except FileNotFoundError:
        return None
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        _check_regular(status)
        if status.st_size > MAX_BYTES:
            raise _unreadable(f"a file of at most {MAX_BYTES} bytes", f"one of {status.st_size}")
        return file.read(MAX_BYTES + 1)


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((kind for is_it, kind in _KINDS if is_it(status.st_mode)), "device")
        raise _unreadable("a regular file", f"a {kind}")


def _problem(wanted: str, had: str) -> str:
    return f"expected {wanted}, got {had}"


def _unreadable(wanted: str, had: str) -> MetaUnreadable:
    return MetaUnreadable(_problem(wanted, had), wanted=wanted, had=had)


def _errno_name(error: OSError | ValueError) -> str:
    """Return the name of the error in C, such as ENOSPC."""
    number = error.errno if isinstance(error, OSError) else errno.EINVAL
    return errno.errorcode.get(number or 0, "an unknown error")


def _fresh_directory_id(taken: set[str | None], random_bytes: Callable[[int], bytes]) -> str:
    while True:
        drawn = format_directory_id(random_bytes(_DIRECTORY_BYTES))
        if drawn is not None and drawn not in taken:
            return drawn


def _write(
    path: str, data: bytes, check: Callable[[], None], *, before: MetaProperties | None
) -> None:
    """Write one dir, whose file said `before`; None = there was no file.

    Raises `OSError` and what `check` raises; then no file of this run is left in the dir.
    """
    Path(path).mkdir(parents=True, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(FileNotFoundError):
            os.unlink(TEMPORARY, dir_fd=folder)
        try:
            _write_temporary(folder, data)
            check()
            _rename(folder, None if before is None else (path, before))
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(TEMPORARY, dir_fd=folder)
            raise
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_temporary(folder: int, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(TEMPORARY, flags, 0o600, dir_fd=folder), "wb") as file:
        of_folder = os.fstat(folder)
        with suppress(PermissionError):  # only root gives a file away; else it is the broker's user
            os.fchown(file.fileno(), of_folder.st_uid, of_folder.st_gid)
        os.fchmod(file.fileno(), of_folder.st_mode & _NO_EXECUTE)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _rename(folder: int, instead_of: tuple[str, MetaProperties] | None) -> None:
    """Move the file into place if nothing is there, or what that path said when it was read."""
    with suppress(FileNotFoundError):
        os.stat(META, dir_fd=folder, follow_symlinks=False)
        if instead_of is None or _read(instead_of[0]).meta != instead_of[1]:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(TEMPORARY, META, src_dir_fd=folder, dst_dir_fd=folder)


def _sync(path: str) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_error(done: Sequence[str], failed: Sequence[tuple[str, str]]) -> MetaWriteFailed:
    reasons = ", ".join(f"{why} in {escaped(path)}" for path, why in failed)
    wanted = counted(len(done) + len(failed), "log dir")
    return MetaWriteFailed(
        f"expected {META} in {wanted}, wrote {len(done)}: {reasons}", done=done, failed=failed
    )
