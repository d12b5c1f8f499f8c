"""The state of runs of apply: one folder per cluster, one run at a time.

```
HOME/                        $RACKWISE_STATE, else $XDG_STATE_HOME/rackwise, else ~/.local/state/..
  5f0c9a7d21be4c11/          16 hex digits of the SHA-256 of the cluster id
    lock                     flock for the life of a run; its text names who holds it
    PLAN-SHA256.journal      see `journal`
```

Folders are 0700 and files 0600. A folder that somebody else owns, or that others may write to, is
refused: what stands in it decides what is written to a cluster. The lock goes with its process,
however that ends; the text in the file is for people.

What this does not do: keep two hosts apart. A second host is seen by its reassignments alone.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.adapters.files.writing import sync_folder
from rackwise.core.errors import JournalUnwritable, Locked
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STATE = "RACKWISE_STATE"
"""The variable that moves the folder of all clusters."""
LOCK = "lock"
MODE_FOLDER = 0o700
MODE_FILE = 0o600

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ASKED_S = 0.1
"""Who asks for the holder of a lock has let it go after this time."""
_TOLD = 200
"""Bytes of the lock file that are read back."""


def state_home(environment: Mapping[str, str]) -> Path:
    """The folder of all clusters, which need not exist."""
    own = environment.get(STATE)
    if own:
        return Path(own).absolute()
    home = Path(environment["HOME"]) if "HOME" in environment else Path.home()
    states = environment.get("XDG_STATE_HOME") or home / ".local" / "state"
    return (Path(states) / "rackwise").absolute()


def cluster_folder(home: Path, cluster_id: str) -> Path:
    """The folder of one cluster, which need not exist."""
    return home / hashlib.sha256(cluster_id.encode()).hexdigest()[:16]


def made_folder(home: Path, cluster_id: str) -> Path:
    """The same, made where it was missing. Raises `JournalUnwritable`."""
    folder = cluster_folder(home, cluster_id)
    try:
        home.mkdir(mode=MODE_FOLDER, parents=True, exist_ok=True)
        folder.mkdir(mode=MODE_FOLDER, exist_ok=True)
        for each in (home, folder):
            _check_ours(each)
        sync_folder(home)
    except OSError as cause:
        raise unwritable(folder, cause.strerror or str(cause)) from None
    return folder


@contextmanager
def locked(folder: Path, *, since: str) -> Iterator[None]:
    """Hold the cluster's lock. `since`: the time now, for who finds it held.

    Raises `Locked` with the process that has it, `JournalUnwritable`.
    """
    path = folder / LOCK
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, MODE_FILE)
    except OSError as cause:
        raise unwritable(path, cause.strerror or str(cause)) from None
    try:
        try:
            _take(descriptor)
        except BlockingIOError:
            raise _held(path, os.pread(descriptor, _TOLD, 0).decode(errors="replace")) from None
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {since}\n".encode(), 0)
        except OSError as cause:
            raise unwritable(path, cause.strerror or str(cause)) from None
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> None:
    """The lock, though somebody who asks for its `holder` has it for a moment."""
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    time.sleep(_ASKED_S)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def holder(folder: Path) -> tuple[str, str] | None:
    """The process that holds the cluster's lock, and since when; None where nobody does."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(descriptor, _TOLD, 0).decode(errors="replace")
        pid, _, since = text.strip().partition(" ")
        return pid or "unknown", since or "unknown"
    finally:
        os.close(descriptor)
    return None


def unwritable(path: Path, why: str) -> JournalUnwritable:
    """The refusal for a place where no journal can be kept."""
    return JournalUnwritable(
        f"cannot keep a journal at {escaped(str(path))}: {escaped(why)}",
        wanted="a folder of yours that can be written to",
        had=why,
        hint=f"free the disk or mend its permissions, or set {STATE} to another folder",
        where=str(path),
    )


def _check_ours(folder: Path) -> None:
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise unwritable(folder, "it is no folder")
    if status.st_uid != os.geteuid():
        raise unwritable(folder, f"user {status.st_uid} owns it")
    if status.st_mode & _OTHERS_MAY_WRITE:
        raise unwritable(folder, "others may write to it")


def _held(path: Path, text: str) -> Locked:
    pid, _, since = text.strip().partition(" ")
    return Locked(
        f"expected no other run on this cluster, got process {escaped(pid) or 'unknown'}, running "
        f"since {escaped(since) or 'unknown'}",
        wanted="no other run",
        had=text.strip(),
        hint="wait until it ends; a process that is gone holds no lock",
        where=str(path),
    )
