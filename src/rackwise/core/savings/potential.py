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

Columns. The lowest and the highest cost of all rows are computed at once. What a change could give
a row is a rate for its bytes, so each alternative is a column of rates:

```
fetch 5 a -> b, assignment      today rate 2     alternatives: free 0, the highest rate 3
fetch 7 a -> b, its only rack   today rate 2     alternatives: 2, 2
```

For bytes of an unknown topic, the alternatives are those of all partitions of the cluster that
explain them. They depend on two racks, the day, and whether the group follows, so each such case is
looked up once.

What this does not do: use the balance of leaders or the bound on a rack's load; both would make the
bound tighter, never wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rackwise.core.savings.leaders import ends_with_leader
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
from rackwise.core.savings.producers import TopicLeaders
from rackwise.core.savings.tariff import FREE, NO_COST, Costs
from rackwise.core.savings.traffic.chunks import NO_RACK
from rackwise.core.savings.traffic.columns import Lists, packed
from rackwise.core.savings.traffic.patterns import PatternFinder, PatternRacks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.tariff import CrossingCost, RatesOfRoutes
    from rackwise.core.savings.traffic.chunks import Chunk, Lanes, TrafficNames
    from rackwise.core.savings.traffic.columns import Codes
    from rackwise.core.savings.traffic.patterns import Patterns

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
NO_CHOICE: Final = (
    "the broker alone assigns a share or streams group: read with a consumer group instead"
)
KEYS: Final = "the share of records without a key is not known: set it with --unkeyed-share TOPIC=F"
PRICE: Final = "a level has no price: add a row to the table of --prices"

CAUSES: Final = (
    *(TOPIC, GROUP, RACK, KEYS, MEMBERS, MEMBER_RACK),
    *(MOVED, ABSENT, PRICE, BROKER_ASSIGNS, NO_CHOICE),
)
"""The reasons why a saving is not known, each with its cure; errors of a solver are others."""

MOVED_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    FOLLOWER_FETCH: (FETCH,),
    ASSIGNMENT: (FETCH,),
    PRODUCING: (PRODUCE,),
    LEADER_MOVES: (PRODUCE, FETCH, REPLICATE),
}
"""saving -> the kinds of bytes that it moves."""


OF_KEYS: Final = (TOPIC, RACK, MOVED, ABSENT, MEMBER_RACK)
"""The causes that depend on the bytes alone; the code of a cause is its place."""
DOUBT: Final = len(OF_KEYS)
"""The code of the cause that a unit has: why the change is not known."""
NO_FOUND: Final = -2
"""No rack: the group has members in several racks, or none."""


class Potential(NamedTuple):
    """What a change could save of some bytes, at most, and why that is not known better."""

    keys: Chunk
    most: Costs
    lost: Costs
    """What the bytes could cost more after the change."""
    cause: Codes
    """Code of `OF_KEYS`, or `DOUBT`."""

    def rows(self, rows: NDArray[np.bool_]) -> Potential:
        """The rows that are marked."""
        keys = self.keys.part(np.flatnonzero(rows))
        return Potential(keys, self.most.rows(rows), self.lost.rows(rows), self.cause[rows])


