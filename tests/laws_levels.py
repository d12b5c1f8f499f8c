"""Laws of placements on racks of many levels: each raises AssertionError naming the law.

Plain loops and brute force, on purpose: nothing here uses the placer, its tree or its arithmetic.
A node is the tuple of segments that leads to it; a broker's own node ends with its id.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise import Broker, Placement

Path: TypeAlias = "tuple[str | int, ...]"
RackTree: TypeAlias = "dict[Path, dict[Path, frozenset[int]]]"
"""Node -> child -> ids of the brokers below it."""


def rack_tree(brokers: Sequence[Broker]) -> RackTree:
    """All nodes. Short paths are padded with their last segment; "no rack" is one more rack."""
    depth = max([0, *(len(broker.rack.levels) for broker in brokers if broker.rack is not None)])
    found: dict[Path, dict[Path, set[int]]] = {}
    for broker in brokers:
        path: Path = () if depth == 0 else ("",) * depth
        if broker.rack is not None:
            path = broker.rack.levels
            path += path[-1:] * (depth - len(path))
        path = (*path, broker.id)
        for level in range(len(path)):
            children = found.setdefault(path[:level], {})
            children.setdefault(path[: level + 1], set()).add(broker.id)
    return {
        node: {child: frozenset(below) for child, below in children.items()}
        for node, children in found.items()
    }


@cache
def shares(capacities: tuple[int, ...], replicas: int) -> tuple[tuple[int, int], ...]:
    """The least and greatest share of each child, by water filling one unit at a time."""
    poured = [0] * len(capacities)
    for _ in range(replicas):
        open_ = [i for i, capacity in enumerate(capacities) if poured[i] < capacity]
        poured[min(open_, key=lambda i: poured[i])] += 1
    water = min((had for had, c in zip(poured, capacities, strict=True) if had < c), default=None)
    if water is None:
        return tuple((had, had) for had in poured)
    rest = replicas - sum(min(water, c) for c in capacities)
    takers = sum(c > water for c in capacities)
    return tuple(
        (min(water, c) + (rest == takers and c > water), min(water, c) + (rest > 0 and c > water))
        for c in capacities
    )


def is_level_optimal(row: Iterable[int], tree: RackTree) -> bool:
    """Whether the children of every node share the replicas as water filling does."""
    held = set(row)
    for children in tree.values():
        counts = [len(held & below) for below in children.values()]
        allowed = shares(tuple(map(len, children.values())), sum(counts))
        if any(not a <= n <= b for n, (a, b) in zip(counts, allowed, strict=True)):
            return False
    return True


def check_level_optimal(p: Placement, brokers: Sequence[Broker]) -> None:
    """L1: rows are level-optimal and have no repeats."""
    tree = rack_tree(brokers)
    judged: set[frozenset[int]] = set()
    for partition in p:
        row = p[partition]
        assert len(set(row)) == len(row), f"L1: partition {partition} repeats a broker: {row}"
        if frozenset(row) not in judged:
            judged.add(frozenset(row))
            told = f"L1: partition {partition} is not level-optimal: {row}"
            assert is_level_optimal(row, tree), told


def level_optimal_sets(brokers: Sequence[Broker], replication: int) -> list[frozenset[int]]:
    """All level-optimal sets, by brute force, for few brokers."""
    tree = rack_tree(brokers)
    ids = sorted(broker.id for broker in brokers)
    return [frozenset(row) for row in combinations(ids, replication) if is_level_optimal(row, tree)]


def least_greatest_load(brokers: Sequence[Broker], partitions: int, replication: int) -> int:
    """A load that some broker must reach in any level-optimal placement: the least cut of its flow.

    Brokers outside a group get at least `replication` minus the most that one row can put into the
    group, for each partition; so one of them gets at least the mean of that. The greatest of these
    bounds over all groups equals the flow. A placement that meets it proves both.
    """
    sets = level_optimal_sets(brokers, replication)
    ids = sorted(broker.id for broker in brokers)
    bounds = [-(-partitions * replication // len(ids))]
    for size in range(1, len(ids)):
        for group in combinations(ids, size):
            most = max(len(one.intersection(group)) for one in sets)
            bounds.append(-(-partitions * (replication - most) // (len(ids) - size)))
    return max(bounds)


def check_even_replicas(p: Placement, brokers: Sequence[Broker]) -> None:
    """L2, balance brokers: the greatest load is minimal; floor or ceil if nothing is forced.

    For at most 9 brokers.
    """
    replication = len(p[p.first])
    held = Counter(id_ for partition in p for id_ in p[partition])
    counts = [held[broker.id] for broker in brokers]
    least = least_greatest_load(brokers, len(p), replication)
    assert max(counts) == least, f"L2: {least} is the least greatest load; {max(counts)} was made"
    if not forced_nodes(brokers, replication):
        floor = len(p) * replication // len(brokers)
        assert min(counts) >= floor, f"L2: nothing is forced, at least {floor} each; {counts}"


def forced_nodes(brokers: Sequence[Broker], replication: int) -> set[Path]:
    """The nodes that no mix of level-optimal rows gives their even share."""
    sets = level_optimal_sets(brokers, replication)
    found = set()
    for children in rack_tree(brokers).values():
        for child, below in children.items():
            counts = [len(one & below) for one in sets]
            even = Fraction(replication * len(below), len(brokers))
            if not min(counts) <= even <= max(counts):
                found.add(child)
    return found


def check_split(p: Placement, brokers: Sequence[Broker], *, by_racks: bool) -> None:
    """L2: loads of two children per weight differ by at most a unit, except where L1 forces more.

    If a child has less for its weight than another, it has all that L1 allows, or the other has the
    least that L1 allows. Below a node that the greatest load forces, this does not hold.
    """
    for children in rack_tree(brokers).values():
        totals, least, most = _totals(p, children)
        weights = [1 if by_racks else len(below) for below in children.values()]
        for i, weight in enumerate(weights):
            for j, other in enumerate(weights):
                if totals[i] < most[i] and totals[j] > least[j]:
                    assert Fraction(totals[j] - 1, other) < Fraction(totals[i] + 1, weight), (
                        f"L2: {list(children)[j]} holds {totals[j]}, {list(children)[i]} "
                        f"{totals[i]}: one could go over"
                    )


def _totals(
    p: Placement, children: Mapping[Path, frozenset[int]]
) -> tuple[list[int], list[int], list[int]]:
    totals, least, most = ([0] * len(children) for _ in range(3))
    capacities = tuple(map(len, children.values()))
    for partition in p:
        counts = [len(below.intersection(p[partition])) for below in children.values()]
        for i, (low, high) in enumerate(shares(capacities, sum(counts))):
            totals[i] += counts[i]
            least[i] += low
            most[i] += high
    return totals, least, most


def check_even_leaders(
    p: Placement, brokers: Sequence[Broker], *, before: Mapping[int, int] | None = None
) -> None:
    """L3: no chain of swaps leads from a broker to one with at least two leaderships fewer.

    `before`: leaderships of rows that stay unchanged. Replicas within 1: floor or ceil of P/n.
    """
    led = Counter({broker.id: (before or {}).get(broker.id, 0) for broker in brokers})
    edges: dict[int, set[int]] = {broker.id: set() for broker in brokers}
    for partition in p:
        leader, *others = p[partition]
        led[leader] += 1
        edges[leader].update(others)
    for source in edges:
        reached, waiting = {source}, [source]
        while waiting:
            new = edges[waiting.pop()] - reached
            reached |= new
            waiting.extend(new)
        for target in reached:
            assert led[target] > led[source] - 2, (
                f"L3: {source} leads {led[source]}, a chain of swaps reaches {target}, "
                f"which leads {led[target]}"
            )
    held = Counter(id_ for partition in p for id_ in p[partition])
    counts = [held[broker.id] for broker in brokers]
    if before is None and max(counts) - min(counts) <= 1:
        assert max(led.values()) - min(led.values()) <= 1, f"L3: leaders are {dict(led)}"
