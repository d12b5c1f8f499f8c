"""The mechanisms that a server offers, and a new exchange for each login."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rackwise.adapters.rpc.logins.users import scram_file
from rackwise.core.sasl.oauth import OAUTHBEARER
from rackwise.core.sasl.scram import ScramExchange

if TYPE_CHECKING:
    from rackwise.adapters.rpc.config import LoginConfig
    from rackwise.adapters.rpc.logins.bearer import TokenJudge
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

    Reads its files and the keys of the issuer. Raises `InvalidConfig` and `SecretExposed` for a
    file that cannot be used, `Unreachable` for an issuer that does not answer.
    """

    def __init__(self, config: LoginConfig, tell: Telling) -> None:
        self.session_s = config.session_s
        self._scram = None if config.scram_users is None else scram_file(config.scram_users, tell)
        self._judge: TokenJudge | None = None
        if config.oauth is not None:
            from rackwise.adapters.rpc.logins.bearer import token_judge

            self._judge = token_judge(config.oauth, tell, is_taken=self._is_scram_user)

    @property
    def names(self) -> tuple[str, ...]:
        """The mechanisms."""
        scram = () if self._scram is None else self._scram.content().mechanisms
        return scram if self._judge is None else (*scram, OAUTHBEARER)

    def begin(self, mechanism: str) -> Exchange | None:
        """A new login; None for a mechanism that is not offered."""
        if mechanism == OAUTHBEARER and self._judge is not None:
            from rackwise.adapters.rpc.logins.bearer import BearerLogin

            return BearerLogin(self._judge)
        if self._scram is not None and mechanism in (users := self._scram.content()).mechanisms:
            nonce = secrets.token_urlsafe(NONCE_BYTES)
            return ScramLogin(ScramExchange(users, mechanism, nonce))
        return None

    def still_has(self, mechanism: str, user: str) -> bool:
        """Whether a SCRAM user is still in the file; a session with a token ends with the token."""
        if self._scram is None or mechanism == OAUTHBEARER:
            return True
        return (mechanism, user) in self._scram.content().entries

    def _is_scram_user(self, name: str) -> bool:
        return self._scram is not None and any(
            user == name for _, user in self._scram.content().entries
        )
