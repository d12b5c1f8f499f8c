"""Racks of clients by the group members at their addresses, else by their subnets.

A member says its rack and has an address; where all members of a cluster at one address say the
same rack, that is the rack of what talks from there. Members are those of each cluster's last
snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.pipeline.columns.addresses import NONE, PairIndex, address_number
from rackwise.pipeline.fleet.subnet_racks import RackLookup

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets


class ClientRacks:
    """The rack of the client at an address, for one cluster."""

    def __init__(self, fleet: Fleet, buckets: Buckets) -> None:
        members = member_racks(fleet)
        self._members = PairIndex((ip for ip, _ in members), (cluster for _, cluster in members))
        self._racks = np.array(list(members.values()), dtype=np.int64)
        self._subnets = RackLookup(buckets)

    def find(
        self, ip: NDArray[np.int64], prefix: NDArray[np.int64], cluster: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Rack codes of addresses as `addresses.AddressReader` gives them; 0 = unknown."""
        return self.by_member(ip, cluster, self.by_subnet(ip, prefix))

    def by_subnet(self, ip: NDArray[np.int64], prefix: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rack of the client at an address, for every cluster."""
        return self._subnets.find(ip, prefix)

    def by_member(
        self, ip: NDArray[np.int64], cluster: NDArray[np.int64], else_: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The same of those that are members; of others `else_`."""
        racks = else_.copy()
        rows = self._members.find(ip, cluster)
        racks[rows >= 0] = self._racks[rows[rows >= 0]]
        return racks


def member_racks(fleet: Fleet) -> dict[tuple[int, int], int]:
    """Address as a long (see `addresses`) and cluster code -> rack code."""
    said: dict[tuple[int, int], set[int]] = {}
    for snapshot in fleet.latest:
        cluster = fleet.codes.clusters[snapshot.name]
        for group in snapshot.cluster.groups:
            for member in group.members:
                ip, _ = address_number(member.address or "")
                if member.rack is not None and ip != NONE:
                    said.setdefault((ip, cluster), set()).add(fleet.codes.rack(member.rack))
    return {place: next(iter(racks)) for place, racks in said.items() if len(racks) == 1}
