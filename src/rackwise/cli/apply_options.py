"""What the commands that carry a plan out have in common: options, and the limits they make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.shell import UNITS, size_in_bytes
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.core.applying.values import Caps

GREATEST = 2**63 - 1
"""Kafka keeps a rate in 64 bits."""
_LONGEST = 30

Over = Literal["keep", "max", "ours"]
"""Where an operator has set a broker's rate: theirs, the larger one, ours."""

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A file of rackwise plan.")]
Bootstrap = Annotated[str, typer.Option(metavar="H:P", help="Brokers to ask, comma between.")]
Throttle = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="Bytes per second and broker, such as 50MB; else none."),
]
ThrottleOver = Annotated[
    Over, typer.Option(help="A broker's rate that somebody has set: theirs, larger, or ours.")
]
AtOnce = Annotated[int, typer.Option(metavar="N", min=1, help="Partitions that move at once.")]
PerBroker = Annotated[int, typer.Option(metavar="N", min=1, help="Of them into one broker.")]
BytesInFlight = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Most bytes that move at once; else no limit.")
]
First = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Only the first N moves of the plan.")
]
Alongside = Annotated[
    bool, typer.Option("--alongside", help="Though other reassignments run; caps count them.")
]
AllowPartial = Annotated[
    bool, typer.Option("--allow-partial", help="Leave stale moves out, by name.")
]
NoElect = Annotated[bool, typer.Option("--no-elect", help="Leave leaders where they are.")]
Stall = Annotated[
    int, typer.Option(metavar="S", min=1, help="So long without a byte: begin nothing new.")
]
Down = Annotated[
    int, typer.Option(metavar="S", min=1, help="A target so long dead: its moves are taken back.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked for; `rate`: bytes per second and broker, None = no throttle."""

    caps: Caps
    rate: int | None = None
    alongside: bool = False
    allow_partial: bool = False


def wishes_of(
    *,
    throttle: str | None,
    throttle_over: Over,
    at_once: int,
    per_broker: int,
    bytes_in_flight: str | None,
    first: int | None,
    alongside: bool,
    allow_partial: bool,
    no_elect: bool,
    stall: int,
    down: int,
) -> Wishes:
    """The wishes that options make. Raises `InvalidConfig`."""
    from rackwise.core.applying.values import Caps

    return Wishes(
        caps=Caps(
            at_once=at_once,
            per_broker=per_broker,
            bytes_in_flight=_bytes("--bytes-in-flight", bytes_in_flight),
            first=first,
            stall_ms=stall * 1000,
            down_ms=down * 1000,
            elect=not no_elect,
            throttle_over=throttle_over,
        ),
        rate=_bytes("--throttle", throttle),
        alongside=alongside,
        allow_partial=allow_partial,
    )


def _bytes(option: str, text: str | None) -> int | None:
    """Bytes, or bytes per second, of an option. Raises `InvalidConfig`."""
    if text is None:
        return None
    units = " ".join(filter(None, UNITS))
    try:
        size = size_in_bytes(text) if len(text) <= _LONGEST else GREATEST + 1
    except InvalidConfig:
        size = 0
    if 0 < size <= GREATEST:
        return size
    raise InvalidConfig(
        f"{option}: a number of bytes from 1 to {GREATEST} is wanted, such as 50MB; "
        f"{escaped(text)!r} was given",
        wanted=units,
        had=text,
        hint=f"units: {units}; a bare number is bytes, never bits",
        where=option,
    )
