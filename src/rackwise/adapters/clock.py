"""The clock of this process."""

from __future__ import annotations

import time


def monotonic_ms() -> int:
    """Return the milliseconds of a clock that never goes back."""
    return time.monotonic_ns() // 1_000_000
