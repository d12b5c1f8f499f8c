"""The keys of an issuer whose endpoint fails, and those of curves."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import closing

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from rackwise.adapters.clock import wall_clock_s
from rackwise.adapters.rpc.logins.bearer import TokenJudge
from rackwise.adapters.rpc.logins.key_endpoint import KeyEndpoint, KeyFile, fetch_keys
from rackwise.core.errors import InvalidConfig, Unreachable
from rackwise.core.sasl.key_freshness import KEPT_S
from rackwise.core.sasl.outcome import Accepted, Rejected
from rackwise.core.sasl.token_claims import TokenRules
from rackwise.core.sasl.tokens import read_token_header
from token_issuers import AUDIENCE, ISSUER, TokenIssuer

CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


@pytest.fixture
def issuer(tmp_path, monkeypatch):
    with closing(TokenIssuer(tmp_path, "canary-secret")) as made:
        monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
        yield made


@pytest.mark.parametrize(
    ("status", "body", "error", "said"),
    [
        (302, b"", Unreachable, "status 302: redirects are not followed"),
        (503, b"", Unreachable, "status 503"),
        (200, b"<html>log in</html>", InvalidConfig, "expected a JSON object with keys"),
    ],
)
def test_an_answer_that_is_no_jwks_is_an_error(issuer, monkeypatch, status, body, error, said):
    monkeypatch.setattr(
        issuer,
        "answer",
        lambda request, *_: TokenIssuer.answer(
            issuer, request, status, body, Location="https://other.test/jwks"
        ),
    )
    with pytest.raises(error, match=said):
        fetch_keys(issuer.jwks_url)


def test_an_endpoint_that_hangs_ends_at_the_limit(issuer, monkeypatch):
    monkeypatch.setattr(issuer, "answer", lambda *_: issuer.released.wait())
    with pytest.raises(Unreachable, match=r"no answer within 0\.5 s"):
        fetch_keys(issuer.jwks_url, limit_s=0.5)


def test_a_certificate_of_an_unknown_authority_is_not_trusted(issuer, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(Unreachable, match="its certificate is not trusted") as caught:
        fetch_keys(issuer.jwks_url)
    assert "SSL_CERT_FILE" in caught.value.hint


def test_an_endpoint_that_is_down_ends_the_start():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(Unreachable, match="Connection refused"):
            KeyEndpoint(f"https://127.0.0.1:{port}/jwks", lambda **_: None)


def test_keys_are_used_for_an_hour_while_the_endpoint_fails(issuer, monkeypatch):
    now, lines = [0.0], []
    keys = KeyEndpoint(issuer.jwks_url, lambda **line: lines.append(line), clock_s=lambda: now[0])
    header = read_token_header(issuer.token())
    monkeypatch.setattr(issuer, "answer", lambda request, *_: request.send_error(503))
    for now[0] in (300.0, 1000.0, KEPT_S - 1):
        assert len(asyncio.run(keys.find(header))) == 1
    now[0] = KEPT_S + 10
    assert asyncio.run(keys.find(header)) == ()
    assert {line["error"] for line in lines} == {"Unreachable"}


@pytest.mark.parametrize("algorithm", CURVES)
def test_a_token_signed_on_a_curve_is_checked(tmp_path, algorithm):
    """PyJWT signs: its encoding of the key and the signature is not ours."""
    key, other = (ec.generate_private_key(CURVES[algorithm]) for _ in range(2))
    path = tmp_path / "jwks.json"
    made = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    path.write_text(json.dumps({"keys": [made | {"kid": "a"}]}))
    judge = TokenJudge(
        rules=TokenRules(issuer=ISSUER, audience=AUDIENCE),
        keys=KeyFile(path, lambda **_: None),
        is_taken=lambda _: False,
    )
    now = int(wall_clock_s())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 600}

    def judged(signer):
        token = jwt.encode(claims, signer, algorithm, headers={"kid": "a"})
        return asyncio.run(judge.check(token))

    found = judged(key)
    assert isinstance(found, Accepted)
    assert found.user == "alice"
    assert judged(other) == Rejected("no key of the JWKS signed the token")
