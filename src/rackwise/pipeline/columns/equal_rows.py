"""Finds rows with equal keys in numpy: the group of each row, in order of the first rows.

Goals, in order: exact for all numbers; no sort; no more memory than a few longs for each row.

A row has a slot, the leading bits of a hash of its keys. The first row of each slot stands for the
slot. Rows whose keys equal those of the first row of their slot form a group. The others, some
tenths of the rows at most, are searched again with another hash:

```
key     7  4  7  9  4         slot    2  0  2  2  0
first   0  1  0  0  1         9 is not 7: searched again           groups  0  1  0  2  1
```

The first row of a slot always finds itself, so each round has fewer rows.

What this does not do: add up (`groups`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.pipeline.columns.addresses import HASH_FACTOR, NUMBER_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SLOTS = 2
"""Minimum slots per row."""
LARGEST = 2**22
"""Maximum number of slots, 4 bytes each."""


def equal_rows(
    keys: Sequence[NDArray[np.integer]], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The group of each row, shape (n,), and the first row of each group, shape (groups,).

    `keys`: integers of any width, shape (count,) each; without keys, all rows are equal.

    >>> equal_rows([np.array([7, 4, 7, 9]), np.array([1, 1, 1, 1])], 4)
    (array([0, 1, 0, 2]), array([0, 1, 3]))
    """
    if not keys:
        return np.zeros(count, dtype=np.int64), np.arange(min(count, 1))
    firsts = _first_rows(keys)
    is_first = np.zeros(len(firsts), dtype=np.bool_)
    is_first[firsts] = True
    rows = np.flatnonzero(is_first)
    numbers = np.empty(len(firsts), dtype=np.int64)
    numbers[rows] = np.arange(len(rows))
    return numbers.take(firsts), rows


def _first_rows(keys: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
    """The first row that equals each row; shape (n,)."""
    count = len(keys[0])
    bits = max(1, min(SLOTS * count - 1, LARGEST - 1).bit_length())
    table = np.empty(1 << bits, dtype=np.int32)  # only slots that are written are read
    firsts, open_ = np.arange(count), np.arange(count)
    factor, columns = HASH_FACTOR, list(keys)  # rows without a first row, and their keys
    while len(open_):
        slots = _slots(columns, factor, bits)
        places = np.arange(len(open_), dtype=np.int32)
        table[slots[::-1]] = places[::-1]  # the first row of a slot is written last
        found = table.take(slots)
        is_same = columns[0].take(found) == columns[0]
        for column in columns[1:]:
            is_same &= column.take(found) == column
        if len(open_) == count and is_same.all():
            return found.astype(np.int64)
        firsts[open_] = open_.take(found)  # wrong for rows that stay open, until their round
        rest = np.flatnonzero(~is_same)
        open_, columns = open_.take(rest), [column.take(rest) for column in columns]
        factor = np.uint64(int(factor) * int(HASH_FACTOR) % (1 << NUMBER_BITS))
    return firsts


def _slots(keys: Sequence[NDArray[np.integer]], factor: np.uint64, bits: int) -> NDArray[np.int64]:
    found = keys[0].astype(np.int64, copy=False).view(np.uint64) * factor
    for key in keys[1:]:
        found ^= key.astype(np.int64, copy=False).view(np.uint64)
        found *= factor
    found >>= np.uint64(NUMBER_BITS - bits)
    return found.view(np.int64)
