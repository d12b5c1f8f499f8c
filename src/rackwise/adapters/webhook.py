"""Posts a JSON document to a webhook.

Goals, in order: the URL, which is a secret, is in no error; the call ends within a time limit; a
document counts as delivered only if the server says so (a status from 200 to 299).

The URL is `https://`, and certificates are verified against those of the system (`SSL_CERT_FILE`
names others). `http://` is accepted for a loopback address, where nobody else listens in. Redirects
are not followed: the document would go to a server that nobody named.

Socket time limits hold for one read or write each. A timer ends the whole call: it shuts the
connection down, which ends a read that waits.

What this does not do: use a proxy; repeat a call.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import socket
import ssl
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from rackwise.adapters.files.bounded_read import read_bytes
from rackwise.core.errors import InvalidConfig, ServerRefused, Unreachable
from rackwise.core.fleet_file import REFERENCE
from rackwise.core.secret import Secret
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT_S: Final = 20.0
"""Longest duration of a call."""
_MOST_URL: Final = 8_192
_STATUS_OK: Final = range(200, 300)
_HINT: Final = "the notices are kept and sent by the next run"


def read_webhook(reference: str, *, environ: Mapping[str, str]) -> Secret:
    """The URL that a reference stands for: `${env:NAME}` or `${file:PATH}`.

    Raises `InvalidConfig` for another text, a reference without a value and a URL that cannot be
    called. No error has the URL or the text that was given in its place.
    """
    found = REFERENCE.fullmatch(reference)
    if found is None or found[1] is None:
        raise InvalidConfig(
            "invalid --notify: expected ${env:NAME} or ${file:PATH}, got another text",
            wanted="${env:NAME} or ${file:PATH}",
            had="another text",
            hint="the URL of a webhook is a secret: put it into a variable or a file, then give "
            "--notify '${env:NAME}' or --notify '${file:PATH}', in single quotes",
            where="--notify",
        )
    kind, name = found.groups()
    if kind == "env":
        text = environ.get(name)
        if text is None:
            raise _invalid(reference, "a variable that is set", f"{name}, which is not set")
    else:
        data = read_bytes(name, error=InvalidConfig, max_bytes=_MOST_URL)
        text = data.decode("utf-8", "replace")
    url = Secret(text.strip())
    _check(reference, url)
    return url


def post(url: Secret, document: Mapping[str, object], *, limit_s: float = LIMIT_S) -> None:
    """Send a document. Raises `Unreachable` and `ServerRefused`, without the URL."""
    parts = urlsplit(url.reveal())
    body = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "rackwise"}
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    late = threading.Event()
    try:
        with closing(_connection(parts, limit_s)) as connection:
            connection.connect()
            end = threading.Timer(limit_s, _shut_down, [connection.sock, late])
            end.daemon = True
            end.start()
            try:
                connection.request("POST", target, body, headers)
                status = connection.getresponse().status
            finally:
                end.cancel()
    except TimeoutError:
        raise _late(limit_s) from None
    except ssl.SSLCertVerificationError as error:
        raise _unreachable(f"its certificate is not valid: {error.verify_message}") from None
    except (OSError, http.client.HTTPException) as error:
        if late.is_set():
            raise _late(limit_s) from None
        why = error.strerror if isinstance(error, OSError) else None
        raise _unreachable(why or type(error).__name__) from None
    if late.is_set():
        raise _late(limit_s)  # the end of the connection ends an answer in the middle, as complete
    if status not in _STATUS_OK:
        raise ServerRefused(
            f"the webhook rejected the notices with HTTP status {status}",
            wanted="a status from 200 to 299",
            had=str(status),
            hint=f"check the webhook and its URL; {_HINT}",
        )


def _connection(parts: SplitResult, limit_s: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=limit_s)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(host, parts.port, timeout=limit_s, context=context)


def _shut_down(connected: socket.socket, late: threading.Event) -> None:
    late.set()
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def _check(reference: str, url: Secret) -> None:
    """Raise `InvalidConfig` for a URL that is not called."""
    text = url.reveal()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, SplitResult("", "", "", "", "")
    is_plain = text.isascii() and text.isprintable() and " " not in text
    if not is_plain or not host or parts.username or parts.scheme not in {"http", "https"}:
        raise _invalid(reference, "a URL such as https://HOST/PATH in it", "another text")
    if parts.scheme == "http" and not _is_loopback(host):
        raise _invalid(reference, "an https:// URL in it", "http:// to another machine")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _invalid(reference: str, wanted: str, had: str) -> InvalidConfig:
    return InvalidConfig(
        f"invalid --notify {escaped(reference)}: expected {wanted}, got {escaped(had)}",
        wanted=wanted,
        had=had,
        hint="copy the URL of the webhook again; it is never shown",
        where="--notify",
    )


def _late(limit_s: float) -> Unreachable:
    return _unreachable(f"no answer within {limit_s:g} s")


def _unreachable(why: str) -> Unreachable:
    return Unreachable(
        f"the webhook did not take the notices: {escaped(why)}",
        wanted="an answer",
        had=why,
        hint=f"check the webhook, its URL and the network; {_HINT}",
    )
