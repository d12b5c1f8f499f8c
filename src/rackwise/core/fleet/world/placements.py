"""Places the replicas of a generated cluster: six shapes, each by a recipe of a few lines.

Goals, in order: the recipe gives the same placement in every language; there is one shape for each
typical state of a cluster; no code is shared with the algorithms that place replicas, so that the
placements can test those algorithms and their checks.

Brokers are 0..brokers-1, rack k holds `list(k)` in rising order, K racks, r replicas. All draws
come from one linear congruential generator (64 bit, state 1):

```
state = state * 6364136223846793005 + 1442695040888963407;  draw(n) = (state >> 33) mod n

random   draw(brokers) until r distinct ones are found; racks are ignored
even     replica j of p: rack k = (p + j) mod K of size m,
         index (p div K + j * (1 + p div (K * m))) mod m
         from the second round over the racks on, the broker next to that of the round before
lost     as even, and broker 0 is dead
grown    as even over the racks without their last brokers, which are empty and new
messy    one in five ignores racks, the others start at a random rack; low ids are preferred
uneven   as even over racks of unequal size: rack k has brokers in proportion to K - k

3 racks of 2: 0 3 | 1 4 | 2 5         p=0: 0 4 2     p=1: 1 5 0     p=2: 2 3 1     p=3: 3 1 5
```

What this does not do: choose leaders, sizes or names; see `clusters`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

MULTIPLIER = 6364136223846793005
INCREMENT = 1442695040888963407
WORD = 2**64
BLIND_ONE_IN = 5
"""In the messy shape one partition in this many is placed without regard to racks."""


class Shape(StrEnum):
    """The state of a generated cluster."""

    EVEN = "even"
    RANDOM = "random"
    MESSY = "messy"
    GROWN = "grown"
    LOST = "lost"
    UNEVEN = "uneven"


def racks_of(shape: Shape, brokers: int, racks: int) -> NDArray[np.int64]:
    """Rack index of each broker: `broker mod racks`; for `uneven` in proportion to K, .. 2, 1."""
    if shape is not Shape.UNEVEN:
        return np.arange(brokers, dtype=np.int64) % racks
    seats = [rack for round_ in range(racks) for rack in range(racks - round_)]
    return np.sort(np.resize(np.array(seats, dtype=np.int64), brokers))


def place_replicas(
    shape: Shape, rack_of: NDArray[np.int64], partitions: int, replication: int
) -> NDArray[np.int32]:
    """Replica lists of the recipe, int32 [partitions, replication], preferred leader first.

    `rack_of`: rack index of each broker. `replication` is at most the number of brokers that may
    hold a replica, and each of the first `replication` racks in turn has a broker that may.
    """
    racks = int(rack_of.max()) + 1
    lists = [np.flatnonzero(rack_of == rack).astype(np.int64) for rack in range(racks)]
    if shape is Shape.RANDOM:
        return _random(len(rack_of), partitions, replication)
    if shape in {Shape.GROWN, Shape.MESSY}:
        lists = [ids[:-1] for ids in lists]
    if shape is Shape.MESSY:
        return _messy(lists, partitions, replication)
    return _striped(lists, partitions, replication)


def capacity(shape: Shape, rack_of: NDArray[np.int64], racks: int) -> int:
    """Largest replication the shape can place on these brokers of `racks` racks; may be 0."""
    sizes = np.bincount(rack_of, minlength=racks)
    if shape is Shape.RANDOM:
        return len(rack_of)
    if shape in {Shape.GROWN, Shape.MESSY}:
        sizes = sizes - 1
    return max(0, int(len(sizes) * sizes.min()))


def congruential(state: int = 1) -> Iterator[int]:
    """The 31-bit draws of the recipe, endless."""
    while True:
        state = (state * MULTIPLIER + INCREMENT) % WORD
        yield state >> 33


def _striped(
    lists: Sequence[NDArray[np.int64]], partitions: int, replication: int
) -> NDArray[np.int32]:
    racks = len(lists)
    sizes = np.array([len(ids) for ids in lists], dtype=np.int64)
    table = np.zeros((racks, sizes.max()), dtype=np.int64)
    for place, ids in enumerate(lists):
        table[place, : len(ids)] = ids
    partition = np.arange(partitions, dtype=np.int64)[:, None]
    position = np.arange(replication, dtype=np.int64)[None, :]
    rack = (partition + position) % racks
    size = sizes[rack]
    index = (partition // racks + position * (1 + partition // (racks * size))) % size
    for later in range(racks, replication):
        index[:, later] = (index[:, later - racks] + 1) % size[:, later]
    rows: NDArray[np.int32] = table[rack, index].astype(np.int32)
    return rows


def _random(brokers: int, partitions: int, replication: int) -> NDArray[np.int32]:
    draws = congruential()
    rows = np.zeros((partitions, replication), dtype=np.int32)
    for row in range(partitions):
        chosen: list[int] = []
        while len(chosen) < replication:
            broker = next(draws) % brokers
            if broker not in chosen:
                chosen.append(broker)
        rows[row] = chosen
    return rows


def _messy(
    lists: Sequence[NDArray[np.int64]], partitions: int, replication: int
) -> NDArray[np.int32]:
    draws = congruential()
    by_rack = [ids.tolist() for ids in lists]
    old = sorted(broker for ids in by_rack for broker in ids)
    rows = np.zeros((partitions, replication), dtype=np.int32)
    for row in range(partitions):
        is_blind = next(draws) % BLIND_ONE_IN == 0
        first = 0 if is_blind else next(draws) % len(by_rack)
        chosen: list[int] = []
        while len(chosen) < replication:
            ids = old if is_blind else by_rack[(first + len(chosen)) % len(by_rack)]
            broker = ids[min(next(draws) % len(ids), next(draws) % len(ids))]
            if broker not in chosen:
                chosen.append(broker)
        rows[row] = chosen
    return rows
