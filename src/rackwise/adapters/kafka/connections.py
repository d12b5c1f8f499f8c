"""The connections of kafka-python, corrected so that errors of login and TLS are reported at once.

1. A broker answers a wrong password and closes the connection. kafka-python 3.0 drops bytes that
   arrive together with the end of the stream, so the answer is often lost.
2. It repeats a rejected login, and connections to brokers with untrusted certificates, until the
   time for connecting is over.
3. It waits for the other end of a TLS handshake without a deadline, and leaves the socket of a
   failed handshake open.
4. It repeats connections that a broker ends because of the client's certificate.
5. A server that ends a connection after the TLS handshake, before its first answer, is reported as
   any other lost connection. Servers in Python reject the certificate of a client so, and send no
   alert.
6. A request to a connection that ends at that moment raises a plain `RuntimeError`, as a bug would,
   and not the error of a lost connection.
"""

from __future__ import annotations

import ssl
import time
from typing import Any, TypeAlias

from kafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafka.net.compat import KafkaNetClient
from kafka.net.inet import create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from rackwise.adapters.kafka.logins.token_login import TOKENS, TokenDenied
from rackwise.core.override import override
from rackwise.core.tls_faults import ENABLE, TlsCause, tls_fault

Untyped: TypeAlias = Any
"""A private part of kafka-python, without types."""

LOGIN_ERRORS = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError, IllegalSaslStateError)
"""Errors after which a repeated login is useless."""
NEW_KEY_S = 3.0
"""For so long a rejected token is not the end: a broker that sees the first token of a new signing
key rejects it, and reads the issuer's keys."""


class UntrustedCertificate(KafkaConnectionError):
    """A broker's certificate is not trusted; `reason` is the text of OpenSSL."""

    def __init__(self, error: ssl.SSLCertVerificationError) -> None:
        super().__init__(f"Handshake failed: {error}")
        self.reason = str(error.verify_message)


class RejectedCertificate(KafkaConnectionError):
    """A broker ended the connection because of the client's certificate; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the broker rejected the certificate of this client: {reason}")
        self.reason = reason


class FailedTls(KafkaConnectionError):
    """A connection under TLS that ended before the first answer; `hint` says what to check."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


_ENABLE = f"{ENABLE}: for Kafka ssl.enabled.protocols of the listener"
_NO_TLS = (
    "check the port, and security.protocol in the client settings: a listener without TLS ends the "
    "handshake; security.protocol=PLAINTEXT or SASL_PLAINTEXT is for such a listener"
)
_CLOSED = (
    "if the server asks for client certificates, set ssl.keystore.location to a store whose "
    "certificate it trusts, and check the dates of that certificate; the log of the server says "
    "why it closed the connection"
)


def failed_handshake(error: Exception) -> FailedTls:
    """The error of a handshake that failed, other than for a certificate."""
    fault = tls_fault(error)
    if fault is not None and fault.cause is TlsCause.OLD:
        return FailedTls(fault.text, _ENABLE)
    why = (fault and fault.reason) or getattr(error, "strerror", None) or str(error)
    return FailedTls(f"the TLS handshake failed: {why}", _NO_TLS)


def closed_after_handshake() -> FailedTls:
    """The error of a connection that ended after the handshake, without an alert."""
    return FailedTls("the connection ended after the TLS handshake, before an answer", _CLOSED)


def rejection_of(error: Untyped) -> RejectedCertificate | None:
    """The alert about the client's certificate in an error, or None.

    Under TLS 1.3, it comes after the handshake: kafka-python wraps it.
    """
    fault = None if error is None else tls_fault(error)
    if fault is None or fault.cause is not TlsCause.REJECTED:
        return None
    return RejectedCertificate(fault.reason)


class CompleteReadTransport(KafkaTCPTransport):
    """A socket that delivers its last bytes before its end, and reports the end as such."""

    @override
    def _sock_recv(self) -> tuple[bytes, Exception | None]:
        receive: Untyped = super()._sock_recv
        data, error = receive()
        return data, None if data else error

    @override
    def write(self, data: bytes) -> None:
        """Queue bytes. Raises `KafkaConnectionError` once it is closed."""
        is_closing: Untyped = self.is_closing
        if is_closing():
            raise KafkaConnectionError(f"{self.host} closed the connection")
        write: Untyped = super().write
        write(data)


class PlainTransport(CompleteReadTransport):
    """The transport without TLS."""


