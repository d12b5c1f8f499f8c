"""Racks of single addresses that change with time, for arrays of flows.

An address table says from when to when an address has a rack. A flow has a window, and the row that
applies at its start decides. If no row applies then, the first row that begins within the window
decides: a flow log adds up several minutes, and a new pod begins in the middle of them.

```
rows of 10.1.0.7     a: 09:00 .. 11:30     b: 11:40 ..

window  09:10 .. 09:20   a         11:29 .. 11:39   a, also for the bytes of the last 9 minutes
        11:32 .. 11:39   none      11:35 .. 11:45   b        08:00 .. 08:10   none
```

Times count in whole seconds, and a row that ends in the second of its start never applies. Rows of
one rack that touch or overlap are one span.

What this does not do: split the bytes of a flow whose window has two racks; read the table.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

import numpy as np

from rackwise.pipeline.columns.addresses import NumberLookup, address_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from numpy.typing import NDArray

    from rackwise.core.inventory.addresses import AddressRow

TIME_BITS = 36
"""Bits of a second since 1970 in a key of (address, second)."""
LAST_S = 2**TIME_BITS - 1


class AddressTimes:
    """Finds the rack of an address in a window of time."""

    def __init__(self, rows: Iterable[AddressRow], codes: Mapping[str, int]) -> None:
        """`codes`: rack text -> code."""
        spans = _spans(rows, codes)
        numbers = {text: address_number(text)[0] for text, *_ in spans}
        distinct = np.unique(np.array(list(numbers.values()), dtype=np.int64))
        self._addresses = NumberLookup(distinct, np.arange(len(distinct)))
        places = np.searchsorted(distinct, [numbers[text] for text, *_ in spans])
        columns = np.array([span[1:] for span in spans], dtype=np.int64).reshape(-1, 3).T
        order = np.lexsort((columns[0], places))
        self._places = places[order].astype(np.int64)
        self._begins, self._ends, self._racks = columns[:, order]

    def __len__(self) -> int:
        return len(self._racks)

    def find(
        self, ip: NDArray[np.int64], start_s: NDArray[np.int64], end_s: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Rack codes, 0 where no row applies; shape (n,) each.

        `ip`: as `addresses.AddressReader` gives it; `start_s`, `end_s`: seconds since 1970.
        """
        racks = np.zeros(len(ip), dtype=np.int64)
        codes = self._addresses.find(ip) if len(self) else np.full(len(ip), -1)
        rows = np.flatnonzero(codes >= 0)
        if not len(rows):
            return racks
        codes, start, end = codes[rows], np.clip(start_s[rows], 0, LAST_S), end_s[rows]
        keys = self._places << TIME_BITS | self._begins
        following = np.searchsorted(keys, codes << TIME_BITS | start, side="right")
        last = np.maximum(following - 1, 0)
        applies = (following > 0) & (self._places[last] == codes) & (start < self._ends[last])
        later = np.minimum(following, len(self) - 1)
        begins = (following < len(self)) & (self._places[later] == codes)
        begins &= self._begins[later] < end
        found = np.where(begins, self._racks[later], 0)
        racks[rows] = np.where(applies, self._racks[last], found)
        return racks


def _spans(rows: Iterable[AddressRow], codes: Mapping[str, int]) -> list[tuple[str, int, int, int]]:
    """Address, begin, end and rack code of each span, in order of address and begin."""
    every = sorted(
        (int(ip_address(row.address)), row.address, begin, end, row.rack.text)
        for row in rows
        if (begin := _second(row.start, 0)) < (end := _second(row.end, LAST_S))
    )
    spans: list[tuple[str, int, int, int]] = []
    for _, address, begin, end, rack in every:
        code = codes[rack]
        if spans:
            last_address, last_begin, last_end, last_code = spans[-1]
            if (last_address, last_code) == (address, code) and begin <= last_end:
                spans[-1] = (address, last_begin, max(last_end, end), code)
                continue
        spans.append((address, begin, end, code))
    return spans


def _second(at: datetime | None, unknown: int) -> int:
    return unknown if at is None else min(max(int(at.timestamp()), 0), LAST_S)
