"""Leaders by trying all choices, to judge other choices of leaders.

Only for a handful of partitions: the time is exponential.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.planning.leaders.choose import ChosenLeaders


class Best(NamedTuple):
    """The least `unfairness` (sum of loads^2 / weight), the least `cost` with it, its `loads`.

    `loads`: all vectors of that unfairness, as rows of (broker, load) pairs without zeros.
    """

    unfairness: Fraction
    cost: int
    loads: frozenset[frozenset[tuple[int, int]]]


def unfairness(leaders: Sequence[int], weights: Mapping[int, int]) -> Fraction:
    """Sum of loads^2 / weight."""
    counts = Counter(leaders)
    return sum((Fraction(n * n, weights.get(b, 1)) for b, n in counts.items()), Fraction(0))


def options(
    sets: Sequence[Sequence[int]], preferred: Sequence[int], *, keeps: bool
) -> list[tuple[int, ...]]:
    """The possible leaders of each row."""
    return [
        (before,) if keeps and before in members else tuple(members)
        for members, before in zip(sets, preferred, strict=True)
    ]


def best_leaders(
    sets: Sequence[Sequence[int]],
    preferred: Sequence[int],
    *,
    keeps: bool = False,
    weights: Mapping[int, int] | None = None,
    costs: Sequence[Mapping[int, int]] | None = None,
) -> Best:
    """The best by enumeration; `costs`: of each member of each row, 1 per change if omitted."""
    found: list[tuple[Fraction, int, frozenset[tuple[int, int]]]] = []
    for leaders in product(*options(sets, preferred, keeps=keeps)):
        paid = _paid(leaders, preferred, costs)
        counts = frozenset(Counter(leaders).items())
        found.append((unfairness(leaders, weights or {}), paid, counts))
    least = min(row[0] for row in found)
    fair = [row for row in found if row[0] == least]
    return Best(least, min(row[1] for row in fair), frozenset(row[2] for row in fair))


def _paid(
    leaders: Sequence[int],
    preferred: Sequence[int],
    costs: Sequence[Mapping[int, int]] | None,
) -> int:
    if costs is None:
        return sum(a != b for a, b in zip(leaders, preferred, strict=True))
    return sum(row[leader] for row, leader in zip(costs, leaders, strict=True))


def boxed_loads(chosen: ChosenLeaders) -> Iterator[frozenset[tuple[int, int]]]:
    """All loads between low and high with the totals of the groups, without zeros."""
    fair = chosen.fair
    ranges = [range(a, b + 1) for a, b in zip(fair.low.tolist(), fair.high.tolist(), strict=True)]
    groups, totals = fair.group.tolist(), fair.totals.tolist()
    for loads in product(*ranges):
        sums = [0] * len(totals)
        for group, load in zip(groups, loads, strict=True):
            sums[group] += load
        if sums == totals:
            ids = chosen.brokers.tolist()
            yield frozenset((id_, load) for id_, load in zip(ids, loads, strict=True) if load)
