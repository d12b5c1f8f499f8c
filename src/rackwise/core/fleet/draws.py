"""Random draws that are the same on every machine and with every version of numpy.

A `Stream` is the raw 64-bit output of PCG64, seeded by a key of integers. numpy guarantees that
this output never changes, but not the output of `Generator.integers` and similar methods. All
arithmetic on top is integer arithmetic in this file. The two tables that need logarithms use
`decimal`, whose `ln` and `exp` are correctly rounded everywhere.

```
key (seed, stream, index) -> PCG64 raw 64 bits -> below(n): the upper 32 bits times n, shifted down
```
"""

from __future__ import annotations

from decimal import Context
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT = Context(prec=30)
"""Decimal arithmetic with 30 digits, far more than the 32 bits that are used of a result."""
SHARE_BITS = 32
"""Number of bits of a draw that shares and bounded integers use."""


class Stream:
    """An endless sequence of draws; equal keys (integers >= 0) give equal sequences."""

    def __init__(self, *key: int) -> None:
        self._bits = np.random.PCG64(key)

    def raw(self, count: int) -> NDArray[np.uint64]:
        """The next `count` draws of 64 bits."""
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64)

    def below(self, bounds: int | NDArray[np.int64], count: int | None = None) -> NDArray[np.int64]:
        """`count` integers in 0..bounds-1 (< 2^31), or one for each of an array of bounds."""
        rows = len(bounds) if isinstance(bounds, np.ndarray) else count or 0
        high = self.raw(rows) >> np.uint64(SHARE_BITS)
        scaled = high * np.asarray(bounds, dtype=np.uint64)
        return (scaled >> np.uint64(SHARE_BITS)).astype(np.int64)

    def hits(self, share: float, count: int) -> NDArray[np.bool_]:
        """`count` independent booleans, each true with probability `share`."""
        threshold = np.uint64(round(share * 2**SHARE_BITS))
        return (self.raw(count) >> np.uint64(SHARE_BITS)) < threshold

    def order(self, count: int) -> NDArray[np.int64]:
        """0..count-1 in a random order."""
        return np.argsort(self.raw(count), kind="stable").astype(np.int64)

    def sizes(self, low_bits: int, high_bits: int, count: int) -> NDArray[np.int64]:
        """`count` sizes of `low_bits`..`high_bits` binary digits, each number as likely."""
        digits = low_bits + self.below(high_bits - low_bits + 1, count)
        fraction = (self.raw(count) >> np.uint64(1)).astype(np.int64)
        return (np.int64(1) << (digits - 1)) + (fraction >> (64 - digits))


def pick(cumulative: NDArray[np.int64], draws: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the weight that each draw falls on; `cumulative`: running sums of the weights."""
    return np.searchsorted(cumulative, draws, side="right").astype(np.int64)


def zipf_weights(count: int, exponent_tenths: int = 11, scale: int = 2**24) -> NDArray[np.int64]:
    """Weight of ranks 1..count: `scale / rank^(exponent_tenths / 10)`, at least 1."""
    return np.array(_zipf(count, exponent_tenths, scale), dtype=np.int64)


@cache
def _zipf(count: int, exponent_tenths: int, scale: int) -> tuple[int, ...]:
    exponent = EXACT.divide(exponent_tenths, 10)
    return tuple(
        max(1, int(EXACT.multiply(scale, EXACT.exp(EXACT.multiply(-exponent, EXACT.ln(rank))))))
        for rank in range(1, count + 1)
    )


def log_uniform(largest: int, draws: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Sizes 1..largest, each size `n` with probability `ln((n + 1) / n) / ln(largest + 1)`."""
    shares = (draws >> np.uint64(SHARE_BITS)).astype(np.int64)
    return 1 + pick(np.array(_log_steps(largest), dtype=np.int64), shares)


@cache
def _log_steps(largest: int) -> tuple[int, ...]:
    """The end of each size's share of 0..2^32, without that of the last size."""
    whole = EXACT.ln(largest + 1)
    return tuple(
        int(EXACT.multiply(EXACT.divide(EXACT.ln(size + 1), whole), 2**SHARE_BITS))
        for size in range(1, largest)
    )
