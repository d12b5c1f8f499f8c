"""The clocks of this process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def monotonic_ms() -> int:
    """Return the milliseconds of a clock that never goes back."""
    return time.monotonic_ns() // 1_000_000


def epoch_clock() -> Callable[[], int]:
    """Return a clock of milliseconds since 1970, UTC, that never goes back.

    It takes the time of day once, and then follows the clock of `monotonic_ms`: spans between two
    of its answers are right even if somebody sets the time of day.
    """
    ahead_ns = time.time_ns() - time.monotonic_ns()
    return lambda: (ahead_ns + time.monotonic_ns()) // 1_000_000
