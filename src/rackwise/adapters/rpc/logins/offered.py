"""The mechanisms that a server offers, and a new exchange for each login."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rackwise.adapters.rpc.logins.users import ScramFile
from rackwise.core.sasl.scram import ScramExchange

if TYPE_CHECKING:
    from rackwise.adapters.rpc.config import LoginConfig
    from rackwise.adapters.rpc.logins.login import Exchange
    from rackwise.core.sasl.outcome import LoginOutcome

NONCE_BYTES = 24


class Telling(Protocol):
    """Writes a line of the log."""

    def __call__(self, **line: Any) -> None:  # noqa: ANN401 (values of JSON)
        """Write the line."""


@dataclass(slots=True)
class ScramLogin:
    """A login by SCRAM."""

    exchange: ScramExchange

    async def step(self, data: bytes) -> LoginOutcome:
        """Answer the next message of the client."""
        return self.exchange.step(data)


class OfferedLogins:
    """The logins of a configuration.

    Reads its files. Raises `InvalidConfig` and `SecretExposed` for a file that cannot be used.
    """

    def __init__(self, config: LoginConfig, tell: Telling) -> None:
        self.session_s = config.session_s
        self._scram = ScramFile(config.scram_users, tell)

    @property
    def names(self) -> tuple[str, ...]:
        """The mechanisms."""
        return self._scram.users().mechanisms

    def begin(self, mechanism: str) -> Exchange | None:
        """A new login; None for a mechanism that is not offered."""
        users = self._scram.users()
        if mechanism in users.mechanisms:
            nonce = secrets.token_urlsafe(NONCE_BYTES)
            return ScramLogin(ScramExchange(users, mechanism, nonce))
        return None
