"""A token endpoint on its good and its bad days: one clear error, soon, and never the secret."""

from __future__ import annotations

import base64
import secrets
import socket
import ssl
from contextlib import closing
from urllib.parse import quote, quote_plus

import pytest

from kafka_pem import AUTHORITY, STRANGER
from rackwise.adapters.kafka.logins.token import LAST_S
from rackwise.adapters.kafka.logins.token_endpoint import MAX_BYTES, TokenEndpoint
from rackwise.core.errors import AuthenticationFailed, Unreachable
from rackwise.core.secret import Secret
from token_issuers import CLIENT, TokenIssuer

CANARY = f"canary: %+/{secrets.token_hex(8)}"
"""With characters that a header and a form encode."""
SOON_S = 0.5


@pytest.fixture
def issuer(tmp_path):
    with closing(TokenIssuer(tmp_path, CANARY)) as made:
        yield made


def endpoint(issuer, *, trusted=AUTHORITY, whole_s=10.0, **more):
    tls = ssl.create_default_context(cadata=trusted) if issuer.url.startswith("https") else None
    return TokenEndpoint(
        **{
            "url": issuer.url,
            "client_id": CLIENT,
            "client_secret": Secret(CANARY),
            "connect_s": whole_s / 2,
            "read_s": whole_s / 2,
            "tls": tls,
            **more,
        }
    )


def failure_of(asked):
    """The error of a fetch, in which no form of the secret is found."""
    with pytest.raises((AuthenticationFailed, Unreachable)) as caught:
        asked.fetch()
    error = caught.value
    shown = f"{error} {error.as_dict()} {error!r} {asked!r} {error.__cause__!r}"
    header = base64.b64encode(f"{CLIENT}:{CANARY}".encode()).decode()
    for form in (CANARY, quote_plus(CANARY), quote(CANARY), header, "canary"):
        assert form not in shown
    assert error.message.startswith(f"cannot get a token from {asked.name}: ") or (
        " token of " in error.message
    )
    assert error.hint
    assert error.message.isprintable()
    return error


def test_id_and_secret_go_in_a_header_and_the_scope_in_the_form(issuer):
    token = endpoint(issuer, scope="kafka write").fetch()
    assert token.text.reveal() == issuer.tokens[-1]
    assert issuer.asked == [
        (f"{CLIENT}:{CANARY}", {"grant_type": ["client_credentials"], "scope": ["kafka write"]})
    ]
    endpoint(issuer, encodes_header=True).fetch()
    assert issuer.asked[-1] == (
        f"{CLIENT}:{quote_plus(CANARY)}",
        {"grant_type": ["client_credentials"]},
    )


def test_a_query_in_the_address_is_sent_and_not_shown(issuer):
    asked = endpoint(issuer, url=issuer.url + "?tenant=canary")
    asked.fetch()
    issuer.mode = "busy"
    failure_of(asked)


def test_the_end_is_that_of_the_token_or_else_of_the_answer(issuer):
    issuer.lives_s = 100
    token = endpoint(issuer, clock_s=lambda: 1e9).fetch()
    assert token.ends_at_s > 1.7e9, "a JWT names its end itself"
    issuer.token = lambda: "opaque"
    assert endpoint(issuer, clock_s=lambda: 1000.0).fetch().ends_at_s == 1100


@pytest.mark.parametrize("lives_s", [-1e15, -1, 0])
def test_a_lifetime_that_is_over_is_an_expired_token(issuer, lives_s):
    issuer.token, issuer.lives_s = (lambda: "opaque"), lives_s
    found = failure_of(endpoint(issuer, clock_s=lambda: 1e9))
    assert "expired token of" in found.message
    assert "it ended at 2001-09-09T01:46:40Z" in found.message


@pytest.mark.parametrize("lives_s", [1e300, 10**18])
def test_a_lifetime_without_an_end_ends_with_the_last_date(issuer, lives_s):
    issuer.token, issuer.lives_s = (lambda: "opaque"), lives_s
    assert endpoint(issuer, clock_s=lambda: 1e9).fetch().ends_at_s == LAST_S


