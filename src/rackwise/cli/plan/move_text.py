"""The moves of a plan as text, one aligned line per move, without a Python text for each move.

```
~ orders-4   1,2,4 -> 1,3,4   spread-even   12.4 GiB, 12.4 GiB cross
  topic and  lists before     reasons       bytes to copy, and how many of them
  partition  and after                      cross racks
```

Algorithm. Each column becomes cells of bytes, as in `adapters.files.text_columns`, and the number
of characters in each row. A gap of spaces fills each row up to the widest one. Columns with few
distinct texts format each text once. Sizes have few distinct texts, too: `_size_codes` numbers
sizes so that equal numbers mean equal texts, and one size of each number is formatted.

Limits: a column is as wide as its widest row; nothing is cut off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rackwise.adapters.files.text_columns import joined_rows, list_cells, number_cells, text_cells
from rackwise.cli.tables import UNITS, size_text
from rackwise.core.planning.outcome.move_columns import columns_of
from rackwise.core.text import escaped
from rackwise.core.view import distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.model import Move
    from rackwise.core.planning.outcome.move_columns import CodedValues, MoveColumns

_GAP = b"  "
"""Between two columns."""
_NOTHING, _UNKNOWN = "nothing to copy", "size unknown"
_FRACTION_BITS = 50
"""Bits of a size below the largest unit, a PiB."""


class _Column(NamedTuple):
    """One column of text."""

    parts: list[bytes | NDArray[np.uint8]]
    """Constants, and cells of each row, as `joined_rows` takes them."""
    widths: NDArray[np.int64]
    """Characters in each row, int64 [rows]."""

    def padded(self) -> list[bytes | NDArray[np.uint8]]:
        """The parts, with spaces up to the widest row."""
        gaps = self.widths.max() - self.widths
        return [*self.parts, text_cells([" " * gap for gap in range(int(gaps.max()) + 1)], gaps)]


def moves_text(moves: Sequence[Move], *, has_color: bool) -> str:
    """Format each move on a line: `~ orders-4  1,2,4 -> 1,3,4  spread-even  12.4 GiB`."""
    if not moves:
        return ""
    columns = columns_of(moves)
    topics = _texts(columns.names["topic"], escaped)
    reasons = _texts(columns.names["reasons"], _reasons_text)
    partition = number_cells(columns.numbers["partition"])
    name = _Column([*topics.parts, b"-", partition], topics.widths + _characters(partition))
    before, after = (_ids(columns.lists[key]) for key in ("before", "after"))
    lines: list[bytes | NDArray[np.uint8]] = [
        b"\x1b[33m~\x1b[0m " if has_color else b"~ ",
        *name.padded(),
        _GAP,
        *before.padded(),
        b" -> ",
        *after.padded(),
        _GAP,
        *reasons.padded(),
        _GAP,
        *_copied_cells(columns),
        b"\n",
    ]
    return joined_rows(lines, len(columns)).decode()


def _reasons_text(reasons: Sequence[str]) -> str:
    return " ".join(map(escaped, reasons)) or "-"


def _texts(column: CodedValues, format_: Callable[[Any], str]) -> _Column:
    """The text of each row's value."""
    texts = [*map(format_, column.values)]
    widths = np.array([*map(len, texts)], dtype=np.int64)
    return _Column([text_cells(texts, column.codes)], widths[column.codes])


def _ids(lists: Ragged) -> _Column:
    """Broker ids: `1,2,4`."""
    cells = list_cells(lists)[:, 1:-1]
    return _Column([cells], _characters(cells))


def _characters(cells: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Characters in each row of ASCII cells, int64 [rows]."""
    widths: NDArray[np.int64] = np.count_nonzero(cells, axis=1)
    return widths


def _copied_cells(columns: MoveColumns) -> list[NDArray[np.uint8]]:
    """`12.4 GiB, 12.4 GiB cross`. A move that changes only the order copies nothing."""
    size, cross = (columns.numbers[key] for key in ("bytes", "cross_bytes"))
    added = columns.added
    is_known = (added > 0) & (size >= 0)
    copied, code = _size_texts(size, added)
    code[~is_known] = len(copied)
    code[added == 0] = len(copied) + 1
    crossing, cross_code = _size_texts(cross, np.ones_like(added))
    cross_code[~is_known | (cross < 0)] = len(crossing)
    return [
        text_cells([*copied, _UNKNOWN, _NOTHING], code),
        text_cells([*(f", {text} cross" for text in crossing), ""], cross_code),
    ]


def _size_texts(
    size: NDArray[np.int64], times: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int64]]:
    """The texts of `size` x `times`, and the index of the text of each row."""
    code, examples = distinct([_size_codes(size.clip(min=0).astype(np.float64) * times)])
    # The products of Python integers cannot overflow.
    pairs = zip(size[examples].tolist(), times[examples].tolist(), strict=True)
    return [size_text(max(one, 0) * count) for one, count in pairs], code


def _size_codes(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """A number for each size, int64 [sizes]: sizes of one number have one text.

    It holds the unit, the whole units, the half tenths below them, and whether that is all: texts
    change only at a half tenth. All operations are exact.
    """
    power = ((np.frexp(sizes)[1] - 1) // 10).clip(0, len(UNITS) - 1).astype(np.int64)
    scaled = np.ldexp(sizes, -10 * power)
    whole = np.floor(scaled)
    halves = np.ldexp(scaled - whole, _FRACTION_BITS).astype(np.int64) * 20
    is_more = (halves & ((1 << _FRACTION_BITS) - 1)) > 0
    units = (power << 10) + whole.astype(np.int64)  # only the largest unit reaches 2^10
    codes: NDArray[np.int64] = (units * 20 + (halves >> _FRACTION_BITS)) * 2 + is_more
    return codes
