"""The share of each client rack's bytes for each leader rack: near, with no rack overloaded.

KIP-1123 sends every byte to its own rack, and warns that racks with more producers than leaders are
then overloaded, "leaving the third one empty". Here a bound `eps` limits the load of each rack, and
as many bytes as the bound allows stay near.

Goals, in order: no rack takes more than `1 + eps` times its even part, unless its pinned bytes
already exceed that; of all such splits the bytes that cross are fewest, coarsest level first; equal
racks give and take equally, in proportion; the same numbers give the same split.

Constraints. The even part of rack r is `mean_r`, its room for free bytes
`max(0, (1 + eps) * mean_r - pinned_r)`. The rooms add up to at least all free bytes, so a split
always exists.

The algorithm. From the deepest level up: in each subtree the smaller of the remaining supply and
the remaining room is matched, and each rack gives and takes its proportional part. The remainder
goes one level up.

```
one level, rates a 1, b 1, c 0, even weights, eps 0.1        mean 0.667, room 0.733 each
   within a rack    a 0.733   b 0.733                        left: a 0.267, b 0.267, room c 0.733
   across           a -> c 0.267   b -> c 0.267
   rows             a: a 0.733, c 0.267     b: b 0.733, c 0.267       load factor 1.1, without 1.5
```

Why it is optimal: a byte matched at a deep level saves all crossings above it, a subtree cannot
match more than the smaller of its sums, and each match below reduces both sums equally. So each
level reaches its own maximum, for any prices that grow with the level that is crossed.

With `eps` infinite every rack has room for all: KIP-1123 itself, where clients of a rack without
leaders go by weight to the nearest racks that have some.

What this does not do: move leaders, which makes locality free if their counts follow the rates;
steer keyed records; decide when a split is too old. Source: KIP-1123, bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.errors import SplitError
from rackwise.core.partitioner.split.rates import RackColumns, check_eps, check_weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.partitioner.split.rates import RackRates

RENEWED = 0.02
"""A split is renewed when one of its shares has changed by more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The destination of each client rack's free bytes, and the resulting load of the racks."""

    shares: Mapping[str, Mapping[str, float]]
    """Client rack -> leader rack -> share; a row for each rack with free bytes, with every leader
    rack in it, adding up to 1."""
    rack_load: Mapping[str, float]
    """Rack -> bytes_per_s, including pinned bytes."""
    bytes_by_common_levels: tuple[float, ...]
    """At index n, free bytes_per_s whose two ends share n levels."""
    overfull: tuple[str, ...]
    """Racks whose pinned bytes alone exceed the bound."""
    local_share: float
    """Share of the free bytes that stay in their rack; 1 if there are none."""
    load_factor: float
    """The greatest load / mean of a rack with weight; 1 if there is no load."""


def split_by_balance(rates: RackRates, weights: Mapping[str, float], eps: float) -> Split:
    """The split with the fewest crossing bytes that loads no rack over `1 + eps` times its part.

    `weights`: leader rack -> the load that it should take, as a ratio. Raises `SplitError`.
    """
    check_eps(eps)
    columns = RackColumns.of(rates, weights)
    return split_of(columns, _match_shares(columns, eps), eps)


def kip_load_factor(rates: RackRates, weights: Mapping[str, float]) -> float:
    """The load factor if every record stays as near as possible: KIP-1123. Raises `SplitError`."""
    return split_by_balance(rates, weights, math.inf).load_factor


def least_eps(rates: RackRates, weights: Mapping[str, float]) -> float:
    """The least bound that the pinned bytes allow. Raises `SplitError`."""
    columns = RackColumns.of(rates, weights)
    factors = [
        pinned / mean for pinned, mean in zip(columns.pinned, columns.mean, strict=True) if mean
    ]
    return max(0.0, max(factors, default=1.0) - 1)


def full_locality_eps(rates: RackRates, weights: Mapping[str, float]) -> float:
    """A bound from which on only unavoidable bytes cross: the load factor of KIP-1123 minus 1.

    It is the least such bound if the fullest rack of KIP-1123 takes free bytes of its own clients
    only. If the rack also has pinned bytes or bytes of clients without leaders in their rack, a
    smaller bound may suffice. Raises `SplitError`.
    """
    return max(0.0, kip_load_factor(rates, weights) - 1)


def uniform_local_weight(max_skew: float, eps: float) -> float:
    """The share to keep local if only the greatest rate / mean of a rack is known.

    The rest goes by weight. The share is safe for any rates of that skew, but far from the best
    split of them. Raises `SplitError`.
    """
    check_eps(eps)
    if not max_skew >= 1:
        raise SplitError(
            f"invalid max_skew: expected 1 or more, got {max_skew}",
            wanted=">= 1",
            had=max_skew,
            hint="it is the greatest rate of a rack over the mean, which is 1 at least",
        )
    over = max_skew - 1
    return 1.0 if over <= eps else eps / over


def uniform_shares(
    weights: Mapping[str, float], own_rack: str, local_weight: float
) -> Mapping[str, float]:
    """Leader rack -> share: `local_weight` for the own rack and the rest by weight.

    All bytes go by weight if the own rack has no weight. Raises `SplitError`.
    """
    check_weights(weights)
    near = local_weight if weights.get(own_rack) else 0.0
    whole = math.fsum(weights.values())
    shares = {rack: (1 - near) * (weights[rack] / whole) for rack in sorted(weights)}
    if near:
        shares[own_rack] += near
    return MappingProxyType(shares)


