"""`rackwise serve`: answers CreateReplicaAssignment (KIP-879) on Kafka's protocol."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rackwise.cli.place.options import (
    NoLoad,
    PlacerName,
    PlacerOptions,
    RackModeName,
    Seed,
    Wishes,
    terms,
)
from rackwise.cli.place.serve_options import (
    LISTEN,
    MS_PER_S,
    Advertised,
    ApiKey,
    DrainTimeout,
    FrameTimeout,
    HandshakeTimeout,
    IdleTimeout,
    InsecureIKnow,
    Listen,
    MaxAnswer,
    MaxConnections,
    MaxFrame,
    MaxNodeIds,
    MaxPartitions,
    MaxPerAddress,
    MaxReplicas,
    MaxReplication,
    MaxWait,
    MaxWaiting,
    TlsCert,
    TlsClientCa,
    TlsKey,
    Wanted,
    config_of,
)
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig, Server, SnapshotFile, check_source, cluster_of
from rackwise.core.errors import PartialRacks
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.rpc.config import ServeConfig
    from rackwise.adapters.rpc.server import Server as RpcServer
    from rackwise.core.replica_service.answers import Limits, Service
    from rackwise.core.wire.replica_assignment import AssignmentRequest, AssignmentResponse

READ_EVERY_S = 30.0
"""Running brokers are read again this often."""


def serve(
    context: typer.Context,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    client_config: ClientConfig = None,
    listen: Listen = LISTEN,
    advertised: Advertised = None,
    placer: PlacerName = None,
    placer_option: PlacerOptions = None,
    rack_mode: RackModeName = None,
    seed: Seed = None,
    no_load: NoLoad = False,
    api_key: ApiKey = 68,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_client_ca: TlsClientCa = None,
    insecure_i_know: InsecureIKnow = False,
    max_partitions: MaxPartitions = 100_000,
    max_replication: MaxReplication = 100,
    max_node_ids: MaxNodeIds = 20_000,
    max_replicas: MaxReplicas = 2_000_000,
    max_connections: MaxConnections = 1000,
    max_per_address: MaxPerAddress = 50,
    max_frame: MaxFrame = 1 << 20,
    max_answer: MaxAnswer = 16 << 20,
    max_waiting: MaxWaiting = 64,
    max_wait: MaxWait = 300.0,
    idle_timeout: IdleTimeout = 60.0,
    frame_timeout: FrameTimeout = 5.0,
    drain_timeout: DrainTimeout = 5.0,
    handshake_timeout: HandshakeTimeout = 10.0,
) -> int:
    """Answer where replicas go, to any Kafka client, until SIGTERM; one JSON line per event.

    It shows the feature rackwise.replica.assignment, by which clients tell it from a broker: api
    key 68 is ConsumerGroupHeartbeat there. Brokers are read again every 30 s, a snapshot once.
    Reads only. Exit: 0 after SIGTERM, 130 after SIGINT, 1 error.
    """
    from rackwise.adapters.rpc.config import Guards
    from rackwise.core.replica_service.answers import Limits

    shell: Shell = context.obj
    check_source(snapshot, bootstrap_server, client_config)
    wishes = Wishes(placer, placer_option or (), rack_mode, False, None, seed, no_load)
    wanted = Wanted(
        listen=listen,
        advertised=advertised,
        api_key=api_key,
        seed=seed,
        tls_cert=tls_cert,
        tls_key=tls_key,
        tls_client_ca=tls_client_ca,
        insecure_i_know=insecure_i_know,
        limits=Limits(
            partitions=max_partitions,
            replication=max_replication,
            node_ids=max_node_ids,
            replicas=max_replicas,
        ),
        guards=Guards(
            connections=max_connections,
            per_address=max_per_address,
            frame_bytes=max_frame,
            answer_bytes=max_answer,
            waiting=max_waiting,
            wait_ms=int(max_wait * MS_PER_S),
            idle_s=idle_timeout,
            frame_s=frame_timeout,
            drain_s=drain_timeout,
            handshake_s=handshake_timeout,
        ),
    )
    config = config_of(wanted, shell.document)
    source = Source(shell, snapshot, bootstrap_server, client_config, wishes, wanted.limits)
    board = Board(source.read())
    _warn(shell, board.service)
    again = None if bootstrap_server is None else source.read
    return asyncio.run(_served(config, board, again))


@dataclass(frozen=True, slots=True)
class Source:
    """Where brokers, racks and load are read, and what shall be made of them."""

    shell: Shell
    snapshot: Path | None
    bootstrap_server: str | None
    client_config: Path | None
    wishes: Wishes
    limits: Limits

    def read(self) -> Service:
        """Who decides, from the cluster as it is now. Raises what reading and `terms` raise."""
        from rackwise.core.replica_service.answers import Service

        cluster = cluster_of(
            self.shell, self.snapshot, self.bootstrap_server, self.client_config, sizes=False
        )
        agreed = terms(self.wishes, cluster)
        return Service(
            brokers=agreed.brokers,
            placer=agreed.placer,
            racks=agreed.racks,
            load=agreed.load,
            limits=self.limits,
        )


@dataclass(slots=True)
class Board:
    """The service of now; workers look at it once for each request."""

    service: Service

    def answer(self, request: AssignmentRequest, seed: int) -> AssignmentResponse:
        """What the service of now answers."""
        from rackwise.core.replica_service.answers import answer

        return answer(self.service, request, seed)


def _warn(shell: Shell, service: Service) -> None:
    """What each request would be refused for is said before the first."""
    from rackwise.core.placement import apply_mode

    try:
        apply_mode(service.brokers, service.racks)
    except PartialRacks as error:
        shell.warn(f"{error}: requests that heed racks will be refused; see --rack-mode")


async def _served(config: ServeConfig, board: Board, again: Callable[[], Service] | None) -> int:
    """Serve until a signal; its number decides the exit code. A second signal ends at once."""
    from rackwise.adapters.rpc.server import serve as listen

    loop = asyncio.get_running_loop()
    server = await listen(config, board.answer)
    signals: list[int] = []
    stopping: list[asyncio.Task[None]] = []

    def end(number: int) -> None:
        signals.append(number)
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)
        stopping.append(loop.create_task(server.stop()))

    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, end, each)
    is_over = threading.Event()
    if again is not None:
        reading = partial(_read_again, board, again, is_over, loop, server)
        threading.Thread(target=reading, name="reading", daemon=True).start()
    try:
        await server.wait()
    finally:
        is_over.set()
        await server.stop()
    return 128 + signal.SIGINT if signal.SIGINT in signals else 0


def _read_again(
    board: Board,
    again: Callable[[], Service],
    is_over: threading.Event,
    loop: asyncio.AbstractEventLoop,
    server: RpcServer,
) -> None:
    """Keep the board at what brokers say; a reading that fails keeps the last one, and is told."""
    while not is_over.wait(READ_EVERY_S):
        line: dict[str, Any] = {"type": "read"}
        try:
            board.service = again()
        except Exception as error:  # noqa: BLE001 (whatever it is, the last reading serves)
            line |= {"error": type(error).__name__, "message": escaped(str(error))}
        else:
            line |= {"brokers": len(board.service.brokers)}
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(partial(server.tell, **line))
