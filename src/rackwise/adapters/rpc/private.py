"""All private names of kafka-python that one custom request needs; no other file uses them.

```
wanted                        kafka-python 3.0
the loop of its thread        admin._manager.call_soon, wait_for
the connection to a broker    manager.least_loaded_node, get_connection
a request of our own          connection.send_request(request)
what a broker shows           ApiVersions version 3 on that very connection
how many may be under way     config["max_in_flight_requests_per_connection"]
```

A request is any object with `API_VERSION`, `with_header`, `encode`, `expect_response` and `header`.
The header's `get_response_class` returns an object with `parse_header` and `decode`. So the bytes
are those of `core.wire`. Nothing is added to kafka-python's own registry of responses, which the
whole process shares.

A call to a loop or a connection that has just ended raises a plain `RuntimeError`. It is converted
to a `KafkaConnectionError`.

An exception in `decode` would leave the connection without an answer, so it is returned as a value.

Source: kafka-python 3.0.12.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakSet

from kafka.errors import KafkaConnectionError, KafkaError, for_code
from kafka.future import Future
from kafka.protocol.metadata import ApiVersionsRequest

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.wire.headers import (
    RequestHeader,
    read_response_header,
    write_frame,
    write_request_header,
)
from rackwise.core.wire.replica_assignment import AssignmentResponse, read_response

if TYPE_CHECKING:
    from collections.abc import Callable

Theirs: TypeAlias = Any
"""An object of kafka-python, which has no type hints."""

FEATURES_VERSION = 3
"""The first version of ApiVersions with features."""
PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class Shown:
    """A value that means: the server does not show the marker."""

    where: str


@dataclass(slots=True)
class _ResponseHeader:
    correlation_id: int


@dataclass(slots=True)
class _Header:
    """The header of one request; it is also the class of its response."""

    correlation_id: int
    api_key: int
    api_version: int = 0

    def get_response_class(self) -> _Header:
        return self

    def parse_header(self, buffer: Theirs) -> _ResponseHeader:
        start = buffer.tell()
        correlation_id, size = read_response_header(bytes(buffer.read()), version=1)
        buffer.seek(start + size)
        return _ResponseHeader(correlation_id)

    def decode(self, buffer: Theirs) -> AssignmentResponse | RemoteProtocolError:
        try:
            return read_response(bytes(buffer.read()))
        except RemoteProtocolError as error:
            return error


@dataclass(slots=True)
class _Request:
    """A custom request in the form that kafka-python expects."""

    body: bytes
    api_key: int
    API_VERSION: int = 0
    header: _Header | None = None
    head: bytes = b""

    def with_header(self, correlation_id: int, client_id: str) -> None:
        self.header = _Header(correlation_id, self.api_key)
        header = RequestHeader(
            api_key=self.api_key, api_version=0, correlation_id=correlation_id, client_id=client_id
        )
        self.head = write_request_header(header, version=2)

    def encode(self, *, framed: bool, header: bool) -> bytes:
        del framed, header
        return write_frame(self.head + self.body)

    def expect_response(self) -> bool:
        return True


@dataclass(slots=True)
class _Turns:
    """A limit on requests under way; the others wait in order. Used in the loop's thread only."""

    free: int
    waiting: deque[Theirs] = field(default_factory=deque)

    async def take(self) -> None:
        if self.free:
            self.free -= 1
            return
        make: Theirs = Future
        turn = make()
        self.waiting.append(turn)
        await turn

    def give(self) -> None:
        if self.waiting:
            self.waiting.popleft().success(None)
        else:
            self.free += 1


class Wire:
    """Sends custom requests through the connections of an admin client."""

    def __init__(self, admin: Theirs, *, api_key: int, marker: str) -> None:
        self._manager = admin._manager  # noqa: SLF001 (what this file is for)
        self._net = admin._net  # noqa: SLF001 (the same)
        self._api_key = api_key
        self._marker = marker
        self._marked: WeakSet[Theirs] = WeakSet()
        most = int(admin.config["max_in_flight_requests_per_connection"])
        self._turns = _Turns(max(1, most - 1))

    def send(
        self,
        body: bytes,
        *,
        wait_ms: int,
        done: Callable[[AssignmentResponse | Shown], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Send the body of a request; within `wait_ms` kafka-python's thread calls one callback.

        `done` receives the answer, or the server that does not show the marker. `failed` receives
        an error of kafka-python, an `OSError` or a `RemoteProtocolError`.
        """

        async def within() -> AssignmentResponse | Shown:
            waiting = self._manager.call_soon(self._ask, body, wait_ms)
            answer: AssignmentResponse | Shown = await self._manager.wait_for(waiting, wait_ms)
            return answer

        def lost(error: BaseException) -> None:
            failed(KafkaConnectionError(str(error)) if type(error) is RuntimeError else error)

        future: Theirs = self._manager.call_soon(within)
        future.add_callback(done)
        future.add_errback(lost)

    async def _ask(self, body: bytes, wait_ms: int) -> AssignmentResponse | Shown:
        await self._turns.take()
        try:
            connection = self._manager.get_connection(self._manager.least_loaded_node())
            await connection
            if not await self._is_marked(connection):
                node = self._manager.cluster.broker_metadata(connection.node_id)
                return Shown(f"{node.host}:{node.port}")
            while connection.paused and connection.connected:
                await self._net.sleep(PAUSE_S)
            request: Theirs = _Request(body, self._api_key)
            answer = await connection.send_request(request, request_timeout_ms=wait_ms)
        finally:
            self._turns.give()
        if isinstance(answer, RemoteProtocolError):
            raise answer
        found: AssignmentResponse = answer
        return found

    async def _is_marked(self, connection: Theirs) -> bool:
        """Whether the server of this very connection has shown the marker."""
        if connection in self._marked:
            return True
        known = connection.broker_version_data.api_versions
        if known.get(ApiVersionsRequest.API_KEY, (0, 0))[1] < FEATURES_VERSION:
            return False
        make: Theirs = ApiVersionsRequest
        config = self._manager.config
        answer = await connection.send_request(
            make(
                version=FEATURES_VERSION,
                client_software_name=config["client_software_name"],
                client_software_version=config["client_software_version"],
            )
        )
        if answer.error_code:
            kind: Theirs = for_code
            error: KafkaError = kind(answer.error_code)()
            raise error
        if not any(each.name == self._marker for each in answer.supported_features or ()):
            return False
        self._marked.add(connection)
        return True
