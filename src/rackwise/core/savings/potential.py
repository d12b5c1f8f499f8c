"""What a change could save, at most, of bytes whose saving is not known.

Goals, in order: no saving is stated as 0 unless it is known to be 0; the bound is never below the
truth; the bound is as tight as the placement shows.

A saving is known for bytes whose partitions, racks and readers are known. For all other bytes this
module computes a bound, per key of the traffic: the cost today minus the lowest cost that the
change could give, over all partitions of the last snapshot that the bytes may belong to.

```
fetch a -> b, topic not known      partitions of the cluster led in a: [a b] [a c]
  follower-fetch                   [a b] would be read in b, local: all of it could be saved
fetch a -> d                       no replica in d, so the leader in a is read: nothing is saved
replicate a -> b                   any leader of [a b c] copies to two other racks: nothing is saved
                                   [a b b] led in b copies to b and a: all of it could be saved
```

When is 0 known? A change saves 0 for certain if, for every byte of the kinds that it moves,

1. the byte does not cross, or the computation of the change leaves it where it is, or
2. the byte is in no known partition, and no partition that it may belong to would lower its cost.

A change also moves the bytes that are not known, and they may then cost more. What they may lose is
computed in the same way: the highest cost that the change could give minus the cost today. It is
subtracted from what the other bytes of the same unit save. If it is not less than that, nothing is
proved, because the whole change may not be worth it.

Everything else is a reason in `CAUSES`: it has a cause and a cure. Then the least saving is what
the other bytes save; it is None if they save 0, because 0 would not be a result. The greatest
saving adds the bound. It is None in dollars if a level that the bytes may cross has no price.

Bytes with an unknown rack have no dollars in the bill. Their bound is the highest price that may
apply (`core.traffic.highest_price`), as if all of them crossed.

What this does not do: use the balance of leaders or the bound on a rack's load; both would make the
bound tighter, never wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rackwise.core.savings.leaders import key_with_leader
from rackwise.core.savings.model import (
    ASSIGNMENT,
    FETCH,
    FOLLOWER_FETCH,
    LEADER_MOVES,
    PRODUCE,
    PRODUCING,
    REPLICATE,
    UNATTRIBUTED,
    UNKNOWN_NAME,
)
from rackwise.core.savings.spread import candidates
from rackwise.core.savings.tariff import CrossingCost, total_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import TrafficKey
    from rackwise.core.savings.tariff import Tariff

    Racks: TypeAlias = tuple[str | None, ...]
    """The racks of the replicas of a partition, leader first."""

TOPIC: Final = "the topic is not known: take snapshots with --measure, or add --rates FILE"
ABSENT: Final = "the last snapshot does not have the topic: take a snapshot while the topic exists"
MOVED: Final = (
    "no partition of the topic has replicas in both racks in the last snapshot: take a snapshot at "
    "the time of the traffic"
)
RACK: Final = "the rack of one end is not known: add --subnets FILE or --clients FILE"
GROUP: Final = "the client group is not known: take snapshots while the clients are running"
MEMBERS: Final = (
    "the snapshot has no members of the group: take snapshots while the group is running"
)
MEMBER_RACK: Final = (
    "the rack of a member is not known: set client.rack, or add --subnets FILE or --clients FILE"
)
BROKER_ASSIGNS: Final = (
    "the broker assigns the partitions of the group: compare with the views alone and waterfall"
)
KEYS: Final = "the share of records without a key is not known: set it with --unkeyed-share TOPIC=F"
PRICE: Final = "a level has no price: add a row to the table of --prices"

CAUSES: Final = (
    *(TOPIC, GROUP, RACK, KEYS, MEMBERS, MEMBER_RACK),
    *(MOVED, ABSENT, PRICE, BROKER_ASSIGNS),
)
"""The reasons why a saving is not known, each with its cure; errors of a solver are others."""

MOVED_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    FOLLOWER_FETCH: (FETCH,),
    ASSIGNMENT: (FETCH,),
    PRODUCING: (PRODUCE,),
    LEADER_MOVES: (PRODUCE, FETCH, REPLICATE),
}
"""saving -> the kinds of bytes that it moves."""


FREE: Final = CrossingCost()


class Potential(NamedTuple):
    """What a change could save of some bytes, at most, and why that is not known better."""

    most: CrossingCost
    cause: str
    lost: CrossingCost = FREE
    """What the bytes could cost more after the change."""


class Potentials:
    """Computes the potential of the traffic of one cluster."""

    def __init__(self, layout: Layout, tariff: Tariff) -> None:
        self._layout = layout
        self._tariff = tariff
        self._every_pattern = tuple(
            sorted({racks for each in layout.racks.values() for racks in each}, key=str)
        )
        self._leader_racks = {racks[0] for racks in self._every_pattern}

    def of(
        self,
        saving: str,
        key: TrafficKey,
        bytes_: int,
        follows: Callable[[str], bool],
        doubt: str | None = None,
    ) -> Potential | None:
        """The potential of bytes; None if their saving is known.

        `follows`: client group -> whether it reads from replicas in its racks. `doubt`: why the
        change is not known although the partitions of the bytes are.
        """
        is_known = key.pattern != UNATTRIBUTED and doubt is None
        if is_known or key.kind not in MOVED_KINDS[saving]:
            return None
        today = self.whole(key, bytes_)
        if None in key.ends:
            most, lost = today, today if saving in {ASSIGNMENT, LEADER_MOVES} else CrossingCost()
        else:
            costs = [today, *self._after(saving, key, bytes_, today, follows)]
            most = today.minus(CrossingCost(*map(min, zip(*costs, strict=True))))
            lost = CrossingCost(*map(max, zip(*costs, strict=True))).minus(today)
        why = doubt if doubt is not None and key.pattern != UNATTRIBUTED else self.cause(key)
        return Potential(most, why, lost) if any(most) or any(lost) else None

    def of_readers(self, key: TrafficKey, bytes_: int) -> Potential:
        """The potential of reads that a member with an unknown rack takes over."""
        today = self.whole(key, bytes_)
        return Potential(today, MEMBER_RACK, self._anywhere(key, bytes_).minus(today))

    def _anywhere(self, key: TrafficKey, bytes_: int) -> CrossingCost:
        """The highest cost that the bytes could have between any two racks."""
        return self._tariff.highest_cost((key.day, key.kind, None, None), bytes_)

    def whole(self, key: TrafficKey, bytes_: int) -> CrossingCost:
        """The greatest cost that the bytes may have; exact if both racks are known."""
        route = (key.day, key.kind, *key.ends)
        if None in key.ends:
            return self._tariff.highest_cost(route, bytes_)
        return self._tariff.cost(route, bytes_)

    def cause(self, key: TrafficKey) -> str:
        """Why the partitions of bytes are not known."""
        if key.topic == UNKNOWN_NAME:
            return TOPIC
        if None in key.ends:
            return RACK
        return MOVED if key.topic in self._layout.racks else ABSENT

    def _after(
        self,
        saving: str,
        key: TrafficKey,
        bytes_: int,
        today: CrossingCost,
        follows: Callable[[str], bool],
    ) -> Iterator[CrossingCost]:
        """The costs that the bytes may have after the change."""
        if saving == ASSIGNMENT:
            yield from self._assigned(key, bytes_, today)
        elif saving == PRODUCING:
            yield from self._produced(key, today)
        else:
            found = self._candidates(key)
            for racks, follower in found:
                for ends in _ends_after(saving, key, racks, follower, follows):
                    yield self._tariff.cost((key.day, key.kind, *ends), bytes_)
            if not found:  # the partitions were elsewhere then: nothing limits the saving
                yield CrossingCost()
            if not found and saving == LEADER_MOVES and key.topic in self._layout.racks:
                yield self._anywhere(key, bytes_)

    def _assigned(
        self, key: TrafficKey, bytes_: int, today: CrossingCost
    ) -> Iterator[CrossingCost]:
        """Members in the rack of the client alone read there, whatever they are assigned."""
        readers = self._layout.groups.get(key.client_group)
        racks = set() if readers is None else {member.rack for member in readers.members.values()}
        if racks == {key.far}:
            yield today
        else:
            yield CrossingCost()
            yield self._anywhere(key, bytes_)

    def _produced(self, key: TrafficKey, today: CrossingCost) -> Iterator[CrossingCost]:
        """Records stay where they are if no partition has its leader in the producer's rack."""
        patterns = self._layout.racks.get(key.topic)
        if key.topic == UNKNOWN_NAME:
            leaders = self._leader_racks
        elif patterns is None:
            leaders = {key.far}
        else:
            leaders = {racks[0] for racks in patterns}
        yield CrossingCost() if key.far in leaders else today

    def _candidates(self, key: TrafficKey) -> Sequence[tuple[Racks, int]]:
        """The racks of partitions that may have the bytes, and the position of the follower.

        None if the topic is known and none of its partitions explains the bytes.
        """
        if key.pattern != UNATTRIBUTED:
            return [(self._layout.racks[key.topic][key.pattern], key.follower)]
        if key.topic != UNKNOWN_NAME:
            return []
        found = candidates(
            self._every_pattern, key.kind, key.near, key.far, follows=self._layout.follows
        )
        return [(self._every_pattern[number], follower) for number, follower in found]


