"""PLAIN and SCRAM over TLS: files as Java, Confluent and kcat have them log in to a real broker."""

from __future__ import annotations

import secrets
from contextlib import closing

import pytest
from kafka.admin import UserScramCredentialUpsertion

from kafka_pem import AUTHORITY, CERTIFICATE, KEY
from kafka_traffic import until
from nights import FIRST, SECOND, THIRD, Fleet
from own_listeners import broker_with
from rackwise.adapters.clock import SHIFT
from rackwise.adapters.kafka import connect, read_client_config
from rackwise.adapters.nightly_steps import StepProcess
from rackwise.cli.fleet.nightly import drive
from rackwise.core.errors import AuthenticationFailed
from refusals import called
from webhooks import webhook

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


OLD, NEW, LAST = (f"canary-{name}-{secrets.token_hex(8)}" for name in ("old", "new", "last"))
NIGHT_USER = "night"
TOLD = "the cluster rejected the login"


class TestRotatedPassword:
    """The password of a nightly run is replaced on the brokers first, and in its file later."""

    @pytest.fixture
    def rotate(self, broker, tmp_path):
        """Give the user another password; wait until the broker accepts it and no earlier one."""
        earlier = []

        def logs_in(admin_file, password):
            self.write(admin_file, broker, password)
            try:
                connect(broker.tls, read_client_config(admin_file)).close()
            except AuthenticationFailed:
                return False
            return True

        def change(password):
            made = UserScramCredentialUpsertion(NIGHT_USER, MECHANISMS[2], password.encode())
            with closing(connect(broker.bootstrap)) as admin:
                assert admin.alter_user_scram_credentials([made]) == {NIGHT_USER: None}
            file = tmp_path / "probe.properties"
            until(lambda: logs_in(file, password), "the new password to be accepted")
            until(
                lambda: not any(logs_in(file, each) for each in earlier),
                "the earlier passwords to be rejected",
            )
            earlier.append(password)

        return change

    @staticmethod
    def write(file, broker, password):
        text = JAVA.replace("MODULE", SCRAM).replace("MECHANISM", MECHANISMS[2])
        text = text.replace("USER", NIGHT_USER).replace("PASSWORD", password)
        file.write_text(text.replace("CA", str(broker.authority)))
        file.chmod(0o600)

    @pytest.mark.kafka
    @pytest.mark.long
    def test_the_night_names_the_rejected_login_and_the_new_secret_ends_the_failure(
        self, broker, rotate, tmp_path, monkeypatch
    ):
        monkeypatch.setenv(SHIFT, "0")  # the clock of this process is as before in the end
        login = tmp_path / "client.properties"
        keys = {"bootstrap": broker.tls, "command_config": login.name}
        pending = [NEW]

        class Rotating(StepProcess):
            """Replaces the password between the two looks of the first night."""

            def __init__(self, words, **others):
                is_second = any(word.endswith("-2.json.gz") for word in words)
                if "snapshot" in words and is_second and pending:
                    rotate(pending.pop())
                super().__init__(words, **others)

        monkeypatch.setattr(drive, "StepProcess", Rotating)
        rotate(OLD)
        self.write(login, broker, OLD)
        with webhook() as hook:
            fleet = Fleet(tmp_path, {"prod": keys}, url=hook.url)
            monkeypatch.setenv("RACKWISE_HOOK", hook.url)
            monkeypatch.setenv(SHIFT, "0")  # a night sets it

            def night(at):
                words = ["--fleet", fleet.file, "--out", fleet.data, "--at", at, *fleet.words]
                code, out, err = called("nightly", *words, "--notify", "${env:RACKWISE_HOOK}")
                failed = [key for key, run in fleet.runs().items() if run["reason"]]
                return code, failed, out + err

            code, failed, told = night(FIRST)
            assert (code, failed) == (3, [("second-look", "prod")]), told
            self.explains(fleet, failed[0], told)
            self.write(login, broker, NEW)
            code, failed, again = night(FIRST)
            assert (code in {0, 2}, failed) == (True, []), again
            assert "kept from" in again

            rotate(LAST)
            code, failed, second = night(SECOND)
            assert (code, failed) == (3, [("first-look", "prod")]), second
            self.explains(fleet, failed[0], second)
            self.write(login, broker, LAST)
            code, failed, third = night(THIRD)
            assert (code in {0, 2}, failed) == (True, []), third
            kinds = ["cluster-failed", "cluster-recovered"]
            own = [kind for kind, _ in hook.kinds() if kind in kinds]
            assert own == kinds * 2
            said = [told, again, second, third, str(hook.documents)]
        written = b"".join(fleet.texts().values()) + "".join(said).encode()
        assert [each for each in (OLD, NEW, LAST) if each.encode() in written] == []

    @staticmethod
    def explains(fleet, key, told):
        """Law: the state and the warning of a night have the cause and the hint of the login."""
        run = fleet.runs()[key]
        assert run["reason"].startswith(f"error: {TOLD}: ")
        assert run["hint"].startswith("check sasl.mechanism, and the user name and the password")
        assert f"warning: {key[0]} of prod failed: {run['reason']}; {run['hint']}\n" in told
        metrics = (fleet.data / "metrics" / "nightly.prom").read_text()
        assert 'rackwise_nightly_steps_failed{cluster="prod"} 1\n' in metrics
