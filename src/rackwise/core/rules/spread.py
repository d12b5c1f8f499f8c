"""How the replicas of a partition lie over the racks of each level.

Goals, in order: a partition is off only where moving one of its own replicas would mend it; the
finding names the racks that are off, with the numbers wanted and had; a level costs a few array
passes, however many partitions.

`even` is judged from the coarsest level down, below each rack with the number of replicas that
really are there, so that a fault at one level is told once and not again at each level below:

```
racks /e/a /e/b /w/a, 3 replicas, two brokers each         level region      level zone
[1 2 4] in /e/a /e/a /w/a                                  /e 2, /w 1 fine   /e/a 2, /e/b 0 off
[1 2 3] in /e/a /e/a /e/b                                  /e 3, /w 0 off    /e/a 2, /e/b 1 fine
```

The number is shared out by water filling (`core.racks.water_fill`): a rack takes at most as many as
it has usable brokers, plus the unusable ones on which this partition still has a replica. So a rack
without usable brokers counts as long as the partition is in it, a dead or drained replica is not
told twice, and more replicas than racks are no fault while the counts differ by one at most.

A level that is off is passed over: `even` is then measured below the nearest coarser level that is
not. `count` takes the place of `even` at the levels of the racks that it names.

What is not known is not held against anyone: a replica on a broker that is not listed, or that has
no rack, lies in no rack at all, and the others are judged as if it were not there. Only `at_least`
wants distinct racks that are known.

What this does not do: say which replica to move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.boxes import counted_racks, level_above
from rackwise.core.findings import NONE, Batch
from rackwise.core.policy import AtLeast
from rackwise.core.racks import water_fill
from rackwise.core.text import counted
from rackwise.core.view import distinct, firsts, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rackwise.core.view import RackPatterns, View

_CELLS = 1 << 20
"""Counts, pattern by rack, that are held at once while texts are made."""


def spread_even(view: View) -> Iterator[Batch]:
    """Counts below one rack that are not an even share of what is there."""
    for block in view.rack_patterns:
        counted = {level for level, _ in counted_racks(view.tree, block.rules)}
        for level in range(view.tree.depth):
            if block.rules.spread[level] == "even" and level not in counted:
                above = level_above(block.rules, counted, level)
                yield from _even(view, _at(view, block, level), above)


def spread_distinct(view: View) -> Iterator[Batch]:
    """Racks with two replicas of a partition or more."""
    for block in view.rack_patterns:
        for level in range(view.tree.depth):
            if block.rules.spread[level] == "distinct":
                lying = _at(view, block, level)
                bad = np.flatnonzero((_tally(lying.nodes)[1] > 1).any(axis=1))
                names = view.tree.names[level]
                texts = [
                    off_texts((name, 0, 1, n) for name, n in zip(names, counts, strict=True))
                    for part in _parts(bad, len(names))
                    for counts in _counts(lying.nodes[part], len(names)).tolist()
                ]
                yield lying.batch("spread-distinct", bad, texts)


def spread_at_least(view: View) -> Iterator[Batch]:
    """Partitions in fewer distinct racks than wanted, or than they have replicas."""
    for block in view.rack_patterns:
        for level in range(view.tree.depth):
            rule = block.rules.spread[level]
            if isinstance(rule, AtLeast):
                lying = _at(view, block, level)
                wanted = min(rule.racks, lying.nodes.shape[1])
                racks = firsts(matches(lying.nodes)).sum(axis=1)
                bad = np.flatnonzero(racks < wanted)
                texts = [(counted(wanted, "rack"), str(number)) for number in racks[bad].tolist()]
                yield lying.batch("spread-at-least", bad, texts)


class _Lying(NamedTuple):
    """Distinct patterns at one level; `pattern`: of each row."""

    level: int
    rows: NDArray[np.int64]
    pattern: NDArray[np.int64]
    nodes: NDArray[np.int64]
    unusable: NDArray[np.bool_]

    def batch(
        self,
        rule: str,
        bad: NDArray[np.int64],
        texts: Sequence[tuple[str, str]],
        *,
        minor: NDArray[np.int64] | None = None,
    ) -> Batch:
        """Findings for all rows of the bad patterns; `texts`, `minor`: one for each of them."""
        text = np.full(len(self.nodes), -1, dtype=np.int64)
        text[bad] = np.arange(len(bad))
        of_row = text[self.pattern]
        hit = of_row >= 0
        return Batch(
            rule=rule,
            texts=texts,
            text=of_row[hit],
            level=self.level,
            row=self.rows[hit],
            minor=None if minor is None else minor[of_row[hit]],
        )


def _at(view: View, block: RackPatterns, level: int) -> _Lying:
    """The patterns of the finest racks, seen at a coarser level."""
    finest = view.tree.depth - 1
    up = np.append(view.tree.ancestors(finest, level), -1)
    nodes = up[block.nodes]
    if level == finest:
        return _Lying(level, block.rows, block.pattern, nodes, block.unusable)
    again, examples = distinct([*nodes.T, *block.unusable.T.astype(np.int64)])
    return _Lying(
        level, block.rows, again[block.pattern], nodes[examples], block.unusable[examples]
    )


def _tally(nodes: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """`matches` of each pattern, and for each replica how many lie with it (itself included)."""
    same = matches(nodes)
    return same, same.sum(axis=2)


class _Shares(NamedTuple):
    """Even shares: `case` [patterns, replicas]; `low`, `high` [cases, nodes], -1 outside."""

    case: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]


def _even(view: View, lying: _Lying, above: int) -> Iterator[Batch]:
    up = np.append(view.tree.ancestors(lying.level, above), -1)
    parents = up[lying.nodes]
    same, counts = _tally(lying.nodes)
    family, totals = _tally(parents)
    shares = _even_shares(view, lying, up, totals)
    low = shares.low[shares.case, lying.nodes]
    high = shares.high[shares.case, lying.nodes]
    is_off = (counts < low) | (counts > high)
    needed = (shares.low > 0).sum(axis=1)[shares.case]
    held = (family & (firsts(same) & (low > 0))[:, None, :]).sum(axis=2)
    is_broken = firsts(family) & ((family & is_off[:, None, :]).any(axis=2) | (held < needed))
    for j in range(is_broken.shape[1]):
        bad = np.flatnonzero(is_broken[:, j])
        texts = _uneven_texts(view, lying, shares, bad, j)
        yield lying.batch("spread-even", bad, texts, minor=parents[bad, j])


def _even_shares(
    view: View, lying: _Lying, up: NDArray[np.int64], totals: NDArray[np.int64]
) -> _Shares:
    """Share the replicas below each parent out, once for each distinct case.

    A case is a parent, the number below it, and the racks of the unusable brokers among them.
    """
    parents = up[lying.nodes]
    siblings = (parents[:, :, None] == parents[:, None, :]) & lying.unusable[:, None, :]
    extra = np.sort(np.where(siblings, lying.nodes[:, None, :], -1), axis=2)
    width = int(lying.unusable.sum(axis=1).max())
    extra = extra[:, :, extra.shape[2] - width :].reshape(parents.size, width)
    case, examples = distinct([parents.ravel(), totals.ravel(), *extra.T])
    usable = view.usable_below(lying.level)
    low = np.full((len(examples), len(usable)), -1, dtype=np.int64)
    high = low.copy()
    room = usable + _counts(extra[examples], len(usable))
    for number, example in enumerate(examples.tolist()):
        children = np.flatnonzero(up[:-1] == parents.ravel()[example])
        total = int(totals.ravel()[example])
        shares = water_fill(room[number, children].tolist(), total)
        for child, share in zip(children, shares or ((0, total),) * len(children), strict=True):
            low[number, child], high[number, child] = share
    return _Shares(case.reshape(parents.shape), low, high)


def _uneven_texts(
    view: View, lying: _Lying, shares: _Shares, bad: NDArray[np.int64], j: int
) -> list[tuple[str, str]]:
    """Of each bad pattern the racks that are off below the parent of replica j."""
    names = view.tree.names[lying.level]
    return [
        off_texts(row for row in zip(names, *columns, strict=True) if row[1] >= 0)
        for part in _parts(bad, len(names))
        for columns in zip(
            shares.low[shares.case[part, j]].tolist(),
            shares.high[shares.case[part, j]].tolist(),
            _counts(lying.nodes[part], len(names)).tolist(),
            strict=True,
        )
    ]


def _parts(patterns: NDArray[np.int64], racks: int) -> list[NDArray[np.int64]]:
    """Patterns in parts whose counts, pattern by rack, fit into memory."""
    return np.array_split(patterns, 1 + len(patterns) * racks // _CELLS)


def _counts(nodes: NDArray[np.int64], racks: int) -> NDArray[np.int64]:
    """How often each rack stands in each row of nodes, -1 left out: [rows, racks]."""
    counts = np.zeros((len(nodes), racks + 1), dtype=np.int64)
    np.add.at(counts, (np.arange(len(nodes))[:, None], nodes), 1)
    return counts[:, :-1]


def off_texts(racks: Iterable[tuple[str, int, int | None, int]]) -> tuple[str, str]:
    """Wanted and had of the racks (name, low, high, count) whose count is outside `low..high`.

    >>> off_texts([("/a", 1, 1, 2), ("/b", 0, 2, 1), ("/c", 1, None, 0)])
    ('/a 1, /c 1 or more', '/a 2, /c 0')
    """
    off = [
        (name, low, high, count)
        for name, low, high, count in racks
        if count < low or (high is not None and count > high)
    ]
    wanted = ", ".join(f"{name} {range_text(low, high)}" for name, low, high, _ in off)
    return wanted, ", ".join(f"{name} {count}" for name, _, _, count in off)


def range_text(low: int, high: int | None) -> str:
    """`2`, `0..1`, or `1 or more` where there is no upper limit."""
    if high is None:
        return f"{low} or more"
    return str(low) if low == high else f"{low}..{high}"


def rack_count(view: View) -> Iterator[Batch]:
    """Counted racks with another number of replicas, and replicas outside all of them."""
    finest = view.tree.depth - 1
    for block in view.rack_patterns:
        places = counted_racks(view.tree, block.rules)
        if not places:
            continue
        inside = [
            np.append(view.tree.ancestors(finest, level) == node, False) for level, node in places
        ]
        numbers = [mask[block.nodes].sum(axis=1) for mask in inside]
        limits = [(rack.rack, rack.min, rack.max) for rack in block.rules.count]
        if block.rules.count_others == "none":
            elsewhere = (block.nodes >= 0) & ~np.logical_or.reduce(inside)[block.nodes]
            numbers.append(elsewhere.sum(axis=1))
            limits.append(("others", 0, 0))
        found = np.stack(numbers, axis=1)
        least = np.array([low for _, low, _ in limits])
        most = np.array([block.nodes.shape[1] if high is None else high for _, _, high in limits])
        bad = np.flatnonzero(((found < least) | (found > most)).any(axis=1))
        texts = [
            off_texts((*limit, count) for limit, count in zip(limits, counts, strict=True))
            for counts in found[bad].tolist()
        ]
        levels = {level for level, _ in places}
        level = levels.pop() if len(levels) == 1 else NONE
        yield _Lying(level, *block[1:]).batch("rack-count", bad, texts)
