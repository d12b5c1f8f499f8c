"""What each lever saves: alone, and one on top of the other.

Goals, in order: nothing is counted twice; every sum is exact to the nano-dollar; no step costs.

```
demo: orders 0 [1 2], 1 [2 3], 2 [3 1]; all produced in a; read in b, a, c; 3 GiB each; 0.02 per GiB

                  alone            waterfall        left
today                                               21 GiB  0.42
follower-fetch    3 GiB  0.06      3 GiB  0.06      18      0.36
assignment        6      0.12      3      0.06      15      0.30
producing         6      0.12      6      0.12       9      0.18
leader-moves      0      0         0      0          9      0.18     replication: nobody can save it
```

The algorithm. The bill's flows are laid on partitions (`spread`). A lever is a function from such a
state to the next one; what it saves is what the first costs less what the second does, by the rule
of the bill. Alone each begins with today's state; in the waterfall with what the levers before have
left, so that the steps add up to the first state's cost less the last one's.

Where a lever is pulled apart from others (one client group, one topic), a part that would cost, or
move bytes to where no price is known, is not taken: its step is 0 and says why.

The bound of `producing` is the largest one asked for in the waterfall, each one alone.

What this does not do: change how much is read or copied of a partition when producers choose
others; look for the best order of levers; plan moves of replicas.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rackwise.core.errors import MissingDependency, OptimumTooLarge, SplitError
from rackwise.core.partitioner.split.rates import check_eps
from rackwise.core.savings.consumers import CLASSIC, dealt, followed, optimal, reassigned, stock
from rackwise.core.savings.leaders import led_elsewhere
from rackwise.core.savings.model import (
    ALONE,
    ASSIGNMENT,
    CONDITIONS,
    EPS,
    FETCH,
    FOLLOWER_FETCH,
    LEADER_MOVES,
    LOOSE,
    PRODUCE,
    PRODUCING,
    STOCK,
    WATERFALL,
    Place,
    Saving,
)
from rackwise.core.savings.producers import produced_near
from rackwise.core.savings.spread import spread
from rackwise.core.savings.tariff import Row, Sum, Tariff, sums, total
from rackwise.core.text import escaped
from rackwise.core.traffic import exact_usd_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from rackwise.core.savings.consumers import Assign, Dealt
    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import Flow, State
    from rackwise.core.savings.tariff import Bill
    from rackwise.core.traffic import Price

    Unit: TypeAlias = tuple[str | None, str | None]
    """Topic and client group of which a lever is pulled; both None is the cluster."""

Bytes = TypeVar("Bytes", Place, Row)
"""What says of bytes where they lie, or of which row of the bill they are."""
Value = TypeVar("Value")

EVERY: Mapping[str, float] = MappingProxyType({})
NOTHING = "nothing to save here"
MOVED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {FOLLOWER_FETCH: (FETCH,), ASSIGNMENT: (FETCH,), PRODUCING: (PRODUCE,)}
)
"""Kinds of bytes that a lever moves; leaders move all."""


def savings(
    flows: Iterable[Flow],
    layout: Layout,
    *,
    prices: Sequence[Price],
    levels: Sequence[str],
    eps: Sequence[float] = EPS,
    unkeyed: Mapping[str, float] = EVERY,
) -> Savings:
    """What each lever saves of one cluster's flows, in order of views, levers, topics and groups.

    `prices`: rows of one provider; `eps`: bounds of `producing`; `unkeyed`: topic -> share of the
    records without a key, 1 where absent. Raises `InvalidPrices`, and `SplitError`
    for a bound below 0 or a share that is none.
    """
    for bound in eps:
        check_eps(bound)
    _check_shares(unkeyed)
    levers = _Levers(spread(flows, layout), layout, Tariff(prices, levels))
    rows = (*levers.alone(eps, unkeyed), *levers.waterfall(max(eps), unkeyed))
    return Savings(rows=rows, today=levers.today.whole, left=levers.left.whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """`today`, `left`: what crosses before and after the waterfall; between them its rows."""

    rows: tuple[Saving, ...]
    today: Sum
    left: Sum


class _Billed(NamedTuple):
    """A state and what it costs."""

    state: State
    bill: Bill

    @property
    def whole(self) -> Sum:
        """What all its bytes cost."""
        return total(self.bill.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A lever pulled: the state before and after, and the units of which it is not taken."""

    lever: str
    before: _Billed
    after: _Billed
    refused: Mapping[Unit, str]
    eps: float | None
    load_factors: Mapping[str, float]


