"""OAUTHBEARER against a real broker that checks each token with Kafka's own validator."""

from __future__ import annotations

import logging
import secrets
import threading
from contextlib import closing

import pytest
from kafka.protocol.metadata import MetadataRequest

from kafka_pem import AUTHORITY
from kafka_traffic import until
from oauth_brokers import MODULE, oauth_cluster, properties_of, settings_of
from rackwise.adapters.clients.kafka_python.records import Reach, ends
from rackwise.adapters.kafka import connect, read_client_config, read_cluster
from rackwise.adapters.kafka.connect import ask, send_in_turn
from rackwise.adapters.kafka.logins.token import Token
from rackwise.cli.main import run
from rackwise.core.errors import AuthenticationFailed, Unreachable
from rackwise.core.secret import Secret
from token_issuers import CLIENT, TokenIssuer

CANARY = secrets.token_hex(16)

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with closing(TokenIssuer(tmp_path_factory.mktemp("issuer"), CANARY)) as made:
        yield made


@pytest.fixture(scope="module")
def cluster(java_home, tmp_path_factory, served):
    with oauth_cluster(java_home, tmp_path_factory.mktemp("oauth"), served, brokers=1) as made:
        yield made


@pytest.fixture
def issuer(served):
    served.secret, served.mode, served.lives_s, served.claims = CANARY, "token", 3600, {}
    served.asked.clear()
    return served


def test_client_credentials_log_in_and_many_requests_need_one_token(cluster, issuer, tmp_path):
    with closing(connect(cluster.login, settings_of(issuer, tmp_path))) as admin:
        assert admin.describe_cluster()["brokers"][0]["rack"] == "a"
    assert len(issuer.asked) == 1


def test_the_jaas_form_of_java_logs_in(cluster, issuer, tmp_path):
    line = (
        f'{MODULE} clientId="{CLIENT}" clientSecret="{CANARY}" scope="kafka" '
        f'extension_logicalCluster="lkc-1" ssl.truststore.type="PEM" '
        f'ssl.truststore.location="{issuer.authority}";'
    )
    settings = settings_of(issuer, tmp_path) | {"sasl.jaas.config": Secret(line)}
    del settings["sasl.oauthbearer.client.credentials.client.id"]
    del settings["sasl.oauthbearer.client.credentials.client.secret"]
    connect(cluster.login, settings).close()
    assert issuer.asked[0][1]["scope"] == ["kafka"]


@pytest.mark.parametrize("names", ["client.", "client.credentials.client."])
def test_a_file_with_the_names_of_librdkafka_logs_in(cluster, issuer, tmp_path, names):
    trusted = tmp_path / "brokers-ca.pem"
    trusted.write_text(AUTHORITY)
    settings = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": issuer.url,
        f"sasl.oauthbearer.{names}id": CLIENT,
        f"sasl.oauthbearer.{names}secret": CANARY,
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1",
        "https.ca.location": str(issuer.authority),
        "ssl.ca.location": str(trusted),
    }
    path = tmp_path / "client.properties"
    path.touch(0o600)
    path.write_text(properties_of(settings))
    read = read_client_config(path, environ={})
    assert not secrets_in(repr(read), issuer)
    connect(cluster.login, read).close()
    assert issuer.asked[0][1]["scope"] == ["kafka"]
    path.write_text(properties_of(settings | {f"sasl.oauthbearer.{names}secret": "rotated"}))
    with pytest.raises(AuthenticationFailed, match="got status 401") as caught:
        connect(cluster.login, read_client_config(path, environ={}))
    assert "rotated" not in str(caught.value.as_dict())


def test_a_token_file_logs_in_and_is_read_again_at_each_login(cluster, issuer, tmp_path):
    path = tmp_path / "token"
    settings = settings_of(issuer, tmp_path) | {
        "sasl.oauthbearer.token.endpoint.url": f"file:{path}"
    }
    for _ in range(2):
        path.write_text(issuer.token() + "\n")
        connect(cluster.login, settings).close()
    path.write_text(issuer.token(exp=1_700_000_000))
    with pytest.raises(AuthenticationFailed, match="it ended at 2023-11-14T22:13:20Z"):
        connect(cluster.login, settings)
    assert issuer.asked == []


