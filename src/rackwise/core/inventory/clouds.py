"""Rows of address tables and subnet tables from what clouds list.

A subnet has a zone on AWS alone. On Google Cloud a subnet belongs to a region, on Azure a virtual
network spans all zones of a location; there the rack of an address is the zone of its machine.

```
AWS            subnet 10.0.1.0/24 in us-east-1a, use1-az4     10.0.1.0/24,use1-az4
Google Cloud   instance in zone europe-west1-b                10.1.0.9,europe-west1-b
Azure          machine in zone 1 of westeurope                10.2.0.4,westeurope-1
```

On Azure, the zone of a network interface is that of its machine. A machine without a zone may be in
any zone: its addresses get no rows. The numbers of zones differ between subscriptions.

What this does not do: read files; convert zones (`zones` does).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidAddresses
from rackwise.core.inventory.addresses import AddressRow
from rackwise.core.inventory.kubernetes import InventoryRows
from rackwise.core.racks import Rack
from rackwise.core.subnets import Subnet, length_classes
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from rackwise.core.inventory.zones import ZoneForm
    from rackwise.core.subnets import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsSubnet:
    """A subnet of AWS."""

    id: str
    zone_name: str
    zone_id: str
    networks: tuple[Network, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudMachine:
    """A machine of Google Cloud or Azure; its addresses are those within its network."""

    name: str
    zone: str | None
    """None if it may be in any zone."""
    addresses: tuple[str, ...]
    created: datetime | None


def subnet_rows(subnets: Iterable[AwsSubnet], form: ZoneForm) -> tuple[Subnet, ...]:
    """The rows of a subnet table, in order of the networks.

    Raises `InvalidSubnets` if a network has two zones.
    """
    rows = [
        Subnet(
            network=network,
            rack=Rack(subnet.zone_id if form == "id" else subnet.zone_name),
            where=f"subnet {subnet.id}",
        )
        for subnet in subnets
        for network in subnet.networks
    ]
    length_classes(rows)
    distinct = {row.network: row for row in rows}
    return tuple(sorted(distinct.values(), key=lambda row: (row.network.version, row.network)))


def machine_rows(machines: Iterable[CloudMachine]) -> InventoryRows:
    """The rows of the addresses of machines. Raises `InvalidAddresses` for an address of two."""
    rows: list[AddressRow] = []
    without: list[str] = []
    owners: dict[str, CloudMachine] = {}
    for machine in machines:
        if machine.zone is None:
            without.append(machine.name)
            continue
        for address in machine.addresses:
            first = owners.setdefault(address, machine)
            if first != machine:  # a name is unique in a zone or a resource group alone
                raise InvalidAddresses(
                    f"invalid machines: expected {address} once, got it in {_text(first)} and in "
                    f"{_text(machine)}",
                    wanted=first.name,
                    had=machine.name,
                    hint="list one network at a time: addresses of two networks may be equal",
                )
            rows.append(
                AddressRow(
                    address=address,
                    rack=Rack(machine.zone),
                    owner=machine.name,
                    start=machine.created,
                    where=f"machine {machine.name}",
                )
            )
    notes: tuple[str, ...] = ()
    if without:
        names = names_text(without)
        notes = (f"{counted(len(without), 'machine')} without a zone ({names}): no row",)
    return InventoryRows(rows=tuple(rows), notes=notes)


def _text(machine: CloudMachine) -> str:
    return escaped(f"{machine.name} in {machine.zone}")


def joined_machines(
    interfaces: Sequence[tuple[str, str | None, tuple[str, ...]]],
    machines: Mapping[str, CloudMachine],
) -> tuple[list[CloudMachine], list[str]]:
    """Machines of Azure with the addresses of their network interfaces.

    `interfaces`: name, id of the machine if there is one, addresses; `machines`: id -> machine
    without addresses. The second result names the interfaces whose machine is not in the list.
    Ids are compared without case.
    """
    own: dict[str, list[str]] = {}
    missing: list[str] = []
    known = {id_.lower(): machine for id_, machine in machines.items()}
    for name, machine, addresses in interfaces:
        if machine is None:
            continue
        if machine.lower() not in known:
            missing.append(name)
            continue
        own.setdefault(machine.lower(), []).extend(addresses)
    return [
        replace(known[id_], addresses=tuple(addresses)) for id_, addresses in own.items()
    ], missing
