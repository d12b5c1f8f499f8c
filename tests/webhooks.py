"""A real HTTP or HTTPS server on loopback that takes notices, or behaves badly on request."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse

if TYPE_CHECKING:
    import ssl


class Webhook:
    """What the server got, and how it answers: a status, `hang`, `drip` or a place to go to."""

    def __init__(self, scheme, port):
        self.url = f"{scheme}://127.0.0.1:{port}/services/canary-5f0c9a7d?key=canary-81c0"
        self.documents = []
        self.paths = []
        self.answer = 200
        self.location = None
        self.released = threading.Event()

    def kinds(self):
        """(kind, cluster) of each notice; a document that came twice counts once."""
        once = {each["id"]: each for each in self.documents}
        return [(row["kind"], row["cluster"]) for each in once.values() for row in each["notices"]]


class Handler(BaseHTTPRequestHandler):
    """Answers as the webhook of its server says."""

    def do_POST(self):
        hook = self.server.hook
        body = self.rfile.read(int(self.headers["Content-Length"]))
        hook.paths.append(self.path)
        if hook.answer == "hang":
            hook.released.wait(30)
        elif hook.answer == "drip":
            self.drip(hook)
        else:
            if hook.answer == 200:
                hook.documents.append(parse(body, where="notices", error=InvalidConfig))
            self.send_response(hook.answer)
            if hook.location is not None:
                self.send_header("Location", hook.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def drip(self, hook):
        """A byte at a time, so that no single read takes long."""
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while not hook.released.wait(0.02):
                self.wfile.write(b"x")
                self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """A server whose clients may give up."""

    def handle_error(self, *_):
        """A client that does not trust the certificate, or has given up."""


@contextmanager
def webhook(context: ssl.SSLContext | None = None):
    """The server; `context`: with TLS."""
    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    hook = server.hook = Webhook("http" if context is None else "https", server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hook
    finally:
        hook.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]
