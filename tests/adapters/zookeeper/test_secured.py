"""A secured ZooKeeper: certificates, logins, ACLs; and secrets that nothing shows."""

from __future__ import annotations

import io
import logging
import traceback

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from kazoo.security import make_digest_acl

from kafka_pem import STRANGER
from lone_zookeeper import free_port
from rackwise.adapters.launch.views.stores import init_store, open_store, read_store_config
from rackwise.adapters.zookeeper import StoreConfig
from rackwise.adapters.zookeeper.address import Address
from rackwise.core.errors import (
    InputError,
    InvalidConfig,
    MissingDependency,
    MissingPermission,
    RackwiseError,
    SettingsWarning,
    Unreachable,
)
from rackwise.core.identity.nodes.store import CLAIMS, FENCE, HOSTS, IDS, OURS, Absent, Create, Put
from rackwise.core.identity.refusals import SecretExposed

CANARY = "canary-5f3a"
NETTY = "org.apache.zookeeper.server.NettyServerCnxnFactory"


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    """Files: the authority, a server for 127.0.0.1, one for another name, a client."""
    folder = tmp_path_factory.mktemp("pem")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    (folder / "stranger.pem").write_text(STRANGER)
    for name, host in (("server", "127.0.0.1"), ("other", "elsewhere.example"), ("client", "h7")):
        issued = authority.issue_cert(host)
        key = load_pem_private_key(issued.private_key_pem.bytes(), None).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
        chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
        (folder / f"{name}.pem").write_bytes(key + chain)
        (folder / f"{name}-cert.pem").write_bytes(chain)
        (folder / f"{name}-key.pem").write_bytes(key)
        (folder / f"{name}-key.pem").chmod(0o600)
    return folder


@pytest.fixture
def secured(make_lone_zookeeper, pem):
    """Start one that speaks TLS too: its certificate, whether clients need one; the URL of TLS."""

    def start(name="server", *, client_auth="none"):
        port = free_port()
        server = make_lone_zookeeper(
            settings={
                "serverCnxnFactory": NETTY,
                "secureClientPort": str(port),
                "secureClientPortAddress": "127.0.0.1",
                "ssl.keyStore.location": str(pem / f"{name}.pem"),
                "ssl.keyStore.type": "PEM",
                "ssl.trustStore.location": str(pem / "ca.pem"),
                "ssl.trustStore.type": "PEM",
                "ssl.clientAuth": client_auth,
            }
        )
        return server, f"zookeeper://127.0.0.1:{port}"

    return start


@pytest.fixture
def settings(tmp_path):
    """Write `--store-config`: `settings({"auth.user": "kafka"}, password="...")`."""

    def write(lines, *, password=None, mode=0o600):
        if password is not None:
            secret = tmp_path / "password"
            secret.write_text(f"{password}\n")
            secret.chmod(0o600)
            lines = {**lines, "auth.password.file": str(secret)}
        path = tmp_path / "store.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        path.chmod(mode)
        return path

    return write


def digest(user="kafka"):
    return {"auth.scheme": "digest", "auth.user": user}


def tls(pem):
    return {"tls.ca": str(pem / "ca.pem")}


@pytest.mark.zookeeper
def test_tls_with_the_right_authority_and_name_works(secured, pem, settings):
    _, url = secured()
    config = read_store_config(settings(tls(pem) | digest(), password=CANARY))
    init_store(f"{url}/kafka", config)
    with open_store(f"{url}/kafka", config) as store:
        store.commit([Create(f"{HOSTS}/h7", b""), Create(f"{CLAIMS}/7", b"", ephemeral=True)])
        assert store.children(HOSTS) == ["h7"]
        assert store.next_number() == 1


