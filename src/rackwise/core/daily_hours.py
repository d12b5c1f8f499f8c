"""Hours of every day in a time zone, such as the window in which plans may run.

```
22:00-05:00 Europe/Berlin      26th 21:00Z |=========| 27th 04:00Z |       27th 21:00Z |====..
                                                        closed
```

The two times are of the wall clock of the zone, so the hours move with summer time. If the first
time is later than the second, the hours end on the next day. A wall time that a day has twice is
its first one. One that a day lacks is as long after midnight as on other days: 02:30 becomes 03:30.
Hours that lie wholly in the lacking hour may be empty on that day.

What this does not do: read a clock, or the time zone database: the zone is an argument.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

HOURS_PATTERN: Final = re.compile(
    r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])"
    r"(?: ([A-Za-z][A-Za-z0-9_+/-]{0,63}))?"
)
HOURS_WANTED: Final = "HH:MM-HH:MM or HH:MM-HH:MM ZONE"
HOURS_HINT: Final = (
    'for example "22:00-05:00 Europe/Berlin"; without a zone it is UTC, and the two times differ'
)
_DAY: Final = timedelta(days=1)


class Span(NamedTuple):
    """The hours of one day."""

    start: datetime
    """UTC."""
    end: datetime
    """UTC; not in the hours."""


@dataclass(frozen=True, slots=True)
class DailyHours:
    """Hours of every day; the end may be on the next day.

    >>> DailyHours.of("22:00-05:00 Europe/Berlin")
    DailyHours(start=1320, end=300, zone='Europe/Berlin')
    """

    start: int
    """Minutes since midnight."""
    end: int
    """Minutes since midnight; not in the hours."""
    zone: str = "UTC"
    """Name of the time zone."""

    @classmethod
    def of(cls, text: str) -> DailyHours | None:
        """The hours of a text such as `22:00-05:00`, which is in UTC; None for another text.

        Equal times are another text, too.
        """
        found = HOURS_PATTERN.fullmatch(text)
        if found is None:
            return None
        hours = [int(part) for part in found.groups()[:4]]
        start, end = 60 * hours[0] + hours[1], 60 * hours[2] + hours[3]
        return None if start == end else cls(start, end, found[5] or "UTC")

    @override
    def __str__(self) -> str:
        """Write them as the file does."""
        times = [f"{minute // 60:02}:{minute % 60:02}" for minute in (self.start, self.end)]
        return f"{'-'.join(times)} {self.zone}"

    def end_at(self, now: datetime, zone: tzinfo) -> datetime | None:
        """The end of the hours that `now` is in, UTC; None if it is in none.

        `zone`: the one that `self.zone` names.

        >>> hours = DailyHours.of("22:00-05:00")
        >>> hours.end_at(datetime(2026, 11, 27, 4, 59, tzinfo=UTC), UTC)
        datetime.datetime(2026, 11, 27, 5, 0, tzinfo=datetime.timezone.utc)
        """
        return max(
            (span.end for span in self._spans(now, zone) if span.start <= now < span.end),
            default=None,
        )

    def last_end(self, now: datetime, zone: tzinfo) -> datetime:
        """The last end of the hours that is not after `now`, UTC."""
        return max(span.end for span in self._spans(now, zone) if span.end <= now)

    def next_start(self, now: datetime, zone: tzinfo) -> datetime:
        """The next start of the hours after `now`, UTC."""
        return min(span.start for span in self._spans(now, zone) if span.start > now)

    def _spans(self, now: datetime, zone: tzinfo) -> Iterator[Span]:
        """The hours of the days around `now` that are not empty."""
        today = now.astimezone(zone).date()
        ends_on = _DAY if self.end <= self.start else timedelta()
        for days in range(-4, 4):
            day = today + timedelta(days=days)
            start, end = (
                datetime.combine(date, time(*divmod(minute, 60)), zone).astimezone(UTC)
                for date, minute in ((day, self.start), (day + ends_on, self.end))
            )
            if start < end:
                yield Span(start, end)
