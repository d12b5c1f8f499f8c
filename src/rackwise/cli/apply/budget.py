"""The options that limit what one run begins, and the budget that they set.

```
--next 5             moves
--most-bytes 2TB     bytes of their copies
--until 05:00        the next 05:00 in the time zone of this machine
--for 4h             from now on; a run that was killed keeps its end
```

Now is when the command begins: a long preflight does not turn 05:00 into that of the next day. The
clock and the time zone are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.apply.options import parse_bytes
from rackwise.cli.apply.text import span_text
from rackwise.cli.shell import MILLISECONDS, parse_duration_ms
from rackwise.cli.source import utc_now
from rackwise.core.applying.budget import Budget, smallest_copy
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import tzinfo

    from rackwise.core.applying.journal.lines import Begin
    from rackwise.core.planning.model import Move

_CLOCK = "a time such as 05:00 or 2026-11-27T05:00"
_DAYS = 3
"""Days to try for the next clock time: a day of a change to summer time may lack it."""

Next = Annotated[
    int | None,
    typer.Option(
        "--next", metavar="N", min=1, help="Start at most N moves in this run, and let them end."
    ),
]
MostBytes = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Start at most this many bytes of copies in this run."),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Start no move after this time: the next 05:00 on the clock of this machine, or a "
        "date and time such as 2026-11-27T05:00.",
    ),
]
For = Annotated[
    str | None,
    typer.Option("--for", metavar="TIME", help="Start no move after this long, such as 4h."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandStart:
    """When a command began."""

    now: datetime
    clock_ms: int
    """The same on the monotonic clock of this process."""

    @classmethod
    def read(cls) -> CommandStart:
        """Read both clocks."""
        from rackwise.adapters.clock import monotonic_ms

        return cls(now=datetime.fromisoformat(utc_now()), clock_ms=monotonic_ms())


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """The limits of what one run begins. Raises `InvalidConfig`."""

    next_: Next = None
    most_bytes: MostBytes = None
    until: Until = None
    for_: For = None

    def __post_init__(self) -> None:
        """Reject invalid values before the command begins."""
        _ = self.bytes, self.lasts_ms
        if self.until is not None:
            _parse_time(self.until)
        if self.until is not None and self.for_ is not None:
            raise InvalidConfig(
                "expected one of --until and --for, got both",
                wanted="one of --until and --for",
                had="both",
                hint="omit one of them",
                where="--until",
            )

    @property
    def bytes(self) -> int | None:
        """Bytes of the copies that the run may begin."""
        return parse_bytes("--most-bytes", self.most_bytes)

    @property
    def lasts_ms(self) -> int | None:
        """Length of the run in milliseconds."""
        if self.for_ is None:
            return None
        length = round(parse_duration_ms("--for", self.for_))
        if length < 1:
            raise InvalidConfig(
                f"invalid --for: expected 1ms or more, got {escaped(self.for_)}",
                wanted="1ms or more",
                had=self.for_,
                hint="to check the plan without starting a move, use --check",
                where="--for",
            )
        return length

    def budget(
        self,
        now: datetime,
        clock_ms: int,
        *,
        killed: Begin | None = None,
        inherits: bool = False,
        zone: tzinfo | None = None,
    ) -> Budget:
        """The budget of a run that begins `now`, which is `clock_ms` on the monotonic clock.

        `killed`: the first line of a run that was killed. A run of the same length keeps its end,
        unless that is past. A run without options takes its whole budget if it `inherits`, also if
        its end is past: such a run starts nothing, and lets the moves in progress end.
        `zone`: of `--until`; None: that of this machine. Raises `InvalidConfig`.
        """
        lasts_ms, until = self.lasts_ms, self._end(now, zone)
        moves, most = self.next_, self.bytes
        if killed is not None and inherits and self == BudgetOptions():
            moves, most, lasts_ms = killed.next_moves, killed.most_bytes, killed.lasts_ms
            until = _from_utc(killed.until)
        elif killed is not None and lasts_ms is not None and lasts_ms == killed.lasts_ms:
            until = until if _is_past(killed.until, now) else _from_utc(killed.until)
        return Budget(
            moves=moves,
            bytes=most,
            until=None if until is None else utc_text(until),
            lasts_ms=lasts_ms,
            end_ms=None if until is None else clock_ms + (until - now) // timedelta(milliseconds=1),
        )

    def _end(self, now: datetime, zone: tzinfo | None) -> datetime | None:
        if self.lasts_ms is not None:
            return _whole_seconds(now + timedelta(milliseconds=self.lasts_ms))
        return None if self.until is None else end_of(self.until, now, zone)


def options_of(budget: Budget, now: datetime, zone: tzinfo | None = None) -> BudgetOptions:
    """The options of a next run with the same limits; its length is in whole seconds.

    An end that is past becomes the next such clock time of `zone`; None: that of this machine.

    >>> options_of(Budget(moves=5, lasts_ms=5_400_000), datetime.now(UTC))
    BudgetOptions(next_=5, most_bytes=None, until=None, for_='90min')
    """
    until = for_ = None
    if budget.lasts_ms is not None:
        for_ = _length_text(budget.lasts_ms)
    elif budget.until is not None:
        clock = f"{datetime.fromisoformat(budget.until).astimezone(zone):%H:%M:%S}"
        until = clock if _is_past(budget.until, now) else budget.until
    most = None if budget.bytes is None else str(budget.bytes)
    return BudgetOptions(next_=budget.moves, most_bytes=most, until=until, for_=for_)


def next_run(
    options: BudgetOptions,
    budget: Budget,
    left: Collection[Move],
    now: datetime,
    zone: tzinfo | None = None,
) -> BudgetOptions:
    """The options of the run that continues one with these options and this budget.

    Without options the budget was inherited. A date and time that is past becomes that clock time.
    `left`: the moves that are not begun; if `--most-bytes` is below all of them, the smallest one
    takes its place, and none if no size is known.
    """
    if options == BudgetOptions():
        options = options_of(budget, now, zone)
    elif options.until is not None and isinstance(_parse_time(options.until), datetime):
        until = options_of(budget, now, zone).until
        options = replace(options, until=until) if _is_past(budget.until, now) else options
    least = smallest_copy(left)
    if left and options.bytes is not None and (least is None or least > options.bytes):
        options = replace(options, most_bytes=None if least is None else str(least))
    return options


def _length_text(lasts_ms: int) -> str:
    """`90min`: whole seconds, rounded up, in the largest unit without a rest."""
    length = -(-lasts_ms // 1_000) * 1_000
    unit = next(name for name, size in reversed(MILLISECONDS.items()) if length % size == 0)
    return f"{length // MILLISECONDS[unit]}{unit}"


def end_of(text: str, now: datetime, zone: tzinfo | None = None) -> datetime:
    """The time that `--until` names: the next such clock time after `now`, or that date and time.

    >>> from zoneinfo import ZoneInfo
    >>> end_of("05:00", datetime(2026, 11, 26, 22, 0, tzinfo=UTC), ZoneInfo("Europe/Berlin"))
    datetime.datetime(2026, 11, 27, 4, 0, tzinfo=datetime.timezone.utc)

    Raises `InvalidConfig` for a date and time that is past.
    """
    wanted = _parse_time(text)
    if isinstance(wanted, datetime):
        end = _to_utc(wanted, zone)
        if end <= now:
            raise InvalidConfig(
                f"invalid --until: expected a time after {time_text(now, zone)}, got "
                f"{escaped(text)}",
                wanted="a later time",
                had=text,
                hint="set the date and time at which the next window ends",
                where="--until",
            )
        return end
    today = now.astimezone(zone).date()
    ends = (
        _to_utc(datetime.combine(today + timedelta(days=days), wanted), zone)
        for days in range(_DAYS)
    )
    return next(end for end in ends if end > now)


def _parse_time(text: str) -> datetime | time:
    """A clock time, or a date and time. Raises `InvalidConfig`."""
    for parse in (time.fromisoformat, datetime.fromisoformat):
        try:
            found = parse(text)
        except ValueError:
            continue
        if ":" in text and (isinstance(found, datetime) or found.tzinfo is None):
            return found
    raise InvalidConfig(
        f"invalid --until: expected {_CLOCK}, got {escaped(text)}",
        wanted=_CLOCK,
        had=text,
        hint="hours and minutes on the clock of this machine; a date may carry an offset or Z",
        where="--until",
    )


def _to_utc(wall: datetime, zone: tzinfo | None) -> datetime:
    """The instant of a wall time; one without offset is in `zone`."""
    if wall.tzinfo is None and zone is not None:
        wall = wall.replace(tzinfo=zone)
    return wall.astimezone(UTC)


def time_text(instant: datetime, zone: tzinfo | None = None) -> str:
    """`2026-11-27 05:00:00 CET (UTC+01:00)`: an instant on the wall clock of a zone."""
    local = instant.astimezone(zone)
    offset = local.strftime("%z")
    return f"{local:%Y-%m-%d %H:%M:%S %Z} (UTC{offset[:3]}:{offset[3:5]})"


def budget_text(budget: Budget, now: datetime, begun: int, zone: tzinfo | None = None) -> str:
    """`budget: at most 5 moves; no new move after 2026-11-27 05:00:00 CET (UTC+01:00), in 7 hours`.

    `begun`: moves of a killed run that count.
    """
    from rackwise.report.formats import bytes_text

    parts = []
    if budget.moves is not None:
        parts.append(f"at most {counted(budget.moves, 'move')}")
    if budget.bytes is not None:
        parts.append(f"at most {bytes_text(budget.bytes)} of copies")
    end = _from_utc(budget.until)
    if end is not None:
        left = int((end - now).total_seconds())
        when = f"in {span_text(left)}" if left > 0 else "which is past"
        parts.append(f"no new move after {time_text(end, zone)}, {when}")
    text = f"budget: {'; '.join(parts)}"
    if begun:
        text += f"; {counted(begun, 'move')} of the killed run count{'s' if begun == 1 else ''}"
    return text


def _from_utc(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def utc_text(instant: datetime) -> str:
    """`2026-11-27T05:00:00Z`, as the journal has it."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _whole_seconds(instant: datetime) -> datetime:
    """The instant, rounded up to what the journal can hold."""
    return (instant + timedelta(microseconds=999_999)).replace(microsecond=0)


def _is_past(until: str | None, now: datetime) -> bool:
    end = _from_utc(until)
    return end is not None and end <= now