@pytest.mark.zookeeper
@pytest.mark.parametrize(
    ("server", "authority", "why"),
    [
        ("server", "stranger.pem", "certificate verify failed"),
        ("other", "ca.pem", "IP address mismatch"),
    ],
    ids=["wrong authority", "wrong name"],
)
def test_a_server_that_cannot_prove_its_name_is_not_told_the_password(
    secured, pem, settings, server, authority, why
):
    _, url = secured(server)
    config = read_store_config(
        settings({"tls.ca": str(pem / authority)} | digest(), password=CANARY)
    )
    with pytest.raises(Unreachable) as refused:
        open_store(url, config, connect_s=5.0)
    assert why in refused.value.message
    assert CANARY not in shown(refused.value)


@pytest.mark.zookeeper
def test_a_plain_client_and_a_tls_server_do_not_meet(secured, pem, settings):
    server, url = secured()
    with pytest.raises(Unreachable):
        open_store(url, connect_s=0.5)
    with pytest.raises(Unreachable):
        open_store(server.url, read_store_config(settings(tls(pem))), connect_s=0.5)


@pytest.mark.zookeeper
def test_a_client_certificate_is_a_login(secured, pem, settings):
    _, url = secured(client_auth="need")
    own = tls(pem) | {
        "tls.certificate": str(pem / "client-cert.pem"),
        "tls.key": str(pem / "client-key.pem"),
    }
    config = read_store_config(settings(own))
    assert {each.state for each in init_store(url, config)} == {"made"}
    assert {each.state for each in init_store(url, config, check=True)} == {"present"}
    with pytest.raises(Unreachable):
        open_store(url, read_store_config(settings(tls(pem))), connect_s=0.5)


@pytest.mark.zookeeper
def test_nodes_are_their_makers_and_whom_he_lets_read(lone_zookeeper, chroot, settings):
    url = lone_zookeeper.url + chroot
    lines = digest() | {"acl.kafka": "digest:reader:aGFzaA==", "acl.world.read": "true"}
    config = read_store_config(settings(lines, password=CANARY))
    told = init_store(url, config)
    assert {each.had for each in told if each.path in OURS} == {
        "digest:reader=R, self=CDRWA, world:anyone=R"
    }
    assert {each.state for each in init_store(url, config, check=True)} == {"present"}
    with open_store(url, config) as store:
        store.commit([Create(f"{HOSTS}/h7", b"7"), Absent(f"{IDS}/7")])
    with open_store(url) as stranger:
        assert stranger.read([f"{HOSTS}/h7"])[f"{HOSTS}/h7"].data == b"7"
        for ops, wanted in (
            ([Put(FENCE, b"")], f"WRITE on {FENCE}"),
            ([Create(f"{HOSTS}/h8", b"")], f"CREATE on {HOSTS}"),
            ([Absent(f"{IDS}/7")], f"CREATE and DELETE on {IDS}"),
        ):
            with pytest.raises(MissingPermission) as refused:
                stranger.commit(ops)
            assert refused.value.wanted == wanted
            assert wanted in refused.value.hint
        with pytest.raises(MissingPermission, match="WRITE on /brokers/id_clock"):
            stranger.now_ms()
        with pytest.raises(MissingPermission, match="WRITE on /brokers/seqid"):
            stranger.next_number()


@pytest.mark.zookeeper
def test_a_wrong_password_is_denied_and_shown_nowhere(lone_zookeeper, chroot, settings):
    url = lone_zookeeper.url + chroot
    init_store(url, read_store_config(settings(digest(), password=f"{CANARY}-right")))
    wrong = read_store_config(settings(digest(), password=CANARY))
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    logging.getLogger().addHandler(handler)
    level = logging.getLogger().level
    logging.getLogger().setLevel(1)
    try:
        with open_store(url, wrong) as store, pytest.raises(MissingPermission) as refused:
            store.read([f"{HOSTS}/h7", FENCE])
        with pytest.raises(MissingPermission) as unmade:
            init_store(f"{url}{HOSTS}/below", wrong)
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(level)
    for text in (heard.getvalue(), shown(refused.value), shown(unmade.value), repr(wrong)):
        assert CANARY not in text
    with pytest.raises(MissingPermission, match=f"READ on {HOSTS}"):
        init_store(url, wrong, check=True)


