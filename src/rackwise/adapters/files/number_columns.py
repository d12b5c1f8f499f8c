"""Reads the integers of JSON rows as columns, without a Python number for each value.

The reverse of `text_columns`. Only digits, commas, colons and the `u` of `null` are kept. Between
two colons are then the integers of one key:

```
text      {"isr":[2,10],"leader":null},{"isr":[],"leader":3}
reduced   :2,10,:u,:,:3
counts    2 1 / 0 1            integers of each key in each row
values    2 10 UNKNOWN 3
```

Limits: this is no JSON reader. It reads `-5` as `5` and ignores the bytes that it deletes. So the
caller must format the columns again and compare the result with the text. No key may have a digit
or a `u` in its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.model import UNKNOWN, Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MOST_DIGITS = len(str(2**63 - 1))
_ZERO, _COLON, _NULL = b"0:u"
_BLOCK = 2**19
"""Bytes of reduced text that are read at once, so that they stay in the processor's cache."""
_DELETED = bytes(set(range(256)) - set(b"0123456789,:u"))


class KeyedIntegers(NamedTuple):
    """The integers of rows that have the same keys."""

    first: NDArray[np.int64]
    """Index of the first integer of each key, int64 [rows, keys]."""
    counts: NDArray[np.int64]
    """Number of integers of each key, int64 [rows, keys]."""
    values: NDArray[np.int64]
    """All integers in the order of the text; `UNKNOWN` for null."""

    def lists(self, key: int) -> Ragged:
        """The integers of a key, as int64."""
        lengths = self.counts[:, key]
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        at = np.repeat(self.first[:, key] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(offsets, self.values[at])

    def numbers(self, key: int) -> NDArray[np.int64] | None:
        """The integer of a key in each row; None if a row has not exactly one."""
        if (self.counts[:, key] != 1).any():
            return None
        return self.values[self.first[:, key]]


def keyed_integers(text: bytes, keys: int) -> KeyedIntegers | None:
    """The integers of rows with so many keys; None for a text that no such rows can have."""
    reduced = text.translate(None, _DELETED)
    if not reduced.startswith(b":"):
        return None
    counts: list[NDArray[np.int64]] = []
    values: list[NDArray[np.int64]] = []
    start = 0
    while start < len(reduced):
        end = reduced.find(b":", start + _BLOCK)
        end = end if end > 0 else len(reduced)
        block = _block(np.frombuffer(reduced, dtype=np.uint8, count=end - start, offset=start))
        if block is None:
            return None
        counts.append(block[0])
        values.append(block[1])
        start = end
    all_counts = np.concatenate(counts)
    if len(all_counts) % keys:
        return None
    first = np.cumsum(all_counts) - all_counts
    return KeyedIntegers(
        first.reshape(-1, keys), all_counts.reshape(-1, keys), np.concatenate(values)
    )


def _block(reduced: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The number of integers after each colon, and the integers; the text begins with a colon.

    None where an integer has more digits than 64 bits.
    """
    is_digit = (reduced >= _ZERO) & (reduced != _COLON)  # all but the comma, a null too
    is_start = is_digit.copy()
    is_start[1:] &= ~is_digit[:-1]
    is_end = is_digit.copy()
    is_end[:-1] &= ~is_digit[1:]
    starts = np.flatnonzero(is_start)
    lengths = np.flatnonzero(is_end) - starts + 1
    if lengths.max(initial=0) > _MOST_DIGITS:
        return None
    before = np.cumsum(is_start)[reduced == _COLON]
    return np.diff(before, append=len(starts)), _values(reduced, starts, lengths)


def _values(
    reduced: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The integer of each run of digits; one of more than 64 bits is another number."""
    values = reduced[starts].astype(np.int64) - _ZERO
    values[reduced[starts] == _NULL] = UNKNOWN
    longer = np.flatnonzero(lengths > 1)
    for place in range(1, int(lengths.max(initial=0))):
        longer = longer[lengths[longer] > place]
        values[longer] = values[longer] * 10 + reduced[starts[longer] + place] - _ZERO
    return values
