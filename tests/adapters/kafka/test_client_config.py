"""Client settings: read as Java reads them, secrets hidden, no security setting ignored."""

from __future__ import annotations

import os
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_pem import AUTHORITY, CERTIFICATE, LOCKED_KEY, PASSWORD
from rackwise.adapters.kafka import read_client_config
from rackwise.adapters.kafka.client_config import MAX_BYTES, jaas_options
from rackwise.adapters.kafka.security import security_arguments
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.refusals import SecretExposed
from rackwise.core.secret import Secret

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" '


@pytest.fixture
def written(tmp_path):
    def write(text, mode=0o600):
        path = tmp_path / "client.properties"
        path.write_text(text)
        path.chmod(mode)
        return path

    return write


def settings_of(path, **environ):
    return read_client_config(path, environ=environ)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("a=1\nb = 2\nc:3\nd 4\n", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("# a=1\n! b=2\n\n  # c=3\n", {}),
        ("a=1 \\\n   2\\\n3\n", {"a": "1 23"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a\\ b=c\\=d\\u0041\\t!", {"a b": "c=dA\t!"}),
        ("a=1\r\nb=2\r", {"a": "1", "b": "2"}),
        ("a=1\na=2", {"a": "2"}),
        ("a", {"a": ""}),
        ("a=1\\", {"a": "1"}),
    ],
)
def test_properties_are_read_as_java_reads_them(written, text, settings):
    assert settings_of(written(text)) == settings


def test_variables_come_from_the_environment(written):
    path = written("ssl.truststore.location=${env:FOLDER}/ca.pem\n")
    assert settings_of(path, FOLDER="/x")["ssl.truststore.location"] == "/x/ca.pem"
    with pytest.raises(InvalidConfig, match="environment variable FOLDER is not set") as caught:
        settings_of(path)
    assert caught.value.where == f"{path}:1"
    assert "export FOLDER" in caught.value.hint


def test_a_password_that_others_may_read_is_refused(written):
    for mode in (0o604, 0o620, 0o644, 0o602):
        path = written(f'sasl.jaas.config={LOGIN} password="p";', mode)
        with pytest.raises(SecretExposed, match=f"expected 0600 or 0440, got {mode:04o}") as caught:
            settings_of(path)
        assert caught.value.hint.startswith(f"run chmod 600 {path}; on Kubernetes ")
        assert '"p"' not in str(caught.value.as_dict())


def test_a_password_from_the_environment_may_stand_in_an_open_file(written):
    path = written(f'sasl.jaas.config={LOGIN} password="${{env:PW}}";', 0o644)
    found = settings_of(path, PW="hidden")["sasl.jaas.config"]
    assert jaas_options(found.reveal()) == {"username": "u", "password": "hidden"}


@pytest.mark.parametrize(
    "key", ["ssl.cipher.suites", "ssl.provider", "sasl.login.class", "security.providers"]
)
def test_security_that_is_not_understood_is_refused(written, key):
    with pytest.raises(InvalidConfig, match=f"setting {key} is not supported") as caught:
        settings_of(written(f"acks=all\n{key}=x\n"))
    assert caught.value.where.endswith(":2")


def test_files_that_are_no_settings_are_refused(tmp_path, written):
    with pytest.raises(InvalidConfig, match="No such file"):
        read_client_config(tmp_path / "none")
    with pytest.raises(InvalidConfig, match="expected a regular file"):
        read_client_config(tmp_path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(InvalidConfig, match="expected a regular file"):
        read_client_config(fifo)
    with pytest.raises(InvalidConfig, match=f"at most {MAX_BYTES} bytes"):
        settings_of(written("#" * (MAX_BYTES + 1)))
    path = tmp_path / "latin"
    path.write_bytes(b"a=\xe9")
    with pytest.raises(InvalidConfig, match="expected UTF-8, got another byte at 2"):
        read_client_config(path)


def test_an_escape_that_java_does_not_read_is_refused_and_not_repeated(written):
    with pytest.raises(InvalidConfig, match="expected escapes of Java") as caught:
        settings_of(written("a=canary\\uXYZ\n"))
    assert "canary" not in str(caught.value.as_dict())


@given(text=st.text(max_size=200))
def test_any_text_gives_settings_or_a_refusal(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.properties"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    path.chmod(0o600)
    try:
        assert all(isinstance(key, str) for key in settings_of(path))
    except InvalidConfig as error:
        assert error.message  # noqa: PT017 (any refusal is right, a crash is not)


def test_nothing_set_is_plain_text():
    assert security_arguments({}) == {"security_protocol": "PLAINTEXT"}


def test_a_login_is_taken_from_the_jaas_line():
    arguments = security_arguments(
        {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": Secret(LOGIN + 'password="a\\"b;c";'),
        }
    )
    assert arguments == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "u",
        "sasl_plain_password": 'a"b;c',
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"security.protocol": "TLS"}, "invalid security.protocol: expected PLAINTEXT, SSL"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "DIGEST-MD5"},
            "invalid sasl.mechanism: expected PLAIN, .*, got DIGEST-MD5",
        ),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
            "invalid sasl.jaas.config: expected a username",
        ),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": Secret(LOGIN),
            },
            "invalid sasl.jaas.config: expected a password",
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.truststore.location": "/x",
                "ssl.truststore.type": "JCEKS",
            },
            "invalid ssl.truststore.type: expected JKS, PKCS12, PEM or nothing, got JCEKS",
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.truststore.location": "/none.pem",
                "ssl.truststore.type": "PEM",
            },
            "cannot read ssl.truststore.location /none.pem: No such file",
        ),
        (
            {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.1,TLSv1.2"},
            "invalid ssl.enabled.protocols: expected TLSv1.2, TLSv1.3, got TLSv1.1",
        ),
        (
            {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "ldaps"},
            "invalid ssl.endpoint.identification.algorithm: expected https, none or nothing, got ",
        ),
    ],
)
def test_security_that_cannot_be_obeyed_is_refused(settings, message):
    with pytest.raises(InvalidConfig, match=message) as caught:
        security_arguments(settings)
    assert caught.value.hint


def test_tls_is_version_1_2_at_least_and_checks_the_host():
    context = security_arguments({"security.protocol": "SSL"})["ssl_context"]
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    settings = {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""}
    assert not security_arguments(settings)["ssl_context"].check_hostname
    settings = {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.3"}
    assert security_arguments(settings)["ssl_context"].minimum_version == ssl.TLSVersion.TLSv1_3


def test_pem_stores_are_loaded_with_their_password(tmp_path):
    authority, client = tmp_path / "ca.pem", tmp_path / "client.pem"
    authority.write_text(AUTHORITY)
    client.write_text(LOCKED_KEY + CERTIFICATE)
    client.chmod(0o600)
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(client),
    }
    context = security_arguments(settings | {"ssl.key.password": Secret(PASSWORD)})["ssl_context"]
    assert context.cert_store_stats()["x509"] == 1
    for wrong in ({}, {"ssl.key.password": Secret("other")}):
        with pytest.raises(InvalidConfig, match=r"cannot load ssl.keystore.location ") as caught:
            security_arguments(settings | wrong)
        assert "other" not in str(caught.value.as_dict())
