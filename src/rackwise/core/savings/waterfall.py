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

What this does not do: change how much is read or copied of a partition when producers choose other
partitions; look for the best order of changes; plan moves of replicas; compute later steps again
for records with keys: they start from the traffic that `producing` leaves at its greatest saving.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypedDict, TypeVar

from rackwise.core.errors import MissingDependency, OptimumTooLarge, SplitError
from rackwise.core.partitioner.split.rates import check_eps
from rackwise.core.savings.consumers import (
    CLASSIC,
    apply_assignment,
    apply_follower_fetch,
    optimal_assignment,
    reader_racks,
    stock_assignment,
    unknown_readers,
)
from rackwise.core.savings.leaders import apply_leader_moves
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
    UNATTRIBUTED,
    UNKNOWN_NAME,
    USUAL_EPS,
    WATERFALL,
    Saving,
    TrafficKey,
)
from rackwise.core.savings.potential import (
    BROKER_ASSIGNS,
    GROUP,
    MEMBERS,
    Potential,
    Potentials,
    SavedRange,
)
from rackwise.core.savings.producers import apply_partitioning
from rackwise.core.savings.spread import spread
from rackwise.core.savings.tariff import CrossingCost, Tariff, TariffRow, costs_by, total_cost
from rackwise.core.text import escaped
from rackwise.core.traffic import apportion, exact_usd_text, known_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from rackwise.core.errors import RackwiseError
    from rackwise.core.savings.consumers import AssignReaders, ReaderRacks
    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import Flow, RackTraffic
    from rackwise.core.savings.tariff import Bill
    from rackwise.core.traffic import Price

    Unit: TypeAlias = tuple[str | None, str | None]
    """Topic and client group that a change applies to; the cluster where both are None."""

KeyT = TypeVar("KeyT", TrafficKey, TariffRow)
"""The key of traffic, or the row of a bill."""
ValueT = TypeVar("ValueT")

NOT_GIVEN: Mapping[str, float] = MappingProxyType({})
"""No topic has a known share of records without a key."""
NOTHING = "nothing to save here"
UNKNOWN_GROUP = (None, UNKNOWN_NAME)
"""The unit of the reads whose client group is not known."""
SEPARATOR = "; "
"""Between reasons in one text; no reason contains it."""


def savings(
    flows: Iterable[Flow],
    layout: Layout,
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    eps: Sequence[float] = EPS,
    unkeyed: Mapping[str, float] = NOT_GIVEN,
    racks: Iterable[str] = (),
) -> Savings:
    """What each change saves of one cluster's flows, ordered by view, saving, topic and group.

    `prices`: rows of one provider. `eps`: the bounds of `producing`; the saving without a bound is
    always computed as well. `unkeyed`: topic -> share of records without a key. `racks`: other
    racks that an end with an unknown rack may be in.

    Raises `InvalidPrices`, and `SplitError` for a bound below 0 or a share outside 0 to 1.
    """
    for bound in eps:
        check_eps(bound)
    _check_shares(unkeyed)
    traffic = spread(flows, layout)
    known = {*racks, *(rack for key in traffic for rack in key.ends)}
    known |= {rack for patterns in layout.racks.values() for each in patterns for rack in each}
    cluster_savings = _ClusterSavings(traffic, layout, Tariff(prices, levels, known))
    rows = (
        *cluster_savings.alone(sorted({*eps, math.inf}), unkeyed),
        *cluster_savings.waterfall(waterfall_eps(eps), unkeyed),
    )
    return Savings(rows=rows, today=cluster_savings.today.whole, left=cluster_savings.left.whole)


