"""A token in a file, which another program writes anew before it ends.

The file is read again at each login: Kubernetes replaces a projected token when 80 % of its time is
over. Java's `FileJwtRetriever` reads the same file when it has changed. Source: KIP-768, KIP-1139.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.adapters.clock import wall_clock_s
from rackwise.adapters.kafka.logins.keys import ENDPOINT_URL
from rackwise.adapters.kafka.logins.token import MAX_BYTES, Token, read_token
from rackwise.adapters.secret_files import check_own, read_regular
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

        Raises `InvalidConfig` for a file that cannot be read or is not regular, `SecretExposed` for
        one that others may write, and `AuthenticationFailed` for a text that is no token and for an
        expired token.
        """
        raw, status = read_regular(
            self.path,
            what="token file",
            hint=f"correct the path in {ENDPOINT_URL}",
            max_bytes=2 * MAX_BYTES,
        )
        check_own(status, self.path, holds="a token")
        return read_token(
            raw.decode("latin-1"), now_s=self.clock_s(), origin=f"file {escaped(self.path)}"
        )
