"""Settings of OAUTHBEARER: what Java's clients take, or the one name that cannot be obeyed."""

from __future__ import annotations

import pytest

from kafka_pem import AUTHORITY
from rackwise.adapters.kafka import read_client_config
from rackwise.adapters.kafka.logins import keys
from rackwise.adapters.kafka.security import security_arguments
from rackwise.core.errors import InvalidConfig, RackwiseError
from rackwise.core.secret import Secret

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
SETTINGS = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    keys.ENDPOINT_URL: "https://issuer.test/token",
    keys.CLIENT_ID: "audit",
    keys.CLIENT_SECRET: Secret("canary"),
}


def login_of(**changes):
    """The provider of these settings; the name of a change is that of a constant of `keys`."""
    changed = {getattr(keys, name): value for name, value in changes.items()}
    settings = {k: v for k, v in (SETTINGS | changed).items() if v is not None}
    return security_arguments(settings)["sasl_oauth_token_provider"]


def jaas(options, **changes):
    changed = {getattr(keys, name): value for name, value in changes.items()}
    settings = {k: v for k, v in (SETTINGS | changed).items() if v is not None}
    line = {"sasl.jaas.config": Secret(f"{MODULE} {options};")}
    return security_arguments(settings | line)["sasl_oauth_token_provider"]


def test_a_setting_wins_over_the_option_of_the_jaas_line():
    made = jaas('clientId="other" clientSecret="other" scope="kafka"')._source
    assert (made.client_id, made.client_secret.reveal()) == ("audit", "canary")
    assert made.scope == "kafka"
    made = jaas('clientId="a" clientSecret="b\\"c"', CLIENT_ID=None, CLIENT_SECRET=None)._source
    assert (made.client_id, made.client_secret.reveal()) == ("a", 'b"c')


def test_timeouts_and_the_encoding_are_those_of_the_settings():
    made = login_of(CONNECT_TIMEOUT="1500", READ_TIMEOUT="250", URL_ENCODE="True")._source
    assert (made.connect_s, made.read_s, made.encodes_header) == (1.5, 0.25, True)
    assert (login_of()._source.connect_s, login_of()._source.encodes_header) == (10, False)


def test_the_endpoint_has_its_own_authority(tmp_path):
    (tmp_path / "ca.pem").write_text(AUTHORITY)
    path = tmp_path / "ca.pem"
    made = jaas(f'ssl.truststore.type="PEM" ssl.truststore.location="{path}"')._source
    assert len(made.tls.get_ca_certs()) == 1
    assert len(login_of()._source.tls.get_ca_certs()) != 1, "else those of the system"
    assert made.tls.check_hostname


def test_extensions_are_sent_with_the_token():
    made = jaas('extension_logicalCluster="lkc-1" extension_identityPoolId="pool-2"')
    assert made.extensions() == {"logicalCluster": "lkc-1", "identityPoolId": "pool-2"}


@pytest.mark.parametrize("handler", [None, *keys.OF_KAFKA])
def test_the_classes_of_kafka_are_understood(handler):
    assert login_of(LOGIN_HANDLER=handler, RETRIEVER=keys.RETRIEVERS[0])


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:/var/run/token", "/var/run/token"),
        ("file:///var/run/to%20ken", "/var/run/to ken"),
        ("file://localhost/var/run/token", "/var/run/token"),
    ],
)
def test_a_file_needs_no_client(url, path):
    assert login_of(ENDPOINT_URL=url, CLIENT_ID=None, CLIENT_SECRET=None)._source.path == path


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "[::1]:8080", "localhost"])
def test_this_machine_may_be_asked_without_encryption(host):
    assert login_of(ENDPOINT_URL=f"http://{host}/token")._source.tls is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "issuer.test/token",
        "https:///token",
        "ftp://issuer.test/token",
        "https://audit:canary@issuer.test/token",
        "https://issuer.test:0/token",
        "https://issuer.test:x/canary",
        "https://issuer.test/to ken",
        "file://issuer.test/token",
        "file:token",
        "https://[canary/token",
    ],
)
def test_another_address_is_rejected_and_not_shown(url):
    with pytest.raises(InvalidConfig, match=r"expected https://HOST/PATH") as caught:
        login_of(ENDPOINT_URL=url)
    assert "canary" not in str(caught.value.as_dict())


