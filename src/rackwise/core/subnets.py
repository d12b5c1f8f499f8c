"""The rack of an address, from a table of networks; the longest prefix decides.

Goals, in order: the same result as a search through all networks; lookups compare integers for
equality and never ranges, because equal integers are found fast; few integers.

Length classes. The networks of an address family are divided into at most three classes of prefix
length, L1 < L2 < L3. A network is in the first class whose length L is at least the length of its
prefix. The class holds the network as the `2^(L - length)` buckets of length L that it covers. If
several networks of a class cover a bucket, the longest network decides. The lengths of the classes
are chosen so that the number of buckets is lowest:

```
10.0.0.0/16 -> a   10.0.5.0/24 -> b   10.0.5.16/28 -> c          classes 16, 24, 28

10.0.5.17   /28: 10.0.5.16 -> c                                   the finest class has it: c
10.0.5.1    /28: no   /24: 10.0.5.0 -> b                          b
10.0.4.1    /28: no   /24: no   /16: 10.0.0.0 -> a                a
10.1.0.1    /28: no   /24: no   /16: no                           unknown
```

Within a class, a longer network replaces a shorter one, and a finer class has only longer prefixes.
So the first class with a result, finest first, has the longest prefix.

IPv6 addresses are looked up by their upper 64 bits, so IPv6 networks are at most /64. IPv4 and IPv6
have separate classes.

What this does not do: read files; look up arrays (see `pipeline.fleet.subnet_racks`); query DNS.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.errors import InvalidRack, InvalidSubnets
from rackwise.core.racks import Rack
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Network: TypeAlias = IPv4Network | IPv6Network

MAX_CLASSES = 3
"""Maximum length classes per address family, so that a lookup needs at most three searches."""
MAX_BUCKETS = 2**20
"""Maximum buckets per address family, so that the table fits into the memory of each worker."""
V4_BITS = 32
V6_BITS = 64
"""The number of leading bits of an IPv6 address that a lookup uses."""
IPV4, IPV6 = 4, 6
"""Versions of IP."""
OCTETS = 4
"""Numbers in an IPv4 address."""
HEADER = ["cidr", "rack"]
"""The optional first line of a subnet table as CSV."""
PAIRS_END = "<>"
"""Separates the pairs of `rack@cidr<>rack@cidr`."""

_OCTET = re.compile("0|[1-9][0-9]{0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """One row of a subnet table."""

    network: Network
    rack: Rack
    where: str = ""
    """File and line, for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthClass:
    """The buckets of one length in one address family."""

    version: int
    """4 or 6."""
    length: int
    """Leading bits of an address that identify its bucket."""
    buckets: Mapping[int, Rack]
    """These leading bits as an integer -> rack."""

    @property
    def shift(self) -> int:
        """The number of bits by which an address is shifted right to get its bucket."""
        return bits(self.version) - self.length


def bits(version: int) -> int:
    """The number of leading bits that a lookup uses: 32 for IPv4, 64 for IPv6."""
    return V4_BITS if version == IPV4 else V6_BITS


def ipv4(text: str) -> int | None:
    """`10.0.0.1` -> 167772161; None if the text is not four octets 0..255 without leading zeros.

    >>> ipv4("10.0.0.1"), ipv4("10.0.0.256"), ipv4("010.0.0.1")
    (167772161, None, None)
    """
    octets = text.split(".")
    if len(octets) != OCTETS:
        return None
    number = 0
    for octet in octets:
        if not _OCTET.fullmatch(octet) or int(octet) >= 2**8:
            return None
        number = number * 2**8 + int(octet)
    return number


