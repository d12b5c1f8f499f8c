"""TLS handshakes of `place --from-server` that fail: one line with the cause, and what to do."""

from __future__ import annotations

import pytest

from rackwise.adapters.rpc import accepted
from rackwise.adapters.rpc.config import Tls
from refusals import called, check_refused
from rpc_servers import PATIENCE_S, running
from tls_listeners import listener, pem_folder, silent_listener, tls_of

NOT_TRUSTED = (
    "check the names and dates of the broker's certificate, and the certificate authorities in "
    "ssl.truststore.location of the client settings"
)
REJECTED = (
    "set ssl.keystore.location to a store whose certificate the broker trusts, and check the dates "
    "of that certificate"
)
CLOSED = (
    "if the server asks for client certificates, set ssl.keystore.location to a store whose "
    "certificate it trusts, and check the dates of that certificate; the log of the server says "
    "why it closed the connection"
)
NO_TLS = (
    "check the port, and security.protocol in the client settings: a listener without TLS ends the "
    "handshake; security.protocol=PLAINTEXT or SASL_PLAINTEXT is for such a listener"
)
ENABLE = "enable TLS 1.2 or 1.3 on the server: for Kafka ssl.enabled.protocols of the listener"
GIVE_UP_MS = 2_000
"""Until when the client connects again: it does after errors that may pass."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pem_folder(tmp_path_factory.mktemp("pem"))


def command(folder, server, own=None, give_up_ms=GIVE_UP_MS):
    """`place --from-server` with client settings of TLS; `own`: the client's certificate."""
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": folder / "ca.pem",
        "default.api.timeout.ms": give_up_ms,
    }
    if own is not None:
        settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": folder / f"{own}.pem"}
    file = folder / f"{own}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    file.chmod(0o600)
    size = ("--partitions", 2, "--replication-factor", 1)
    return ["place", "--from-server", server, *size, "--command-config", file]


@pytest.mark.filterwarnings("ignore:.*TLSv1.* is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("made", "own", "says", "hint"),
    [
        (
            {"name": "expired"},
            None,
            "the broker's certificate at {} is not trusted: certificate has expired",
            NOT_TRUSTED,
        ),
        (
            {"name": "stranger"},
            None,
            "the broker's certificate at {} is not trusted: unable to get local issuer certificate",
            NOT_TRUSTED,
        ),
        (
            {"name": "good", "is_old": True},
            None,
            "no broker answers at {}: the server offers no TLS 1.2 or later",
            ENABLE,
        ),
        (
            {"name": "good", "asks": True},
            "expired",
            "the broker at {} rejected the certificate of this client: certificate expired",
            REJECTED,
        ),
        (
            {"name": "good", "asks": True},
            "stranger",
            "the broker at {} rejected the certificate of this client: unknown ca",
            REJECTED,
        ),
    ],
    ids=["expired", "foreign", "old", "client expired", "client foreign"],
)
def test_a_handshake_that_fails_is_one_line_with_its_cause(folder, made, own, says, hint):
    with listener(tls_of(folder, **made)) as port:
        server = f"127.0.0.1:{port}"
        check_refused(command(folder, server, own), says.format(server), hint)


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ("expired", "certificate expired"),
        ("stranger", "unknown ca"),
        (None, "certificate required"),
    ],
)
def test_a_service_that_rejects_the_client_says_why(folder, own, says, monkeypatch):
    monkeypatch.setattr(accepted, "LINGER_S", PATIENCE_S)
    tls = Tls(
        certificate=folder / "server.pem", key=folder / "key.pem", client_ca=folder / "ca.pem"
    )
    with running(tls=tls) as service:
        check_refused(
            command(folder, service.bootstrap, own, int(PATIENCE_S * 1000)),
            f"the broker at {service.bootstrap} rejected the certificate of this client: {says}",
            REJECTED,
        )


def test_a_server_that_rejects_the_client_without_an_alert(folder):
    with silent_listener(tls_of(folder, "good", asks=True)) as port:
        check_refused(
            command(folder, f"127.0.0.1:{port}", "expired"),
            f"no broker answers at 127.0.0.1:{port}: the connection ended after the TLS "
            "handshake, before an answer",
            CLOSED,
        )


def test_a_service_without_tls(folder):
    """It closes the connection; the system resets it if bytes of the client are left to read."""
    with running() as service:
        code, out, err = called(*command(folder, service.bootstrap))
    error, hint = err.splitlines()[-2:]
    assert (code, out) == (1, "")
    failed = f"error: no broker answers at {service.bootstrap}: the TLS handshake failed: "
    assert error in {f"{failed}unexpected eof while reading", f"{failed}Connection reset by peer"}
    assert hint == f"hint: {NO_TLS}"
