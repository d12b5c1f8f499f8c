"""Servers on loopback whose TLS handshakes fail, each in its way, and the files that they load."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import contextmanager, suppress

from kafka_pem import (
    AUTHORITY,
    CERTIFICATE,
    EXPIRED,
    KEY,
    OTHER_NAME,
    STRANGERS_CERTIFICATE,
    STRANGERS_KEY,
)

PEMS = {
    "good": KEY + CERTIFICATE,
    "expired": EXPIRED,
    "other": OTHER_NAME,
    "stranger": STRANGERS_KEY + STRANGERS_CERTIFICATE,
    "key": KEY,
    "server": CERTIFICATE,
    "ca": AUTHORITY,
}
WITHOUT_TLS = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def pem_folder(made):
    """The folder `made`, with a file for each of `PEMS`."""
    for name, text in PEMS.items():
        (made / f"{name}.pem").write_text(text)
        (made / f"{name}.pem").chmod(0o600)
    return made


def tls_of(folder, name, *, is_old=False, asks=False):
    """The context of a server with a certificate; `asks`: for one of the client too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem")
    if is_old:
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(folder / "ca.pem")
    return context


@contextmanager
def listener(context):
    """A port that shakes hands, and reads until the client closes; `context`: None answers as HTTP.

    So an alert is read before the end of the connection, whichever of the two ends is faster.
    """

    def serve():
        with suppress(OSError):
            while True:
                connection = server.accept()[0]
                with connection if context is None else wrapped(connection) as shaken:
                    with suppress(OSError):
                        if context is None:
                            shaken.recv(1000)
                            shaken.sendall(WITHOUT_TLS)
                        else:
                            shaken.do_handshake()
                    with suppress(OSError):
                        while socket.socket.recv(shaken, 1000):  # without TLS
                            pass

    def wrapped(connection):
        return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


@contextmanager
def silent_listener(context):
    """A port of asyncio, which ends a failed handshake without an alert."""
    made, has_begun = [], threading.Event()

    async def serve():
        ended = asyncio.Event()
        async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context) as one:
            made.append((one.sockets[0].getsockname()[1], asyncio.get_running_loop(), ended))
            has_begun.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert has_begun.wait(60), "the listener does not begin"
    port, loop, ended = made[0]
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
