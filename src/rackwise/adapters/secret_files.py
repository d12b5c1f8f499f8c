"""Files that hold secrets: how they are read, and which modes they may have.

| mode | files that hold a secret |
|---|---|
| 0600, 0400 | accepted |
| 0640, 0440 | accepted with a warning: Kubernetes mounts secrets so, with `fsGroup` |
| group may write, or others may do anything | rejected |

The mode is that of the open file, so no other file can take its place between check and read. The
exception is a keytab, which Kerberos opens again by its path. The warning is a `SettingsWarning`.

`check_own` is for tokens, and for files that decide who is trusted. Kubernetes projects them with
mode 0644, so others may read them. A file that group or others may write is rejected.

What this does not do: check owners, access lists, or the folders above a file.
"""

from __future__ import annotations

import os
import stat
import warnings

from rackwise.core.errors import InvalidConfig, SettingsWarning
from rackwise.core.identity.refusals import SecretExposed
from rackwise.core.text import escaped

MAX_BYTES = 1 << 20
"""The largest file that is read."""
_REJECTED = stat.S_IWGRP | stat.S_IRWXO
_WRITTEN_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def check_private(status: os.stat_result, name: str, *, holds: str) -> None:
    """Check the mode of a file with a secret; `holds` names the secret, such as `a private key`.

    Warns with `SettingsWarning`. Raises `SecretExposed`.
    """
    mode = stat.S_IMODE(status.st_mode)
    if mode & _REJECTED:
        hint = f"run chmod 600 {escaped(name)}; on Kubernetes set defaultMode: 0440 and fsGroup"
        raise _exposed(name, holds, wanted="0600 or 0440", mode=mode, hint=hint)
    if mode & stat.S_IRGRP:
        warnings.warn(
            f"{escaped(name)} holds {escaped(holds)} and its group may read it (mode {mode:04o}): "
            f"run chmod 600 {escaped(name)}, unless the group has no other members",
            SettingsWarning,
            stacklevel=2,
        )


def check_own(status: os.stat_result, name: str, *, holds: str) -> None:
    """Check that only the owner may write a file. Raises `SecretExposed`."""
    mode = stat.S_IMODE(status.st_mode)
    if mode & _WRITTEN_BY_OTHERS:
        hint = f"run chmod go-w {escaped(name)}"
        raise _exposed(name, holds, wanted="0600 or 0644", mode=mode, hint=hint)


def read_regular(
    name: str, *, what: str, hint: str, where: str | None = None, max_bytes: int = MAX_BYTES
) -> tuple[bytes, os.stat_result]:
    """The bytes and the status of a small regular file, both from the same open file.

    `what` names the file in errors, such as `client settings`. Raises `InvalidConfig` for a file
    that does not exist, cannot be read, is not regular or has more than `max_bytes`.
    """
    where = where or name
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise InvalidConfig(
            f"cannot read {what} {escaped(name)}: {reason}", hint=hint, where=where
        ) from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidConfig(
                f"invalid {what}: expected a regular file, got {escaped(name)}",
                hint=hint,
                where=where,
            )
        data = os.read(handle, max_bytes + 1)
    finally:
        os.close(handle)
    if len(data) > max_bytes:
        raise InvalidConfig(
            f"invalid {what} {escaped(name)}: expected at most {max_bytes} bytes, got "
            f"{max(status.st_size, len(data))}",
            wanted=max_bytes,
            had=max(status.st_size, len(data)),
            hint=hint,
            where=where,
        )
    return data, status


def read_secret(
    name: str, *, what: str, holds: str, hint: str, max_bytes: int = MAX_BYTES
) -> bytes:
    """The bytes of a file that holds a secret. Raises as `read_regular` and `check_private` do."""
    data, status = read_regular(name, what=what, hint=hint, max_bytes=max_bytes)
    check_private(status, name, holds=holds)
    return data


def _exposed(name: str, holds: str, *, wanted: str, mode: int, hint: str) -> SecretExposed:
    return SecretExposed(
        f"invalid mode of {escaped(name)}, which holds {escaped(holds)}: expected {wanted}, got "
        f"{mode:04o}",
        wanted=wanted,
        had=f"{mode:04o}",
        hint=hint,
        where=name,
    )
