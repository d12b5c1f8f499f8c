"""IAM of Amazon MSK: AWS's signer, judged by a second writing of its public algorithm.

MSK itself is not part of this: `msk_stand_in` takes its place in front of a real broker.
"""

from __future__ import annotations

import importlib
import logging
import os
import secrets
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from kafka_pem import AUTHORITY, CERTIFICATE, KEY
from kafka_servers import KAFKA_VERSION
from kafka_traffic import until
from msk_stand_in import MskStandIn, SigningKey, fault_of
from rackwise.adapters.clock import wall_clock_s
from rackwise.adapters.kafka import connect
from rackwise.adapters.kafka.logins import keys
from rackwise.adapters.kafka.logins.msk_iam import msk_login, region_of_hosts
from rackwise.adapters.kafka.security import security_arguments
from rackwise.adapters.sandbox import Sandbox
from rackwise.core.errors import (
    AuthenticationFailed,
    InvalidConfig,
    MissingDependency,
    Unreachable,
)
from rackwise.core.secret import Secret
from refusals import called

REGION = "eu-west-1"
HOSTS = [f"b-1.audit.abc123.c2.kafka.{REGION}.amazonaws.com:9098"]
ACCESS = "AKIA" + secrets.token_hex(8).upper()
CANARY, SESSION, OF_ROLE = (f"canary/{secrets.token_hex(16)}" for _ in range(3))
MODULE = "software.amazon.msk.auth.iam.IAMLoginModule required"
JAVA = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.jaas.config": Secret(f"{MODULE};"),
    "sasl.client.callback.handler.class": keys.AWS_IAM_HANDLER,
}