class TlsTransport(CompleteReadTransport, KafkaSSLTransport):
    """The transport under TLS, with a deadline for the handshake."""

    handshake_until: float | None = None
    has_read = False

    @override
    def _sock_recv(self) -> tuple[bytes, Exception | None]:
        data, error = super()._sock_recv()
        self.has_read |= bool(data)
        is_end = error is not None and rejection_of(error) is None
        return data, closed_after_handshake() if is_end and not self.has_read else error

    @override
    def _sock_send(self) -> tuple[int, Exception | None]:
        send: Untyped = super()._sock_send
        sent, error = send()
        if error is not None and not self.has_read and self._sock is not None:
            # The server closed before the request: the alert that says why is still to be read.
            error = self._sock_recv()[1] or error
        return sent, error

    @override
    async def handshake(self) -> None:
        """Shake hands. Raises `ssl.SSLError`, and `KafkaTimeoutError` at the deadline."""
        while True:
            try:
                self._sock.do_handshake()
            except ssl.SSLWantReadError:
                await self._net.wait_read(self._sock, timeout_at=self.handshake_until)
            except ssl.SSLWantWriteError:
                await self._net.wait_write(self._sock, timeout_at=self.handshake_until)
            else:
                return


class Connections(KafkaConnectionManager):
    """Connections with those transports; they remember a rejected login of each broker.

    A token is another one at the next login, so its rejection is remembered only if there was no
    login before and none in `NEW_KEY_S`.

    If all bootstrap servers have untrusted certificates, and none was trusted before, connecting
    ends at once. Later a broker may get another certificate.
    """

    def __init__(self, *arguments: Untyped, **config: Untyped) -> None:
        opened: Untyped = super().__init__
        opened(*arguments, **config)
        self._untrusted: dict[Untyped, UntrustedCertificate] = {}
        self._has_trusted = False
        self._has_logged_in = False
        self._rejected_s: float | None = None

    @override
    async def _build_transport(self, node: Untyped, timeout_at: float | None = None) -> Untyped:
        opened: Untyped = create_connection
        make: Untyped = TlsTransport if self.ssl_enabled else PlainTransport
        tls = {"ssl_context": self.config["ssl_context"]} if self.ssl_enabled else {}
        sock = await opened(
            self._net, node.host, node.port, self.config["socket_options"], timeout_at=timeout_at
        )
        transport = make(self._net, sock, host=node.host, **tls)
        transport.handshake_until = timeout_at
        try:
            await transport.handshake()
        except (OSError, KafkaError) as error:
            transport._sock.close()  # noqa: SLF001 (nobody else will)
            if isinstance(error, ssl.SSLCertVerificationError):
                raise UntrustedCertificate(error) from error
            raise rejection_of(error) or failed_handshake(error) from error
        self._has_trusted = True
        return transport

    @override
    async def _connect(
        self,
        node: Untyped,
        conn: Untyped,
        reset_backoff_on_connect: bool = True,  # noqa: FBT001, FBT002 (as it is overridden)
        timeout_at: float | None = None,
    ) -> None:
        connect: Untyped = super()._connect
        await connect(node, conn, reset_backoff_on_connect, timeout_at)
        error: Untyped = conn.init_future.exception
        error = rejection_of(error) or error
        self._has_logged_in |= error is None
        if isinstance(error, (*LOGIN_ERRORS, RejectedCertificate)):
            if self._may_take_a_token(error):
                self._auth_failures.pop(node.node_id, None)
            else:
                self._auth_failures[node.node_id] = error
        if isinstance(error, UntrustedCertificate):
            self._untrusted[node.node_id] = error
            servers: Untyped = self.cluster.bootstrap_brokers
            asked = {each.node_id for each in servers()}
            if not self._has_trusted and asked <= self._untrusted.keys():
                self._auth_failures.update(self._untrusted)

    def _may_take_a_token(self, error: Exception) -> bool:
        """Whether brokers may accept the next token, after this rejection."""
        if self.config[TOKENS] is None or isinstance(error, TokenDenied | RejectedCertificate):
            return False
        self._rejected_s = self._rejected_s or time.monotonic()
        return self._has_logged_in or time.monotonic() - self._rejected_s < NEW_KEY_S


def net_client(**config: Untyped) -> Untyped:
    """The network client for `KafkaAdminClient(kafka_client=...)`."""
    select: Untyped = NetworkSelector
    connections: Untyped = Connections
    client: Untyped = KafkaNetClient
    selector = select(**config)
    return client(net=selector, manager=connections(selector, **config))
