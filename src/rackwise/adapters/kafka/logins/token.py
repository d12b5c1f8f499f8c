"""A token that a client sends to log in: its text, and when it ends.

The text of a JWT is three parts of URL-safe base64 with dots between them; the second part is a
JSON object whose claim `exp` is the end in seconds since 1970. Any other text is an opaque token,
whose end is known only if the issuer says how long it lives.

The signature is not checked: that is the broker's work. Source: RFC 7519 (JWT), RFC 6750 2.1 (the
characters of a token).
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from rackwise.core.errors import AuthenticationFailed
from rackwise.core.json.strict import NotStrict, read_object
from rackwise.core.secret import Secret

MAX_BYTES = 1 << 16
"""The longest token; brokers accept 512 KiB in a login by default."""
LAST_S = 253_402_300_799
"""The last second of the year 9999, beyond which no date can be shown."""

_BEARER = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_JWT_PARTS = 3


@dataclass(frozen=True, slots=True)
class Token:
    """A token that has not expired."""

    text: Secret
    ends_at_s: float | None
    """Seconds since 1970; None if it is not known."""


def read_token(text: str, *, now_s: float, origin: str, lives_s: float | None = None) -> Token:
    """The token in a text; blanks around it do not count.

    `origin`: where it comes from, in a message. `lives_s`: its lifetime by its issuer, used for a
    text that is not a JWT. Raises `AuthenticationFailed` for a text that is no token, and for a
    token that has expired.
    """
    bare = text.strip()
    if len(bare) > MAX_BYTES or not _BEARER.fullmatch(bare):
        had = "nothing" if not bare else "other characters, or more of them"
        raise AuthenticationFailed(
            f"invalid token of {origin}: expected at most {MAX_BYTES} letters, digits and -._~+/=, "
            f"got {had}",
            wanted="a bearer token",
            had=had,
            hint="check that it has the access token alone, without quotes and without 'Bearer'",
        )
    ends_at_s = _end_of(bare)
    if ends_at_s is None and lives_s is not None:
        ends_at_s = min(now_s + min(max(lives_s, 0), LAST_S), LAST_S)
    if ends_at_s is not None and ends_at_s <= now_s:
        raise AuthenticationFailed(
            f"expired token of {origin}: it ended at {_shown(ends_at_s)}, and the clock of this "
            f"machine shows {_shown(now_s)}",
            wanted="a token that has not expired",
            had=_shown(ends_at_s),
            hint="check the clock of this machine, and that the issuer gives new tokens",
        )
    return Token(Secret(bare), ends_at_s)


def _end_of(text: str) -> float | None:
    """The claim `exp` of a JWT; None for another text."""
    parts = text.split(".")
    if len(parts) != _JWT_PARTS:
        return None
    try:
        raw = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        end = read_object(raw, most=MAX_BYTES).get("exp")
    except (NotStrict, binascii.Error):
        return None
    if not isinstance(end, int | float) or isinstance(end, bool):
        return None
    return float(end) if 0 <= end <= LAST_S else None


def _shown(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
