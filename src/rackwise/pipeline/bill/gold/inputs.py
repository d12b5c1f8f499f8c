"""What the bill of a run depends on besides its fleet and its flows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.owners import NO_OWNERS, Owners
from rackwise.core.savings import EPS
from rackwise.pipeline.fleet.rack_tables import RackTables
from rackwise.pipeline.fleet.snapshots import last_day

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rackwise.core.history import StandingDay
    from rackwise.core.model import Cluster
    from rackwise.core.traffic import Price, Rates
    from rackwise.pipeline.bill.billed.cost_report import CostReport
    from rackwise.pipeline.fleet.snapshots import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedDays:
    """The days to keep."""

    first: date | None = None
    """None keeps all earlier days."""
    last: date | None = None
    """None keeps all later days."""

    @property
    def bounds(self) -> tuple[date, date] | None:
        """The first and the last day to keep; None keeps all."""
        if self.first is None and self.last is None:
            return None
        return (self.first or date.min, self.last or date.max)

    def of_rates(self, of_flows: Sequence[date], of_snapshots: date) -> Sequence[date]:
        """The days to model from rates: those requested, else those of the flows, else one day.

        `of_snapshots`: the day of the last snapshot.
        """
        if self.first and self.last:
            count = (self.last - self.first).days + 1
            return [self.first + timedelta(days=number) for number in range(count)]
        if of_flows:
            return of_flows
        return [self.first or self.last or of_snapshots]


@dataclass(frozen=True, slots=True, kw_only=True)
class BillInputs:
    """The inputs of a bill; each is as in `request.AnalyzeRequest` where nothing else is said."""

    snapshots: tuple[Snapshot, ...]
    rates: Rates
    """By the names of the clusters."""
    prices: tuple[Price, ...]
    """Rows of one provider."""
    parse: Callable[[bytes], Cluster] | None = None
    racks: RackTables = field(default_factory=RackTables)
    owners: Owners = NO_OWNERS
    level_names: tuple[str, ...] = ()
    """Of the options or the policy; empty if none are given."""
    days: RequestedDays = field(default_factory=RequestedDays)
    standing: tuple[StandingDay, ...] = ()
    keep_days: int | None = None
    eps: tuple[float, ...] = EPS
    unkeyed: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    extrapolate: bool = False
    report: CostReport | None = None
    """The provider's own bill; None if it is not given."""
    billed_region: str | None = None

    @property
    def has_rates(self) -> bool:
        """Whether traffic is modelled from rates."""
        return bool(self.rates.ins or self.rates.outs)

    def rate_days(self, of_flows: Sequence[date]) -> Sequence[date]:
        """The days to model from rates; see `RequestedDays.of_rates`."""
        return self.days.of_rates(of_flows, last_day(self.snapshots))
