"""Columns of integers: codes of several columns together, lists of rows, exact shares.

Goals, in order: every result is exact; the work per row is done in numpy.

```
lists       row 0: x y    row 1: z        start 0 2    length 2 1
expanded    list  0 0 1   entry  0 1 2    one element per row and entry of its list
shares      totals 100 7, weights 1 1 | 1        50 50 | 7
```

Integers. A column of bytes or nano-dollars is int64 if no sum or product of it can reach 2^62, and
has Python's integers otherwise (`exact_dtype`). Both run the same code. Codes are never Python's.

Shares. `apportion_rows` is `core.traffic.apportion` for each row. A share is
`floor(total * weight / whole)`. With `total = q * whole + r` it is `q * weight` plus
`floor(r * weight / whole)`. The product `r * weight` fits into 63 bits if `whole` has at most 31.
Otherwise `whole` has at most 56 bits, and the quotient of floats is wrong by less than 64. So the
remainder is less than `64 * whole`, and int64 holds it although both of its terms overflow. It
corrects the quotient.

What this does not do: know what the columns mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    Codes: TypeAlias = NDArray[np.signedinteger[Any]]
    """int64 or int32."""
    Exact: TypeAlias = NDArray[Any]
    """int64, or Python's integers."""

LIMIT = 2**62
"""No sum or product of int64 columns reaches this."""
HALF = 32
"""The bits of half of an int64."""
SMALL = 2**31
"""The product of two remainders by a smaller number fits into 63 bits."""


def exact_dtype(most: int) -> type:
    """The type of columns whose sums and products are at most `most`.

    >>> exact_dtype(2**61).__name__, exact_dtype(2**62).__name__
    ('int64', 'object')
    """
    return np.int64 if most < LIMIT else object


def exact_sum(values: Exact) -> int:
    """The sum of a column, even if it does not fit into int64: that of halves of 32 bits."""
    high, low = int((values >> HALF).sum()), int((values & (2**HALF - 1)).sum())
    return (high << HALF) + low


def packed(columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """One code for each row of the columns; codes have the order of the rows.

    `sizes`: each column has values from 0 to its size - 1.
    """
    code, size = columns[0].astype(np.int64), sizes[0]
    for column, more in zip(columns[1:], sizes[1:], strict=True):
        if size * more >= LIMIT:
            known, code = np.unique(code, return_inverse=True)
            size = len(known)
        code = code * more + column
        size *= more
    return code


def run_starts(codes: Codes) -> Codes:
    """The first row of each run of equal codes."""
    is_first = np.ones(len(codes), dtype=np.bool_)
    is_first[1:] = codes[1:] != codes[:-1]
    return np.flatnonzero(is_first)


def run_sums(values: Exact, starts: Codes) -> Exact:
    """The sum of each run of rows; `starts`: the first row of each."""
    if not len(starts):
        return values[:0]
    sums: Exact = np.add.reduceat(values, starts)
    return sums


class Lists(NamedTuple):
    """A list of entries for each row: entries `start` to `start + length - 1` of other columns."""

    start: Codes
    length: Codes

    @classmethod
    def of(cls, lengths: Sequence[int]) -> Lists:
        """Lists of these lengths, one after the other."""
        length = np.array(lengths, dtype=np.int64)
        return cls(np.cumsum(length) - length, length)

    def of_rows(self, rows: Codes) -> Lists:
        """The lists of some rows."""
        return Lists(self.start[rows], self.length[rows])

    def expanded(self) -> tuple[Codes, Codes]:
        """The row, and the entry, of each element of all lists; rows rise."""
        row = np.repeat(np.arange(len(self.length), dtype=np.int64), self.length)
        first = np.cumsum(self.length) - self.length
        return row, np.arange(len(row), dtype=np.int64) + (self.start - first)[row]


def apportion_rows(totals: Exact, lengths: Codes, weights: Codes) -> Exact:
    """The shares of each total, by weights that are given one list after the other.

    `lengths`: [rows], the weights of each total, at least one. A list of weights has a sum above 0.
    """
    if len(weights) == len(totals):
        return totals
    row = np.repeat(np.arange(len(totals), dtype=np.int64), lengths)
    first = np.cumsum(lengths) - lengths
    whole = np.add.reduceat(weights, first)
    share, rest = _divided_products(totals[row], weights, whole[row])
    left = (totals - np.add.reduceat(share, first)).astype(np.int64)
    chosen = np.flatnonzero(left[row] > 0)
    # The sort is stable: of equal remainders, the earlier one is first.
    order = chosen[np.lexsort((-rest[chosen], row[chosen]))]
    rows = row[order]
    starts = run_starts(rows)
    rank = np.arange(len(rows), dtype=np.int64)
    rank -= np.repeat(starts, np.diff(starts, append=len(rows)))
    share[order[rank < left[rows]]] += 1
    return share


def _divided_products(totals: Exact, weights: Codes, wholes: Codes) -> tuple[Exact, Codes]:
    """`totals * weights // wholes`, and the remainders."""
    if totals.dtype == object:
        products = totals * weights
        return products // wholes, (products % wholes).astype(np.int64)
    quotient, rest = np.divmod(totals, wholes)
    share = quotient * weights
    if wholes.max() < SMALL:
        more, rest = np.divmod(rest * weights, wholes)
        return share + more, rest
    guess = (rest.astype(np.float64) * weights / wholes).astype(np.int64)
    correction, rest = np.divmod(rest * weights - guess * wholes, wholes)
    return share + guess + correction, rest
