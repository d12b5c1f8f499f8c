"""What an HTTP server may send, and how much of it is read."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from http.client import HTTPException
from urllib.parse import urlsplit

import pytest

from rackwise.adapters.https import connected

MOST = 1000
PATIENCE_S = 60.0
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b"3\r\nabc\r\n0\r\n\r\n", b"abc"),
        (b"-1\r\n" + bytes(MOST * 100), None),
        (b"3\r\nabc\r\n-ff\r\n" + bytes(MOST * 100), None),
    ],
    ids=["valid", "negative", "negative after a valid one"],
)
def test_a_chunk_has_a_size_so_that_a_limit_holds(body, read):
    """For size -1, `http.client` reads to the end of the connection."""

    def serve():
        with suppress(OSError), server.accept()[0] as connection:
            connection.recv(10_000)
            connection.sendall(HEAD + body)
            connection.recv(1)  # until the client closes

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = urlsplit(f"http://127.0.0.1:{server.getsockname()[1]}/keys")
        with connected(url, None, wait_s=PATIENCE_S, limit_s=PATIENCE_S) as connection:
            connection.request("GET", "/keys")
            with connection.getresponse() as response:
                if read is None:
                    with pytest.raises(HTTPException, match="invalid size of a chunk"):
                        response.read(MOST)
                else:
                    assert response.read(MOST) == read
        thread.join()
