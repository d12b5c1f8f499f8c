"""Texts and names in the messages of SASL mechanisms, and the error of a malformed one.

In names, `=2C` is a comma and `=3D` an equals sign. Texts are UTF-8 without SASLprep, as Kafka's
are. Errors name the fault, never the message, which is a login.

Source: RFC 5802 5.1 (`saslname`); RFC 5801 4 (the gs2 header).
"""

from __future__ import annotations

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.sasl.principals import MOST_NAME


def read_text(kind: str, data: bytes) -> str:
    """The printable text of bytes; `kind` names it in errors. Raises `RemoteProtocolError`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise invalid_message(kind, "UTF-8") from None
    if not text.isprintable():
        raise invalid_message(kind, "no control characters")
    return text


def read_name(kind: str, part: str, prefix: str) -> str:
    """The name after `prefix`, such as `n=`. Raises `RemoteProtocolError`."""
    coded = part[len(prefix) :]
    bare = coded.replace("=2C", "").replace("=3D", "")
    if not part.startswith(prefix) or not coded or "=" in bare or len(coded) > MOST_NAME:
        raise invalid_message(kind, f"{prefix} and a name of up to {MOST_NAME} characters")
    return coded.replace("=2C", ",").replace("=3D", "=")


def invalid_message(kind: str, wanted: str) -> RemoteProtocolError:
    """The error of a malformed message; `kind` is such as `SCRAM message`."""
    return RemoteProtocolError(
        f"invalid {kind}: expected {wanted}, got something else",
        offset=0,
        wanted=wanted,
        had="something else",
    )
