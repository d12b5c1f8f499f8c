"""`uniform` where members list different topics.

The algorithm:
1. Each member keeps what it owns of the topics that it lists.
2. Topics are sorted: most partitions per subscriber first, then fewest subscribers, then topic id.
   The partitions of a topic that nobody owns go to its least loaded subscribers, one each in turn.
3. Topics with two or more subscribers are evened out in the same order: the most loaded subscriber
   that has a partition of the topic gives its last one to the least loaded, until the two differ by
   at most one. This repeats until a round moves nothing, or `ROUNDS` times.

Both sides are ranges of the subscribers, sorted by load. When each member of a range has been used
once, the load of the range is one more (one less), and neighbours with that load join it:

```
load            #          least loaded: |-->      most loaded: <-- ]
      ###     ###
      ###########
      least      most
```

What this does not do: respect racks; reach even loads for every overlap of subscriptions. Three
members that read t, t and u, and u may end with 9, 10 and 11 partitions.

Source: `UniformHeterogeneousAssignmentBuilder` of Kafka 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.assignors.members import Assignment, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.assignors.server.group import CoordinatedGroup

NOBODY = -1
"""The owner of a partition that is not assigned yet."""
ROUNDS = 16
"""`MAX_ITERATION_COUNT`: the most rounds of evening out."""


def assign_uniform_mixed(group: CoordinatedGroup) -> Assignment:
    """The assignment of a group whose members list different topics."""
    spread = _Spread(group)
    spread.keep_owned()
    topics = sorted(spread.readers, key=spread.topic_key)
    for topic in topics:
        spread.give_unassigned(topic)
    _even_out(spread, [topic for topic in topics if len(spread.readers[topic]) > 1])
    return Assignment.of(dict(zip(group.members, spread.given, strict=True)))


def _even_out(spread: _Spread, topics: Sequence[str]) -> None:
    """Step 3: stop as soon as all topics in a row moved nothing."""
    last = NOBODY
    for _ in range(ROUNDS):
        for place, topic in enumerate(topics):
            if place == last:
                return
            if spread.balance(topic) or last == NOBODY:
                last = place


class _Spread:
    """The assignment so far; members are numbers in the order of the coordinator."""

    def __init__(self, group: CoordinatedGroup) -> None:
        self._group = group
        # topic -> numbers of its readers, ascending; only topics that somebody reads
        self.readers: dict[str, list[int]] = {}
        for number, member in enumerate(group.members):
            for topic in group.topics[member]:
                self.readers.setdefault(topic, []).append(number)
        self.given: list[set[TopicPartition]] = [set() for _ in group.members]
        """[members], in the order of the coordinator."""
        self._loads = [0] * len(group.members)
        # topic -> [partitions], number of the owner
        self._owners = {topic: [NOBODY] * group.sizes[topic] for topic in self.readers}

    def topic_key(self, topic: str) -> tuple[float, int, int]:
        """The order of topics in steps 2 and 3."""
        readers = len(self.readers[topic])
        return -self._group.sizes[topic] / readers, readers, self._group.places[topic]

    def keep_owned(self) -> None:
        """Step 1."""
        for number, member in enumerate(self._group.members):
            for topic, partitions in self._group.owned[member].items():
                if topic in self._group.topics[member]:
                    for partition in partitions:
                        self._add(topic, partition, number)

    def give_unassigned(self, topic: str) -> None:
        """Step 2 for one topic."""
        least = _LeastLoaded(self._sorted(topic), self._loads)
        for partition, owner in enumerate(self._owners[topic]):
            if owner == NOBODY:
                self._add(topic, partition, least.next())

    def balance(self, topic: str) -> int:
        """Step 3 for one topic: the number of partitions that move."""
        order = self._sorted(topic)
        if self._loads[order[-1]] - self._loads[order[0]] <= 1:
            return 0
        # member -> its partitions of the topic, the last one is given first
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic]):
            held.setdefault(owner, []).append(partition)
        # Both ranges walk one list: members with nothing to give change their places in it.
        least, most = _LeastLoaded(order, self._loads), _MostLoaded(order, self._loads)
        moved = 0
        while (giver := most.next_with(held)) is not None:
            taker = least.next()
            if most.load - least.load <= 1:
                break
            self._move(topic, held[giver].pop(), giver, taker)
            moved += 1
        return moved

    def _sorted(self, topic: str) -> list[int]:
        return sorted(self.readers[topic], key=lambda number: (self._loads[number], number))

    def _add(self, topic: str, partition: int, number: int) -> None:
        self.given[number].add(TopicPartition(topic, partition))
        self._owners[topic][partition] = number
        self._loads[number] += 1

    def _move(self, topic: str, partition: int, giver: int, taker: int) -> None:
        self.given[giver].discard(TopicPartition(topic, partition))
        self._loads[giver] -= 1
        self._add(topic, partition, taker)


class _LeastLoaded:
    """The least loaded members of a list that is sorted by load, one after the other."""

    def __init__(self, order: Sequence[int], loads: Sequence[int]) -> None:
        self._order = order
        self._loads = loads
        self._end = 0
        self._next = 0
        self.load = loads[order[0]] - 1
        """The load of the range before it receives."""

    def next(self) -> int:
        """The next member to give a partition to."""
        if self._next >= self._end:
            self.load += 1
            while self._end < len(self._order) and self._loads[self._order[self._end]] == self.load:
                self._end += 1
            self._next = 0
        self._next += 1
        return self._order[self._next - 1]


class _MostLoaded:
    """The most loaded members of a list that is sorted by load, one after the other."""

    def __init__(self, order: list[int], loads: Sequence[int]) -> None:
        self._order = order
        self._loads = loads
        self._start = self._end = len(order)
        self._next = len(order) - 1
        self.load = loads[order[-1]] + 1
        """The load of the range before it gives."""

    def next_with(self, held: dict[int, list[int]]) -> int | None:
        """The next member that holds a partition of the topic; None if there is none."""
        while True:
            if self._next < self._start:
                self._expand()
            if self._next < 0:
                return None
            place, self._next = self._next, self._next - 1
            if held.get(self._order[place]):
                return self._order[place]
            # It leaves the range: it changes places with the last member of the range.
            self._end -= 1
            order = self._order
            order[place], order[self._end] = order[self._end], order[place]

    def _expand(self) -> None:
        """Take the members with the next lower load into the range."""
        if self._end <= self._start and self._start > 0:
            self.load = self._loads[self._order[self._start - 1]]
        else:
            self.load -= 1
        while self._start > 0 and self._loads[self._order[self._start - 1]] == self.load:
            self._start -= 1
        self._next = self._end - 1
