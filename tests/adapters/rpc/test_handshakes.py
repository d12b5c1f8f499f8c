"""Failed TLS handshakes of `rackwise serve`: one line says why, and the next client is served."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from contextlib import closing, suppress

import pytest

from rackwise.adapters.rpc import accepted
from rackwise.adapters.rpc.config import Tls
from rpc_servers import PATIENCE_S, connected, eventually, received, response_of, running
from service_frames import assignment, framed
from tls_listeners import pem_folder

GOOD = framed(assignment())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pem_folder(tmp_path_factory.mktemp("pem"))


@pytest.fixture
def server(folder):
    tls = Tls(
        certificate=folder / "server.pem", key=folder / "key.pem", client_ca=folder / "ca.pem"
    )
    with running(tls=tls) as server:
        yield server


def context_of(folder, own=None):
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    if own is not None:
        context.load_cert_chain(folder / f"{own}.pem")
    return context


def shake(server, context):
    """Shake hands and send a request; the response, or None if the server closes."""
    with (
        suppress(OSError),
        closing(connected(server.port)) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as sock,
    ):
        sock.sendall(GOOD)
        return received(sock)
    return None


def check_one_line(server, folder, *details):
    """Law: one printable line says why, and a client with a good certificate is served."""
    eventually(lambda: server.closed_by("tls") == 1)
    (line,) = server.told("closed")
    assert line["reason"] == "tls"
    assert line["detail"] in details
    assert response_of(shake(server, context_of(folder, "good")))[1].error_code == 0


@pytest.mark.parametrize(
    ("own", "detail"),
    [
        ("expired", "client certificate: certificate has expired"),
        ("stranger", "client certificate: unable to get local issuer certificate"),
        (None, "peer did not return a certificate"),
    ],
)
def test_a_client_certificate_that_is_not_accepted(server, folder, own, detail):
    assert shake(server, context_of(folder, own)) is None
    check_one_line(server, folder, detail)


ALERTS = {
    "expired": "CERTIFICATE_EXPIRED",
    "stranger": "UNKNOWN_CA",
    None: "CERTIFICATE_REQUIRED",
}
TO_READ = b"x" * 100_000
"""Bytes that a client sends without a wait for the end of the handshake."""


@pytest.mark.parametrize("own", ALERTS)
def test_a_client_gets_the_alert_also_if_it_has_sent_more(server, folder, own, monkeypatch):
    """A socket that is closed with bytes to read is reset, and the alert is lost."""
    monkeypatch.setattr(accepted, "LINGER_S", PATIENCE_S)
    with (
        closing(connected(server.port)) as plain,
        context_of(folder, own).wrap_socket(plain, server_hostname="127.0.0.1") as sock,
    ):
        sock.sendall(TO_READ)
        with pytest.raises(ssl.SSLError) as caught:
            sock.recv(1)
        with closing(socket.socket(fileno=sock.detach())) as rest:
            rest.settimeout(PATIENCE_S / 2)
            assert rest.recv(1) == b"", "the service ends its side before it stops to read"
    assert caught.value.reason.endswith(f"_ALERT_{ALERTS[own]}")


def test_a_client_that_stays_after_the_alert_is_left(server, folder, monkeypatch):
    monkeypatch.setattr(accepted, "LINGER_S", 0.1)
    with (
        closing(connected(server.port)) as plain,
        context_of(folder).wrap_socket(plain, server_hostname="127.0.0.1") as sock,
    ):
        sock.do_handshake()
        check_one_line(server, folder, "peer did not return a certificate")


def test_a_handshake_without_a_free_descriptor_ends_without_an_alert(server, folder, monkeypatch):
    def fail(_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(socket.socket, "dup", fail)
    assert shake(server, context_of(folder)) is None
    check_one_line(server, folder, "peer did not return a certificate")


@pytest.mark.filterwarnings("ignore:.*TLSv1.* is deprecated:DeprecationWarning")
def test_a_protocol_that_is_too_old(server, folder):
    context = context_of(folder, "good")
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    assert shake(server, context) is None
    check_one_line(server, folder, "unsupported protocol")


@pytest.mark.parametrize(
    ("data", "details"),
    [
        (GOOD, ("wrong version number", "record layer failure")),
        (b"GET / HTTP/1.1\r\n\r\n", ("http request",)),
        (b"\x16\x03\x01\x02\x00", ("ConnectionResetError",)),
    ],
    ids=["plaintext", "HTTP", "truncated"],
)
def test_bytes_that_are_no_whole_handshake(server, folder, data, details):
    with closing(connected(server.port)) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while sock.recv(1024):
                pass
    check_one_line(server, folder, *details)
