"""Subnet tables: reads the file; `core.subnets` parses and checks its rows.

What this does not do: look an address up; ask DNS or a cloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.csv import decoded
from rackwise.core.errors import InvalidSubnets
from rackwise.core.json.faults import Faults
from rackwise.core.subnets import Subnet, length_classes, parse_subnets

if TYPE_CHECKING:
    from pathlib import Path


def read_subnets(path: str | Path, *, max_bytes: int = MAX_BYTES) -> tuple[Subnet, ...]:
    """The subnets of a table (`cidr,rack`, or `rack@cidr<>rack@cidr`), in the file's order.

    Raises `InvalidConfig` if the path is no readable regular file, `InvalidSubnets` for what is
    no network, what is no rack, and one network in two racks, naming both lines.
    """
    data = read_bytes(path, error=InvalidSubnets, max_bytes=max_bytes)
    subnets = parse_subnets(decoded(data, Faults(str(path), InvalidSubnets)), where=str(path))
    length_classes(subnets)
    return subnets
