"""Generates clients: their networks, their activity, and the sources of their rack.

Client n of a cluster is about n^1.1 times less busy than the first. The sources of its rack
contradict each other on purpose, so that a test can see which source has priority:

```
flow logs    subnet of the packet's address, longest prefix; or none at all
canonical    the row's own client_rack   >   the table of clients   >   subnet   >   unknown
```

Of four clients, one has a rack in its rows and another one in the table; one has a rack in the
table only; two are known by address only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fleet.draws import Stream, pick, zipf_weights
from rackwise.core.fleet.world import addresses
from rackwise.core.fleet.world.addresses import Zone
from rackwise.core.fleet.world.endpoints import NOBODY, GeneratedEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.world.options import FleetOptions

MAX_CLIENTS = 6000
MIN_CLIENTS = 24
FLOWS_PER_CLIENT = 500
# One ticket per cent of the clients.
ZONES = (
    *[Zone.STRANGE] * 4,
    *[Zone.NESTED] * 8,
    *[Zone.SMALL] * 23,
    *[Zone.LARGE] * 35,
    *[Zone.OTHER_LARGE] * 30,
)
LOGGED_SHARE = 0.5
CONTAINER_SHARE = 0.2
WAYS = 4
"""The ways in which a client's rack is known; see `IN_ROW` and `IN_TABLE`."""
PACKET_ADDRESSES_SINCE = 3
"""Version of the flow log format that first had the packet's own addresses."""
IN_ROW, IN_TABLE = 0, 1
"""A client's number modulo `WAYS`: whether its rack is in its rows, or in the table of clients."""
SERVICES = ("api", "batch", "etl", "indexer", "ledger", "ranker", "reports", "scoring", "web")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """The clients of all clusters, as columns [clients]."""

    endpoint: int
    """Row of the first client in the endpoints."""
    is_ipv6: NDArray[np.bool_]
    first: NDArray[np.int64]
    """Clients of cluster c are rows `first[c]` to `first[c + 1] - 1`, [clusters + 1]."""
    cumulative: NDArray[np.int64]
    """Running sum of the clients' activity."""
    ids: tuple[str, ...]
    groups: tuple[str, ...]
    """Names of the client groups."""
    group: NDArray[np.int32]
    """Index into `groups`."""
    row_rack: NDArray[np.int32]
    """Index of the rack in the client's rows; -1 = none."""
    table_rack: NDArray[np.int32]
    """Index of the rack in the table of clients; -1 = none."""

    def draw(self, stream: Stream, cluster: NDArray[np.int64]) -> NDArray[np.int64]:
        """A random client of each of these clusters, in proportion to the clients' activity."""
        edges = np.concatenate([[0], self.cumulative])[self.first]
        low, high = edges[cluster], edges[cluster + 1]
        return pick(self.cumulative, low + stream.below(high - low))


def generate_clients(
    stream: Stream, options: FleetOptions, has_ipv6: Sequence[bool], racks: int, endpoint: int
) -> tuple[list[GeneratedEndpoint], Clients]:
    """The endpoints and the columns of the clients of all clusters.

    `has_ipv6`: whether each cluster's brokers have IPv6 addresses; `racks`: the number of racks;
    `endpoint`: the row of the first client in the endpoints.
    """
    clusters = len(has_ipv6)
    each = max(MIN_CLIENTS, min(MAX_CLIENTS, options.flows // FLOWS_PER_CLIENT) // clusters)
    count = each * clusters
    cluster = np.repeat(np.arange(clusters), each)
    is_ipv6 = stream.hits(options.ipv6, count) & np.array(has_ipv6)[cluster]
    rows = _draw_endpoints(stream, options, cluster, is_ipv6, racks)
    number = np.arange(count, dtype=np.int32)
    row_rack = stream.below(racks, count).astype(np.int32)
    services = [SERVICES[which] for which in stream.below(len(SERVICES), count)]
    groups = tuple(f"{service}-readers" for service in SERVICES)
    return rows, Clients(
        endpoint=endpoint,
        is_ipv6=is_ipv6,
        first=np.arange(clusters + 1, dtype=np.int64) * each,
        cumulative=np.cumsum(np.tile(zipf_weights(each), clusters)),
        ids=tuple(f"{service}-{place}" for place, service in enumerate(services)),
        groups=groups,
        group=np.array([SERVICES.index(service) for service in services], dtype=np.int32),
        row_rack=np.where(number % WAYS == IN_ROW, row_rack, NOBODY).astype(np.int32),
        table_rack=np.where(number % WAYS <= IN_TABLE, (row_rack + 1) % racks, NOBODY).astype(
            np.int32
        ),
    )


def _draw_endpoints(
    stream: Stream,
    options: FleetOptions,
    cluster: NDArray[np.int64],
    is_ipv6: NDArray[np.bool_],
    racks: int,
) -> list[GeneratedEndpoint]:
    count = len(cluster)
    free = _Addresses()
    machines = addresses.machine_addresses()
    can_contain = options.log_version >= PACKET_ADDRESSES_SINCE
    drawn = zip(
        cluster.tolist(),
        is_ipv6.tolist(),
        stream.below(racks, count).tolist(),
        stream.below(len(ZONES), count).tolist(),
        stream.hits(LOGGED_SHARE, count).tolist(),
        stream.hits(CONTAINER_SHARE, count).tolist(),
        strict=True,
    )
    rows: list[GeneratedEndpoint] = []
    for where, six, rack, ticket, is_logged, in_container in drawn:
        zone, address = free.next(rack, ZONES[ticket], is_ipv6=six)
        rows.append(
            GeneratedEndpoint(
                address=address,
                rack=_rack_of_zone(rack, zone, racks),
                cluster=where,
                machine=next(machines) if in_container and can_contain and not six else None,
                is_logged=is_logged,
            )
        )
    return rows


class _Addresses:
    """Assigns every address once; if a network is full, one from the rack's larger networks."""

    def __init__(self) -> None:
        self._free: dict[tuple[int, Zone, bool], Iterator[str]] = {}

    def next(self, rack: int, preferred: Zone, *, is_ipv6: bool) -> tuple[Zone, str]:
        """An address that was not assigned before, and its zone."""
        return next(
            (zone, address)
            for zone in (preferred, Zone.OTHER_LARGE, Zone.LARGE)
            if (address := next(self._addresses_of(rack, zone, is_ipv6=is_ipv6), None)) is not None
        )

    def _addresses_of(self, rack: int, zone: Zone, *, is_ipv6: bool) -> Iterator[str]:
        zone = _v6_zone(zone) if is_ipv6 else zone
        key = (rack, zone, is_ipv6)
        if key not in self._free:
            self._free[key] = addresses.client_addresses(rack, zone, is_ipv6=is_ipv6)
        return self._free[key]


def _v6_zone(zone: Zone) -> Zone:
    """The zone in IPv6, which has one large network where IPv4 has several."""
    return zone if zone in {Zone.NESTED, Zone.STRANGE} else Zone.LARGE


def _rack_of_zone(rack: int, zone: Zone, racks: int) -> int:
    """The rack that the longest matching prefix gives an address of this zone; -1 = none."""
    if zone is Zone.STRANGE:
        return NOBODY
    return (rack + 1) % racks if zone is Zone.NESTED else rack
