"""The rates that producers of each rack send, and the even load of each rack of leaders.

```
free     bytes_per_s of records that may go anywhere, by the rack of their producers
pinned   bytes_per_s of records whose partition is given (a key, a number), by its leader's rack
weight   what a rack should take: its leaders of the topic, or its brokers; only ratios count
mean     (all free + all pinned) * weight / all weights: what an even load would give the rack
```

A rack that is missing in one of them has 0 there. Any text is a rack, because Kafka compares racks
as texts (KIP-1123): an odd one only shares no level with the others.

What this does not do: measure rates, or judge which weights are right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from rackwise.core.errors import SplitError
from rackwise.core.json.declare import Between
from rackwise.core.odd_racks import settle_racks
from rackwise.core.racks import Rack, padded
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


GREATEST: Final = 2.0**63
"""The greatest rate, weight or price, so that sums and products stay finite."""

Rate: TypeAlias = Annotated[
    float,
    Between(
        0.0,
        GREATEST,
        "bytes_per_s, a number from 0 to 2^63",
        "measure it again, and use 0 for a rack that sends nothing",
    ),
]


@dataclass(frozen=True, slots=True)
class RackRates:
    """Bytes per second by rack.

    Raises `SplitError` for a rate that is negative or not finite.
    """

    free: Mapping[str, Rate]
    """By the producers' rack."""
    pinned: Mapping[str, Rate] = field(default_factory=lambda: MappingProxyType({}))
    """By the leaders' rack."""

    def __post_init__(self) -> None:
        for name in ("free", "pinned"):
            rates = {rack: getattr(self, name)[rack] for rack in sorted(getattr(self, name))}
            for rack, rate in rates.items():
                check_number(f"{name} rate", rack, rate)
            object.__setattr__(self, name, MappingProxyType(rates))


@dataclass(frozen=True, slots=True, kw_only=True)
class RackColumns:
    """Rates and weights as columns of equal length, racks in the order of their texts."""

    racks: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    """Levels of each rack, coarsest first, all of one length `depth`."""
    free: tuple[float, ...]
    pinned: tuple[float, ...]
    weights: tuple[float, ...]
    mean: tuple[float, ...]
    """The even load of each rack, bytes_per_s."""

    @classmethod
    def of(cls, rates: RackRates, weights: Mapping[str, float]) -> RackColumns:
        """Raises `SplitError` for weights all 0 or not numbers, pinned bytes without leaders."""
        check_weights(weights)
        racks = tuple(sorted({*rates.free, *rates.pinned, *weights}))
        column = tuple(float(weights.get(rack, 0)) for rack in racks)
        _check_leaders(rates, weights)
        free = tuple(float(rates.free.get(rack, 0)) for rack in racks)
        pinned = tuple(float(rates.pinned.get(rack, 0)) for rack in racks)
        total, whole = math.fsum((*free, *pinned)), math.fsum(column)
        return cls(
            racks=racks,
            paths=rack_paths(racks),
            free=free,
            pinned=pinned,
            weights=column,
            mean=tuple(total * (weight / whole) for weight in column),
        )

    @property
    def depth(self) -> int:
        """The number of levels of every rack."""
        return len(self.paths[0])


def rack_paths(racks: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The levels of each rack, all of one length: short paths repeat their last level.

    An odd rack (`odd_racks`) shares no level with another one.

    >>> rack_paths(["/eu/a", "/us", "b"])
    (('eu', 'a'), ('us', 'us'), ('/b', '/b'))
    """
    odd = odd_racks(racks)
    # no level of a path has a slash, so these are levels of their own
    paths = [(f"/{rack}",) if rack in odd else Rack(rack).levels for rack in racks]
    depth = max(map(len, paths), default=0)
    return tuple(padded(path, depth) for path in paths)


def odd_racks(racks: Sequence[str]) -> tuple[str, ...]:
    """Racks that are malformed, of another form than most, or the root `/` itself."""
    odd = {found.rack.text for found in settle_racks(enumerate(map(Rack, racks))).odd}
    return tuple(rack for rack in racks if rack in odd or not Rack(rack).levels)


def check_one_depth(racks: Sequence[str]) -> None:
    """Reject odd racks, and racks with different numbers of levels: `SplitError`."""
    depths = {len(Rack(rack).levels) for rack in racks} if not odd_racks(racks) else ()
    if len(depths) != 1:
        raise SplitError(
            f"invalid racks: expected the same number of levels, got {escaped(', '.join(racks))}",
            wanted="racks of one form and depth",
            had=", ".join(racks),
            hint="write all racks as paths of the same number of levels, or none as a path",
        )


def check_number(noun: str, rack: str, value: float) -> None:
    """Reject a value outside 0 to 2^63: `SplitError` with the rack and the value."""
    if not 0 <= value <= GREATEST:
        raise SplitError(
            f"invalid {noun} of {escaped(rack)}: expected 0 to 2^63, got {value}",
            wanted="0 to 2^63",
            had=value,
            hint="measure it again, and use 0 for a rack that sends nothing",
            where=rack,
        )


def check_eps(eps: float) -> None:
    """Reject a bound that is negative or not a number: `SplitError`."""
    if not eps >= 0:
        raise SplitError(
            f"invalid eps: expected 0 or more, got {eps}",
            wanted=">= 0",
            had=eps,
            hint="0.1 lets a rack take a tenth more than its even part",
        )


def check_weights(weights: Mapping[str, float]) -> None:
    """Reject weights that are not numbers, or all 0: `SplitError`."""
    for rack in sorted(weights):
        check_number("weight", rack, weights[rack])
    if not any(weights.values()):
        raise SplitError(
            "invalid weights: expected at least one rack with a weight above 0, got none",
            wanted="a weight above 0",
            had=", ".join(sorted(weights)) or None,
            hint="are the leaders missing in the snapshot?",
        )


def _check_leaders(rates: RackRates, weights: Mapping[str, float]) -> None:
    for rack, rate in rates.pinned.items():
        if rate and not weights.get(rack):
            raise SplitError(
                f"rack {escaped(rack)} receives {rate} pinned bytes_per_s but has weight 0",
                wanted="a weight above 0",
                had=0,
                hint="are the leaders missing in the snapshot?",
                where=rack,
            )
