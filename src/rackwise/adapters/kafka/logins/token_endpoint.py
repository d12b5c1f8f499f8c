"""A token from an issuer's token endpoint, for client credentials: id and secret over HTTPS.

The request is the one that Java's client sends: a POST of `grant_type=client_credentials`, with id
and secret in an `Authorization: Basic` header. The answer is a JSON object with `access_token`.

The time is bounded in all (`connect_s + read_s`), so that an endpoint that sends a byte now and
then holds nobody up. Redirects are not followed, and proxies of the environment are not used: both
would send the secret to another machine. A text of the endpoint is shown without the secret, the
header that has it, and the tokens of the answer.

Source: RFC 6749 2.3.1, 4.4 and 5.2; KIP-768, `ClientCredentialsJwtRetriever`.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, urlencode, urlsplit

from rackwise.adapters.clock import wall_clock_s
from rackwise.adapters.https import connected, reason_of, target_of
from rackwise.adapters.kafka.logins.keys import ENDPOINT_URL
from rackwise.adapters.kafka.logins.token import Token, read_token
from rackwise.core.errors import AuthenticationFailed, RackwiseError, Unreachable
from rackwise.core.json.strict import NotStrict, read_object
from rackwise.core.text import escaped
from rackwise.core.tls_faults import TlsCause, TlsHints, tls_fault

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from rackwise.core.secret import Secret

MAX_BYTES = 1 << 20
"""The longest answer, as Java's client."""
SHOWN = 200
"""Characters of an endpoint's text in a message."""

