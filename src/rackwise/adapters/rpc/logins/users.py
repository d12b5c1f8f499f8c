"""The file of SCRAM users, read again when it changes.

The file is looked at when a login begins. A file that cannot be read keeps the last users, so that
an editor that is writing it locks nobody out; the log has the error, and the file is tried again
until it can be read: who was removed must not stay because of one failure.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from rackwise.adapters.secret_files import read_secret
from rackwise.core.errors import RackwiseError
from rackwise.core.sasl.scram_credentials import MOST_BYTES, parse_scram_users
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwise.core.sasl.scram_credentials import ScramUsers

RETRY_S = 1.0
"""The shortest time between two attempts to read a file that could not be read."""
_HINT = "make entries with rackwise scram-user NAME and give the file to --scram-users"


def read_scram_users(path: Path) -> ScramUsers:
    """The users of a file.

    Warns with `SettingsWarning` if the group may read it. Raises `InvalidConfig` for a file that
    cannot be read, `SecretExposed` for one that other users may read: who has its keys can act as
    the service, and guess passwords.
    """
    data = read_secret(
        str(path),
        what="SCRAM users",
        holds="keys of SCRAM users",
        hint=_HINT,
        max_bytes=MOST_BYTES,
    )
    return parse_scram_users(data, where=str(path))


class ScramFile:
    """The users of a file that may change. Raises as `read_scram_users` does when it is made.

    `tell` writes a line of the log when the file has changed: the number of users, or the error.
    """

    def __init__(self, path: Path, tell: Callable[..., None]) -> None:
        self._path = path
        self._tell = tell
        self._state = self._look()
        self._users = read_scram_users(self._path)
        self._retry_at = 0.0
        self._problem: str | None = None

    def users(self) -> ScramUsers:
        """The users in the file, or the last ones that could be read."""
        state = self._look()
        if state == self._state:
            self._problem = None
        elif self._problem is None or time.monotonic() >= self._retry_at:
            self._read(state)
        return self._users

    def _read(self, state: tuple[int, ...]) -> None:
        try:
            users = read_scram_users(self._path)
        except (RackwiseError, OSError) as error:
            message = escaped(str(error))
            if message != self._problem:
                self._tell(type="read", error=type(error).__name__, message=message)
            self._problem, self._retry_at = message, time.monotonic() + RETRY_S
        else:
            self._users, self._state, self._problem = users.like(self._users), state, None
            self._tell(type="read", users=len({user for _, user in users.entries}))

    def _look(self) -> tuple[int, ...]:
        try:
            found = os.stat(self._path)  # noqa: PTH116 (as fast as it gets)
        except OSError:
            return ()
        times = (found.st_mtime_ns, found.st_ctime_ns)
        return (found.st_ino, found.st_size, *times, found.st_mode, found.st_uid)