def test_a_token_that_the_broker_rejects_ends_soon(cluster, issuer, tmp_path):
    issuer.claims = {"aud": "another"}
    with pytest.raises(AuthenticationFailed, match="the cluster rejected the login") as caught:
        connect(cluster.login, settings_of(issuer, tmp_path), timeout_s=3600)
    assert "issuer, audience and scope" in caught.value.hint
    assert not secrets_in(str(caught.value.as_dict()), issuer)


def test_a_wrong_secret_ends_before_a_broker_is_asked(issuer, tmp_path):
    settings = settings_of(issuer, tmp_path)
    issuer.secret = "rotated"  # noqa: S105 (the issuer's, not ours)
    with pytest.raises(AuthenticationFailed, match="got status 401, invalid_client"):
        connect("127.0.0.1:1", settings)


@pytest.mark.parametrize(
    ("mode", "error"),
    [("hang", Unreachable), ("html", AuthenticationFailed), ("redirect", AuthenticationFailed)],
)
def test_a_bad_day_of_the_issuer_ends_before_a_broker_is_asked(issuer, tmp_path, mode, error):
    issuer.mode = mode
    settings = settings_of(issuer, tmp_path) | {
        "sasl.login.connect.timeout.ms": "200",
        "sasl.login.read.timeout.ms": "200",
    }
    with pytest.raises(error, match=r"cannot get a token from https://127\.0\.0\.1"):
        connect("127.0.0.1:1", settings)


def test_tokens_are_renewed_on_the_same_connection_before_they_end(cluster, issuer, tmp_path):
    """KIP-368: the broker ends a session with its token, and the client logs in before."""
    issuer.lives_s = 3
    with closing(connect(cluster.login, settings_of(issuer, tmp_path))) as admin:
        admin.describe_cluster()
        (before,) = connections_of(admin)
        until(
            lambda: admin.describe_cluster() and len(issuer.asked) > 3,
            "some tokens to end, while requests are answered",
        )
        assert before in connections_of(admin)
        assert before.connected


def test_a_signing_key_that_is_replaced_costs_one_more_login(cluster, issuer, tmp_path):
    """The broker reads the new keys when it sees the first token of the new key."""
    with closing(connect(cluster.login, settings_of(issuer, tmp_path))) as admin:
        issuer.rotate()
        drop(admin)
        look = lambda: ask(admin, admin.describe_cluster, doing="look")  # noqa: E731
        assert look()["brokers"]
        admin._manager.config["sasl_oauth_token_provider"].forget()
        drop(admin)
        until(lambda: accepted(look), "the broker to read the new keys")
        drop(admin)
        assert look()["brokers"]


def test_an_older_token_that_is_rejected_is_replaced(cluster, issuer, tmp_path):
    with closing(connect(cluster.login, settings_of(issuer, tmp_path))) as admin:
        admin.describe_cluster()
        tokens = admin._manager.config["sasl_oauth_token_provider"]
        tokens._kept = Token(Secret(issuer.token(aud="revoked")), tokens._kept.ends_at_s)
        drop(admin)
        assert ask(admin, admin.describe_cluster, doing="look")["brokers"]
        assert len(issuer.asked) == 2
        issuer.claims = {"aud": "another"}
        tokens._kept = Token(Secret(issuer.token()), tokens._kept.ends_at_s)
        drop(admin)
        with pytest.raises(AuthenticationFailed, match="the cluster rejected the login"):
            ask(admin, admin.describe_cluster, doing="look")
        issuer.claims = {}
        assert ask(admin, admin.describe_cluster, doing="look")["brokers"], "it may try later"


def test_an_issuer_that_is_down_for_a_moment_is_waited_for(cluster, issuer, tmp_path):
    with closing(connect(cluster.login, settings_of(issuer, tmp_path))) as admin:
        admin._manager.config["sasl_oauth_token_provider"].forget()
        issuer.mode = "busy"
        drop(admin)
        (answer,) = send_in_turn(admin, {0: [MetadataRequest(topics=[])]})[0]
        assert "got status 503" in str(answer.message)
        recovery = threading.Timer(1, setattr, (issuer, "mode", "token"))
        recovery.start()
        assert ask(admin, admin.describe_cluster, doing="look")["brokers"]
        recovery.join()


