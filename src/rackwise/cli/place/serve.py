"""`rackwise serve`: answers CreateReplicaAssignment (KIP-879) over Kafka's protocol."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.place.login_options import LoginOptions
from rackwise.cli.place.options import (
    NoLoad,
    PlacementOptions,
    PlacerName,
    RackMap,
    RackModeName,
    read_rack_map,
    resolve,
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
    MaxInWork,
    MaxNodeIds,
    MaxPartitions,
    MaxPerAddress,
    MaxReplicas,
    MaxReplication,
    MaxWait,
    MaxWaiting,
    ServeOptions,
    TlsCert,
    TlsClientCa,
    TlsKey,
    build_config,
)
from rackwise.cli.placer_options import PlacerOptions, Seed
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClusterSource, CommandConfig, Server, SnapshotFile
from rackwise.cli.usage.stopping import not_ignored
from rackwise.core.errors import PartialRacks
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.rpc.config import ServeConfig
    from rackwise.adapters.rpc.server import Server as RpcServer
    from rackwise.core.replica_service.answers import RequestLimits, Service
    from rackwise.core.wire.replica_assignment import AssignmentRequest, AssignmentResponse

READ_EVERY_S = 30.0
"""Running brokers are read again at this interval."""


@with_option_groups()
def serve(
    context: typer.Context,
    login_options: LoginOptions,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    command_config: CommandConfig = None,
    listen: Listen = LISTEN,
    advertised: Advertised = None,
    placer: PlacerName = None,
    placer_option: PlacerOptions = None,
    rack_mode: RackModeName = None,
    policy: RackMap = None,
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
    max_in_work: MaxInWork = 4_000_000,
    max_wait: MaxWait = 300.0,
    idle_timeout: IdleTimeout = 60.0,
    frame_timeout: FrameTimeout = 5.0,
    drain_timeout: DrainTimeout = 5.0,
    handshake_timeout: HandshakeTimeout = 10.0,
) -> int:
    """Serve placements to any Kafka client until SIGTERM; print one JSON line per event.

    Advertises the feature rackwise.replica.assignment, so that clients can distinguish it from a
    broker. On a broker, API key 68 is ConsumerGroupHeartbeat. Reads the brokers and the policy
    again every 30 s, but a snapshot only once. Reads only. Exit codes: 0 after SIGTERM or SIGHUP,
    130 after SIGINT, 1 error.
    """
    from rackwise.adapters.rpc.config import Guards
    from rackwise.core.replica_service.answers import RequestLimits

    shell: Shell = context.obj
    source = ClusterSource(snapshot, bootstrap_server, command_config)
    placement = PlacementOptions(
        placer=placer,
        placer_option=placer_option,
        rack_mode=rack_mode,
        policy=policy,
        seed=seed,
        no_load=no_load,
    )
    options = ServeOptions(
        listen=listen,
        advertised=advertised,
        api_key=api_key,
        seed=seed,
        tls_cert=tls_cert,
        tls_key=tls_key,
        tls_client_ca=tls_client_ca,
        insecure_i_know=insecure_i_know,
        login=login_options,
        limits=RequestLimits(
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
            request_replicas=max_replicas,
            replicas_in_work=max_in_work,
            wait_ms=int(max_wait * MS_PER_S),
            idle_s=idle_timeout,
            frame_s=frame_timeout,
            drain_s=drain_timeout,
            handshake_s=handshake_timeout,
        ),
    )
    config = build_config(options, shell.document)
    reader = ServiceReader(shell, source, placement, options.limits)
    current = CurrentService(reader.read())
    _warn(shell, current.service)
    again = None if bootstrap_server is None else reader.read
    return asyncio.run(_serve(config, current, again))


@dataclass(frozen=True, slots=True)
class ServiceReader:
    """Reads a cluster and builds the placement service from it."""

    shell: Shell
    source: ClusterSource
    placement: PlacementOptions
    limits: RequestLimits

    def read(self) -> Service:
        """Build the service from the current cluster and the current map of its racks.

        Raises what reading, `read_rack_map` and `resolve` raise.
        """
        from rackwise.core.replica_service.answers import Service

        rack_map = read_rack_map(self.shell, self.placement)
        cluster = self.source.read(self.shell, sizes=False).mapped(rack_map)
        settings = resolve(self.placement, cluster)
        return Service(
            brokers=settings.brokers,
            placer=settings.placer,
            racks=settings.racks,
            load=settings.load,
            limits=self.limits,
        )


@dataclass(slots=True)
class CurrentService:
    """The current service; workers read it once per request."""

    service: Service

    def answer(self, request: AssignmentRequest, seed: int) -> AssignmentResponse:
        """Answer a request with the current service."""
        from rackwise.core.replica_service.answers import answer

        return answer(self.service, request, seed)


def _warn(shell: Shell, service: Service) -> None:
    """Warn at the start if every request will be rejected."""
    from rackwise.core.placement import apply_mode, has_levels

    try:
        apply_mode(service.brokers, service.racks, has_levels=has_levels(service.placer))
    except PartialRacks as error:
        shell.warn(f"{error}: rack-aware requests will be rejected; see --rack-mode and --policy")


async def _serve(
    config: ServeConfig, current: CurrentService, again: Callable[[], Service] | None
) -> int:
    """Serve until a signal, which decides the exit code. A second signal ends at once."""
    from rackwise.adapters.rpc.server import serve as listen

    loop = asyncio.get_running_loop()
    server = await listen(config, current.answer)
    ends = (signal.SIGTERM, signal.SIGINT, *not_ignored([signal.SIGHUP]))
    signals: list[int] = []
    stopping: list[asyncio.Task[None]] = []

    def end(number: int) -> None:
        signals.append(number)
        for each in ends:
            loop.remove_signal_handler(each)
        stopping.append(loop.create_task(server.stop()))

    for each in ends:
        loop.add_signal_handler(each, end, each)
    is_over = threading.Event()
    if again is not None:
        reading = partial(_read_again, current, again, is_over, loop, server)
        threading.Thread(target=reading, name="reading", daemon=True).start()
    try:
        await server.wait()
    finally:
        is_over.set()
        await server.stop()
    return 128 + signal.SIGINT if signal.SIGINT in signals else 0


def _read_again(
    current: CurrentService,
    again: Callable[[], Service],
    is_over: threading.Event,
    loop: asyncio.AbstractEventLoop,
    server: RpcServer,
) -> None:
    """Update the service at intervals. A failed read keeps the last service and is logged."""
    while not is_over.wait(READ_EVERY_S):
        line: dict[str, Any] = {"type": "read"}
        try:
            current.service = again()
        except Exception as error:  # noqa: BLE001 (after any error the last service stays)
            line |= {"error": type(error).__name__, "message": escaped(str(error))}
        else:
            line |= {"brokers": len(current.service.brokers)}
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(partial(server.tell, **line))
