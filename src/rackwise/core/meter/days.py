"""Divides bytes of a span of time between the days that it covers, in proportion to the time.

```
22:00 to 02:00, 101 bytes     day 1: 101 * 2 / 4 = 50     day 2: the rest, 51
```

The sum of the parts is always the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

DAY_S = 86_400


class DayPart(NamedTuple):
    """The part of a span that lies in one day."""

    start_s: int
    """Its start, in seconds since 1970, UTC."""
    seconds: int
    """Its length, from 1."""
    bytes: NDArray[np.int64]
    """The bytes of each row in this part."""


def day_parts(bytes_: NDArray[np.int64], start_s: int, end_s: int) -> Iterator[DayPart]:
    """The parts of a span of whole seconds, by day; a span without a second counts as one."""
    span = max(1, end_s - start_s)
    end_s = start_s + span
    before = 0 * bytes_
    for day in range(start_s // DAY_S, (end_s - 1) // DAY_S + 1):
        first, last = max(start_s, day * DAY_S), min(end_s, (day + 1) * DAY_S)
        passed = last - start_s
        # bytes * passed / span, without a product beyond 63 bits.
        until = bytes_ // span * passed + bytes_ % span * passed // span
        yield DayPart(start_s=first, seconds=last - first, bytes=until - before)
        before = until