class Potentials:
    """Computes the potential of the traffic of one cluster."""

    def __init__(
        self,
        layout: Layout,
        patterns: Patterns,
        lanes: Lanes,
        names: TrafficNames,
        rates: RatesOfRoutes,
    ) -> None:
        self._patterns = patterns
        self._lanes = lanes
        self._names = names
        self._rates = rates
        self._unknown_topic = names.topics.index(UNKNOWN_NAME)
        self._is_placed = np.array([name in layout.racks for name in names.topics], dtype=np.bool_)
        self._leaders = TopicLeaders.of(patterns, names)
        every = sorted({racks for rows in patterns.rows.values() for racks in rows})
        self._every = PatternRacks.of(every)
        self._candidates = PatternFinder(every, follows=layout.follows)
        # group -> the rack that all members are in
        self._only_rack = np.full(len(names.groups), NO_FOUND)
        rack_codes = {rack: code for code, rack in enumerate(names.racks)}
        for code, name in enumerate(names.groups):
            members = layout.groups[name].members.values() if name in layout.groups else ()
            racks = {member.rack for member in members}
            rack = racks.pop() if len(racks) == 1 else None
            if rack is not None:
                self._only_rack[code] = rack_codes[rack]

    def of(
        self,
        saving: str,
        chunk: Chunk,
        follows: NDArray[np.bool_],
        has_doubt: NDArray[np.bool_],
    ) -> Potential:
        """The potential of the bytes of a chunk whose saving is not known.

        `follows`: group -> whether it reads from replicas in its racks. `has_doubt`: lane ->
        whether the change is not known although the partitions of the bytes are.
        """
        is_moved = self._names.kinds[chunk.kind] in MOVED_KINDS[saving]
        is_unknown = (chunk.slot == UNATTRIBUTED) | has_doubt[chunk.lane]
        keys = chunk.part(np.flatnonzero(is_unknown & is_moved))
        rate, no_rack = self._whole(keys)
        today = low = high = self._rates.cost(rate, keys.bytes)
        rows = np.flatnonzero(~no_rack)
        known = keys.part(rows)
        for alternative in self._after(saving, known, rate[rows], follows):
            after = rate.copy()
            after[rows] = alternative
            cost = self._rates.cost(after, keys.bytes)
            low, high = low.joined(cost, np.minimum), high.joined(cost, np.maximum)
        nothing = Costs.zero(len(rate), self._rates.dtype)
        most = today.where(no_rack, today.minus(low))
        anywhere = today if saving in {ASSIGNMENT, LEADER_MOVES} else nothing
        lost = anywhere.where(no_rack, high.minus(today))
        cause = np.where(keys.slot == UNATTRIBUTED, self._cause(keys), DOUBT)
        return Potential(keys, most, lost, cause).rows(most.any() | lost.any())

    def of_readers(self, keys: Chunk) -> Potential:
        """The potential of reads that a member with an unknown rack takes over."""
        rate, _ = self._whole(keys)
        today = self._rates.cost(rate, keys.bytes)
        lost = self._rates.cost(self._anywhere(keys), keys.bytes).minus(today)
        return Potential(keys, today, lost, np.full(len(rate), OF_KEYS.index(MEMBER_RACK)))

    def doubtful_loads(self, chunks: Iterable[Chunk]) -> Mapping[str, str]:
        """The topics with produced bytes of unknown partitions, and why these are not known.

        A topic with several causes has the first of `CAUSES`.
        """
        found: dict[int, int] = {}
        for chunk in chunks:
            keys = chunk.part(np.flatnonzero(chunk.slot == UNATTRIBUTED))
            topic = self._lanes.topic[keys.lane]
            code = packed((topic, self._cause(keys)), (len(self._names.topics), DOUBT))
            for each in np.unique(code).tolist():
                known, cause = divmod(each, DOUBT)
                found[known] = min(cause, found.get(known, DOUBT))
        return {self._names.topics[topic]: OF_KEYS[cause] for topic, cause in found.items()}

    def _whole(self, keys: Chunk) -> tuple[Codes, NDArray[np.bool_]]:
        """The rates of the greatest cost of bytes, exact if both racks are known.

        Also whether a rack is not known.
        """
        sender, receiver = self._rates.ends(keys)
        day, no_rack = self._lanes.day[keys.lane], (sender == NO_RACK) | (receiver == NO_RACK)
        rate = np.empty(len(day), dtype=np.int64)
        for rows, find in ((~no_rack, self._rates.of), (no_rack, self._rates.highest)):
            rate[rows] = find(day[rows], keys.kind, sender[rows], receiver[rows])
        return rate, no_rack

    def _anywhere(self, keys: Chunk) -> Codes:
        """The highest rates that the bytes could have between any two racks."""
        day, none = self._lanes.day[keys.lane], np.full(len(keys.lane), NO_RACK)
        return self._rates.highest(day, keys.kind, none, none)

    def _cause(self, keys: Chunk) -> Codes:
        """Why the partitions of bytes are not known."""
        topic = self._lanes.topic[keys.lane]
        no_rack = (keys.near == NO_RACK) | (keys.far == NO_RACK)
        where = np.where(self._is_placed[topic], OF_KEYS.index(MOVED), OF_KEYS.index(ABSENT))
        cause = np.where(no_rack, OF_KEYS.index(RACK), where)
        return np.where(topic == self._unknown_topic, OF_KEYS.index(TOPIC), cause)

    def _after(
        self, saving: str, keys: Chunk, today: Codes, follows: NDArray[np.bool_]
    ) -> Iterator[Codes]:
        """The rates that the bytes may have after the change. Both racks are known."""
        if saving == ASSIGNMENT:
            yield from self._assigned(keys, today)
        elif saving == PRODUCING:
            yield self._produced(keys, today)
        else:
            topic, is_unknown = self._lanes.topic[keys.lane], keys.slot == UNATTRIBUTED
            is_anywhere = is_unknown & (topic == self._unknown_topic)
            yield from self._scattered(saving, keys, is_anywhere, today, follows)
            if saving == LEADER_MOVES:
                yield from self._led(keys, ~is_unknown, today, follows)
            # The partitions were elsewhere then: nothing limits the saving.
            yield np.where(is_unknown & ~is_anywhere, FREE, today)
            if saving == LEADER_MOVES:
                yield self._elsewhere(
                    keys, is_unknown & ~is_anywhere & self._is_placed[topic], today
                )

    def _elsewhere(self, keys: Chunk, chosen: NDArray[np.bool_], today: Codes) -> Codes:
        """The highest rates between any two racks for the rows chosen, today's for others."""
        rate = today.copy()
        rate[chosen] = self._anywhere(keys.part(np.flatnonzero(chosen)))
        return rate

    def _assigned(self, keys: Chunk, today: Codes) -> Iterator[Codes]:
        """Members in the rack of the client alone read there, whatever they are assigned."""
        stays = self._only_rack[self._lanes.group[keys.lane]] == keys.far
        yield np.where(stays, today, FREE)
        yield self._elsewhere(keys, ~stays, today)

    def _produced(self, keys: Chunk, today: Codes) -> Codes:
        """Records stay where they are if no partition has its leader in the producer's rack."""
        topic = self._lanes.topic[keys.lane]
        leads = self._leaders.leads(topic, keys.far) | ~self._is_placed[topic]
        leads_any = np.isin(keys.far, self._patterns.table.racks[:, 0])
        leads = np.where(topic == self._unknown_topic, leads_any, leads)
        return np.where(leads, FREE, today)

    def _led(
        self, keys: Chunk, chosen: NDArray[np.bool_], today: Codes, follows: NDArray[np.bool_]
    ) -> Iterator[Codes]:
        """Any replica of the known partition may lead."""
        places = np.flatnonzero(chosen)
        length = self._patterns.table.lengths[self._patterns.pattern(keys.slot[places])]
        for position in range(length.max(initial=0)):
            rows = places[length > position]
            part = keys.part(rows)
            near, far = ends_with_leader(
                self._names.kinds[keys.kind],
                (part.near, part.far),
                self._patterns.table,
                self._patterns.pattern(part.slot),
                self._patterns.follower(part.slot),
                np.full(len(rows), position),
                follows=follows[self._lanes.group[part.lane]],
            )
            rate = today.copy()
            moved = part._replace(near=near, far=far)
            day = self._lanes.day[part.lane]
            rate[rows] = self._rates.of(day, keys.kind, *self._rates.ends(moved))
            yield rate

    def _scattered(
        self,
        saving: str,
        keys: Chunk,
        chosen: NDArray[np.bool_],
        today: Codes,
        follows: NDArray[np.bool_],
    ) -> Iterator[Codes]:
        """The bytes may belong to any partition of the cluster that explains them."""
        rows = np.flatnonzero(chosen)
        part = keys.part(rows)
        racks, days = len(self._names.racks), len(self._names.days)
        is_near = follows[self._lanes.group[part.lane]]
        case = packed((part.near, part.far, is_near.astype(np.int64)), (racks, racks, 2))
        _, first, case = np.unique(case, return_index=True, return_inverse=True)
        cases = part.part(first)
        found_case, moved = self._moved(saving, cases, is_near[first])
        # The ends of each case: each once, then once for each day of the case.
        ends = Lists(
            np.searchsorted(found_case, np.arange(len(first))),
            np.bincount(found_case, minlength=len(first)),
        )
        dated, at, number = np.unique(
            packed((case, self._lanes.day[part.lane]), (len(first) + 1, days)),
            return_index=True,
            return_inverse=True,
        )
        one, end = ends.of_rows(case[at]).expanded()
        day = self._lanes.day[part.lane[at]][one]
        rate = self._rates.of(day, keys.kind, *self._rates.ends(moved.part(end)))
        code = np.unique(packed((one, rate), (len(dated) + 1, self._rates.count)))
        one, rate = np.divmod(code, self._rates.count)
        lists = Lists(
            np.searchsorted(one, np.arange(len(dated))), np.bincount(one, minlength=len(dated))
        ).of_rows(number)
        for place in range(lists.length.max(initial=0)):
            some = np.flatnonzero(lists.length > place)
            after = today.copy()
            after[rows[some]] = rate[lists.start[some] + place]
            yield after
        # No partition explains the bytes.
        is_missing = np.zeros(len(today), dtype=np.bool_)
        is_missing[rows[lists.length == 0]] = True
        yield np.where(is_missing, FREE, today)
        if saving == LEADER_MOVES:
            is_placed = self._is_placed[self._lanes.topic[keys.lane]]
            yield self._elsewhere(keys, is_missing & is_placed, today)

    def _moved(self, saving: str, cases: Chunk, follows: NDArray[np.bool_]) -> tuple[Codes, Chunk]:
        """The number of a case, and the bytes with the ends that they may have, each once."""
        kind = self._names.kinds[cases.kind]
        found = [
            (row, number, follower)
            for row, (near, far) in enumerate(
                zip(cases.near.tolist(), cases.far.tolist(), strict=True)
            )
            for number, follower in self._candidates.of(kind, near, far)
        ]
        case, number, follower = np.array(found, dtype=np.int64).reshape(-1, 3).T
        part = cases.part(case)
        if saving == FOLLOWER_FETCH:
            near, far = self._every.nearest(number, part.far), part.far
        else:
            length = self._every.lengths[number]
            row, position = Lists(np.zeros_like(length), length).expanded()
            case, part = case[row], part.part(row)
            near, far = ends_with_leader(
                kind,
                (part.near, part.far),
                self._every,
                number[row],
                follower[row],
                position,
                follows=follows[case],
            )
        racks = len(self._names.racks) + 1
        code = packed((case, near + 1, far + 1), (len(cases.lane) + 1, racks, racks))
        _, rows = np.unique(code, return_index=True)
        return case[rows], part._replace(near=near, far=far).part(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRange:
    """The least and the greatest saving of a row."""

    saved: CrossingCost = NO_COST
    """What the bytes with known partitions save."""
    most: CrossingCost = NO_COST
    """What all other bytes could save."""
    causes: tuple[str, ...] = ()
    """Why that is not known; empty if it is nothing."""
    is_proved: bool = True
    """Whether `saved` is saved for certain; else it is saved at most."""
    lost_bytes: int | None = 0
    """What other bytes of the unit could lose; None if it is all that the unit saves, or more."""
    lost_nano: int | None = 0
    """The same in nano-dollars."""
    doubts: tuple[str, ...] = ()
    """Why it is not known what other bytes could lose."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the saving is not known."""
        found = [*self.causes]
        if any(self.saved):
            found += self.doubts
        if not self.is_proved:
            found.append(KEYS)
        if self.saved.unpriced or self.most.unpriced:
            found.append(PRICE)
        return reasons_of(tuple(found))

    @property
    def bytes_low(self) -> int | None:
        """The least bytes; None if they are 0 and not known to be 0."""
        return self._low(self.saved.cross, self.lost_bytes, is_whole=True)

    @property
    def nano_low(self) -> int | None:
        """The least nano-dollars; None if they are 0 and not known to be 0."""
        return self._low(self.saved.nano, self.lost_nano, is_whole=not self.saved.unpriced)

    def _low(self, saved: int, lost: int | None, *, is_whole: bool) -> int | None:
        is_known = is_whole and not self.causes and (self.is_proved or not saved)
        if lost is None:
            return 0 if is_known and not saved else None
        least = (saved if self.is_proved else min(saved, 0)) - lost
        return least if least or (is_known and not lost) else None

    def high(self, saved: int) -> int:
        """The greatest saving of the bytes with known partitions."""
        return saved if self.is_proved else max(saved, 0)


@lru_cache(maxsize=1_000)
def reasons_of(causes: tuple[str, ...]) -> tuple[str, ...]:
    """The different causes, in the order of `CAUSES`, then all others."""
    found = dict.fromkeys(causes)
    known = [cause for cause in CAUSES if cause in found]
    return (*known, *(cause for cause in found if cause not in known))