def parse_subnets(text: str, *, where: str = "subnets") -> tuple[Subnet, ...]:
    """A subnet table, as CSV with the header `cidr,rack` or as `rack@cidr<>rack@cidr`.

    The second form is that of the configuration of AutoMQ and WarpStream. Raises `InvalidSubnets`
    with `where` and the line for an invalid row; `length_classes` checks the whole table.
    """
    is_csv = "@" not in _first_line(text).partition(",")[0]
    rows = _csv(text, where) if is_csv else _pairs(text, where)
    subnets = tuple(_subnet(cidr, rack, place) for cidr, rack, place in rows)
    if not subnets:
        raise InvalidSubnets(
            f"expected at least one network in {where}, got none",
            wanted=1,
            had=0,
            hint="write lines cidr,rack, such as 10.0.5.0/24,/eu/a",
            where=where,
        )
    return subnets


def _first_line(text: str) -> str:
    """The first line that is neither blank nor a comment; empty without one."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def length_classes(subnets: Iterable[Subnet]) -> tuple[LengthClass, ...]:
    """The length classes, IPv4 before IPv6, finest first within a family.

    Raises `InvalidSubnets` if a network has two racks, if an IPv6 prefix is longer than /64, or if
    the table needs more than 2^20 buckets.
    """
    by_network = _check_unambiguous(subnets)
    classes: list[LengthClass] = []
    for version in (IPV4, IPV6):
        family = [subnet for subnet in by_network if subnet.network.version == version]
        lengths = prefix_classes(Counter(subnet.network.prefixlen for subnet in family))
        _check_size(family, lengths)
        classes += [_length_class(version, length, family, lengths) for length in reversed(lengths)]
    return tuple(classes)


def prefix_classes(networks: Mapping[int, int]) -> tuple[int, ...]:
    """The lengths of the classes, ascending; `networks`: prefix length -> number of networks.

    The fewest buckets win, then the shortest lengths. `{8: 1, 16: 1, 24: 1, 32: 1}` -> `8 16 32`.
    """
    lengths = sorted(networks)
    if not lengths:
        return ()
    count = min(MAX_CLASSES, len(lengths))
    choices = ((*some, lengths[-1]) for some in combinations(lengths[:-1], count - 1))
    return min(choices, key=lambda classes: (buckets_of(networks, classes), classes))


def buckets_of(networks: Mapping[int, int], classes: Sequence[int]) -> int:
    """The number of buckets of these networks in these classes."""
    return sum(
        count * 2 ** (_class_of(length, classes) - length) for length, count in networks.items()
    )


def rack_of(address: str, classes: Sequence[LengthClass]) -> Rack | None:
    """The rack of the longest network that contains the address; None if there is none.

    Raises `ValueError` if the text is not an address.
    """
    parsed = ip_address(address)
    number = int(parsed) >> (parsed.max_prefixlen - bits(parsed.version))
    for one in classes:
        if one.version == parsed.version and (rack := one.buckets.get(number >> one.shift)):
            return rack
    return None


def _class_of(length: int, classes: Sequence[int]) -> int:
    return next(one for one in classes if one >= length)


def _check_unambiguous(subnets: Iterable[Subnet]) -> list[Subnet]:
    """Each network once. Raises `InvalidSubnets` if two rows conflict or a prefix is too long."""
    by_network: dict[Network, Subnet] = {}
    for subnet in subnets:
        first = by_network.setdefault(subnet.network, subnet)
        if first.rack != subnet.rack:
            raise InvalidSubnets(
                f"expected one rack for {subnet.network}, got {first.rack} in {first.where} "
                f"and {subnet.rack} in {subnet.where}",
                wanted=str(first.rack),
                had=str(subnet.rack),
                hint=f"delete {first.where} or {subnet.where}",
                where=subnet.where,
            )
        if subnet.network.prefixlen > bits(subnet.network.version):
            raise InvalidSubnets(
                f"expected an IPv6 prefix of at most /{V6_BITS}, got {subnet.network}",
                wanted=V6_BITS,
                had=subnet.network.prefixlen,
                hint="assign the whole /64 to one rack",
                where=subnet.where,
            )
    return list(by_network.values())


def _check_size(family: Sequence[Subnet], lengths: Sequence[int]) -> None:
    size = buckets_of(Counter(subnet.network.prefixlen for subnet in family), lengths)
    if size > MAX_BUCKETS:
        widest = min(family, key=lambda subnet: subnet.network.prefixlen)
        raise InvalidSubnets(
            f"expected a table of at most {MAX_BUCKETS} buckets, got {size} for {len(family)} "
            f"networks of /{widest.network.prefixlen} to /{lengths[-1]}",
            wanted=MAX_BUCKETS,
            had=size,
            hint="omit networks that hold no client, or split the widest ones",
            where=widest.where,
        )


def _length_class(
    version: int, length: int, family: Sequence[Subnet], lengths: Sequence[int]
) -> LengthClass:
    buckets: dict[int, Rack] = {}
    mine = [s for s in family if _class_of(s.network.prefixlen, lengths) == length]
    for subnet in sorted(mine, key=lambda s: s.network.prefixlen):
        first = int(subnet.network.network_address) >> (subnet.network.max_prefixlen - length)
        covered = range(first, first + 2 ** (length - subnet.network.prefixlen))
        buckets.update(dict.fromkeys(covered, subnet.rack))
    return LengthClass(version=version, length=length, buckets=buckets)


def _csv(text: str, where: str) -> Iterable[tuple[str, str, str]]:
    is_first = True
    for number, row in _csv_rows(text, where):
        cells = [cell.strip() for cell in row]
        if cells in ([], [""]) or cells[0].startswith("#"):
            continue
        is_header = is_first and [cell.lower() for cell in cells] == HEADER
        is_first = False
        if is_header:
            continue
        if len(cells) != len(HEADER):
            raise InvalidSubnets(
                f"invalid line {where}:{number}: expected cidr,rack, got {len(cells)} cells",
                wanted=len(HEADER),
                had=len(cells),
                hint="write a line such as 10.0.5.0/24,/eu/a",
                where=f"{where}:{number}",
            )
        yield cells[0], cells[1], f"{where}:{number}"


def _csv_rows(text: str, where: str) -> Iterable[tuple[int, list[str]]]:
    """The last line and the cells of each row."""
    rows = csv.reader(text.splitlines())
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        place = f"{where}:{rows.line_num}"
        raise InvalidSubnets(
            f"invalid line {place}: expected CSV, got a syntax error: {error}",
            wanted="CSV",
            had=str(error),
            hint="write a line such as 10.0.5.0/24,/eu/a",
            where=place,
        ) from None


def _pairs(text: str, where: str) -> Iterable[tuple[str, str, str]]:
    for number, pair in enumerate(text.strip().split(PAIRS_END), start=1):
        rack, at, cidr = pair.strip().rpartition("@")
        if not at:
            raise InvalidSubnets(
                f"invalid pair {number} of {where}: expected rack@cidr, got "
                f"{escaped(pair.strip())!r}",
                wanted="rack@cidr",
                had=pair.strip(),
                hint="write pairs such as use1-az1@10.0.0.0/19<>use1-az2@10.0.32.0/19",
                where=f"{where} pair {number}",
            )
        yield cidr, rack, f"{where} pair {number}"


def _subnet(cidr: str, rack: str, where: str) -> Subnet:
    try:
        network = ip_network(cidr)
    except ValueError:
        network = None
    if network is None or "/" not in cidr or "%" in cidr:
        raise InvalidSubnets(
            f"invalid network at {where}: expected one such as 10.0.5.0/24, without host bits, got "
            f"{escaped(cidr)!r}",
            wanted="10.0.5.0/24",
            had=cidr,
            hint="write the first address of the network, a slash and the prefix length",
            where=where,
        )
    known = Rack(rack)
    try:
        known.levels  # noqa: B018 (reading it is the check)
    except InvalidRack as error:
        raise InvalidSubnets(
            f"{where}: {error.message}",
            wanted=error.wanted,
            had=error.had,
            hint=error.hint,
            where=where,
        ) from None
    return Subnet(network=network, rack=known, where=where)
