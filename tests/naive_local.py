"""The most local reads of a small group, by trying every way to deal its partitions evenly."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def most_local(
    partitions_by_racks: Mapping[frozenset[str], int],
    members_by_rack: Mapping[str, int],
    rackless: int,
) -> int:
    """The even assignment with the most partitions on a member in one of their racks."""
    partitions = [racks for racks, count in partitions_by_racks.items() for _ in range(count)]
    members = [rack for rack, count in members_by_rack.items() for _ in range(count)]
    members += [""] * rackless
    if not members:
        return 0
    each, extra = divmod(len(partitions), len(members))

    @cache
    def most(place: int, loads: tuple[tuple[int, str], ...]) -> int:
        if place == len(partitions):
            return 0
        over = sum(load > each for load, _ in loads)
        found = []
        for number, (load, rack) in enumerate(loads):
            if load < each or (load == each and over < extra):
                grown = tuple(sorted((*loads[:number], (load + 1, rack), *loads[number + 1 :])))
                found.append((rack in partitions[place]) + most(place + 1, grown))
        return max(found)

    return most(0, tuple((0, rack) for rack in sorted(members)))
