"""The order in which requests of several clients are placed.

Goals, in order: the requests of one owner never delay those of another by more than the work that
has begun; the owners that wait share the work equally, in replicas; the requests of one owner keep
their order; nothing waits while a worker is free, except for a large request behind other large
ones.

An owner is a client address, or the name in a client's certificate. The cost of a request is its
number of replicas.

Algorithm: start-time fair queueing. Each request has a start tag: the larger of the virtual time
and the end tag of its owner's last request. Its end tag is the start tag plus the cost. The least
start tag is next, then the least end tag. The virtual time is the start tag of the request that
began last.

```
owner A waits with 4 x 300, B asks for 6 while A's first is in work

A   start 0 (in work), 300, 600, 900
B   start 0: next
```

Large requests are in work in all workers but one, so that a small request never waits for the end
of a large one. They also wait, in order, while large answers that clients have not taken are in
memory. Two limits reject a request before any work: the cost that one owner may have waiting, in
work and not taken, and the number of waiting requests. If that number is reached, the last request
of the owner with the most is rejected instead of one from an owner with fewer.

```
add ──> waiting ── next ──> in work ── answered ──> answer in memory ── end
```

Limits: a request that has begun is not interrupted; an owner with many addresses has many shares.

Source: Goyal, Vin and Cheng, "Start-time fair queueing" (SIGCOMM 1996).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Job = TypeVar("Job")

LARGE = 10_000
"""Replicas of a large request; 10,000 are placed in some 20 ms."""
MOST_UNTAKEN = 3_000_000
"""Replicas of large requests in work and in answers that wait for their clients, 6 bytes each."""


@dataclass(frozen=True, slots=True)
class Waiting(Generic[Job]):
    """A request, from `add` to `end`."""

    job: Job
    owner: str
    cost: int
    """Replicas."""
    start: int
    """The start tag."""
    number: int
    """The requests before it."""

    @property
    def is_large(self) -> bool:
        """Whether it may not take the last worker."""
        return self.cost >= LARGE

    @property
    def end(self) -> int:
        """The end tag."""
        return self.start + self.cost

    @property
    def order(self) -> tuple[int, int, int]:
        """The least is next."""
        return self.start, self.end, self.number


class FairQueue(Generic[Job]):
    """The waiting requests, and what each owner has in work.

    `workers`: requests in work at once; `most_waiting`: requests that wait at once; `most_cost`:
    replicas that one owner has waiting, in work and not taken; one request alone may exceed it.
    """

    def __init__(self, *, workers: int, most_waiting: int, most_cost: int) -> None:
        self._most_large = max(1, workers - 1)
        self._most_waiting = most_waiting
        self._most_cost = most_cost
        self._waiting: list[Waiting[Job]] = []
        self._held: Counter[str] = Counter()
        self._last_end: dict[str, int] = {}
        self._large = 0
        self._untaken = 0
        self._time = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, job: Job, *, owner: str, cost: int) -> Job | None:
        """Queue a request; `cost`: 1 or more. Returns the rejected one, or None if all fit."""
        held = self._held[owner]
        if held and held + cost > self._most_cost:
            return job
        rejected = None
        if len(self._waiting) >= self._most_waiting:
            rejected = self._last_of_the_most(owner)
            if rejected is None:
                return job
            self._remove(rejected)
        start = max(self._time, self._last_end.get(owner, 0))
        added = Waiting(job, owner, cost, start, self._number)
        self._last_end[owner] = added.end
        self._waiting.append(added)
        self._held[owner] += cost
        self._number += 1
        return None if rejected is None else rejected.job

    def next(self) -> Waiting[Job] | None:
        """The request to begin; None if none may. Give it to `answered`, and then to `end`."""
        found = self._first_ready()
        if found is None:
            return None
        self._waiting.remove(found)
        self._time = max(self._time, found.start)
        self._last_end = {
            owner: end
            for owner, end in self._last_end.items()
            if end > self._time or owner in self._held
        }
        if found.is_large:
            self._large += 1
            self._untaken += found.cost
        return found

    def answered(self, begun: Waiting[Job]) -> None:
        """The worker of a request is free again."""
        self._large -= begun.is_large

    def end(self, begun: Waiting[Job]) -> None:
        """The answer of a request is taken or dropped."""
        if begun.is_large:
            self._untaken -= begun.cost
        self._release(begun)

    def drop(self, is_dropped: Callable[[Job], bool]) -> tuple[Job, ...]:
        """Remove waiting requests, and return them."""
        dropped = [each for each in self._waiting if is_dropped(each.job)]
        for each in dropped:
            self._remove(each)
        return tuple(each.job for each in dropped)

    def _first_ready(self) -> Waiting[Job] | None:
        """The first that may begin. No large one passes a large one that has no room."""
        is_held_back = False
        for each in sorted(self._waiting, key=lambda each: each.order):
            if not each.is_large or (not is_held_back and self._has_room(each.cost)):
                return each
            is_held_back = True
        return None

    def _has_room(self, cost: int) -> bool:
        """Whether a large request may begin; one may always if no other is in memory."""
        is_over = self._untaken > 0 and self._untaken + cost > MOST_UNTAKEN
        return self._large < self._most_large and not is_over

    def _last_of_the_most(self, owner: str) -> Waiting[Job] | None:
        """The last request of the owner with the most; None if no owner has two more."""
        counts = Counter(each.owner for each in self._waiting)
        most = max(counts.values(), default=0)
        if most < counts[owner] + 2:
            return None
        theirs = (each for each in self._waiting if counts[each.owner] == most)
        return max(theirs, key=lambda each: each.number)

    def _remove(self, waiting: Waiting[Job]) -> None:
        self._waiting.remove(waiting)
        if self._last_end[waiting.owner] == waiting.end:
            self._last_end[waiting.owner] = waiting.start
        self._release(waiting)

    def _release(self, waiting: Waiting[Job]) -> None:
        self._held[waiting.owner] -= waiting.cost
        if not self._held[waiting.owner]:
            del self._held[waiting.owner]
