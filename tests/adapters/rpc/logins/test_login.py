"""Logins of clients at the service, by Kafka's own clients and by hostile ones."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack, closing

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from rackwise.adapters.files import write_snapshot
from rackwise.adapters.kafka import connect_as
from rackwise.adapters.rpc.client import ReplicaAssignmentClient
from rackwise.adapters.rpc.config import Guards, LoginConfig, ServeConfig, Tls, listening_socket
from rackwise.adapters.rpc.logins import changing_file
from rackwise.adapters.rpc.logins import users as users_module
from rackwise.core.errors import AuthenticationFailed, InvalidConfig, ServerRefused
from rackwise.core.json.strict import parse
from rackwise.core.sasl.scram_credentials import HASHES
from rackwise.core.secret import Secret
from refusals import called
from rpc_logins import USERS, SaslSocket, authenticate, handshake, handshake_code, scram_file
from rpc_servers import PATIENCE_S, eventually, received, response_of, running
from service_frames import assignment, framed, header
from small_clusters import small_cluster


def received_or_closed(client, data):
    """The answer to these bytes; None if the server has closed."""
    try:
        client.sock.sendall(data)
        return received(client.sock)
    except OSError:
        return None


GOOD = framed(assignment(12, 3))
VERSIONS = framed(header(18, 0, version=1))
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    return scram_file(tmp_path_factory.mktemp("users"))


@pytest.fixture(scope="module")
def shared(users):
    config, guards = LoginConfig(scram_users=users), Guards(login_s=PATIENCE_S)
    with running(logins=config, guards=guards, allowed=frozenset(["User:alice"])) as made:
        yield made


@pytest.fixture
def client(shared):
    with closing(SaslSocket(shared.port)) as made:
        yield made


def settings(user, password, mechanism="SCRAM-SHA-512"):
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": Secret(f'{MODULE} username="{user}" password="{password}";'),
    }


@pytest.mark.parametrize("mechanism", HASHES)
class TestKafkasClients:
    def test_ours_logs_in_and_gets_rows(self, shared, mechanism):
        login = settings("alice", USERS["alice"], mechanism)
        with closing(connect_as(ReplicaAssignmentClient, shared.bootstrap, login)) as admin:
            rows = admin.create_replica_assignment(5, 3).assignments().result(PATIENCE_S)
        assert len(rows) == 5
        assert shared.told("login")[-1]["mechanism"] == mechanism
        assert shared.told("request")[-1]["principal"] == "User:alice"

    def test_ours_says_that_a_password_is_wrong(self, shared, mechanism):
        with pytest.raises(AuthenticationFailed):
            connect_as(
                ReplicaAssignmentClient,
                shared.bootstrap,
                settings("alice", "wrong-canary", mechanism),
            )

    def test_librdkafka_lists_the_service(self, shared, mechanism):
        config = {
            "bootstrap.servers": shared.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": "bob",
        }
        admin = AdminClient({**config, "sasl.password": USERS["bob"]})
        assert [*admin.list_topics(timeout=PATIENCE_S).brokers] == [0]
        before = shared.closed_by("login")
        admin = AdminClient({**config, "sasl.password": "wrong-canary"})
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=1)
        eventually(lambda: shared.closed_by("login") > before)


def test_the_list_of_principals_decides_who_may_ask(shared, client):
    login = settings("bob", USERS["bob"])
    with closing(connect_as(ReplicaAssignmentClient, shared.bootstrap, login)) as admin:
        result = admin.create_replica_assignment(5, 3).assignments()
        with pytest.raises(ServerRefused, match="User:bob may not request placements") as refused:
            result.result(PATIENCE_S)
    assert refused.value.code == 31
    assert client.scram("alice", USERS["alice"])[0] == 0
    assert response_of(client.sent(GOOD))[1].error_code == 0


class TestRefused:
    def test_an_unknown_user_cannot_be_told_from_a_wrong_password(self, shared):
        seen, salts = [], []
        for user in ("alice", "nobody", "nobody", "alice"):
            with closing(SaslSocket(shared.port)) as client:
                seen.append(client.scram(user, "wrong-canary"))
                parts = client.server_first.split(",")
                salts.append((user, parts[1], parts[2], len(parts[0])))
                assert received(client.sock) is None
        code, message, data, lifetime = seen[0]
        assert (code, data, lifetime) == (58, b"", 0)
        assert message == (
            "Authentication failed during authentication due to invalid credentials with SASL "
            "mechanism SCRAM-SHA-512"
        )
        assert len(set(seen)) == 1
        assert len(set(salts)) == 2
        assert len({(len(salt), rounds, size) for _, salt, rounds, size in salts}) == 1

    def test_messages_of_another_login_are_refused(self, shared, client):
        assert client.scram("alice", USERS["alice"])[0] == 0
        with closing(SaslSocket(shared.port)) as thief:
            assert thief.begun("SCRAM-SHA-512") == 0
            assert thief.stepped(b"n,,n=alice,r=abcdefghijklmnop")[0] == 0
            assert thief.stepped(client.final)[0] == 58
            assert received(thief.sock) is None

    @pytest.mark.parametrize("mechanism", ["PLAIN", "scram-sha-512", "", "OAUTHBEARER"])
    def test_another_mechanism_is_refused_with_those_that_are_offered(self, client, mechanism):
        assert handshake_code(client.sent(handshake(mechanism))) == (33, [*HASHES])
        assert received(client.sock) is None

    def test_a_second_handshake_ends_the_login(self, client):
        assert client.begun("SCRAM-SHA-512") == 0
        assert client.begun("SCRAM-SHA-512") == 34
        assert received(client.sock) is None

    @pytest.mark.parametrize(
        "frame",
        [GOOD, authenticate(b"n,,n=alice,r=a"), framed(header(3, 1, version=1) + b"\xff" * 4)],
    )
    def test_a_request_before_the_login_is_closed(self, client, frame):
        assert client.sent(VERSIONS)
        assert client.sent(frame) is None

    def test_a_request_in_the_middle_of_a_login_is_closed(self, client):
        assert client.begun("SCRAM-SHA-512") == 0
        assert client.sent(VERSIONS) is None

    @pytest.mark.parametrize(
        "data", [b"", b"\xff", b"p=x,,n=a,r=b", b"n,,n=alice", b"n,a=bob,n=alice,r=b", b"n" * 5000]
    )
    def test_a_message_that_is_no_scram_fails_as_a_wrong_password_does(self, client, data):
        assert client.begun("SCRAM-SHA-256") == 0
        assert client.stepped(data)[0] == 58

    def test_frames_before_the_login_are_small(self, shared, client):
        client.sock.sendall((1 << 17).to_bytes(4, "big"))
        assert received(client.sock) is None
        eventually(lambda: shared.closed_by("protocol") >= 1)

    def test_who_does_not_log_in_in_time_is_closed(self, users):
        config = LoginConfig(scram_users=users)
        with running(logins=config, guards=Guards(login_s=2.0)) as server:
            with closing(SaslSocket(server.port)) as idle:
                assert received(idle.sock) is None
            eventually(lambda: server.closed_by("login") == 1)
            with closing(SaslSocket(server.port)) as busy:
                answers, end_s = 0, time.monotonic() + PATIENCE_S
                busy.sock.sendall(VERSIONS[:1])
                while received_or_closed(busy, VERSIONS[1:] + VERSIONS[:1]):
                    answers += 1
                    assert time.monotonic() < end_s, "a client that is never idle is closed, too"
                    time.sleep(0.01)
                assert answers > 0
            eventually(lambda: server.closed_by("login") == 2)
        with running(logins=config, guards=Guards(login_s=PATIENCE_S)) as server:
            with closing(SaslSocket(server.port)) as half:
                half.sock.sendall(handshake("SCRAM-SHA-512")[:9])
                half.sock.shutdown(1)
                assert received(half.sock) is None
            eventually(lambda: server.closed_by("cut frame") == 1)


class TestSessions:
    def test_a_client_logs_in_again_as_the_same_user_only(self, users, monkeypatch):
        monkeypatch.setattr("rackwise.core.sasl.gate.AGAIN_S", 0.0)
        config = LoginConfig(scram_users=users, session_s=PATIENCE_S)
        with running(logins=config) as server, closing(SaslSocket(server.port)) as client:
            for _ in range(2):
                assert client.scram("alice", USERS["alice"])[::3] == (0, PATIENCE_S * 1000)
            assert client.stepped(b"x")[0] == 34
            assert response_of(client.sent(GOOD))[1].error_code == 0
            assert client.scram("bob", USERS["bob"])[0] == 58
            assert received(client.sock) is None

    def test_logins_in_quick_succession_and_other_mechanisms_are_refused(self, users, monkeypatch):
        config = LoginConfig(scram_users=users)
        monkeypatch.setattr("rackwise.core.sasl.gate.AGAIN_S", 1e9)
        with running(logins=config) as server, closing(SaslSocket(server.port)) as client:
            assert client.scram("alice", USERS["alice"])[0] == 0
            assert client.begun("SCRAM-SHA-512") == 34
            assert response_of(client.sent(GOOD))[1].error_code == 0
            monkeypatch.setattr("rackwise.core.sasl.gate.AGAIN_S", 0.0)
            assert client.begun("SCRAM-SHA-256") == 33
            assert received(client.sock) is None

    def test_a_session_that_is_over_ends_the_connection(self, users):
        config = LoginConfig(scram_users=users, session_s=1)
        with running(logins=config) as server, closing(SaslSocket(server.port)) as client:
            assert client.scram("alice", USERS["alice"])[::3] == (0, 1000)
            assert received(client.sock) is None
            eventually(lambda: server.closed_by("session") == 1)

    def test_users_are_read_again_when_the_file_changes(self, tmp_path):
        path = scram_file(tmp_path)
        with running(logins=LoginConfig(scram_users=path)) as server:

            def code():
                with closing(SaslSocket(server.port)) as client:
                    return client.scram("carol", "canary-of-carol")[0]

            assert code() == 58
            scram_file(tmp_path, {"carol": "canary-of-carol"})
            assert code() == 0
            path.write_text("nonsense")
            assert code() == 0
            lines = server.told("read")
            assert lines[0] == {"type": "read", "users": 1}
            assert lines[1]["error"] == "InvalidConfig"

    def test_a_file_that_could_not_be_read_is_tried_again_though_it_is_the_same(
        self, tmp_path, monkeypatch
    ):
        """Who was removed does not stay because the first attempt failed."""
        told = []
        monkeypatch.setattr(changing_file, "RETRY_S", 0.0)
        path = scram_file(tmp_path)
        failing = []
        read = users_module.read_scram_users

        def reading(path):
            if failing:
                raise failing.pop()
            return read(path)

        monkeypatch.setattr(users_module, "read_scram_users", reading)
        file = users_module.scram_file(path, lambda **line: told.append(line))
        salt = file.content().find("SCRAM-SHA-512", "nobody")[0].salt
        scram_file(tmp_path, {"carol": "canary-of-carol"})
        failing += [OSError(24, "Too many open files")] * 2
        known = [file.content().find("SCRAM-SHA-512", "alice")[1] for _ in range(4)]
        assert known == [True, True, False, False]
        assert [line.get("error") for line in told] == ["OSError", None]
        assert file.content().find("SCRAM-SHA-512", "nobody")[0].salt == salt


def test_failed_logins_do_not_delay_a_small_request(users):
    guards = Guards(login_s=PATIENCE_S, login_pause_s=PATIENCE_S, per_address=50)
    with (
        running(logins=LoginConfig(scram_users=users), guards=guards) as server,
        ExitStack() as crowd,
        closing(SaslSocket(server.port, source="127.0.0.3")) as other,
    ):
        for _ in range(40):
            each = crowd.enter_context(closing(SaslSocket(server.port, source="127.0.0.2")))
            assert each.begun("SCRAM-SHA-512") == 0
            each.sock.sendall(authenticate(b"nonsense"))
        assert other.scram("alice", USERS["alice"])[0] == 0
        assert response_of(other.sent(GOOD))[1].error_code == 0
        assert server.open() == 41
        for task in list(server.server._tasks):
            server.loop.call_soon_threadsafe(task.cancel)


class TestConfiguration:
    def test_logins_outside_loopback_need_tls(self, users):
        logins = LoginConfig(scram_users=users)
        bare = ServeConfig(host="0.0.0.0", port=0, log=print, logins=logins)  # noqa: S104
        with pytest.raises(InvalidConfig, match="is not a loopback address"):
            listening_socket(bare)
        tls = Tls(certificate=users, key=users)
        secured = ServeConfig(host="0.0.0.0", port=0, log=print, logins=logins, tls=tls)  # noqa: S104
        listening_socket(secured).close()

    def test_a_file_that_others_may_read_is_refused(self, tmp_path):
        path = scram_file(tmp_path)
        path.chmod(0o644)
        snapshot = tmp_path / "s.json"
        write_snapshot(small_cluster({0: "a"}, {}), snapshot)
        code, out, err = called("serve", "--snapshot", snapshot, "--scram-users", path)
        assert (code, out) == (1, "")
        assert "expected 0600 or 0440, got 0644" in err

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--allow", "User:a"], "invalid --allow: expected logins or client certificates"),
            (["--allow", "alice"], "invalid --allow: expected User:NAME, got alice"),
            (["--max-session", "5"], "--max-session requires --scram-users or --oauth-jwks"),
            (["--max-session", "nan"], "invalid --max-session: expected a number of seconds"),
            (["--max-session", "1"], "--max-session"),
            (["--scram-users", "none"], "cannot read SCRAM users none"),
        ],
    )
    def test_options_that_do_not_fit_are_refused(self, tmp_path, words, said):
        snapshot = tmp_path / "s.json"
        write_snapshot(small_cluster({0: "a"}, {}), snapshot)
        code, out, err = called("serve", "--snapshot", snapshot, *words)
        assert (code, out) == (1, "")
        assert said in err


def test_the_command_serves_logins_and_shows_no_secret(tmp_path):
    path, snapshot = scram_file(tmp_path), tmp_path / "s.json"
    write_snapshot(small_cluster({0: "a", 1: "b"}, {}), snapshot)
    words = ["--listen", "127.0.0.1:0", "--snapshot", str(snapshot), "--scram-users", str(path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rackwise.cli", "serve", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        first = process.stdout.readline()
        port = parse(first.encode(), where="stdout", error=InvalidConfig)["port"]
        server = f"127.0.0.1:{port}"
        printed = [first]
        for user, password, wanted in (
            ("alice", USERS["alice"], 0),
            ("alice", "wrong-canary", 1),
            ("canary-typed-as-name", "x", 1),
        ):
            config = tmp_path / "client.properties"
            lines = settings(user, password)
            lines["sasl.jaas.config"] = lines["sasl.jaas.config"].reveal()
            config.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
            config.chmod(0o600)
            size = ["--partitions", 3, "--replication-factor", 2, "--command-config", config]
            code, out, err = called("place", "--from-server", server, *size)
            assert code == wanted
            printed += [out, err]
        process.terminate()
        printed += process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.communicate()
    text = "".join(filter(None, printed))
    assert '"principal": "User:alice"' in text
    assert "unknown user or wrong password" in text
    assert "canary" not in text
    keys = [each for line in path.read_text().split() for each in line.split(",") if "key=" in each]
    assert keys
    assert not any(key.partition("=")[2] in text for key in keys)