def waterfall_eps(eps: Sequence[float]) -> float:
    """The bound of `producing` in the waterfall.

    >>> waterfall_eps(EPS), waterfall_eps((0.3, 0.5)), waterfall_eps((math.inf,))
    (0.1, 0.5, inf)
    """
    finite = [bound for bound in eps if bound != math.inf]
    return USUAL_EPS if USUAL_EPS in finite else max(finite, default=math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """The savings of one cluster."""

    rows: tuple[Saving, ...]
    today: CrossingCost
    """What crosses before the waterfall."""
    left: CrossingCost
    """What crosses after the waterfall."""


class _BilledTraffic(NamedTuple):
    """Some traffic and its bill."""

    traffic: RackTraffic
    bill: Bill

    @property
    def whole(self) -> CrossingCost:
        """The cost of all its bytes."""
        return total_cost(self.bill.values())


class _Place(NamedTuple):
    """The topic and the client group of bytes."""

    topic: str
    client_group: str


class _Loss(TypedDict):
    """The fields of `SavedRange` about losses."""

    lost_bytes: int | None
    lost_nano: int | None
    doubts: tuple[Potential, ...]


class _Change(NamedTuple):
    """What changes."""

    saving: str
    unit: Callable[[TrafficKey | TariffRow | _Place], Unit]
    follows: Callable[[str], bool]
    """Client group -> whether it reads from replicas in its racks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One change: the traffic before and after it."""

    change: _Change
    before: _BilledTraffic
    after: _BilledTraffic
    rejected: Mapping[Unit, str]
    """The units that the change leaves out because it would cost something, and why."""
    doubts: Mapping[Unit, str]
    """Units whose traffic after the change is not known, and why."""
    unknown_readers: RackTraffic = field(default_factory=dict)
    """Bytes that members with an unknown rack read after the change."""
    eps: float | None = None
    load_factors: Mapping[str, float] = field(default_factory=dict)
    """topic -> the load of the fullest rack divided by its even share."""


class _ClusterSavings:
    """Computes the savings of one cluster."""

    def __init__(self, today: RackTraffic, layout: Layout, tariff: Tariff) -> None:
        self._layout = layout
        self._tariff = tariff
        self._potentials = Potentials(layout, tariff)
        # the traffic of the bill, and the traffic that is left after `waterfall` has run
        self.today = self.left = self._bill(today)
        self._is_priced = self.today.whole.nano > 0

    def alone(self, eps: Sequence[float], unkeyed: Mapping[str, float]) -> Iterator[Saving]:
        """Each change against today."""
        today, follows = self.today, self._follows_today
        yield from self._rows(ALONE, self._follower_fetch(today))
        yield from self._rows(ALONE, self._assignment(today, follows, optimal_assignment))
        for bound in eps:
            yield from self._rows(ALONE, self._producing(today, bound, unkeyed), unkeyed)
        yield from self._rows(ALONE, self._leader_moves(today, follows))

    def waterfall(self, eps: float, unkeyed: Mapping[str, float]) -> Iterator[Saving]:
        """Each change on top of the ones before, `assignment` by the stock assignor, the total."""
        reading = self._follower_fetch(self.today)

        def follows(group: str) -> bool:
            return self._layout.follows or (None, group) not in reading.rejected

        assigned = self._assignment(reading.after, follows, optimal_assignment)
        produced = self._producing(assigned.after, eps, unkeyed)
        leaders_moved = self._leader_moves(produced.after, follows)
        self.left = leaders_moved.after
        steps = (reading, assigned, produced, leaders_moved)
        rows = [row for step in steps for row in self._rows(WATERFALL, step, unkeyed)]
        yield from rows
        yield from self._rows(STOCK, self._assignment(reading.after, follows, stock_assignment))
        yield self._total(rows, steps)

    def _follows_today(self, _group: str) -> bool:
        return self._layout.follows

    def _bill(self, traffic: RackTraffic) -> _BilledTraffic:
        return _BilledTraffic(traffic, self._tariff.bill(traffic))

    def _follower_fetch(self, before: _BilledTraffic) -> _Step:
        after = apply_follower_fetch(before.traffic, self._layout)
        return self._step(_Change(FOLLOWER_FETCH, _by_group, self._follows_today), before, after)

    def _assignment(
        self, before: _BilledTraffic, follows: Callable[[str], bool], assign: AssignReaders
    ) -> _Step:
        groups = {key.client_group for key in before.traffic if key.kind == FETCH}
        readers_of: dict[str, ReaderRacks] = {}
        doubts: dict[Unit, str] = {}
        for group in sorted(groups):
            doubt = self._doubt(group, assign)
            try:
                if doubt is None:
                    readers_of[group] = reader_racks(
                        assign, self._layout, group, follows=follows(group)
                    )
            except (MissingDependency, OptimumTooLarge) as error:
                doubt = _reason(error)
            if doubt is not None:
                doubts[None, group] = doubt
        near = {group: follows(group) for group in readers_of}
        after = apply_assignment(before.traffic, self._layout, readers_of, near)
        step = self._step(_Change(ASSIGNMENT, _by_group, follows), before, after, doubts)
        return replace(step, unknown_readers=unknown_readers(before.traffic, readers_of))

    def _doubt(self, group: str, assign: AssignReaders) -> str | None:
        """Why the group's assignment is not known; None where it can be computed."""
        readers = self._layout.groups.get(group)
        if readers is None:
            return GROUP if group == UNKNOWN_NAME else MEMBERS
        if assign is stock_assignment and readers.protocol not in {CLASSIC, None}:
            return BROKER_ASSIGNS
        return None

    def _producing(self, before: _BilledTraffic, eps: float, unkeyed: Mapping[str, float]) -> _Step:
        partitioned = apply_partitioning(before.traffic, self._layout, eps, unkeyed)
        doubts = {} if eps == math.inf else self._doubtful_loads(before.traffic)
        change = _Change(PRODUCING, _by_topic, self._follows_today)
        step = self._step(change, before, partitioned.traffic, doubts)
        return replace(step, eps=eps, load_factors=partitioned.load_factors)

    def _doubtful_loads(self, traffic: RackTraffic) -> dict[Unit, str]:
        """The topics to whose load other bytes may belong: a bound on it may allow more."""
        found: dict[str, str] = {}
        for key in traffic:
            if key.kind == PRODUCE and key.pattern == UNATTRIBUTED:
                found[key.topic] = self._potentials.cause(key)
        everywhere = found.get(UNKNOWN_NAME)
        return {
            (topic, None): everywhere or found[topic]
            for topic in self._layout.topics
            if everywhere or topic in found
        }

    def _leader_moves(self, before: _BilledTraffic, follows: Callable[[str], bool]) -> _Step:
        doubts: dict[Unit, str] = {}
        try:
            after = apply_leader_moves(
                before.traffic, self._layout, self._tariff, follows=follows, value_of=self._value_of
            )
        except (MissingDependency, OptimumTooLarge) as error:
            after = before.traffic
            doubts[None, None] = _reason(error)
        return self._step(_Change(LEADER_MOVES, _by_cluster, follows), before, after, doubts)

    def _value_of(self, cost: CrossingCost) -> int:
        """Nano-dollars, or bytes where nothing has a price."""
        return cost.nano if self._is_priced else cost.cross

    def _step(
        self,
        change: _Change,
        before: _BilledTraffic,
        after: RackTraffic,
        doubts: Mapping[Unit, str] = MappingProxyType({}),
    ) -> _Step:
        """The change for all units that it does not make dearer."""
        applied = self._bill(after)
        unit = change.unit
        costs_before, costs_after = costs_by(before.bill, unit), costs_by(applied.bill, unit)
        rejected = {}
        for key in sorted(costs_before, key=str):
            reason = self._rejection(costs_before[key].minus(costs_after.get(key, CrossingCost())))
            if reason is not None:
                rejected[key] = reason
        if rejected:
            applied = _BilledTraffic(
                _merge(before.traffic, applied.traffic, unit, rejected),
                _merge(before.bill, applied.bill, unit, rejected),
            )
        return _Step(change=change, before=before, after=applied, rejected=rejected, doubts=doubts)

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
        costs_before, costs_after = (
            costs_by(billed.bill, _by_topic_and_group) for billed in (step.before, step.after)
        )
        found: defaultdict[_Place, list[Potential]] = defaultdict(list)
        conditions: dict[_Place, str] = {}
        doubted: set[Unit] = set()
        potentials = list(self._potential_keys(step, step.after.traffic))
        for key, potential in potentials:
            place, unit = _by_topic_and_group(key), step.change.unit(key)
            if any(potential.most):
                found[place].append(potential)
                if unit in step.rejected:
                    doubted.add(unit)
                    conditions[place] = step.rejected[unit]
        saved = {
            place: cost.minus(costs_after.get(place, CrossingCost()))
            for place, cost in costs_before.items()
        }
        losses = self._losses(step, saved, potentials)
        reported: set[str | None] = set()
        for place in sorted(saved):
            if any(saved[place]) or place in found:
                reported.add(place.topic)
                row = SavedRange(
                    saved=saved[place],
                    potentials=tuple(found[place]),
                    is_proved=step.change.saving != PRODUCING or place.topic in unkeyed,
                    **losses[place],
                )
                condition = conditions.get(place, CONDITIONS[step.change.saving])
                yield self._row(view, step, place, row, condition)
        for unit, reason in step.rejected.items():
            reported.add(unit[0])
            if unit not in doubted:
                yield self._row(view, step, unit, SavedRange(), reason)
        for topic in sorted(step.load_factors.keys() - reported):
            reported.add(topic)
            yield self._row(view, step, (topic, None), SavedRange(), NOTHING)
        if not reported:
            yield self._row(view, step, (None, None), SavedRange(), NOTHING)

    def _potential_keys(
        self, step: _Step, traffic: RackTraffic
    ) -> Iterator[tuple[TrafficKey, Potential]]:
        """The traffic of which the change could save more or lose something, and how much."""
        change = step.change
        for key, bytes_ in traffic.items():
            doubt = step.doubts.get(change.unit(key))
            found = self._potentials.of(change.saving, key, bytes_, change.follows, doubt)
            if found is not None:
                yield key, found
        for key, bytes_ in step.unknown_readers.items():
            yield key, self._potentials.of_readers(key, bytes_)

    def _losses(
        self,
        step: _Step,
        saved: Mapping[_Place, CrossingCost],
        potentials: Sequence[tuple[TrafficKey, Potential]],
    ) -> Mapping[_Place, _Loss]:
        """What is subtracted from each place, because other bytes of its unit could lose it.

        It is in proportion to what the places save. Reads of an unknown group count for each group.
        """
        found: defaultdict[Unit, list[Potential]] = defaultdict(list)
        for key, potential in potentials:
            if any(potential.lost):
                found[step.change.unit(key)].append(potential)
        places: defaultdict[Unit, list[_Place]] = defaultdict(list)
        for place in sorted(saved):
            places[step.change.unit(place)].append(place)
        losses: dict[_Place, _Loss] = {}
        for unit, members in places.items():
            doubts = list(found[unit])
            if step.change.saving == ASSIGNMENT and unit != UNKNOWN_GROUP:
                doubts += found[UNKNOWN_GROUP]
            lost = total_cost(potential.lost for potential in doubts)
            whole = total_cost(saved[place] for place in members)
            is_less = self._value_of(lost) < self._value_of(whole) and not lost.unpriced
            if step.change.saving == PRODUCING and unit in step.doubts:
                doubts.append(Potential(CrossingCost(), step.doubts[unit]))
                is_less = False
            for place, bytes_, nano in zip(
                members,
                _divided(lost.cross, [saved[place].cross for place in members]),
                _divided(lost.nano, [saved[place].nano for place in members]),
                strict=True,
            ):
                losses[place] = {
                    "lost_bytes": bytes_ if is_less or not doubts else None,
                    "lost_nano": nano if is_less or not doubts else None,
                    "doubts": tuple(doubts),
                }
        return losses

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

    def _total(self, rows: Sequence[Saving], steps: Sequence[_Step]) -> Saving:
        """All changes of the waterfall together; each byte that could be saved counts once."""
        most: defaultdict[TrafficKey, CrossingCost] = defaultdict(CrossingCost)
        for step in steps:
            for key, potential in self._potential_keys(step, self.left.traffic):
                most[key] = CrossingCost(*map(max, zip(most[key], potential.most, strict=True)))
        saved = self.today.whole.minus(self.left.whole)
        high = saved.plus(total_cost(most.values()))
        reasons = dict.fromkeys(reason for row in rows for reason in row.reasons)
        return Saving(
            topic=None,
            client_group=None,
            saving=ALL,
            view=TOTAL,
            eps=None,
            bytes_low=known_sum(
                (row.bytes_low for row in rows),
                is_whole=all(row.bytes_low == row.bytes_high for row in rows),
            ),
            bytes_high=high.cross,
            nano_low=known_sum(
                (row.nano_low for row in rows),
                is_whole=all(row.nano_low == row.nano_high for row in rows),
            ),
            nano_high=None if high.unpriced or saved.unpriced else high.nano,
            load_factor=None,
            condition="all changes of the waterfall",
            reasons=tuple(reasons),
        )


def _reason(error: RackwiseError) -> str:
    """Cause and cure of an error as one reason."""
    text = error.message if error.hint is None else f"{error.message}: {error.hint}"
    return text.replace(SEPARATOR, ", ")


def _merge(
    before: Mapping[KeyT, ValueT],
    after: Mapping[KeyT, ValueT],
    unit: Callable[[KeyT], Unit],
    rejected: Mapping[Unit, str],
) -> dict[KeyT, ValueT]:
    """The values before of the rejected units, and the values after of all others."""
    unchanged = {key: value for key, value in before.items() if unit(key) in rejected}
    return unchanged | {key: value for key, value in after.items() if unit(key) not in rejected}


def _divided(lost: int, saved: Sequence[int]) -> list[int | None]:
    """A loss in proportion to what is saved; None where nothing is left of the savings."""
    if lost and lost >= sum(saved):
        return [None] * len(saved)
    weights = [max(0, each) for each in saved]
    return [*apportion(lost, weights)] if any(weights) else [0] * len(saved)


def _by_topic_and_group(row: TrafficKey | TariffRow) -> _Place:
    return _Place(row.topic, row.client_group)


def _by_group(key: TrafficKey | TariffRow | _Place) -> Unit:
    return None, key.client_group


def _by_topic(key: TrafficKey | TariffRow | _Place) -> Unit:
    return key.topic, None


def _by_cluster(_key: TrafficKey | TariffRow | _Place) -> Unit:
    return None, None


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
