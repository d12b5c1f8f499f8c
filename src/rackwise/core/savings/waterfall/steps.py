"""Applies a change to traffic, and leaves out the units for which it would cost money.

```
before   21 GiB   0.42      change: follower-fetch, by client group
after    18 GiB   0.36      rejected: groups that would pay more; doubts: groups that are not known
```

A step has the costs before the change, the traffic and costs after it, and for each unit why it is
left out or why its traffic after the change is not known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.assignors import WITHOUT_CHOICE
from rackwise.core.errors import MissingDependency, OptimumTooLarge
from rackwise.core.savings.consumers import (
    CLASSIC,
    Readers,
    ReplicaRacksOf,
    apply_assignment,
    apply_follower_fetch,
    reader_racks,
    stock_assignment,
)
from rackwise.core.savings.leaders import LeaderMoves
from rackwise.core.savings.model import (
    ASSIGNMENT,
    FETCH,
    FOLLOWER_FETCH,
    LEADER_MOVES,
    PRODUCE,
    PRODUCING,
    UNKNOWN_NAME,
)
from rackwise.core.savings.potential import BROKER_ASSIGNS, GROUP, MEMBERS, NO_CHOICE, Potentials
from rackwise.core.savings.producers import Producers
from rackwise.core.savings.tariff import Costs, CrossingCost, RatesOfRoutes
from rackwise.core.traffic import exact_usd_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from rackwise.core.errors import RackwiseError
    from rackwise.core.savings.consumers import AssignReaders, ReaderRacks
    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.traffic.chunks import Chunk, Lanes, Traffic, TrafficNames
    from rackwise.core.savings.traffic.columns import Codes
    from rackwise.core.savings.traffic.patterns import Patterns

    Unit: TypeAlias = tuple[str | None, str | None]
    """Topic and client group that a change applies to; the cluster where both are None."""

SEPARATOR = "; "
"""Between reasons in one text; no reason contains it."""


class BilledTraffic(NamedTuple):
    """Some traffic and its costs."""

    traffic: Traffic
    costs: Costs
    """By place."""

    @property
    def whole(self) -> CrossingCost:
        """The cost of all its bytes."""
        return self.costs.whole


class TrafficChange(NamedTuple):
    """A change of the waterfall, and the units that it applies to."""

    saving: str
    unit: Codes
    """Place -> number of its unit."""
    units: Sequence[Unit]
    follows: NDArray[np.bool_]
    """Client group -> whether it reads from replicas in its racks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingStep:
    """One change: the traffic before and after it."""

    change: TrafficChange
    before: Costs
    """By place, like all costs."""
    after: BilledTraffic
    rejected: Mapping[int, str]
    """The units that the change leaves out because it would cost something, and why."""
    doubts: Mapping[int, str]
    """Units whose traffic after the change is not known, and why."""
    unknown_readers: Mapping[int, Chunk] = field(default_factory=dict)
    """Number of a chunk -> its bytes that members with an unknown rack read after the change.

    They have the keys that they have before it.
    """
    eps: float | None = None
    load_factors: Mapping[str, float] = field(default_factory=dict)
    """topic -> the load of the fullest rack divided by its even share."""

    def without_traffic(self) -> SavingStep:
        """The step after its rows were computed."""
        return replace(self, after=self.after._replace(traffic=()))


def billed(traffic: Traffic, lanes: Lanes, rates: RatesOfRoutes) -> BilledTraffic:
    """The traffic with its costs."""
    return BilledTraffic(traffic, costs_of(traffic, lanes, rates))


def costs_of(traffic: Iterable[Chunk], lanes: Lanes, rates: RatesOfRoutes) -> Costs:
    """The costs of traffic, by place."""
    costs = Costs.zero(len(lanes.places[0]), rates.dtype)
    for chunk in traffic:
        lane, part = rates.of_chunk(chunk, lanes)
        costs.add_at(lanes.place[lane], part)
    return costs


