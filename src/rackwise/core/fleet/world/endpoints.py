"""The endpoints of the generated world: all addresses that send or receive, one row each.

An endpoint has an address, a rack, a cluster, whether its interface is logged, and for a broker the
port that it listens on. Brokers come first, then clients, both cluster by cluster. A client in a
container uses the interface of its machine, whose own address is in no subnet table: only the
packet's address has a rack.

```
endpoint   address        machine       rack   cluster  broker  port  is_logged
0          10.2.0.10      the same      /eu/a  0        0       9092  yes
1          10.3.0.10      the same      /eu/a  0        0       9092  yes    broker 0 too
..
72         10.0.15.41     100.64.1.0    /eu/a  0        -1      0     yes        in a container
73         192.168.0.22   the same      -      0        -1      0     no
```

What this does not do: draw flows between endpoints; see `topology` and `traffic`.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.model import Ragged
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.draws import Stream
    from rackwise.core.model import Broker, Cluster
    from rackwise.core.racks import Rack

NOBODY = -1
"""In integer columns: no broker, no rack, no endpoint."""
V4 = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedEndpoint:
    """One address that sends or receives."""

    address: str
    rack: int
    """Index of the rack; -1 = none."""
    cluster: int
    """Index of the cluster; -1 = none."""
    machine: str | None = None
    """Address of the machine that runs the container; None outside a container."""
    broker: int = NOBODY
    """Index of the broker over all clusters; -1 = none."""
    port: int = 0
    """The port it listens on; 0 for a client."""
    is_logged: bool = True

    @property
    def is_ipv4(self) -> bool:
        """Whether the address is of version 4."""
        return ip_address(self.address).version == V4


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """The endpoints as columns [endpoints]."""

    words: tuple[str, ...]
    """The texts of addresses."""
    interfaces: tuple[str, ...]
    """The ids of interfaces."""
    address: NDArray[np.int32]
    """Index into `words`."""
    machine: NDArray[np.int32]
    """Index into `words`; the endpoint's own address outside a container."""
    interface: NDArray[np.int32]
    """Index into `interfaces`."""
    rack: NDArray[np.int32]
    """-1 = none."""
    cluster: NDArray[np.int32]
    """-1 = none."""
    broker: NDArray[np.int32]
    """Over all clusters; -1 = none."""
    port: NDArray[np.int32]
    is_logged: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpoints:
    """The endpoints of each broker, [brokers of all clusters]."""

    four: Ragged
    """IPv4 endpoints."""
    six: NDArray[np.int32]
    """IPv6 endpoint; -1 = none."""
    ids: NDArray[np.int32]
    """Broker id."""


def broker_endpoints(
    clusters: Sequence[Cluster], racks: Mapping[Rack, int]
) -> tuple[list[GeneratedEndpoint], BrokerEndpoints]:
    """The endpoints of all brokers, in order of the clusters and ids.

    Raises `InvalidSnapshot` if a broker has no IPv4 address, no port, or shares an address.
    """
    rows: list[GeneratedEndpoint] = []
    four: list[list[int]] = []
    six: list[int] = []
    ids: list[int] = []
    owners: dict[str, str] = {}
    for number, cluster in enumerate(clusters):
        for broker in cluster.brokers:
            _check(
                broker, f"broker {broker.id} of cluster {escaped(str(cluster.cluster_id))}", owners
            )
            four.append([])
            six.append(NOBODY)
            for address in broker.addresses:
                row = GeneratedEndpoint(
                    address=address,
                    rack=NOBODY if broker.rack is None else racks[broker.rack],
                    cluster=number,
                    broker=len(ids),
                    port=broker.port or 0,
                )
                if row.is_ipv4:
                    four[-1].append(len(rows))
                else:
                    six[-1] = len(rows)
                rows.append(row)
            ids.append(broker.id)
    return rows, BrokerEndpoints(
        four=Ragged.of(four), six=np.array(six, dtype=np.int32), ids=np.array(ids, dtype=np.int32)
    )


def endpoint_columns(stream: Stream, rows: Sequence[GeneratedEndpoint]) -> Endpoints:
    """The endpoints as columns; every machine has an interface of its own."""
    machines = [row.machine or row.address for row in rows]
    words = _distinct([*(row.address for row in rows), *machines])
    code = {word: place for place, word in enumerate(words)}
    machine_words = _distinct(machines)
    machine_code = {word: place for place, word in enumerate(machine_words)}
    tags = zip(stream.raw(len(machine_words)), stream.below(16, len(machine_words)), strict=True)
    return Endpoints(
        words=words,
        interfaces=tuple(f"eni-{int(high):016x}{int(low):x}" for high, low in tags),
        address=_column(code[row.address] for row in rows),
        machine=_column(code[machine] for machine in machines),
        interface=_column(machine_code[machine] for machine in machines),
        rack=_column(row.rack for row in rows),
        cluster=_column(row.cluster for row in rows),
        broker=_column(row.broker for row in rows),
        port=_column(row.port for row in rows),
        is_logged=np.array([row.is_logged for row in rows], dtype=bool),
    )


def _check(broker: Broker, name: str, owners: dict[str, str]) -> None:
    if broker.port is None or not any(ip_address(a).version == V4 for a in broker.addresses):
        had = f"{', '.join(broker.addresses) or 'no address'} and port {broker.port}"
        raise InvalidSnapshot(
            f"expected an IPv4 address and a port, got {had} for {name}",
            wanted="an IPv4 address and a port",
            had=had,
            hint="take the snapshot with `rackwise snapshot --resolve`",
        )
    for address in broker.addresses:
        other = owners.setdefault(address, name)
        if other != name:
            raise InvalidSnapshot(
                f"expected distinct broker addresses, got {address} for {other} and {name}",
                wanted="distinct addresses",
                had=address,
                hint="generate with --addresses, which gives each broker an address of its own",
            )


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _column(values: Iterable[int]) -> NDArray[np.int32]:
    return np.fromiter(values, dtype=np.int32)
