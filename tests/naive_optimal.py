"""The best assignment by trying everything: the optimum of each goal, on few partitions.

Partitions are assigned one by one; of all ways to the same loads only the cheapest is kept.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.assignors.members import Assignment, Members, ReplicaRacks

Pair = tuple[str, int]
Value = tuple[int, ...]


def _path(rack: str) -> list[str]:
    return [name for name in rack.split("/") if name] if rack.startswith("/") else [rack]


class Reading:
    """What a group may read, and what each read costs."""

    def __init__(
        self,
        members: Members,
        racks: ReplicaRacks,
        *,
        balance: str = "total",
        target: str = "follower",
        weights: Mapping[Any, int] | None = None,
        level_costs: Sequence[int] | None = None,
    ) -> None:
        self.members = members
        self.racks = racks
        self.balance = balance
        self.target = target
        self.weights = weights
        self.level_costs = level_costs
        paths = [_path(member.rack) for member in members.values() if member.rack]
        self.depth = max(map(len, paths), default=1)
        self.readers = {
            topic: tuple(key for key, member in members.items() if topic in member.topics)
            for topic in racks
        }
        self.partitions = [
            (topic, number)
            for topic in sorted(racks)
            if self.readers[topic]
            for number in range(len(racks[topic]))
        ]
        self.owners = {pair: self._owner(pair) for pair in self.partitions}

    def _owner(self, pair: Pair) -> str | None:
        claims = [
            (member.generation, key)
            for key, member in self.members.items()
            if pair in member.owned and pair[0] in member.topics
        ]
        newest = [key for generation, key in claims if generation == max(claims)[0]]
        return newest[0] if len(newest) == 1 else None

    def loss(self, key: str, pair: Pair) -> int:
        """The number of levels that a read crosses."""
        rack = self.members[key].rack
        replicas = self.racks[pair[0]][pair[1]]
        if not rack or not replicas:
            return self.depth
        read = {
            "leader": replicas[:1],
            "nearest": replicas,
            "follower": [rack] if rack in replicas else replicas[:1],
        }[self.target]
        return min(self.depth - self._shared(rack, other) for other in read)

    def _shared(self, rack: str, other: str | None) -> int:
        if not other:
            return 0
        mine, theirs = (
            [*path, *path[-1:] * (self.depth - len(path))] for path in map(_path, (rack, other))
        )
        shared = 0
        while shared < self.depth and mine[shared : shared + 1] == theirs[shared : shared + 1]:
            shared += 1
        return shared

    def cost(self, key: str, pair: Pair) -> Value:
        """Crossings, the coarsest level first, and moves."""
        loss, weight = self.loss(key, pair), 1
        if self.weights is not None:
            weight = self.weights.get(pair, 0)
        if self.level_costs is not None:
            crossings = [self.level_costs[loss] * weight]
        else:
            crossings = [weight * (loss >= level) for level in range(self.depth, 0, -1)]
        return (*crossings, self.owners[pair] not in {None, key})

    def lots(self) -> Iterator[list[list[Pair]]]:
        """Sets that are balanced separately, as lists of units; a unit stays together."""
        if self.balance == "total":
            yield [[pair] for pair in self.partitions]
        elif self.balance == "per-topic":
            for topic in self.racks:
                yield [[pair] for pair in self.partitions if pair[0] == topic]
        else:
            alike = Counter((self.readers[topic], len(self.racks[topic])) for topic in self.racks)
            for readers, size in alike:
                topics = [
                    topic
                    for topic in self.racks
                    if (self.readers[topic], len(self.racks[topic])) == (readers, size) and readers
                ]
                yield [[(topic, number) for topic in topics] for number in range(size) if topics]

    def optimum(self) -> tuple[int, Value]:
        """The least sum of squared loads over those sets, and the least costs with these loads."""
        squares, costs = 0, self._nothing()
        for units in self.lots():
            ways = {(0,) * len(self.members): self._nothing()}
            for unit in units:
                ways = self._given(unit, ways)
            least = min(sum(load * load for load in loads) for loads in ways)
            squares += least
            best = min(
                cost for loads, cost in ways.items() if sum(load * load for load in loads) == least
            )
            costs = _added(costs, best)
        return squares, costs

    def value(self, assignment: Assignment) -> tuple[int, Value]:
        """The same for an assignment; each unit must have one member."""
        holder = {tuple(tp): key for key, tps in assignment.partitions.items() for tp in tps}
        squares, costs = 0, self._nothing()
        for units in self.lots():
            loads: Counter[str] = Counter()
            for unit in units:
                (key,) = {holder[pair] for pair in unit}
                loads[key] += 1
                for pair in unit:
                    costs = _added(costs, self.cost(key, pair))
            squares += sum(load * load for load in loads.values())
        return squares, costs

    def best_local(self) -> int:
        """For a group that subscribes to the same topics: by the scarcest set of racks."""
        own = {member.rack for member in self.members.values() if member.rack}
        sets = [own.intersection(self.racks[t][p]) for t, p in self.partitions]
        each, more = divmod(len(self.partitions), len(self.members))
        bounds = []
        for size in range(len(own) + 1):
            for racks in map(set, combinations(sorted(own), size)):
                there = sum(member.rack in racks for member in self.members.values())
                outside = sum(1 for found in sets if found - racks)
                bounds.append(outside + each * there + min(there, more))
        return min(bounds)

    def _nothing(self) -> Value:
        return (0,) * (2 if self.level_costs is not None else self.depth + 1)

    def _given(
        self, unit: Sequence[Pair], ways: Mapping[tuple[int, ...], Value]
    ) -> dict[tuple[int, ...], Value]:
        found: dict[tuple[int, ...], Value] = {}
        for place, key in enumerate(self.members):
            if key not in self.readers[unit[0][0]]:
                continue
            costs = self._nothing()
            for pair in unit:
                costs = _added(costs, self.cost(key, pair))
            for loads, before in ways.items():
                after = (*loads[:place], loads[place] + 1, *loads[place + 1 :])
                cost = _added(before, costs)
                found[after] = min(cost, found.get(after, cost))
        return found


def _added(a: Value, b: Value) -> Value:
    return tuple(x + y for x, y in zip(a, b, strict=True))
