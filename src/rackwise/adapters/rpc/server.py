"""The server of CreateReplicaAssignment: accepts, limits, places in threads, stops in order.

```
accept ──> slot free? ──> TLS ──> connection: frame ──> login ──> read_call ──> answer at once
             └ no: closed                                └──> fair queue ──> worker: place, encode
```

Goals, in order: no client can block the service for other clients; every placement is logged with
the seed that repeats it; a stop loses no request in work.

Requests wait in a fair queue, whose owners are principals, else addresses. A principal is who has
logged in, else the subject of a client's certificate. A request is not begun if its client closes
the connection, or its side of it, while it waits.

Accepting never stops: without a free descriptor it waits 0.1 s and continues. The server accepts
one connection at a time, so that many new connections do not delay the existing ones. A connection
over a limit is closed at once. Each ended connection is counted by its reason. The log has at most
one line per second and reason, with the count so far.

What this does not do: decide the answer (`core.replica_service`), or read a cluster.

Source: KIP-879; Kafka's protocol guide.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from rackwise.adapters.rpc.accepted import accepted_transport
from rackwise.adapters.rpc.config import (
    check_allowed_needs_names,
    check_api_key,
    listening_socket,
    server_context,
)
from rackwise.adapters.rpc.connection import Closed, Connection, WatchedStream, handshake_fault
from rackwise.adapters.rpc.logins.login import Login
from rackwise.adapters.rpc.logins.offered import OfferedLogins
from rackwise.adapters.rpc.placing import Answer, FramedAnswer, failed_answer, framed_answer
from rackwise.adapters.rpc.workers import Overloaded, Workers
from rackwise.core.override import override
from rackwise.core.replica_service.answers import seed_of, wait_ms
from rackwise.core.replica_service.calls import Call, read_call
from rackwise.core.sasl.principals import certificate_principal, principal_of
from rackwise.core.text import escaped_name
from rackwise.core.wire.replica_assignment import (
    ErrorCode,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from rackwise.adapters.rpc.config import ServeConfig

FORMAT = "rackwise.serve/1"
ACCEPT_PAUSE_S = 0.1
TELL_EVERY_S = 1.0
ANONYMOUS = principal_of("ANONYMOUS")
"""A client without a login and a certificate, as Kafka names it."""
READ_BUFFER = 1 << 16
SEED_END = 1 << 31
"""Generated seeds are below this."""


async def serve(config: ServeConfig, answer: Answer) -> Server:
    """A server that listens and answers until it is stopped.

    Raises `InvalidConfig` for an invalid address, API key or TLS file, `Unreachable` if the address
    is not available.
    """
    check_api_key(config.api_key)
    check_allowed_needs_names(config)
    context = None if config.tls is None else server_context(config.tls)
    listener = listening_socket(config)
    try:
        server = Server(config, answer, listener, context)
    except BaseException:
        listener.close()
        raise
    server.start()
    return server


@dataclass(slots=True)
class _Counts:
    """Ended connections by reason, and the time of each reason's last log line."""

    by_reason: dict[str, int] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)

    def add(self, reason: str, now: float) -> bool:
        """Count one; True if it is to be logged."""
        self.by_reason[reason] = self.by_reason.get(reason, 0) + 1
        if reason in self.told and now - self.told[reason] < TELL_EVERY_S:
            return False
        self.told[reason] = now
        return True


