"""An HTTP or HTTPS connection whose whole call ends within a time limit.

```
name -> address | TCP | TLS | request | answer
|------------------ limit_s -------------------|   a timer cuts the connection
|---- wait_s ---|     each wait for the other side
```

Limits of a socket hold for one read or write each, so a server that sends a byte now and then holds
a caller for ever. Here a timer runs from before the name is looked up, and it cuts the connection
wherever it is. The system's look-up cannot be cut: it runs in a thread of its own, which is left.

A cut ends an answer in the middle as if it were complete, so a cut call is always an error.

What this does not do: use a proxy; follow redirects; keep a connection for a second call.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.core.override import override
from rackwise.core.text import escaped
from rackwise.core.tls_faults import tls_fault

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from urllib.parse import SplitResult

    Addresses: TypeAlias = list[tuple[Any, ...]]

Untyped: TypeAlias = Any
"""A private part of http.client, without types."""

_PORTS = {"http": 80, "https": 443}


def is_this_machine(host: str) -> bool:
    """Whether a host is `localhost` or a loopback address, where nobody else listens in.

    >>> is_this_machine("::1"), is_this_machine("127.0.0.1.example")
    (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def target_of(parts: SplitResult) -> str:
    """The path and the query that a request of a URL names."""
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def reason_of(error: Exception) -> str:
    """Why a call failed; never the text of an HTTP error, which repeats what the server sent."""
    if (fault := tls_fault(error)) is not None:
        return fault.text
    if isinstance(error, OSError) and error.strerror:
        return escaped(error.strerror)
    if isinstance(error, ConnectionError):
        return "the connection ended before an answer"
    return type(error).__name__


@contextmanager
def connected(
    parts: SplitResult, tls: ssl.SSLContext | None, *, wait_s: float, limit_s: float
) -> Iterator[HTTPConnection]:
    """A connection to the host of a URL, closed at the end of the block.

    `tls`: None for `http`. Raises `TimeoutError` after `limit_s`, and after `wait_s` while it
    connects; `OSError` and `HTTPException` of the block; `ValueError` for a name that is no host.
    """
    connection = _Connection(parts, tls, wait_s)
    timer = threading.Timer(limit_s, connection.cut)
    timer.daemon = True
    timer.start()
    try:
        connection.connect()
        yield connection
    except (OSError, HTTPException, ValueError):
        if not connection.is_cut:
            raise
    finally:
        timer.cancel()
        connection.close()
    if connection.is_cut:
        raise TimeoutError


class _Response(HTTPResponse):
    """An answer whose chunks have a size.

    For a chunk of size -1, `HTTPResponse.read(N)` returns all that the server sends, not N bytes.
    """

    def _read_next_chunk_size(self) -> int:
        read: Untyped = super()
        size: int = read._read_next_chunk_size()  # noqa: SLF001 (no public door)
        if size < 0:
            raise HTTPException("invalid size of a chunk")
        return size


class _Connection(HTTPConnection):
    """A connection that another thread can cut, in the middle of a TLS handshake too."""

    response_class = _Response

    def __init__(self, parts: SplitResult, tls: ssl.SSLContext | None, wait_s: float) -> None:
        super().__init__(parts.hostname or "", parts.port or _PORTS[parts.scheme], timeout=wait_s)
        self._wait_s = wait_s
        self._tls = tls
        self._open: socket.socket | None = None
        self.is_cut = False

    @override
    def connect(self) -> None:
        self.sock = self._reached(_looked_up(self.host, self.port, self._wait_s))
        if self._tls is not None:
            self._open = self.sock = self._tls.wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self.sock.do_handshake()

    def _reached(self, addresses: Addresses) -> socket.socket:
        """A socket that is connected to the first address that answers."""
        failed: OSError = TimeoutError()
        for family, kind, protocol, _, address in addresses:
            opened = self._open = socket.socket(family, kind, protocol)
            opened.settimeout(self._wait_s)
            try:
                if not self.is_cut:
                    opened.connect(address)
            except OSError as error:
                failed = error
                opened.close()
                continue
            if self.is_cut:
                opened.close()
                break
            return opened
        raise failed

    def cut(self) -> None:
        self.is_cut = True
        # `sock` is None while the body of an answer without a length is read.
        if self._open is not None:
            with suppress(OSError):
                # Not the method of an SSL socket: it would send what follows without encryption.
                socket.socket.shutdown(self._open, socket.SHUT_RDWR)


def _looked_up(host: str, port: int, wait_s: float) -> Addresses:
    """The addresses of a host. Raises `OSError`, and `ValueError` for a name that is no host."""
    answers: SimpleQueue[Addresses | OSError | ValueError] = SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            answers.put(error)

    threading.Thread(target=look_up, daemon=True, name="look-up").start()
    try:
        found = answers.get(timeout=wait_s)
    except Empty:
        raise TimeoutError from None
    if isinstance(found, OSError | ValueError):
        raise found
    return found
