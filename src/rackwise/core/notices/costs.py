"""The cost of the last whole day of a cluster, and of the day that it is compared with.

Compared are dollars per observed hour of yesterday and of the same day a week before, because
traffic differs between the days of a week; without that day, of the day before yesterday. Both days
must be observed for at least `LEAST_HOURS`, so that a night is not compared with a whole day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from rackwise.core.notices.changes import DayCost

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAST_HOURS: Final = 20
_WEEK: Final = timedelta(days=7)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOfDay:
    """The cost of traffic between racks on one day of one cluster."""

    day: date
    nano_usd: int | None
    """Nano-dollars; None is not known."""
    since: datetime | None
    """Start of the observed time; None without traffic."""
    until: datetime | None
    """End of the observed time."""

    @property
    def hours(self) -> Fraction:
        """Observed hours of the day."""
        if self.since is None or self.until is None:
            return Fraction(0)
        start = datetime.combine(self.day, time(), UTC)
        begun, ended = max(start, self.since), min(start + _DAY, self.until)
        return Fraction(max(0, (ended - begun) // timedelta(milliseconds=1)), 3_600_000)


def day_cost(days: Iterable[CostOfDay], tonight: date) -> DayCost | None:
    """The cost of the day before `tonight`, and what it is compared with; None is not known."""
    known = {
        each.day: Fraction(each.nano_usd) / each.hours
        for each in days
        if each.nano_usd is not None and each.hours >= LEAST_HOURS
    }
    last = tonight - _DAY
    before = next((each for each in (last - _WEEK, last - _DAY) if each in known), None)
    if last not in known or before is None:
        return None
    return DayCost(
        day=last.isoformat(),
        before_day=before.isoformat(),
        nano_per_hour=known[last],
        before_nano_per_hour=known[before],
    )