@pytest.fixture(autouse=True)
def aws(monkeypatch, tmp_path):
    """No credentials but those of a test: no file of this user, no metadata service."""
    for name in [*os.environ]:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def give(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return give


@pytest.fixture
def environment(aws):
    aws(AWS_ACCESS_KEY_ID=ACCESS, AWS_SECRET_ACCESS_KEY=CANARY)
    return SigningKey(ACCESS, CANARY)


def now():
    return datetime.fromtimestamp(wall_clock_s(), UTC)


def login(**options):
    return msk_login(options, HOSTS)


def test_the_token_is_a_request_signed_by_the_public_algorithm(environment):
    token = login().token()
    assert fault_of(token, environment, REGION, now()) is None
    assert fault_of(token, SigningKey(ACCESS, "other"), REGION, now()) == "another signature"
    assert fault_of(token, environment, "us-east-1", now()) == "another endpoint"
    later = now() + timedelta(seconds=901)
    assert fault_of(token, environment, REGION, later) == "expired"


@pytest.mark.usefixtures("environment")
def test_a_token_is_reused_for_twelve_of_its_fifteen_minutes():
    made = login()
    first = made.token()
    assert made.token() == first
    assert made._kept.ends_at_s == pytest.approx(wall_clock_s() + 900, abs=5)
    assert made._reused_until_s == pytest.approx(wall_clock_s() + 720, abs=5)


def test_a_session_token_of_the_environment_is_signed(aws):
    aws(AWS_ACCESS_KEY_ID=ACCESS, AWS_SECRET_ACCESS_KEY=CANARY, AWS_SESSION_TOKEN=SESSION)
    key = SigningKey(ACCESS, CANARY, SESSION)
    assert fault_of(login().token(), key, REGION, now()) is None


@pytest.mark.usefixtures("environment")
def test_a_profile_is_that_of_the_jaas_line(tmp_path):
    (tmp_path / "credentials").write_text(
        f"[audit]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = {OF_ROLE}\n"
    )
    key = SigningKey("AKIAPROFILE", OF_ROLE)
    assert fault_of(login(awsProfileName="audit").token(), key, REGION, now()) is None
    with pytest.raises(InvalidConfig, match="AWS profile nightly is not in the files of AWS"):
        login(awsProfileName="nightly").fetch()


@pytest.fixture
def sts(aws):
    """A stand-in for AWS STS on loopback: it gives the key of a role, or an error."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            asked.append({name: values[0] for name, values in form.items()})
            server.signed.append(self.headers.get("Authorization", ""))
            action = asked[-1]["Action"]
            found = (
                f"<{action}Response xmlns='https://sts.amazonaws.com/doc/2011-06-15/'>"
                f"<{action}Result><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>"
                f"<SecretAccessKey>{OF_ROLE}</SecretAccessKey><SessionToken>{SESSION}"
                "</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration></Credentials>"
                f"</{action}Result></{action}Response>"
            )
            status, body = server.error or (200, found)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.error = None
    server.asked = asked
    server.signed = []
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    aws(AWS_ENDPOINT_URL_STS=f"http://127.0.0.1:{server.server_address[1]}")
    yield server
    server.shutdown()
    server.server_close()


ROLE = SigningKey("ASIAROLE", OF_ROLE, SESSION)


@pytest.mark.usefixtures("environment")
def test_a_role_is_assumed_with_the_names_of_the_jaas_line(sts):
    made = login(
        awsRoleArn="arn:aws:iam::123456789012:role/audit",
        awsRoleSessionName="nightly",
        awsRoleExternalId="audit-1",
        awsStsRegion="eu-central-1",
    )
    assert fault_of(made.token(), ROLE, REGION, now()) is None
    (asked,) = sts.asked
    assert asked["Action"] == "AssumeRole"
    assert asked["RoleArn"] == "arn:aws:iam::123456789012:role/audit"
    assert asked["RoleSessionName"] == "nightly"
    assert asked["ExternalId"] == "audit-1"


def test_a_role_can_have_a_key_of_its_own(sts):
    made = login(
        awsRoleArn="arn:aws:iam::123456789012:role/audit",
        awsRoleAccessKeyId="AKIAOFROLE",
        awsRoleSecretAccessKey=CANARY,
        awsRoleSessionToken=SESSION,
    )
    assert CANARY not in repr(made._source)
    assert fault_of(made.token(), ROLE, REGION, now()) is None
    assert f"Credential=AKIAOFROLE/{now():%Y%m%d}/{REGION}/sts/aws4_request" in sts.signed[0]


def test_a_web_identity_of_kubernetes_is_traded_in(aws, sts, tmp_path):
    (tmp_path / "projected").write_text("canary-web-identity")
    aws(
        AWS_WEB_IDENTITY_TOKEN_FILE=str(tmp_path / "projected"),
        AWS_ROLE_ARN="arn:aws:iam::123456789012:role/audit",
        AWS_REGION=REGION,
        AWS_DEFAULT_REGION=REGION,
    )
    assert fault_of(login().token(), ROLE, REGION, now()) is None
    assert sts.asked[0]["WebIdentityToken"] == "canary-web-identity"


@pytest.mark.usefixtures("environment")
def test_a_role_that_is_denied_is_one_line(sts):
    said = f"<Code>AccessDenied</Code><Message>{CANARY}</Message>"
    sts.error = (403, f"<ErrorResponse><Error>{said}</Error></ErrorResponse>")
    made = login(awsRoleArn="arn:aws:iam::123456789012:role/audit")
    with pytest.raises(AuthenticationFailed, match=r"no credentials .*: AccessDenied") as caught:
        made.fetch()
    assert "canary" not in str(caught.value.as_dict())


@pytest.mark.usefixtures("environment")
def test_an_sts_that_is_down_is_unreachable(aws):
    aws(AWS_ENDPOINT_URL_STS="http://127.0.0.1:1")
    with pytest.raises(Unreachable, match="AWS did not answer the request for credentials"):
        login(awsRoleArn="arn:aws:iam::123456789012:role/audit").fetch()


def test_no_credentials_are_one_line_with_what_to_set():
    with pytest.raises(AuthenticationFailed, match="no AWS credentials") as caught:
        login().fetch()
    assert "AWS_PROFILE" in caught.value.hint


def test_without_the_signer_the_command_to_install_it_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingDependency) as caught:
        security_arguments(JAVA, HOSTS)
    assert caught.value.hint == 'pip install "rackwise[msk-iam]"'


@pytest.mark.parametrize(
    ("hosts", "region"),
    [
        (HOSTS, REGION),
        (["B-1.X.KAFKA.us-east-1.AMAZONAWS.COM.:9098"], "us-east-1"),
        (["boot-abc.c2.kafka-serverless.us-gov-west-1.amazonaws.com:9098"], "us-gov-west-1"),
        (["b-1.x.c1.kafka.cn-north-1.amazonaws.com.cn:9098"], "cn-north-1"),
        (["kafka.internal:9098"], None),
        (["b-1.kafka.eu-west-1.amazonaws.com.evil.test:9098"], None),
        ([], None),
    ],
)
def test_the_region_is_in_the_name_of_the_broker(hosts, region):
    assert region_of_hosts(hosts) == region


def test_two_regions_are_rejected():
    with pytest.raises(InvalidConfig, match="brokers of one region, got eu-west-1, us-east-1"):
        region_of_hosts([*HOSTS, HOSTS[0].replace(REGION, "us-east-1")])


def test_another_name_needs_a_region_from_the_environment_or_the_profile(aws, tmp_path):
    with pytest.raises(InvalidConfig, match="the AWS region is not known") as caught:
        msk_login({}, ["127.0.0.1:9098"])
    assert caught.value.hint == "export AWS_REGION=eu-west-1"
    (tmp_path / "config").write_text("[profile audit]\nregion = eu-north-1\n")
    assert msk_login({"awsProfileName": "audit"}, [])._source.region == "eu-north-1"
    aws(AWS_REGION="eu-south-1")
    assert msk_login({}, [])._source.region == "eu-south-1"
    assert msk_login({}, HOSTS)._source.region == REGION


def test_the_settings_of_java_are_understood_in_both_forms(environment):
    oauth = JAVA | {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": Secret("org.x.OAuthBearerLoginModule required awsDebugCreds=true;"),
        "sasl.login.callback.handler.class": keys.AWS_OAUTH_HANDLER,
        "sasl.client.callback.handler.class": keys.AWS_OAUTH_HANDLER,
    }
    for settings in (JAVA, oauth):
        arguments = security_arguments(settings, HOSTS)
        assert arguments["sasl_mechanism"] == "OAUTHBEARER"
        token = arguments["sasl_oauth_token_provider"].token()
        assert fault_of(token, environment, REGION, now()) is None


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("security.protocol", "SASL_PLAINTEXT", "expected SASL_SSL for a login with IAM"),
        ("sasl.client.callback.handler.class", "org.x.Mine", "class org.x.Mine of sasl.client"),
        ("sasl.login.callback.handler.class", "org.x.Mine", "class org.x.Mine of sasl.login"),
        ("sasl.jaas.config", f'{MODULE} awsRole="x";', "option awsRole of sasl.jaas.config is not"),
    ],
)
def test_what_cannot_be_obeyed_is_named(key, value, message):
    with pytest.raises(InvalidConfig, match=message):
        security_arguments(JAVA | {key: value}, HOSTS)


@pytest.fixture(scope="module")
def msk(java_home, tmp_path_factory):
    """A stand-in for MSK in front of a real broker."""
    folder = tmp_path_factory.mktemp("msk")
    (folder / "broker.pem").write_text(KEY + CERTIFICATE + AUTHORITY)
    (folder / "ca.pem").write_text(AUTHORITY)
    key = SigningKey(ACCESS, CANARY)
    made = MskStandIn(folder / "broker.pem", key, REGION, now, lives_ms=2000)
    with (
        closing(made),
        Sandbox.kraft(
            version=KAFKA_VERSION,
            brokers=1,
            racks=["use1-az1"],
            java_home=java_home,
            proxies=[made.port],
            folder=folder / "kraft",
        ) as broker,
    ):
        (made.target,) = broker.proxied_ports
        made.bootstrap = f"127.0.0.1:{made.port}"
        made.settings = JAVA | {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / "ca.pem"),
        }
        yield made


@pytest.mark.kafka
@pytest.mark.usefixtures("environment")
def test_a_login_with_iam_is_repeated_before_its_session_ends(msk, aws, caplog):
    aws(AWS_REGION=REGION)
    for name in (None, "botocore", "botocore.auth", "botocore.hooks", "urllib3", "kafka"):
        caplog.set_level(logging.DEBUG, name)
    with closing(connect(msk.bootstrap, msk.settings)) as admin:
        assert admin.describe_cluster()["brokers"][0]["rack"] == "use1-az1"
        before = len(msk.logins)
        until(lambda: admin.describe_cluster() and len(msk.logins) > before + 1, "two more logins")
    assert {*msk.logins} == {None}
    assert CANARY not in caplog.text
    assert "X-Amz-Signature" not in caplog.text


@pytest.mark.kafka
def test_a_key_that_is_not_the_clusters_is_rejected(msk, aws):
    aws(AWS_REGION=REGION, AWS_ACCESS_KEY_ID=ACCESS, AWS_SECRET_ACCESS_KEY=OF_ROLE)
    with pytest.raises(AuthenticationFailed, match="stand-in for MSK: another signature") as caught:
        connect(msk.bootstrap, msk.settings)
    assert "canary" not in str(caught.value.as_dict())
    msk.logins.clear()


@pytest.fixture(params=["profile", "role", "web identity", "session of the environment"])
def other_key(request, aws, sts, tmp_path):  # noqa: ARG001 (it gives the keys of a role)
    """A source of credentials: the options of the JAAS line, and the key that the token has."""
    aws(AWS_REGION=REGION, AWS_DEFAULT_REGION=REGION)
    arn = "arn:aws:iam::123456789012:role/audit"
    if request.param == "profile":
        (tmp_path / "credentials").write_text(
            f"[audit]\naws_access_key_id = {ACCESS}\naws_secret_access_key = {OF_ROLE}\n"
        )
        return ' awsProfileName="audit"', SigningKey(ACCESS, OF_ROLE)
    if request.param == "role":
        aws(AWS_ACCESS_KEY_ID=ACCESS, AWS_SECRET_ACCESS_KEY=CANARY)
        return f' awsRoleArn="{arn}"', ROLE
    if request.param == "web identity":
        (tmp_path / "projected").write_text("canary-web-identity")
        aws(AWS_WEB_IDENTITY_TOKEN_FILE=str(tmp_path / "projected"), AWS_ROLE_ARN=arn)
        return "", ROLE
    aws(AWS_ACCESS_KEY_ID=ACCESS, AWS_SECRET_ACCESS_KEY=CANARY, AWS_SESSION_TOKEN=SESSION)
    return "", SigningKey(ACCESS, CANARY, SESSION)


@pytest.mark.kafka
def test_each_source_of_credentials_logs_in_and_a_key_of_another_is_rejected(
    msk, other_key, tmp_path, monkeypatch
):
    options, key = other_key
    file = tmp_path / "client.properties"
    text = {**msk.settings, "sasl.jaas.config": f"{MODULE}{options};"}
    file.write_text("".join(f"{name}={value}\n" for name, value in text.items()))
    file.chmod(0o600)
    words = ("snapshot", "--bootstrap-server", msk.bootstrap, "--command-config", file, "--out")

    monkeypatch.setattr(msk, "key", key)
    code, out, err = called(*words, tmp_path / "in.json")
    assert code == 0, err
    written = out + err + (tmp_path / "in.json").read_text()
    assert "use1-az1" in written

    monkeypatch.setattr(msk, "key", SigningKey(key.access_key, "another", key.session_token))
    code, out, err = called(*words, tmp_path / "refused.json")
    assert (code, (tmp_path / "refused.json").exists()) == (1, False)
    assert "stand-in for MSK: another signature" in err
    shown = written + out + err
    assert not [each for each in (CANARY, SESSION, OF_ROLE, "X-Amz-Signature") if each in shown]
    msk.logins.clear()
