"""What each change saves: alone, and on top of the changes before it.

Goals, in order: no byte is counted twice; every sum is exact to the nano-dollar; no step costs.

```
demo: orders 0 [1 2], 1 [2 3], 2 [3 1]; all produced in a; read in b, a, c; 3 GiB each; 0.02 per GiB

                  alone            waterfall        left
today                                               21 GiB  0.42
follower-fetch    3 GiB  0.06      3 GiB  0.06      18      0.36
assignment        6      0.12      3      0.06      15      0.30
producing         6      0.12      6      0.12       9      0.18
leader-moves      0      0         0      0          9      0.18     replication: cannot be saved
```

The algorithm. `spread` attributes the flows of the bill to partitions. A change is a function from
such traffic to other traffic. It saves the difference of the two costs, by the rule of the bill. In
the view `alone` every change starts from today's traffic. In the waterfall it starts from the
traffic that the changes before it left, so the steps add up to the first cost minus the last one.

Some changes apply to units: one client group, one topic. A unit is left out where the change would
cost money, or would move bytes to where no price is known. Its row then saves 0 and says why.

In the waterfall the bound of `producing` is the largest one given. Alone, every bound has its row.

What this does not do: change how much is read or copied of a partition when producers choose other
partitions; look for the best order of changes; plan moves of replicas.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rackwise.core.errors import MissingDependency, OptimumTooLarge, SplitError
from rackwise.core.partitioner.split.rates import check_eps
from rackwise.core.savings.consumers import (
    CLASSIC,
    apply_assignment,
    apply_follower_fetch,
    optimal_assignment,
    reader_racks,
    stock_assignment,
)
from rackwise.core.savings.leaders import apply_leader_moves
from rackwise.core.savings.model import (
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
    UNATTRIBUTED,
    WATERFALL,
    Saving,
    TrafficKey,
)
from rackwise.core.savings.producers import apply_partitioning
from rackwise.core.savings.spread import spread
from rackwise.core.savings.tariff import CrossingCost, Tariff, TariffRow, costs_by, total_cost
from rackwise.core.text import escaped
from rackwise.core.traffic import exact_usd_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

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

ALL_UNKEYED: Mapping[str, float] = MappingProxyType({})
"""No topic has records with a key."""
NOTHING = "nothing to save here"
MOVED_KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {FOLLOWER_FETCH: (FETCH,), ASSIGNMENT: (FETCH,), PRODUCING: (PRODUCE,)}
)
"""saving -> the kinds of bytes that it moves; leader-moves moves all."""


def savings(
    flows: Iterable[Flow],
    layout: Layout,
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    eps: Sequence[float] = EPS,
    unkeyed: Mapping[str, float] = ALL_UNKEYED,
) -> Savings:
    """What each change saves of one cluster's flows, ordered by view, saving, topic and group.

    `prices`: rows of one provider. `eps`: the bounds of `producing`. `unkeyed`: topic -> share of
    records without a key, 1 where absent. Raises `InvalidPrices`, and `SplitError` for a bound
    below 0 or a share outside 0 to 1.
    """
    for bound in eps:
        check_eps(bound)
    _check_shares(unkeyed)
    cluster_savings = _ClusterSavings(spread(flows, layout), layout, Tariff(prices, levels))
    rows = (*cluster_savings.alone(eps, unkeyed), *cluster_savings.waterfall(max(eps), unkeyed))
    return Savings(rows=rows, today=cluster_savings.today.whole, left=cluster_savings.left.whole)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One change: the traffic before and after it."""

    saving: str
    before: _BilledTraffic
    after: _BilledTraffic
    rejected: Mapping[Unit, str]
    """The units that the change leaves out, and why."""
    eps: float | None
    load_factors: Mapping[str, float]
    """topic -> the load of the fullest rack divided by its even share."""


