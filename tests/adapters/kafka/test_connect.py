"""Connections: bounded in time, trusted or not, authorized or not, no secret in errors."""

from __future__ import annotations

import base64
import functools
import logging
import secrets
import socket
import ssl
import threading
from contextlib import closing

import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
    UserScramCredentialUpsertion,
)
from kafka.errors import KafkaConnectionError, KafkaTimeoutError, UnsupportedVersionError
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaTCPTransport
from kafka.protocol.admin import DescribeLogDirsRequest

from kafka_pem import AUTHORITY, CERTIFICATE, KEY, STRANGER
from kafka_traffic import consumer, create, produce, producer, until
from own_listeners import broker_with
from rackwise import Placement
from rackwise.adapters.kafka import (
    add_to_topic,
    ask_leaders,
    connect,
    create_topic,
    read_cluster,
    resolved_addresses,
)
from rackwise.adapters.kafka.applying.elect import elect_preferred
from rackwise.adapters.kafka.applying.metadata import read_rows
from rackwise.adapters.kafka.applying.reassign import alter_reassignments
from rackwise.adapters.kafka.applying.throttles import ConfigWrite, read_throttles, write_throttles
from rackwise.adapters.kafka.configs import BROKER_THROTTLES, TOPIC_THROTTLES
from rackwise.adapters.kafka.connect import _connect_error, bootstrap_servers, send_in_turn
from rackwise.adapters.kafka.connections import PlainTransport, TlsTransport, failed_handshake
from rackwise.adapters.kafka.messages import UnregisterBrokerRequest
from rackwise.adapters.sandbox.ports import free_ports
from rackwise.core.errors import (
    AuthenticationFailed,
    InvalidConfig,
    MissingPermission,
    PartialFailure,
    RackwiseError,
    Unreachable,
)
from rackwise.core.fetch_diagnosis import ProbeQuestion, ReadingFacts, diagnose_reading
from rackwise.core.secret import Secret

TAKEN_AT = "2026-11-01T00:00:00Z"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required "
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required "
CANARY = secrets.token_hex(16)


def test_servers_are_host_and_port():
    assert bootstrap_servers("a:1, [::1]:65535") == ["a:1", "[::1]:65535"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a:",
        ":1",
        "a:0",
        "a:65536",
        "a:x",
        "a:1,",
        "k 1:9",
        "k\x1b[0m:9",
        "a:\u0661",
        "a:" + "1" * 5000,
    ],
)
def test_other_servers_are_refused(text):
    with pytest.raises(InvalidConfig, match="invalid bootstrap server: expected HOST:PORT"):
        bootstrap_servers(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "1.5", str(1 << 31)])
def test_patience_is_a_number_of_milliseconds(text):
    with pytest.raises(InvalidConfig, match="expected 1 or more milliseconds") as caught:
        connect("127.0.0.1:1", {"default.api.timeout.ms": text})
    assert caught.value.where == "default.api.timeout.ms"


def test_the_reason_is_that_of_this_cluster_while_another_thread_connects_to_another():
    [port] = free_ports(1)
    heard = []

    def connects():
        try:
            connect(f"127.0.0.1:{port}", timeout_s=1)
        except Unreachable as error:
            heard.append(error)

    thread = threading.Thread(target=connects)
    thread.start()
    while thread.is_alive():
        logging.getLogger("kafka.net.manager").error("%s", KafkaConnectionError("of another"))
        thread.join(0.01)
    [error] = heard
    assert "ECONNREFUSED" in error.message
    assert "of another" not in error.message


@pytest.mark.parametrize("transport", [PlainTransport, TlsTransport])
def test_a_connection_that_ends_as_it_is_asked_is_lost(transport):
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs), closing(NetworkSelector()) as loop:
        ended = transport.__new__(transport)
        KafkaTCPTransport.__init__(ended, loop, ours, host="kafka-1.internal")
        ended._closed = True
        with pytest.raises(KafkaConnectionError, match=r"kafka-1\.internal closed the connection"):
            ended.write(b"a request")


def test_hosts_are_resolved_to_sorted_addresses():
    assert "127.0.0.1" in resolved_addresses("localhost")
    assert resolved_addresses("127.0.0.1") == ("127.0.0.1",)
    assert resolved_addresses("no-such-host.invalid") == ()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(None, "ECONNREFUSED"), (b"", ""), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "")],
    ids=["nobody", "hangs up", "speaks HTTP"],
)
def test_a_port_without_kafka_is_unreachable_in_bounded_time(answer, reason):
    before = threading.enumerate()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if answer is None:
            server.close()
        else:
            threading.Thread(target=say, args=(server, answer), daemon=True).start()
        with pytest.raises(Unreachable, match=f"no broker answers at 127.0.0.1:{port}") as caught:
            connect(f"127.0.0.1:{port}", timeout_s=1)
        assert reason in caught.value.message
        assert "security.protocol" in caught.value.hint
    until(lambda: set(threading.enumerate()) <= {*before, *talking()}, "threads to end")