class TrafficChanges:
    """Applies each change to traffic of one cluster."""

    def __init__(
        self,
        today: BilledTraffic,
        *,
        layout: Layout,
        names: TrafficNames,
        lanes: Lanes,
        patterns: Patterns,
        potentials: Potentials,
        rates: RatesOfRoutes,
        unkeyed: Mapping[str, float],
    ) -> None:
        self._layout = layout
        self._names = names
        self._lanes = lanes
        self._patterns = patterns
        self._potentials = potentials
        self._rates = rates
        self._unkeyed = unkeyed
        self._replicas = ReplicaRacksOf(layout)
        self._is_priced = today.whole.nano > 0
        self.follows_today = np.full(len(names.groups), layout.follows)
        """Client group -> whether it reads from replicas in its racks today."""
        topic, group = lanes.places
        self._by_topic = topic, [(name, None) for name in names.topics]
        self._by_group = group, [(None, name) for name in names.groups]
        self._by_cluster = np.zeros_like(topic), [(None, None)]

    def follower_fetch(self, before: BilledTraffic) -> SavingStep:
        """All groups read from replicas in their racks."""
        after = [
            apply_follower_fetch(chunk, self._patterns) if self._of_kind(chunk, FETCH) else chunk
            for chunk in before.traffic
        ]
        return self._step(
            TrafficChange(FOLLOWER_FETCH, *self._by_group, self.follows_today), before, after
        )

    def assignment(
        self, before: BilledTraffic, follows: NDArray[np.bool_], assign: AssignReaders
    ) -> SavingStep:
        """`assign` assigns the groups; those of `follows` read from replicas in their racks."""
        readers_of: dict[str, ReaderRacks] = {}
        doubts: dict[int, str] = {}
        for code in np.unique(self._lanes.group[self._fetches()]).tolist():
            group = self._names.groups[code]
            doubt = self._doubt(group, assign)
            try:
                if doubt is None:
                    readers_of[group] = reader_racks(
                        assign, self._layout, self._replicas, group, follows=bool(follows[code])
                    )
            except (MissingDependency, OptimumTooLarge) as error:
                doubt = _reason(error)
            if doubt is not None:
                doubts[code] = doubt
        readers = Readers.of(readers_of, self._patterns, self._names)
        after, unknown = list(before.traffic), {}
        for number, chunk in enumerate(before.traffic):
            if self._of_kind(chunk, FETCH):
                after[number], unread = apply_assignment(chunk, self._lanes, readers, follows)
                if len(unread.lane):
                    unknown[number] = unread
        step = self._step(
            TrafficChange(ASSIGNMENT, *self._by_group, follows), before, after, doubts
        )
        return replace(step, unknown_readers=unknown)

    def _fetches(self) -> NDArray[np.bool_]:
        """Whether a lane has reads."""
        is_read: NDArray[np.bool_] = self._lanes.kind == self._names.kind(FETCH)
        return is_read

    def _doubt(self, group: str, assign: AssignReaders) -> str | None:
        """Why the group's assignment is not known; None where it can be computed."""
        readers = self._layout.groups.get(group)
        if readers is None:
            return GROUP if group == UNKNOWN_NAME else MEMBERS
        if readers.protocol in WITHOUT_CHOICE:
            return NO_CHOICE
        if assign is stock_assignment and readers.protocol not in {CLASSIC, None}:
            return BROKER_ASSIGNS
        return None

    def producing(self, before: BilledTraffic, eps: Sequence[float]) -> Iterator[SavingStep]:
        """Producers choose partitions near them: a step for each bound."""
        produced = [chunk for chunk in before.traffic if self._of_kind(chunk, PRODUCE)]
        producers = Producers(produced, self._patterns, self._lanes, self._names, self._unkeyed)
        doubtful = self._doubtful_loads(produced)
        change = TrafficChange(PRODUCING, *self._by_topic, self.follows_today)
        for bound in eps:
            partitioned = producers.partitioned(bound)
            moved = iter(partitioned.chunks)
            after = [
                next(moved) if self._of_kind(chunk, PRODUCE) else chunk for chunk in before.traffic
            ]
            doubts = {} if bound == math.inf else doubtful
            step = self._step(change, before, after, doubts)
            yield replace(step, eps=bound, load_factors=partitioned.load_factors)

    def _doubtful_loads(self, produced: Traffic) -> dict[int, str]:
        """The topics to whose load other bytes may belong: a bound on it may allow more."""
        found = self._potentials.doubtful_loads(produced)
        everywhere = found.get(UNKNOWN_NAME)
        return {
            code: everywhere or found[topic]
            for code, topic in enumerate(self._names.topics)
            if topic in self._layout.racks and (everywhere or topic in found)
        }

    def leader_moves(self, before: BilledTraffic, follows: NDArray[np.bool_]) -> SavingStep:
        """Partitions get other leaders from their replica sets."""
        moves = LeaderMoves(
            layout=self._layout,
            patterns=self._patterns,
            lanes=self._lanes,
            names=self._names,
            rates=self._rates,
            follows=follows,
        )
        doubts: dict[int, str] = {}
        try:
            after: Traffic = moves.apply(before.traffic, self.value_of)
        except (MissingDependency, OptimumTooLarge) as error:
            after = before.traffic
            doubts[0] = _reason(error)
        return self._step(
            TrafficChange(LEADER_MOVES, *self._by_cluster, follows), before, after, doubts
        )

    def value_of(self, cost: CrossingCost) -> int:
        """Nano-dollars, or bytes where nothing has a price."""
        return cost.nano if self._is_priced else cost.cross

    def _step(
        self,
        change: TrafficChange,
        before: BilledTraffic,
        after: Traffic,
        doubts: Mapping[int, str] = MappingProxyType({}),
    ) -> SavingStep:
        """The change, without the units that would pay more."""
        pairs = list(zip(before.traffic, after, strict=True))
        replaced, added = (
            costs_of(
                (pair[end] for pair in pairs if pair[0] is not pair[1]), self._lanes, self._rates
            )
            for end in (0, 1)
        )
        costs = Costs(*(a - b + c for a, b, c in zip(before.costs, replaced, added, strict=True)))
        saved = before.costs.minus(costs).by(change.unit, len(change.units))
        rejected = {}
        worse = (saved.nano < 0) | (saved.unpriced < 0) | (saved.cross < 0)
        for unit in np.flatnonzero(worse).tolist():
            reason = self._rejection(saved.one(unit))
            if reason is not None:
                rejected[unit] = reason
        if rejected:
            is_rejected = np.zeros(len(change.units), dtype=np.bool_)
            is_rejected[list(rejected)] = True
            place = is_rejected[change.unit]
            costs = before.costs.where(place, costs)
            after = [self._merged(*pair, place[self._lanes.place]) for pair in pairs]
        return SavingStep(
            change=change,
            before=before.costs,
            after=BilledTraffic(after, costs),
            rejected=rejected,
            doubts=doubts,
        )

    def _merged(self, before: Chunk, after: Chunk, is_rejected: NDArray[np.bool_]) -> Chunk:
        """The traffic before the change for rejected lanes, and after it for all others."""
        if before is after:
            return before
        stays = before.part(np.flatnonzero(is_rejected[before.lane]))
        return after.part(np.flatnonzero(~is_rejected[after.lane])).joined(stays)

    def _rejection(self, saved: CrossingCost) -> str | None:
        """Why a unit is left out; None where the change saves or costs nothing."""
        if saved.nano < 0:
            return f"not applied: it would cost {exact_usd_text(-saved.nano)} USD"
        if saved.unpriced < 0 and self._is_priced:
            return f"not applied: {-saved.unpriced} bytes would cross where no price is known"
        if saved.nano == 0 and saved.cross < 0:
            return f"not applied: {-saved.cross} bytes more would cross"
        return None

    def _of_kind(self, chunk: Chunk, kind: str) -> bool:
        return self._names.kinds[chunk.kind] == kind


def _reason(error: RackwiseError) -> str:
    """Cause and cure of an error as one reason."""
    text = error.message if error.hint is None else f"{error.message}: {error.hint}"
    return text.replace(SEPARATOR, ", ")
