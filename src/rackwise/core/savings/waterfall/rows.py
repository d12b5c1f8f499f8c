"""The rows of a step: what a change saves of each topic and client group, at least and at most.

The least saving is what bytes with known partitions and readers save, minus what all other bytes of
the unit could lose. The greatest saving adds what these other bytes could save (see `potential`).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from rackwise.core.savings.model import (
    ALL,
    ASSIGNMENT,
    CONDITIONS,
    PRODUCING,
    TOTAL,
    UNKNOWN_NAME,
    Saving,
)
from rackwise.core.savings.potential import OF_KEYS, Potentials, SavedRange
from rackwise.core.savings.tariff import Costs, CrossingCost
from rackwise.core.savings.traffic.columns import run_starts
from rackwise.core.traffic import apportion, known_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.savings.potential import Potential
    from rackwise.core.savings.traffic.chunks import Chunk, Lanes, Traffic, TrafficNames
    from rackwise.core.savings.traffic.columns import Codes
    from rackwise.core.savings.waterfall.steps import SavingStep, Unit

NOT_GIVEN: Mapping[str, float] = MappingProxyType({})
"""No topic has a known share of records without a key."""
NOTHING = "nothing to save here"
UNKNOWN_GROUP = (None, UNKNOWN_NAME)
"""The unit of the reads whose client group is not known."""


class _Loss(TypedDict):
    """The fields of `SavedRange` about losses."""

    lost_bytes: int | None
    lost_nano: int | None
    doubts: tuple[str, ...]


NO_LOSS: _Loss = {"lost_bytes": 0, "lost_nano": 0, "doubts": ()}


class _Sums:
    """The potentials of a step, added up by place and by unit."""

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


class TotalRow:
    """The row of all changes of the waterfall together."""

    def __init__(self) -> None:
        self._bytes_low: list[int | None] = []
        self._nano_low: list[int | None] = []
        self._has_bytes = self._has_nano = True
        self._reasons: dict[str, None] = {}

    def including(self, rows: Iterable[Saving]) -> Iterator[Saving]:
        """Yields the rows of a step unchanged, and adds them to the total."""
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


class StepRows:
    """Computes the rows of steps of one cluster."""

    def __init__(
        self,
        *,
        names: TrafficNames,
        lanes: Lanes,
        potentials: Potentials,
        dtype: type,
        value_of: Callable[[CrossingCost], int],
    ) -> None:
        """`dtype`: of sums; `value_of`: the amount of a cost that is compared."""
        self._names = names
        self._lanes = lanes
        self._potentials = potentials
        self._dtype = dtype
        self._value_of = value_of
        topic, group = lanes.places
        self._places = [
            (names.topics[a], names.groups[b])
            for a, b in zip(topic.tolist(), group.tolist(), strict=True)
        ]

    def of(
        self, view: str, step: SavingStep, unkeyed: Mapping[str, float] = NOT_GIVEN
    ) -> Iterator[Saving]:
        """The rows of a step, in this order.

        - topics and groups whose cost changes or may change;
        - units that the change leaves out;
        - other topics with a load factor;
        - one row for the whole cluster if there is no other row.
        """
        change = step.change
        sums = _Sums(len(self._places), len(change.units), self._dtype)
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

    def most_of_all(self, steps: Sequence[SavingStep], left: Traffic) -> CrossingCost:
        """What the remaining traffic could save, each key by the change that saves most."""
        whole = CrossingCost()
        for number, chunk in enumerate(left):
            found = [self._potential(step, chunk) for step in steps] + [
                self._potentials.of_readers(step.unknown_readers[number])
                for step in steps
                if number in step.unknown_readers
            ]
            code = found[0].keys.stacked(*(one.keys for one in found[1:])).codes()
            keys, key = np.unique(code, return_inverse=True)
            most = Costs.zero(len(keys), self._dtype)
            most.most_at(key, [one.most for one in found])
            whole = whole.plus(most.whole)
        return whole

    def _step_potentials(self, step: SavingStep, traffic: Traffic) -> Iterator[Potential]:
        """What the change could save or lose of each key of the traffic, beyond what is known."""
        for chunk in traffic:
            yield self._potential(step, chunk)
        for chunk in step.unknown_readers.values():
            yield self._potentials.of_readers(chunk)

    def _potential(self, step: SavingStep, chunk: Chunk) -> Potential:
        change = step.change
        has_doubt = np.zeros(len(change.units), dtype=np.bool_)
        has_doubt[list(step.doubts)] = True
        of_lane = has_doubt[change.unit][self._lanes.place]
        return self._potentials.of(change.saving, chunk, change.follows, of_lane)

    def _losses(self, step: SavingStep, saved: Costs, sums: _Sums) -> Mapping[int, _Loss]:
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

    def _lost(
        self, step: SavingStep, sums: _Sums, unit: int
    ) -> tuple[CrossingCost, tuple[str, ...]]:
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

    def _row(
        self, view: str, step: SavingStep, unit: Unit, row: SavedRange, condition: str
    ) -> Saving:
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


def _divided(lost: int, saved: Sequence[int]) -> list[int | None]:
    """A loss in proportion to what is saved; None where nothing is left of the savings."""
    if lost and lost >= sum(saved):
        return [None] * len(saved)
    weights = [max(0, each) for each in saved]
    return [*apportion(lost, weights)] if any(weights) else [0] * len(saved)
