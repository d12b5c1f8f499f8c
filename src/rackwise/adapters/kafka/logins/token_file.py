"""A token in a file, which another program writes anew before it ends.

The file is read again at each login: Kubernetes replaces a projected token when 80 % of its time is
over. Java's `FileJwtRetriever` reads the same file when it has changed. Source: KIP-768, KIP-1139.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.logins.token import MAX_BYTES, Token, read_token, wall_clock_s
from rackwise.core.errors import AuthenticationFailed
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class TokenFile:
    """The path of a file with a token in it and nothing else."""

    path: str
    clock_s: Callable[[], float] = wall_clock_s

    reuses_tokens = False

    def fetch(self) -> Token:
        """The token of this moment.

        Raises `AuthenticationFailed` for a file that cannot be read, that is not regular or that
        holds no token, and for an expired token.
        """
        origin = f"file {escaped(self.path)}"
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise self._unreadable(str(error.strerror)) from None
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise self._unreadable("expected a regular file")
            # One byte more shows a longer file; some blanks around a token are no fault.
            raw = file.read(2 * MAX_BYTES + 1)
        return read_token(raw.decode("latin-1"), now_s=self.clock_s(), origin=origin)

    def _unreadable(self, reason: str) -> AuthenticationFailed:
        return AuthenticationFailed(
            f"cannot read the token of file {escaped(self.path)}: {reason}",
            wanted="a readable file",
            had=reason,
            hint="check the path in sasl.oauthbearer.token.endpoint.url, and who may read the file",
        )
