"""`rackwise serve` with `--oauth-jwks`, as people start it."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import closing

import pytest

from rackwise.adapters.files import write_snapshot
from refusals import check_refused
from rpc_logins import SaslSocket
from served_command import served
from small_clusters import small_cluster
from token_issuers import AUDIENCE, CLIENT, ISSUER, TokenIssuer

PLACE = "https://HOST/PATH without user name, or a file"
WORDS = ["--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE]


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    with closing(TokenIssuer(tmp_path_factory.mktemp("issuer"), "canary-secret")) as made:
        yield made


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "s.json"
    write_snapshot(small_cluster({0: "a", 1: "b", 2: "c"}, {"orders-0": [0, 1, 2]}), path)
    return path


def code_of(port, token):
    with closing(SaslSocket(port)) as client:
        assert client.begun("OAUTHBEARER") == 0
        code, _, data, _ = client.stepped(f"n,,\x01auth=Bearer {token}\x01\x01".encode())
        return client.stepped(b"\x01")[0] if data else code


def said_until(service, text):
    """The log up to the line with a text."""
    told = ""
    while text not in told:
        told += json.dumps(service.line())
    return told


def test_a_token_logs_in_and_is_in_no_output(issuer, snapshot, tmp_path):
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps(issuer.jwks()))
    good, bad = issuer.token(), issuer.token(aud="other")
    with served("--snapshot", snapshot, "--oauth-jwks", path, *WORDS) as service:
        port = service.first["port"]
        assert code_of(port, good) == 0
        told = said_until(service, f"User:{CLIENT}")
        assert code_of(port, bad) == 58
        told += said_until(service, "expected kafka, got 'other'")
        code, out, err = service.ended(signal.SIGTERM)
    assert code == 0
    for token in (good, bad):
        assert not any(part in told + out + err for part in token.split(".")[1:])


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ["--oauth-jwks", "keys.json"],
            "--oauth-jwks requires --oauth-issuer: expected a value, got none",
            "give --oauth-issuer; a token of another service must not let a client in",
        ),
        (
            ["--oauth-jwks", "keys.json", *WORDS, "--oauth-principal-claim", ""],
            "--oauth-jwks requires --oauth-principal-claim: expected a value, got none",
            "give --oauth-principal-claim; a token of another service must not let a client in",
        ),
        (
            ["--oauth-jwks", "http://issuer.test/jwks", *WORDS],
            f"invalid --oauth-jwks: expected {PLACE}, got another text",
            "give the jwks_uri of the issuer's OpenID configuration to --oauth-jwks",
        ),
        (
            ["--oauth-jwks", "missing.json", *WORDS],
            "cannot read JWKS missing.json: No such file or directory",
            "give the jwks_uri of the issuer's OpenID configuration to --oauth-jwks",
        ),
    ],
)
def test_options_that_let_nobody_in_are_refused(snapshot, words, message, hint):
    check_refused(["serve", "--snapshot", snapshot, *words], message, hint)


def test_without_pyjwt_the_extra_is_named(snapshot, monkeypatch):
    monkeypatch.setitem(sys.modules, "jwt", None)
    monkeypatch.delitem(sys.modules, "rackwise.adapters.rpc.logins.signatures", raising=False)
    check_refused(
        ["serve", "--snapshot", snapshot, "--oauth-jwks", "keys.json", *WORDS],
        "jwt is required to check tokens, but it is not installed",
        'pip install "rackwise[serve-oauth]"',
    )
