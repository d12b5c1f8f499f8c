"""Rows of different lengths as two numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Rows of different lengths in two arrays; row i is `values[offsets[i]:offsets[i + 1]]`."""

    offsets: NDArray[np.int64]
    """[rows + 1]."""
    values: NDArray[np.int32]
    """[values], all rows one after the other."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """From a sequence of rows."""
        lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        values = np.fromiter(
            (v for row in rows for v in row), dtype=np.int32, count=int(offsets[-1])
        )
        return cls(offsets, values)

    @classmethod
    def empty(cls, rows: int) -> Ragged:
        """`rows` empty rows."""
        return cls(np.zeros(rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(
            self.values, other.values
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each row, int64 [rows]."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row number of each value, int64 [values]."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    @property
    def firsts(self) -> NDArray[np.int64]:
        """First value of each row, int64 [rows]; -1 for an empty row."""
        firsts = np.append(self.values, np.int32(-1))[self.offsets[:-1]].astype(np.int64)
        return np.where(self.lengths > 0, firsts, -1)

    def row(self, index: int) -> tuple[int, ...]:
        """One row as Python integers."""
        return tuple(self.values[self.offsets[index] : self.offsets[index + 1]].tolist())

    def keep(self, wanted: NDArray[np.bool_]) -> Ragged:
        """The same rows, with only the values that `wanted` marks; `wanted`: bool [values]."""
        kept = np.zeros(len(wanted) + 1, dtype=np.int64)
        np.cumsum(wanted, out=kept[1:])
        return Ragged(kept[self.offsets], self.values[wanted])

    def part(self, rows: slice) -> Ragged:
        """Neighbouring rows; the values are a view."""
        first, last, _ = rows.indices(len(self))
        offsets = self.offsets[first : last + 1]
        return Ragged(offsets - offsets[0], self.values[offsets[0] : offsets[-1]])

    def equal_rows(self, other: Ragged) -> NDArray[np.bool_]:
        """Whether each row equals the same row of `other`, in order: bool [rows]."""
        equal: NDArray[np.bool_] = self.lengths == other.lengths
        rows = np.flatnonzero(equal)
        is_alike = len(rows) == len(equal)
        left, right = (self, other) if is_alike else (self.take(rows), other.take(rows))
        equal[rows[left.rows[left.values != right.values]]] = False
        return equal

    def values_in(self, other: Ragged) -> NDArray[np.bool_]:
        """Whether each value occurs in the same row of `other`: bool [values]."""
        return other.has(self.rows, self.values)

    def has(
        self, rows: NDArray[np.int64], values: NDArray[np.signedinteger[Any]]
    ) -> NDArray[np.bool_]:
        """Whether each of these rows has the aligned value: bool [rows]."""
        found = np.zeros(len(rows), dtype=np.bool_)
        if not len(rows):
            return found
        first, lengths = self.offsets[:-1][rows], self.lengths[rows]
        shortest, longest = int(lengths.min()), int(lengths.max())
        # One place of all rows at a time: rows are short, and a search in sorted keys takes longer.
        for place in range(shortest):
            found |= self.values[first + place] == values
        for place in range(shortest, longest):
            some = np.flatnonzero(lengths > place)
            found[some] |= self.values[first[some] + place] == values[some]
        return found

    def replaced(self, rows: NDArray[np.int64], by: Ragged) -> Ragged:
        """All rows, with those of these numbers replaced by the rows of `by`, in their order."""
        both = Ragged(
            np.concatenate([self.offsets, self.offsets[-1] + by.offsets[1:]]),
            np.concatenate([self.values, by.values]),
        )
        order = np.arange(len(self))
        order[rows] = len(self) + np.arange(len(by))
        return both.take(order)

    def take(self, order: NDArray[np.int64]) -> Ragged:
        """The rows with these numbers, in this order."""
        lengths = self.lengths[order]
        offsets = np.zeros(len(order) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        starts = np.repeat(self.offsets[:-1][order] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[starts + np.arange(offsets[-1])])