@pytest.mark.parametrize("host", ["issuer.test", "10.0.0.1", "127.0.0.1.issuer.test"])
def test_a_secret_is_not_sent_unencrypted(host):
    with pytest.raises(InvalidConfig, match="would send the client secret unencrypted"):
        login_of(ENDPOINT_URL=f"http://{host}/token")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"CLIENT_ID": None}, "expected sasl.oauthbearer.client.credentials.client.id, or clientI"),
        ({"CLIENT_SECRET": None}, "client.secret, or clientSecret in sasl.jaas.config, got none"),
        ({"CONNECT_TIMEOUT": "0"}, "expected 1 to 300000 milliseconds, got 0"),
        ({"URL_ENCODE": "yes"}, "expected true or false, got yes"),
        ({"READ_TIMEOUT": "1e3"}, "expected 1 to 300000 milliseconds, got 1e3"),
        ({"LOGIN_HANDLER": "org.x.Mine"}, "class org.x.Mine of sasl.login.callback.handler.class"),
        ({"CLIENT_HANDLER": "org.x.Mine"}, "class org.x.Mine of sasl.client.callback.handler.cl"),
        ({"RETRIEVER": "org.x.JwtBearer"}, "class org.x.JwtBearer of sasl.oauthbearer.jwt.retri"),
    ],
)
def test_what_is_missing_or_cannot_be_obeyed_is_named(changes, message):
    with pytest.raises(InvalidConfig, match=message) as caught:
        login_of(**changes)
    assert caught.value.where
    assert "canary" not in str(caught.value.as_dict())


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ('oauth.client.id="x"', "option oauth.client.id of sasl.jaas.config", "as clientId"),
        ('unsecuredLoginStringClaim_sub="x"', "option unsecuredLoginStringClaim_sub", "file:/PATH"),
        ('extension_auth="x"', "invalid option extension_auth", ""),
        ('extension_a1="x"', "invalid option extension_a1", ""),
        ('extension_a="ü"', "invalid option extension_a ", ""),
    ],
)
def test_options_of_other_logins_are_named(options, message, hint):
    with pytest.raises(InvalidConfig, match=message) as caught:
        jaas(options)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("ssl.cipher.suites", "use ssl.enabled.protocols"),
        ("ssl.crl.location", "revocation lists are not read"),
        ("ssl.provider", "no security providers"),
        ("ssl.trustore.location", "use one of ssl.key.password, "),
    ],
)
def test_an_option_of_tls_that_cannot_be_obeyed_is_named(option, hint):
    for url in ("https://issuer.test/token", "http://localhost/token", "file:/token"):
        with pytest.raises(InvalidConfig, match=f"option {option} of sasl.jaas.config") as caught:
            jaas(f'{option}="canary"', ENDPOINT_URL=url)
        assert hint in caught.value.hint
        assert "canary" not in str(caught.value.as_dict())


def test_an_option_of_java_alone_has_no_effect():
    assert jaas('ssl.protocol="TLSv1.3" ssl.endpoint.identification.algorithm="https"')


def test_a_setting_for_an_assertion_is_named(tmp_path):
    path = tmp_path / "client.properties"
    path.write_text("sasl.oauthbearer.assertion.private.key.file=/key.pem\n")
    with pytest.raises(InvalidConfig, match=r"assertion\.private\.key\.file is not supported"):
        read_client_config(path)


IAM = "sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required"
SECRET = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 (a name)


@pytest.mark.parametrize(
    ("line", "is_secret"),
    [
        (f"{SECRET}=canary", True),
        (f"{SECRET}=${{env:SECRET}}", False),
        (f'sasl.jaas.config={MODULE} clientId="a" clientSecret="canary";', True),
        (f'sasl.jaas.config={MODULE} clientId="a" clientSecret="${{env:SECRET}}";', False),
        (f"sasl.jaas.config={MODULE};", False),
        (f'sasl.jaas.config={MODULE} ssl.truststore.password="canary";', True),
        (f'sasl.jaas.config={MODULE} ssl.keystore.key="canary";', True),
        (f"{IAM};", False),
        (f'{IAM} awsRoleSecretAccessKey="canary";', True),
    ],
)
def test_a_file_that_others_may_read_holds_no_secret(tmp_path, line, is_secret):
    path = tmp_path / "client.properties"
    path.write_text(line + "\n")
    path.chmod(0o604)
    if not is_secret:
        found = read_client_config(path, environ={"SECRET": "from-env"})
        assert repr(found).count("***") == 1
        return
    with pytest.raises(RackwiseError, match="invalid mode of") as caught:
        read_client_config(path)
    assert "canary" not in str(caught.value.as_dict())
