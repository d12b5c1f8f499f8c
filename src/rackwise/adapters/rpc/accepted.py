"""The transport of a connection that was accepted; a failed TLS handshake ends with its alert.

asyncio closes the socket of a failed handshake without the bytes that OpenSSL has written for the
client. Such a client sees a connection that ends, and cannot know that its certificate has expired.

```
handshake fails ──> asyncio closes its descriptor; ours of the same socket is open
                ──> alert ──> our side ends ──> bytes of the client are dropped ──> closed
```

A socket that is closed with bytes left to read is reset, and the client loses the alert. So the
rest is read, for at most `LINGER_S`.

What this does not do: send an alert when the handshake takes too long.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import closing, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from rackwise.core.override import override

if TYPE_CHECKING:
    from rackwise.adapters.rpc.connection import WatchedStream

Untyped: TypeAlias = Any
"""Arguments of `SSLContext.wrap_bio`, passed on."""

LINGER_S: Final = 1.0
"""How long a client has to read an alert and to end the connection."""
_CHUNK: Final = 1 << 14


class _Handshake(ssl.SSLObject):
    """A handshake that keeps what OpenSSL has written when it fails; asyncio drops that."""

    outgoing: ssl.MemoryBIO
    unsent = b""

    @override
    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            self.unsent = self.outgoing.read()
            raise


class _WatchedContext:
    """A context for the handshake of one connection, in place of an `SSLContext`."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._context.sslobject_class = _Handshake
        self._handshake: _Handshake | None = None

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, **named: Untyped
    ) -> ssl.SSLObject:
        """As `SSLContext.wrap_bio`."""
        self._handshake = cast("_Handshake", self._context.wrap_bio(incoming, outgoing, **named))
        self._handshake.outgoing = outgoing
        return self._handshake

    @property
    def alert(self) -> bytes:
        """What the client has to know about a handshake that has failed."""
        return b"" if self._handshake is None else self._handshake.unsent


async def accepted_transport(
    sock: socket.socket,
    stream: WatchedStream,
    context: ssl.SSLContext | None,
    *,
    handshake_s: float,
) -> asyncio.Transport:
    """The transport between a socket and a stream; `context`: None without TLS.

    Raises `OSError`; the client then has the alert, if there is one.
    """
    loop = asyncio.get_running_loop()
    if context is None:
        transport, _ = await loop.connect_accepted_socket(lambda: stream, sock)
        return transport
    watched = _WatchedContext(context)
    with _second(sock) as second:
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: stream,
                sock,
                ssl=cast("ssl.SSLContext", watched),
                ssl_handshake_timeout=handshake_s,
            )
        except ssl.SSLError:
            if second is not None:
                await _deliver(second, watched.alert)
            raise
    return transport


def _second(sock: socket.socket) -> closing[socket.socket] | nullcontext[None]:
    """A second descriptor of a socket; None if none is free."""
    try:
        return closing(sock.dup())
    except OSError:
        return nullcontext()


async def _deliver(sock: socket.socket, alert: bytes) -> None:
    """Send an alert, and read until the client ends the connection."""
    loop = asyncio.get_running_loop()
    with suppress(OSError):
        async with asyncio.timeout(LINGER_S):
            await loop.sock_sendall(sock, alert)
            sock.shutdown(socket.SHUT_WR)
            while await loop.sock_recv(sock, _CHUNK):
                pass
