"""The state of runs of apply: one folder per cluster, one run at a time.

```
HOME/                        $RACKWISE_STATE, else $XDG_STATE_HOME/rackwise, else ~/.local/state/..
  5f0c9a7d21be4c11/          16 hex digits of the SHA-256 of the cluster id
    lock                     held with flock during a run; its text names the process
    PLAN-SHA256.journal      see `journal`
```

There is one lock per cluster. Its text names the plan, so that another command can tell whether
this plan or another one is executed:

```
{"command":"rollback","executes":"81c0..","file":"/ops/a.json","pid":"412","plan":"5f0c..",..}
                                  |                                              |
                       the reverse plan, whose journal it writes       the plan of the command
```

Folders have mode 0700 and files 0600. A folder that another user owns or may write to is rejected,
because its content decides what is written to a cluster. The system releases the lock when the
process ends, even if it is killed. Only messages and throttle requests depend on the text.

What this does not do: lock out other hosts. Their runs are detected by their reassignments only.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.adapters.files.writing import sync_folder
from rackwise.core.errors import InvalidConfig, JournalUnwritable, Locked
from rackwise.core.json.canonical import canonical_json
from rackwise.core.json.strict import parse
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
"""`holder` takes the lock for a shorter time than this."""
_TOLD = 32_768
"""How many bytes of the lock file are read."""
_ACTS = MappingProxyType(
    {
        "cancel": "cancelling",
        "rollback": "rolling back",
        "throttle": "setting the throttle of",
    }
)
"""Command -> what its process does with a plan; the others execute it."""
CLEARING = "throttles"
"""The command that needs no plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHolder:
    """The process that holds the lock of a cluster. None = not in the text of the lock."""

    pid: str | None = None
    since: str | None = None
    """When it began, UTC."""
    command: str | None = None
    """Its command, such as `apply`."""
    plan: str | None = None
    """SHA-256 of the plan that the command names."""
    file: str | None = None
    """Path of that plan, or of the replica lists that it was made from."""
    executes: str | None = None
    """SHA-256 of the plan whose journal it writes: that plan, or the one that undoes it."""

    def runs(self, *plans: str) -> bool:
        """Whether it executes one of these plans; true if the text names no plan."""
        is_unknown = self.plan is None and self.command != CLEARING
        return is_unknown or not {self.plan, self.executes}.isdisjoint(plans)

    def does(self, *plans: str) -> str:
        """What it does, safe to print: `executing another plan (/ops/b.json, 81c0f2aa9e07)`.

        `plans`: those that the reader calls "this plan"; none if the reader has no plan yet.
        """
        if self == LockHolder():
            return "executing a plan"
        if self.command == CLEARING:
            return "clearing the throttles of earlier runs"
        named = escaped(", ".join(filter(None, [self.file, (self.plan or "")[:12]])))
        if self.plan is None or not plans:
            plan = f"the plan ({named})" if named else "a plan"
        else:
            plan = "this plan" if self.runs(*plans) else f"another plan ({named})"
        return f"{_ACTS.get(self.command or '', 'executing')} {plan}"

    @property
    def process(self) -> str:
        """Its id, safe to print."""
        return escaped(self.pid or "unknown")

    @property
    def began(self) -> str:
        """When it began, safe to print."""
        return escaped(self.since or "unknown")


class RunLock:
    """The lock of a cluster while this process holds it; made by `locked`."""

    def __init__(self, path: Path, descriptor: int, holder: LockHolder) -> None:
        self._path = path
        self._descriptor = descriptor
        self._holder = holder

    def write(self, *, plan: str | None = None, executes: str | None = None) -> None:
        """Name the plan, or what is executed in its place. Raises `JournalUnwritable`."""
        plan = plan or self._holder.plan
        self._holder = replace(self._holder, plan=plan, executes=executes or plan)
        named = {key: value for key, value in asdict(self._holder).items() if value is not None}
        text = f"{canonical_json(named)}\n".encode()
        try:
            os.pwrite(self._descriptor, text, 0)
            os.ftruncate(self._descriptor, len(text))
        except OSError as cause:
            raise unwritable(self._path, cause.strerror or str(cause)) from None


def state_home(environment: Mapping[str, str]) -> Path:
    """The folder of all clusters. It may not exist."""
    own = environment.get(STATE)
    if own:
        return Path(own).absolute()
    home = Path(environment["HOME"]) if "HOME" in environment else Path.home()
    states = environment.get("XDG_STATE_HOME") or home / ".local" / "state"
    return (Path(states) / "rackwise").absolute()


def cluster_folder(home: Path, cluster_id: str) -> Path:
    """The folder of one cluster. It may not exist."""
    return home / hashlib.sha256(cluster_id.encode()).hexdigest()[:16]


def made_folder(home: Path, cluster_id: str) -> Path:
    """The folder of one cluster, created if it is missing. Raises `JournalUnwritable`."""
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
def locked(
    folder: Path, *, since: str, command: str, plan: str | None = None, file: Path | None = None
) -> Iterator[RunLock]:
    """Hold the lock of the cluster, and describe this process in its text.

    `since`: the time now; `command`: the command of this process; `plan`: the SHA-256 of its plan,
    if it is known already; `file`: the path of that plan. Raises `Locked` with the process that
    holds the lock, `JournalUnwritable`.
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
            raise lock_error(folder, _read_holder(descriptor), *filter(None, [plan])) from None
        with suppress(OSError):  # the text of a process that was killed
            os.ftruncate(descriptor, 0)
        lock = RunLock(
            path,
            descriptor,
            LockHolder(pid=str(os.getpid()), since=since, command=command, file=_path_text(file)),
        )
        lock.write(plan=plan)
        yield lock
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> None:
    """Take the lock. Try twice: a call of `holder` in another process takes it for a moment."""
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    time.sleep(_ASKED_S)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def holder(folder: Path) -> LockHolder | None:
    """The process that holds the lock of the cluster; None if it is free."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_holder(descriptor)
    finally:
        os.close(descriptor)
    return None


def _read_holder(descriptor: int) -> LockHolder:
    """Parse the text of a lock; a text that is not complete yet gives no fields."""
    text = os.pread(descriptor, _TOLD, 0).partition(b"\n")[0]
    try:
        document = parse(text, where=LOCK, error=InvalidConfig)
    except InvalidConfig:
        return LockHolder()
    if not isinstance(document, dict):
        return LockHolder()
    named = {each.name: document.get(each.name) for each in fields(LockHolder)}
    return LockHolder(**{key: value for key, value in named.items() if isinstance(value, str)})


def _path_text(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute()).encode(errors="replace").decode()


def unwritable(path: Path, why: str, *, has_lines: bool = False) -> JournalUnwritable:
    """The error for a place where no journal can be written.

    `has_lines`: the journal of a run is there, and in another folder the run could not be resumed.
    """
    onward = f"keep {STATE} as it is" if has_lines else f"or set {STATE} to another folder"
    return JournalUnwritable(
        f"cannot keep a journal at {escaped(str(path))}: {escaped(why)}",
        wanted="a folder of yours that can be written to",
        had=why,
        hint=f"free space on the disk or mend the permissions of the folder, {onward}",
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


def lock_error(folder: Path, running: LockHolder, *plans: str) -> Locked:
    """The error for a lock that is held; `plans`: the plans that the caller wants to execute."""
    what = f"process {running.process}, which has been {running.does(*plans)} since {running.began}"
    return Locked(
        f"expected no other run on this cluster, got {what}",
        wanted="no other run",
        had=what,
        hint="wait until it ends; a process that is gone holds no lock",
        where=str(folder / LOCK),
    )