def largest_change(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]]
) -> float:
    """The greatest change of any share, from 0 to 1; an added or removed row counts as 1.

    `before`, `after`: client rack -> leader rack -> share.
    """
    if set(before) != set(after):
        return 1.0
    return max(
        (
            abs(after[client].get(leader, 0.0) - row.get(leader, 0.0))
            for client, row in before.items()
            for leader in {*row, *after[client]}
        ),
        default=0.0,
    )


def split_of(columns: RackColumns, shares: Mapping[tuple[int, int], float], eps: float) -> Split:
    """The split that results from shares, (client rack, leader rack) -> share."""
    racks, depth = columns.racks, columns.depth
    by_levels = [0.0] * (depth + 1)
    load = list(columns.pinned)
    rows = {
        client: dict.fromkeys(racks, 0.0)
        for client, rate in zip(racks, columns.free, strict=True)
        if rate
    }
    for (client, leader), share in sorted(shares.items()):
        rows[racks[client]][racks[leader]] = share
        load[leader] += share * columns.free[client]
        shared = common_levels(columns.paths[client], columns.paths[leader])
        by_levels[shared] += share * columns.free[client]
    bounds = [(1 + eps) * mean if mean else 0.0 for mean in columns.mean]
    total = math.fsum(by_levels)
    return Split(
        shares=MappingProxyType({client: MappingProxyType(row) for client, row in rows.items()}),
        rack_load=MappingProxyType(dict(zip(racks, load, strict=True))),
        bytes_by_common_levels=tuple(by_levels),
        overfull=tuple(
            rack
            for rack, pinned, bound in zip(racks, columns.pinned, bounds, strict=True)
            if pinned > bound * (1 + _ROUNDING)
        ),
        local_share=by_levels[depth] / total if total else 1.0,
        load_factor=max(
            (used / mean for used, mean in zip(load, columns.mean, strict=True) if mean),
            default=1.0,
        ),
    )


def common_levels(a: Sequence[str], b: Sequence[str]) -> int:
    """The number of leading levels that two racks share."""
    for level, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            return level
    return min(len(a), len(b))


_ROUNDING = 1e-12
"""The relative error that sums in floating point may have."""


def _match_shares(columns: RackColumns, eps: float) -> dict[tuple[int, int], float]:
    """(client rack, leader rack) -> share of the client rack's free bytes, without zeros."""
    matching = _Matching(columns, eps)
    for level in range(columns.depth, 0, -1):
        for subtree in _group_subtrees(columns.paths, level):
            matching.match_within(subtree)
    matching.match_rest()
    return matching.shares


def _group_subtrees(paths: Sequence[tuple[str, ...]], level: int) -> list[list[int]]:
    """Racks, by number, that share their first `level` levels."""
    found: dict[tuple[str, ...], list[int]] = {}
    for place, path in enumerate(paths):
        found.setdefault(path[:level], []).append(place)
    return list(found.values())


class _Matching:
    """The bytes matched so far."""

    def __init__(self, columns: RackColumns, eps: float) -> None:
        room = [
            max(0.0, (1 + eps) * mean - pinned) if mean else 0.0
            for mean, pinned in zip(columns.mean, columns.pinned, strict=True)
        ]
        # (client rack, leader rack) -> share of the client rack's free bytes
        self.shares: dict[tuple[int, int], float] = {}
        self._free = columns.free
        self._weights = columns.weights
        # [racks], the part of its free bytes, 0 to 1, that has no destination yet
        self._left = [1.0 if rate else 0.0 for rate in columns.free]
        self._is_bounded = math.isfinite(sum(room))
        # [racks], the bytes_per_s that a rack can still take, or its weight if the room is infinite
        self._room = room if self._is_bounded else list(columns.weights)

    def match_within(self, subtree: Sequence[int]) -> None:
        """Match the smaller of the remaining supply and the remaining room of a subtree's racks."""
        givers = [i for i in subtree if self._left[i]]
        takers = [j for j in subtree if self._room[j]]
        if not givers or not takers:
            return
        supply = math.fsum(self._left[i] * self._free[i] for i in givers)
        room = math.fsum(self._room[j] for j in takers)
        if not self._is_bounded or supply <= room * (1 + _ROUNDING):
            taken = supply / room if self._is_bounded else 0.0
            self._give(givers, takers, 1.0, taken if taken < 1 - _ROUNDING else 1.0)
        else:
            self._give(givers, takers, room / supply, 1.0)

    def match_rest(self) -> None:
        """Place the remainder: there is room for it, although rounding may hide the room."""
        givers = [i for i, left in enumerate(self._left) if left]
        if givers and not any(self._room):
            self._room = list(self._weights)
        self._give(givers, [j for j, room in enumerate(self._room) if room], 1.0, 1.0)

    def _give(
        self, givers: Sequence[int], takers: Sequence[int], given: float, taken: float
    ) -> None:
        """Give that part of each giver's supply, and divide it among the takers by their part."""
        room = math.fsum(self._room[j] for j in takers)
        for i in givers:
            part = self._left[i] * given
            for j in takers:
                share = part * (self._room[j] / room)
                self.shares[i, j] = self.shares.get((i, j), 0.0) + share
            self._left[i] = 0.0 if given == 1 else self._left[i] - part
        for j in takers if self._is_bounded else ():
            self._room[j] = 0.0 if taken == 1 else self._room[j] * (1 - taken)
