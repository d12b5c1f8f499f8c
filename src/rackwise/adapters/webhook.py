"""Posts a JSON document to a webhook.

Goals, in order: the URL, which is a secret, is in no error; the call ends within a time limit; a
document counts as delivered only if the server says so (a status from 200 to 299).

The URL is `https://`, and certificates are verified against those of the system (`SSL_CERT_FILE`
names others). `http://` is accepted for a loopback address, where nobody else listens in. Redirects
are not followed: the document would go to a server that nobody named.

`https.connected` ends the whole call within its limit, from the look-up of the name on.

What this does not do: use a proxy; repeat a call.
"""

from __future__ import annotations

import json
import ssl
from http.client import HTTPException
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from rackwise.adapters.https import connected, is_this_machine, reason_of, target_of
from rackwise.adapters.secret_files import read_secret
from rackwise.core.errors import InvalidConfig, ServerRefused, Unreachable
from rackwise.core.fleet_file import REFERENCE, VARIABLE
from rackwise.core.secret import Secret
from rackwise.core.text import escaped
from rackwise.core.tls_faults import TlsHints

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT_S: Final = 20.0
"""Longest duration of a call."""
_MOST_URL: Final = 8_192
_STATUS_OK: Final = range(200, 300)
_HINT: Final = "the notices are kept and sent by the next run"
_CHECK: Final = "check the webhook, its URL and the network"
_TLS_HINTS: Final = TlsHints(
    address="the URL of the webhook",
    authority="set SSL_CERT_FILE to a PEM file with the authorities that you trust",
    own="use a webhook that asks for no client certificate: Rackwise has none to send",
)


def read_webhook(reference: str, *, environ: Mapping[str, str]) -> Secret:
    """The URL that a reference stands for: `${env:NAME}` or `${file:PATH}`.

    Raises `InvalidConfig` for another text, a reference without a value and a URL that cannot be
    called, and `SecretExposed` for the mode of the file. No error has the URL or the text that was
    given in its place.
    """
    found = REFERENCE.fullmatch(reference)
    kind, name = (found[1], found[2] or "") if found is not None else (None, "")
    if kind == "env" and VARIABLE.fullmatch(name):
        text = environ.get(name)
        if text is None:
            hint = f"set {escaped(name)} to the URL of the webhook"
            raise _invalid(reference, "a variable that is set", f"{name}, which is not set", hint)
    elif kind == "file" and "://" not in name:  # a URL in place of a path is not shown
        text = read_secret(
            name,
            what="--notify file",
            holds="the URL of a webhook",
            hint="write the URL alone into a file of mode 0600, and give its path",
            max_bytes=_MOST_URL,
        ).decode("utf-8", "replace")
    else:
        raise InvalidConfig(
            "invalid --notify: expected ${env:NAME} or ${file:PATH}, got another text",
            wanted="${env:NAME} or ${file:PATH}",
            had="another text",
            hint="the URL of a webhook is a secret: put it into a variable or a file, then give "
            "--notify '${env:NAME}' or --notify '${file:PATH}', in single quotes",
            where="--notify",
        )
    url = Secret(text.strip())
    _check(reference, url)
    return url


def post(url: Secret, document: Mapping[str, object], *, limit_s: float = LIMIT_S) -> None:
    """Send a document. Raises `Unreachable` and `ServerRefused`, without the URL."""
    parts = urlsplit(url.reveal())
    body = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "rackwise"}
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    try:
        with connected(parts, tls, wait_s=limit_s, limit_s=limit_s) as connection:
            connection.request("POST", target_of(parts), body, headers)
            status = connection.getresponse().status
    except TimeoutError:
        raise _unreachable(f"no answer within {limit_s:g} s") from None
    except (OSError, HTTPException, ValueError) as error:
        hint = _TLS_HINTS.of(error, otherwise=_CHECK)
        raise _unreachable(reason_of(error), hint=hint) from None
    if status not in _STATUS_OK:
        raise ServerRefused(
            f"the webhook rejected the notices with HTTP status {status}",
            wanted="a status from 200 to 299",
            had=str(status),
            hint=f"check the webhook and its URL; {_HINT}",
        )


def _check(reference: str, url: Secret) -> None:
    """Raise `InvalidConfig` for a URL that is not called."""
    text = url.reveal()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
        (host or "").encode("idna")
    except ValueError:
        host, parts = None, SplitResult("", "", "", "", "")
    is_plain = text.isascii() and text.isprintable() and " " not in text
    if not is_plain or not host or parts.username or parts.scheme not in {"http", "https"}:
        raise _invalid(reference, "a URL such as https://HOST/PATH in it", "another text")
    if parts.scheme == "http" and not is_this_machine(host):
        raise _invalid(reference, "an https:// URL in it", "http:// to another machine")


def _invalid(
    reference: str,
    wanted: str,
    had: str,
    hint: str = "copy the URL of the webhook again; it is never shown",
) -> InvalidConfig:
    return InvalidConfig(
        f"invalid --notify {escaped(reference)}: expected {wanted}, got {escaped(had)}",
        wanted=wanted,
        had=had,
        hint=hint,
        where="--notify",
    )


def _unreachable(why: str, *, hint: str = _CHECK) -> Unreachable:
    return Unreachable(
        f"the webhook did not take the notices: {why}",
        wanted="an answer",
        had=why,
        hint=f"{hint}; {_HINT}",
    )