@pytest.mark.zookeeper
def test_a_scheme_that_zookeeper_does_not_know_is_told(lone_zookeeper, chroot, settings):
    config = read_store_config(settings(digest() | {"acl.kafka": "sasl:k"}, password=CANARY))
    with pytest.raises(InvalidConfig, match=r"the scheme of acl\.kafka") as refused:
        init_store(lone_zookeeper.url + chroot, config)
    assert CANARY not in shown(refused.value)


@pytest.mark.zookeeper
def test_nodes_of_another_owner_differ(lone_zookeeper, chroot, settings):
    url = lone_zookeeper.url + chroot
    init_store(url)
    config = read_store_config(settings(digest(), password=CANARY))
    found = [each for each in init_store(url, config) if each.path in OURS]
    assert {each.state for each in found} == {"differs"}
    assert {(each.wanted, each.had) for each in found} == {("self=CDRWA", "world:anyone=CDRWA")}
    assert CANARY not in repr(found)


@pytest.mark.zookeeper
def test_a_mapping_that_is_denied_is_read_as_such_and_waited_for_in_peace(lone_zookeeper, chroot):
    """Another node that is denied is an error."""
    url, own = lone_zookeeper.url + chroot, [make_digest_acl("thief", "secret", all=True)]
    init_store(url)
    with open_store(url) as store:
        path = f"{HOSTS}/g"
        store.commit([Create(path, b"secret"), Create(f"{CLAIMS}/7", b"")])
        for each in (path, f"{CLAIMS}/7"):
            store._client.set_acls(each, own)
        node = store.read([path])[path]
        assert (node.is_denied, node.data) == (True, b"")
        assert store.wait([path], 100) == frozenset()
        with pytest.raises(MissingPermission, match=f"READ on {CLAIMS}/7"):
            store.read([f"{CLAIMS}/7"])


def shown(error):
    """All that an error could put on a screen, its causes with it."""
    told = "".join(traceback.format_exception(error))
    return told + repr(error) + str(error.as_dict()) + repr(vars(error))


def refused_with(path, kind=InvalidConfig):
    with pytest.raises(kind) as refused:
        read_store_config(path)
    assert isinstance(refused.value, RackwiseError)
    assert CANARY not in shown(refused.value)
    return refused.value


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604, 0o620])
def test_settings_that_others_may_read_are_exposed(settings, mode):
    path = settings(digest(), password=CANARY, mode=mode)
    error = refused_with(path, SecretExposed)
    assert error.had == f"{mode:04o}"
    assert error.hint.startswith(f"run chmod 600 {path}; ")


def test_settings_that_the_group_may_read_are_used_with_a_warning(settings, tmp_path):
    path = settings(digest(), password=CANARY, mode=0o440)
    (tmp_path / "password").chmod(0o640)
    with pytest.warns(SettingsWarning) as told:
        assert read_store_config(path).password.reveal() == CANARY
    texts = [str(each.message) for each in told]
    assert [f"{path} holds" in texts[0], "holds a password" in texts[1]] == [True, True]
    assert CANARY not in "".join(texts)


