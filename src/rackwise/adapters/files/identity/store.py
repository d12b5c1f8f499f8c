"""The store of identities in a directory: for one host, or a small shared volume with locks.

Goals, in order: a commit of any size is one rename, so a kill never leaves half of it; a claim ends
with its process, even if the process is killed; a reader never waits.

```
DIR/state.json     all nodes; replaced under the lock: O_EXCL temporary file, fsync, rename, fsync
DIR/lock           held with flock while a commit replaces the state
DIR/claims/7.1f2e  held with flock by the process of the claim: it runs while the file is locked
DIR/clock          touched to read the time: its mtime is set by the file server, if there is one
```

An ephemeral node is part of the state and names its file under `claims`. The node exists while that
file exists and is locked. So the file is created and locked before the rename, and removed after
the next one. A reader of a claim tries a shared lock for a moment. Readers do not block each other,
and the owner has locked the file before a reader can know of it.

What this does not do: end a claim whose process forked without exec, because the child keeps the
lock; work on volumes without flock.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, final

from rackwise.adapters.files.identity.state import (
    Author,
    State,
    applied,
    format_state,
    parse_state,
)
from rackwise.adapters.files.writing import sync_folder
from rackwise.core.errors import Conflict, MissingPermission, OutcomeUnknown, Unreachable
from rackwise.core.identity.nodes.store import (
    CLOCK,
    KAFKAS,
    OURS,
    SEQUENCE,
    Create,
    Parent,
    Put,
    not_ready,
)
from rackwise.core.identity.refusals import StoreNotReady
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from rackwise.core.identity.nodes.store import Op, StoredNode

POLL_S = 0.2
"""Seconds between two reads of `wait`."""
LOCK_S = 30.0
"""A process that holds the lock for longer is considered stuck."""
LEAST_NAP_S, LONGEST_NAP_S = 0.001, 0.02
SESSION_BITS = 52
"""Every JSON reader holds integers of this size exactly."""


@final
class DirectoryStore:
    """`IdentityStore` in a directory that `make_parents` has prepared; close it.

    `read_only`: reject writes, and use the clock of this machine. Raises `StoreNotReady`,
    `StoreCorrupt`, `MissingPermission`.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self._folder = Path(path)
        self._is_read_only = read_only
        self._session = 1 + secrets.randbits(SESSION_BITS)
        self._claims: dict[str, int] = {}
        self._seen: dict[str, tuple[int, int] | None] = {}
        self._listed: dict[str, list[str]] = {}
        _ = self._state()

    @property
    def session(self) -> int:
        """The session id in the ephemeral nodes of this store."""
        return self._session

    def read(
        self, paths: Sequence[str], advance: Callable[[int], None] | None = None
    ) -> dict[str, StoredNode | None]:
        """The node of each path, None = no such node; `advance` is called with their number."""
        state = self._state()
        for path in paths:
            self._seen[path] = _last_change(state, path)
        if advance is not None:
            advance(len(paths))
        return {
            path: entry.node() if (entry := state.nodes.get(path)) is not None else None
            for path in paths
        }

    def children(self, path: str) -> list[str]:
        """Names below a node, sorted; empty if the node does not exist."""
        self._listed[path] = self._state().children(path)
        return list(self._listed[path])

    def commit(self, ops: Sequence[Op]) -> None:
        """Commit all or nothing. Raises `Conflict`; `OutcomeUnknown` if the disk fails later."""
        _ = self._commit(ops)

    def next_number(self) -> int:
        """1, 2, 3, ...; never one twice."""
        return self._commit([Put(SEQUENCE, b"")]).nodes[SEQUENCE].version

    def now_ms(self) -> int:
        """The time of the file server."""
        if self._is_read_only:
            return time.time_ns() // 1_000_000
        return self._commit([Put(CLOCK, b"")]).nodes[CLOCK].modified_ms

    def wait(self, paths: Sequence[str], timeout_ms: int) -> frozenset[str]:
        """Paths whose node or children changed since the last read; empty after the timeout."""
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            state = self._state()
            changed = frozenset(path for path in paths if self._has_changed(state, path))
            left_s = deadline - time.monotonic()
            if changed or left_s <= 0:
                return changed
            time.sleep(min(POLL_S, left_s))

    def close(self) -> None:
        """End the session, which removes its ephemeral nodes."""
        held, self._claims = self._claims, {}
        for name, descriptor in held.items():
            with suppress(OSError):
                (self._folder / "claims" / name).unlink()
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _has_changed(self, state: State, path: str) -> bool:
        """Whether a path has changed since it was read or first waited for. Reported once."""
        now = _last_change(state, path)
        has_changed = self._seen.get(path, now) != now
        self._seen[path] = now
        if path in self._listed:
            listed = state.children(path)
            has_changed = has_changed or listed != self._listed[path]
            self._listed[path] = listed
        return has_changed

    def _state(self) -> State:
        """The state without the ephemeral nodes whose process has ended."""
        with _translated(self._folder, "read"):
            data = (self._folder / "state.json").read_bytes()
            state = parse_state(data, where=str(self._folder / "state.json"))
            nodes = {
                path: entry
                for path, entry in state.nodes.items()
                if entry.claim is None or self._is_alive(entry.claim)
            }
        return State(number=state.number, nodes=nodes)

    def _is_alive(self, name: str) -> bool:
        try:
            descriptor = os.open(self._folder / "claims" / name, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return False
        except PermissionError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _commit(self, ops: Sequence[Op]) -> State:
        if self._is_read_only:
            raise MissingPermission(
                "expected a store opened for writing, got one opened for reading",
                wanted="for writing",
                had="for reading",
                hint="open it without read_only",
            )
        with _translated(self._folder, "written"), _locked(self._folder):
            author = Author(
                session=self._session,
                nonce=f"{self._session:013x}",
                now_ms=_touched_ms(self._folder / "clock"),
            )
            after = applied(self._state(), ops, author)
            self._publish(after, [op for op in ops if isinstance(op, Create) and op.ephemeral])
        return after

    def _publish(self, after: State, ephemeral: Sequence[Create]) -> None:
        """Lock the new claims, replace the state, remove the files of claims that are gone."""
        named = {entry.claim for entry in after.nodes.values() if entry.claim is not None}
        new = [
            entry.claim
            for op in ephemeral
            if (entry := after.nodes.get(op.path)) is not None and entry.claim is not None
        ]
        try:
            for name in new:
                self._claims[name] = _new_claim(self._folder / "claims" / name)
            _replace(self._folder, after)
        except BaseException:
            self._drop(new)
            raise
        try:
            sync_folder(self._folder)
        except OSError as error:
            raise OutcomeUnknown(
                f"cannot write {escaped(str(self._folder))} to the disk: {error.strerror}",
                wanted="on the disk",
                had=error.strerror,
                hint="gather again and look",
            ) from None
        with suppress(OSError):  # the commit is done; the next one removes what is left
            files = [each.name for each in (self._folder / "claims").iterdir()]
            self._drop([name for name in files if name not in named])

    def _drop(self, names: Sequence[str]) -> None:
        for name in names:
            with suppress(OSError):
                (self._folder / "claims" / name).unlink()
            if name in self._claims:
                os.close(self._claims.pop(name))


def check_parents(path: str | Path) -> tuple[Parent, ...]:
    """Which required nodes exist; writes nothing."""
    try:
        with DirectoryStore(path, read_only=True) as store:
            found = store.read((*KAFKAS, *OURS))
    except StoreNotReady:
        found = dict.fromkeys((*KAFKAS, *OURS))
    return tuple(
        Parent(path=each, state="missing" if node is None else "present")
        for each, node in found.items()
    )


def make_parents(path: str | Path) -> tuple[Parent, ...]:
    """Create the directory and the missing nodes."""
    folder = Path(path)
    missing = {each.path for each in check_parents(folder) if each.state == "missing"}
    if missing:
        with _translated(folder, "written"):
            (folder / "claims").mkdir(parents=True, exist_ok=True)
            with _locked(folder):
                if not (folder / "state.json").exists():
                    _replace(folder, State(number=0, nodes={}))
                    sync_folder(folder)
        with DirectoryStore(folder) as store, suppress(Conflict):
            store.commit([Create(each, b"") for each in (*KAFKAS, *OURS) if each in missing])
    return tuple(
        Parent(path=each.path, state="made" if each.path in missing else each.state)
        for each in check_parents(folder)
    )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of writers. Raises `Unreachable` if another process holds it for `LOCK_S`."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        deadline, nap_s = time.monotonic() + LOCK_S, LEAST_NAP_S
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise Unreachable(
                    f"expected the lock of {escaped(str(folder))} within {LOCK_S:.0f} s, but "
                    "another process holds it",
                    wanted="the lock",
                    had="held",
                    hint="look for a process that hangs: lsof, fuser",
                    where=str(folder / "lock"),
                )
            time.sleep(nap_s)
            nap_s = min(2 * nap_s, LONGEST_NAP_S)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _new_claim(path: Path) -> int:
    """Create a locked file. The state does not name it yet, so no reader has seen it unlocked."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _replace(folder: Path, state: State) -> None:
    temporary = folder / "state.json.tmp"
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
        file.write(format_state(state))
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(folder / "state.json")


def _touched_ms(path: Path) -> int:
    path.touch()
    os.utime(path)
    return path.stat().st_mtime_ns // 1_000_000


def _last_change(state: State, path: str) -> tuple[int, int] | None:
    entry = state.nodes.get(path)
    return None if entry is None else (entry.czxid, entry.mzxid)


@contextmanager
def _translated(folder: Path, done: str) -> Iterator[None]:
    """Translate errors of the disk into errors of Rackwise. Nothing was written then."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise not_ready(str(folder / "state.json")) from None
    except PermissionError as error:
        raise MissingPermission(
            f"{escaped(str(error.filename or folder))} cannot be {done}: {error.strerror}",
            wanted=done,
            had=error.strerror,
            hint="run as the user who owns the store's directory",
            where=str(folder),
        ) from None
    except OSError as error:
        raise Unreachable(
            f"{escaped(str(folder))} cannot be {done}: {error.strerror}",
            wanted=done,
            had=error.strerror,
            hint="look at the disk; what was there before is still there",
            where=str(folder),
        ) from None