class _Levers:
    """The levers of one cluster. `left`: the state after the waterfall, once it is made."""

    def __init__(self, today: State, layout: Layout, tariff: Tariff) -> None:
        self._layout = layout
        self._tariff = tariff
        self.today = self.left = self._billed(today)
        self._is_priced = self.today.whole.nano > 0

    def alone(self, eps: Sequence[float], unkeyed: Mapping[str, float]) -> Iterator[Saving]:
        """Each lever against today."""
        today, follows = self.today, self._follows_today
        yield from self._rows(ALONE, self._follower_fetch(today))
        yield from self._rows(ALONE, self._assignment(today, follows, optimal))
        for bound in eps:
            yield from self._rows(ALONE, self._producing(today, bound, unkeyed))
        yield from self._rows(ALONE, self._leader_moves(today, follows))

    def waterfall(self, eps: float, unkeyed: Mapping[str, float]) -> Iterator[Saving]:
        """Each lever on top of the ones before; the stock assignor in the place of the best."""
        reading = self._follower_fetch(self.today)

        def follows(group: str) -> bool:
            return self._layout.follows or (None, group) not in reading.refused

        assigned = self._assignment(reading.after, follows, optimal)
        produced = self._producing(assigned.after, eps, unkeyed)
        led = self._leader_moves(produced.after, follows)
        self.left = led.after
        for step in (reading, assigned, produced, led):
            yield from self._rows(WATERFALL, step)
        yield from self._rows(STOCK, self._assignment(reading.after, follows, stock))

    def _follows_today(self, _group: str) -> bool:
        return self._layout.follows

    def _billed(self, state: State) -> _Billed:
        return _Billed(state, self._tariff.bill(state))

    def _follower_fetch(self, before: _Billed) -> _Step:
        after = followed(before.state, self._layout)
        return self._taken(FOLLOWER_FETCH, before, after, _by_group)

    def _assignment(self, before: _Billed, follows: Callable[[str], bool], assign: Assign) -> _Step:
        groups = {place.client_group for place in before.state if place.kind == FETCH}
        deals: dict[str, Dealt] = {}
        untold: dict[Unit, str] = {}
        for group in sorted(groups):
            reason = self._untold(group, assign)
            try:
                if reason is None:
                    deals[group] = dealt(assign, self._layout, group, follows=follows(group))
            except (MissingDependency, OptimumTooLarge) as error:
                reason = error.message
            if reason is not None:
                untold[None, group] = f"not known: {reason}"
        near = {group: follows(group) for group in deals}
        after = reassigned(before.state, self._layout, deals, near)
        return self._taken(ASSIGNMENT, before, after, _by_group, untold)

    def _untold(self, group: str, assign: Assign) -> str | None:
        readers = self._layout.groups.get(group)
        if readers is None:
            return "the snapshot has no members of the group"
        if assign is stock and readers.protocol not in {CLASSIC, None}:
            return "its assignor is the broker's"
        return None

    def _producing(self, before: _Billed, eps: float, unkeyed: Mapping[str, float]) -> _Step:
        made = produced_near(before.state, self._layout, eps, unkeyed)
        return self._taken(
            PRODUCING, before, made.state, _by_topic, eps=eps, load_factors=made.load_factors
        )

    def _leader_moves(self, before: _Billed, follows: Callable[[str], bool]) -> _Step:
        untold: dict[Unit, str] = {}
        try:
            after = led_elsewhere(
                before.state, self._layout, self._tariff, follows=follows, worth=self._worth
            )
        except (MissingDependency, OptimumTooLarge) as error:
            after = before.state
            untold[None, None] = f"not known: {error.message}"
        return self._taken(LEADER_MOVES, before, after, _by_cluster, untold)

    def _worth(self, sum_: Sum) -> int:
        """Nano-dollars; bytes where nothing has a price."""
        return sum_.nano if self._is_priced else sum_.cross

    def _taken(
        self,
        lever: str,
        before: _Billed,
        after: State,
        unit: Callable[[Place | Row], Unit],
        untold: Mapping[Unit, str] = MappingProxyType({}),
        *,
        eps: float | None = None,
        load_factors: Mapping[str, float] = EVERY,
    ) -> _Step:
        """The lever where it does not cost; `untold`: units of which nothing is known, and why."""
        pulled = self._billed(after)
        was, will_be = sums(before.bill, unit), sums(pulled.bill, unit)
        refused = dict(untold)
        for key in sorted(was, key=str):
            reason = self._reason(was[key].less(will_be.get(key, Sum())))
            if reason is not None:
                refused[key] = reason
        if refused:
            pulled = _Billed(
                _kept(before.state, pulled.state, unit, refused),
                _kept(before.bill, pulled.bill, unit, refused),
            )
        return _Step(
            lever=lever,
            before=before,
            after=pulled,
            refused=refused,
            eps=eps,
            load_factors=load_factors,
        )

    def _reason(self, saved: Sum) -> str | None:
        if saved.nano < 0:
            return f"not taken: it would cost {exact_usd_text(-saved.nano)} USD"
        if saved.unpriced < 0 and self._is_priced:
            return f"not taken: {-saved.unpriced} bytes would cross where no price is known"
        if saved.nano == 0 and saved.cross < 0:
            return f"not taken: {-saved.cross} bytes more would cross"
        return None

    def _rows(self, view: str, step: _Step) -> Iterator[Saving]:
        """Topics and groups that change, units that are refused, topics with a load factor."""
        was, will_be = (sums(one.bill, _by_both) for one in (step.before, step.after))
        told: set[str | None] = set()
        for changed in sorted(was):
            saved = was[changed].less(will_be.get(changed, Sum()))
            if saved.cross or saved.nano:
                told.add(changed[0])
                yield self._row(view, step, changed, saved, CONDITIONS[step.lever])
        for unit, reason in step.refused.items():
            told.add(unit[0])
            yield self._row(view, step, unit, Sum(), reason)
        for topic in sorted(step.load_factors.keys() - told):
            told.add(topic)
            yield self._row(view, step, (topic, None), Sum(), NOTHING)
        if not told:
            yield self._row(view, step, (None, None), Sum(), self._idle(step))

    def _idle(self, step: _Step) -> str:
        """Why a lever moves nothing: there is nothing, or nothing tells where the bytes lie."""
        loose = Counter[Place]()
        for place, bytes_ in step.before.state.items():
            if place.alike == LOOSE and place.kind in MOVED.get(step.lever, (place.kind,)):
                loose[place] += bytes_
        crossing = self._billed(loose).whole.cross
        told = f"not known: nothing tells in which partitions {crossing} bytes that cross lie"
        return told if crossing else NOTHING

    def _row(self, view: str, step: _Step, unit: Unit, saved: Sum, condition: str) -> Saving:
        topic, group = unit
        return Saving(
            topic=topic,
            client_group=group,
            lever=step.lever,
            view=view,
            eps=step.eps,
            bytes_saved=saved.cross,
            usd_nano=saved.nano if self._is_priced else None,
            load_factor=None if topic is None else step.load_factors.get(topic),
            condition=condition,
        )


def _kept(
    before: Mapping[Bytes, Value],
    after: Mapping[Bytes, Value],
    unit: Callable[[Bytes], Unit],
    refused: Mapping[Unit, str],
) -> dict[Bytes, Value]:
    """What was before of the units that are refused, what comes after of the others."""
    stays = {key: value for key, value in before.items() if unit(key) in refused}
    return stays | {key: value for key, value in after.items() if unit(key) not in refused}


def _by_both(row: Row) -> tuple[str, str]:
    return row.topic, row.client_group


def _by_group(one: Place | Row) -> Unit:
    return None, one.client_group


def _by_topic(one: Place | Row) -> Unit:
    return one.topic, None


def _by_cluster(_one: Place | Row) -> Unit:
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
