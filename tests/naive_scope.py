"""A second, slow definition of the legal sets of a limited goal, for a handful of brokers.

Written from the sentences of `core.planning.problem.goal_scope` and `relaxed_classes`: partitions
that the goal does not touch keep what they hold; the others keep the rules if new replicas can make
them legal, else as far as the replicas that they keep let them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from naive_audit import placed
from rackwise.core.policy import AtLeast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from naive_plan import Question
    from rackwise.core.model import Partition

Set = frozenset[int]
Node = tuple[str, ...]


@dataclass(frozen=True)
class NaiveLimits:
    """What a limited goal names."""

    leaving: frozenset[int] = frozenset()
    """Brokers whose replicas must go."""
    sizes: tuple[tuple[str, int], ...] = ()
    """(glob, replicas) of topics; later ones win."""
    balances: bool = False
    """Whether other partitions may move."""

    def size(self, p: Partition) -> int:
        """The number of replicas that the goal asks for, or those that the partition has."""
        named = [count for glob, count in self.sizes if fnmatchcase(p.topic, glob)]
        return named[-1] if named else len(placed(p))

    def touches(self, p: Partition) -> bool:
        """Whether the goal asks for a change."""
        return not self.leaving.isdisjoint(placed(p)) or self.size(p) != len(placed(p))


class Range(NamedTuple):
    """The fewest and the most replicas in a rack."""

    low: int
    high: int


def limited_sets(q: Question, limits: NaiveLimits, p: Partition) -> list[Set]:
    """The legal sets of a partition, as sets of usable brokers."""
    held = q.held(p) & set(q.brokers)
    if q.is_frozen(p):
        return [held]
    held -= q.cordoned
    is_touched = limits.touches(p)
    size = limits.size(p)
    anywhere = [x for x in map(frozenset, combinations(q.brokers, size)) if keeps(q, p, x)]
    if not anywhere and size:
        return [] if is_touched else [held]
    heirs = {q.replace[id_] for id_ in placed(p) if id_ in q.replace}
    pins = _pins(q, limits, p, held, heirs, size)
    if pins is None:
        return []
    closed = set(q.policy.brokers.exclude) | q.cordoned
    if q.replace:
        closed |= set(q.brokers) - set(q.replace.values())
    free = set(q.brokers) - (closed - held)
    choices = [x for x in map(frozenset, combinations(sorted(free), size)) if frozenset(pins) <= x]
    strict = [x for x in choices if keeps(q, p, x)]
    if is_touched and limits.balances:
        return strict
    grown = held | pins
    kept = grown - {new for old, new in q.replace.items() if new in heirs and _apart(q, old, new)}
    kept |= held
    if any(x <= kept if size < len(kept) else x >= (grown if size > len(kept) else kept)
           for x in strict):  # fmt: skip
        return strict
    room = grown | free
    fits = _relaxed(q, p, kept, room, size, anywhere)
    return [x for x in choices if fits(x)]


def keeps(q: Question, p: Partition, x: Set) -> bool:
    """Whether racks are as the rules say; pins do not matter."""
    return q.keeps_spread(p, tuple(sorted(x)))


def _apart(q: Question, old: int, new: int) -> bool:
    return bool(q.world.paths) and q.world.paths.get(old) != q.world.paths.get(new)


def _pins(
    q: Question, limits: NaiveLimits, p: Partition, held: Set, heirs: set[int], size: int
) -> Set | None:
    """The brokers that must hold the partition; None if the goal empties a pinned one."""
    wanted = set(dict(q.world.rules(p.topic).pin).get(p.partition, ()))
    if wanted & limits.leaving - set(q.brokers):
        return None
    if any(id_ not in q.brokers for id_ in heirs):
        return None
    closed = set(q.policy.brokers.exclude) | q.cordoned
    if q.replace:
        closed |= set(q.brokers) - set(q.replace.values())
    order = {id_: at for at, id_ in enumerate(_canonical(q))}
    missing = sorted(wanted & set(q.brokers) - held - heirs - closed, key=order.__getitem__)
    taken = len(held | heirs)
    return frozenset(wanted & held | heirs | set(missing[: max(0, size - taken)]))


def _canonical(q: Question) -> list[int]:
    racks = {b.id: b.rack for b in q.cluster.brokers}
    return sorted(q.brokers, key=lambda id_: (_path(racks[id_]), id_))


def _path(rack: object) -> tuple[bytes, ...]:
    return () if rack is None else tuple(part.encode() for part in rack.levels)  # type: ignore[attr-defined]


def _relaxed(
    q: Question, p: Partition, kept: Set, room: Set, size: int, anywhere: list[Set]
) -> Callable[[Set], bool]:
    """Whether a set keeps the rules as far as the kept replicas let it."""
    depth = q.world.depth if q.world.paths else 0
    path = q.world.paths

    def count(x: Iterable[int], node: Node) -> int:
        return sum(path[id_][: len(node)] == node for id_ in x)

    nodes = sorted({path[id_][:d] for id_ in q.brokers for d in range(1, depth + 1)})
    spread = q.world.rules(p.topic).spread[:depth]
    strict = {
        node: Range(min(count(x, node) for x in anywhere), max(count(x, node) for x in anywhere))
        for node in nodes
    }
    if any(isinstance(rule, AtLeast) for rule in spread):  # such a rule limits no single rack
        strict = dict.fromkeys(nodes, Range(0, size))

    def below(node: Node) -> list[Node]:
        return [n for n in nodes if len(n) == len(node) + 1 and n[: len(node)] == node]

    more = size - len(kept)
    if more > 0:
        ranges = dict(
            _grown(strict, below, lambda n: count(kept, n), lambda n: count(room, n), size)
        )
    elif more < 0:
        ranges = dict(_shrunk(strict, below, lambda n: count(kept, n), size))
    else:
        ranges = {
            n: Range(min(low, count(kept, n)), max(high, count(kept, n)))
            for n, (low, high) in strict.items()
        }
    apart = []
    for level, rule in enumerate(spread, start=1):
        if isinstance(rule, AtLeast):
            had = len({path[id_][:level] for id_ in kept})
            apart.append((level, min(rule.racks, size, had + max(more, 0))))

    def fits(x: Set) -> bool:
        return all(low <= count(x, n) <= high for n, (low, high) in ranges.items()) and all(
            len({path[id_][:level] for id_ in x}) >= wanted for level, wanted in apart
        )

    return fits


def _grown(
    strict: dict[Node, Range],
    below: Callable[[Node], list[Node]],
    kept: Callable[[Node], int],
    room: Callable[[Node], int],
    size: int,
) -> Iterator[tuple[Node, Range]]:
    """Ranges in which new replicas go where replicas are missing."""

    def high(node: Node) -> int:
        own = min(max(kept(node), strict[node].high), room(node))
        return min([own, sum(map(high, below(node)))] if below(node) else [own])

    def need(node: Node) -> int:
        return min(max(kept(node), strict[node].low, sum(map(need, below(node)))), high(node))

    def visit(children: list[Node], most: int, *, is_short: bool) -> Iterator[tuple[Node, Range]]:
        is_over = sum(map(need, children)) > most
        for node in children:
            if is_over:
                found = Range(kept(node), need(node))
            elif is_short:
                found = Range(kept(node), high(node))
            else:
                found = Range(need(node), high(node))
            yield node, found
            yield from visit(below(node), found.high, is_short=is_short or is_over)

    yield from visit(below(()), size, is_short=False)


def _shrunk(
    strict: dict[Node, Range],
    below: Callable[[Node], list[Node]],
    kept: Callable[[Node], int],
    size: int,
) -> Iterator[tuple[Node, Range]]:
    """Ranges in which racks with too many replicas give first."""

    def high(node: Node) -> int:
        own = min(kept(node), strict[node].high)
        return min([own, sum(map(high, below(node)))] if below(node) else [own])

    def visit(children: list[Node], least: int, *, is_full: bool) -> Iterator[tuple[Node, Range]]:
        is_under = sum(map(high, children)) < least
        for node in children:
            low = min(kept(node), strict[node].low)
            if is_full:
                found = Range(low, kept(node))
            elif is_under:
                found = Range(high(node), kept(node))
            else:
                found = Range(low, high(node))
            yield node, found
            yield from visit(below(node), found.low, is_full=is_full or is_under)

    yield from visit(below(()), size, is_full=False)
