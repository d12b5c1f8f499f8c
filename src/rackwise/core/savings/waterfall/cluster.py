"""The savings of one cluster: each change alone, then all of them one after another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import SplitError
from rackwise.core.partitioner.split.rates import check_eps
from rackwise.core.savings.consumers import optimal_assignment, stock_assignment
from rackwise.core.savings.model import ALONE, EPS, STOCK, USUAL_EPS, WATERFALL, Saving
from rackwise.core.savings.potential import Potentials
from rackwise.core.savings.tariff import RatesOfRoutes, Tariff, greatest_cost
from rackwise.core.savings.traffic.columns import exact_dtype, exact_sum
from rackwise.core.savings.traffic.patterns import Patterns
from rackwise.core.savings.traffic.spread import laned, names_of, spread
from rackwise.core.savings.waterfall.rows import NOT_GIVEN, StepRows, TotalRow
from rackwise.core.savings.waterfall.steps import TrafficChanges, billed
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import FlowColumns
    from rackwise.core.savings.traffic.chunks import LanedFlows, Lanes, TrafficNames
    from rackwise.core.traffic import Price


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
        dtype = exact_dtype(greatest_cost(prices, exact_sum(flows.bytes)))
        rates = RatesOfRoutes(tariff, names, dtype)
        patterns = Patterns.of(layout, names)
        potentials = Potentials(layout, patterns, lanes, names, rates)
        exact = flows._replace(bytes=flows.bytes.astype(dtype))
        self._today = billed(spread(exact, lanes, layout, patterns, names), lanes, rates)
        self.today = self.left = self._today.whole
        """What crosses before the waterfall, and after it once its rows were read."""
        self._eps = eps
        self._unkeyed = unkeyed
        self._steps = TrafficChanges(
            self._today,
            layout=layout,
            names=names,
            lanes=lanes,
            patterns=patterns,
            potentials=potentials,
            rates=rates,
            unkeyed=unkeyed,
        )
        self._rows = StepRows(
            names=names,
            lanes=lanes,
            potentials=potentials,
            dtype=dtype,
            value_of=self._steps.value_of,
        )

    def rows(self) -> Iterator[Saving]:
        """The savings in order of view, saving, topic and group. They can be read once."""
        steps, rows_of, today, unkeyed = self._steps, self._rows.of, self._today, self._unkeyed
        follows = steps.follows_today
        yield from rows_of(ALONE, steps.follower_fetch(today))
        yield from rows_of(ALONE, steps.assignment(today, follows, optimal_assignment))
        for step in steps.producing(today, sorted({*self._eps, math.inf})):
            yield from rows_of(ALONE, step, unkeyed)
        yield from rows_of(ALONE, steps.leader_moves(today, follows))
        yield from self._waterfall()

    def _waterfall(self) -> Iterator[Saving]:
        """Each change on top of the ones before, `assignment` by the stock assignor, the total."""
        steps, rows_of, total = self._steps, self._rows.of, TotalRow()
        reading = steps.follower_fetch(self._today)
        del self._today
        follows = steps.follows_today.copy()
        if not self._layout.follows:
            follows[:] = True
            follows[list(reading.rejected)] = False
        yield from total.including(rows_of(WATERFALL, reading))
        assigned = steps.assignment(reading.after, follows, optimal_assignment)
        yield from total.including(rows_of(WATERFALL, assigned))
        (produced,) = steps.producing(assigned.after, [waterfall_eps(self._eps)])
        assigned = assigned.without_traffic()
        yield from total.including(rows_of(WATERFALL, produced, self._unkeyed))
        leaders_moved = steps.leader_moves(produced.after, follows)
        produced = produced.without_traffic()
        yield from total.including(rows_of(WATERFALL, leaders_moved))
        self.left = leaders_moved.after.whole
        changes = (reading.without_traffic(), assigned, produced, leaders_moved)
        most = self._rows.most_of_all(changes, leaders_moved.after.traffic)
        yield from rows_of(STOCK, steps.assignment(reading.after, follows, stock_assignment))
        yield total.row(self.today.minus(self.left), most)


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
