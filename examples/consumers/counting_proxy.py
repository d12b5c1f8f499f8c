"""A proxy before each broker that counts bytes produced to it and fetched from it, by client.

```
                          127.0.0.1
consumer "near-a"  -->  port 0  proxy  port of broker 0  -->  broker 0   advertises port 0
                   <--          counts                   <--
consumer "near-b"  -->  port 1  proxy  port of broker 1  -->  broker 1   advertises port 1
                   <--          counts                   <--
```

A broker advertises its proxy, so clients that came through a proxy stay behind the proxies.
Requests and answers pass unchanged; the proxy reads the first fields of each:

```
request   int32 size | int16 api key | int16 version | int32 correlation id | nullable client id
answer    int32 size | int32 correlation id
```

The proxy remembers the correlation id and the client id of each fetch request. It counts the answer
with that correlation id, its size field included, for the client before it passes the answer on; so
all that a client has is counted. It counts a produce request before it passes it on; so all that a
broker has stored is counted.

It supports no TLS and no SASL, and keeps one frame per direction and connection in memory.

Source: the Kafka protocol guide; Produce has the api key 0, Fetch 1, and all headers start with
these fields.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

HOST = "127.0.0.1"
PRODUCE, FETCH = 0, 1
SIZE = struct.Struct(">i")
REQUEST = struct.Struct(">hhih")
CORRELATION = struct.Struct(">i")


class Proxies(ABC):
    """Listen at `ports`, one per host; forward to `targets`, set before the first client.

    Used as a `with` block; its end closes all connections. A subclass forwards one connection.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        self.targets: Sequence[int] = ()
        self._listening = [socket.create_server((host, 0), backlog=512) for host in hosts]
        self.ports: tuple[int, ...] = tuple(each.getsockname()[1] for each in self._listening)
        self._is_over = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        tasks: set[asyncio.Task[None]] = set()

        def connected(broker: int, client: StreamReader, back: StreamWriter) -> None:
            task = asyncio.create_task(self._pass_on(broker, client, back))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        with ExitStack() as serving:
            for broker, each in enumerate(self._listening):
                server = await asyncio.start_server(partial(connected, broker), sock=each)
                serving.enter_context(closing(server))
            await self._is_over.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @abstractmethod
    async def _pass_on(self, broker: int, client: StreamReader, back: StreamWriter) -> None:
        """Forward one connection until either side closes it."""


class CountingProxies(Proxies):
    """One port per broker; counts what is produced and fetched, by broker and client."""

    def __init__(self, brokers: int) -> None:
        super().__init__([HOST] * brokers)
        self._fetched: Counter[tuple[int, str]] = Counter()
        self._produced: Counter[tuple[int, str]] = Counter()

    def fetched(self, broker: int, client: str) -> int:
        """Bytes of fetch answers that a broker has sent to a client."""
        return self._fetched[broker, client]

    def produced(self, broker: int, client: str) -> int:
        """Bytes of produce requests that a client has sent to a broker."""
        return self._produced[broker, client]

    async def _pass_on(self, broker: int, client: StreamReader, back: StreamWriter) -> None:
        fetches: dict[int, str] = {}
        with closing(back), suppress(OSError):
            server, forth = await asyncio.open_connection(HOST, self.targets[broker])
            with closing(forth):
                try:
                    async with asyncio.TaskGroup() as ways:
                        ways.create_task(self._requests(client, forth, fetches, broker))
                        ways.create_task(self._answers(server, back, fetches, broker))
                except* (EOFError, OSError):
                    pass

    async def _requests(
        self, client: StreamReader, forth: StreamWriter, fetches: dict[int, str], broker: int
    ) -> None:
        while True:
            size, request = await frame(client)
            key, _, correlation, length = REQUEST.unpack_from(request)
            name = request[REQUEST.size : REQUEST.size + max(length, 0)].decode()
            if key == FETCH:
                fetches[correlation] = name
            elif key == PRODUCE:
                self._produced[broker, name] += len(size) + len(request)
            forth.write(size + request)
            await forth.drain()

    async def _answers(
        self, server: StreamReader, back: StreamWriter, fetches: dict[int, str], broker: int
    ) -> None:
        while True:
            size, answer = await frame(server)
            (correlation,) = CORRELATION.unpack_from(answer)
            if correlation in fetches:
                client = fetches.pop(correlation)
                self._fetched[broker, client] += len(size) + len(answer)
            back.write(size + answer)
            await back.drain()


async def frame(reader: StreamReader) -> tuple[bytes, bytes]:
    """The next size field and the bytes that it counts. Raises `EOFError` at the end."""
    size = await reader.readexactly(SIZE.size)
    return size, await reader.readexactly(SIZE.unpack(size)[0])