def test_the_reader_of_telemetry_logs_in_with_the_same_file(cluster, issuer, tmp_path):
    path = tmp_path / "client.properties"
    path.touch(0o600)
    path.write_text(properties_of(settings_of(issuer, tmp_path)))
    with closing(connect(cluster.bootstrap)) as admin:
        admin.create_topics({"read": {"num_partitions": 2, "replication_factor": 1}})
    reach = Reach(bootstrap=cluster.login, command_config=str(path))
    assert ends(reach, "read") == {0: (0, 0), 1: (0, 0)}
    issuer.mode = "html"
    with pytest.raises(AuthenticationFailed, match="got text/html"):
        ends(reach, "read")


def test_secret_and_token_are_in_no_log_and_no_message(cluster, issuer, tmp_path, caplog):
    for name in (
        None,
        "kafka",
        "kafka.net.connection",
        "kafka.net.sasl.oauth",
        "kafka.protocol.parser",
    ):
        caplog.set_level(logging.DEBUG, name)
    settings = settings_of(issuer, tmp_path)
    with closing(connect(cluster.login, settings)) as admin:
        admin.describe_cluster()
    issuer.claims = {"aud": "another"}
    with pytest.raises(AuthenticationFailed) as caught:
        connect(cluster.login, settings)
    shown = caplog.text + str(caught.value.as_dict()) + repr(caught.value) + repr(settings)
    assert not secrets_in(shown, issuer)
    assert "kafka.net" in {record.name[:9] for record in caplog.records}


@pytest.fixture
def rackwise(capsys, tmp_path, issuer, cluster, monkeypatch):
    """Run a command with a login: its exit code, stdout and stderr, without a secret in them."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "client.properties"
    path.touch(0o600)
    path.write_text(properties_of(settings_of(issuer, tmp_path)))

    def call(*words):
        code = run([*words, "--bootstrap-server", cluster.login, "--command-config", str(path)])
        captured = capsys.readouterr()
        assert not secrets_in(captured.out + captured.err, issuer)
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize(
    "words",
    [("snapshot", "--out", "today.json.gz"), ("audit",), ("doctor", "--client-rack", "a")],
    ids=lambda words: words[0],
)
def test_every_command_logs_in_and_shows_no_secret(issuer, rackwise, words):
    code, out, err = rackwise(*words, "--debug")
    assert code in {0, 2}, (out, err)
    assert issuer.asked
    issuer.mode = "echo"
    code, out, err = rackwise(*words, "--debug")
    assert (code, out) == (1, "")
    assert "got status 400, invalid_request: secret *** of Basic *** is wrong" in err


def test_a_snapshot_goes_on_when_its_token_is_revoked_in_the_middle(cluster, issuer, tmp_path):
    """Its connections end, its token is taken no more, and the signing key is a new one."""
    with closing(connect(cluster.login, settings_of(issuer, tmp_path))) as admin:
        tokens = admin._manager.config["sasl_oauth_token_provider"]
        done = []

        def progress(*seen):
            done.append(seen)
            if len(done) == 2:
                issuer.rotate()
                tokens._kept = Token(Secret(issuer.token(aud="revoked")), tokens._kept.ends_at_s)
                for each in connections_of(admin):
                    admin._manager.call_soon(each.close)

        found = read_cluster(admin, taken_at="2026-11-01T00:00:00Z", progress=progress)
        assert len(done) > 2
        assert found.brokers
        assert found.notes == ()


def secrets_in(text, issuer):
    return [each for each in (CANARY, *issuer.tokens) if each in text or each[-40:] in text]


def connections_of(admin):
    return [each for each in admin._manager._conns.values() if each.connected]


def drop(admin):
    """Close the connections, as a broker that restarts does."""
    admin._manager.call_soon(lambda: [each.close() for each in connections_of(admin)])
    until(lambda: not connections_of(admin), "the connections to end")


def accepted(look):
    try:
        return look()
    except AuthenticationFailed:
        return None