@pytest.mark.parametrize("settings", [{}, {"security.protocol": "SSL"}], ids=["plain", "TLS"])
def test_a_port_that_is_silent_is_unreachable_in_bounded_time(settings):
    with socket.create_server(("127.0.0.1", 0)) as server:
        bootstrap = "{}:{}".format(*server.getsockname())
        with pytest.raises(Unreachable, match=f"no broker answers at {bootstrap}"):
            connect(bootstrap, settings, timeout_s=0.5)


def say(server, answer):
    while True:
        try:
            with closing(server.accept()[0]) as guest:
                guest.recv(1000)
                guest.sendall(answer)
        except OSError:
            return


def talking():
    return [each for each in threading.enumerate() if "say" in each.name]


@pytest.fixture(scope="module")
def secured(java_home, tmp_path_factory):
    """One broker with an authorizer, and listeners for passwords and for passwords under TLS."""
    folder = tmp_path_factory.mktemp("secured")
    keystore = folder / "broker.pem"
    keystore.write_text(KEY + CERTIFICATE + AUTHORITY)
    users = f'{PLAIN} user_reader="{CANARY}" user_stranger="{CANARY}" '
    users += f'user_taster="{CANARY}";'
    overrides = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        **{
            f"listener.name.{listener}.{mechanism}.sasl.jaas.config": login
            for listener in ("login", "tls")
            for mechanism, login in (("plain", users), ("scram-sha-512", SCRAM + ";"))
        },
    }
    listeners = {"LOGIN": "SASL_PLAINTEXT", "TLS": "SASL_SSL"}
    with broker_with(listeners, folder, java_home, overrides) as broker:
        broker.login, broker.tls = broker.addresses["LOGIN"], broker.addresses["TLS"]
        yield broker


def login_as(user, password=CANARY, module=PLAIN, mechanism="PLAIN", protocol="SASL_PLAINTEXT"):
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": Secret(f'{module} username="{user}" password="{password}";'),
    }


@pytest.fixture
def boss(secured):
    with closing(connect(secured.bootstrap)) as admin:
        yield admin


def allow(admin, resource, name, *operations, user="reader"):
    admin.create_acls(
        [
            ACL(f"User:{user}", "*", each, ACLPermissionType.ALLOW, ResourcePattern(resource, name))
            for each in operations
        ]
    )


@pytest.mark.kafka
def test_each_right_that_lacks_is_named_or_noted_until_it_is_given(secured, boss):
    create(boss, "shown", [[0]])
    create(boss, "hidden", [[0]])
    produce(secured.bootstrap, {("shown", 0): 10})
    with (
        consumer(secured.bootstrap, "bill", ["shown"], client_id="app"),
        closing(connect(secured.login, login_as("reader"))) as reader,
    ):
        look = lambda: read_cluster(reader, taken_at=TAKEN_AT, groups=True)  # noqa: E731
        with pytest.raises(MissingPermission) as caught:
            look()
        assert caught.value.wanted == "Cluster:Describe"
        assert caught.value.hint.endswith("User:NAME --operation Describe --cluster")
        assert caught.value.exit_code == 4

        allow(boss, ResourceType.CLUSTER, "kafka-cluster", ACLOperation.DESCRIBE)
        allow(boss, ResourceType.TOPIC, "shown", ACLOperation.DESCRIBE)
        until(lambda: reader.list_topics() == ["shown"], "the topic to be shown")
        seen = look()
        assert seen.partitions.topics == ("shown",)
        assert seen.partitions[0].bytes > 10_000
        assert seen.groups == ()
        assert [note.text.partition(",")[0] for note in seen.notes] == [
            "2 topics with logs are not listed to this principal",
            "configs of 1 broker",
            "configs of 1 topic",
            "group bill: GroupAuthorizationFailed",
        ]
        assert seen.topics["shown"].min_insync_replicas is None
        assert "reading-selector" in diagnose_reading(ReadingFacts(cluster=seen)).not_checked
        asked = [ProbeQuestion(client_rack="a", topic="shown", partition=0, leader=0, near=(0,))]
        probe = lambda: ask_leaders(reader, seen, asked, progress=int)  # noqa: E731
        assert [each.error for each in probe()] == ["TopicAuthorizationFailed"]

        allow(boss, ResourceType.CLUSTER, "kafka-cluster", ACLOperation.DESCRIBE_CONFIGS)
        allow(boss, ResourceType.TOPIC, "*", ACLOperation.DESCRIBE, ACLOperation.DESCRIBE_CONFIGS)
        allow(boss, ResourceType.GROUP, "*", ACLOperation.DESCRIBE)
        until(lambda: len(reader.list_groups()) == 1, "the group to be shown")
        seen = look()
        assert seen.notes == ()
        assert set(seen.topics) == {"__consumer_offsets", "hidden", "shown"}
        assert seen.topics["__consumer_offsets"].is_internal
        assert seen.topics["shown"].min_insync_replicas == 1
        assert [group.group for group in seen.groups] == ["bill"]

        allow(boss, ResourceType.TOPIC, "shown", ACLOperation.READ)
        until(lambda: [each.error for each in probe()] == [None], "the right to read")


