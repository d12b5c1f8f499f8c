"""A JSON Web Token as a client sends it: which key signed it, and what it claims.

```
eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ . eyJzdWIiOiJhbGljZSJ9 . dBjftJeZ4CVP..
└ header: algorithm and key id       └ claims               └ signature
```

The header is not signed when it is read here, so it only selects a key. Nothing else of it is used.
These headers are rejected:

- an algorithm other than RSA (PKCS 1.5) and ECDSA. With `none` there is no signature; with HMAC the
  public key would be the secret.
- `typ` other than `JWT` or `at+jwt`: the issuer signs texts that are no access tokens, too.
- `crit` and `b64`, which change what is signed.
- `jwk`, `jku`, `x5u` and `x5c` are ignored: a token does not bring its own key.

Source: RFC 7515; RFC 7519; RFC 8725 (best practices); RFC 9068 (`at+jwt`).
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rackwise.core.json.strict import NotStrict, read_object
from rackwise.core.sasl.message_parts import invalid_message

if TYPE_CHECKING:
    from rackwise.core.errors import RemoteProtocolError

MOST_BYTES = 1 << 14
"""The longest token; one with hundreds of groups has a quarter of it."""
MOST_HEADER = 1 << 12
"""Characters of a header. It is read before the signature is checked, so it must cost little."""
MOST_KEY_ID = 256
"""Characters of a key id."""
ALGORITHMS = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "ES256": "P-256",
    "ES384": "P-384",
    "ES512": "P-521",
}
"""Algorithm -> `RSA`, or the curve of its keys."""
_TYPES = {"jwt", "at+jwt"}
_CHANGES_SIGNED = ("crit", "b64")
_TOKEN = re.compile(r"([A-Za-z0-9_-]++)\.[A-Za-z0-9_-]++\.[A-Za-z0-9_-]++")
_BASE64 = re.compile(r"[A-Za-z0-9_-]*+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHeader:
    """What selects the key of a token."""

    algorithm: str
    """A key of `ALGORITHMS`."""
    key_id: str | None
    """None for a token without one."""


def read_token_header(token: str) -> TokenHeader:
    """The header of a token. Raises `RemoteProtocolError`, without the token."""
    found = _TOKEN.fullmatch(token) if len(token) <= MOST_BYTES else None
    if found is None or len(found[1]) > MOST_HEADER:
        raise invalid_token("three parts of URL-safe base64 with dots between them")
    header = _object(from_base64url(found[1]), "a header")
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise invalid_token(f"an algorithm of {', '.join(ALGORITHMS)}")
    kind = header.get("typ", "JWT")
    if not isinstance(kind, str) or kind.lower().removeprefix("application/") not in _TYPES:
        raise invalid_token("typ JWT or at+jwt")
    if any(name in header for name in _CHANGES_SIGNED):
        raise invalid_token("a header without crit and b64")
    if key_id is not None and not (isinstance(key_id, str) and len(key_id) <= MOST_KEY_ID):
        raise invalid_token(f"a key id of up to {MOST_KEY_ID} characters")
    return TokenHeader(algorithm=algorithm, key_id=key_id)


def read_claims(payload: bytes) -> dict[str, Any]:
    """The claims of a token whose signature is right. Raises `RemoteProtocolError`."""
    return _object(payload, "claims")


def from_base64url(text: str) -> bytes:
    """The bytes of URL-safe base64 without padding. Raises `RemoteProtocolError`."""
    try:
        if not _BASE64.fullmatch(text):
            raise invalid_token("URL-safe base64")
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise invalid_token("URL-safe base64") from None


def invalid_token(wanted: str) -> RemoteProtocolError:
    """The error of a malformed token."""
    return invalid_message("token", wanted)


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        return read_object(data, most=MOST_BYTES)
    except NotStrict:
        raise invalid_token(f"{what} in strict JSON") from None