@pytest.mark.parametrize(
    ("mode", "error", "reason"),
    [
        ("html", AuthenticationFailed, "expected JSON with access_token, got text/html"),
        ("list", AuthenticationFailed, "expected JSON with access_token, got application/json"),
        ("no token", AuthenticationFailed, "expected JSON with access_token"),
        ("redirect", AuthenticationFailed, "got a redirect to login.test"),
        ("unknown path", AuthenticationFailed, "got status 404"),
        ("huge", AuthenticationFailed, f"expected at most {MAX_BYTES} bytes, got more"),
        ("expired", AuthenticationFailed, "it ended at 2023-11-14T22:13:20Z"),
        ("odd token", AuthenticationFailed, "invalid token of"),
        ("echo", AuthenticationFailed, "got status 400, invalid_request: secret *** of Basic ***"),
        ("busy", Unreachable, "got status 503"),
        ("closes", Unreachable, "the connection ended before an answer"),
    ],
)
def test_an_answer_that_is_no_token_is_one_error(issuer, mode, error, reason):
    issuer.mode = mode
    found = failure_of(endpoint(issuer))
    assert type(found) is error
    assert reason in found.message
    assert len(issuer.asked) == 1, "no redirect was followed, nothing was repeated"


@pytest.mark.parametrize("mode", ["hang", "drip", "endless"])
@pytest.mark.parametrize("is_encrypted", [True, False])
def test_an_endpoint_without_an_end_is_left_in_bounded_time(tmp_path, mode, is_encrypted):
    with closing(TokenIssuer(tmp_path, CANARY, is_encrypted=is_encrypted)) as issuer:
        issuer.mode = mode
        found = failure_of(endpoint(issuer, whole_s=SOON_S))
        assert isinstance(found, Unreachable)
        assert "answer within 0.5 s" in found.message


def test_an_endpoint_that_shakes_no_hands_is_left_in_bounded_time(issuer):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        asked = endpoint(
            issuer, url=f"https://127.0.0.1:{silent.getsockname()[1]}/", whole_s=SOON_S
        )
        assert isinstance(failure_of(asked), Unreachable)


@pytest.mark.parametrize("encoded", [quote, lambda text: quote(text, safe="")])
def test_a_secret_that_the_issuer_encoded_is_not_shown(issuer, encoded):
    issuer.mode = "says"
    issuer.said = {"error": "invalid_request", "error_description": f"got {encoded(CANARY)}"}
    assert "got status 400, invalid_request: got ***" in failure_of(endpoint(issuer)).message


def test_wrong_credentials_are_named_by_the_issuers_word(issuer):
    issuer.secret = CANARY[::-1]
    found = failure_of(endpoint(issuer))
    assert type(found) is AuthenticationFailed
    assert found.message.endswith("got status 401, invalid_client: Bad client credentials")
    assert "client secret" in found.hint


def test_a_certificate_of_a_stranger_gets_no_secret(issuer):
    found = failure_of(endpoint(issuer, trusted=STRANGER))
    assert "certificate is not trusted: self-signed certificate" in found.message
    assert 'ssl.truststore.location="/etc/ssl/issuer.pem"' in found.hint
    assert issuer.asked == []


def test_a_name_that_the_certificate_lacks_gets_no_secret(issuer):
    url = issuer.url.replace("127.0.0.1", "127.0.0.2")
    found = failure_of(endpoint(issuer, url=url))
    assert issuer.asked == []
    assert isinstance(found, AuthenticationFailed | Unreachable)


def test_an_endpoint_that_is_down_or_speaks_no_tls_is_unreachable(issuer, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    down = failure_of(endpoint(issuer, url=f"https://127.0.0.1:{port}/token"))
    assert "Connection refused" in down.message
    with closing(TokenIssuer(tmp_path, CANARY, is_encrypted=False)) as plain:
        found = failure_of(endpoint(issuer, url=plain.url.replace("http:", "https:")))
        assert "the server there does not use TLS" in found.message
        assert plain.asked == []
    assert isinstance(down, Unreachable)
    assert isinstance(found, Unreachable)
