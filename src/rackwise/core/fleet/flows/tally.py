"""Exact sums of the generated flows, computed while the files are generated.

Bytes are summed per cell. A cell has everything that can affect a bill: day, cluster, kind, topic,
the two brokers of a replicate flow, client group, and the racks of sender and receiver; -1 if the
flow has none. Rows and bytes are also summed per day and outcome.

```
day    cluster kind topic broker peer group from to   bytes
20778  0       0    -1    -1     -1   -1    0    2    5033164         produce, /eu/a -> /eu/c
20778  0       2    -1    17     4    -1    2    0    918273          replicate, from 17 to 4
```

What this does not do: read files.
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
    """Sums of the rows of some files."""

    cells: NDArray[np.int64]
    """[cells, 9], distinct and in rising order; columns as in `CELL`."""
    bytes: NDArray[np.int64]
    """[cells]."""
    outcomes: Mapping[tuple[int, str], tuple[int, int]]
    """(day, outcome) -> rows, bytes."""


def tally_rows(
    cells: Mapping[str, NDArray[np.int64]],
    bytes_: NDArray[np.int64],
    outcomes: Mapping[tuple[int, str], tuple[int, int]],
) -> Tally:
    """A tally of rows; `cells`: name in `CELL` -> column; a missing column is all -1."""
    rows = np.full((len(bytes_), len(CELL)), -1, dtype=np.int64)
    for place, name in enumerate(CELL):
        if name in cells:
            rows[:, place] = cells[name]
    return _group_cells(rows, bytes_, outcomes)


def add_tallies(tallies: Iterable[Tally]) -> Tally:
    """The sum of some tallies."""
    parts = list(tallies)
    outcomes: dict[tuple[int, str], tuple[int, int]] = {}
    for part in parts:
        for key, (rows, bytes_) in part.outcomes.items():
            before = outcomes.get(key, (0, 0))
            outcomes[key] = (before[0] + rows, before[1] + bytes_)
    nothing = np.zeros((0, len(CELL)), dtype=np.int64)
    return _group_cells(
        np.concatenate([nothing, *(part.cells for part in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *(part.bytes for part in parts)]),
        dict(sorted(outcomes.items())),
    )


def outcome_totals(
    day: int, outcome: NDArray[np.int64], bytes_: NDArray[np.int64], names: Sequence[str]
) -> dict[tuple[int, str], tuple[int, int]]:
    """(day, outcome) -> rows, bytes.

    `outcome`: index into `names` for each row; `names` may repeat; `bytes_`: 0 = not known.
    """
    rows = np.bincount(outcome, minlength=len(names))
    sums = np.zeros(len(names), dtype=np.int64)
    np.add.at(sums, outcome, bytes_)
    found: dict[tuple[int, str], tuple[int, int]] = {}
    for code, name in enumerate(names):
        if rows[code]:
            before = found.get((day, name), (0, 0))
            found[day, name] = (before[0] + int(rows[code]), before[1] + int(sums[code]))
    return found


def _group_cells(
    rows: NDArray[np.int64],
    bytes_: NDArray[np.int64],
    outcomes: Mapping[tuple[int, str], tuple[int, int]],
) -> Tally:
    """The tally with equal cells merged; `rows`: [rows, 9]."""
    order = np.lexsort(rows.T[::-1])
    rows, bytes_ = rows[order], bytes_[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(bytes_, starts) if len(starts) else bytes_
    return Tally(cells=rows[starts], bytes=sums, outcomes=outcomes)
