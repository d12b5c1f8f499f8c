"""Laws of splits of bytes over racks; none imports what it judges.

Each raises AssertionError and names the law.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.partitioner.split.rates import RackRates
    from rackwise.core.partitioner.split.split import Split

FEW = 3
"""So many racks or fewer are held to one window, more of them to one and a half."""
CLOSE = 1e-9


def check_schedule(
    got: Mapping[str, int], shares: Mapping[str, float], *, sticky_bytes: int, is_even: bool
) -> None:
    """Each rack has its share of the bytes so far, within about one window."""
    total = sum(got.values())
    racks = sum(1 for share in shares.values() if share)
    windows = (1 if racks <= FEW else 1.5) if is_even else 3
    for rack, share in shares.items():
        off = abs(got[rack] - share * total)
        assert off <= windows * sticky_bytes * (1 + CLOSE), (
            f"law of the shares: {rack} is {off / sticky_bytes:.3f} windows off; {windows} may be"
        )


def check_split(split: Split, rates: RackRates, weights: Mapping[str, float], eps: float) -> None:
    """Rows add up to 1, no rack takes more than its bound, and loads follow from the rows."""
    racks = {*rates.free, *rates.pinned, *weights}
    assert set(split.shares) == {rack for rack, rate in rates.free.items() if rate}
    for client, row in split.shares.items():
        assert set(row) == racks, f"law of the rows: {client} does not name all racks"
        assert min(row.values()) >= 0, f"law of the rows: {client} has a negative share"
        off = abs(math.fsum(row.values()) - 1)
        assert off <= CLOSE, f"law of the rows: {client} is {off} off 1"
    total = math.fsum((*rates.free.values(), *rates.pinned.values()))
    free = math.fsum(rates.free.values())
    whole = math.fsum(weights.values())
    for rack in racks:
        pinned = rates.pinned.get(rack, 0)
        taken = math.fsum(rates.free[client] * row[rack] for client, row in split.shares.items())
        room = max(0.0, (1 + eps) * total * weights.get(rack, 0) / whole - pinned)
        if math.isnan(room):
            room = 0.0
        assert taken <= room + CLOSE * total, f"law of the bound: {rack} takes {taken} of {room}"
        off = abs(split.rack_load[rack] - pinned - taken)
        assert off <= CLOSE * total, f"law of the loads: {rack} is {off} off"
    off = abs(math.fsum(split.bytes_by_common_levels) - free)
    assert off <= CLOSE * total, f"law of the levels: {off} bytes_per_s are missing"