class Server:
    """A running server; `host` and `port` are where it listens."""

    def __init__(
        self,
        config: ServeConfig,
        answer: Answer,
        listener: socket.socket,
        context: ssl.SSLContext | None,
    ) -> None:
        self.host, self.port = listener.getsockname()[:2]
        self._config = config
        self._answer = answer
        self._listener = listener
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._logins = None if config.logins is None else OfferedLogins(config.logins, self.tell)
        self._workers: Workers[FramedAnswer] = Workers(
            config.guards.workers,
            most_waiting=config.guards.waiting,
            most_cost=config.guards.replicas_in_work,
        )
        self._tasks: dict[asyncio.Task[None], Connection | None] = {}
        self._by_address: dict[str, int] = {}
        self._counts = _Counts()
        self._requests = 0
        self._resuming: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[None] = self._loop.create_future()

    @property
    def closed_by(self) -> Mapping[str, int]:
        """Ended connections by reason; `left`: the client closed the connection."""
        return dict(self._counts.by_reason)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._tasks)

    def start(self) -> None:
        """Log the address, and accept connections."""
        self.tell(
            type="listening",
            format=FORMAT,
            host=self.host,
            port=self.port,
            tls=self._context is not None,
            mechanisms=[] if self._logins is None else list(self._logins.names),
            api_key=self._config.api_key,
        )
        self._listen()

    async def wait(self) -> None:
        """Wait until it is stopped. Raises the error of `log`, which also stops the server."""
        await self._ended

    async def stop(self) -> None:
        """Accept no more, let requests in work end within `stop_s`, close every connection."""
        await self._begin_stop()

    def _begin_stop(self) -> asyncio.Task[None]:
        if self._stopping is None:
            self._stopping = self._loop.create_task(self._stop())
        return self._stopping

    async def _stop(self) -> None:
        self._loop.remove_reader(self._listener)
        if self._resuming is not None:
            self._resuming.cancel()
        self._listener.close()
        for task, connection in list(self._tasks.items()):
            if connection is not None and connection.is_in_work:
                connection.is_last = True
            else:
                task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=self._config.guards.stop_s)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        self._workers.close()
        self.tell(type="stopped", requests=self._requests, closed_by=self.closed_by)
        if not self._ended.done():
            self._ended.set_result(None)

    def tell(self, **line: Any) -> None:  # noqa: ANN401 (values of JSON)
        """Write a line of the log; an error in `log` stops the server."""
        try:
            self._config.log(line)
        except OSError as error:
            if not self._ended.done():
                self._ended.set_exception(error)
                self._begin_stop()

    def _listen(self) -> None:
        self._resuming = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Accept one waiting connection; the loop calls this again after other work."""
        try:
            sock, address = self._listener.accept()
        except BlockingIOError:  # it has gone again
            return
        except OSError as error:
            self._count("accept", "", type(error).__name__)
            self._loop.remove_reader(self._listener)
            self._resuming = self._loop.call_later(ACCEPT_PAUSE_S, self._listen)
            return
        host, port = address[:2]
        if self._is_full(host):
            sock.close()
            self._count("limit", _shown(host, port))
            return
        self._by_address[host] = self._by_address.get(host, 0) + 1
        task = self._loop.create_task(self._serve(sock, host, port))
        self._tasks[task] = None
        task.add_done_callback(partial(self._release, sock, host))

    def _is_full(self, host: str) -> bool:
        guards = self._config.guards
        return (
            len(self._tasks) >= guards.connections
            or self._by_address.get(host, 0) >= guards.per_address
        )

    def _release(self, sock: socket.socket, host: str, task: asyncio.Task[None]) -> None:
        if self._tasks.pop(task) is None:  # no connection was made of it that would close it
            sock.close()
        self._by_address[host] -= 1
        if not self._by_address[host]:
            del self._by_address[host]

    async def _serve(self, sock: socket.socket, host: str, port: int) -> None:
        peer = _shown(host, port)
        try:
            address = self._config.advertised or sock.getsockname()[:2]
            stream, writer = await self._open(sock)
        except OSError as error:
            self._count("tls", peer, handshake_fault(error))
            return
        principal = certificate_principal(
            (writer.get_extra_info("peercert") or {}).get("subject", ())
        )
        guards, logins = self._config.guards, self._logins
        connection = Connection(
            stream=stream,
            writer=writer,
            peer=peer,
            owner=principal or host,
            principal=principal or ANONYMOUS,
            address=address,
            frame_bytes=guards.frame_bytes if logins is None else guards.login_frame_bytes,
            guards=guards,
        )
        login = None
        if logins is not None:
            connection.deadline = self._loop.time() + guards.login_s
            login = Login(logins, connection, logins.session_s, self._logged_in)
        task = asyncio.current_task()
        if task is not None:
            self._tasks[task] = connection
        try:
            await connection.run(partial(self.reply, login))
        except Closed as end:
            self._count(end.reason, peer, end.detail)
        except Exception as error:  # noqa: BLE001 (a fault of ours ends this connection alone)
            self._count("internal", peer, f"{type(error).__name__}: {error}")
        else:
            self._count("left", peer, is_told=False)
        finally:
            writer.transport.abort()

    async def _open(self, sock: socket.socket) -> tuple[WatchedStream, asyncio.StreamWriter]:
        sock.settimeout(0)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = WatchedStream(READ_BUFFER)
        handshake_s = self._config.guards.handshake_s
        transport = await accepted_transport(sock, stream, self._context, handshake_s=handshake_s)
        transport.set_write_buffer_limits(high=0)
        return stream, asyncio.StreamWriter(transport, stream, stream.reader, self._loop)

    async def reply(self, login: Login | None, frame: bytes, connection: Connection) -> bytes:
        """The framed answer to a frame. Raises `RemoteProtocolError`, `Closed`."""
        if login is not None and (answer := await login.reply(frame)) is not None:
            return answer
        host, port = connection.address
        call = read_call(
            frame,
            api_key=self._config.api_key,
            host=host,
            port=port,
            has_logins=login is not None,
        )
        if isinstance(call, bytes):
            return call
        return await self._place(call, connection)

    def _logged_in(self, connection: Connection, mechanism: str, lifetime_ms: int) -> None:
        self.tell(
            type="login",
            peer=connection.peer,
            principal=escaped_name(connection.principal),
            mechanism=mechanism,
            lifetime_ms=lifetime_ms,
        )

    async def _place(self, call: Call, connection: Connection) -> bytes:
        number, self._requests = self._requests, self._requests + 1
        seed = self._config.seed
        seed = secrets.randbelow(SEED_END) if seed is None else seed_of(seed, number)
        began = self._loop.time()
        outcome = await self._outcome(call, seed, connection)
        request = call.request
        broke = {} if outcome.broke is None else {"trace": outcome.broke}
        self.tell(
            type="request",
            peer=connection.peer,
            principal=escaped_name(connection.principal),
            client_id=escaped_name(call.client_id or ""),
            partitions=request.num_partitions,
            replication=request.replication_factor,
            ids=len(request.node_ids),
            simple=request.force_simple_assignment,
            seed=seed,
            ms=round((self._loop.time() - began) * 1000, 3),
            bytes=len(outcome.answer),
            code=outcome.code,
            **broke,
        )
        return outcome.answer

    async def _outcome(self, call: Call, seed: int, connection: Connection) -> FramedAnswer:
        guards, request = self._config.guards, call.request
        allowed, principal = self._config.allowed, connection.principal
        if allowed is not None and principal not in allowed:
            return failed_answer(
                call,
                ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
                f"{escaped_name(principal)} may not request placements; hint: the operator of the "
                "service allows it with --allow",
            )
        replicas = request.num_partitions * request.replication_factor
        job = self._workers.submit(
            partial(framed_answer, self._answer, call, seed, guards.answer_bytes),
            owner=connection.owner,
            cost=replicas if replicas <= guards.request_replicas else 1,
        )
        connection.release = partial(self._workers.release, job)
        limit_ms = wait_ms(request, guards.wait_ms)
        try:
            with connection.stream.at_end(job.future.cancel):
                async with asyncio.timeout(limit_ms / 1000):
                    return await asyncio.wrap_future(job.future)
        except asyncio.CancelledError:
            if connection.stream.has_ended and job.future.cancelled():
                raise Closed("left early") from None
            raise
        except Overloaded:
            return failed_answer(
                call,
                ErrorCode.REQUEST_TIMED_OUT,
                f"too many requests wait: at most {guards.waiting} of all clients, and "
                f"{guards.replicas_in_work:,} replicas of one client; try again later",
            )
        except TimeoutError:
            return failed_answer(
                call,
                ErrorCode.REQUEST_TIMED_OUT,
                f"no answer within {limit_ms} ms",
            )

    def _count(self, reason: str, peer: str, detail: str = "", *, is_told: bool = True) -> None:
        if self._counts.add(reason, self._loop.time()) and is_told:
            self.tell(
                type="closed",
                reason=reason,
                peer=peer,
                detail=escaped_name(detail),
                count=self._counts.by_reason[reason],
            )

    @override
    def __repr__(self) -> str:
        return f"<Server on {_shown(self.host, self.port)}>"


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
