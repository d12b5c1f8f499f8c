"""kafka-python's connections, mended so that what keeps us out is told, and at once.

1. A broker answers a wrong password and hangs up. kafka-python 3.0 drops bytes that arrive together
   with the end of the stream, so the answer is lost as often as not.
2. It goes on trying a login that was refused, and brokers whose certificates nobody believes, until
   the time for connecting is over.
3. It waits for the other end of a TLS handshake without a deadline, and leaves the socket of a
   handshake that failed open.
4. A request to a connection that ends in that moment raises a plain `RuntimeError`, as a fault of
   the program would, and not that the connection was lost.
"""

from __future__ import annotations

import ssl
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

from rackwise.core.override import override

Untyped: TypeAlias = Any
"""A thing of kafka-python's inside, which has no types."""

LOGIN_ERRORS = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError, IllegalSaslStateError)
"""Errors that say that the login will not do, now or later."""


class UntrustedCertificate(KafkaConnectionError):
    """A broker's certificate is not believed; `reason`: why, as OpenSSL says it."""

    def __init__(self, error: ssl.SSLCertVerificationError) -> None:
        super().__init__(f"Handshake failed: {error}")
        self.reason = str(error.verify_message)


class CompleteReadTransport(KafkaTCPTransport):
    """A socket whose last bytes are told before its end, and its end as what it is."""

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
    """The same without TLS."""


class TlsTransport(CompleteReadTransport, KafkaSSLTransport):
    """The same under TLS, with a deadline for the handshake on the monotonic clock."""

    handshake_until: float | None = None

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
    """Connections with those transports, which remember a refused login for each broker.

    Where all bootstrap servers show certificates that are not believed, and none was believed
    before, it is over at once. Later on a broker may get another certificate.
    """

    def __init__(self, *arguments: Untyped, **config: Untyped) -> None:
        opened: Untyped = super().__init__
        opened(*arguments, **config)
        self._untrusted: dict[Untyped, UntrustedCertificate] = {}
        self._has_trusted = False

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
            raise KafkaConnectionError(f"Handshake failed: {error}") from error
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
        if isinstance(error, LOGIN_ERRORS):
            self._auth_failures[node.node_id] = error
        if isinstance(error, UntrustedCertificate):
            self._untrusted[node.node_id] = error
            servers: Untyped = self.cluster.bootstrap_brokers
            asked = {each.node_id for each in servers()}
            if not self._has_trusted and asked <= self._untrusted.keys():
                self._auth_failures.update(self._untrusted)


def net_client(**config: Untyped) -> Untyped:
    """What `KafkaAdminClient(kafka_client=...)` calls to make its network client."""
    select: Untyped = NetworkSelector
    connections: Untyped = Connections
    client: Untyped = KafkaNetClient
    selector = select(**config)
    return client(net=selector, manager=connections(selector, **config))
