"""Racks of clients: from an address table, group members, subnets, or zones.

A row of an address table that applies at the time of a flow takes precedence: it says where the
address was then. A group member is known at the time of a snapshot alone.

A member has an address and reports its rack. If all members of a cluster at one address report the
same rack, every client at that address has that rack. The members at an address are those of the
last snapshot that has some there: a member that has left keeps its address until another has it.

Some logs name the zone of an end. A zone is the rack that has its name, or the one rack whose path
ends with it:

```
zone  us-east4-a    racks us-east4-a, us-east4-b          us-east4-a
      us-east4-a    racks /us-east4/us-east4-a, ..        /us-east4/us-east4-a
      a             racks /eu/a, /us/a                    unknown: two racks end with it
      us-east4-c    racks us-east4-a, us-east4-b          us-east4-c, one more rack
      us-east4-c    racks /us-east4/us-east4-a, ..        unknown: its path is not known
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.racks import Rack
from rackwise.pipeline.columns.addresses import NONE, PairIndex, address_number
from rackwise.pipeline.fleet.address_times import AddressTimes
from rackwise.pipeline.fleet.subnet_racks import RackLookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from rackwise.core.model import GroupMember
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.snapshots import Snapshot
    from rackwise.pipeline.fleet.subnet_racks import Buckets


class ClientRacks:
    """Finds the rack of the client at an address, for one cluster."""

    def __init__(self, fleet: Fleet, buckets: Buckets) -> None:
        members = member_racks(fleet)
        self._members = PairIndex((ip for ip, _ in members), (cluster for _, cluster in members))
        self._racks = np.array(list(members.values()), dtype=np.int64)
        self._subnets = RackLookup(buckets)
        self._addresses = AddressTimes(buckets.addresses, buckets.codes)

    def by_subnet(self, ip: NDArray[np.int64], prefix: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rack codes of clients at addresses, from subnets alone; the same for each cluster."""
        return self._subnets.find(ip, prefix)

    def by_member(
        self, ip: NDArray[np.int64], cluster: NDArray[np.int64], else_: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Rack codes of the clients that are group members; `else_` for other clients."""
        racks = else_.copy()
        if not len(self._members):
            return racks
        rows = self._members.find(ip, cluster)
        racks[rows >= 0] = self._racks[rows[rows >= 0]]
        return racks

    def by_address(
        self,
        ip: NDArray[np.int64],
        start_s: NDArray[np.int64],
        end_s: NDArray[np.int64],
        else_: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Rack codes of addresses that the address table has in these windows; `else_` for others.

        `start_s`, `end_s`: seconds since 1970.
        """
        if not len(self._addresses):
            return else_
        found = self._addresses.find(ip, start_s, end_s)
        return np.where(found == 0, else_, found)


def zone_codes(fleet: Fleet) -> dict[str, int]:
    """Zone -> code of its rack, for the zones whose rack is known."""
    found: dict[str, list[int]] = {}
    parents = {text.rpartition("/")[0] for text in fleet.codes.racks}
    for text, code in fleet.codes.racks.items():
        if levels := () if text in parents else Rack(text).levels:
            found.setdefault(levels[-1], []).append(code)
    return {zone: codes[0] for zone, codes in found.items() if len(codes) == 1}


def zone_racks(zones: Iterable[str], snapshots: Iterable[Snapshot]) -> list[Rack]:
    """Zones as further racks; none if racks of brokers are paths: a zone is a part of a path."""
    brokers = (broker for snapshot in snapshots for broker in snapshot.cluster.brokers)
    if any(broker.rack is not None and broker.rack.is_path for broker in brokers):
        return []
    return [Rack(zone) for zone in zones]


def member_racks(fleet: Fleet) -> dict[tuple[int, int], int]:
    """(address as a long, see `addresses`; cluster code) -> rack code."""
    found = {}
    for (cluster, ip), members in last_members(fleet, lambda one: one.rack is not None).items():
        racks = {fleet.codes.rack(member.rack) for _, member in members}
        if len(racks) == 1:
            found[ip, cluster] = racks.pop()
    return found


def member_places(fleet: Fleet) -> list[tuple[int, int]]:
    """(cluster code, address as a long) of group members that read partitions; ascending."""
    return sorted(last_members(fleet, lambda member: bool(member.partitions)))


def last_members(
    fleet: Fleet, is_wanted: Callable[[GroupMember], bool]
) -> dict[tuple[int, int], list[tuple[str, GroupMember]]]:
    """(cluster code, address as a long) -> groups and members there, in the last such snapshot."""
    found: dict[tuple[int, int], list[tuple[str, GroupMember]]] = {}
    numbers: dict[str, int] = {}
    for snapshot in fleet.history:
        cluster = fleet.codes.clusters[snapshot.name]
        here: dict[tuple[int, int], list[tuple[str, GroupMember]]] = {}
        for group in snapshot.cluster.groups:
            for member in group.members:
                if member.address is None or not is_wanted(member):
                    continue
                ip = numbers.get(member.address)
                if ip is None:
                    ip = numbers[member.address] = address_number(member.address)[0]
                if ip != NONE:
                    here.setdefault((cluster, ip), []).append((group.group, member))
        found |= here
    return found