def test_a_password_or_key_that_others_may_read_is_exposed(settings, tmp_path, pem):
    path = settings(digest(), password=CANARY)
    (tmp_path / "password").chmod(0o644)
    assert refused_with(path, SecretExposed).where == str(tmp_path / "password")
    key = tmp_path / "key.pem"
    key.write_bytes((pem / "client-key.pem").read_bytes())
    key.chmod(0o644)
    lines = tls(pem) | {"tls.certificate": str(pem / "client-cert.pem"), "tls.key": str(key)}
    assert refused_with(settings(lines), SecretExposed).where == str(key)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ({"auth.secret.env": "X"}, "unknown setting auth.secret.env"),
        ({"auth.scheme": "kerberos"}, "expected digest or sasl"),
        ({"auth.scheme": "digest"}, "expected auth.scheme, auth.user and a password together"),
        ({"auth.user": "kafka"}, "expected auth.scheme, auth.user and a password together"),
        ({"auth.password.env": "NOT_SET"}, "NOT_SET is not set"),
        ({"auth.password.env": "A", "auth.password.file": "/b"}, "one source of the password"),
        ({"auth.password.file": "/nowhere"}, "cannot read password file /nowhere"),
        ({"acl.kafka": "kafka"}, "expected SCHEME:ID, got kafka"),
        ({"acl.kafka": "sasl:kafka"}, "acl.kafka needs a login that owns the nodes"),
        ({"acl.world.read": "perhaps"}, "expected true or false"),
        ({"tls.ca": "/nowhere"}, "cannot load tls.ca /nowhere"),
        ({"tls.certificate": "/nowhere"}, "expected tls.ca"),
        ({"tls.key": "/nowhere"}, "expected tls.ca"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_obeyed_are_refused(settings, lines, said):
    assert said in refused_with(settings(lines)).message


def test_pem_that_is_none_or_locked_is_refused_without_a_question(settings, tmp_path, pem):
    from kafka_pem import CERTIFICATE, LOCKED_KEY

    junk, key, certificate = (tmp_path / name for name in ("junk.pem", "key.pem", "cert.pem"))
    junk.write_text("junk")
    key.write_text(LOCKED_KEY)
    key.chmod(0o600)
    certificate.write_text(CERTIFICATE)
    assert "tls.ca" in refused_with(settings({"tls.ca": str(junk)})).message
    one = tls(pem) | {"tls.certificate": str(certificate)}
    assert "expected tls.certificate and tls.key together" in refused_with(settings(one)).message
    locked = one | {"tls.key": str(key)}
    assert "without a password" in refused_with(settings(locked)).message
    gone = one | {"tls.key": str(tmp_path / "gone")}
    assert "tls.key" in refused_with(settings(gone)).message


@pytest.mark.parametrize("data", [b"", b"\n", b"\xff\xfe", b"x" * 70_000])
def test_a_password_file_without_a_password_is_refused(settings, tmp_path, data):
    path = settings(digest(), password=CANARY)
    (tmp_path / "password").write_bytes(data)
    assert isinstance(refused_with(path), InputError)


def test_settings_that_are_no_file_are_refused(tmp_path):
    assert "cannot read store settings" in refused_with(tmp_path / "gone").message
    assert "expected a regular file" in refused_with(tmp_path).message


def test_a_password_comes_from_a_variable_or_a_file(settings, monkeypatch):
    monkeypatch.setenv("ZK_PASSWORD", CANARY)
    config = read_store_config(settings(digest() | {"auth.password.env": "ZK_PASSWORD"}))
    assert config.password.reveal() == CANARY
    assert f"{config.password} {config.password!r} {config}".count("***") == 3
    assert CANARY not in f"{config!r} {config} {config.password:>9}"
    assert read_store_config(settings(digest(), password=CANARY)).password.reveal() == CANARY
    with pytest.raises(TypeError):
        config.password.__reduce__()


def test_sasl_wants_its_package(settings):
    error = refused_with(
        settings({"auth.scheme": "sasl", "auth.user": "kafka"}, password=CANARY), MissingDependency
    )
    assert error.hint == "pip install pure-sasl"


def test_a_login_without_tls_off_this_machine_is_warned_about(settings, pem):
    plain = read_store_config(settings(digest(), password=CANARY))
    encrypted = read_store_config(settings(digest() | tls(pem), password=CANARY))
    away = Address.parse("zookeeper://127.0.0.1:2181,zk-1:2181")
    here = Address.parse("zookeeper://127.0.0.1:2181,localhost:1,[::1]:2")
    assert "unencrypted" in plain.warnings(away)[0]
    assert (plain.warnings(here), encrypted.warnings(away)) == ((), ())
    assert StoreConfig().warnings(away) == ()


def test_the_client_checks_names_and_makes_no_open_nodes(settings, pem):
    arguments = read_store_config(settings(tls(pem) | digest(), password=CANARY)).client_arguments()
    assert arguments["check_hostname"] is arguments["verify_certs"] is arguments["use_ssl"] is True
    assert "world" not in {each.id.scheme for each in arguments["default_acl"]}
