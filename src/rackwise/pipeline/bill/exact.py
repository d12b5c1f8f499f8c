"""Exact integers in numpy: dollars of bytes, and shares of bytes by weights.

`core.traffic.usd_nano` and `core.traffic.apportion` are the definitions. Here the same numbers are
computed for arrays. A product that may not fit into 63 bits is computed in Python, row by row.

Dollars. With `bytes = q * gb + r`, the product is split, and both parts fit almost always:

```
usd_nano = q * price + (2 * r * price + gb) div (2 * gb)         r < gb
```

Shares. The quotient `bytes * weight div whole` is estimated in floating point, which is wrong by at
most 2 where `bytes < 2^51`. The remainder `bytes * weight - quotient * whole` wraps at 64 bits, but
its true value is within 3 * whole, which fits where `whole < 2^60`. So the wrapped value is right,
and it tells by how much the quotient is wrong:

```
bytes 10, weight 10^15, whole 3 * 10^15    quotient 3, remainder 10^15
```

All arrays have shape (n,) and dtype int64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import InvalidPrices
from rackwise.core.traffic import NANO, usd_nano

if TYPE_CHECKING:
    from numpy.typing import NDArray

FITS = 2.0**62
"""Products below this, estimated in floating point, fit into a long."""
MOST_BYTES = 2**51
"""Bytes below this are divided in numpy."""
MOST_WHOLE = 2**60
"""Sums of weights below this divide in numpy."""
MOST_NANO = 10**18 - 1
"""The highest amount of a row, in nano-dollars: `schemas.USD` has 18 digits."""
ABSURD = "look for rows with absurd sizes, and for prices that are not per GB"
"""The hint for an amount that is higher."""


def usd_nanos(
    bytes_: NDArray[np.int64], price: NDArray[np.int64], gb_bytes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """`core.traffic.usd_nano` of each row; `price`: nano-dollars per `gb_bytes` bytes.

    Raises `InvalidPrices` if an amount is a billion dollars or more.

    >>> usd_nanos(*(np.array(each) for each in ([26, 27], [20_000_000] * 2, [2**30] * 2)))
    array([0, 1])
    """
    whole, rest = np.divmod(bytes_, gb_bytes)
    prices = price.astype(np.float64)
    fits = (whole * prices < FITS) & (2.0 * rest * prices + gb_bytes < FITS)
    found = whole * price + (2 * rest * price + gb_bytes) // (2 * gb_bytes)
    for row in np.flatnonzero(~fits).tolist():
        amount = usd_nano(int(bytes_[row]), int(price[row]), int(gb_bytes[row]))
        found[row] = min(amount, MOST_NANO + 1)
    check_amounts(found, bytes_)
    return found


def check_amounts(nanos: NDArray[np.int64], bytes_: NDArray[np.int64]) -> None:
    """Raise `InvalidPrices` if an amount of some bytes is a billion dollars or more."""
    if nanos.max(initial=0) > MOST_NANO:
        had = int(bytes_[nanos.argmax()])
        most = (MOST_NANO + 1) // NANO
        raise InvalidPrices(
            f"expected less than {most} dollars for the bytes of one row, got more for {had} bytes",
            wanted=most,
            had=had,
            hint=ABSURD,
        )


def are_divisible(bytes_: NDArray[np.int64], whole: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether `divided` can divide these bytes by these sums of weights."""
    return (bytes_ < MOST_BYTES) & (whole < MOST_WHOLE)


def divided(
    bytes_: NDArray[np.int64], weight: NDArray[np.int64], whole: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Quotient and remainder of `bytes * weight` by `whole`, where `are_divisible`.

    `weight` is at most `whole`, and `whole` is above 0.
    """
    quotient = (bytes_.astype(np.float64) * weight / whole).astype(np.int64)
    remainder = bytes_ * weight - quotient * whole
    for _ in range(2):
        is_low, is_high = remainder < 0, remainder >= whole
        quotient += is_high.astype(np.int64) - is_low
        remainder += np.where(is_low, whole, 0) - np.where(is_high, whole, 0)
    return quotient, remainder
