"""What was put into flow files, added up while they are made, exactly.

Bytes are summed per cell. A cell is all that can matter to a bill: day, cluster, kind, topic, the
two brokers of a replicate flow, client group, and the racks of sender and receiver; -1 where the
flow does not say or has none. Rows and bytes are also outcome_totals per day and fate.

```
day    cluster kind topic broker peer group from to   bytes
20778  0       0    -1    -1     -1   -1    0    2    5033164         produce, /eu/a -> /eu/c
20778  0       2    -1    17     4    -1    2    0    918273          replicate, from 17 to 4
```

What this does not do: read any of it back from a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

CELL = ("day", "cluster", "kind", "topic", "broker", "peer", "group", "from_rack", "to_rack")
"""Columns of `Tally.cells`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """`cells`: int64 [cells, 9], each once and in rising order; `bytes`: int64 [cells].

    `fates`: (day, fate) -> rows, bytes.
    """

    cells: NDArray[np.int64]
    bytes: NDArray[np.int64]
    fates: Mapping[tuple[int, str], tuple[int, int]]


def tallied(
    cells: Mapping[str, NDArray[np.int64]],
    bytes_: NDArray[np.int64],
    fates: Mapping[tuple[int, str], tuple[int, int]],
) -> Tally:
    """A tally of rows; `cells`: name of `CELL` -> its column; one that is left out is all -1."""
    rows = np.full((len(bytes_), len(CELL)), -1, dtype=np.int64)
    for place, name in enumerate(CELL):
        if name in cells:
            rows[:, place] = cells[name]
    return _grouped(rows, bytes_, fates)


def summed(tallies: Iterable[Tally]) -> Tally:
    """One tally of all."""
    parts = list(tallies)
    fates: dict[tuple[int, str], tuple[int, int]] = {}
    for part in parts:
        for key, (rows, bytes_) in part.fates.items():
            before = fates.get(key, (0, 0))
            fates[key] = (before[0] + rows, before[1] + bytes_)
    nothing = np.zeros((0, len(CELL)), dtype=np.int64)
    return _grouped(
        np.concatenate([nothing, *(part.cells for part in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *(part.bytes for part in parts)]),
        dict(sorted(fates.items())),
    )


def outcome_totals(
    day: int, fate: NDArray[np.int64], bytes_: NDArray[np.int64], names: Sequence[str]
) -> dict[tuple[int, str], tuple[int, int]]:
    """(day, fate) -> rows, bytes.

    `fate`: each row's code into `names`, which may repeat; `bytes_`: 0 where not known.
    """
    rows = np.bincount(fate, minlength=len(names))
    sums = np.zeros(len(names), dtype=np.int64)
    np.add.at(sums, fate, bytes_)
    found: dict[tuple[int, str], tuple[int, int]] = {}
    for code, name in enumerate(names):
        if rows[code]:
            before = found.get((day, name), (0, 0))
            found[day, name] = (before[0] + int(rows[code]), before[1] + int(sums[code]))
    return found


def _grouped(
    rows: NDArray[np.int64],
    bytes_: NDArray[np.int64],
    fates: Mapping[tuple[int, str], tuple[int, int]],
) -> Tally:
    order = np.lexsort(rows.T[::-1])
    rows, bytes_ = rows[order], bytes_[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(bytes_, starts) if len(starts) else bytes_
    return Tally(cells=rows[starts], bytes=sums, fates=fates)