_OK = (200, 201)
_REDIRECTS = range(300, 400)
_LATER = (408, 425, 429)
_SERVER_ERRORS = 500
_CHECK_URL = f"check {ENDPOINT_URL} in the client settings"
_CHECK_SERVER = f"check that the endpoint runs and can be reached from here; else {_CHECK_URL}"
_TLS_HINTS = TlsHints(
    address=f"{ENDPOINT_URL} of the client settings",
    authority="name it in sasl.jaas.config, as Java does: "
    'ssl.truststore.type="PEM" ssl.truststore.location="/etc/ssl/issuer.pem"',
    own="name a certificate that the endpoint trusts in sasl.jaas.config: "
    'ssl.keystore.type="PEM" ssl.keystore.location="/etc/ssl/client.pem", and check its dates',
)
_CHECK_CREDENTIALS = (
    "check the client id, the client secret and the scope in the client settings; some issuers "
    "want sasl.oauthbearer.header.urlencode=true"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEndpoint:
    """An address, and what the endpoint asks for."""

    url: str = field(repr=False)
    """`https://HOST[:PORT]/PATH`; `http` for this machine alone."""
    client_id: str
    client_secret: Secret
    scope: str = ""
    encodes_header: bool = False
    """Whether id and secret are URL-encoded in the header, as RFC 6749 says."""
    connect_s: float
    read_s: float
    tls: ssl.SSLContext | None
    """None for `http`."""
    clock_s: Callable[[], float] = wall_clock_s

    reuses_tokens = True

    @property
    def name(self) -> str:
        """The address without its query, for messages."""
        parts = urlsplit(self.url)
        return escaped(f"{parts.scheme}://{parts.netloc}{parts.path}")

    def fetch(self) -> Token:
        """A new token.

        Raises `Unreachable` for an endpoint that does not answer or asks to come later, and
        `AuthenticationFailed` for every other answer that is no token.
        """
        status, headers, body = self._answer()
        if status not in _OK:
            raise self._rejected(status, headers, body)
        answer = _json_object(body)
        text = answer.get("access_token")
        if not isinstance(text, str):
            had = escaped(headers.get("content-type", "no type")[:SHOWN])
            raise self._failed(
                f"expected JSON with access_token, got {had}", had=had, hint=_CHECK_URL
            )
        lives_s = answer.get("expires_in")
        return read_token(
            text,
            now_s=self.clock_s(),
            origin=self.name,
            lives_s=lives_s if type(lives_s) in (int, float) else None,
        )

    def _answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers with names in lower case, body."""
        parts = urlsplit(self.url)
        whole_s = self.connect_s + self.read_s
        try:
            with connected(parts, self.tls, wait_s=self.connect_s, limit_s=whole_s) as connection:
                connection.sock.settimeout(self.read_s)
                connection.request("POST", target_of(parts), self._form(), self._headers())
                with connection.getresponse() as response:
                    body = response.read(MAX_BYTES + 1)
        except TimeoutError:
            raise self._silent(f"no answer within {whole_s:g} s") from None
        except (OSError, HTTPException, ValueError) as error:
            raise self._disconnected(error) from None
        if len(body) > MAX_BYTES:
            raise self._failed(
                f"expected at most {MAX_BYTES} bytes, got more", had="more", hint=_CHECK_URL
            )
        return response.status, {k.lower(): v for k, v in response.getheaders()}, body

    def _form(self) -> bytes:
        scope = {"scope": self.scope} if self.scope else {}
        return urlencode({"grant_type": "client_credentials", **scope}).encode()

    def _credentials(self) -> str:
        pair = [self.client_id, self.client_secret.reveal()]
        both = ":".join(map(quote_plus, pair) if self.encodes_header else pair)
        return base64.b64encode(both.encode()).decode()

    def _headers(self) -> dict[str, str]:
        return {
            "Accept": "application/json",
            "Authorization": f"Basic {self._credentials()}",
            "Cache-Control": "no-cache",
            "Content-Type": "application/x-www-form-urlencoded",
            "Connection": "close",
        }

    def _rejected(self, status: int, headers: Mapping[str, str], body: bytes) -> RackwiseError:
        if status in _REDIRECTS:
            # The address may have a secret of its own in its query.
            to = escaped(urlsplit(headers.get("location", "")).netloc[:SHOWN]) or "another path"
            return self._failed(
                f"expected a token, got a redirect to {to}",
                had=status,
                hint=f"redirects are not followed: set {ENDPOINT_URL} to the final address",
            )
        answer = _json_object(body)
        words = [answer.get(key) for key in ("error", "error_description")]
        said = ": ".join(self._without_secrets(word) for word in words if isinstance(word, str))
        text = f"got status {status}" + (f", {said}" if said else "")
        if status >= _SERVER_ERRORS or status in _LATER:
            return self._silent(text)
        is_oauth = isinstance(answer.get("error"), str)
        return self._failed(text, had=status, hint=_CHECK_CREDENTIALS if is_oauth else _CHECK_URL)

    def _without_secrets(self, text: str) -> str:
        secret = self.client_secret.reveal()
        forms = {secret, quote_plus(secret), quote(secret), quote(secret, safe="")}
        for form in {*forms, self._credentials()}:
            text = text.replace(form, "***") if form else text
        return escaped(text[:SHOWN])

    def _failed(self, reason: str, *, had: object, hint: str) -> AuthenticationFailed:
        return AuthenticationFailed(
            f"cannot get a token from {self.name}: {reason}", wanted="a token", had=had, hint=hint
        )

    def _silent(self, reason: str, *, hint: str = _CHECK_SERVER) -> Unreachable:
        return Unreachable(
            f"cannot get a token from {self.name}: {reason}",
            wanted="an answer",
            had=reason,
            hint=hint,
        )

    def _disconnected(self, error: Exception) -> RackwiseError:
        """The error of a connection that failed before an answer."""
        fault, reason = tls_fault(error), reason_of(error)
        hint = _TLS_HINTS.of(error, otherwise=_CHECK_SERVER)
        if fault is not None and fault.cause in {TlsCause.UNTRUSTED, TlsCause.REJECTED}:
            return self._failed(reason, had=fault.reason, hint=hint)
        return self._silent(reason, hint=hint)


def _json_object(body: bytes) -> dict[str, Any]:
    """The object in an answer; an empty one for anything else."""
    try:
        return read_object(body, most=MAX_BYTES)
    except NotStrict:
        return {}
