"""A proxy before each broker that counts the bytes of each connection, as a network's flow logs do.

```
client analytics-0          127.1.0.10                      broker 0
127.2.1.10       ---------> proxy, listener of broker 0 ---> sees a connection
                 <---------  counts each frame         <---  from 127.2.1.10

broker 5         ---------> (followers copy through the proxies, too)
```

On one machine all clients have one address. The proxy gives each of them its own: it reads the
client id of the first request and connects to the broker from the address that belongs to it. So
the broker reports this address for the members of its groups, as it would in a real network.

Between `open` and `close` it counts the frames of each connection in both directions. It also
decodes what producers send and what members of groups get: the bytes of record batches by client
and topic. No flow log has these; they are the truth that a bill can be compared with.

What it does not do: count the headers of TCP and IP; support TLS or SASL.

Source: the Kafka protocol guide; Produce has the api key 0, Fetch 1.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from consumers.counting_proxy import CORRELATION, FETCH, PRODUCE, REQUEST, Proxies, frame
from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.producer.produce import ProduceRequest

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Callable, Sequence


@dataclass(kw_only=True)
class Connection:
    """A connection of a client to a broker."""

    client: str
    broker: int
    address: str
    """Of the client, as the broker sees it."""
    port: int
    sent: int = 0
    """Bytes from the client to the broker."""
    received: int = 0
    """Bytes from the broker to the client."""
    fetches: dict[int, int] = field(default_factory=dict)
    """Correlation id of each open fetch -> version of its answer."""


class FlowProxies(Proxies):
    """One port per host; forwards to `targets` at the same hosts.

    `address_of`: client id -> the address to connect from, None for any. Used as a `with` block.
    """

    def __init__(self, hosts: Sequence[str], address_of: Callable[[str], str | None]) -> None:
        super().__init__(hosts)
        self.connections: list[Connection] = []
        self.batches: Counter[tuple[int, str, str]] = Counter()
        """(api key, client, topic or topic id) -> bytes of record batches."""
        self._hosts = hosts
        self._address_of = address_of
        self._is_open = False

    def open(self) -> None:
        """Start to count."""
        self._is_open = True

    def close(self) -> None:
        """Stop counting."""
        self._is_open = False

    async def _pass_on(self, broker: int, client: StreamReader, back: StreamWriter) -> None:
        with closing(back), suppress(OSError, EOFError):
            size, request = await frame(client)
            name = client_id(request)
            address = self._address_of(name)
            server, forth = await asyncio.open_connection(
                self._hosts[broker],
                self.targets[broker],
                local_addr=None if address is None else (address, 0),
            )
            with closing(forth):
                host, port = forth.get_extra_info("sockname")
                one = Connection(client=name, broker=broker, address=host, port=port)
                self.connections.append(one)
                self._count_request(one, request)
                forth.write(size + request)
                try:
                    async with asyncio.TaskGroup() as ways:
                        ways.create_task(self._requests(one, client, forth))
                        ways.create_task(self._answers(one, server, back))
                except* (EOFError, OSError):
                    pass

    async def _requests(self, one: Connection, client: StreamReader, forth: StreamWriter) -> None:
        while True:
            size, request = await frame(client)
            self._count_request(one, request)
            forth.write(size + request)
            await forth.drain()

    async def _answers(self, one: Connection, server: StreamReader, back: StreamWriter) -> None:
        while True:
            size, answer = await frame(server)
            self._count_answer(one, answer)
            back.write(size + answer)
            await back.drain()

    def _count_request(self, one: Connection, request: bytes) -> None:
        key, version, correlation, _ = REQUEST.unpack_from(request)
        if key == FETCH:
            one.fetches[correlation] = version
        if not self._is_open:
            return
        one.sent += CORRELATION.size + len(request)
        if key == PRODUCE:
            decoded = ProduceRequest.decode(request, version=version, header=True)
            self._add(
                PRODUCE,
                one,
                [
                    (topic, each.records)
                    for topic in decoded.topic_data
                    for each in topic.partition_data
                ],
            )

    def _count_answer(self, one: Connection, answer: bytes) -> None:
        version = one.fetches.pop(CORRELATION.unpack_from(answer)[0], None)
        if not self._is_open:
            return
        one.received += CORRELATION.size + len(answer)
        if version is not None and not one.client.startswith("broker-"):
            decoded = FetchResponse.decode(answer, version=version, header=True)
            self._add(
                FETCH,
                one,
                [(topic, each.records) for topic in decoded.responses for each in topic.partitions],
            )

    def _add(self, key: int, one: Connection, batches: Sequence[tuple[object, object]]) -> None:
        for topic, records in batches:
            name = getattr(topic, "topic", None) or getattr(topic, "name", None)
            self.batches[key, one.client, name or str(topic.topic_id)] += len(records or b"")


def client_id(request: bytes) -> str:
    """The client id in the header of a request; empty where it has none."""
    *_, length = REQUEST.unpack_from(request)
    return request[REQUEST.size : REQUEST.size + max(length, 0)].decode()
