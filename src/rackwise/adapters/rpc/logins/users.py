"""The file of SCRAM users, read again when it changes.

The file is looked at when a login begins. A file that cannot be read keeps the last users, so that
an editor that is writing it locks nobody out; the log has the error.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rackwise.adapters.secret_files import read_secret
from rackwise.core.errors import RackwiseError
from rackwise.core.sasl.scram_credentials import MOST_BYTES, parse_scram_users
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwise.core.sasl.scram_credentials import ScramUsers

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

    def users(self) -> ScramUsers:
        """The users in the file, or the last ones that could be read."""
        state = self._look()
        if state != self._state:
            self._state = state
            try:
                self._users = read_scram_users(self._path)
            except RackwiseError as error:
                self._tell(type="read", error=type(error).__name__, message=escaped(str(error)))
            else:
                self._tell(type="read", users=len(self._users.entries))
        return self._users

    def _look(self) -> tuple[int, ...]:
        try:
            found = os.stat(self._path)  # noqa: PTH116 (as fast as it gets)
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode
