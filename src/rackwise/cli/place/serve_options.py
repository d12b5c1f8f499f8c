"""The options of `rackwise serve`, and what they mean: where, guards, limits, TLS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.adapters.rpc.config import Guards, ServeConfig, Tls
    from rackwise.core.replica_service.answers import Limits

LISTEN = "127.0.0.1:19092"
MS_PER_S = 1000

Listen = Annotated[
    str, typer.Option(metavar="H:P", help="Where to listen; port 0 is any free one.")
]
Advertised = Annotated[
    str | None,
    typer.Option(metavar="H:P", help="What clients connect to. [default: as they came in]"),
]
ApiKey = Annotated[
    int, typer.Option(metavar="N", help="Kafka's api key of the request, on both sides.")
]
MaxPartitions = Annotated[int, typer.Option(metavar="N", min=1, help="Of one request.")]
MaxReplication = Annotated[int, typer.Option(metavar="N", min=1, help="Replicas of a partition.")]
MaxNodeIds = Annotated[int, typer.Option(metavar="N", min=1, help="Node ids of one request.")]
MaxReplicas = Annotated[int, typer.Option(metavar="N", min=1, help="Partitions x replication.")]
MaxConnections = Annotated[int, typer.Option(metavar="N", min=1, help="Open at once.")]
MaxPerAddress = Annotated[int, typer.Option(metavar="N", min=1, help="Open from one address.")]
MaxFrame = Annotated[int, typer.Option(metavar="BYTES", min=8, help="Of one request.")]
MaxAnswer = Annotated[int, typer.Option(metavar="BYTES", min=64, help="Of one answer.")]
MaxWaiting = Annotated[int, typer.Option(metavar="N", min=1, help="Requests without a worker.")]
MaxWait = Annotated[
    float, typer.Option(metavar="S", min=0.001, help="The longest time a request may ask for.")
]
IdleTimeout = Annotated[float, typer.Option(metavar="S", min=0.01, help="Between two requests.")]
FrameTimeout = Annotated[float, typer.Option(metavar="S", min=0.01, help="For a whole request.")]
DrainTimeout = Annotated[float, typer.Option(metavar="S", min=0.01, help="To take an answer.")]
HandshakeTimeout = Annotated[float, typer.Option(metavar="S", min=0.01, help="Of TLS.")]
TlsCert = Annotated[
    Path | None, typer.Option(metavar="F", help="PEM: the certificate of the service.")
]
TlsKey = Annotated[Path | None, typer.Option(metavar="F", help="PEM: its key, no password.")]
TlsClientCa = Annotated[
    Path | None, typer.Option(metavar="F", help="PEM: who signs the clients' certificates.")
]
InsecureIKnow = Annotated[
    bool, typer.Option(help="Listen elsewhere than on loopback without clients' certificates.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options as they were given."""

    listen: str
    advertised: str | None
    api_key: int
    seed: int | None
    tls_cert: Path | None
    tls_key: Path | None
    tls_client_ca: Path | None
    insecure_i_know: bool
    limits: Limits
    guards: Guards


def config_of(wanted: Wanted, log: Callable[[Mapping[str, Any]], None]) -> ServeConfig:
    """What the server is told. Raises `InvalidConfig`."""
    from rackwise.adapters.rpc.config import ServeConfig, address_of

    host, port = address_of(wanted.listen, option="--listen")
    advertised = None
    if wanted.advertised is not None:
        advertised = address_of(wanted.advertised, option="--advertised", least_port=1)
    return ServeConfig(
        host=host,
        port=port,
        log=log,
        advertised=advertised,
        api_key=wanted.api_key,
        seed=wanted.seed,
        tls=_tls(wanted),
        may_be_insecure=wanted.insecure_i_know,
        guards=wanted.guards,
    )


def _tls(wanted: Wanted) -> Tls | None:
    from rackwise.adapters.rpc.config import Tls

    if wanted.tls_cert is not None and wanted.tls_key is not None:
        return Tls(certificate=wanted.tls_cert, key=wanted.tls_key, client_ca=wanted.tls_client_ca)
    given = {
        "--tls-cert": wanted.tls_cert,
        "--tls-key": wanted.tls_key,
        "--tls-client-ca": wanted.tls_client_ca,
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
