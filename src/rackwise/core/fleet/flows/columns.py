"""The columns of a flow file: texts as codes into words, and numbers, both with missing values.

```
FlowTextColumn     codes [0 1 0 -1], words ("a", "b")          a b a missing
FlowNumberColumn   values [9092 443 0], is_missing [no no yes]   9092 443 missing
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
class FlowTextColumn:
    """A column of texts."""

    codes: NDArray[np.int32]
    """Index into `words`, [rows]; -1 = missing."""
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, slots=True)
class FlowNumberColumn:
    """A column of numbers."""

    values: NDArray[np.int64]
    is_missing: NDArray[np.bool_]
    is_time: bool = False
    """Whether the values are epoch seconds."""

    def __len__(self) -> int:
        return len(self.values)


class LineEdit(StrEnum):
    """How one line of a text file is made malformed."""

    FIELD = "a field has another text"
    CUT = "the line ends before a field"
    MORE = "the line has one more field"
    HEADER = "the line is a second header"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoiledLine:
    """A malformed line that only a text file can hold: the edit, its column and text."""

    row: int
    edit: LineEdit
    column: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedFile:
    """One generated flow file."""

    name: str
    """Without suffix."""
    columns: Mapping[str, FlowTextColumn | FlowNumberColumn]
    """In the order of the file."""
    spoiled: tuple[SpoiledLine, ...] = field(default=())
    """Malformed lines; empty unless the file is text."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def number_column(
    values: NDArray[np.int64] | NDArray[np.int32],
    is_missing: NDArray[np.bool_] | None = None,
    *,
    is_time: bool = False,
) -> FlowNumberColumn:
    """A column of numbers; without `is_missing` no value is missing."""
    if is_missing is None:
        is_missing = np.zeros(len(values), dtype=bool)
    return FlowNumberColumn(values.astype(np.int64), is_missing, is_time)


def text_column(
    codes: NDArray[np.int64] | NDArray[np.int32],
    texts: tuple[str, ...],
    is_missing: NDArray[np.bool_] | None = None,
) -> FlowTextColumn:
    """A column of texts; values with code -1 or in `is_missing` are missing."""
    coded = codes.astype(np.int32)
    return FlowTextColumn(
        coded if is_missing is None else np.where(is_missing, np.int32(MISSING), coded), texts
    )


def constant_column(text: str, rows: int) -> FlowTextColumn:
    """The same text in every row."""
    return FlowTextColumn(np.zeros(rows, dtype=np.int32), (text,))
