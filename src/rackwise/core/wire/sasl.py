"""SaslHandshake, api key 17, version 1, and SaslAuthenticate, api key 36, versions 0 to 2.

```
handshake     request   mechanism text
              response  error_code int16, array of mechanisms, each a text
authenticate  request   auth_bytes, the client's SASL message
              response  error_code int16, error_message nullable text, auth_bytes, the server's one
              from 1    response: and session_lifetime_ms int64
              2         all fields compact, tagged fields at the end
```

SaslHandshake version 0 is left out: after it, SASL messages travel without headers, and an error
has no message.

Errors name the offset, never the bytes, which are a login.

Source: `SaslHandshakeRequest.json`, `SaslAuthenticateRequest.json` and their responses; KIP-43,
KIP-152, KIP-368.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from rackwise.core.wire.reader import Reader, unreadable
from rackwise.core.wire.writer import Writer, require_version

HANDSHAKE_KEY = 17
HANDSHAKE_VERSION = 1
AUTHENTICATE_KEY = 36
NEWEST_AUTHENTICATE = 2
FLEXIBLE_AUTHENTICATE = 2
_WITH_LIFETIME = 1


class SaslError(IntEnum):
    """Error codes of logins; Kafka's numbers and names."""

    NONE = 0
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    SASL_AUTHENTICATION_FAILED = 58


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticateResponse:
    """The server's step of a login."""

    error_code: int = 0
    """int16."""
    error_message: str | None = None
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0
    """int64: how long the login is valid; 0 means without end."""


def read_handshake_request(data: bytes) -> str:
    """Read the mechanism that a client wants. Raises `RemoteProtocolError`."""
    reader = Reader(data)
    mechanism = reader.text()
    reader.close()
    return mechanism


def write_handshake_response(error_code: int, mechanisms: tuple[str, ...]) -> bytes:
    """Write the body of an answer. Raises `LocalProtocolError`."""
    writer = Writer()
    writer.int16(error_code)
    writer.int32(len(mechanisms))
    for mechanism in mechanisms:
        writer.text(mechanism)
    return bytes(writer.data)


def read_authenticate_request(data: bytes, *, version: int) -> bytes:
    """Read the SASL message of a client.

    Raises `RemoteProtocolError`; `LocalProtocolError` for a version that is not 0 to 2.
    """
    require_version("SaslAuthenticate", version, newest=NEWEST_AUTHENTICATE)
    reader = Reader(data)
    if version < FLEXIBLE_AUTHENTICATE:
        found = reader.nullable_octets()
    else:
        length = reader.unsigned_varint() - 1
        found = None if length < 0 else reader.octets(length)
        reader.pass_over_tags()
    reader.close()
    if found is None:
        raise unreadable(0, "auth_bytes", "null")
    return found


def write_authenticate_response(response: AuthenticateResponse, *, version: int) -> bytes:
    """Write the body of an answer of version 0 to 2. Raises `LocalProtocolError`."""
    require_version("SaslAuthenticate", version, newest=NEWEST_AUTHENTICATE)
    writer = Writer()
    writer.int16(response.error_code)
    if version < FLEXIBLE_AUTHENTICATE:
        writer.text(response.error_message, "error_message")
        writer.octets(response.auth_bytes)
    else:
        writer.compact_text(response.error_message)
        writer.unsigned_varint(len(response.auth_bytes) + 1)
        writer.raw(response.auth_bytes)
    if version >= _WITH_LIFETIME:
        writer.int64(response.session_lifetime_ms)
    if version >= FLEXIBLE_AUTHENTICATE:
        writer.tags()
    return bytes(writer.data)
