"""The window of a run: hours of every day in which it starts moves.

```
--window "22:00-05:00 Europe/Berlin"
                          apply                               resume
inside, until 05:00       as with --until 05:00               as with --until 05:00
outside                   exit code 4, nothing is written     lets the moves in progress end
```

`resume` runs outside, too, because a run that was killed leaves its throttles set until the moves
in progress have ended. An end of the run that is earlier than that of the window stays.

Now is when the command begins. The clock and the time zone are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.apply.budget import utc_text
from rackwise.core.daily_hours import HINT, WANTED, DailyHours
from rackwise.core.errors import InvalidConfig, OutsideWindow
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from datetime import tzinfo

    from rackwise.cli.apply.budget import CommandStart
    from rackwise.cli.shell import Shell
    from rackwise.core.applying.budget import Budget

Hours = Annotated[
    str | None,
    typer.Option(
        metavar="HOURS",
        help="Start moves only in these hours of every day, such as '22:00-05:00 Europe/Berlin'; "
        "without a zone UTC. With --cluster, the default is its window in the fleet file.",
    ),
]
IgnoreWindow = Annotated[
    bool, typer.Option("--ignore-window", help="Start moves outside the window, too.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A window at the time at which a command begins."""

    hours: DailyHours
    is_open: bool
    """Whether the command begins in the hours."""
    end: datetime
    """End of the hours that the command begins in, else of those before, UTC."""
    next_start: datetime
    """The next start of the hours, UTC."""

    def cut(self, budget: Budget, start: CommandStart) -> Budget:
        """The budget with the end of the window; outside, that end is past."""
        if budget.until is not None and datetime.fromisoformat(budget.until) <= self.end:
            return budget
        left_ms = (self.end - start.now) // timedelta(milliseconds=1)
        return replace(budget, until=utc_text(self.end), end_ms=start.clock_ms + left_ms)

    def uncut(self, budget: Budget) -> Budget:
        """The budget of `cut` without the end of the window."""
        is_cut = budget.until == utc_text(self.end)
        return replace(budget, until=None, end_ms=None) if is_cut else budget

    @property
    def options(self) -> WindowOptions:
        """The options of a command that repeats the window."""
        return WindowOptions(window=str(self.hours))


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """The hours in which a run starts moves. Raises `InvalidConfig`."""

    window: Hours = None
    ignore_window: IgnoreWindow = False

    def __post_init__(self) -> None:
        """Reject invalid hours before the command begins."""
        if self.window is not None:
            _parsed(self.window)

    def opening(self, now: datetime) -> Opening | None:
        """The window as it is `now`; None: the run has none, or ignores it."""
        if self.window is None or self.ignore_window:
            return None
        hours, zone = _parsed(self.window)
        end = hours.end_at(now, zone)
        return Opening(
            hours=hours,
            is_open=end is not None,
            end=end or hours.last_end(now, zone),
            next_start=hours.next_start(now, zone),
        )

    def checked(self, shell: Shell, now: datetime, *, is_check: bool) -> Opening | None:
        """The window of `apply`. Raises `OutsideWindow`, unless the command only checks."""
        opening = self.opening(now)
        if opening is None or opening.is_open:
            return opening
        text = f"outside the window {opening.hours}, which begins at {utc_text(opening.next_start)}"
        if not is_check:
            raise OutsideWindow(
                f"{text}: nothing was started",
                wanted=str(opening.hours),
                had=utc_text(now),
                hint="start it again in the window; --ignore-window starts it at once, and "
                "rackwise resume only lets moves in progress end",
                where="--window",
            )
        shell.note(text)
        return None


def _parsed(text: str) -> tuple[DailyHours, tzinfo]:
    """Hours and their zone. Raises `InvalidConfig`."""
    from rackwise.adapters.clock import ZONE_HINT, time_zone

    hours = DailyHours.of(text)
    if hours is None:
        raise InvalidConfig(
            f"invalid --window: expected {WANTED}, got {escaped(text)}",
            wanted=WANTED,
            had=text,
            hint=HINT,
            where="--window",
        )
    zone = time_zone(hours.zone)
    if zone is None:
        raise InvalidConfig(
            f"invalid --window: expected hours in a known time zone, got {escaped(text)}",
            wanted="a known time zone",
            had=hours.zone,
            hint=ZONE_HINT,
            where="--window",
        )
    return hours, zone
