"""The window of a run: hours of every day in which it starts moves.

```
--window "22:00-05:00 Europe/Berlin"
                          apply                               resume
inside, until 05:00       as with --until 05:00               as with --until 05:00
outside                   exit code 4, nothing is written     lets the moves in progress end
```

`resume` runs outside, too, because a run that was killed leaves its throttles set until the moves
in progress have ended. It keeps the window of such a run. An end of the run that is earlier than
that of the window stays. The journal names the window, so that a later command can repeat it.

Now is when the command begins. The clock and the time zone are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from rackwise.cli.apply.budget import next_run, utc_text
from rackwise.cli.source import utc_now
from rackwise.core.daily_hours import HOURS_HINT, HOURS_WANTED, DailyHours
from rackwise.core.errors import InvalidConfig, OutsideWindow
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import tzinfo

    from rackwise.cli.apply.budget import BudgetOptions, CommandStart
    from rackwise.cli.shell import Shell
    from rackwise.core.applying.budget import Budget
    from rackwise.core.applying.journal.lines import Begin
    from rackwise.core.planning.model import Move

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
        """The budget with the window and its end; outside, that end is past."""
        budget = replace(budget, window=str(self.hours))
        if budget.until is not None and datetime.fromisoformat(budget.until) <= self.end:
            return budget
        left_ms = (self.end - start.now) // timedelta(milliseconds=1)
        return replace(budget, until=utc_text(self.end), end_ms=start.clock_ms + left_ms)


def without_window(budget: Budget) -> Budget:
    """The budget of `Opening.cut` without the window and its end.

    An end of the run that is an end of the window is taken for the latter. In a time zone that this
    machine does not know, it stays.
    """
    from rackwise.adapters.clock import time_zone

    hours = None if budget.window is None else DailyHours.of(budget.window)
    if hours is None:
        return budget
    zone, until = time_zone(hours.zone), budget.until
    end = None if until is None else datetime.fromisoformat(until)
    is_cut = end is not None and zone is not None and hours.last_end(end, zone) == end
    budget = replace(budget, window=None)
    return replace(budget, until=None, end_ms=None) if is_cut else budget


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """The hours in which a run starts moves. Raises `InvalidConfig`."""

    window: Hours = None
    ignore_window: IgnoreWindow = False
    outside_hint: ClassVar[str] = (
        "start it again in the window; --ignore-window starts it at once, and rackwise resume only "
        "lets moves in progress end"
    )
    """What to do outside the window."""

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

    def inheriting(self, killed: Begin | None) -> WindowOptions:
        """The options of `resume`: without any, the window is that of the run that was killed."""
        if killed is None or self.window is not None or self.ignore_window:
            return self
        return replace(self, window=killed.window)

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
                hint=self.outside_hint,
                where="--window",
            )
        shell.note(text)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackWindow(WindowOptions):
    """The hours of `rollback`: those that are given, as a repair does not wait for the fleet's."""

    window: Annotated[
        str | None,
        typer.Option(
            metavar="HOURS",
            help="Start moves only in these hours of every day, such as '22:00-05:00 "
            "Europe/Berlin'; without a zone UTC. The window of the fleet file does not apply.",
        ),
    ] = None
    outside_hint: ClassVar[str] = "start it again in the window; without --window it starts at once"


def next_limits(
    limits: BudgetOptions, budget: Budget, left: Collection[Move]
) -> tuple[BudgetOptions, WindowOptions]:
    """The options of the run that continues one with this budget, in its window.

    `limits`: the options of that run; without any, the budget was inherited. `left`: the moves that
    are not begun.
    """
    again = next_run(limits, without_window(budget), left, datetime.fromisoformat(utc_now()))
    return again, WindowOptions(window=budget.window)


def _parsed(text: str) -> tuple[DailyHours, tzinfo]:
    """Hours and their zone. Raises `InvalidConfig`."""
    from rackwise.adapters.clock import ZONE_HINT, time_zone

    hours = DailyHours.of(text)
    if hours is None:
        raise InvalidConfig(
            f"invalid --window: expected {HOURS_WANTED}, got {escaped(text)}",
            wanted=HOURS_WANTED,
            had=text,
            hint=HOURS_HINT,
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