@pytest.mark.kafka
def test_the_right_to_read_shows_the_tails_of_compacted_topics_and_no_other_needs_it(secured, boss):
    create(boss, "tabled", [[0]], cleanup_policy="compact")
    create(boss, "logged", [[0]])
    with producer(secured.bootstrap) as sender:
        for name in ("tabled", "logged"):
            for number in range(10):
                sender.send(name, key=b"%d" % number, value=bytes(100))
    allow(boss, ResourceType.CLUSTER, "kafka-cluster", ACLOperation.DESCRIBE, user="taster")
    allow(
        boss,
        ResourceType.CLUSTER,
        "kafka-cluster",
        ACLOperation.DESCRIBE_CONFIGS,
        user="taster",
    )
    for name in ("tabled", "logged"):
        allow(
            boss,
            ResourceType.TOPIC,
            name,
            ACLOperation.DESCRIBE,
            ACLOperation.DESCRIBE_CONFIGS,
            user="taster",
        )
    with closing(connect(secured.login, login_as("taster"))) as taster:
        names = ("tabled", "logged")
        look = lambda: read_cluster(taster, taken_at=TAKEN_AT, topics=names, offsets=True)  # noqa: E731
        until(lambda: set(look().topics) == set(names) and len(look().notes) == 1, "the topics")
        seen = look()
        assert [row.end_offset for row in seen.partitions] == [10, 10]
        (note,) = seen.notes
        assert note.text == (
            "last batches of 1 partition, such as tabled-0: TopicAuthorizationFailed; "
            "grant Topic:Read"
        )
        assert seen.topics["tabled"].tails == ()
        allow(boss, ResourceType.TOPIC, "tabled", ACLOperation.READ, user="taster")
        until(lambda: look().topics["tabled"].tails, "the right to read")
        seen = look()
        (tail,) = seen.topics["tabled"].tails
        assert (tail.bytes, tail.offsets) == (seen.partitions[1].bytes, 10)
        assert seen.notes == ()
    boss.delete_topics(list(names))


@pytest.mark.kafka
def test_rights_to_write_are_named_one_by_one(secured, boss):
    rows, more = Placement.of({0: [0]}), Placement(rows=[[0]], first=1)
    to = functools.partial(allow, boss, ResourceType.TOPIC, "mine", user="stranger")
    with closing(connect(secured.login, login_as("stranger"))) as stranger:
        with pytest.raises(
            MissingPermission, match=r"^missing permission: Topic:Create is needed"
        ) as caught:
            create_topic(stranger, "mine", rows)
        assert caught.value.hint.endswith("--operation Create --topic '*'")
        assert "mine" not in boss.list_topics()
        to(ACLOperation.CREATE)
        seen = []
        until(
            lambda: (
                seen.append(outcome_of(create_topic, stranger, "mine", rows))
                or not isinstance(seen[-1], MissingPermission)
            ),
            "the right to create",
        )
        assert isinstance(seen[-1], PartialFailure)
        assert "missing permission: Topic:Describe is needed" in seen[-1].message
        assert seen[-1].hint.endswith("--operation Describe --topic '*'")
        to(ACLOperation.DESCRIBE)
        until(lambda: stranger.list_topics() == ["mine"], "the topic to be shown")
        with pytest.raises(MissingPermission, match=r"^missing permission: Topic:Alter is needed"):
            add_to_topic(stranger, "mine", more)
        to(ACLOperation.ALTER)
        until(lambda: outcome_of(add_to_topic, stranger, "mine", more) is None, "the right")
    assert len(boss.describe_topics(["mine"])[0]["partitions"]) == 2
    boss.delete_topics(["mine"])


