"""Mutual TLS with a real broker: clients with PKCS12 and JKS stores get in, others do not."""

from __future__ import annotations

from contextlib import closing

import pytest

from java_stores import KEY_PASSWORD, STORE_PASSWORD, JavaStores
from kafka_pem import AUTHORITY, CERTIFICATE, KEY, STRANGER, STRANGERS_CERTIFICATE, STRANGERS_KEY
from own_listeners import broker_with
from rackwise.adapters.kafka import connect, read_client_config
from rackwise.cli.main import run
from rackwise.core.errors import AuthenticationFailed

pytestmark = pytest.mark.kafka

MINE = ("mine", KEY, CERTIFICATE, AUTHORITY)
REJECTED = "rejected the certificate of this client: "
KINDS = ("JKS", "PKCS12")


@pytest.fixture(scope="module")
def stores(java_home, tmp_path_factory):
    return JavaStores(tmp_path_factory.mktemp("stores"), java_home)


@pytest.fixture(scope="module")
def made(stores):
    """Paths of stores: a key store and a trust store of each kind."""
    return {
        kind: (stores.keystore(kind, MINE), stores.truststore(kind, AUTHORITY)) for kind in KINDS
    }


@pytest.fixture(scope="module")
def bootstrap(made, java_home, tmp_path_factory):
    """The listener of a broker that has JKS stores and wants a certificate of each client."""
    keystore, truststore = made["JKS"]
    overrides = {
        "ssl.client.auth": "required",
        "ssl.keystore.location": str(keystore),
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.key.password": KEY_PASSWORD,
        "ssl.truststore.location": str(truststore),
        "ssl.truststore.password": STORE_PASSWORD,
    }
    folder = tmp_path_factory.mktemp("mutual")
    with broker_with({"MUTUAL": "SSL"}, folder, java_home, overrides) as broker:
        yield broker.addresses["MUTUAL"]


@pytest.fixture
def settings(tmp_path):
    """A settings file as Java's tools take it; the types of stores are not set."""

    def write(keystore, truststore, *lines):
        path = tmp_path / "client.properties"
        own = [] if keystore is None else [f"ssl.keystore.location={keystore}"]
        path.write_text(
            "\n".join(
                [
                    *("security.protocol=SSL", "default.api.timeout.ms=4000", *own),
                    *(f"ssl.keystore.password={STORE_PASSWORD}", *lines),
                    *(f"ssl.key.password={KEY_PASSWORD}" for _ in "1" if "JKS" in str(keystore)),
                    *(f"ssl.truststore.location={truststore}", ""),
                    f"ssl.truststore.password={STORE_PASSWORD}",
                ]
            )
        )
        path.chmod(0o600)
        return path

    return write


@pytest.mark.parametrize("trusting", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_client_with_stores_of_either_kind_logs_in(bootstrap, made, settings, kind, trusting):
    path = settings(made[kind][0], made[trusting][1])
    with closing(connect(bootstrap, read_client_config(path))) as admin:
        assert len(admin.describe_cluster()["brokers"]) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_of_another_authority_is_refused(bootstrap, stores, made, settings, kind):
    keystore = stores.keystore(kind, ("other", STRANGERS_KEY, STRANGERS_CERTIFICATE))
    path = settings(keystore, made[kind][1])
    with pytest.raises(AuthenticationFailed, match=REJECTED + "certificate unknown") as caught:
        connect(bootstrap, read_client_config(path), timeout_s=60.0)
    assert "ssl.keystore.location" in caught.value.hint
    assert STORE_PASSWORD not in str(caught.value.as_dict())


def test_a_client_without_a_certificate_is_refused(bootstrap, made, settings):
    for versions in ("TLSv1.3", "TLSv1.2"):
        path = settings(None, made["JKS"][1], f"ssl.enabled.protocols={versions}")
        with pytest.raises(AuthenticationFailed, match=REJECTED):
            connect(bootstrap, read_client_config(path), timeout_s=60.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_broker_that_the_trust_store_does_not_know_is_refused(
    bootstrap, stores, made, settings, kind
):
    path = settings(made[kind][0], stores.truststore(kind, STRANGER))
    with pytest.raises(AuthenticationFailed, match="is not trusted"):
        connect(bootstrap, read_client_config(path))


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_line_shows_no_password_of_a_store(bootstrap, made, settings, kind, capsys):
    words = ["audit", "--bootstrap-server", bootstrap, "--command-config"]
    good = run([*words, str(settings(*made[kind]))])
    wrong = settings(*made[kind], f"ssl.keystore.password={STORE_PASSWORD}x")
    bad = run([*words, str(wrong), "--debug"])
    assert (good, bad) == (0, 1)
    told = capsys.readouterr()
    assert "ssl.keystore.password is wrong" in told.err
    assert not {each for each in (STORE_PASSWORD, KEY_PASSWORD) if each in told.out + told.err}
