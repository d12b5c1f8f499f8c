"""Certificates of brokers: an untrusted one is reported at once, without a retry."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import pytest

from kafka_pem import AUTHORITY, CERTIFICATE, EXPIRED, KEY, STRANGER
from rackwise.adapters.kafka import connect
from rackwise.core.errors import AuthenticationFailed, RackwiseError


@pytest.fixture
def connected(tmp_path):
    """What connecting to listeners with these certificates comes to, and after how long."""

    def call(*certificates, trusted=AUTHORITY, timeout_s=60.0):
        folder = tmp_path
        with ExitStack() as stack:
            servers = [stack.enter_context(greeting(folder, pem)) for pem in certificates]
            bootstrap = ",".join("{}:{}".format(*each.getsockname()) for each in servers)
            store = folder / "ca.pem"
            store.write_text(trusted)
            settings = {
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(store),
            }
            began = time.monotonic()
            with pytest.raises(RackwiseError) as caught:
                connect(bootstrap, settings, timeout_s=timeout_s)
            return caught.value, time.monotonic() - began

    return call


class TestCertificates:
    """Of listeners that do no more than shake hands."""

    @pytest.mark.parametrize(
        ("certificate", "trusted", "why"),
        [
            (KEY + CERTIFICATE, STRANGER, "self-signed certificate in certificate chain"),
            (EXPIRED, AUTHORITY, "certificate has expired"),
        ],
        ids=["stranger", "expired"],
    )
    def test_what_is_not_believed_is_told_at_once(self, connected, certificate, trusted, why):
        error, seconds = connected(certificate + AUTHORITY, trusted=trusted)
        assert isinstance(error, AuthenticationFailed)
        assert error.message.startswith("the broker's certificate at ")
        assert error.message.endswith(f" is not trusted: {why}")
        assert (error.wanted, error.had) == ("a trusted certificate", why)
        assert "ssl.truststore.location" in error.hint
        assert seconds < 10.0

    def test_one_that_is_believed_keeps_the_others_from_ending_it(self, connected):
        good = KEY + CERTIFICATE + AUTHORITY
        error, seconds = connected(good, EXPIRED + AUTHORITY, timeout_s=2.0)
        assert seconds >= 1.9
        assert "no broker answers at" in error.message or "is not trusted" in error.message


@contextmanager
def greeting(folder, pem):
    """A listener with this certificate which hangs up after the handshake."""
    path = folder / f"{len([*folder.iterdir()])}.pem"
    path.write_text(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=greet, args=(server, context), name="say")
        thread.start()
        yield server
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def greet(server, context):
    while True:
        try:
            guest = server.accept()[0]
        except OSError:
            return
        with suppress(OSError), guest, context.wrap_socket(guest, server_side=True) as spoken:
            spoken.recv(1000)
