"""The service in a thread of this process, and clients of it on bare sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from rackwise.adapters.rpc.config import Guards, ServeConfig
from rackwise.adapters.rpc.server import serve
from rackwise.core.model import Broker
from rackwise.core.placement import Levels
from rackwise.core.racks import Rack
from rackwise.core.replica_service.answers import Service
from rackwise.core.replica_service.answers import answer as answer_of
from rackwise.core.wire.headers import read_response_header
from rackwise.core.wire.replica_assignment import read_response

BROKERS = tuple(Broker(id=id_, rack=Rack("abc"[id_ % 3])) for id_ in range(6))
SERVICE = Service(brokers=BROKERS, placer=Levels())
PATIENCE_S = 60.0


def placed(request, seed):
    """The answer of the service of six brokers in three racks."""
    return answer_of(SERVICE, request, seed)


class Holding:
    """The same answer, held back until `may_go`; `begun`: the partitions of each request."""

    def __init__(self):
        self.may_go = threading.Event()
        self.has_begun = threading.Event()
        self.begun = []

    def __call__(self, request, seed):
        self.begun.append(request.num_partitions)
        self.has_begun.set()
        self.may_go.wait(PATIENCE_S)
        return placed(request, seed)


@dataclass
class Running:
    """A running server; `lines`: its log."""

    server: object
    loop: asyncio.AbstractEventLoop
    lines: list = field(default_factory=list)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def port(self):
        return self.server.port

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    def stop(self):
        """Begin to stop; returns the future of the end."""
        return asyncio.run_coroutine_threadsafe(self.server.stop(), self.loop)

    def told(self, kind):
        """Log lines of a type."""
        return [line for line in list(self.lines) if line["type"] == kind]

    def open(self):
        """How many connections are open, asked in the loop."""

        async def count():
            return self.server.connections

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(PATIENCE_S)

    def closed_by(self, reason):
        """How many connections ended for that reason."""

        async def count():
            return self.server.closed_by.get(reason, 0)

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(PATIENCE_S)


@contextmanager
def running(answer=placed, *, guards=None, **config):
    """A server on a free port of loopback, stopped at the end."""
    lines = []
    has_begun = threading.Event()
    made = []

    async def run():
        found = ServeConfig(port=0, log=lines.append, guards=guards or Guards(), **config)
        server = await serve(found, answer)
        made.append(Running(server, asyncio.get_running_loop(), lines))
        has_begun.set()
        await made[0].is_over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert has_begun.wait(PATIENCE_S)
    try:
        yield made[0]
    finally:
        made[0].stop().result(PATIENCE_S)
        made[0].loop.call_soon_threadsafe(made[0].is_over.set)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def connected(port, *, source="127.0.0.1"):
    """A socket to the server."""
    return socket.create_connection(("127.0.0.1", port), PATIENCE_S, (source, 0))


def received(sock):
    """The next frame without its size; None if the server has closed."""
    prefix = _exactly(sock, 4)
    return None if prefix is None else _exactly(sock, int.from_bytes(prefix, "big"))


def response_of(message):
    """Correlation id and response of an assignment's answer."""
    correlation_id, start = read_response_header(message, version=1)
    return correlation_id, read_response(message[start:])


def said(port, data, *, is_over=True, source="127.0.0.1"):
    """All frames that answer some bytes, until the server closes.

    `is_over`: whether our side is closed once each whole frame of `data` is answered.
    """
    frames = []
    with closing(connected(port, source=source)) as sock:
        try:
            sock.sendall(data)
            while len(frames) < _whole_frames(data) and (frame := received(sock)) is not None:
                frames.append(frame)
            if is_over:
                sock.shutdown(socket.SHUT_WR)
        except OSError:
            return frames
        while (frame := received(sock)) is not None:
            frames.append(frame)
    return frames


def _whole_frames(data):
    """The number of frames in some bytes, without a cut one at their end."""
    count, at = 0, 0
    while len(data) >= (at := at + 4) and len(data) >= (
        at := at + int.from_bytes(data[at - 4 : at], "big")
    ):
        count += 1
    return count


def eventually(holds):
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < deadline
        pause.wait(0.01)


def _exactly(sock, size):
    found = bytearray()
    while len(found) < size:
        try:
            some = sock.recv(size - len(found))
        except ConnectionError:
            return None
        if not some:
            return None
        found += some
    return bytes(found)
