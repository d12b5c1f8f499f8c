"""The rule of KIP-36 by its text, one replica after the other: slow on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def naive_kip36(
    ring: Sequence[int],
    racks: Sequence[str],
    partitions: int,
    replication: int,
    *,
    start: int,
    first: int = 0,
) -> list[list[int]]:
    """Rows of broker ids; `ring` alternates by rack, `racks` holds the rack of each place on it."""
    brokers, names = len(ring), len(set(racks))
    shift = start
    rows = []
    for partition in range(first, first + partitions):
        if partition > 0 and partition % brokers == 0:
            shift += 1
        leader = (partition + start) % brokers
        row, used = [leader], {racks[leader]}
        step = shift * names
        while len(row) < replication:
            place = (leader + 1 + step % (brokers - 1)) % brokers
            step += 1
            if place in row or (racks[place] in used and len(used) < names):
                continue
            row.append(place)
            used.add(racks[place])
        rows.append([ring[place] for place in row])
    return rows
