"""The options shared by the commands that execute a plan, and the limits that they set."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from rackwise.cli.apply.text import resume_line
from rackwise.cli.source import CommandConfig
from rackwise.core.applying.model import MOST_RATE, Caps, RateConflict
from rackwise.core.byte_sizes import UNITS, size_in_bytes
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

_LONGEST = 30
"""Characters of the longest size: more digits than any 64-bit number has."""

PlanFile = Annotated[
    Path,
    typer.Argument(
        metavar="PLAN",
        help="The plan file that rackwise plan --out has written, or Kafka's reassignment JSON.",
    ),
]
Bootstrap = Annotated[
    str,
    typer.Option(
        metavar="H:P", help="Connect to these brokers, as HOST:PORT, separated by commas."
    ),
]
Throttle = Annotated[
    str | None,
    typer.Option(
        metavar="RATE",
        help="Limit copying to this rate per second and broker, such as 50MB. The default is no "
        "limit, or the limit of the run that is continued.",
    ),
]
ThrottleOver = Annotated[
    RateConflict,
    typer.Option(
        help="If an operator has already set a rate: keep it, use the larger of both (max), or use "
        "the rate of --throttle (ours)."
    ),
]
AtOnce = Annotated[int, typer.Option(metavar="N", min=1, help="Move at most N partitions at once.")]
PerBroker = Annotated[
    int, typer.Option(metavar="N", min=1, help="Move at most N partitions into one broker at once.")
]
BytesInFlight = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Move at most this many bytes at once. The default is no limit."
    ),
]
Alongside = Annotated[
    bool,
    typer.Option(
        "--alongside", help="Run while other reassignments run; the limits count these too."
    ),
]
AllowPartial = Annotated[
    bool, typer.Option("--allow-partial", help="Leave out stale moves, and name each of them.")
]
NoElect = Annotated[bool, typer.Option("--no-elect", help="Do not elect preferred leaders.")]
Stall = Annotated[
    int,
    typer.Option(metavar="S", min=1, help="Start no new move after S seconds without progress."),
]
Down = Annotated[
    int,
    typer.Option(
        metavar="S", min=1, help="Cancel the moves to a broker that has been down for S seconds."
    ),
]
Check = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Check whether the plan may run; show the bytes to copy, the shortest time and the "
        "busiest broker; write nothing.",
    ),
]


def given(group: object) -> list[str]:
    """The options of a group that differ from their defaults, as words of a command line."""
    words: list[str] = []
    for each in fields(group):  # type: ignore[arg-type]
        value = getattr(group, each.name)
        if value == each.default:
            continue
        words.append(f"--{each.name.rstrip('_').replace('_', '-')}")
        if value is not True:
            words.append(shlex.quote(str(value)))
    return words


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The plan and the cluster as the user named them."""

    plan: PlanFile
    bootstrap_server: Bootstrap
    command_config: CommandConfig = None

    def command(self, verb: str, *groups: object) -> str:
        """The command line that continues with this plan, with the options of these groups."""
        line = resume_line(verb, self.plan, self.bootstrap_server, self.command_config)
        return escaped(" ".join([line, *(each for group in groups for each in given(group))]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """The options of a command that executes a plan. Raises `InvalidConfig` for invalid sizes."""

    throttle: Throttle = None
    throttle_over: ThrottleOver = "keep"
    at_once: AtOnce = 200
    per_broker: PerBroker = 5
    bytes_in_flight: BytesInFlight = None
    alongside: Alongside = False
    allow_partial: AllowPartial = False
    no_elect: NoElect = False
    stall: Stall = 600
    down: Down = 60
    check: Check = False

    def __post_init__(self) -> None:
        """Reject invalid sizes before the command begins."""
        _ = self.rate, self.caps

    @property
    def rate(self) -> int | None:
        """Throttle in bytes per second and broker; None: no throttle."""
        return parse_bytes("--throttle", self.throttle)

    @property
    def caps(self) -> Caps:
        """The limits of a run."""
        return Caps(
            at_once=self.at_once,
            per_broker=self.per_broker,
            bytes_in_flight=parse_bytes("--bytes-in-flight", self.bytes_in_flight),
            stall_ms=self.stall * 1000,
            down_ms=self.down * 1000,
            elect=not self.no_elect,
            throttle_over=self.throttle_over,
        )


def parse_bytes(option: str, text: str | None) -> int | None:
    """Bytes, or bytes per second, of an option. Raises `InvalidConfig`."""
    if text is None:
        return None
    units = " ".join(filter(None, UNITS))
    try:
        size = size_in_bytes(text) if len(text) <= _LONGEST else MOST_RATE + 1
    except InvalidConfig:
        size = 0
    if 0 < size <= MOST_RATE:
        return size
    raise InvalidConfig(
        f"invalid {option}: expected 1 to {MOST_RATE} bytes, such as 50MB, got {escaped(text)!r}",
        wanted=units,
        had=text,
        hint=f"use one of the units {units}; a number without a unit is bytes, never bits",
        where=option,
    )
