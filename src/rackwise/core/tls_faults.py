"""Why a TLS connection of a client failed, by the names that OpenSSL gives its errors.

| cause | OpenSSL | text |
|---|---|---|
| `UNTRUSTED` | the server's certificate fails its checks | its certificate is not trusted: .. |
| `REJECTED` | an alert about a certificate; in TLS 1.3 after the handshake | it rejected .. |
| `OLD` | no version in common | the server offers no TLS 1.2 or later |
| `NO_TLS` | the bytes of the server are no TLS | the server there does not use TLS |
| `FAILED` | anything else, such as an end in the middle | the TLS handshake failed |

Libraries wrap the error of OpenSSL as an argument, as `reason`, or only as the context. urllib3 may
compare names itself, and has an error of its own for another name.
The text of a library repeats the address, whose query may have a secret; here only words of OpenSSL
and names in the server's certificate are repeated.

Source: reason codes of OpenSSL 1.1.1 to 3.x; RFC 8446 6.2 (alerts).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

ENABLE: Final = "enable TLS 1.2 or 1.3 on the server"


class TlsCause(Enum):
    """Which side has to change what."""

    UNTRUSTED = "untrusted"
    REJECTED = "rejected"
    OLD = "old"
    NO_TLS = "no tls"
    FAILED = "failed"


_OLD = re.compile(r".*(PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAILABLE)")
_ALERT = re.compile(r".*_ALERT_(.*CERTIFICATE.*|UNKNOWN_CA)")
"""Alerts about certificates, such as `TLSV13_ALERT_CERTIFICATE_REQUIRED`."""
_REQUIRED = "certificate required"
_OPENSSL = "ssl.SSLError"
_ANOTHER_NAME = "urllib3.util.ssl_match_hostname.CertificateError"
_NO_TLS = re.compile(
    r"WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|HTTP_REQUEST|PACKET_LENGTH_TOO_LONG"
)


@dataclass(frozen=True, slots=True)
class TlsFault:
    """A cause, and the words of OpenSSL."""

    cause: TlsCause
    reason: str
    """Escaped; empty if OpenSSL gave none."""

    @property
    def text(self) -> str:
        """The sentence for messages that name the server.

        >>> TlsFault(TlsCause.REJECTED, "certificate required").text
        'it requires a certificate of this client'
        """
        if self.reason == _REQUIRED:
            return "it requires a certificate of this client"
        if self.cause is TlsCause.OLD:
            return "the server offers no TLS 1.2 or later"
        if self.cause is TlsCause.NO_TLS:
            return "the server there does not use TLS"
        return f"{_TEXTS[self.cause]}: {self.reason or 'the connection ended'}"


_TEXTS: Final = {
    TlsCause.UNTRUSTED: "its certificate is not trusted",
    TlsCause.REJECTED: "it rejected the certificate of this client",
    TlsCause.FAILED: "the TLS handshake failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsHints:
    """What a user of one client can do about each cause."""

    address: str
    """What holds the address of the server, such as `the URL of the webhook`."""
    authority: str
    """What makes the client trust an authority, as an instruction."""
    own: str
    """What gives the client a certificate of its own, as an instruction, or why it has none."""

    def of(self, error: BaseException, *, otherwise: str) -> str:
        """The hint for an error; `otherwise` for one that is not of TLS."""
        fault = tls_fault(error)
        if fault is None:
            return otherwise
        return {
            TlsCause.UNTRUSTED: "check the names and dates of the server's certificate; if its "
            f"authority is not known here, {self.authority}",
            TlsCause.REJECTED: self.own,
            TlsCause.OLD: ENABLE,
            TlsCause.NO_TLS: f"check host and port in {self.address}",
            TlsCause.FAILED: f"check host and port in {self.address}, and the log of the server",
        }[fault.cause]


def tls_fault(error: BaseException) -> TlsFault | None:
    """The fault in an error of OpenSSL, or in one that a library wrapped; None for other errors."""
    faults = map(_fault, _wrapped(error))
    return next((each for each in faults if each is not None), None)


def _fault(error: BaseException) -> TlsFault | None:
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(error).mro()}
    if _ANOTHER_NAME in kinds:
        return TlsFault(TlsCause.UNTRUSTED, escaped(str(error)))
    if _OPENSSL not in kinds:
        return None
    told = getattr(error, "verify_message", None)
    if told is not None:
        return TlsFault(TlsCause.UNTRUSTED, escaped(str(told)).removesuffix("."))
    code = str(getattr(error, "reason", None) or "")
    words = escaped(code.replace("_", " ").lower())
    if _OLD.fullmatch(code):
        return TlsFault(TlsCause.OLD, words)
    if alert := _ALERT.fullmatch(code):
        return TlsFault(TlsCause.REJECTED, alert[1].replace("_", " ").lower())
    return TlsFault(TlsCause.NO_TLS if _NO_TLS.fullmatch(code) else TlsCause.FAILED, words)


def _wrapped(error: BaseException) -> Iterator[BaseException]:
    """An error, then those in it, from the outside in."""
    found, at = [error], 0
    while at < len(found):
        each = found[at]
        # An error of the system, such as a refused connection, may come while another is handled.
        is_own = isinstance(each, OSError) and each.errno is not None
        context = None if is_own else each.__context__
        inner = (*each.args, getattr(each, "reason", None), each.__cause__, context)
        known = {id(one) for one in found}
        found += [one for one in inner if isinstance(one, BaseException) and id(one) not in known]
        yield each
        at += 1
