"""Settings files of other tools: each line is obeyed, without effect, or refused by its name."""

from __future__ import annotations

import pytest

from kafka_pem import AUTHORITY, CERTIFICATE, KEY, LOCKED_KEY, PASSWORD
from rackwise.adapters.kafka import read_client_config
from rackwise.adapters.kafka.client_config import jaas_options
from rackwise.adapters.kafka.security import security_arguments
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.refusals import SecretExposed

CANARY = 'canary-2Zt"\\x'
CONFLUENT_JAVA = f"""\
# Required connection configs for Kafka producer, consumer, and admin
bootstrap.servers=pkc-1.confluent.cloud:9092
security.protocol=SASL_SSL
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
username='KEY' password='{CANARY.replace(chr(92), chr(92) * 4)}';
sasl.mechanism=PLAIN
client.dns.lookup=use_all_dns_ips
session.timeout.ms=45000
acks=all
schema.registry.url=https://psrc-1.confluent.cloud
basic.auth.credentials.source=USER_INFO
basic.auth.user.info=SR:hidden-Sr9
"""
LIBRDKAFKA = f"""\
[default]
metadata.broker.list=kafka-1:9092
security.protocol=sasl_ssl
sasl.mechanisms=PLAIN
sasl.username=KEY
sasl.password={CANARY.replace(chr(92), chr(92) * 2)}
ssl.ca.location=CA
ssl.endpoint.identification.algorithm=none
enable.ssl.certificate.verification=true
queue.buffering.max.ms=5
"""


@pytest.fixture
def settings_of(tmp_path):
    def call(text, mode=0o600):
        path = tmp_path / "client.properties"
        path.write_text(text.replace("=CA\n", f"={tmp_path}/ca.pem\n"))
        path.chmod(mode)
        (tmp_path / "ca.pem").write_text(AUTHORITY)
        return read_client_config(path, environ={})

    return call


@pytest.mark.parametrize("text", [CONFLUENT_JAVA, LIBRDKAFKA], ids=["confluent", "librdkafka"])
def test_a_file_that_another_tool_wrote_logs_in(settings_of, text):
    settings = settings_of(text)
    assert CANARY not in repr(settings)
    assert "hidden-Sr9" not in repr(settings)
    arguments = security_arguments(settings)
    assert arguments.pop("ssl_context").check_hostname is (text is CONFLUENT_JAVA)
    assert arguments == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "KEY",
        "sasl_plain_password": CANARY,
    }
    assert settings["bootstrap.servers"].endswith(":9092")


def test_another_program_s_secret_in_the_file_makes_it_private_too(settings_of):
    with pytest.raises(SecretExposed, match=r"holds basic\.auth\.user\.info"):
        settings_of("basic.auth.user.info=u:p\n", 0o644)
    assert settings_of("basic.auth.user.info=\n", 0o644)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("enable.ssl.certificate.verification=false", "certificates are always verified"),
        ("ssl.cipher.suites=TLS_AES_128_GCM_SHA256", "use ssl.enabled.protocols"),
        ("ssl.engine.factory.class=com.example.Factory", "a class of Java cannot run here"),
        ("ssl.curves.list=P-256", "remove the line"),
        ("sasl.oauthbearer.config=principal=a", "it makes unsecured tokens"),
        ("enable.sasl.oauthbearer.unsecure.jwt=true", "unsecured tokens are not supported"),
        ("sasl.oauthbearer.grant.type=urn:ietf:params:oauth:grant-type:jwt-bearer", "only client_"),
        ("sasl.oauthbearer.metadata.authentication.type=azure_imds", "set sasl.oauthbearer.token"),
    ],
)
def test_a_line_that_cannot_be_obeyed_is_named_with_the_reason(settings_of, line, hint):
    with pytest.raises(InvalidConfig, match=r"client setting .* is not supported") as caught:
        settings_of(f"acks=all\n{line}\n")
    assert caught.value.where.endswith(":2")
    assert hint in caught.value.hint


def test_settings_of_java_alone_have_no_effect(settings_of):
    text = "ssl.protocol=TLSv1.3\nssl.trustmanager.algorithm=PKIX\nsasl.kerberos.kinit.cmd=/bin/k\n"
    assert settings_of(text) == {}


OIDC = f"""\
security.protocol=sasl_ssl
sasl.mechanisms=OAUTHBEARER
sasl.oauthbearer.method=OIDC
sasl.oauthbearer.token.endpoint.url=https://issuer.example/token
sasl.oauthbearer.client.id=audit
sasl.oauthbearer.client.secret={CANARY.replace(chr(92), chr(92) * 2)}
sasl.oauthbearer.scope=kafka
sasl.oauthbearer.grant.type=client_credentials
sasl.oauthbearer.metadata.authentication.type=none
enable.sasl.oauthbearer.unsecure.jwt=false
"""


@pytest.mark.parametrize("extensions", ["", "logicalCluster=lkc-1, identityPoolId=p=1"])
def test_names_of_librdkafka_for_a_token_endpoint_are_those_of_java(settings_of, extensions):
    settings = settings_of(f"{OIDC}sasl.oauthbearer.extensions={extensions}\n")
    assert CANARY not in repr(settings)
    options = jaas_options(settings.pop("sasl.jaas.config").reveal())
    assert settings.pop("sasl.oauthbearer.client.credentials.client.secret").reveal() == CANARY
    assert settings == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://issuer.example/token",
        "sasl.oauthbearer.client.credentials.client.id": "audit",
        "sasl.oauthbearer.scope": "kafka",
    }
    both = {"extension_logicalCluster": "lkc-1", "extension_identityPoolId": "p=1"}
    assert options == (both if extensions else {})


