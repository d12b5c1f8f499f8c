"""Logins by OAUTHBEARER: a token is checked by signature and claims.

```
message ──> header ──> keys of the issuer ──> signature ──> claims ──> user
  core       core        `key_endpoint`      `signatures`     core
```

A token whose user has the name of a SCRAM user is rejected: one name must not mean two clients.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.adapters.clock import wall_clock_s
from rackwise.adapters.rpc.logins.key_endpoint import HTTPS, KeyEndpoint, KeyFile
from rackwise.adapters.rpc.logins.signatures import signed_payload
from rackwise.core.errors import RemoteProtocolError
from rackwise.core.sasl.oauth import BearerExchange, TokenCheck
from rackwise.core.sasl.outcome import Accepted, Rejected
from rackwise.core.sasl.token_claims import judge_claims
from rackwise.core.sasl.tokens import read_claims, read_token_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.adapters.rpc.config import OAuthConfig
    from rackwise.adapters.rpc.logins.key_endpoint import KeySource
    from rackwise.core.sasl.outcome import LoginOutcome
    from rackwise.core.sasl.token_claims import TokenRules


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenJudge:
    """Checks the tokens of an issuer."""

    rules: TokenRules
    keys: KeySource
    is_taken: Callable[[str], bool]
    """Whether a name is that of a client of another mechanism."""
    clock_s: Callable[[], float] = wall_clock_s

    async def check(self, token: str) -> Accepted | Rejected:
        """The user of a token."""
        try:
            header = read_token_header(token)
            keys = await self.keys.find(header)
            if not keys:
                return Rejected("no key of the JWKS fits the header of the token")
            payload = signed_payload(token, header, keys)
            if payload is None:
                return Rejected("no key of the JWKS signed the token")
            found = judge_claims(read_claims(payload), self.rules, now_s=self.clock_s())
        except RemoteProtocolError as error:
            return Rejected(str(error))
        if isinstance(found, Accepted) and self.is_taken(found.user):
            return Rejected(f"the token names {found.user}, which is a SCRAM user, too")
        return found


@dataclass(slots=True)
class BearerLogin:
    """A login by OAUTHBEARER."""

    judge: TokenJudge
    exchange: BearerExchange = field(default_factory=BearerExchange)

    async def step(self, data: bytes) -> LoginOutcome:
        """Answer the next message of the client."""
        found = self.exchange.step(data)
        if isinstance(found, TokenCheck):
            return self.exchange.decide(found, await self.judge.check(found.token.reveal()))
        return found


def token_judge(
    config: OAuthConfig, tell: Callable[..., None], *, is_taken: Callable[[str], bool]
) -> TokenJudge:
    """The checks of a configuration.

    Reads the keys. Raises `InvalidConfig`, `SecretExposed` and `Unreachable`.
    """
    is_url = config.jwks.lower().startswith(HTTPS)
    keys = KeyEndpoint(config.jwks, tell) if is_url else KeyFile(Path(config.jwks), tell)
    return TokenJudge(rules=config.rules, keys=keys, is_taken=is_taken)
