r"""The server's side of OAUTHBEARER: one message with a token, or two after a failure.

```
client  n,,\x01auth=Bearer TOKEN\x01\x01
server  (nothing)                                 the client is in
server  {"status":"invalid_token"}                or not
client  \x01
server  error 58, {"status":"invalid_token"}      the end
```

The status is the same for every fault of a token. After a failure, each further message ends the
login: a second token is not tried.

`step` does not check the token: it returns a `TokenCheck`, whose result goes to `decide`.

Source: RFC 7628 3.2; KIP-255; Kafka's `OAuthBearerSaslServer`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.sasl.oauth_message import read_bearer_message
from rackwise.core.sasl.outcome import Accepted, Denied, Rejected

if TYPE_CHECKING:
    from rackwise.core.sasl.outcome import LoginOutcome
    from rackwise.core.secret import Secret

OAUTHBEARER = "OAUTHBEARER"
STATUS = '{"status":"invalid_token"}'


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """A token that is to be checked, by signature and claims."""

    token: Secret
    acts_as: str


@dataclass(slots=True)
class BearerExchange:
    """One login. `step` is called with each message of the client."""

    _has_begun: bool = False
    _failed: str | None = field(default=None, repr=False)

    def step(self, data: bytes) -> TokenCheck | Rejected:
        """Read the next message of the client."""
        if self._has_begun:
            return Rejected(self._failed or "a second message", told=self._failed and STATUS)
        self._has_begun = True
        try:
            message = read_bearer_message(data)
        except RemoteProtocolError as error:
            return Rejected(str(error))
        return TokenCheck(message.token, message.acts_as)

    def decide(self, check: TokenCheck, result: Accepted | Rejected) -> LoginOutcome:
        """Answer the client when its token has been checked."""
        if isinstance(result, Accepted) and check.acts_as in ("", result.user):
            return result
        why = (
            "the client wants to act as another user"
            if isinstance(result, Accepted)
            else result.why
        )
        self._failed = why
        return Denied(STATUS.encode(), why)
