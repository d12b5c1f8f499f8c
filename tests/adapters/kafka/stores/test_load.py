"""Stores that keytool wrote: their keys and certificates, and one clear error for each fault."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import traceback
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from java_stores import KEY_PASSWORD, STORE_PASSWORD, JavaStores
from kafka_pem import AUTHORITY, CERTIFICATE, KEY, STRANGER
from rackwise.adapters.kafka import tls
from rackwise.adapters.kafka.security import security_arguments
from rackwise.adapters.kafka.stores.jks import read_jks
from rackwise.adapters.kafka.stores.load import only_key, pem_of, read_store
from rackwise.adapters.kafka.stores.material import StoreName
from rackwise.core.errors import InvalidConfig, MissingDependency, RackwiseError, SettingsWarning
from rackwise.core.identity.refusals import SecretExposed
from rackwise.core.secret import Secret

KEYSTORE = StoreName("ssl.keystore", "client.store")
MINE = ("mine", KEY, CERTIFICATE, AUTHORITY)


@pytest.fixture(scope="module")
def stores(java_home, tmp_path_factory):
    return JavaStores(tmp_path_factory.mktemp("stores"), java_home)


@pytest.fixture(scope="module")
def keystores(stores):
    return {kind: stores.keystore(kind, MINE) for kind in ("JKS", "PKCS12")}


@pytest.fixture(scope="module")
def truststores(stores):
    return {kind: stores.truststore(kind, AUTHORITY, STRANGER) for kind in ("JKS", "PKCS12")}


def der(pem):
    return ssl.PEM_cert_to_DER_cert(pem)


def settings_of(keystore=None, truststore=None, **more):
    settings = {"security.protocol": "SSL"}
    if keystore is not None:
        settings["ssl.keystore.location"] = str(keystore)
        settings["ssl.keystore.password"] = Secret(STORE_PASSWORD)
        if "PKCS12" not in str(keystore):  # whose key has the password of the store
            settings["ssl.key.password"] = Secret(KEY_PASSWORD)
    if truststore is not None:
        settings["ssl.truststore.location"] = str(truststore)
        settings["ssl.truststore.password"] = Secret(STORE_PASSWORD)
    return settings | {key.replace("_", "."): value for key, value in more.items()}


def context_of(*stores, **more):
    return security_arguments(settings_of(*stores, **more))["ssl_context"]


def refused(*stores, **more):
    """The message of the refusal; no secret is anywhere in it."""
    with pytest.raises(RackwiseError) as caught:
        security_arguments(settings_of(*stores, **more))
    error = caught.value
    told = "".join(traceback.format_exception(error)) + str(error.as_dict()) + repr(vars(error))
    assert not [each for each in (STORE_PASSWORD, KEY_PASSWORD, KEY[60:90]) if each in told]
    assert error.hint
    assert "\n" not in error.message
    return error


pytestmark = pytest.mark.java


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
class TestEitherFormat:
    def test_the_key_and_its_certificates_are_those_that_were_stored(self, keystores, kind):
        content = read_store(
            keystores[kind].read_bytes(),
            password=STORE_PASSWORD,
            key_password=KEY_PASSWORD if kind == "JKS" else STORE_PASSWORD,
            name=KEYSTORE,
        )
        key = only_key(content, KEYSTORE)
        assert key.alias == "mine"
        assert pem_of(key) == KEY + CERTIFICATE + AUTHORITY
        assert key.chain == (der(CERTIFICATE), der(AUTHORITY))
        assert KEY[40:60] not in repr(content)

    @pytest.mark.parametrize("type_", ["", "JKS", "PKCS12", "pkcs12"])
    def test_it_is_read_under_either_name_as_java_does(self, keystores, truststores, kind, type_):
        types = {"ssl_keystore_type": type_, "ssl_truststore_type": type_}
        context = context_of(keystores[kind], truststores[kind], **types)
        assert sorted(context.get_ca_certs(binary_form=True)) == sorted(
            map(der, (AUTHORITY, STRANGER))
        )

    def test_a_wrong_password_is_one_line(self, keystores, truststores, kind):
        wrong = Secret("wrong")
        error = refused(keystores[kind], ssl_keystore_password=wrong)
        assert "ssl.keystore.password is wrong, or the store was changed" in error.message
        assert error.hint == f"check it with keytool -list -keystore {keystores[kind]}"
        error = refused(None, truststores[kind], ssl_truststore_password=wrong)
        assert "ssl.truststore.password is wrong" in error.message

    def test_no_password_is_one_line(self, keystores, kind):
        more = {"ssl_keystore_password": "", "ssl_key_password": ""}
        error = refused(keystores[kind], **more)
        assert "expected ssl.keystore.password, got none" in error.message
        assert "${env:STORE_PASSWORD}" in error.hint

    def test_a_store_that_was_cut_is_damaged(self, keystores, kind, tmp_path):
        path = tmp_path / "cut"
        path.write_bytes(keystores[kind].read_bytes()[:-7])
        path.chmod(0o600)
        assert "the store is damaged: " in refused(path).message

    def test_a_store_without_a_key_and_one_with_two(self, stores, truststores, kind):
        truststores[kind].chmod(0o600)
        error = refused(truststores[kind])
        assert "expected a private key, got 2 certificates only" in error.message
        two = stores.keystore(kind, MINE, ("other", KEY, CERTIFICATE))
        error = refused(two)
        had = "mine, other" if kind == "JKS" else "2"
        assert f"expected one private key, got {had}" in error.message
        assert "-srcalias NAME" in error.hint

    def test_the_mode_of_a_store_with_a_key_counts(self, keystores, kind, tmp_path):
        path = tmp_path / f"mine.{kind}"
        path.write_bytes(keystores[kind].read_bytes())
        path.chmod(0o644)
        assert isinstance(refused(path), SecretExposed)
        path.chmod(0o440)
        with pytest.warns(SettingsWarning, match="holds a private key and its group may read it"):
            context_of(path)

    def test_pem_under_its_name_and_it_under_pem_are_refused(self, keystores, kind, tmp_path):
        path = tmp_path / "ca.pem"
        path.write_text(AUTHORITY)
        error = refused(None, path, ssl_truststore_type=kind)
        assert "expected JKS or PKCS12, got PEM" in error.message
        assert error.hint == "set ssl.truststore.type=PEM"
        error = refused(keystores[kind], ssl_keystore_type="PEM")
        assert f"expected PEM, got {kind}" in error.message


def test_a_key_has_the_password_of_its_store_unless_another_is_set(keystores):
    wrong = {"ssl_key_password": Secret("other")}
    assert "ssl.key.password does not decrypt" in refused(keystores["JKS"], **wrong).message
    assert "ssl.key.password does not" in refused(keystores["JKS"], ssl_key_password="").message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for password in ("", STORE_PASSWORD):
            context_of(keystores["PKCS12"], ssl_key_password=password)
    error = refused(keystores["PKCS12"], **wrong)
    assert "expected the value of ssl.keystore.password as ssl.key.password" in error.message


def test_a_pem_key_is_loaded_from_the_bytes_whose_mode_was_checked(tmp_path, monkeypatch):
    path = tmp_path / "client.pem"
    path.write_text(KEY + CERTIFICATE)
    path.chmod(0o600)
    check = tls.check_private

    def replaced(status, name, *, holds):
        check(status, name, holds=holds)
        path.write_text("another file")

    monkeypatch.setattr(tls, "check_private", replaced)
    context_of(ssl_keystore_location=str(path))
    assert path.read_text() == "another file"


def test_a_pem_key_is_loaded_by_its_path_without_files_in_memory(keystores, tmp_path, monkeypatch):
    path = tmp_path / "client.pem"
    path.write_text(KEY + CERTIFICATE)
    path.chmod(0o600)
    monkeypatch.delattr(os, "memfd_create")
    context_of(ssl_keystore_location=str(path))
    assert "no files in memory" in refused(keystores["JKS"]).message


def test_a_trust_store_without_its_password_is_read_unchecked_if_it_is_jks(truststores):
    assert context_of(None, truststores["JKS"], ssl_truststore_password="").get_ca_certs()
    error = refused(None, truststores["PKCS12"], ssl_truststore_password="")
    assert "expected ssl.truststore.password, got none" in error.message


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_of_a_trust_store_with_a_key_the_key_s_own_certificate_is_trusted(keystores, kind):
    context = context_of(None, keystores[kind])
    assert context.cert_store_stats() == {"x509": 1, "crl": 0, "x509_ca": 0}
    assert context.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN


def test_a_store_of_another_format_is_named(stores, tmp_path):
    error = refused(stores.keystore("JCEKS", MINE))
    assert "expected JKS or PKCS12 or PEM, got JCEKS" in error.message
    assert "keytool -importkeystore" in error.hint
    for data, had in ((b"\x30\x82\x01\x00\x30\x00", "BCFKS or another store"), (b"", "no store")):
        path = tmp_path / "other"
        path.write_bytes(data)
        path.chmod(0o600)
        assert f"got {had}" in refused(path).message


def test_pkcs12_without_its_package_says_what_to_install(keystores, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization.pkcs12", None)
    error = refused(keystores["PKCS12"])
    assert isinstance(error, MissingDependency)
    assert error.hint == 'pip install "rackwise[stores]"'
    context_of(keystores["JKS"])


@given(data=st.data())
def test_any_change_of_a_jks_store_is_one_refusal(keystores, data):
    whole = bytearray(keystores["JKS"].read_bytes())
    at = data.draw(st.integers(4, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    cut = bytes(whole[: data.draw(st.sampled_from([len(whole), at]))])
    with pytest.raises(InvalidConfig):
        read_jks(cut, password=STORE_PASSWORD, key_password=KEY_PASSWORD, name=KEYSTORE)


def test_no_key_is_written_to_a_disk(keystores, tmp_path):
    """The only file that is written is one in memory: it is opened by its number."""
    passwords = dict.fromkeys(map(str, keystores.values()), STORE_PASSWORD)
    passwords[str(keystores["JKS"])] = KEY_PASSWORD
    script = (
        "import os, sys; from rackwise.adapters.kafka.security import security_arguments\n"
        "opened = []\n"
        "sys.addaudithook(lambda name, words: name == 'open' and opened.append(words))\n"
        f"for path, password in {passwords!r}.items():\n"
        "    security_arguments({'security.protocol': 'SSL', 'ssl.keystore.location': path,"
        f" 'ssl.keystore.password': '{STORE_PASSWORD}', 'ssl.key.password': password}})\n"
        "print([path for path, _, flags in opened if flags & os.O_ACCMODE])\n"
    )
    command = [sys.executable, "-c", script]
    environ = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    numbers = done.stdout.strip().strip("[]").split(", ")
    assert len(numbers) == 2
    assert all(each.isdigit() for each in numbers)
    assert [*tmp_path.iterdir()] == []
