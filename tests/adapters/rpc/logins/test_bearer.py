"""Logins with tokens at the service, by Kafka's own clients and by hostile ones."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from contextlib import closing
from dataclasses import replace

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from oauth_brokers import settings_of
from rackwise.adapters.clock import wall_clock_s
from rackwise.adapters.kafka import connect_as
from rackwise.adapters.rpc.client import ReplicaAssignmentClient
from rackwise.adapters.rpc.config import Guards, LoginConfig, OAuthConfig
from rackwise.adapters.rpc.logins.changing_file import RETRY_S
from rackwise.adapters.rpc.logins.key_endpoint import KeyEndpoint, KeyFile
from rackwise.core.errors import AuthenticationFailed, InvalidConfig
from rackwise.core.sasl.key_freshness import FRESH_S, KEPT_S, PAUSE_S
from rackwise.core.sasl.token_claims import TokenRules
from rackwise.core.sasl.tokens import read_token_header
from rpc_logins import SaslSocket, scram_file
from rpc_servers import PATIENCE_S, eventually, received, response_of, running
from service_frames import assignment, framed
from token_issuers import AUDIENCE, CLIENT, ISSUER, TokenIssuer, encoded

STATUS = b'{"status":"invalid_token"}'
RULES = TokenRules(issuer=ISSUER, audience=AUDIENCE)
GUARDS = Guards(login_s=PATIENCE_S, login_pause_s=0.0)


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    with closing(TokenIssuer(tmp_path_factory.mktemp("issuer"), "canary-secret")) as made:
        yield made


@pytest.fixture
def own_issuer(tmp_path, monkeypatch):
    """An issuer that the test may change; the others' server knows the first one's keys."""
    folder = tmp_path / "issuer"
    folder.mkdir()
    with closing(TokenIssuer(folder, "canary-secret")) as made:
        monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
        yield made


@pytest.fixture(scope="module")
def shared(issuer):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(issuer.authority))
        logins = LoginConfig(oauth=OAuthConfig(jwks=issuer.jwks_url, rules=RULES))
        allowed = frozenset([f"User:{CLIENT}"])
        with running(logins=logins, guards=GUARDS, allowed=allowed) as made:
            yield made


def message(token, *, header="n,,", scheme="Bearer"):
    return f"{header}\x01auth={scheme} {token}\x01\x01".encode()


def login(port, token, **more):
    """The answers to the messages of a login: one, or two after a failure."""
    with closing(SaslSocket(port)) as client:
        assert client.begun("OAUTHBEARER") == 0
        first = client.stepped(message(token, **more))
        if first[:1] != (0,) or not first[2]:
            return [first]
        second = client.stepped(b"\x01")
        assert received(client.sock) is None
        return [first, second]


class TestKafkasClients:
    def test_kafka_python_logs_in_and_gets_rows(self, shared, issuer, tmp_path):
        settings = settings_of(issuer, tmp_path) | {"security.protocol": "SASL_PLAINTEXT"}
        settings = {k: v for k, v in settings.items() if not k.startswith("ssl.")}
        with closing(connect_as(ReplicaAssignmentClient, shared.bootstrap, settings)) as admin:
            rows = admin.create_replica_assignment(5, 3).assignments().result(PATIENCE_S)
        assert len(rows) == 5
        assert shared.told("request")[-1]["principal"] == f"User:{CLIENT}"
        issuer.claims = {"aud": "another"}
        try:
            with pytest.raises(AuthenticationFailed):
                connect_as(ReplicaAssignmentClient, shared.bootstrap, settings)
        finally:
            issuer.claims = {}

    def test_librdkafka_lists_the_service(self, shared, issuer):
        def admin(token):
            made = AdminClient(
                {
                    "bootstrap.servers": shared.bootstrap,
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanism": "OAUTHBEARER",
                    "oauth_cb": lambda _: (token, wall_clock_s() + 3600),
                }
            )
            made.poll(0)
            return made

        assert [*admin(issuer.token()).list_topics(timeout=PATIENCE_S).brokers] == [0]
        before = shared.closed_by("login")
        with pytest.raises(KafkaException):
            admin(issuer.token(iss="other")).list_topics(timeout=1)
        eventually(lambda: shared.closed_by("login") > before)


def unsigned(issuer, algorithm, *, key=None, **head):
    """A token of another algorithm: without a signature, or with the public key as a secret."""
    now = int(wall_clock_s())
    body = {"iss": ISSUER, "aud": AUDIENCE, "sub": CLIENT, "iat": now, "exp": now + 60}
    head = {"alg": algorithm, "kid": issuer.kid, **head}
    signed = ".".join(encoded(json.dumps(each).encode()) for each in (head, body))
    made = b"x" if key is None else hmac.digest(key, signed.encode(), hashlib.sha256)
    return f"{signed}.{encoded(made)}"


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1_700_000_000},
        {"iss": "https://other.test"},
        {"aud": "other"},
        {"aud": ["other"]},
        {"nbf": 4_000_000_000},
        {"iat": 4_000_000_000},
        {"exp": None},
        {"sub": ""},
        {"sub": "a\nb"},
    ],
)
def test_a_token_with_wrong_claims_is_refused_as_kafka_does(shared, issuer, claims):
    first, second = login(shared.port, issuer.token(**claims))
    assert first in ((0, "", STATUS, 0), (0, None, STATUS, 0))
    assert second == (58, STATUS.decode(), b"", 0)


def test_forged_tokens_are_refused(shared, issuer):
    good = issuer.token()
    head, body, signature = good.split(".")
    public = base64.urlsafe_b64decode(issuer.jwks()["keys"][0]["n"] + "==")
    forged = [
        unsigned(issuer, "none"),
        unsigned(issuer, "HS256", key=public),
        unsigned(issuer, "RS256", key=public),
        unsigned(issuer, "RS256", kid="unknown"),
        unsigned(issuer, "RS256", crit=["b64"], b64=False),
        f"{head}.{body}.{encoded(b'x' * 256)}",
        f"{head}.{encoded(b'{}')}.{signature}",
    ]
    for token in forged:
        assert login(shared.port, token)[-1][:2] == (58, STATUS.decode())
    assert login(shared.port, good)[0][0] == 0
    assert login(shared.port, good, header=f"n,a={CLIENT},")[0][2] == b""
    assert login(shared.port, good, header="n,a=root,")[-1][0] == 58
    told = json.dumps(shared.lines)
    assert not any(part in told for token in [*forged, good] for part in token.split(".")[1:])


def test_a_second_token_after_a_failure_is_not_tried(shared, issuer):
    with closing(SaslSocket(shared.port)) as client:
        assert client.begun("OAUTHBEARER") == 0
        assert client.stepped(message("a.b.c"))[2] == STATUS
        assert client.stepped(message(issuer.token()))[0] == 58
        assert received(client.sock) is None


def test_a_principal_that_is_not_allowed_gets_no_rows(shared, issuer):
    with closing(SaslSocket(shared.port)) as client:
        assert client.begun("OAUTHBEARER") == 0
        assert client.stepped(message(issuer.token(sub="bob")))[0] == 0
        assert response_of(client.sent(framed(assignment(5, 3))))[1].error_code == 31


def test_a_session_ends_with_its_token_and_another_user_cannot_take_it(shared, issuer, monkeypatch):
    monkeypatch.setattr("rackwise.core.sasl.gate.AGAIN_S", 0.0)
    with closing(SaslSocket(shared.port)) as client:
        for lives_s in (600, 60):
            assert client.begun("OAUTHBEARER") == 0
            token = issuer.token(exp=int(wall_clock_s()) + lives_s)
            code, _, _, lifetime = client.stepped(message(token))
            assert code == 0
            assert 0 < lifetime <= lives_s * 1000
        assert client.begun("OAUTHBEARER") == 0
        assert client.stepped(message(issuer.token(sub="bob")))[0] == 58
        assert received(client.sock) is None


def test_a_token_with_the_name_of_a_scram_user_is_refused(issuer, tmp_path):
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps(issuer.jwks()))
    logins = LoginConfig(
        scram_users=scram_file(tmp_path), oauth=OAuthConfig(jwks=str(path), rules=RULES)
    )
    with running(logins=logins, guards=GUARDS) as server:
        assert login(server.port, issuer.token(sub="alice"))[-1][0] == 58
        assert login(server.port, issuer.token())[-1][0] == 0


def test_a_key_that_is_rotated_is_fetched_by_its_first_token(own_issuer, monkeypatch):
    monkeypatch.setattr("rackwise.core.sasl.key_freshness.PAUSE_S", 0.0)
    logins = LoginConfig(oauth=OAuthConfig(jwks=own_issuer.jwks_url, rules=RULES))
    with running(logins=logins, guards=GUARDS) as server:
        old = own_issuer.token()
        assert login(server.port, old)[-1][0] == 0
        own_issuer.rotate()
        assert login(server.port, own_issuer.token())[-1][0] == 0
        assert login(server.port, old)[-1][0] == 58


def test_a_refused_token_is_answered_after_the_pause(issuer, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(issuer.authority))
    logins = LoginConfig(oauth=OAuthConfig(jwks=issuer.jwks_url, rules=RULES))
    pause_s = 0.3
    with (
        running(logins=logins, guards=replace(GUARDS, login_pause_s=pause_s)) as server,
        closing(SaslSocket(server.port)) as client,
    ):
        assert client.begun("OAUTHBEARER") == 0
        begun_s = time.monotonic()
        assert client.stepped(message("a.b.c"))[2] == STATUS
        assert time.monotonic() - begun_s >= pause_s


def test_an_issuer_that_removed_all_keys_lets_nobody_in(issuer, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(issuer.authority))
    lines, now = [], [0.0]
    keys = KeyEndpoint(issuer.jwks_url, lambda **line: lines.append(line), clock_s=lambda: now[0])
    header = read_token_header(issuer.token())
    assert len(asyncio.run(keys.find(header))) == 1
    monkeypatch.setattr(issuer, "jwks", lambda: {"keys": []})
    now[0] = FRESH_S
    assert asyncio.run(keys.find(header)) == ()
    assert lines == [{"type": "read", "keys": 0}]


class TestKeyFile:
    def header(self, issuer):
        return read_token_header(issuer.token())

    def test_a_file_that_is_gone_keeps_its_keys_for_an_hour(self, issuer, tmp_path):
        path, lines, now = tmp_path / "jwks.json", [], [0.0]
        path.write_text(json.dumps(issuer.jwks()))
        keys = KeyFile(path, lambda **line: lines.append(line), clock_s=lambda: now[0])
        path.unlink()
        assert len(asyncio.run(keys.find(self.header(issuer)))) == 1
        now[0] = KEPT_S - 1
        assert len(asyncio.run(keys.find(self.header(issuer)))) == 1
        now[0] = KEPT_S
        assert asyncio.run(keys.find(self.header(issuer))) == ()
        path.write_text(json.dumps(issuer.jwks()))
        now[0] += RETRY_S
        assert len(asyncio.run(keys.find(self.header(issuer)))) == 1
        assert [line.get("keys") for line in lines] == [None, 1]

    def test_a_file_whose_keys_are_removed_lets_nobody_in(self, issuer, tmp_path):
        path = tmp_path / "jwks.json"
        path.write_text(json.dumps(issuer.jwks()))
        keys = KeyFile(path, lambda **_: None)
        path.write_text('{"keys":[]}')
        assert asyncio.run(keys.find(self.header(issuer))) == ()
        with pytest.raises(InvalidConfig, match="at least one public"):
            KeyFile(path, lambda **_: None)


def test_a_call_that_fails_in_any_way_counts_for_the_pause(issuer, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(issuer.authority))
    lines, now, calls = [], [0.0], []
    keys = KeyEndpoint(issuer.jwks_url, lambda **line: lines.append(line), clock_s=lambda: now[0])
    known = read_token_header(issuer.token())
    unknown = replace(known, key_id="unknown")

    def failing(_):
        calls.append(now[0])
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("rackwise.adapters.rpc.logins.key_endpoint.fetch_keys", failing)

    async def both():
        return await keys.find(unknown), await keys.find(known)

    for now[0] in (PAUSE_S, PAUSE_S + 1, 2 * PAUSE_S):
        none, found = asyncio.run(both())
        assert none == ()
        assert len(found) == 1
    assert calls == [PAUSE_S, 2 * PAUSE_S]
    assert {line["error"] for line in lines} == {"RuntimeError"}
