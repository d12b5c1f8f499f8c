"""Sizes that people write, such as `256MiB`: numbers of bytes with a unit."""

from __future__ import annotations

from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

_LONGEST = 40
"""Characters of a size; Python's `int` rejects thousands of digits."""
UNITS = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}


def size_in_bytes(text: str) -> int:
    """Parse `256MiB` to 268435456. Raises `InvalidConfig` for another unit, and for 0 or less."""
    digits = text.rstrip("BkKMGTi")
    unit = text[len(digits) :]
    is_number = len(digits) <= _LONGEST and digits.isascii() and digits.isdigit()
    if not is_number or unit not in UNITS or int(digits) == 0:
        had = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        raise InvalidConfig(
            f"expected a size such as 256MiB, got {escaped(had)!r}",
            wanted=" ".join(filter(None, UNITS)),
            had=had,
            hint=f"units: {' '.join(filter(None, UNITS))}; a bare number is bytes",
        )
    return int(digits) * UNITS[unit]
