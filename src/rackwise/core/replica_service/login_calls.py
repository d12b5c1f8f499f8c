"""Reads the frames of a login, and writes their answers as frames.

```
key  versions   answered with
17   1          the mechanisms of the service; error 33 for another mechanism
36   0 to 2     the next message of the login; error 58 if it has failed
```

Requests of key 36 from version 2 on have header version 2, and their answers header version 1.

Source: KIP-43, KIP-152, KIP-368.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rackwise.core.replica_service.calls import read_header
from rackwise.core.wire.headers import read_api, write_frame, write_response_header
from rackwise.core.wire.reader import unreadable
from rackwise.core.wire.sasl import (
    AUTHENTICATE_KEY,
    FLEXIBLE_AUTHENTICATE,
    HANDSHAKE_KEY,
    HANDSHAKE_VERSION,
    NEWEST_AUTHENTICATE,
    AuthenticateResponse,
    SaslError,
    read_authenticate_request,
    read_handshake_request,
    write_authenticate_response,
    write_handshake_response,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandshakeCall:
    """A client names the mechanism of its login."""

    correlation_id: int
    mechanism: str

    def answer(self, code: SaslError, mechanisms: tuple[str, ...]) -> bytes:
        """The frame of an answer."""
        body = write_handshake_response(code, mechanisms)
        return write_frame(write_response_header(self.correlation_id, version=0) + body)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticateCall:
    """A client sends a message of its login."""

    correlation_id: int
    version: int
    data: bytes = field(repr=False)

    def answer(self, response: AuthenticateResponse) -> bytes:
        """The frame of an answer."""
        head = write_response_header(
            self.correlation_id, version=1 if self.version >= FLEXIBLE_AUTHENTICATE else 0
        )
        return write_frame(head + write_authenticate_response(response, version=self.version))


def read_login_call(frame: bytes) -> HandshakeCall | AuthenticateCall:
    """The request of a frame with key 17 or 36. Raises `RemoteProtocolError`."""
    key, version = read_api(frame)
    if (key, version) == (HANDSHAKE_KEY, HANDSHAKE_VERSION):
        header, body = read_header(frame, version=1)
        return HandshakeCall(
            correlation_id=header.correlation_id, mechanism=read_handshake_request(body)
        )
    if key == AUTHENTICATE_KEY and 0 <= version <= NEWEST_AUTHENTICATE:
        header, body = read_header(frame, version=2 if version >= FLEXIBLE_AUTHENTICATE else 1)
        return AuthenticateCall(
            correlation_id=header.correlation_id,
            version=version,
            data=read_authenticate_request(body, version=version),
        )
    raise unreadable(0, "a message of a login", f"api key {key} version {version}")
