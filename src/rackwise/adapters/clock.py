"""The clocks of this process, and the time zones of this machine."""

from __future__ import annotations

import time
from datetime import UTC
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

ZONE_HINT: Final = (
    "use a name such as Europe/Berlin or UTC; if this machine has no time zones, install the "
    "package tzdata"
)
"""What to do about a name that is no time zone here."""
SHIFT: Final = "RACKWISE_CLOCK_SHIFT_S"
"""The variable with the seconds that a rehearsal adds to the time of day; see `nightly --at`."""


def shift_s(environ: Mapping[str, str]) -> int:
    """Return the seconds that a rehearsal adds to the time of day. Raises `InvalidConfig`."""
    text = environ.get(SHIFT, "0")
    try:
        return int(text)
    except ValueError:
        raise InvalidConfig(
            f"invalid {SHIFT}: expected seconds, got {escaped(text)}",
            wanted="a whole number of seconds",
            had=text,
            hint=f"unset {SHIFT}; nightly --at sets it for its steps",
            where=SHIFT,
        ) from None


def time_zone(name: str) -> tzinfo | None:
    """Return the time zone of that name; None if the database of this machine has none."""
    if name == "UTC":  # needs no database
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # also a folder, a path that leaves it, a damaged file
        return None


def monotonic_ms() -> int:
    """Return the milliseconds of a clock that never goes back."""
    return time.monotonic_ns() // 1_000_000


def epoch_clock(*, ahead_s: int = 0) -> Callable[[], int]:
    """Return a clock of milliseconds since 1970, UTC, that never goes back.

    `ahead_s`: seconds that it is ahead of the time of day.

    It takes the time of day once, and then follows the clock of `monotonic_ms`: spans between two
    of its answers are right even if somebody sets the time of day.
    """
    ahead_ns = time.time_ns() - time.monotonic_ns() + ahead_s * 10**9
    return lambda: (ahead_ns + time.monotonic_ns()) // 1_000_000


def wall_clock_s() -> float:
    """Return seconds since 1970: the end of a token is a time of day."""
    return time.time()  # noqa: TID251 (it must be the time of day)
