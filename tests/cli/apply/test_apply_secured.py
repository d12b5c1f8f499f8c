"""`rackwise apply` without access to the cluster, from the start or later: one error, and soon."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
    UserScramCredentialUpsertion,
)
from kafka.structs import TopicPartition

from hand_made_plans import leaders, lists, plan_file, shown
from kafka_pem import AUTHORITY, CERTIFICATE, EXPIRED, KEY, STRANGER
from kafka_servers import KRAFT_SET
from kafka_traffic import create, delete, produce, until
from rackwise.adapters.files.journal import parse_journal
from rackwise.adapters.files.throttle_request import request_path, write_request
from rackwise.adapters.kafka import connect
from rackwise.adapters.kafka.applying.throttles import read_throttles
from rackwise.adapters.sandbox import Sandbox, resolve
from rackwise.adapters.sandbox.blueprint import ClusterSpec
from rackwise.adapters.sandbox.kraft import kraft_blueprint
from rackwise.adapters.sandbox.ports import free_ports
from rackwise.cli.main import run

pytestmark = [pytest.mark.kafka, pytest.mark.long]

NAME = "secured"
BEFORE = [[0, 1], [0, 1]]
AFTER = {(NAME, 0): (0, 2), (NAME, 1): (1, 0)}
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
FIRST, SECOND = "canary-Kj3-first", "canary-Kj3-second"
SESSION_MS = 3_000
"""So long a login holds; then the brokers ask again."""
SOON_S = 60.0


@pytest.fixture(scope="module")
def cluster(java_home, tmp_path_factory):
    """Three brokers, each with a listener for logins under TLS, and one whose day is over."""
    folder = tmp_path_factory.mktemp("secured")
    stores = {"tls": KEY + CERTIFICATE + AUTHORITY, "expired": EXPIRED + AUTHORITY}
    for listener, pem in stores.items():
        (folder / f"{listener}.pem").write_text(pem)
    request = ClusterSpec(
        brokers=3,
        racks=("a", "b", "c"),
        java_home=java_home,
        jars=resolve(KRAFT_SET),
        heap_mib=256,
        overrides={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:mover",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "TLS:SASL_SSL,EXPIRED:SASL_SSL",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "connections.max.reauth.ms": str(SESSION_MS),
            **{
                f"listener.name.{listener}.{key}": value
                for listener in stores
                for key, value in {
                    "ssl.keystore.type": "PEM",
                    "ssl.keystore.location": str(folder / f"{listener}.pem"),
                    "scram-sha-512.sasl.jaas.config": f"{SCRAM};",
                }.items()
            },
        },
    )
    blueprint = kraft_blueprint(request, folder)
    ports = free_ports(2 * 3)
    tls, expired = ports[:3], ports[3:]
    for broker in range(3):
        properties = folder / f"broker-{broker}" / "server.properties"
        lines = properties.read_text().splitlines()
        (listeners,) = [line for line in lines if line.startswith("listeners=")]
        more = f"TLS://127.0.0.1:{tls[broker]},EXPIRED://127.0.0.1:{expired[broker]}"
        properties.write_text("\n".join([*lines, f"{listeners},{more}", ""]))
    with Sandbox(blueprint, folder, is_temporary=False) as made:
        for broker in range(3):
            made.start(broker)
        made.wait_until_ready()
        made.tls, made.expired = (
            ",".join(f"127.0.0.1:{port}" for port in each) for each in (tls, expired)
        )
        yield made


@pytest.fixture
def admin(cluster):
    """A client that needs no login."""
    with closing(connect(cluster.bootstrap)) as made:
        password(made, FIRST)
        yield made
        delete(made, NAME)


def password(admin, text, user="mover"):
    upsertion = UserScramCredentialUpsertion(user, "SCRAM-SHA-512", text.encode(), 4096)
    admin.alter_user_scram_credentials([upsertion])


@pytest.fixture
def path(admin, cluster, tmp_path):
    create(admin, NAME, BEFORE)
    produce(cluster.bootstrap, {(NAME, 0): 300})
    return plan_file(tmp_path / "p.json", admin, AFTER)


@pytest.fixture
def applied(capsys, state, tmp_path):  # noqa: ARG001 (where its journal is)
    """Run a command with a login: its exit code, stdout and stderr; it ends soon."""

    def call(verb, path, bootstrap, *words, trusted=AUTHORITY, secret=FIRST, user="mover"):
        store, settings = tmp_path / "ca.pem", tmp_path / "client.properties"
        store.write_text(trusted)
        settings.touch(0o600)
        settings.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
            "default.api.timeout.ms=10000\n"
            f'sasl.jaas.config={SCRAM} username="{user}" password="{secret}";\n'
            f"ssl.truststore.type=PEM\nssl.truststore.location={store}\n"
        )
        began = time.monotonic()
        where = ["--bootstrap-server", bootstrap, "--command-config", str(settings)]
        code = run([verb, path, *where, *words])
        assert time.monotonic() - began < SOON_S
        captured = capsys.readouterr()
        assert FIRST not in captured.out + captured.err
        assert SECOND not in captured.out + captured.err
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("listener", "trusted", "why"),
    [
        ("expired", AUTHORITY, "certificate has expired"),
        ("tls", STRANGER, "self-signed certificate"),
    ],
)
def test_a_certificate_that_is_not_believed_is_one_error(
    admin, cluster, applied, path, state, listener, trusted, why
):
    """F29: an expired certificate, and one of an authority that is not ours."""
    code, out, err = applied("apply", path, getattr(cluster, listener), trusted=trusted)
    assert (code, out) == (1, "")
    first, hint = err.splitlines()
    assert first.startswith("error: the broker's certificate at ")
    assert why in first
    assert "ssl.truststore.location" in hint
    assert not [*state.glob("*/*.journal")]
    assert lists(admin, NAME) == dict(enumerate(BEFORE))


def test_a_password_that_changes_ends_the_run_and_the_new_one_goes_on(
    admin, cluster, applied, path, state
):
    """F29: SCRAM, rotated while a throttled move is under way."""

    def rotate():
        until(lambda: TopicPartition(NAME, 0) in admin.list_partition_reassignments(), "a move")
        until(lambda: lists(admin, NAME)[1] == [1, 0], "the move without bytes")
        password(admin, SECOND)

    thread = threading.Thread(target=rotate)
    thread.start()
    code, out, err = applied("apply", path, cluster.tls, "--throttle", "1")
    thread.join()
    assert code == 3, (out, err)
    assert "the cluster rejected the login" in out + err
    (journal,) = state.glob("*/*.journal")
    assert [each.type for each in parse_journal(journal.read_bytes(), journal).entries][-1] == "end"
    assert not holds_a_secret(state)
    code, out, err = applied("resume", path, cluster.tls)
    assert (code, out) == (1, "")
    assert "the cluster rejected the login" in err.splitlines()[0]
    faster = ("--throttle", "100MB", "--throttle-over", "ours")
    code, out, err = applied("resume", path, cluster.tls, *faster, secret=SECOND)
    assert code == 0, (out, err)
    shown(admin, NAME, {0: [0, 2], 1: [1, 0]})
    left = read_throttles(admin, topics=[NAME], brokers=[0, 1, 2])
    assert not any([*left.brokers.values(), *left.topics.values()])


@pytest.fixture
def canceller(admin):
    """A user who may reassign and read, and may not set throttles."""
    name, everything = "canceller", [ACLOperation.DESCRIBE, ACLOperation.DESCRIBE_CONFIGS]
    password(admin, FIRST, name)
    rights = {
        ResourcePattern(ResourceType.CLUSTER, "kafka-cluster"): [*everything, ACLOperation.ALTER],
        ResourcePattern(ResourceType.TOPIC, "*"): everything,
    }
    admin.create_acls(
        [
            ACL(f"User:{name}", "*", each, ACLPermissionType.ALLOW, resource)
            for resource, operations in rights.items()
            for each in operations
        ]
    )
    return name


def test_a_rate_that_may_not_be_set_does_not_end_a_cancel(
    admin, cluster, applied, canceller, tmp_path, state
):
    """The cancel ended, and reported a move as running that it had cancelled."""
    create(admin, NAME, [[0], [1]])
    produce(cluster.bootstrap, {(NAME, 0): 5_000, (NAME, 1): 5_000})
    path = plan_file(tmp_path / "p.json", admin, {(NAME, 0): (2,), (NAME, 1): (2,)})
    command = [sys.executable, "-m", "rackwise.cli", "apply", path, "--throttle", "1"]
    process = subprocess.Popen(
        [*command, "--bootstrap-server", cluster.bootstrap],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until(lambda: len(admin.list_partition_reassignments()) == 2, "two moves")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    cluster.kill(0)
    try:
        until(lambda: leaders(admin, NAME)[0] == -1, "a partition whose only old replica is down")
        (journal,) = state.glob("*/*.journal")
        write_request(request_path(journal), 5_000, lasts_ms=600_000)
        code, out, err = applied("cancel", path, cluster.tls, user=canceller)
        assert (code, out.splitlines()[:2]) == (
            3,
            [
                "2 moves: 1 cancelled, 0 done, 0 failed, 1 still moving, 0 not started",
                f"! {NAME}-0  moving",
            ],
        ), err
        assert "ended early" not in out
        assert (
            "warning: the throttle is not set on all brokers, the cancel goes on: missing "
            "permission: "
        ) in err
        assert lists(admin, NAME)[1] == [1]
        assert '"error":"missing permission: ' in journal.read_text()
    finally:
        cluster.start(0)
        cluster.wait_until_ready()
    assert applied("cancel", path, cluster.tls)[0] == 0
    shown(admin, NAME, {0: [0], 1: [1]})
    left = read_throttles(admin, topics=[NAME], brokers=[0, 1, 2])
    assert not any([*left.brokers.values(), *left.topics.values()])


def holds_a_secret(folder):
    return [
        each
        for each in Path(folder).rglob("*")
        if each.is_file() and {FIRST, SECOND} & set(each.read_text().split('"'))
    ]
