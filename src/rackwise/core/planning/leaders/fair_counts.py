"""The fairest numbers of leaders that given replica sets allow.

Fair means that the sum over brokers of `loads^2 / weight` is the least that any choice of leaders
can have. One more leader on a broker costs `(2 * load + 1) / weight`, one less saves
`(2 * load - 1) / weight`. A row that `a` leads and `b` may lead is an arc a -> b. A path on which
every broker passes one row to the next changes only the loads of its two ends.

The algorithm. The broker whose last leader saves most searches, breadth first, for a path to a
broker whose next leader costs less than that. As many rows go along the path as improve the sum. If
it finds no path, all brokers that it reached are closed: none of their rows can go to a better
broker. When all brokers are closed, the numbers are fair (the augmenting-path theorem for convex
costs on bipartite choices).

```
rows        0 1   0 1   0 2   0         loads 4 0 0     0 -> 1: two rows go, a third would not pay
                                        loads 2 2 0     0 -> 2: one row goes
                                        loads 1 2 1     1 reaches 0, which has one fewer: closed
groups      0 1: at most 2, three together              2: one
```

Groups. Fair numbers are not unique, but they all lie in one box: if a path moves a leader from `a`
to `b` for nothing, `a` may have one less and `b` one more. With equal weights, the brokers of one
`high` are one group, each at `high` or one less. With weights, the brokers that such paths join are
one group. The total of a group is fixed.

Cuts prove that no choice is fairer. Only the brokers that the ones above a level reach can lead
their rows, so every choice puts all of these rows on them:

```
cut         0 and 1 must lead 3 or more: all members of 3 rows lie in it
```

Limits: the cost of a change of leader is ignored here.

Source: Harvey, Ladner, Lovasz and Tamir, "Semi-matchings for bipartite graphs and load balancing"
(2006); Frank and Murota, "Decreasing minimization on M-convex sets" (2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.planning.leaders.state import FAR, LeaderChoice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.planning.leaders.state import LeaderCandidates

ROUNDS = 32
"""How often rows look for a broker below the mean before paths are searched for one by one."""

TURNS = 4096
"""Parts, at most, into which rows are cut to take the lowest of their members in turn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeaderLoads:
    """The fair numbers of leaders."""

    low: NDArray[np.int64]
    """Fewest leaderships of each broker, int64 [brokers]."""
    high: NDArray[np.int64]
    """Most leaderships of each broker, int64 [brokers]."""
    group: NDArray[np.int64]
    """Group of each broker from 0 on, int64 [brokers]."""
    totals: NDArray[np.int64]
    """Leaderships of each group, int64 [groups]."""
    cuts: tuple[tuple[tuple[int, ...], int], ...]
    """Brokers that must lead so many rows in every choice, the most loaded first."""

    @property
    def needs(self) -> NDArray[np.int64]:
        """The part of each group's total above the lows of its brokers: int64 [groups]."""
        least = np.bincount(self.group, self.low, len(self.totals)).astype(np.int64)
        needs: NDArray[np.int64] = self.totals - least
        return needs

    def allows(self, loads: NDArray[np.int64]) -> bool:
        """Whether numbers of leaders, int64 [brokers], lie in the ranges and have the totals."""
        totals = np.bincount(self.group, loads, len(self.totals))
        return _is_within(loads, self) and bool((totals == self.totals).all())

    def price_term(self, prices: NDArray[np.int64]) -> int:
        """The most that fair numbers of leaders cost at prices of the brokers.

        Each broker has its `low`; the rest of its group's total goes to the dearest brokers with
        room.
        """
        order = np.lexsort((-prices, self.group))
        group = self.group[order]
        span = (self.high - self.low)[order]
        before = np.append(np.cumsum(span) - span, 0)
        within = before[:-1] - before[np.searchsorted(group, np.arange(len(self.totals)))][group]
        taken = np.clip(self.needs[group] - within, 0, span)
        return int((self.low * prices).sum()) + int((taken * prices[order]).sum())