def _ends_after(
    saving: str, key: TrafficKey, racks: Racks, follower: int, follows: Callable[[str], bool]
) -> Iterator[tuple[str | None, str | None]]:
    """The ends that the bytes may have after the change, if they belong to such a partition."""
    if saving == FOLLOWER_FETCH:
        yield key._replace(near=key.far if key.far in racks else racks[0]).ends
        return
    for position in range(len(racks)):
        moved = key._replace(follower=follower)
        yield key_with_leader(moved, racks, position, follows=follows).ends


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRange:
    """The least and the greatest saving of a row."""

    saved: CrossingCost = FREE
    """What the bytes with known partitions save."""
    potentials: tuple[Potential, ...] = ()
    is_proved: bool = True
    """Whether `saved` is saved for certain; else it is saved at most."""
    lost_bytes: int | None = 0
    """What other bytes of the unit could lose; None if it is all that the unit saves, or more."""
    lost_nano: int | None = 0
    """The same in nano-dollars."""
    doubts: tuple[Potential, ...] = ()
    """The bytes that could lose something."""

    @property
    def most(self) -> CrossingCost:
        """What all other bytes could save."""
        return total_cost(potential.most for potential in self.potentials)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the saving is not known."""
        found = [*self.potentials]
        if any(self.saved):
            found += self.doubts
        if not self.is_proved:
            found.append(Potential(self.saved, KEYS))
        if self.saved.unpriced or self.most.unpriced:
            found.append(Potential(self.saved, PRICE))
        return reasons_of(found)

    @property
    def bytes_low(self) -> int | None:
        """The least bytes; None if they are 0 and not known to be 0."""
        return self._low(self.saved.cross, self.lost_bytes, is_whole=True)

    @property
    def nano_low(self) -> int | None:
        """The least nano-dollars; None if they are 0 and not known to be 0."""
        return self._low(self.saved.nano, self.lost_nano, is_whole=not self.saved.unpriced)

    def _low(self, saved: int, lost: int | None, *, is_whole: bool) -> int | None:
        is_known = is_whole and not self.potentials and (self.is_proved or not saved)
        if lost is None:
            return 0 if is_known and not saved else None
        least = (saved if self.is_proved else min(saved, 0)) - lost
        return least if least or (is_known and not lost) else None

    def high(self, saved: int) -> int:
        """The greatest saving of the bytes with known partitions."""
        return saved if self.is_proved else max(saved, 0)


def reasons_of(potentials: Sequence[Potential]) -> tuple[str, ...]:
    """The different causes, in the order of `CAUSES`, then all others."""
    found = dict.fromkeys(potential.cause for potential in potentials)
    known = [cause for cause in CAUSES if cause in found]
    return (*known, *(cause for cause in found if cause not in known))