class _ClusterSavings:
    """Computes the savings of one cluster."""

    def __init__(self, today: RackTraffic, layout: Layout, tariff: Tariff) -> None:
        self._layout = layout
        self._tariff = tariff
        # the traffic of the bill, and the traffic that is left after `waterfall` has run
        self.today = self.left = self._bill(today)
        self._is_priced = self.today.whole.nano > 0

    def alone(self, eps: Sequence[float], unkeyed: Mapping[str, float]) -> Iterator[Saving]:
        """Each change against today."""
        today, follows = self.today, self._follows_today
        yield from self._rows(ALONE, self._follower_fetch(today))
        yield from self._rows(ALONE, self._assignment(today, follows, optimal_assignment))
        for bound in eps:
            yield from self._rows(ALONE, self._producing(today, bound, unkeyed))
        yield from self._rows(ALONE, self._leader_moves(today, follows))

    def waterfall(self, eps: float, unkeyed: Mapping[str, float]) -> Iterator[Saving]:
        """Each change on top of the ones before, and `assignment` by the stock assignor as well."""
        reading = self._follower_fetch(self.today)

        def follows(group: str) -> bool:
            return self._layout.follows or (None, group) not in reading.rejected

        assigned = self._assignment(reading.after, follows, optimal_assignment)
        produced = self._producing(assigned.after, eps, unkeyed)
        leaders_moved = self._leader_moves(produced.after, follows)
        self.left = leaders_moved.after
        for step in (reading, assigned, produced, leaders_moved):
            yield from self._rows(WATERFALL, step)
        yield from self._rows(STOCK, self._assignment(reading.after, follows, stock_assignment))

    def _follows_today(self, _group: str) -> bool:
        return self._layout.follows

    def _bill(self, traffic: RackTraffic) -> _BilledTraffic:
        return _BilledTraffic(traffic, self._tariff.bill(traffic))

    def _follower_fetch(self, before: _BilledTraffic) -> _Step:
        after = apply_follower_fetch(before.traffic, self._layout)
        return self._step(FOLLOWER_FETCH, before, after, _by_group)

    def _assignment(
        self, before: _BilledTraffic, follows: Callable[[str], bool], assign: AssignReaders
    ) -> _Step:
        groups = {key.client_group for key in before.traffic if key.kind == FETCH}
        readers_of: dict[str, ReaderRacks] = {}
        unknown: dict[Unit, str] = {}
        for group in sorted(groups):
            reason = self._unknown_reason(group, assign)
            try:
                if reason is None:
                    readers_of[group] = reader_racks(
                        assign, self._layout, group, follows=follows(group)
                    )
            except (MissingDependency, OptimumTooLarge) as error:
                reason = error.message
            if reason is not None:
                unknown[None, group] = f"not known: {reason}"
        near = {group: follows(group) for group in readers_of}
        after = apply_assignment(before.traffic, self._layout, readers_of, near)
        return self._step(ASSIGNMENT, before, after, _by_group, unknown)

    def _unknown_reason(self, group: str, assign: AssignReaders) -> str | None:
        """Why the group's assignment is not known; None where it can be computed."""
        readers = self._layout.groups.get(group)
        if readers is None:
            return "the snapshot has no members of the group"
        if assign is stock_assignment and readers.protocol not in {CLASSIC, None}:
            return "the broker assigns its partitions"
        return None

    def _producing(self, before: _BilledTraffic, eps: float, unkeyed: Mapping[str, float]) -> _Step:
        partitioned = apply_partitioning(before.traffic, self._layout, eps, unkeyed)
        return self._step(
            PRODUCING,
            before,
            partitioned.traffic,
            _by_topic,
            eps=eps,
            load_factors=partitioned.load_factors,
        )

    def _leader_moves(self, before: _BilledTraffic, follows: Callable[[str], bool]) -> _Step:
        unknown: dict[Unit, str] = {}
        try:
            after = apply_leader_moves(
                before.traffic, self._layout, self._tariff, follows=follows, value_of=self._value_of
            )
        except (MissingDependency, OptimumTooLarge) as error:
            after = before.traffic
            unknown[None, None] = f"not known: {error.message}"
        return self._step(LEADER_MOVES, before, after, _by_cluster, unknown)

    def _value_of(self, cost: CrossingCost) -> int:
        """Nano-dollars, or bytes where nothing has a price."""
        return cost.nano if self._is_priced else cost.cross

    def _step(
        self,
        saving: str,
        before: _BilledTraffic,
        after: RackTraffic,
        unit: Callable[[TrafficKey | TariffRow], Unit],
        unknown: Mapping[Unit, str] = MappingProxyType({}),
        *,
        eps: float | None = None,
        load_factors: Mapping[str, float] = ALL_UNKEYED,
    ) -> _Step:
        """The change for all units that it does not make dearer.

        `unknown`: unit -> why its traffic after the change is not known.
        """
        applied = self._bill(after)
        costs_before, costs_after = costs_by(before.bill, unit), costs_by(applied.bill, unit)
        rejected = dict(unknown)
        for key in sorted(costs_before, key=str):
            reason = self._rejection(costs_before[key].minus(costs_after.get(key, CrossingCost())))
            if reason is not None:
                rejected[key] = reason
        if rejected:
            applied = _BilledTraffic(
                _merge(before.traffic, applied.traffic, unit, rejected),
                _merge(before.bill, applied.bill, unit, rejected),
            )
        return _Step(
            saving=saving,
            before=before,
            after=applied,
            rejected=rejected,
            eps=eps,
            load_factors=load_factors,
        )

    def _rejection(self, saved: CrossingCost) -> str | None:
        """Why a unit is left out; None where the change saves or costs nothing."""
        if saved.nano < 0:
            return f"not applied: it would cost {exact_usd_text(-saved.nano)} USD"
        if saved.unpriced < 0 and self._is_priced:
            return f"not applied: {-saved.unpriced} bytes would cross where no price is known"
        if saved.nano == 0 and saved.cross < 0:
            return f"not applied: {-saved.cross} bytes more would cross"
        return None

    def _rows(self, view: str, step: _Step) -> Iterator[Saving]:
        """Rows of changed topics and groups, rejected units, and topics with a load factor."""
        costs_before, costs_after = (
            costs_by(billed.bill, _by_topic_and_group) for billed in (step.before, step.after)
        )
        reported: set[str | None] = set()
        for changed in sorted(costs_before):
            saved = costs_before[changed].minus(costs_after.get(changed, CrossingCost()))
            if saved.cross or saved.nano:
                reported.add(changed[0])
                yield self._row(view, step, changed, saved, CONDITIONS[step.saving])
        for unit, reason in step.rejected.items():
            reported.add(unit[0])
            yield self._row(view, step, unit, CrossingCost(), reason)
        for topic in sorted(step.load_factors.keys() - reported):
            reported.add(topic)
            yield self._row(view, step, (topic, None), CrossingCost(), NOTHING)
        if not reported:
            yield self._row(view, step, (None, None), CrossingCost(), self._nothing_reason(step))

    def _nothing_reason(self, step: _Step) -> str:
        """Why a change moves nothing."""
        unattributed = Counter[TrafficKey]()
        for key, bytes_ in step.before.traffic.items():
            if key.pattern == UNATTRIBUTED and key.kind in MOVED_KINDS.get(
                step.saving, (key.kind,)
            ):
                unattributed[key] += bytes_
        crossing = self._bill(unattributed).whole.cross
        unknown = f"not known: the partitions of {crossing} bytes that cross are not known"
        return unknown if crossing else NOTHING

    def _row(
        self, view: str, step: _Step, unit: Unit, saved: CrossingCost, condition: str
    ) -> Saving:
        topic, group = unit
        return Saving(
            topic=topic,
            client_group=group,
            saving=step.saving,
            view=view,
            eps=step.eps,
            bytes_saved=saved.cross,
            usd_nano=saved.nano if self._is_priced else None,
            load_factor=None if topic is None else step.load_factors.get(topic),
            condition=condition,
        )


def _merge(
    before: Mapping[KeyT, ValueT],
    after: Mapping[KeyT, ValueT],
    unit: Callable[[KeyT], Unit],
    rejected: Mapping[Unit, str],
) -> dict[KeyT, ValueT]:
    """The values before of the rejected units, and the values after of all others."""
    unchanged = {key: value for key, value in before.items() if unit(key) in rejected}
    return unchanged | {key: value for key, value in after.items() if unit(key) not in rejected}


def _by_topic_and_group(row: TariffRow) -> tuple[str, str]:
    return row.topic, row.client_group


def _by_group(key: TrafficKey | TariffRow) -> Unit:
    return None, key.client_group


def _by_topic(key: TrafficKey | TariffRow) -> Unit:
    return key.topic, None


def _by_cluster(_key: TrafficKey | TariffRow) -> Unit:
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
