"""Racks of clients by the group members at their addresses.

A member says its rack and has an address; where all members of a cluster at one address say the
same rack, that is the rack of what talks from there. Members are those of each cluster's last
snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.pipeline.addresses import NONE, address_number

if TYPE_CHECKING:
    from rackwise.pipeline.fleet import Fleet


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
