"""Where the server listens, and who may speak to it: addresses, keys, TLS."""

from __future__ import annotations

import ssl
from contextlib import closing

import pytest

from kafka_pem import AUTHORITY, CERTIFICATE, KEY, LOCKED_KEY, STRANGER
from rackwise.adapters.kafka import connect_as
from rackwise.adapters.rpc import accepted
from rackwise.adapters.rpc.client import ReplicaAssignmentClient
from rackwise.adapters.rpc.config import (
    ServeConfig,
    Tls,
    address_of,
    listening_socket,
    server_context,
)
from rackwise.core.errors import (
    AuthenticationFailed,
    InvalidConfig,
    Unreachable,
)
from rackwise.core.identity.refusals import SecretExposed
from rpc_servers import PATIENCE_S, connected, eventually, received, running
from service_frames import framed, header


@pytest.fixture(scope="module")
def shared():
    with running() as server:
        yield server


def asked(admin, *arguments):
    return admin.create_replica_assignment(*arguments).assignments().result(PATIENCE_S)


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pem")
    texts = {
        "server.pem": CERTIFICATE,
        "key.pem": KEY,
        "locked.pem": LOCKED_KEY,
        "ca.pem": AUTHORITY,
        "stranger.pem": STRANGER,
        "both.pem": CERTIFICATE + KEY,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    return folder


class TestTls:
    def test_clients_with_a_certificate_are_served_and_no_others(self, pem, monkeypatch):
        tls = Tls(certificate=pem / "server.pem", key=pem / "key.pem", client_ca=pem / "ca.pem")
        settings = {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(pem / "ca.pem"),
        }
        own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem / "both.pem")}
        with running(tls=tls) as server:
            with closing(
                connect_as(ReplicaAssignmentClient, server.bootstrap, settings | own)
            ) as admin:
                assert len(asked(admin, 5, 3)) == 5
            with closing(connected(server.port)) as plain:
                plain.sendall(framed(header(18, 0, version=1)))
                while plain.recv(1024):
                    pass
            eventually(lambda: server.closed_by("tls") >= 1)
            monkeypatch.setattr(accepted, "LINGER_S", PATIENCE_S)
            for refused, error, timeout_s in (
                (settings, AuthenticationFailed, PATIENCE_S),
                ({}, Unreachable, 1.0),
            ):
                with pytest.raises(error):
                    connect_as(
                        ReplicaAssignmentClient, server.bootstrap, refused, timeout_s=timeout_s
                    )

    def test_the_name_of_a_client_certificate_owns_its_requests(self, pem):
        tls = Tls(certificate=pem / "server.pem", key=pem / "key.pem", client_ca=pem / "ca.pem")
        context = ssl.create_default_context(cafile=pem / "ca.pem")
        context.check_hostname = False
        context.load_cert_chain(pem / "both.pem")
        with running(tls=tls) as server, context.wrap_socket(connected(server.port)) as sock:
            sock.sendall(framed(header(18, 0, version=1)))
            assert received(sock)
            (connection,) = filter(None, server.server._tasks.values())
            subject = sock.getpeercert()["subject"]  # both sides show the same certificate
            values = (value for group in subject for _, value in group)
            organization, unit = (value.replace("#", "\\#") for value in values)
            assert connection.owner == f"User:OU={unit},O={organization}"
            assert connection.principal == connection.owner

    @pytest.mark.parametrize(
        ("certificate", "key", "client_ca"),
        [
            ("server.pem", "locked.pem", "ca.pem"),
            ("server.pem", "ca.pem", "ca.pem"),
            ("none.pem", "key.pem", "ca.pem"),
            ("server.pem", "key.pem", "key.pem"),
            ("server.pem", "key.pem", "none.pem"),
        ],
    )
    def test_files_that_cannot_be_loaded_are_named(self, pem, certificate, key, client_ca):
        tls = Tls(certificate=pem / certificate, key=pem / key, client_ca=pem / client_ca)
        with pytest.raises(InvalidConfig, match=r"invalid --tls.*: expected PEM files, got "):
            server_context(tls)

    @pytest.mark.parametrize("mode", [0o604, 0o620, 0o644])
    def test_a_key_that_others_may_read_or_write_is_refused(self, tmp_path, mode):
        key, certificate = tmp_path / "key.pem", tmp_path / "server.pem"
        certificate.write_text(CERTIFICATE)
        key.write_text(KEY)
        key.chmod(mode)
        with pytest.raises(SecretExposed, match=f"holds a private key: .*, got {mode:04o}"):
            server_context(Tls(certificate=certificate, key=key))


class TestAddresses:
    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("127.0.0.1:19092", ("127.0.0.1", 19092)),
            ("[::1]:0", ("::1", 0)),
            ("rows.internal:65535", ("rows.internal", 65535)),
        ],
    )
    def test_of_a_text(self, text, wanted):
        assert address_of(text, option="--listen") == wanted

    @pytest.mark.parametrize(
        "text",
        [
            *("", "x", ":1", "x:", "x:65536", "x:-1", "x:\u0661", "x:" + "9" * 5000),
            *("a 1:1", "a\x1b:1", "\udcff:1", "a" * 256 + ":1"),
        ],
    )
    def test_what_is_none(self, text):
        with pytest.raises(
            InvalidConfig, match="invalid --listen: expected HOST:PORT, got "
        ) as refused:
            address_of(text, option="--listen")
        assert str(refused.value).isprintable()
        assert len(str(refused.value)) < 120

    def test_the_longest_name_of_a_host(self):
        assert address_of("a" * 255 + ":1", option="--advertised") == ("a" * 255, 1)

    def test_the_world_is_not_listened_to_in_clear(self, pem):
        tls = Tls(certificate=pem / "server.pem", key=pem / "key.pem")
        for secured in (None, tls):
            config = ServeConfig(host="0.0.0.0", port=0, log=print, tls=secured)  # noqa: S104
            with pytest.raises(InvalidConfig, match="is not a loopback address"):
                listening_socket(config)
        insecure = ServeConfig(host="0.0.0.0", port=0, log=print, may_be_insecure=True)  # noqa: S104
        listening_socket(insecure).close()
        mutual = Tls(certificate=pem / "server.pem", key=pem / "key.pem", client_ca=pem / "ca.pem")
        listening_socket(ServeConfig(host="0.0.0.0", port=0, log=print, tls=mutual)).close()  # noqa: S104

    def test_a_brokers_port_is_refused(self):
        with pytest.raises(InvalidConfig, match="expected one other than 9092"):
            listening_socket(ServeConfig(port=9092, log=print))

    def test_a_port_that_is_taken_and_a_host_that_is_not_ours(self, shared):
        taken, nowhere = ("127.0.0.1", shared.port), ("no.such.host.invalid", 0)
        for host, port in (taken, nowhere, ("a" * 70, 0), ("a..b", 0)):
            with pytest.raises(Unreachable, match="cannot listen on"):
                listening_socket(ServeConfig(host=host, port=port, log=print))
