"""The token provider of kafka-python: a token for each login, fetched anew before it ends.

```
fetched            80 % of its time          its end
   |--- reused --------|--- a new one is fetched ---|
                            fetch fails: the old one is used
```

A broker ends a connection when its token ends, or after `connections.max.reauth.ms` (KIP-368).
kafka-python logs in again on the same connection when 85 to 95 % of that time is over. As the last
fifth of a token's life has a new token, the new login never gets the token that is about to end.

A failure is kept for `AGAIN_S`, so that many connections do not ask an issuer in trouble many
times. A new login must wait for the issuer, and kafka-python asks for the token in its own thread:
every source answers in bounded time.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError
from kafka.net.sasl.oauth import AbstractTokenProvider

from rackwise.adapters.clock import wall_clock_s
from rackwise.core.errors import RackwiseError, Unreachable
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.adapters.kafka.logins.token import Token

TOKENS = "sasl_oauth_token_provider"
"""The argument of a kafka-python client whose value gives it tokens."""
REUSED_SHARE = 0.8
"""Of a token's time; as `sasl.login.refresh.window.factor` of Java's client."""
AGAIN_S = 2.0
MARGIN_S = 5.0
"""A token with less time left is not used after a failed fetch."""


class TokenSource(Protocol):
    """Where tokens come from."""

    @property
    def reuses_tokens(self) -> bool:
        """Whether a token is kept for later logins."""

    def fetch(self) -> Token:
        """A new token, in bounded time; raises `RackwiseError`."""


class TokenDenied(SaslAuthenticationFailedError):
    """No token, and none for a repeated question; `error` has the reason."""

    def __init__(self, error: RackwiseError) -> None:
        super().__init__(error.message)
        self.error = error


class TokenDelayed(KafkaConnectionError):
    """No token at this moment; `error` has the reason."""

    def __init__(self, error: RackwiseError) -> None:
        super().__init__(error.message)
        self.error = error


def check_tokens(arguments: Mapping[str, Any]) -> None:
    """Get the first token of a client with these arguments, if it logs in with tokens.

    Without a token it would try to connect until its time is over. Raises the error of the source.
    """
    tokens = arguments.get(TOKENS)
    if tokens is not None:
        tokens.fetch()


class TokenLogin(AbstractTokenProvider):
    """The tokens of one source, and the extensions that go with each of them."""

    def __init__(
        self,
        source: TokenSource,
        extensions: Mapping[str, str] | None = None,
        *,
        clock_s: Callable[[], float] = wall_clock_s,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._source = source
        self._extensions = {**(extensions or {})}
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._kept: Token | None = None
        self._reused_until_s = 0.0
        self._failed: tuple[float, RackwiseError] | None = None

    @override
    def token(self) -> str:
        """The text of a token. Raises `TokenDenied` or `TokenDelayed`."""
        try:
            return self.fetch()
        except Unreachable as error:
            raise TokenDelayed(error) from None
        except RackwiseError as error:
            raise TokenDenied(error) from None

    @override
    def extensions(self) -> dict[str, str]:
        """The SASL extensions of each login (KIP-342)."""
        return self._extensions

    def fetch(self) -> str:
        """The text of a token that has not expired. Raises the error of the source."""
        with self._lock:
            now_s = self._clock_s()
            kept = self._kept
            if kept is None or now_s >= self._reused_until_s:
                kept = self._new(now_s)
            return kept.text.reveal()

    def forget(self) -> None:
        """Drop the token, after a broker rejected it."""
        with self._lock:
            self._kept = None

    def _new(self, now_s: float) -> Token:
        try:
            failed = self._failed if self._source.reuses_tokens else None
            if failed is not None and 0 <= now_s - failed[0] < AGAIN_S:
                raise failed[1]
            found = self._source.fetch()
        except RackwiseError as error:
            if self._failed is None or self._failed[1] is not error:
                self._failed = (self._clock_s(), error)
            kept = self._kept
            if kept is not None and now_s + MARGIN_S < (kept.ends_at_s or 0):
                return kept
            raise
        self._failed = None
        if self._source.reuses_tokens and found.ends_at_s is not None:
            self._kept = found
            self._reused_until_s = now_s + REUSED_SHARE * (found.ends_at_s - now_s)
        return found
