"""The tables that say in which racks clients are, and the rack of a group's member by them.

The member of a group has the first of these racks that is known:

1. that of its client id, then of its group, in the table of clients;
2. that of its address at the time of the snapshot, in the table of addresses;
3. the rack that it reports;
4. that of its address, in the table of subnets.

What this does not do: find the rack of an address in a flow (`members`, `subnet_racks`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.inventory.addresses import RacksAtTimes
from rackwise.core.subnets import length_classes, rack_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.inventory.addresses import AddressRow
    from rackwise.core.model import Cluster, Group, GroupMember
    from rackwise.core.racks import Rack
    from rackwise.core.subnets import LengthClass, Subnet


@dataclass(frozen=True, slots=True, kw_only=True)
class RackTables:
    """The tables of a run with racks of clients."""

    subnets: tuple[Subnet, ...] = ()
    addresses: tuple[AddressRow, ...] = ()
    clients: Mapping[str, Mapping[str, Rack]] = field(default_factory=lambda: MappingProxyType({}))
    """`client_id`, `client_group` or `principal` -> name -> rack."""

    def racks(self) -> list[Rack]:
        """The rack of each row."""
        of_clients = [rack for racks_of in self.clients.values() for rack in racks_of.values()]
        of_addresses = [row.rack for row in self.addresses]
        return [*(subnet.rack for subnet in self.subnets), *of_addresses, *of_clients]

    def member_racks(self) -> MemberRacks:
        """What finds the rack of a member. Raises `InvalidSubnets`, like `length_classes`."""
        return MemberRacks(
            by_id=self.clients.get("client_id", {}),
            by_group=self.clients.get("client_group", {}),
            addresses=RacksAtTimes(self.addresses),
            classes=length_classes(self.subnets),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRacks:
    """Finds the rack of a member of a group; sent to tasks. It is a `layouts.RackOf`."""

    by_id: Mapping[str, Rack]
    """Client id -> rack."""
    by_group: Mapping[str, Rack]
    """Group -> rack."""
    addresses: RacksAtTimes
    classes: tuple[LengthClass, ...]
    """Of the subnets."""

    def __call__(self, cluster: Cluster, group: Group, member: GroupMember) -> Rack | None:
        """The rack of a member at the time of a snapshot; None if it is not known."""
        known = self.by_id.get(member.client_id) or self.by_group.get(group.group)
        if known or not member.address:
            return known or member.rack
        at = datetime.fromisoformat(cluster.taken_at)
        return (
            self.addresses.find(member.address, at)
            or member.rack
            or rack_of(member.address, self.classes)
        )
