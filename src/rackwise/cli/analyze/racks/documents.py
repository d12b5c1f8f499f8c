"""The documents of `rackwise racks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRowDocument:
    """The rack of an address during an interval."""

    address: str
    """The address, as text."""
    rack: str
    """Its rack."""
    owner: str | None
    """Workload or machine; null if several share the address."""
    start: str | None
    """The first moment, UTC; null if it is not known."""
    end: str | None
    """The first moment after the row, UTC; null if it has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressesDocument:
    """Racks of addresses, as `analyze --addresses` reads them from CSV."""

    format: Literal["rackwise.addresses/1"] = "rackwise.addresses/1"
    at: str
    """Time of the listing, UTC."""
    file: str | None
    """The file that was written; null if none was."""
    rows: tuple[AddressRowDocument, ...]
    """In order of address and start."""
    notes: tuple[str, ...]
    """What has no row, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetRowDocument:
    """The rack of a subnet."""

    cidr: str
    """The network."""
    rack: str
    """Its rack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetsDocument:
    """Racks of subnets, as `analyze --subnets` reads them from CSV."""

    format: Literal["rackwise.subnets/1"] = "rackwise.subnets/1"
    file: str | None
    """The file that was written; null if none was."""
    rows: tuple[SubnetRowDocument, ...]
    """In order of the networks."""
