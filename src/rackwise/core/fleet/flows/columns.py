"""Columns of a flow file, without a library of frames: codes into words, and numbers.

```
Words    codes [0 1 0 -1], words ("10.0.0.1", "10.0.0.2")   -> 10.0.0.1 10.0.0.2 10.0.0.1 missing
Numbers  values [9092 443 0], is_missing [no no yes]        -> 9092 443 missing
```
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

MISSING = -1


@dataclass(frozen=True, slots=True)
class Words:
    """A column of texts: int32 `codes` into `words`, -1 where there is none."""

    codes: NDArray[np.int32]
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of int64 `values`; those of `is_missing` are none. `is_time`: epoch seconds."""

    values: NDArray[np.int64]
    is_missing: NDArray[np.bool_]
    is_time: bool = False

    def __len__(self) -> int:
        return len(self.values)


class Edit(StrEnum):
    """What happens to one line of a text file."""

    FIELD = "the field of a column holds another text"
    CUT = "the line ends before a column"
    MORE = "a field more"
    HEADER = "the header stands there once more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoiled:
    """A row that only a text file can spoil: the edit, its column and text."""

    row: int
    edit: Edit
    column: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFile:
    """One file of flows: `name` without suffix, columns in order, and what a text does worse."""

    name: str
    columns: Mapping[str, Words | Numbers]
    spoiled: tuple[Spoiled, ...] = field(default=())

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def numbers(
    values: NDArray[np.int64] | NDArray[np.int32],
    is_missing: NDArray[np.bool_] | None = None,
    *,
    is_time: bool = False,
) -> Numbers:
    """A column of numbers, none missing unless said."""
    if is_missing is None:
        is_missing = np.zeros(len(values), dtype=bool)
    return Numbers(values.astype(np.int64), is_missing, is_time)


def words(
    codes: NDArray[np.int64] | NDArray[np.int32],
    texts: tuple[str, ...],
    is_missing: NDArray[np.bool_] | None = None,
) -> Words:
    """A column of texts, none missing unless said or coded -1."""
    coded = codes.astype(np.int32)
    return Words(
        coded if is_missing is None else np.where(is_missing, np.int32(MISSING), coded), texts
    )


def constant(text: str, rows: int) -> Words:
    """The same text in every row."""
    return Words(np.zeros(rows, dtype=np.int32), (text,))