@pytest.mark.kafka
def test_rights_to_carry_a_plan_out_are_named(secured, boss):
    create(boss, "moved", [[0]])
    rate = ConfigWrite(resource=0, key=BROKER_THROTTLES[0], value="1")
    replicas = ConfigWrite(resource="moved", key=TOPIC_THROTTLES[0], value="0:0")
    with closing(connect(secured.login, login_as("stranger"))) as stranger:
        for wanted, write in (
            (
                "Cluster:Alter",
                lambda: alter_reassignments(
                    stranger, {("moved", 0): [0]}, may_change_replication=False
                ),
            ),
            ("Cluster:Alter", lambda: elect_preferred(stranger, [("moved", 0)])),
            ("Cluster:AlterConfigs", lambda: write_throttles(stranger, [rate])),
            ("Topic:AlterConfigs", lambda: write_throttles(stranger, [replicas])),
            ("Cluster:DescribeConfigs", lambda: read_throttles(stranger, brokers=[0])),
            ("Topic:DescribeConfigs", lambda: read_throttles(stranger, topics=["moved"])),
            ("Topic:Describe", lambda: read_rows(stranger, ["moved"])),
        ):
            with pytest.raises(MissingPermission) as caught:
                write()
            assert caught.value.wanted == wanted
            assert caught.value.hint.startswith("kafka-acls --add")
    boss.delete_topics(["moved"])


def outcome_of(make, *args):
    """The error that a write ends with, None where it ends well."""
    try:
        make(*args)
    except RackwiseError as error:
        return error
    return None


@pytest.mark.kafka
def test_a_scram_login_and_tls_are_spoken(secured, boss, tmp_path):
    boss.alter_user_scram_credentials(
        [
            UserScramCredentialUpsertion(
                "scrambled", "SCRAM-SHA-512", CANARY.encode(), iterations=4096
            )
        ]
    )
    with closing(connect(secured.tls, scrambled(tmp_path, AUTHORITY))) as admin:
        assert admin.describe_cluster()["brokers"][0]["rack"] == "a"


@pytest.mark.kafka
def test_a_certificate_of_a_stranger_is_not_trusted(secured, tmp_path):
    with pytest.raises(AuthenticationFailed, match="is not trusted"):
        connect(secured.tls, scrambled(tmp_path, STRANGER), timeout_s=1)


def scrambled(folder, trusted):
    authority = folder / "ca.pem"
    authority.write_text(trusted)
    return login_as("scrambled", module=SCRAM, mechanism="SCRAM-SHA-512", protocol="SASL_SSL") | {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
    }


@pytest.mark.kafka
@pytest.mark.parametrize(
    "settings",
    [
        login_as("reader", "wrong"),
        login_as("nobody"),
        login_as("reader", module=SCRAM, mechanism="SCRAM-SHA-256"),
    ],
    ids=["wrong password", "unknown user", "mechanism not enabled"],
)
def test_a_login_that_is_not_believed_ends_at_once(secured, settings):
    with pytest.raises(AuthenticationFailed, match="the cluster rejected the login") as caught:
        connect(secured.login, settings, timeout_s=3600)
    assert "password" in caught.value.hint


@pytest.mark.kafka
def test_secrets_are_in_no_log_and_no_message(secured, caplog):
    for name in (
        None,
        "kafka",
        "kafka.admin.client",
        "kafka.net.connection",
        "kafka.net.sasl.plain",
    ):
        caplog.set_level(logging.DEBUG, name)
    with closing(connect(secured.login, login_as("reader"))) as admin:
        admin.describe_cluster()
    with pytest.raises(AuthenticationFailed) as caught:
        connect(secured.login, login_as("nobody"))
    shown = caplog.text + str(caught.value.as_dict()) + repr(caught.value)
    sent = f"\0reader\0{CANARY}".encode()
    for form in (CANARY, base64.b64encode(CANARY.encode()).decode(), sent.hex(), repr(sent)[2:-1]):
        assert form not in shown
    spoken = [record for record in caplog.records if not record.name.startswith("py4j")]
    assert not [record for record in spoken if record.levelno < logging.INFO]


@pytest.mark.zookeeper
def test_a_request_that_a_broker_does_not_know_costs_only_itself(zookeeper_cluster):
    unknown = UnregisterBrokerRequest(broker_id=99)  # only clusters in KRaft mode have it
    requests = [unknown, DescribeLogDirsRequest(topics=None), unknown]
    with closing(connect(zookeeper_cluster.bootstrap)) as admin:
        first, logs, last = send_in_turn(admin, {0: requests})[0]
    assert isinstance(first.message, UnsupportedVersionError)
    assert isinstance(last.message, UnsupportedVersionError)
    assert logs.message.results


def test_the_cause_is_what_an_attempt_met_before_the_time_limit_cut_the_last_one():
    met = failed_handshake(ssl.SSLError(1, "no TLS here"))
    cut = KafkaConnectionError("Connection timed out")
    over = KafkaTimeoutError("Unable to bootstrap from ['127.0.0.1:1']")
    error = _connect_error("127.0.0.1:1", [met, cut, over])
    assert error.message == f"no broker answers at 127.0.0.1:1: {met.reason}"
    assert error.hint == met.hint
    alone = _connect_error("127.0.0.1:1", [cut, over])
    assert alone.message.endswith("Connection timed out")