def mean_loads(rows: int, brokers: int) -> LeaderLoads:
    """Rows shared out evenly over brokers of equal weight, whether or not the sets allow it."""
    high = -(-rows // max(1, brokers))
    return LeaderLoads(
        low=np.full(brokers, max(0, high - 1), dtype=np.int64),
        high=np.full(brokers, high, dtype=np.int64),
        group=np.zeros(brokers, dtype=np.int64),
        totals=np.array([rows], dtype=np.int64),
        cuts=((tuple(range(brokers)), rows),) if rows else (),
    )


def fair_numbers(
    candidates: LeaderCandidates,
    weights: Sequence[int],
    *,
    known: NDArray[np.int64] | None = None,
) -> LeaderLoads:
    """The fair numbers for these sets: the mean if they allow it; one weight per broker, 1 or more.

    The mean gives the same proof as the exact groups, and is much faster to compute. `known`: the
    loads of any choice of leaders, int64 [brokers]; nothing is searched if they are the mean.
    """
    mean = mean_loads(len(candidates.members), candidates.brokers)
    is_even = len(set(weights)) <= 1
    if is_even and known is not None and _is_within(known, mean):
        return mean
    column, loads = _near_mean(candidates, mean)
    if is_even and _is_within(loads, mean):
        return mean
    choice = LeaderChoice(candidates, column)
    fair = fair_leader_loads(choice, weights)
    return mean if is_even and _is_within(choice.loads, mean) else fair


def _is_within(loads: NDArray[np.int64], fair: LeaderLoads) -> bool:
    return bool(((loads >= fair.low) & (loads <= fair.high)).all())


def _near_mean(
    candidates: LeaderCandidates, mean: LeaderLoads
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The column of a leader of each row, and loads near the mean: int64 [rows], [brokers].

    Blocks of rows take the member with the lowest load. Then rows move, all at once, from brokers
    above the mean to the lowest of their members, no more than a broker can give or take.
    """
    members, brokers = candidates.members, candidates.brokers
    column = _take_lowest_in_turn(candidates)
    rounds = 0
    while True:
        leader = members[np.arange(len(members)), column]
        loads = np.bincount(leader, minlength=brokers).astype(np.int64)
        if rounds == ROUNDS or _is_within(loads, mean):
            return column, loads
        gives, takes = (loads - mean.low).clip(min=0), (mean.high - loads).clip(min=0)
        some = np.flatnonzero(gives[leader] > 0)
        # Load of each member of the rows that may move, [rows, width]; free cells are the highest.
        member_loads = np.append(loads, len(members) + 2)[members[some]]
        lowest = member_loads.argmin(axis=1)
        pays = loads[leader[some]] - member_loads[np.arange(len(some)), lowest] > 1
        some, lowest = some[pays], lowest[pays]
        target = members[some, lowest]
        fits = _ranks_of_equals(target) < takes[target]
        some, lowest = some[fits], lowest[fits]
        fits = _ranks_of_equals(leader[some]) < gives[leader[some]]
        column[some[fits]] = lowest[fits]
        rounds = rounds + 1 if fits.any() else ROUNDS


def _take_lowest_in_turn(candidates: LeaderCandidates) -> NDArray[np.int64]:
    """The column of the member of each row that led least before its turn: int64 [rows]."""
    members, brokers = candidates.members, candidates.brokers
    block = max(brokers, len(members) // TURNS, 1)
    column = np.zeros(len(members), dtype=np.int64)
    loads = np.zeros(brokers + 1, dtype=np.int64)
    loads[brokers] = len(members) + 1
    for first in range(0, len(members), block):
        part = members[first : first + block]
        lowest = loads[part].argmin(axis=1)
        column[first : first + block] = lowest
        loads += np.bincount(part[np.arange(len(part)), lowest], minlength=brokers + 1)
    return column


def _ranks_of_equals(brokers: NDArray[np.int32]) -> NDArray[np.int64]:
    """For each entry, how many earlier entries have the same broker: int64."""
    order = np.argsort(brokers, kind="stable")
    counts = np.bincount(brokers)
    found = np.empty(len(brokers), dtype=np.int64)
    found[order] = np.arange(len(brokers)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found


def fair_leader_loads(choice: LeaderChoice, weights: Sequence[int]) -> LeaderLoads:
    """Even out the choice, in place, and return the fair loads; weights are 1 or more."""
    scale = [lcm(*weights) // weight for weight in weights]
    _even_out(choice, scale)
    loads = choice.loads.tolist()
    saves = [(2 * load - 1) * part for load, part in zip(loads, scale, strict=True)]
    cuts = _cuts(choice, saves)
    if len(set(weights)) == 1:
        return _groups_by_height(choice, cuts)
    costs = [(2 * load + 1) * part for load, part in zip(loads, scale, strict=True)]
    return _groups_by_exchange(choice, saves, costs, cuts)


def _even_out(choice: LeaderChoice, scale: Sequence[int]) -> None:
    loads = choice.loads
    saves = [(2 * load - 1) * part for load, part in zip(loads.tolist(), scale, strict=True)]
    closed = np.zeros(len(loads), dtype=np.bool_)
    while len(waiting := np.flatnonzero(~closed & (loads > 0))):
        source = max(waiting.tolist(), key=saves.__getitem__)
        seen, path = _search_path(choice, source, saves[source], scale, closed)
        if not path:
            closed |= seen
            continue
        choice.move_rows(path, _rows_that_pay(choice, source, path[-1], scale))
        for end in (source, path[-1]):
            saves[end] = (2 * int(loads[end]) - 1) * scale[end]


def _rows_that_pay(choice: LeaderChoice, source: int, target: int, scale: Sequence[int]) -> int:
    """How many rows may go from source to target so that each of them makes the loads fairer.

    The k-th does while (2 * (source - k) + 1) * a > (2 * (target + k) - 1) * b.
    """
    a, b = scale[source], scale[target]
    gain = (2 * int(choice.loads[source]) + 1) * a - (2 * int(choice.loads[target]) - 1) * b
    return (gain - 1) // (2 * (a + b))


def _search_path(
    choice: LeaderChoice, source: int, saves: int, scale: Sequence[int], closed: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], list[int]]:
    """The reached brokers, and the shortest path to the cheapest broker that pays, or []."""
    before = np.full(len(choice.loads), -1, dtype=np.int64)
    before[source] = source
    frontier = [source]
    while frontier:
        found: list[int] = []
        for here in frontier:
            near = np.flatnonzero((choice.step_costs(here) < FAR) & (before < 0) & ~closed)
            before[near] = here
            found.extend(near.tolist())
        paying = [
            (cost, broker)
            for broker in found
            if (cost := (2 * int(choice.loads[broker]) + 1) * scale[broker]) < saves
        ]
        if paying:
            return before >= 0, path_to(before, min(paying)[1])
        frontier = found
    return before >= 0, []


def path_to(before: NDArray[np.int64], last: int) -> list[int]:
    """The path that ends with `last`; `before`: for each broker the one it was reached from."""
    path = [last]
    while int(before[path[-1]]) != path[-1]:
        path.append(int(before[path[-1]]))
    return path[::-1]


def reachable(choice: LeaderChoice, sources: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The sources, and all brokers that a path reaches from one of them: bool [brokers]."""
    seen = sources.copy()
    frontier = np.flatnonzero(seen)
    while len(frontier):
        near = (np.stack([choice.step_costs(here) for here in frontier.tolist()]) < FAR).any(axis=0)
        frontier = np.flatnonzero(near & ~seen)
        seen[frontier] = True
    return seen


def _cuts(choice: LeaderChoice, saves: Sequence[int]) -> dict[tuple[int, ...], int]:
    """The cuts: sets of brokers, each with the number of rows that they must lead.

    A set contains the brokers whose last leader saves at least some amount, and all brokers that
    they reach. There is one set for each amount.
    """
    busy = np.flatnonzero(choice.loads > 0).tolist()
    levels = sorted({saves[broker] for broker in busy}, reverse=True)
    above = (np.array([save >= level for save in saves]) for level in levels)
    return dict(_cut_of(choice, reachable(choice, heavy & (choice.loads > 0))) for heavy in above)


def _cut_of(choice: LeaderChoice, inside: NDArray[np.bool_]) -> tuple[tuple[int, ...], int]:
    """Brokers, and the number that they lead now."""
    return tuple(np.flatnonzero(inside).tolist()), int(choice.loads[inside].sum())


def _groups_by_height(choice: LeaderChoice, cuts: Mapping[tuple[int, ...], int]) -> LeaderLoads:
    """Groups for equal weights: all brokers of one `high`."""
    loads = choice.loads
    high = loads.copy()
    for load in np.unique(loads).tolist():
        from_here = reachable(choice, loads == load)
        high[from_here & (loads == load - 1)] = load
    heights, group = np.unique(-high, return_inverse=True)
    totals = np.bincount(group, loads, len(heights)).astype(np.int64)
    return LeaderLoads(
        low=np.maximum(high - 1, 0),
        high=high,
        group=group.astype(np.int64),
        totals=totals,
        cuts=tuple(cuts.items()),
    )


def _groups_by_exchange(
    choice: LeaderChoice,
    saves: Sequence[int],
    costs: Sequence[int],
    cuts: Mapping[tuple[int, ...], int],
) -> LeaderLoads:
    """Groups for unequal weights: brokers joined by paths on which a leader moves for nothing.

    One more cut for each group separates it from others of its level.
    """
    loads = choice.loads
    low, high = loads.copy(), loads.copy()
    joined = list(range(len(loads)))
    takers = set(costs)
    givers = [b for b in np.flatnonzero(loads > 0).tolist() if saves[b] in takers]
    for giver in givers:
        inside = reachable(choice, np.arange(len(loads)) == giver)
        for taker in np.flatnonzero(inside).tolist():
            if costs[taker] == saves[giver]:
                low[giver], high[taker] = loads[giver] - 1, loads[taker] + 1
                first, second = sorted((_root(joined, giver), _root(joined, taker)))
                joined[second] = first
    roots = np.array([_root(joined, broker) for broker in range(len(loads))])
    found = dict(cuts)
    for level, root in sorted({(saves[b], int(roots[b])) for b in givers}, reverse=True):
        above = np.array([save > level for save in saves])
        alike = np.array([save == level for save in saves]) & (roots == root)
        found.update([_cut_of(choice, reachable(choice, (above | alike) & (loads > 0)))])
    _, group = np.unique(roots, return_inverse=True)
    totals = np.bincount(group, loads).astype(np.int64)
    return LeaderLoads(
        low=low,
        high=high,
        group=group.astype(np.int64),
        totals=totals,
        cuts=tuple(found.items()),
    )


def _root(joined: Sequence[int], broker: int) -> int:
    while joined[broker] != broker:
        broker = joined[broker]
    return broker
