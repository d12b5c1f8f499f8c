r"""The message that a client sends in OAUTHBEARER, read strictly.

```
n,a=alice,\x01auth=Bearer TOKEN\x01logicalCluster=lkc-1\x01\x01
└───┬───┘     └──────┬────────┘    └────────┬─────────┘
    gs2 header       the token              extensions
```

The header names the user to act as, or none: `n,,`. Every part ends in `\x01`, and so does the
message. Channel binding, a key that appears twice, a second token and a control character are
rejected. Extensions (KIP-342) are checked and ignored.

Errors name the fault, never the message, which has a token in it.

Source: RFC 7628 3.1; RFC 6750 2.1; KIP-255; Kafka's `OAuthBearerClientInitialResponse`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rackwise.core.sasl.message_parts import invalid_message, read_name, read_text
from rackwise.core.secret import Secret

MOST_BYTES = 1 << 16
"""The longest message."""
_SEPARATOR = b"\x01"
_LEAST_PARTS = 4
_KIND = "OAUTHBEARER message"
_PAIR = re.compile(rb"([A-Za-z]++)=([\x21-\x7e \t\r\n]++)")
_BEARER = re.compile(rb"bearer ++([A-Za-z0-9\-._~+/]++=*+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerMessage:
    """What a client sends to log in."""

    token: Secret
    acts_as: str
    """The user to act as; empty for none."""


def read_bearer_message(data: bytes) -> BearerMessage:
    """Read the message of a client. Raises `RemoteProtocolError`."""
    if len(data) > MOST_BYTES:
        raise invalid_message(_KIND, f"at most {MOST_BYTES} bytes")
    header, *parts = data.split(_SEPARATOR)
    if len(parts) < _LEAST_PARTS - 1 or parts[-2:] != [b"", b""]:
        raise invalid_message(_KIND, r"a header and pairs, each with \x01 after it, and one \x01")
    pairs = dict(_pair(part) for part in parts[:-2])
    if len(pairs) != len(parts) - 2:
        raise invalid_message(_KIND, "each key once")
    found = _BEARER.fullmatch(pairs.get(b"auth", b""))
    if found is None:
        raise invalid_message(_KIND, "auth=Bearer and a token")
    return BearerMessage(token=Secret(found[1].decode("ascii")), acts_as=_acts_as(header))


def _acts_as(header: bytes) -> str:
    parts = read_text(_KIND, header).split(",")
    if len(parts) != _LEAST_PARTS - 1 or parts[0] != "n" or parts[2]:
        raise invalid_message(_KIND, "n,, or n,a=USER, without channel binding")
    return read_name(_KIND, parts[1], "a=") if parts[1] else ""


def _pair(part: bytes) -> tuple[bytes, bytes]:
    found = _PAIR.fullmatch(part)
    if found is None:
        raise invalid_message(_KIND, "letters, = and a printable value")
    return found[1], found[2]
