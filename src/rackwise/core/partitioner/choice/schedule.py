"""The leader rack of each window: a deterministic schedule that keeps the shares.

Goals, in order: after any number of windows each rack has had its share of the bytes, to within
about one window; the same shares give the same windows; a draw costs one pass over the racks.

Random draws need about 2500 windows until a share is right to one percent; credits need three.
Each rack has a credit in bytes, 0 at first. The next window goes to the greatest
`credit + share * sticky_bytes`, ties to the first rack in the order of their texts. After a window
of B bytes every rack gains `share * B`, and the rack that got it loses B, so the credits keep a sum
of 0. No credit exceeds `OWED` windows in either direction: a rack that was unavailable for long
does not get all of its missed bytes when it returns.

```
shares a 11/15, c 4/15     windows   a c a a a c a a a c a a a c a     a 11, c 4
```

`phase`: producers that start at the same moment with the same shares would all use the same racks
at the same time. So each one skips a different number of windows.

What this does not do: know whether the rack has a usable partition. A caller that uses another rack
charges that rack, even if it has no share. Source: smooth weighted round robin, in bytes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rackwise.core.errors import SplitError
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

SHARE_SUM_TOLERANCE = 1e-6
"""The greatest difference of a row's sum from 1, because files hold decimal texts."""

OWED = 8
"""The greatest credit in windows; shares kept from the start reach only about 3."""


class SplitSchedule:
    """The windows of one producer and topic; not thread-safe."""

    __slots__ = ("_credits", "_shares", "_sticky_bytes")

    def __init__(self, shares: Mapping[str, float], sticky_bytes: int, *, phase: int = 0) -> None:
        """Start a schedule with credits of 0.

        `shares`: leader rack -> share of the bytes, adding up to 1. `sticky_bytes`: bytes of a
        window. `phase`: number of windows to skip at first. Raises `SplitError`.
        """
        check_shares(shares)
        _check_least("sticky_bytes", sticky_bytes, 1, hint="use the producer's batch.size")
        _check_least("phase", phase, 0, hint="adapters draw one of 0 to 15")
        self._shares = {rack: shares[rack] for rack in sorted(shares) if shares[rack] > 0}
        self._credits = dict.fromkeys(self._shares, 0.0)
        self._sticky_bytes = sticky_bytes
        for _ in range(phase):
            self.window_done(self.next_rack(), sticky_bytes)

    def next_rack(self) -> str:
        """The leader rack of the next window; changes nothing."""
        credit_of, size = self._credits, self._sticky_bytes
        return max(self._shares, key=lambda rack: credit_of[rack] + self._shares[rack] * size)

    def window_done(self, rack: str, size: int) -> None:
        """Charge a window of `size` bytes to the rack that got it."""
        credit_of = self._credits
        bound = OWED * max(self._sticky_bytes, size)
        for each, share in self._shares.items():
            taken = size if each == rack else 0
            credit_of[each] = min(bound, max(-bound, credit_of[each] + share * size - taken))


def check_shares(shares: Mapping[str, float]) -> None:
    """Reject invalid shares, or shares that do not add up to 1: `SplitError`."""
    for rack in sorted(shares):
        if not (math.isfinite(shares[rack]) and shares[rack] >= 0):
            raise SplitError(
                f"invalid share of {escaped(rack)}: expected 0 or more, got {shares[rack]}",
                wanted="0 or more",
                had=shares[rack],
                hint="compute the split again: rackwise producer split",
                where=rack,
            )
    total = math.fsum(shares.values())
    if abs(total - 1) > SHARE_SUM_TOLERANCE:
        raise SplitError(
            f"invalid shares: expected a sum of 1, got {total:.9g}",
            wanted=1,
            had=total,
            hint="compute the split again: rackwise producer split",
        )


def _check_least(name: str, value: int, least: int, *, hint: str) -> None:
    if value < least:
        raise SplitError(
            f"invalid {name}: expected {least} or more, got {value}",
            wanted=f">= {least}",
            had=value,
            hint=hint,
        )
