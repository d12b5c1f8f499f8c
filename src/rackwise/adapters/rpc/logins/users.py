"""The file of SCRAM users, read again when it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.rpc.logins.changing_file import ChangingFile
from rackwise.adapters.secret_files import read_secret
from rackwise.core.sasl.scram_credentials import MOST_BYTES, ScramUsers, parse_scram_users

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def scram_file(path: Path, tell: Callable[..., None]) -> ChangingFile[ScramUsers]:
    """The users of a file that may change. Raises as `read_scram_users` does.

    `tell` writes a line of the log when the file has changed: the number of users, or the error.
    """
    return ChangingFile(
        path,
        read_scram_users,
        tell=tell,
        counted=lambda users: {"users": len({user for _, user in users.entries})},
        merged=lambda new, last: new.like(last),
    )
