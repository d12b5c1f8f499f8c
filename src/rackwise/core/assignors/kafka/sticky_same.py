"""The sticky algorithm where all members subscribe to the same topics: quotas, racks, turns.

Goals, in order:

1. Loads are q or q + 1: q = partitions div members, and e = partitions mod members of them have
   q + 1.
2. Owned partitions stay in their member's rack.
3. New partitions go where a replica is.

The algorithm.

1. Owned. In hash order each member drops the partitions without a replica in its rack. Of the rest
   it keeps the first by (partition, topic): all if they are fewer than q; q + 1 while fewer than e
   members have that many; else q. Members below q wait in `under`. Members at q that may get one
   more wait in `exact`.
2. Racks. Partitions with the fewest members in their racks come first. Each goes to the next member
   of `under` in one of its racks, going around from the last one served; else to the first member
   of `exact` in one of its racks; else it waits. Both lists start in the order of ids. A member
   that reaches q moves from `under` to the end of `exact`. It leaves `exact` after one partition,
   and all members leave it once e members have q + 1.
3. Turns. The waiting partitions go around `under`, then down `exact`.

```
t-0 a b   t-1 a   t-2 b   t-3 c   t-4 a        m1 rack a   m2 rack b       q = 2, e = 1

owned   m1 reports t-2: no replica in a              under m1 m2
racks   t-3 (0 members) waits; t-1, t-2, t-4 (1), t-0 (2)
        t-1 -> m1   t-2 -> m2   t-4 -> m1 (has q, to exact)   t-0 -> m2 (has q, to exact)
turns   t-3 -> m1, the first of exact
```

In the racks step each rack has the sorted list of its members in `under`, and its own queue of
`exact`. A partition therefore costs a bisection for each of its racks, however few members match.

What this does not do: know levels of racks; find the best locality. A partition may take a place
that another partition needed more.

Source: KIP-881; `AbstractStickyAssignor.ConstrainedAssignmentBuilder` (Kafka 3.5 and later).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from typing import TYPE_CHECKING

from rackwise.core.assignors.kafka.owned import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.assignors.kafka.owned import NumberedGroup, Owned


def assign_same(group: NumberedGroup, owned: Owned) -> tuple[list[int], Mapping[int, int]]:
    """The holder of each partition, and partition -> the member that had to revoke it, by number.

    A member that revoked a partition may have got it back.
    """
    quotas = _Quotas(group)
    revoked = quotas.keep(owned)
    waiting = [number for number, holder in enumerate(quotas.holders) if holder == NOBODY]
    if any(rack is not None for rack in group.racks):
        in_rack = Counter(rack for rack in group.racks if rack is not None)
        weights = {racks: sum(in_rack[rack] for rack in racks) for racks in set(group.rack_sets)}
        waiting.sort(key=lambda number: weights[group.rack_sets[number]])
        waiting = quotas.match_racks(waiting)
    quotas.take_turns(waiting)
    return quotas.holders, revoked


class _Queue:
    """Members in order of arrival; the first one in given racks may leave before others."""

    __slots__ = ("_arrived", "_by_rack", "_racks")

    def __init__(self, racks: Sequence[str | None]) -> None:
        # [members], the rack of each member
        self._racks = racks
        # rack -> (order of arrival, member)
        self._by_rack: dict[str | None, deque[tuple[int, int]]] = {}
        self._arrived = 0

    def append(self, member: int) -> None:
        queue = self._by_rack.setdefault(self._racks[member], deque())
        queue.append((self._arrived, member))
        self._arrived += 1

    def take(self, racks: Iterable[str]) -> int:
        """Remove and return the first member in one of the racks, or `NOBODY`."""
        queues = [queue for rack in racks if (queue := self._by_rack.get(rack))]
        return min(queues).popleft()[1] if queues else NOBODY

    def clear(self) -> None:
        self._by_rack.clear()

    def in_order(self) -> list[int]:
        return [member for _, member in sorted(each for q in self._by_rack.values() for each in q)]


class _Quotas:
    """The holders of partitions, and the members that may still get a partition."""

    def __init__(self, group: NumberedGroup) -> None:
        self._group = group
        # q and e: `least` partitions each, and one more for `extras` members
        self._least, self._extras = divmod(len(group.partitions), len(group.ids))
        self._most = self._least + bool(self._extras)
        # the number of members that have q + 1
        self._over = 0
        # the members below q
        self._under: list[int] = []
        # the members at q that may get one more
        self._exact = _Queue(group.racks)
        # [members], the number of partitions of the member
        self._loads = [0] * len(group.ids)
        # [partitions], the member that holds the partition, or `NOBODY`
        self.holders = [NOBODY] * len(group.partitions)

    def keep(self, owned: Owned) -> dict[int, int]:
        """Step 1. Returns partition -> the member that could not keep it."""
        group = self._group
        revoked: dict[int, int] = {}
        for member in group.walk:
            numbers = owned.by_member[member]
            revoked.update((p, member) for p in numbers if group.mismatches(member, p))
            rest = [p for p in numbers if p not in revoked and p not in owned.doubly_owned]
            rest.sort(key=lambda number: (group.partitions[number].partition, number))
            kept = self._grant_quota(member, len(rest))
            revoked.update((partition, member) for partition in rest[kept:])
            for partition in rest[:kept]:
                self.holders[partition] = member
            self._loads[member] = len(rest[:kept])
        # `exact` was filled in hash order; the next step needs it in the order of ids.
        waiting = sorted(self._exact.in_order())
        self._exact.clear()
        for member in waiting:
            self._exact.append(member)
        return revoked

    def match_racks(self, waiting: Iterable[int]) -> list[int]:
        """Step 2. Returns the partitions for which no member in their racks has room."""
        group, size = self._group, len(self._group.ids)
        in_rack: dict[str | None, list[int]] = {}
        for member in sorted(self._under):
            in_rack.setdefault(group.racks[member], []).append(member)
        lists_of = {
            racks: [in_rack[rack] for rack in racks if rack in in_rack]
            for racks in set(group.rack_sets)
        }
        start, unmatched = 0, []
        for partition in waiting:
            racks = group.rack_sets[partition]
            found = _next_member(lists_of[racks], start, size)
            if found != NOBODY:
                start = found + 1
                self._give(partition, found)
                if self._loads[found] >= self._least:
                    members = in_rack[group.racks[found]]
                    del members[bisect_left(members, found)]
                    self._join_exact(found)
            elif (first := self._exact.take(racks)) != NOBODY:
                self._give(partition, first)
                self._count_over()
            else:
                unmatched.append(partition)
        self._under = [member for members in in_rack.values() for member in members]
        return unmatched

    def take_turns(self, waiting: Iterable[int]) -> None:
        """Step 3: the waiting partitions go around `under`, then down `exact`."""
        turns = deque(sorted(self._under))
        exact = deque(self._exact.in_order())
        for partition in waiting:
            if not turns:
                self._give(partition, exact.popleft())
                continue
            member = turns.popleft()
            self._give(partition, member)
            (turns if self._loads[member] < self._least else exact).append(member)

    def _grant_quota(self, member: int, owned: int) -> int:
        """How many of its owned partitions the member keeps; adds it to `under` or to `exact`."""
        if owned < self._least:
            self._under.append(member)
            return owned
        if owned >= self._most and self._over < self._extras:
            self._count_over()
            return self._most
        self._join_exact(member)
        return self._least

    def _join_exact(self, member: int) -> None:
        """Let the member wait for one more partition, if any member may still get one."""
        if self._over < self._extras:
            self._exact.append(member)

    def _count_over(self) -> None:
        """Count a member that has q + 1; after e of them no other member may get one more."""
        self._over += 1
        if self._over == self._extras:
            self._exact.clear()

    def _give(self, partition: int, member: int) -> None:
        self.holders[partition] = member
        self._loads[member] += 1


def _next_member(lists: Iterable[list[int]], start: int, size: int) -> int:
    """The first member of the sorted lists at or after `start`, going around `size` members."""
    # Members before `start` come after all others, so they count as `size` places further.
    best = 2 * size
    for members in lists:
        if members:
            place = bisect_left(members, start)
            member = members[place] if place < len(members) else members[0] + size
            best = min(best, member)
    return NOBODY if best == 2 * size else best % size
