"""Options of `rackwise serve`: address, guards, limits, TLS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.adapters.rpc.config import Guards, ServeConfig, Tls
    from rackwise.cli.place.login_options import LoginOptions
    from rackwise.core.replica_service.answers import RequestLimits

LISTEN = "127.0.0.1:19092"
MS_PER_S = 1000

Listen = Annotated[
    str, typer.Option(metavar="H:P", help="Listen on this address. Port 0 selects a free port.")
]
Advertised = Annotated[
    str | None,
    typer.Option(
        metavar="H:P", help="Advertise this address. [default: the address that the client used]"
    ),
]
ApiKey = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Use this Kafka API key, the number of the request type. Clients must use the same "
        "number.",
    ),
]
MaxPartitions = Annotated[
    int, typer.Option(metavar="N", min=1, help="Largest number of partitions per request.")
]
MaxReplication = Annotated[
    int, typer.Option(metavar="N", min=1, help="Largest replication factor.")
]
MaxNodeIds = Annotated[
    int, typer.Option(metavar="N", min=1, help="Largest number of node ids per request.")
]
MaxReplicas = Annotated[
    int, typer.Option(metavar="N", min=1, help="Largest number of replicas per request.")
]
MaxConnections = Annotated[
    int, typer.Option(metavar="N", min=1, help="Largest number of open connections.")
]
MaxPerAddress = Annotated[
    int,
    typer.Option(metavar="N", min=1, help="Largest number of open connections per client address."),
]
MaxFrame = Annotated[int, typer.Option(metavar="BYTES", min=8, help="Largest size of a request.")]
MaxAnswer = Annotated[
    int, typer.Option(metavar="BYTES", min=64, help="Largest size of a response.")
]
MaxWaiting = Annotated[
    int, typer.Option(metavar="N", min=1, help="Largest number of requests that wait for a worker.")
]
MaxInWork = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="Largest number of replicas that one client may have waiting and in work. Its other "
        "requests are rejected.",
    ),
]
MaxWait = Annotated[
    float, typer.Option(metavar="S", min=0.001, help="Longest timeout that a request may ask for.")
]
IdleTimeout = Annotated[
    float,
    typer.Option(
        metavar="S", min=0.01, help="Close a connection after this time without a request."
    ),
]
FrameTimeout = Annotated[
    float,
    typer.Option(
        metavar="S", min=0.01, help="Close a connection if a request takes longer to arrive."
    ),
]
DrainTimeout = Annotated[
    float,
    typer.Option(
        metavar="S", min=0.01, help="Close a connection if a response takes longer to send."
    ),
]
HandshakeTimeout = Annotated[
    float, typer.Option(metavar="S", min=0.01, help="Longest time of a TLS handshake.")
]
TlsCert = Annotated[
    Path | None, typer.Option(metavar="F", help="Certificate of the server, in PEM.")
]
TlsKey = Annotated[
    Path | None,
    typer.Option(metavar="F", help="Private key of --tls-cert, in PEM, without a password."),
]
TlsClientCa = Annotated[
    Path | None, typer.Option(metavar="F", help="CA that signs client certificates, in PEM.")
]
InsecureIKnow = Annotated[
    bool,
    typer.Option(
        help="Allow listening outside loopback without client certificates, and logins without TLS."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of the command line."""

    listen: str
    advertised: str | None
    api_key: int
    seed: int | None
    tls_cert: Path | None
    tls_key: Path | None
    tls_client_ca: Path | None
    insecure_i_know: bool
    login: LoginOptions
    limits: RequestLimits
    guards: Guards


def build_config(options: ServeOptions, log: Callable[[Mapping[str, Any]], None]) -> ServeConfig:
    """Build the configuration of the server. Raises `InvalidConfig`."""
    from rackwise.adapters.rpc.config import ServeConfig, address_of

    host, port = address_of(options.listen, option="--listen")
    advertised = None
    if options.advertised is not None:
        advertised = address_of(options.advertised, option="--advertised", least_port=1)
    return ServeConfig(
        host=host,
        port=port,
        log=log,
        advertised=advertised,
        api_key=options.api_key,
        seed=options.seed,
        tls=_tls(options),
        logins=options.login.logins(),
        allowed=options.login.allowed(),
        may_be_insecure=options.insecure_i_know,
        guards=options.guards,
    )


def _tls(options: ServeOptions) -> Tls | None:
    from rackwise.adapters.rpc.config import Tls

    if options.tls_cert is not None and options.tls_key is not None:
        return Tls(
            certificate=options.tls_cert, key=options.tls_key, client_ca=options.tls_client_ca
        )
    given = {
        "--tls-cert": options.tls_cert,
        "--tls-key": options.tls_key,
        "--tls-client-ca": options.tls_client_ca,
    }
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise InvalidConfig(
            f"expected both --tls-cert and --tls-key, got {' and '.join(names)}",
            wanted="--tls-cert --tls-key",
            had=" ".join(names),
            hint="give both, or no TLS option",
        )
    return None
