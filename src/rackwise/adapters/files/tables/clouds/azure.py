"""Network interfaces and machines of Azure, as `az network nic list` and `az vm list` print them.

A virtual network of Azure spans all zones of a location, so `az network vnet list` cannot name
zones and is rejected. The interfaces of machines in a uniform scale set are not in the listing.

Source: the reference of Azure's REST API, NetworkInterface and VirtualMachine. The command line has
called the address of an interface `privateIpAddress`, and calls it `privateIPAddress`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rackwise.adapters.files.tables.listings import (
    Address,
    Instant,
    items_of,
    listing_root,
    not_that,
    open_codec,
)
from rackwise.core.inventory.addresses import canonical_address, instant
from rackwise.core.inventory.clouds import CloudMachine, joined_machines
from rackwise.core.inventory.zones import azure_zone
from rackwise.core.json.declare import OMITTED, Key, NameText

NICS_HINT = "write the file with `az network nic list --output json`"
VMS_HINT = "write the file with `az vm list --output json`"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceConfiguration:
    """One address of a network interface."""

    ip: Annotated[Address | None, OMITTED, Key("privateIPAddress")] = None
    old_ip: Annotated[Address | None, OMITTED, Key("privateIpAddress")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedMachine:
    """The machine of a network interface."""

    id: NameText


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInterface:
    """A network interface; without a machine it sends nothing."""

    name: NameText
    configurations: Annotated[tuple[InterfaceConfiguration, ...], Key("ipConfigurations")]
    machine: Annotated[AttachedMachine | None, OMITTED, Key("virtualMachine")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualMachine:
    """A machine; `zones` is absent, null or empty if it has none."""

    id: NameText
    name: NameText
    location: NameText
    zones: Annotated[tuple[str, ...] | None, OMITTED] = None
    created: Annotated[Instant | None, OMITTED, Key("timeCreated")] = None


_AZURE = open_codec(InterfaceConfiguration, AttachedMachine, NetworkInterface, VirtualMachine)


def parse_azure(
    nics: bytes, vms: bytes, *, nics_where: str, vms_where: str
) -> tuple[list[CloudMachine], list[str]]:
    """Machines with their addresses, and interfaces whose machine is not in `vms`.

    Raises `InvalidAddresses`, also for a listing of virtual networks.
    """
    root = listing_root(nics, where=nics_where, hint=NICS_HINT)
    if isinstance(root.value, list) and any(
        isinstance(item, dict) and "addressSpace" in item for item in root.value
    ):
        raise not_that(root, "network interfaces", "virtual networks, which span all zones")
    wanted = "a list of network interfaces"
    mark = "ipConfigurations"
    interfaces = items_of(root, _AZURE, NetworkInterface, mark=mark, wanted=wanted)
    machines = items_of(
        listing_root(vms, where=vms_where, hint=VMS_HINT),
        _AZURE,
        VirtualMachine,
        mark="location",
        wanted="a list of virtual machines",
    )
    return joined_machines(
        [
            (each.name, each.machine.id if each.machine else None, _addresses(each))
            for each in interfaces
        ],
        {
            each.id: CloudMachine(
                name=each.name,
                zone=azure_zone(each.location, each.zones[0]) if each.zones else None,
                addresses=(),
                created=None if each.created is None else instant(each.created),
            )
            for each in machines
        },
    )


def _addresses(interface: NetworkInterface) -> tuple[str, ...]:
    texts = [each.ip or each.old_ip for each in interface.configurations]
    return tuple(address for text in texts if text and (address := canonical_address(text)))
