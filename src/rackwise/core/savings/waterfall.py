"""What each change saves: alone, and on top of the changes before it.

Goals, in order: no byte is counted twice; every sum is exact to the nano-dollar; no step costs.

```
demo: orders 0 [1 2], 1 [2 3], 2 [3 1]; all produced in a; read in b, a, c; 3 GiB each; 0.02 per GiB

                  alone            waterfall        left
today                                               21 GiB  0.42
follower-fetch    3 GiB  0.06      3 GiB  0.06      18      0.36
assignment        6      0.12      3      0.06      15      0.30
producing, 0.1    0.3    0.006     0.3    0.006     14.7    0.294
  without bound   6      0.12
leader-moves      0      0         0      0         14.7    0.294   replication: cannot be saved
```

The algorithm. `spread` attributes the flows of the bill to partitions. A change is a function from
such traffic to other traffic. It saves the difference of the two costs, by the rule of the bill. In
the view `alone` every change starts from today's traffic. In the waterfall it starts from the
traffic that the changes before it left, so the steps add up to the first cost minus the last one.

Some changes apply to units: one client group, one topic. A unit is left out where the change would
cost money, or would move bytes to where no price is known. Its row then saves 0 and says why.

Ranges. Each row has the least and the greatest saving, in bytes and dollars. The least saving is
what bytes with known partitions and readers save, minus what all other bytes of the unit could lose
by the same change. The greatest saving adds the bound of these other bytes. See `potential`, which
also says when a saving is known to be 0. If nothing but 0 is proved and the bound is above 0, the
least saving is None. The row of the view `total` counts each byte once, although several changes
could save it. `producing` is proved only for topics whose share of records without a key is given;
for other topics it is between nothing and its value.

```
fetch a -> b  3 GiB of orders    3 GiB saved        low 3 GiB   high 3 GiB
fetch a -> b  2 GiB of unknown   up to 2 GiB        low None    high 2 GiB    the topic is not known
total                                               low 3 GiB   high 5 GiB
```

The bound of `producing` in the waterfall is `USUAL_EPS` if it is one of the bounds, otherwise the
largest finite one. Alone, every bound has its row, and so has the saving without a bound.

Columns. Traffic is in chunks of lanes (see `traffic.chunks`), and a change is applied chunk by
chunk. What it costs is added up by place, the topic and client group of a lane. A unit is a set of
places, so the sums of places decide which units are left out. Rows are computed from these sums
too, so the traffic of a step is dropped as soon as its rows and the next step are computed.

What this does not do: change how much is read or copied of a partition when producers choose other
partitions; look for the best order of changes; plan moves of replicas; compute later steps again
for records with keys: they start from the traffic that `producing` leaves at its greatest saving.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from rackwise.core.assignors import WITHOUT_CHOICE
from rackwise.core.errors import MissingDependency, OptimumTooLarge, SplitError
from rackwise.core.partitioner.split.rates import check_eps
from rackwise.core.savings.consumers import (
    CLASSIC,
    Readers,
    ReplicaRacksOf,
    apply_assignment,
    apply_follower_fetch,
    optimal_assignment,
    reader_racks,
    stock_assignment,
)
from rackwise.core.savings.leaders import LeaderMoves
from rackwise.core.savings.model import (
    ALL,
    ALONE,
    ASSIGNMENT,
    CONDITIONS,
    EPS,
    FETCH,
    FOLLOWER_FETCH,
    LEADER_MOVES,
    PRODUCE,
    PRODUCING,
    STOCK,
    TOTAL,
    UNKNOWN_NAME,
    USUAL_EPS,
    WATERFALL,
    Saving,
)
from rackwise.core.savings.potential import (
    BROKER_ASSIGNS,
    GROUP,
    MEMBERS,
    NO_CHOICE,
    OF_KEYS,
    Potentials,
    SavedRange,
)
from rackwise.core.savings.producers import Producers
from rackwise.core.savings.tariff import (
    Costs,
    CrossingCost,
    RatesOfRoutes,
    Tariff,
    greatest_cost,
)
from rackwise.core.savings.traffic.columns import exact_dtype, exact_sum, run_starts
from rackwise.core.savings.traffic.patterns import Patterns
from rackwise.core.savings.traffic.spread import laned, names_of, spread
from rackwise.core.text import escaped
from rackwise.core.traffic import apportion, exact_usd_text, known_sum

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from rackwise.core.errors import RackwiseError
    from rackwise.core.savings.consumers import AssignReaders, ReaderRacks
    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import FlowColumns
    from rackwise.core.savings.potential import Potential
    from rackwise.core.savings.traffic.chunks import Chunk, LanedFlows, Lanes, Traffic, TrafficNames
    from rackwise.core.savings.traffic.columns import Codes
    from rackwise.core.traffic import Price

    Unit: TypeAlias = tuple[str | None, str | None]
    """Topic and client group that a change applies to; the cluster where both are None."""

NOT_GIVEN: Mapping[str, float] = MappingProxyType({})
"""No topic has a known share of records without a key."""
NOTHING = "nothing to save here"
UNKNOWN_GROUP = (None, UNKNOWN_NAME)
"""The unit of the reads whose client group is not known."""
SEPARATOR = "; "
"""Between reasons in one text; no reason contains it."""


def savings(
    flows: FlowColumns,
    layout: Layout,
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    eps: Sequence[float] = EPS,
    unkeyed: Mapping[str, float] = NOT_GIVEN,
    racks: Iterable[str] = (),
) -> ClusterSavings:
    """What each change saves of one cluster's flows.

    `prices`: rows of one provider. `eps`: the bounds of `producing`; the saving without a bound is
    always computed as well. `unkeyed`: topic -> share of records without a key. `racks`: other
    racks that an end with an unknown rack may be in.

    Raises `InvalidPrices`, and `SplitError` for a bound below 0 or a share outside 0 to 1.
    """
    for bound in eps:
        check_eps(bound)
    _check_shares(unkeyed)
    names = names_of(flows, layout)
    lanes, parts = laned(flows, names)
    known: set[str | None] = {*racks}
    known |= {names.rack(code) for end in (parts.near, parts.far) for code in np.unique(end)}
    known |= {rack for patterns in layout.racks.values() for each in patterns for rack in each}
    return ClusterSavings(
        parts, lanes, layout, names, Tariff(prices, levels, known), prices, eps, unkeyed
    )


def waterfall_eps(eps: Sequence[float]) -> float:
    """The bound of `producing` in the waterfall.

    >>> waterfall_eps(EPS), waterfall_eps((0.3, 0.5)), waterfall_eps((math.inf,))
    (0.1, 0.5, inf)
    """
    finite = [bound for bound in eps if bound != math.inf]
    return USUAL_EPS if USUAL_EPS in finite else max(finite, default=math.inf)


class _BilledTraffic(NamedTuple):
    """Some traffic and its costs."""

    traffic: Traffic
    costs: Costs
    """By place."""

    @property
    def whole(self) -> CrossingCost:
        """The cost of all its bytes."""
        return self.costs.whole


class _Loss(TypedDict):
    """The fields of `SavedRange` about losses."""

    lost_bytes: int | None
    lost_nano: int | None
    doubts: tuple[str, ...]


NO_LOSS: _Loss = {"lost_bytes": 0, "lost_nano": 0, "doubts": ()}


class _Change(NamedTuple):
    """What changes."""

    saving: str
    unit: Codes
    """Place -> number of its unit."""
    units: Sequence[Unit]
    follows: NDArray[np.bool_]
    """Client group -> whether it reads from replicas in its racks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One change: the traffic before and after it."""

    change: _Change
    before: Costs
    """By place, like all costs."""
    after: _BilledTraffic
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

    def without_traffic(self) -> _Step:
        """The step after its rows were computed."""
        return replace(self, after=self.after._replace(traffic=()))


class _Sums:
    """The potentials of a step, added up."""

    def __init__(self, places: int, units: int, dtype: type) -> None:
        self.most = Costs.zero(places, dtype)
        self.lost = Costs.zero(units, dtype)
        # by place, and by unit; bit n: cause n of `OF_KEYS`, or `DOUBT`
        self.causes = np.zeros(places, dtype=np.int64)
        self.lost_causes = np.zeros(units, dtype=np.int64)

    def add(self, potential: Potential, place: Codes, unit: Codes) -> None:
        """Add potentials of keys with these places and units."""
        bits = np.left_shift(1, potential.cause)
        for costs, sums, causes, rows in (
            (potential.most, self.most, self.causes, place),
            (potential.lost, self.lost, self.lost_causes, unit),
        ):
            some = costs.any()
            sums.add_at(rows[some], costs.rows(some))
            np.bitwise_or.at(causes, rows[some], bits[some])

    @property
    def has_most(self) -> NDArray[np.bool_]:
        """Whether the saving of a place is not known."""
        found: NDArray[np.bool_] = self.causes != 0
        return found


@lru_cache(maxsize=1_000)
def _causes(bits: int, doubt: str) -> tuple[str, ...]:
    """The causes of some bits; `doubt`: that of the unit."""
    return tuple(cause for number, cause in enumerate((*OF_KEYS, doubt)) if bits >> number & 1)


class _Total:
    """The row of all changes of the waterfall together."""

    def __init__(self) -> None:
        self._bytes_low: list[int | None] = []
        self._nano_low: list[int | None] = []
        self._has_bytes = self._has_nano = True
        self._reasons: dict[str, None] = {}

    def seen(self, rows: Iterable[Saving]) -> Iterator[Saving]:
        """The rows of a step, as they are; the total counts them."""
        for row in rows:
            self._bytes_low.append(row.bytes_low)
            self._nano_low.append(row.nano_low)
            self._has_bytes &= row.bytes_low == row.bytes_high
            self._has_nano &= row.nano_low == row.nano_high
            self._reasons |= dict.fromkeys(row.reasons)
            yield row

    def row(self, saved: CrossingCost, most: CrossingCost) -> Saving:
        """`saved`: what all changes save; `most`: what all other bytes could save, each once."""
        high = saved.plus(most)
        return Saving(
            topic=None,
            client_group=None,
            saving=ALL,
            view=TOTAL,
            eps=None,
            bytes_low=known_sum(self._bytes_low, is_whole=self._has_bytes),
            bytes_high=high.cross,
            nano_low=known_sum(self._nano_low, is_whole=self._has_nano),
            nano_high=None if high.unpriced or saved.unpriced else high.nano,
            load_factor=None,
            condition="all changes of the waterfall",
            reasons=tuple(self._reasons),
        )


class ClusterSavings:
    """Computes the savings of one cluster. A row is computed when it is read."""

    def __init__(
        self,
        flows: LanedFlows,
        lanes: Lanes,
        layout: Layout,
        names: TrafficNames,
        tariff: Tariff,
        prices: Sequence[Price],
        eps: Sequence[float],
        unkeyed: Mapping[str, float],
    ) -> None:
        self._layout = layout
        self._names = names
        self._lanes = lanes
        dtype = exact_dtype(greatest_cost(prices, exact_sum(flows.bytes)))
        self._rates = RatesOfRoutes(tariff, names, dtype)
        self._patterns = Patterns.of(layout, names)
        self._replicas = ReplicaRacksOf(layout)
        self._potentials = Potentials(layout, self._patterns, lanes, names, self._rates)
        exact = flows._replace(bytes=flows.bytes.astype(dtype))
        self._today = self._bill(spread(exact, lanes, layout, self._patterns, names))
        self.today = self.left = self._today.whole
        """What crosses before the waterfall, and after it once its rows were read."""
        self._is_priced = self.today.nano > 0
        self._eps = eps
        self._unkeyed = unkeyed
        self._follows_today = np.full(len(names.groups), layout.follows)
        topic, group = lanes.places
        texts, groups = names.topics, names.groups
        self._by_topic = topic, [(name, None) for name in texts]
        self._by_group = group, [(None, name) for name in groups]
        self._by_cluster = np.zeros_like(topic), [(None, None)]
        self._places = [
            (texts[a], groups[b]) for a, b in zip(topic.tolist(), group.tolist(), strict=True)
        ]

    def rows(self) -> Iterator[Saving]:
        """The savings in order of view, saving, topic and group. They can be read once."""
        today, follows, unkeyed = self._today, self._follows_today, self._unkeyed
        yield from self._rows(ALONE, self._follower_fetch(today))
        yield from self._rows(ALONE, self._assignment(today, follows, optimal_assignment))
        for step in self._producing(today, sorted({*self._eps, math.inf})):
            yield from self._rows(ALONE, step, unkeyed)
        yield from self._rows(ALONE, self._leader_moves(today, follows))
        yield from self._waterfall()

    def _waterfall(self) -> Iterator[Saving]:
        """Each change on top of the ones before, `assignment` by the stock assignor, the total."""
        total = _Total()
        reading = self._follower_fetch(self._today)
        del self._today
        follows = self._follows_today.copy()
        if not self._layout.follows:
            follows[:] = True
            follows[list(reading.rejected)] = False
        yield from total.seen(self._rows(WATERFALL, reading))
        assigned = self._assignment(reading.after, follows, optimal_assignment)
        yield from total.seen(self._rows(WATERFALL, assigned))
        (produced,) = self._producing(assigned.after, [waterfall_eps(self._eps)])
        assigned = assigned.without_traffic()
        yield from total.seen(self._rows(WATERFALL, produced, self._unkeyed))
        leaders_moved = self._leader_moves(produced.after, follows)
        produced = produced.without_traffic()
        yield from total.seen(self._rows(WATERFALL, leaders_moved))
        self.left = leaders_moved.after.whole
        steps = (reading.without_traffic(), assigned, produced, leaders_moved)
        most = self._most_of_all(steps, leaders_moved.after.traffic)
        yield from self._rows(STOCK, self._assignment(reading.after, follows, stock_assignment))
        yield total.row(self.today.minus(self.left), most)

    def _bill(self, traffic: Traffic) -> _BilledTraffic:
        return _BilledTraffic(traffic, self._costs(traffic))

    def _costs(self, traffic: Iterable[Chunk]) -> Costs:
        """The costs of traffic, by place."""
        costs = Costs.zero(len(self._lanes.places[0]), self._rates.dtype)
        for chunk in traffic:
            lane, part = self._rates.of_chunk(chunk, self._lanes)
            costs.add_at(self._lanes.place[lane], part)
        return costs

    def _of_kind(self, chunk: Chunk, kind: str) -> bool:
        return self._names.kinds[chunk.kind] == kind

    def _follower_fetch(self, before: _BilledTraffic) -> _Step:
        after = [
            apply_follower_fetch(chunk, self._patterns) if self._of_kind(chunk, FETCH) else chunk
            for chunk in before.traffic
        ]
        return self._step(
            _Change(FOLLOWER_FETCH, *self._by_group, self._follows_today), before, after
        )

    def _assignment(
        self, before: _BilledTraffic, follows: NDArray[np.bool_], assign: AssignReaders
    ) -> _Step:
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
        step = self._step(_Change(ASSIGNMENT, *self._by_group, follows), before, after, doubts)
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

    def _producing(self, before: _BilledTraffic, eps: Sequence[float]) -> Iterator[_Step]:
        """A step for each bound."""
        produced = [chunk for chunk in before.traffic if self._of_kind(chunk, PRODUCE)]
        producers = Producers(produced, self._patterns, self._lanes, self._names, self._unkeyed)
        doubtful = self._doubtful_loads(produced)
        change = _Change(PRODUCING, *self._by_topic, self._follows_today)
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

    def _leader_moves(self, before: _BilledTraffic, follows: NDArray[np.bool_]) -> _Step:
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
            after: Traffic = moves.apply(before.traffic, self._value_of)
        except (MissingDependency, OptimumTooLarge) as error:
            after = before.traffic
            doubts[0] = _reason(error)
        return self._step(_Change(LEADER_MOVES, *self._by_cluster, follows), before, after, doubts)

    def _value_of(self, cost: CrossingCost) -> int:
        """Nano-dollars, or bytes where nothing has a price."""
        return cost.nano if self._is_priced else cost.cross

    def _step(
        self,
        change: _Change,
        before: _BilledTraffic,
        after: Traffic,
        doubts: Mapping[int, str] = MappingProxyType({}),
    ) -> _Step:
        """The change for all units that it does not make dearer."""
        pairs = list(zip(before.traffic, after, strict=True))
        gone, come = (
            self._costs(pair[end] for pair in pairs if pair[0] is not pair[1]) for end in (0, 1)
        )
        costs = Costs(*(a - b + c for a, b, c in zip(before.costs, gone, come, strict=True)))
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
        return _Step(
            change=change,
            before=before.costs,
            after=_BilledTraffic(after, costs),
            rejected=rejected,
            doubts=doubts,
        )

    def _merged(self, before: Chunk, after: Chunk, is_rejected: NDArray[np.bool_]) -> Chunk:
        """The bytes before of the rejected lanes, and the bytes after of all others."""
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

    def _rows(
        self, view: str, step: _Step, unkeyed: Mapping[str, float] = NOT_GIVEN
    ) -> Iterator[Saving]:
        """Rows of topics and groups that change or may change, of rejected units, and the rest.

        The rest are topics with a load factor; or one row, if there is no other.
        """
        change = step.change
        sums = _Sums(len(self._places), len(change.units), self._rates.dtype)
        for potential in self._step_potentials(step, step.after.traffic):
            places = self._lanes.place[potential.keys.lane]
            sums.add(potential, places, change.unit[places])
        saved = step.before.minus(step.after.costs)
        losses = self._losses(step, saved, sums)
        doubted: set[int] = set()
        reported: set[str | None] = set()
        shown = np.flatnonzero(saved.any() | sums.has_most)
        columns = (
            *(column.tolist() for column in (shown, change.unit[shown], sums.causes[shown])),
            *(costs.rows(shown).each() for costs in (saved, sums.most)),
        )
        # Places are in order of topic and group.
        for place, unit, causes, saved_, most in zip(*columns, strict=True):
            topic, _ = self._places[place]
            reported.add(topic)
            condition = CONDITIONS[change.saving]
            if causes and unit in step.rejected:
                doubted.add(unit)
                condition = step.rejected[unit]
            row = SavedRange(
                saved=saved_,
                most=most,
                causes=_causes(causes, step.doubts.get(unit, "")),
                is_proved=change.saving != PRODUCING or topic in unkeyed,
                **losses.get(place, NO_LOSS),
            )
            yield self._row(view, step, self._places[place], row, condition)
        # Units are left out in the order of their texts.
        for unit in sorted(step.rejected, key=lambda number: str(change.units[number])):
            reported.add(change.units[unit][0])
            if unit not in doubted:
                yield self._row(view, step, change.units[unit], SavedRange(), step.rejected[unit])
        for topic in sorted(step.load_factors.keys() - reported):
            reported.add(topic)
            yield self._row(view, step, (topic, None), SavedRange(), NOTHING)
        if not reported:
            yield self._row(view, step, (None, None), SavedRange(), NOTHING)

    def _step_potentials(self, step: _Step, traffic: Traffic) -> Iterator[Potential]:
        """The traffic of which the change could save more or lose something, and how much."""
        for chunk in traffic:
            yield self._potential(step, chunk)
        for chunk in step.unknown_readers.values():
            yield self._potentials.of_readers(chunk)

    def _potential(self, step: _Step, chunk: Chunk) -> Potential:
        change = step.change
        has_doubt = np.zeros(len(change.units), dtype=np.bool_)
        has_doubt[list(step.doubts)] = True
        of_lane = has_doubt[change.unit][self._lanes.place]
        return self._potentials.of(change.saving, chunk, change.follows, of_lane)

    def _losses(self, step: _Step, saved: Costs, sums: _Sums) -> Mapping[int, _Loss]:
        """What is subtracted from each place, because other bytes of its unit could lose it.

        It is in proportion to what the places save. Reads of an unknown group count for each group.
        Places that lose nothing are left out.
        """
        change = step.change
        whole = saved.by(change.unit, len(change.units))
        order = np.argsort(change.unit, kind="stable")
        starts = run_starts(change.unit[order])
        losses: dict[int, _Loss] = {}
        for begin, end in pairwise([*starts.tolist(), len(order)]):
            members = order[begin:end]
            unit = int(change.unit[members[0]])
            lost, doubts = self._lost(step, sums, unit)
            if not doubts:
                continue
            is_less = self._value_of(lost) < self._value_of(whole.one(unit)) and not lost.unpriced
            if change.saving == PRODUCING and unit in step.doubts:
                is_less = False
            cross, nano = (
                _divided(lost_, column[members].tolist()) if is_less else [None] * len(members)
                for lost_, column in ((lost.cross, saved.cross), (lost.nano, saved.nano))
            )
            for place, bytes_, dollars in zip(members.tolist(), cross, nano, strict=True):
                losses[place] = {"lost_bytes": bytes_, "lost_nano": dollars, "doubts": doubts}
        return losses

    def _lost(self, step: _Step, sums: _Sums, unit: int) -> tuple[CrossingCost, tuple[str, ...]]:
        """What other bytes of a unit could lose, and why that is not known."""
        doubt = step.doubts.get(unit, "")
        lost, doubts = sums.lost.one(unit), _causes(int(sums.lost_causes[unit]), doubt)
        if step.change.saving == ASSIGNMENT and step.change.units[unit] != UNKNOWN_GROUP:
            unknown = self._names.groups.index(UNKNOWN_NAME)
            lost = lost.plus(sums.lost.one(unknown))
            doubts += _causes(int(sums.lost_causes[unknown]), step.doubts.get(unknown, ""))
        if step.change.saving == PRODUCING and unit in step.doubts:
            doubts += (doubt,)
        return lost, doubts

    def _row(self, view: str, step: _Step, unit: Unit, row: SavedRange, condition: str) -> Saving:
        topic, group = unit
        return Saving(
            topic=topic,
            client_group=group,
            saving=step.change.saving,
            view=view,
            eps=step.eps,
            bytes_low=row.bytes_low,
            bytes_high=row.high(row.saved.cross) + row.most.cross,
            nano_low=row.nano_low,
            nano_high=None
            if row.saved.unpriced or row.most.unpriced
            else row.high(row.saved.nano) + row.most.nano,
            load_factor=None if topic is None else step.load_factors.get(topic),
            condition=condition,
            reasons=row.reasons,
        )

    def _most_of_all(self, steps: Sequence[_Step], left: Traffic) -> CrossingCost:
        """What is left could save; each key by the change that could save most of it."""
        whole = CrossingCost()
        for number, chunk in enumerate(left):
            found = [self._potential(step, chunk) for step in steps] + [
                self._potentials.of_readers(step.unknown_readers[number])
                for step in steps
                if number in step.unknown_readers
            ]
            code = found[0].keys.stacked(*(one.keys for one in found[1:])).codes()
            keys, key = np.unique(code, return_inverse=True)
            most = Costs.zero(len(keys), self._rates.dtype)
            most.most_at(key, [one.most for one in found])
            whole = whole.plus(most.whole)
        return whole


def _reason(error: RackwiseError) -> str:
    """Cause and cure of an error as one reason."""
    text = error.message if error.hint is None else f"{error.message}: {error.hint}"
    return text.replace(SEPARATOR, ", ")


def _divided(lost: int, saved: Sequence[int]) -> list[int | None]:
    """A loss in proportion to what is saved; None where nothing is left of the savings."""
    if lost and lost >= sum(saved):
        return [None] * len(saved)
    weights = [max(0, each) for each in saved]
    return [*apportion(lost, weights)] if any(weights) else [0] * len(saved)


def _check_shares(unkeyed: Mapping[str, float]) -> None:
    for topic, share in unkeyed.items():
        if not 0 <= share <= 1:
            raise SplitError(
                f"invalid share of records without a key of topic {escaped(topic)}: expected 0 to "
                f"1, got {share}",
                wanted="0 to 1",
                had=share,
                hint="use 0.8 where 80 % of the bytes belong to records without a key",
                where=topic,
            )
