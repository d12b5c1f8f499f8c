"""Racks of addresses: a subnet table in at most three length classes, found by equal integers.

`core.subnets` cuts the table into length classes. Each class is a lookup of `address >> shift`: one
index into a table or a binary search. The finest class with a result decides:

```
address                   class   key              buckets           found
167773441 (10.0.5.1)      /24     >> 8  = 655365   655365 -> 2       2 (/eu/b): the finest decides
                          /16     >> 16 = 2560     2560 -> 1         not asked
```

The key of an IPv6 address is the leading bits of its prefix. The code is 0 if no network contains
the address.

What this does not do: cut or validate the table; see `core.subnets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.subnets import length_classes
from rackwise.pipeline.columns.addresses import NONE, NumberLookup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.inventory.addresses import AddressRow
    from rackwise.core.subnets import LengthClass, Subnet

V4 = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """A subnet table that is ready for lookups."""

    classes: tuple[LengthClass, ...]
    """Finest first."""
    codes: Mapping[str, int]
    """Rack text -> code."""
    addresses: tuple[AddressRow, ...] = ()
    """Rows of an address table, which take precedence while they apply."""


def subnet_buckets(
    subnets: Sequence[Subnet],
    codes: Mapping[str, int] | None = None,
    addresses: Sequence[AddressRow] = (),
) -> Buckets:
    """Buckets of a subnet table; `codes`: rack text -> code; if None, dense from 1 in text order.

    `addresses`: rows of an address table, for `members.ClientRacks`.

    Raises `InvalidSubnets`, like `core.subnets.length_classes`.
    """
    if codes is None:
        racks = [*(row.rack for row in subnets), *(row.rack for row in addresses)]
        texts = sorted({rack.text for rack in racks})
        codes = {text: code for code, text in enumerate(texts, start=1)}
    return Buckets(classes=length_classes(subnets), codes=codes, addresses=tuple(addresses))


class RackLookup:
    """Rack codes of arrays of addresses that are numbers."""

    def __init__(self, buckets: Buckets) -> None:
        self._tables = [
            (one.version, one.shift, _bucket_codes(one, buckets.codes)) for one in buckets.classes
        ]

    def find(self, ip: NDArray[np.int64], prefix: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rack codes of addresses as `addresses.AddressReader` gives them; 0 = unknown."""
        racks = np.zeros(len(ip), dtype=np.int64)
        for version, shift, buckets in self._tables:
            is_open = (racks == 0) & ((ip >= 0) if version == V4 else (ip < NONE))
            if is_open.any():
                keys = ip >> shift if version == V4 else prefix >> shift << shift
                found = buckets.find(keys)
                np.copyto(racks, found, where=is_open & (found >= 0))
        return racks


def _bucket_codes(one: LengthClass, codes: Mapping[str, int]) -> NumberLookup:
    """Bucket key -> rack code. The key is the leading bits; of IPv6 all 64, zeros at the end."""
    keys = np.fromiter(one.buckets, dtype=np.uint64, count=len(one.buckets))
    if one.version != V4:
        keys <<= np.uint64(one.shift)
    racks = np.array([codes[rack.text] for rack in one.buckets.values()], dtype=np.int64)
    order = np.argsort(keys.view(np.int64))
    return NumberLookup(keys.view(np.int64)[order], racks[order])
