"""The two messages that a client sends in SCRAM, read strictly.

```
client first   n,,n=alice,r=fyko+d2lbbFgONRvXWSZ
               └┬┘gs2 header: no channel binding, and the user to act as, here none
client final   c=biws,r=fyko+d2lbbFgONRvXWSZ3rfcNHYJ,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=
               └┬──┘ the gs2 header in base64
```

A mandatory extension (`m=`), channel binding (`p=`), and a control character are rejected; other
extensions are ignored, except for Kafka's `tokenauth`, a login by a delegation token.
`message_parts` reads texts and names.

Errors name the fault, never the message.

Source: RFC 5802 5 and 7; Kafka's `ScramMessages`.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.sasl.message_parts import invalid_message, read_name, read_text

if TYPE_CHECKING:
    from rackwise.core.errors import RemoteProtocolError

MOST_BYTES = 4096
"""The longest message."""
_NONCE = re.compile(r"[\x21-\x2b\x2d-\x7e]+")
_LEAST_FINAL = 3
_LEAST_FIRST = 4
_KIND = "SCRAM message"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFirst:
    """The first message of a client."""

    header: str
    """The gs2 header, such as `n,,`."""
    bare: str
    """The message without the header."""
    user: str
    acts_as: str
    """The user to act as; empty for none."""
    nonce: str
    is_token: bool = False
    """Whether the user is the id of a delegation token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFinal:
    """The second message of a client."""

    binding: bytes
    """The gs2 header."""
    nonce: str
    without_proof: str
    proof: bytes


def read_client_first(data: bytes) -> ClientFirst:
    """Read the first message of a client. Raises `RemoteProtocolError`."""
    text = _text(data)
    parts = text.split(",")
    if len(parts) < _LEAST_FIRST or parts[0] not in ("n", "y"):
        raise _invalid("n or y, without channel binding")
    acts_as = read_name(_KIND, parts[1], "a=") if parts[1] else ""
    user = read_name(_KIND, parts[2], "n=")
    return ClientFirst(
        header=f"{parts[0]},{parts[1]},",
        bare=",".join(parts[2:]),
        user=user,
        acts_as=acts_as,
        nonce=_nonce(parts[3]),
        is_token="tokenauth=true" in parts[4:],
    )


def read_client_final(data: bytes) -> ClientFinal:
    """Read the second message of a client. Raises `RemoteProtocolError`."""
    text = _text(data)
    parts = text.split(",")
    if len(parts) < _LEAST_FINAL or not parts[0].startswith("c=") or parts[-1][:2] != "p=":
        raise _invalid("c=, r= and p=")
    return ClientFinal(
        binding=from_base64(parts[0][2:]),
        nonce=_nonce(parts[1]),
        without_proof=",".join(parts[:-1]),
        proof=from_base64(parts[-1][2:]),
    )


def from_base64(text: str) -> bytes:
    """The bytes of a text in base64. Raises `RemoteProtocolError`."""
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise _invalid("base64") from None


def in_base64(data: bytes) -> str:
    """The text of bytes."""
    return base64.b64encode(data).decode("ascii")


def _text(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise _invalid(f"at most {MOST_BYTES} bytes")
    return read_text(_KIND, data)


def _nonce(part: str) -> str:
    if not part.startswith("r=") or not _NONCE.fullmatch(part, 2):
        raise _invalid("r= and a nonce")
    return part[2:]


def _invalid(wanted: str) -> RemoteProtocolError:
    return invalid_message(_KIND, wanted)
