"""The login of one client: its stage, its exchange, its session.

```
START ── SaslHandshake ──> BEGUN ── SaslAuthenticate.. ──> OPEN ── requests ──> the session ends
                             └ rejected: a pause, error 58, the end
```

`core.sasl.gate` decides which request may come when. A client that fails gets the same answer
whatever its fault is, after `login_pause_s`; the log has the fault, and never a name that was not
proved, because people type passwords into the wrong field.

Source: KIP-43, KIP-152, KIP-368; Kafka's `connection.failed.authentication.delay.ms`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rackwise.adapters.rpc.connection import Closed
from rackwise.core.replica_service.login_calls import (
    AuthenticateCall,
    HandshakeCall,
    read_login_call,
)
from rackwise.core.sasl.gate import Admission, LoginStage, admit
from rackwise.core.sasl.outcome import Accepted, Challenge, Denied
from rackwise.core.sasl.principals import principal_of
from rackwise.core.text import escaped
from rackwise.core.wire.headers import read_api
from rackwise.core.wire.sasl import AuthenticateResponse, SaslError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.adapters.rpc.connection import Connection
    from rackwise.core.sasl.outcome import LoginOutcome

MOST_SHOWN = 60
"""Characters of a mechanism's name in the log."""


class Exchange(Protocol):
    """The messages of one login."""

    async def step(self, data: bytes) -> LoginOutcome:
        """Answer the next message of the client."""


class Mechanisms(Protocol):
    """The logins that a server offers."""

    @property
    def names(self) -> tuple[str, ...]:
        """The mechanisms."""

    def begin(self, mechanism: str) -> Exchange | None:
        """A new login; None for a mechanism that is not offered."""

    def still_has(self, mechanism: str, user: str) -> bool:
        """Whether a user who has logged in by a mechanism has not been removed since."""


@dataclass(slots=True)
class Login:
    """The login of one connection."""

    mechanisms: Mechanisms
    connection: Connection
    session_s: float | None
    """The length of a session; None = without end."""
    told: Callable[[Connection, str, int], None]
    """Receives connection, mechanism and lifetime in ms of a login that succeeded."""
    _stage: LoginStage = LoginStage.START
    _mechanism: str = ""
    _exchange: Exchange | None = None
    _user: str = ""
    """Who has logged in last."""
    _at_s: float | None = None
    """The loop's time of the last login."""

    async def reply(self, frame: bytes) -> bytes | None:
        """The framed answer; None for a request that the caller answers.

        Raises `Closed` for a request that may not come now, `RemoteProtocolError`.
        """
        key, _ = read_api(frame)
        now_s = asyncio.get_running_loop().time()
        admission = admit(
            self._stage,
            key,
            is_over=self.connection.deadline is not None and now_s >= self.connection.deadline,
            since_s=None if self._at_s is None else now_s - self._at_s,
        )
        if admission is Admission.ANSWER:
            self._check_user()
            return None
        if admission is Admission.CLOSE:
            if self._stage is LoginStage.OPEN:
                raise Closed("session")
            raise self.connection.fault or Closed("login", f"api key {key} before the login")
        call = read_login_call(frame)
        if admission is Admission.REJECT:
            return self._rejected(call)
        if isinstance(call, HandshakeCall):
            return self._begin(call)
        return await self._step(call)

    def _check_user(self) -> None:
        """Raise `Closed` for a session whose user was removed."""
        is_open = self._stage is LoginStage.OPEN
        if is_open and not self.mechanisms.still_has(self._mechanism, self._user):
            raise Closed("session", f"{self._mechanism}: the user was removed")

    def _rejected(self, call: HandshakeCall | AuthenticateCall) -> bytes:
        """The answer to a message of a login that is out of turn."""
        if self._stage is not LoginStage.OPEN:
            self._end("a second SaslHandshake")
        if isinstance(call, HandshakeCall):
            return call.answer(SaslError.ILLEGAL_SASL_STATE, ())
        return call.answer(
            AuthenticateResponse(
                error_code=SaslError.ILLEGAL_SASL_STATE,
                error_message="SaslAuthenticate request received after successful authentication",
            )
        )

    def _begin(self, call: HandshakeCall) -> bytes:
        is_other = self._at_s is not None and call.mechanism != self._mechanism
        exchange = None if is_other else self.mechanisms.begin(call.mechanism)
        if exchange is None:
            self._end(f"mechanism {call.mechanism[:MOST_SHOWN]} is not offered")
            return call.answer(SaslError.UNSUPPORTED_SASL_MECHANISM, self.mechanisms.names)
        self._stage, self._mechanism, self._exchange = LoginStage.BEGUN, call.mechanism, exchange
        self.connection.frame_bytes = self.connection.guards.login_frame_bytes
        return call.answer(SaslError.NONE, self.mechanisms.names)

    async def _step(self, call: HandshakeCall | AuthenticateCall) -> bytes:
        if isinstance(call, HandshakeCall) or self._exchange is None:
            raise Closed("login", "no login has begun")
        outcome = await self._exchange.step(call.data)
        if isinstance(outcome, Challenge):
            return call.answer(AuthenticateResponse(auth_bytes=outcome.data))
        if isinstance(outcome, Denied):
            # The log has the reason also if the client leaves without the message that is due.
            self.connection.fault = self._fault(outcome.why)
            await asyncio.sleep(self.connection.guards.login_pause_s)
            return call.answer(AuthenticateResponse(auth_bytes=outcome.data))
        if isinstance(outcome, Accepted):
            principal = principal_of(outcome.user)
            if self._at_s is None or principal == self.connection.principal:
                return call.answer(self._open(outcome, principal))
            return await self._failed(call, "another user than that of the first login")
        return await self._failed(call, outcome.why, told=outcome.told)

    def _open(self, outcome: Accepted, principal: str) -> AuthenticateResponse:
        connection, now_s = self.connection, asyncio.get_running_loop().time()
        ends = [each for each in (self.session_s, outcome.lasts_s) if each is not None]
        ms = max(1, int(min(ends) * 1000)) if ends else 0
        connection.principal = connection.owner = principal
        connection.deadline = now_s + ms / 1000 if ms else None
        connection.deadline_reason = "session"
        connection.frame_bytes = connection.guards.frame_bytes
        self._stage, self._exchange, self._at_s = LoginStage.OPEN, None, now_s
        self._user = outcome.user
        self.told(connection, self._mechanism, ms)
        return AuthenticateResponse(auth_bytes=outcome.data, session_lifetime_ms=ms)

    async def _failed(self, call: AuthenticateCall, why: str, *, told: str | None = None) -> bytes:
        self._end(why)
        await asyncio.sleep(self.connection.guards.login_pause_s)
        return call.answer(
            AuthenticateResponse(
                error_code=SaslError.SASL_AUTHENTICATION_FAILED,
                error_message=told
                or "Authentication failed during authentication due to invalid credentials with "
                f"SASL mechanism {self._mechanism}",
            )
        )

    def _end(self, why: str) -> None:
        """The connection ends when the client has the answer."""
        self.connection.fault = self._fault(why)
        self.connection.is_last = True

    def _fault(self, why: str) -> Closed:
        mechanism = f"{self._mechanism}: " if self._mechanism else ""
        return Closed("login", f"{mechanism}{escaped(why)}")
