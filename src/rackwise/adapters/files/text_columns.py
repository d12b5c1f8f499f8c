"""Rows of canonical JSON from columns, a million without a Python text for each value.

Each part of a row is a matrix of bytes, one row each, filled up with zero bytes. No JSON text has a
zero byte, so the text of all rows is the joined matrix without them:

```
"leader":    3 , "replicas": [ 1 , 2 0 ] LF      cells of rows 0 and 1; space stands for a zero byte
"leader":  1 0 , "replicas": [ 1 0     ] LF
             |                 |
        number_cells       list_cells
```

Rows are joined in blocks, so that a block stays in the processor's cache.

Limits: this module does not know the fields of a format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rackwise.core.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged

_NULL = np.frombuffer(b"null", dtype=np.uint8)
_BLOCK_BYTES = 2**21
_COMMA, _OPEN, _CLOSE, _MINUS = b",[]-"


def number_cells(values: NDArray[np.signedinteger[Any]]) -> NDArray[np.uint8]:
    """Integers in decimal, uint8 [rows, width]; `UNKNOWN` is `null`."""
    rest = np.abs(values.astype(np.int64)).view(np.uint64)  # also right for the least of 64 bits
    most = int(rest.max(initial=0))
    width = max(len(str(most)), 4)
    rest = rest.astype(np.min_scalar_type(most))  # narrow numbers are divided faster
    cells = np.zeros((len(rest), width + 1), dtype=np.uint8)
    for column in range(width, 0, -1):
        higher = rest // 10
        digit = (rest - higher * 10 + ord("0")).astype(np.uint8)
        if column < width:
            digit[rest == 0] = 0
        cells[:, column] = digit
        rest = higher
    cells[values < 0, 0] = _MINUS
    unknown = values == UNKNOWN
    if unknown.any():
        cells[unknown] = 0
        cells[unknown, -4:] = _NULL
    return cells


def list_cells(lists: Ragged) -> NDArray[np.uint8]:
    """Lists of integers, `[1,2]`, uint8 [rows, width]."""
    lengths = lists.lengths
    numbers = number_cells(lists.values)
    size = numbers.shape[1]
    longest = int(lengths.max(initial=0))
    cells = np.zeros((len(lists), longest * size + 2), dtype=np.uint8)
    cells[:, 0] = _OPEN
    cells[:, -1] = _CLOSE
    if not longest:
        return cells
    if (lengths == longest).all():
        slots = numbers.reshape(len(lists), longest, size)
        slots[:, 0, 0] = 0
        slots[:, 1:, 0] = _COMMA
        cells[:, 1:-1] = slots.reshape(len(lists), -1)
        return cells
    slots = cells[:, 1:-1].reshape(len(lists), longest, size)
    first = lists.offsets[:-1]
    place = np.arange(len(lists.values)) - np.repeat(first, lengths)
    # No list of a plan or a snapshot has a negative number, so the place of the sign is free.
    numbers[:, 0] = np.where(place > 0, _COMMA, 0)
    filled = np.zeros((len(lists), longest, size), dtype=np.uint8)
    filled[np.repeat(np.arange(len(lists)), lengths), place] = numbers
    slots[...] = filled
    return cells


def text_table(texts: Sequence[str | bytes]) -> NDArray[np.uint8]:
    """These texts, uint8 [texts, width]: its rows at the index of each row's text are the cells."""
    data = [text.encode() if isinstance(text, str) else text for text in texts]
    width = max(map(len, data), default=0)
    table = np.frombuffer(b"".join(each.ljust(width, b"\0") for each in data), dtype=np.uint8)
    return table.reshape(len(data), width)


def joined_rows(parts: Sequence[bytes | NDArray[np.uint8]], rows: int) -> bytes:
    """The text of all rows; a part is a constant or the cells of each row."""
    width = sum(len(part) if isinstance(part, bytes) else part.shape[1] for part in parts)
    size = max(_BLOCK_BYTES // max(width, 1), 1)
    return b"".join(_blocks(parts, rows, min(size, rows), width))


def _blocks(
    parts: Sequence[bytes | NDArray[np.uint8]], rows: int, size: int, width: int
) -> Iterator[bytes]:
    block = np.empty((size, width), dtype=np.uint8)
    for start in range(0, rows, max(size, 1)):
        count = min(size, rows - start)
        column = 0
        for part in parts:
            if isinstance(part, bytes):
                end = column + len(part)
                block[:, column:end] = np.frombuffer(part, dtype=np.uint8)
            else:
                end = column + part.shape[1]
                block[:count, column:end] = part[start : start + count]
            column = end
        yield block[:count].tobytes().translate(None, b"\0")
