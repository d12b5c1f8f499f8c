"""IP addresses of the generated world: the networks of each rack, and addresses in them.

Every rack k has the same kinds of networks. One of them is inside another and belongs to the next
rack, so that only the longest matching prefix gives the right rack:

```
10.(4k).0.0/20      rack k       clients          2001:db8:(k)00::/56        rack k, clients
10.(4k).5.0/24      rack k + 1   inside it        2001:db8:(k)00:42::/64     rack k + 1, inside it
10.(4k).32.0/20     rack k       clients
10.(4k+1).N.0/24    rack k       clients, N = 0, 64, 128, 192
10.(4k+2).0.0/16    rack k       brokers          2001:db8:(k)ff::/64        rack k, brokers
10.(4k+3).0.0/16    in no table  second addresses of every fifth broker
192.168.0.0/16      in no table  clients of no known rack     2001:db8:ffff::/64
100.64.0.0/10       in no table  machines that run containers
```

What this does not do: look up the rack of an address; the code that assigns an address knows it.
"""

from __future__ import annotations

from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwise.core.racks import Rack

RACK_ROOT = 10 * 2**24
BLOCK = 2**16
BLOCKS = 4
"""The /16 networks of a rack: `10.(4k).0.0` to `10.(4k+3).0.0`."""
CLIENTS, SMALLS, BROKERS, SECONDS = range(BLOCKS)
NESTED = 5 * 2**8
SMALL_STARTS = tuple(which * 64 * 2**8 for which in range(4))
STRANGERS = 192 * 2**24 + 168 * 2**16
MACHINES = 100 * 2**24 + 64 * 2**16
V6_ROOT = 0x2001_0DB8 << 96
V6_BROKERS = 0xFF << 80
V6_NESTED = 0x42
V6_STRANGERS = 0xFFFF << 80
RESOLVER = "10.255.255.2"
"""The name server of all endpoints; it is not part of Kafka."""
SECOND_ONE_IN = 5
FIRST_BROKER = 10
STRIDE = 1021
"""A prime, so that multiples of it visit every host of a network once, in a scattered order."""
V6_STRIDE = 0x9E37_79B9_7F4A_7C15
"""The golden section of 2^64: multiples of it are spread evenly over all hosts."""
RESERVED = 4
"""Number of addresses at the start of a network that are not assigned; nor is the last one."""


class Zone(Enum):
    """The network of a client, relative to a rack; `STRANGE` is in no rack."""

    LARGE = "large"
    OTHER_LARGE = "other large"
    SMALL = "small"
    NESTED = "nested"
    STRANGE = "strange"


def subnets(racks: Sequence[Rack]) -> tuple[tuple[str, Rack], ...]:
    """The subnet table: (network, rack) in order of the racks."""
    rows: list[tuple[str, Rack]] = []
    for k, rack in enumerate(racks):
        following = racks[(k + 1) % len(racks)]
        clients, six = _block(k, CLIENTS), _v6_rack(k)
        rows += [
            (f"{_v4(clients)}/20", rack),
            (f"{_v4(clients + NESTED)}/24", following),
            (f"{_v4(clients + 2**13)}/20", rack),
            *((f"{_v4(_block(k, SMALLS) + start)}/24", rack) for start in SMALL_STARTS),
            (f"{_v4(_block(k, BROKERS))}/16", rack),
            (f"{_v6(six)}/56", rack),
            (f"{_v6(six + (V6_NESTED << 64))}/64", following),
            (f"{_v6(six + V6_BROKERS)}/64", rack),
        ]
    return tuple(rows)


def broker_addresses(rack: int, ordinal: int, *, has_ipv6: bool) -> tuple[str, ...]:
    """All addresses of a broker; `ordinal`: its number in the whole fleet."""
    host = FIRST_BROKER + ordinal
    found = [_v4(_block(rack, BROKERS) + host)]
    if ordinal % SECOND_ONE_IN == 0:
        found.append(_v4(_block(rack, SECONDS) + host))
    if has_ipv6:
        found.append(_v6(_v6_rack(rack) + V6_BROKERS + host))
    return tuple(found)


def client_addresses(rack: int, zone: Zone, *, is_ipv6: bool) -> Iterator[str]:
    """Distinct addresses of clients in a zone of a rack, in a scattered order."""
    if is_ipv6:
        return _v6_clients(rack, zone)
    return _v4_clients(rack, zone)


def machine_addresses() -> Iterator[str]:
    """Addresses of machines that run containers."""
    return (_v4(MACHINES + 2**8 + number) for number in range(2**20))


def _v4_clients(rack: int, zone: Zone) -> Iterator[str]:
    clients = _block(rack, CLIENTS)
    if zone is Zone.SMALL:
        starts = [_block(rack, SMALLS) + start for start in SMALL_STARTS]
        return (_v4(start + host) for host in _scattered(2**8) for start in starts)
    if zone is Zone.NESTED:
        return (_v4(clients + NESTED + host) for host in _scattered(2**8))
    if zone is Zone.OTHER_LARGE:
        return (_v4(clients + 2**13 + host) for host in _scattered(2**12))
    if zone is Zone.STRANGE:
        return (_v4(STRANGERS + 2**10 * rack + host) for host in _scattered(2**10))
    return (_v4(clients + host) for host in _scattered(2**12) if host >> 8 != NESTED >> 8)


def _v6_clients(rack: int, zone: Zone) -> Iterator[str]:
    six = _v6_rack(rack)
    hosts = ((number * V6_STRIDE) % 2**64 for number in range(1, 2**16))
    if zone is Zone.NESTED:
        return (_v6(six + (V6_NESTED << 64) + host) for host in hosts)
    if zone is Zone.STRANGE:
        return (_v6(V6_ROOT + V6_STRANGERS + (rack << 64) + host) for host in hosts)
    networks = [number for number in range(2**8) if number != V6_NESTED]
    return (
        _v6(six + (networks[place % len(networks)] << 64) + host)
        for place, host in enumerate(hosts)
    )


def _scattered(size: int) -> Iterator[int]:
    """The hosts of a network of `size` addresses that are assigned, in a scattered order."""
    for place in range(size):
        host = (place * STRIDE) % size
        if RESERVED <= host < size - 1:
            yield host


def _block(rack: int, which: int) -> int:
    """The first address of a rack's network; `which`: one of `CLIENTS` to `SECONDS`."""
    return RACK_ROOT + (BLOCKS * rack + which) * BLOCK


def _v6_rack(rack: int) -> int:
    return V6_ROOT + (rack << 88)


def _v4(number: int) -> str:
    return str(IPv4Address(number))


def _v6(number: int) -> str:
    return str(IPv6Address(number))
