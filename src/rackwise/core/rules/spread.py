"""Rules about how the replicas of a partition are spread over the racks of each level.

Goals, in order: a partition is reported only if moving one of its own replicas would repair it; the
finding names the racks with a wrong number, with the numbers wanted and had; a level costs a few
array passes, however many partitions there are.

`even` is checked from the coarsest level down. Below each rack it starts from the number of
replicas that the rack actually holds, so a fault at one level is reported once and not again at
each finer level:

```
racks /e/a /e/b /w/a, 3 replicas, two brokers each         level region      level zone
[1 2 4] in /e/a /e/a /w/a                                  /e 2, /w 1 ok     /e/a 2, /e/b 0 wrong
[1 2 3] in /e/a /e/a /e/b                                  /e 3, /w 0 wrong  /e/a 2, /e/b 1 ok
```

Water filling (`core.racks.water_fill`) computes the even shares. The capacity of a rack is its
number of usable brokers, plus the unusable brokers on which this partition still has a replica.
Three things follow: a rack without usable brokers counts as long as the partition is in it; a dead
or drained replica is not reported twice; more replicas than racks are no fault while the counts
differ by at most one.

A level whose rule is `off` is skipped: `even` then compares below the nearest coarser level that is
not `off`. `count` replaces `even` at the levels of the racks that it names.

A replica on a broker that is not listed, or that has no rack, is in no rack. The other replicas are
checked as if it did not exist. Only `at_least` requires distinct known racks.

What this does not do: say which replica to move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.boxes import counted_racks, level_above
from rackwise.core.findings import NONE, FindingBatch, Severity
from rackwise.core.policy import AtLeast
from rackwise.core.racks import water_fill
from rackwise.core.rules.racks import rackless_reason
from rackwise.core.rules.registry import rule
from rackwise.core.text import counted
from rackwise.core.view import distinct, firsts, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rackwise.core.view import RackPatterns, View

_CELLS = 1 << 20
"""Counts (patterns x racks) held in memory at once while texts are written; 8 MiB of int64."""


def _why_no_spread(view: View) -> str | None:
    """Why the rules of this file are not checked; None if they are."""
    if not view.tree.names[0]:
        return "no broker has a rack"
    reason = rackless_reason(view)
    is_unaware = view.policy.racks.missing == "unaware"
    return f"racks.missing is unaware and {reason}" if reason and is_unaware else None


@rule(
    "spread-even",
    Severity.ERROR,
    "a rack holds more or fewer replicas of a partition than an even share",
    unless=_why_no_spread,
    partly=rackless_reason,
)
def spread_even(view: View) -> Iterator[FindingBatch]:
    """Partitions whose counts below one rack are not even shares of what that rack holds."""
    for block in view.rack_patterns:
        count_levels = {level for level, _ in counted_racks(view.tree, block.rules)}
        for level in range(view.tree.depth):
            if block.rules.spread[level] == "even" and level not in count_levels:
                above = level_above(block.rules, count_levels, level)
                yield from _uneven(view, _at_level(view, block, level), above)


@rule(
    "spread-distinct",
    Severity.ERROR,
    "two replicas of a partition are in one rack",
    unless=_why_no_spread,
    partly=rackless_reason,
)
def spread_distinct(view: View) -> Iterator[FindingBatch]:
    """Partitions with two or more replicas in one rack."""
    for block in view.rack_patterns:
        for level in range(view.tree.depth):
            if block.rules.spread[level] == "distinct":
                patterns = _at_level(view, block, level)
                bad = np.flatnonzero((_matches_and_counts(patterns.nodes)[1] > 1).any(axis=1))
                names = view.tree.names[level]
                texts = [
                    off_texts((name, 0, 1, n) for name, n in zip(names, counts, strict=True))
                    for part in _parts(bad, len(names))
                    for counts in _counts(patterns.nodes[part], len(names)).tolist()
                ]
                yield patterns.batch("spread-distinct", bad, texts)


@rule(
    "spread-at-least",
    Severity.ERROR,
    "a partition is in fewer racks than the policy wants",
    unless=_why_no_spread,
    partly=rackless_reason,
)
def spread_at_least(view: View) -> Iterator[FindingBatch]:
    """Partitions in fewer distinct racks than the policy wants, or than they have replicas."""
    for block in view.rack_patterns:
        for level in range(view.tree.depth):
            spread = block.rules.spread[level]
            if isinstance(spread, AtLeast):
                patterns = _at_level(view, block, level)
                wanted = min(spread.racks, patterns.nodes.shape[1])
                racks = firsts(matches(patterns.nodes)).sum(axis=1)
                bad = np.flatnonzero(racks < wanted)
                texts = [(counted(wanted, "rack"), str(number)) for number in racks[bad].tolist()]
                yield patterns.batch("spread-at-least", bad, texts)


class _LevelPatterns(NamedTuple):
    """The distinct ways in which the replicas of some rows are spread over the racks of a level."""

    level: int
    rows: NDArray[np.int64]
    """Rows of the partition table, [rows]."""
    pattern: NDArray[np.int64]
    """Pattern of each row, [rows]."""
    nodes: NDArray[np.int64]
    """Rack of each replica, rising, [patterns, replicas]; -1 = not known."""
    unusable: NDArray[np.bool_]
    """Whether the replica's broker is dead or to be drained, [patterns, replicas]."""

    def batch(
        self,
        name: str,
        bad: NDArray[np.int64],
        texts: Sequence[tuple[str, str]],
        *,
        minor: NDArray[np.int64] | None = None,
    ) -> FindingBatch:
        """Findings for all rows of the bad patterns; `texts`, `minor`: one for each bad pattern."""
        text = np.full(len(self.nodes), -1, dtype=np.int64)
        text[bad] = np.arange(len(bad))
        of_row = text[self.pattern]
        hit = of_row >= 0
        return FindingBatch(
            rule=name,
            texts=texts,
            text=of_row[hit],
            level=self.level,
            row=self.rows[hit],
            minor=None if minor is None else minor[of_row[hit]],
        )