def test_a_client_secret_under_the_name_of_librdkafka_makes_the_file_private(settings_of):
    with pytest.raises(SecretExposed, match=r"holds sasl\.oauthbearer\.client\.secret"):
        settings_of(OIDC, 0o644)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sasl.oauthbearer.method=default\n", "method: expected oidc, got default"),
        ("sasl.oauthbearer.extensions=a=b\n", "method: expected oidc, got default"),
        (OIDC + "sasl.oauthbearer.extensions=a-b=canary-9\n", "expected NAME=VALUE"),
        (OIDC + "sasl.oauthbearer.extensions=canary-9\n", "expected NAME=VALUE"),
        (OIDC + "sasl.jaas.config=M required;\n", "or sasl.jaas.config, got sasl.oauthbearer.me"),
        (OIDC + "sasl.oauthbearer.client.credentials.client.id=b\n", "are one setting"),
    ],
)
def test_wrong_settings_of_a_token_endpoint_are_named_without_their_values(settings_of, text, said):
    with pytest.raises(InvalidConfig, match=said) as caught:
        settings_of(text)
    assert "canary" not in str(caught.value.as_dict())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sasl.username=u\n", "or sasl.jaas.config, got sasl.username"),
        ("sasl.username=u\nsasl.password=p\nsasl.jaas.config=M required;\n", "got sasl.username"),
        ("sasl.mechanism=PLAIN\nsasl.mechanisms=GSSAPI\n", "are one setting"),
        ("sasl.mechanisms=GSSAPI\nsasl.mechanism=PLAIN\n", "are one setting"),
        ("ssl.key.pem=canary\nssl.keystore.key=k\n", r"ssl\.key\.pem and ssl\.keystore\.key are"),
    ],
)
def test_lines_that_contradict_each_other_are_refused(settings_of, text, said):
    with pytest.raises(InvalidConfig, match=said):
        settings_of(text)


def test_two_names_of_one_setting_may_have_one_value(settings_of):
    for names in (("sasl.mechanism", "sasl.mechanisms"), ("sasl.mechanisms", "sasl.mechanism")):
        text = "".join(f"{name}=PLAIN\n" for name in names)
        assert settings_of(text) == {"sasl.mechanism": "PLAIN"}


@pytest.mark.parametrize("names", ["java", "librdkafka", "files"])
@pytest.mark.parametrize("is_locked", [True, False])
def test_inline_pem_of_one_line_is_a_store(settings_of, tmp_path, names, is_locked):
    key = (LOCKED_KEY if is_locked else KEY).replace("\n", " \\\n  ")
    certificate, authority = (each.replace("\n", " ") for each in (CERTIFICATE, AUTHORITY))
    if names == "java":
        text = f"ssl.keystore.type=PEM\nssl.keystore.certificate.chain={certificate}\n"
        text += f"ssl.keystore.key={key}\nssl.truststore.certificates={authority}\n"
    elif names == "librdkafka":
        text = f"ssl.certificate.pem={certificate}\nssl.ca.pem={authority}\nssl.key.pem={key}\n"
    else:
        for name, pem in {"cert": CERTIFICATE, "key": LOCKED_KEY if is_locked else KEY}.items():
            (tmp_path / f"{name}.pem").write_text(pem)
            (tmp_path / f"{name}.pem").chmod(0o600)
        text = f"ssl.ca.location=CA\nssl.certificate.location={tmp_path}/cert.pem\n"
        text += f"ssl.key.location={tmp_path}/key.pem\n"
    text += f"security.protocol=SSL\n{f'ssl.key.password={PASSWORD}' if is_locked else ''}\n"
    settings = settings_of(text)
    assert KEY.splitlines()[1] not in repr(settings)
    assert security_arguments(settings)["ssl_context"].cert_store_stats()["x509"] == 1
    if is_locked:
        with pytest.raises(InvalidConfig, match="cannot load ") as caught:
            security_arguments({**settings, "ssl.key.password": "other"})
        assert PASSWORD not in str(caught.value.as_dict()).split()
    if names == "files":
        (tmp_path / "key.pem").chmod(0o644)
        with pytest.raises(SecretExposed, match="holds a private key"):
            security_arguments(settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ssl.keystore.key": "k"}, "ssl.keystore.certificate.chain and ssl.keystore.key together"),
        ({"ssl.certificate.location": "c"}, "ssl.key.location and ssl.certificate.location"),
        (
            {"ssl.keystore.location": "/a", "ssl.keystore.key": "k"},
            "expected one of ssl.keystore.location and ssl.keystore.key, got both",
        ),
        (
            {"ssl.truststore.location": "/a", "ssl.truststore.certificates": "c"},
            "expected one of ssl.truststore.certificates and ssl.truststore.location, got both",
        ),
    ],
)
def test_half_a_key_or_two_stores_are_refused(settings, said):
    with pytest.raises(InvalidConfig, match=said):
        security_arguments({"security.protocol": "SSL", **settings})
