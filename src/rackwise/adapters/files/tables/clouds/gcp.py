"""Instances of Google Cloud, as `gcloud compute instances list --format=json` prints them.

A subnet of Google Cloud belongs to a region, so `gcloud compute networks subnets list` cannot name
zones and is rejected. Alias ranges, which pods of GKE use, are no addresses of an instance: `racks
kubernetes` lists pods.

Source: the reference of Compute Engine, Instance.
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
from rackwise.core.inventory.clouds import CloudMachine
from rackwise.core.json.declare import OMITTED, Key, NameText

HINT = "write the file with `gcloud compute instances list --format=json`"
SUBNETWORK = "compute#subnetwork"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceInterface:
    """A network interface of an instance."""

    ip: Annotated[Address | None, OMITTED, Key("networkIP")] = None
    ipv6: Annotated[Address | None, OMITTED, Key("ipv6Address")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeInstance:
    """An instance; `zone` is a URL that ends with the name of the zone."""

    name: NameText
    zone: NameText
    interfaces: Annotated[tuple[InstanceInterface, ...], Key("networkInterfaces")]
    created: Annotated[Instant | None, OMITTED, Key("creationTimestamp")] = None


_GCP = open_codec(InstanceInterface, ComputeInstance)


def parse_gcp_instances(data: bytes, *, where: str) -> list[CloudMachine]:
    """The instances of a listing. Raises `InvalidAddresses`, also for a listing of subnets."""
    root = listing_root(data, where=where, hint=HINT)
    if isinstance(root.value, list):
        kinds = [item.get("kind") for item in root.value if isinstance(item, dict)]
        if SUBNETWORK in kinds:
            raise not_that(root, "instances", "subnets, which have a region but no zone")
    wanted = "a list of instances"
    found = items_of(root, _GCP, ComputeInstance, mark="networkInterfaces", wanted=wanted)
    return [
        CloudMachine(
            name=each.name,
            zone=each.zone.rpartition("/")[2],
            addresses=tuple(
                address
                for interface in each.interfaces
                for text in (interface.ip, interface.ipv6)
                if text and (address := canonical_address(text))
            ),
            created=None if each.created is None else instant(each.created),
        )
        for each in found
    ]