def _at_level(view: View, block: RackPatterns, level: int) -> _LevelPatterns:
    """The patterns of the finest racks, expressed in racks of a coarser level."""
    finest = view.tree.depth - 1
    up = np.append(view.tree.ancestors(finest, level), -1)
    nodes = up[block.nodes]
    if level == finest:
        return _LevelPatterns(level, block.rows, block.pattern, nodes, block.unusable)
    again, examples = distinct([*nodes.T, *block.unusable.T.astype(np.int64)])
    return _LevelPatterns(
        level, block.rows, again[block.pattern], nodes[examples], block.unusable[examples]
    )


def _matches_and_counts(nodes: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """`matches` of each pattern, and how many replicas are in each replica's rack, itself too."""
    same = matches(nodes)
    return same, same.sum(axis=2)


class _EvenShares(NamedTuple):
    """Even shares below the parents of replicas, one row for each distinct case."""

    case: NDArray[np.int64]
    """Case of each replica's parent, [patterns, replicas]."""
    low: NDArray[np.int64]
    """Least share of each rack, [cases, nodes]; -1 for racks that are not below the parent."""
    high: NDArray[np.int64]
    """Greatest share of each rack, [cases, nodes]; -1 as in `low`."""


def _uneven(view: View, patterns: _LevelPatterns, above: int) -> Iterator[FindingBatch]:
    up = np.append(view.tree.ancestors(patterns.level, above), -1)
    parents = up[patterns.nodes]
    same, counts = _matches_and_counts(patterns.nodes)
    family, totals = _matches_and_counts(parents)
    shares = _even_shares(view, patterns, up, totals)
    # All arrays below: [patterns, replicas]; `family` and `same`: [patterns, replicas, replicas].
    low = shares.low[shares.case, patterns.nodes]
    high = shares.high[shares.case, patterns.nodes]
    is_off = (counts < low) | (counts > high)
    needed = (shares.low > 0).sum(axis=1)[shares.case]
    held = (family & (firsts(same) & (low > 0))[:, None, :]).sum(axis=2)
    is_broken = firsts(family) & ((family & is_off[:, None, :]).any(axis=2) | (held < needed))
    for j in range(is_broken.shape[1]):
        bad = np.flatnonzero(is_broken[:, j])
        texts = _uneven_texts(view, patterns, shares, bad, j)
        yield patterns.batch("spread-even", bad, texts, minor=parents[bad, j])


def _even_shares(
    view: View, patterns: _LevelPatterns, up: NDArray[np.int64], totals: NDArray[np.int64]
) -> _EvenShares:
    """Divide the replicas below each parent, once for each distinct case.

    A case is a parent, the number of replicas below it, and the racks of those among them that are
    on unusable brokers.
    """
    parents = up[patterns.nodes]
    siblings = (parents[:, :, None] == parents[:, None, :]) & patterns.unusable[:, None, :]
    extra = np.sort(np.where(siblings, patterns.nodes[:, None, :], -1), axis=2)
    width = int(patterns.unusable.sum(axis=1).max())
    extra = extra[:, :, extra.shape[2] - width :].reshape(parents.size, width)
    case, examples = distinct([parents.ravel(), totals.ravel(), *extra.T])
    usable = view.usable_below(patterns.level)
    low = np.full((len(examples), len(usable)), -1, dtype=np.int64)
    high = low.copy()
    room = usable + _counts(extra[examples], len(usable))
    for number, example in enumerate(examples.tolist()):
        children = np.flatnonzero(up[:-1] == parents.ravel()[example])
        total = int(totals.ravel()[example])
        shares = water_fill(room[number, children].tolist(), total)
        for child, share in zip(children, shares or ((0, total),) * len(children), strict=True):
            low[number, child], high[number, child] = share
    return _EvenShares(case.reshape(parents.shape), low, high)


def _uneven_texts(
    view: View, patterns: _LevelPatterns, shares: _EvenShares, bad: NDArray[np.int64], j: int
) -> list[tuple[str, str]]:
    """Texts of each bad pattern: the racks with a wrong number below the parent of replica j."""
    names = view.tree.names[patterns.level]
    return [
        off_texts(row for row in zip(names, *columns, strict=True) if row[1] >= 0)
        for part in _parts(bad, len(names))
        for columns in zip(
            shares.low[shares.case[part, j]].tolist(),
            shares.high[shares.case[part, j]].tolist(),
            _counts(patterns.nodes[part], len(names)).tolist(),
            strict=True,
        )
    ]


def _parts(patterns: NDArray[np.int64], racks: int) -> list[NDArray[np.int64]]:
    """The patterns in parts, so that the counts of one part fit into `_CELLS`."""
    return np.array_split(patterns, 1 + len(patterns) * racks // _CELLS)


def _counts(nodes: NDArray[np.int64], racks: int) -> NDArray[np.int64]:
    """How often each rack occurs in each row of nodes, without -1: int64 [rows, racks]."""
    counts = np.zeros((len(nodes), racks + 1), dtype=np.int64)
    np.add.at(counts, (np.arange(len(nodes))[:, None], nodes), 1)
    return counts[:, :-1]


def off_texts(racks: Iterable[tuple[str, int, int | None, int]]) -> tuple[str, str]:
    """Texts of the racks (name, low, high, count) whose count is outside `low..high`.

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


@rule(
    "rack-count",
    Severity.ERROR,
    "a rack holds another number of replicas than the policy counts for it",
    unless=_why_no_spread,
    partly=rackless_reason,
)
def rack_count(view: View) -> Iterator[FindingBatch]:
    """Racks of `count` with another number of replicas, and replicas outside all of them."""
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
        yield _LevelPatterns(level, *block[1:]).batch("rack-count", bad, texts)
