"""Kafka's own rack-aware algorithm, bit for bit, and the same algorithm without racks.

Goals, in order: the same rows as `AdminUtils` of Kafka 0.10 to 3.9, for any cluster and any start;
a million rows in a tenth of a second; intermediate arrays of limited size.

Constraints. The caller sets start and shift, or they are drawn, start first. All arithmetic uses
int64 arrays. Blocks of about 65,536 partitions limit the memory.

The algorithm. The brokers form a ring, alternating by rack. The leader of partition p is the broker
at place (p + start) mod n. A sweep along the ring selects the followers. It starts at a place after
the leader, and this place moves by the number of racks with each round of the ring. The sweep skips
a place if its rack has a replica and another rack has none, or if its broker has a replica.

```
rack1 0 5     rack2 3 4     rack3 1 2          ring = 0 3 1 5 4 2

p   leader  sweep from             followers
0   0       3 (shift 0)            3 1
1   3       1                      1 5
..
6   0       4 (shift 1 * 3 racks)  4 2         the second round
7   3       2                      2 0
```

This implementation has no loops over partitions. A block consists of whole rounds: arrays
[replicas, rounds, n], because a round has one shift and every place leads once. From each place of
the ring, the first m brokers of m different racks (m = racks, or replicas if fewer) are always the
same: a table [m, n]. The followers of a partition are its column without the entry in the leader's
rack. If that rack is not in the column, they are the column without its last entry. Once every rack
holds a replica, the sweep skips only brokers, and the rest of the sweep is arithmetic. Ring and
table are stored twice in a row, which avoids a modulo for each replica.

Adding partitions. `upstream`: Kafka finds the index of the first leader in the list sorted by id
and uses this index on the ring. This flaw is kept. The count of rounds starts again. `aligned`: the
placer uses the place of the first leader on the ring, and counts rounds as if all partitions had
been created at once. Then a topic created in two steps equals a topic created in one. Both ignore
`start` and `shift`.

This placer does not balance replicas over uneven racks: a single broker in a rack takes a replica
of most partitions. It ignores levels of racks (a path is an opaque name), and ignores loads.

Source: KIP-36; `org.apache.kafka.admin.AdminUtils`, `kafka.zk.AdminZkClient` (Kafka 3.9).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rackwise.core.errors import InvalidConfig
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Broker
    from rackwise.core.placement.model import Request

BLOCK = 65_536
"""About as many partitions are worked on at once."""
CONTINUATIONS = ("upstream", "aligned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kip36:
    """Kafka's rack-aware rule; without any rack, its plain rule.

    Raises `InvalidConfig` for other values, and if a value must be drawn without `rng`.
    """

    start: int | None = None
    """Ring index of partition 0's leader, >= 0; None draws it."""
    shift: int | None = None
    """Start of the followers, >= 0; None equals `start`, or is drawn if `start` is drawn."""
    continuation: Literal["upstream", "aligned"] = "upstream"
    """How partitions are added."""

    name: ClassVar[str] = "kip36"

    def __post_init__(self) -> None:
        for option, value in (("start", self.start), ("shift", self.shift)):
            if value is not None and (type(value) is not int or value < 0):
                raise InvalidConfig(
                    f"invalid {option}: expected an integer >= 0, got {value!r}",
                    wanted=0,
                    had=value,
                    hint="0 is the first broker of the ring",
                )
        if self.continuation not in CONTINUATIONS:
            raise InvalidConfig(
                f"invalid continuation: expected one of {', '.join(CONTINUATIONS)}, got "
                f'"{self.continuation}"',
                wanted=", ".join(CONTINUATIONS),
                had=self.continuation,
                hint="use upstream to add partitions as Kafka does, aligned to place them as if "
                "all were created at once",
            )

    def place(self, request: Request, /) -> NDArray[np.int32]:
        """Rows of broker ids, int32 [partitions, replication]."""
        if all(broker.rack is None for broker in request.brokers):
            ring, racks = [broker.id for broker in request.brokers], None
        else:
            ordered = _alternated(request.brokers)
            ring, racks = [broker.id for broker in ordered], _rack_numbers(ordered)
        start, shift = self._begin(request, ring)
        sweep = _Sweep.of(ring, racks, start, request.replication)
        rows = np.empty((request.partitions, request.replication), dtype=np.int32)
        first = max(0, request.first_partition)
        after, size = first + request.partitions, len(ring)
        rounds, whole = max(1, BLOCK // size), -(-after // size)
        for begin in range(first // size, whole, rounds):
            end = min(begin + rounds, whole)
            made = sweep.rows(np.arange(begin, end, dtype=np.int64) + shift)
            low, high = max(first, begin * size), min(after, end * size)
            rows[low - first : high - first] = made[low - begin * size : high - begin * size]
        return rows

    def _begin(self, request: Request, ring: Sequence[int]) -> tuple[int, int]:
        """The ring index of partition 0's leader, and the shift of round 0."""
        rounds_before = max(0, request.first_partition - 1) // len(ring)
        if request.existing is not None:
            ids = sorted(ring)
            at = bisect_left(ids, int(request.existing.rows[0, 0]))
            at = at if at < len(ids) else 0
            if self.continuation == "upstream":
                return at, at - rounds_before
            start = ring.index(ids[at])
            return start, start
        if self.start is not None:
            shift = self.start if self.shift is None else self.shift
            return self.start, shift - rounds_before
        if request.rng is None:
            raise InvalidConfig(
                "invalid start: expected a start or an rng, got neither",
                wanted="start or rng",
                hint="give start=, or rng= a seeded random.Random",
            )
        start = request.rng.randrange(len(ring))
        shift = request.rng.randrange(len(ring)) if self.shift is None else self.shift
        return start, shift - rounds_before


class Unaware(Kip36):
    """Kafka's rule with racks ignored."""

    __slots__ = ()

    name: ClassVar[str] = "unaware"

    @override
    def place(self, request: Request, /) -> NDArray[np.int32]:
        """Rows of broker ids, int32 [partitions, replication]."""
        brokers = tuple(replace(broker, rack=None) for broker in request.brokers)
        return Kip36.place(self, replace(request, brokers=brokers))


def alternated(brokers: Sequence[Broker]) -> tuple[int, ...]:
    """The ring: brokers of the racks in turn, in id order within a rack. Source: KIP-36.

    Racks come in the order of their UTF-16 code units, as in Java; "no rack" comes first.
    """
    return tuple(broker.id for broker in _alternated(brokers))


def _alternated(brokers: Sequence[Broker]) -> list[Broker]:
    ranks: dict[tuple[bool, bytes], int] = {}
    keys = {}
    for broker in sorted(brokers, key=lambda broker: broker.id):
        rack = rack_key(broker)
        ranks[rack] = rank = ranks.get(rack, -1) + 1
        keys[broker.id] = (rank, rack)
    return sorted(brokers, key=lambda broker: keys[broker.id])


def rack_key(broker: Broker) -> tuple[bool, bytes]:
    """The key by which Java orders rack names; "no rack" comes before every text."""
    if broker.rack is None:
        return (False, b"")
    return (True, broker.rack.text.encode("utf-16-be", "surrogatepass"))


def _rack_numbers(brokers: Sequence[Broker]) -> NDArray[np.int64]:
    """A number for the rack of each broker, different for each rack, int64 [brokers]."""
    numbers: dict[tuple[bool, bytes], int] = {}
    return np.array(
        [numbers.setdefault(rack_key(broker), len(numbers)) for broker in brokers], dtype=np.int64
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sweep:
    """The tables from which the rows of a round follow from its shift."""

    ring: NDArray[np.int32]
    """Broker ids, the ring twice in a row, int32 [2 n]."""
    leaders: NDArray[np.int64]
    """Places of the leaders of a round, int64 [n]."""
    led: NDArray[np.int64]
    """Racks of these leaders, int64 [n]."""
    count: int
    """The number of racks."""
    table: NDArray[np.int64]
    """Places of the first m brokers of different racks from each place on, int64 [m, 2 n]."""
    racks: NDArray[np.int64]
    """Racks of `table` without its last row."""
    replication: int

    @classmethod
    def of(
        cls, ring: Sequence[int], racks: NDArray[np.int64] | None, start: int, replication: int
    ) -> _Sweep:
        """The tables of a ring; the same code with racks and without."""
        numbers = np.zeros(len(ring), dtype=np.int64) if racks is None else racks
        count = int(numbers.max()) + 1
        leaders = (np.arange(len(ring), dtype=np.int64) + start) % len(ring)
        table = np.tile(_first_of_each_rack(numbers, min(count, replication)).T, 2)
        return cls(
            ring=np.tile(np.array(ring, dtype=np.int32), 2),
            leaders=leaders,
            led=numbers[leaders],
            count=count,
            table=table,
            racks=numbers[table[:-1]],
            replication=replication,
        )

    def rows(self, shifts: NDArray[np.int64]) -> NDArray[np.int32]:
        """Rows of whole rounds, one round per shift, int32 [rounds * n, replication]."""
        made = np.empty((self.replication, len(shifts), len(self.leaders)), dtype=np.int32)
        made[0] = self.ring[self.leaders]
        if self.replication > 1:
            begins = (shifts * self.count) % (len(self.leaders) - 1)
            if self.count == 1:
                made[1:] = self.ring.take(self._onward(begins))
            else:
                followers = self._one_of_each_rack(begins)
                made[1 : len(followers) + 1] = self.ring.take(followers)
                if self.replication > self.count:
                    made[self.count :] = self.ring.take(self._passing_over(followers))
        return np.stack(list(made.reshape(self.replication, -1)), axis=1)

    def _onward(self, begins: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places from `begins` on, int64 [replication - 1, rounds, n]."""
        steps = np.arange(self.replication - 1)[:, None] + begins
        return steps[:, :, None] % (len(self.leaders) - 1) + (self.leaders + 1)

    def _one_of_each_rack(self, begins: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of followers in racks other than the leader's, int64 [m - 1, rounds, n]."""
        places = begins[:, None] + (self.leaders + 1)
        found = self.table.take(places, axis=1)
        is_past = self.racks.take(places, axis=1) == self.led
        for nearer, farther in pairwise(is_past):
            np.logical_or(nearer, farther, out=farther)
        followers: NDArray[np.int64] = found[:-1] + np.diff(found, axis=0) * is_past
        return followers

    def _passing_over(self, followers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The next free places after the last follower, int64 [rest, rounds, n].

        Counted from there, the taken places are in ascending order, because the sweep met them in
        this order. Of the free places, number j is j plus the number of taken places before it.
        """
        around = len(self.leaders) - 1
        taken = (followers - (self.leaders + 1)) % len(self.leaders)
        begins = taken[-1] + 1
        free = np.arange(self.replication - self.count)[:, None, None]
        ahead = np.zeros((len(free), *begins.shape), dtype=np.int64)
        for number, place in enumerate(taken):
            ahead += (place - begins) % around - number <= free
        places: NDArray[np.int64] = (begins + free + ahead) % around + (self.leaders + 1)
        return places


def _first_of_each_rack(racks: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """From each place of the ring, the places of the first `width` different racks."""
    table = np.zeros((len(racks), width), dtype=np.int64)
    filled = np.zeros(len(racks), dtype=np.int64)
    open_rows = np.arange(len(racks), dtype=np.int64)
    step = 0
    while len(open_rows):
        places = (open_rows + step) % len(racks)
        met = racks[table[open_rows]] == racks[places][:, None]
        met &= np.arange(width) < filled[open_rows][:, None]
        is_new = ~met.any(axis=1)
        rows = open_rows[is_new]
        table[rows, filled[rows]] = places[is_new]
        filled[rows] += 1
        open_rows = open_rows[filled[open_rows] < width]
        step += 1
    return table
