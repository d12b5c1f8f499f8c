"""Splits a total into whole shares in proportion to weights, within bounds, with exact fractions.

Goals, in order: the shares add up to the total; every share is within its bounds; the existing
amount plus the share is in proportion to the weight; equal input gives equal shares on every
machine.

The algorithm. Each share is `level * weight - fixed`, clipped to its bounds. Find the level at
which all shares add up to the total. The sum is piecewise linear in the level and bends where a
share reaches a bound, so the algorithm visits the bends from the left. Then round all shares down.
The remaining units go to the largest remainders, one each. `tie` orders equal remainders.

```
total 10, weights 2 2 1, nothing fixed, no bounds that bind       level 2       shares 4 4 2
the last at most 1                                                level 9/4     4.5 4.5 1 -> 5 4 1
```

Levels are fractions, because floats can change the order of remainders: 1/3 + 1/3 is not 2/3 in
binary.

This module does not check that the bounds leave room for the total. Callers ensure it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Tie = Callable[[int], tuple[Fraction, int]]


def apportion(
    total: int,
    *,
    weight: Sequence[int],
    fixed: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    tie: Tie,
) -> list[int]:
    """`total` units split into shares by weight (all > 0), within low .. high.

    `fixed`: existing units; `tie(i)`: the smaller value takes a remaining unit first.

    >>> apportion(10, weight=[2, 2, 1], fixed=[0] * 3, low=[0] * 3, high=[9, 9, 1],
    ...           tie=lambda i: (Fraction(0), i))
    [5, 4, 1]
    """
    level = _level(total, weight, fixed, low, high)
    shares: list[int] = []
    remainders: dict[int, Fraction] = {}
    for i, (w, f, least, most) in enumerate(zip(weight, fixed, low, high, strict=True)):
        exact = level * w - f
        if exact <= least:
            shares.append(least)
        elif exact >= most:
            shares.append(most)
        else:
            whole = exact.numerator // exact.denominator
            shares.append(whole)
            if whole < exact:
                remainders[i] = exact - whole
    left = total - sum(shares)
    if left:
        for i in sorted(remainders, key=lambda i: (-remainders[i], *tie(i)))[:left]:
            shares[i] += 1
    return shares


def _level(
    total: int,
    weight: Sequence[int],
    fixed: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
) -> Fraction:
    """The least level at which the clipped shares add up to the total; 0 if all are fixed."""
    bends: list[tuple[Fraction, int, int]] = []
    for w, f, least, most in zip(weight, fixed, low, high, strict=True):
        if least < most:
            bends.append((Fraction(f + least, w), -(f + least), w))
            bends.append((Fraction(f + most, w), f + most, -w))
    bends.sort()
    base, slope, level = sum(low), 0, Fraction(0)
    for level, jump, change in bends:
        if base + slope * level >= total:
            break
        base, slope = base + jump, slope + change
    return Fraction(total - base, slope) if slope else level
