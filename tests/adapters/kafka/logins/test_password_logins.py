"""PLAIN and SCRAM over TLS: files as Java, Confluent and kcat have them log in to a real broker."""

from __future__ import annotations

import secrets
from contextlib import closing

import pytest
from kafka.admin import UserScramCredentialUpsertion

from kafka_pem import AUTHORITY, CERTIFICATE, KEY
from kafka_traffic import until
from own_listeners import broker_with
from rackwise.adapters.kafka import connect
from refusals import called

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
USER = "reader"
CANARY = f"canary-{secrets.token_hex(12)}"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

JAVA = """\
security.protocol=SASL_SSL
sasl.mechanism=MECHANISM
sasl.jaas.config=MODULE required username="USER" password="PASSWORD";
ssl.truststore.type=PEM
ssl.truststore.location=CA
"""
CONFLUENT = """\
# Required connection configs for Kafka producer, consumer, and admin
bootstrap.servers=SERVER
security.protocol=SASL_SSL
sasl.jaas.config=MODULE required username='USER' password='PASSWORD';
sasl.mechanism=MECHANISM
# Required for correctness in Apache Kafka clients prior to 2.6
client.dns.lookup=use_all_dns_ips
session.timeout.ms=45000
acks=all
ssl.truststore.type=PEM
ssl.truststore.location=CA
"""
KCAT = """\
bootstrap.servers=SERVER
security.protocol=sasl_ssl
sasl.mechanisms=MECHANISM
sasl.username=USER
sasl.password=PASSWORD
ssl.ca.location=CA
statistics.interval.ms=0
"""


@pytest.fixture(scope="module")
def broker(java_home, tmp_path_factory):
    """One broker with a listener that wants a password under TLS."""
    folder = tmp_path_factory.mktemp("passwords")
    (folder / "broker.pem").write_text(KEY + CERTIFICATE + AUTHORITY)
    (folder / "ca.pem").write_text(AUTHORITY)
    logins = {"plain": f'{PLAIN} required user_{USER}="{CANARY}";'}
    logins |= {each.lower(): f"{SCRAM} required;" for each in MECHANISMS[1:]}
    overrides = {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
        **{f"listener.name.tls.{name}.sasl.jaas.config": each for name, each in logins.items()},
    }
    with broker_with({"TLS": "SASL_SSL"}, folder, java_home, overrides) as broker:
        with closing(connect(broker.bootstrap)) as admin:
            for each in MECHANISMS[1:]:  # Kafka rejects two changes of one user in a request
                made = UserScramCredentialUpsertion(USER, each, CANARY.encode())
                assert admin.alter_user_scram_credentials([made]) == {USER: None}
            until(lambda: len(scram_of(admin)) == len(MECHANISMS[1:]), "the user to have passwords")
        broker.tls, broker.authority = broker.addresses["TLS"], folder / "ca.pem"
        yield broker


def scram_of(admin):
    return admin.describe_user_scram_credentials([USER])[USER]["credential_infos"]


@pytest.fixture
def snapshot(broker, tmp_path):
    """Take a snapshot with a file of client properties; exit code, and all that was written."""

    def take(text, mechanism, password=CANARY):
        file, out = tmp_path / "client.properties", tmp_path / "out.json"
        words = {
            "MODULE": PLAIN if mechanism == "PLAIN" else SCRAM,
            "MECHANISM": mechanism,
            "USER": USER,
            "PASSWORD": password,
            "SERVER": broker.tls,
            "CA": str(broker.authority),
        }
        for name, value in words.items():
            text = text.replace(name, value)
        file.write_text(text)
        file.chmod(0o600)
        code, told, err = called(
            "snapshot", "--bootstrap-server", broker.tls, "--command-config", file, "--out", out
        )
        written = out.read_text() if out.exists() else ""
        return code, told + err + written

    return take


@pytest.mark.kafka
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("text", [JAVA, CONFLUENT, KCAT], ids=["java", "confluent", "kcat"])
def test_a_file_of_another_tool_logs_in_and_a_wrong_password_does_not(snapshot, text, mechanism):
    code, written = snapshot(text, mechanism)
    assert code == 0, written
    assert '"rack": "a"' in written or '"rack":"a"' in written
    assert CANARY not in written

    wrong = CANARY[::-1]
    code, written = snapshot(text, mechanism, wrong)
    assert code == 1
    assert "error: the cluster rejected the login" in written
    assert wrong not in written
