"""The options shared by the commands that execute a plan, and the limits that they set."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from rackwise.cli.apply.text import resume_line
from rackwise.cli.shell import UNITS, size_in_bytes
from rackwise.cli.source import ClientConfig
from rackwise.core.applying.model import MOST_RATE, Caps, RateConflict
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_LONGEST = 30
"""Characters of the longest size: more digits than any 64-bit number has."""

PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="Plan file, written by rackwise plan --out.")
]
Bootstrap = Annotated[
    str,
    typer.Option(metavar="H:P", help="Brokers to connect to, as HOST:PORT, separated by commas."),
]
Throttle = Annotated[
    str | None,
    typer.Option(
        metavar="RATE",
        help="Limit copying to this rate per second and broker, such as 50MB; default no limit.",
    ),
]
ThrottleOver = Annotated[
    RateConflict,
    typer.Option(help="Which rate holds where an operator has set one: theirs, larger or ours."),
]
AtOnce = Annotated[int, typer.Option(metavar="N", min=1, help="Move at most N partitions at once.")]
PerBroker = Annotated[
    int, typer.Option(metavar="N", min=1, help="Move at most N partitions into one broker at once.")
]
BytesInFlight = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Move at most this many bytes at once; default no limit."),
]
First = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Execute only the first N moves of the plan."),
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
        metavar="S", min=1, help="Cancel the moves to a broker that is down for S seconds."
    ),
]
Check = Annotated[
    bool, typer.Option("--check", help="Check whether the plan may run, and write nothing.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The plan and the cluster as the user named them."""

    path: Path
    bootstrap: str
    client_config: Path | None

    def command(self, verb: str) -> str:
        """The command line that continues with this plan."""
        return resume_line(verb, self.path, self.bootstrap, self.client_config)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """The parsed options of a command that executes a plan."""

    caps: Caps
    rate: int | None = None
    """Throttle in bytes per second and broker; None: no throttle."""
    alongside: bool = False
    allow_partial: bool = False
    is_check: bool = False


Command: TypeAlias = "Callable[[typer.Context, Target, ApplyOptions], int]"


def with_apply_options(*, without: Collection[str] = ()) -> Callable[[Command], Callable[..., int]]:
    """Give a command the options of `parse_options`, except those in `without`.

    The command itself receives the parsed values.
    """

    def with_options(command: Command) -> Callable[..., int]:
        def told(context: typer.Context, **given: Any) -> int:  # noqa: ANN401 (as they were given)
            return command(context, *parse_options(**given))

        context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        options = signature(parse_options, eval_str=True).parameters
        kept = [context, *(each for name, each in options.items() if name not in without)]
        told.__name__, told.__doc__ = command.__name__, command.__doc__
        told.__annotations__ = {each.name: each.annotation for each in kept}
        vars(told)["__signature__"] = Signature(kept)
        return told

    return with_options


def parse_options(
    plan: PlanFile,
    bootstrap_server: Bootstrap,
    client_config: ClientConfig = None,
    throttle: Throttle = None,
    throttle_over: ThrottleOver = "keep",
    at_once: AtOnce = 200,
    per_broker: PerBroker = 5,
    bytes_in_flight: BytesInFlight = None,
    first: First = None,
    alongside: Alongside = False,
    allow_partial: AllowPartial = False,
    no_elect: NoElect = False,
    stall: Stall = 600,
    down: Down = 60,
    check: Check = False,
) -> tuple[Target, ApplyOptions]:
    """The values of the options. Raises `InvalidConfig`."""
    options = ApplyOptions(
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
        is_check=check,
    )
    return Target(path=plan, bootstrap=bootstrap_server, client_config=client_config), options


def _bytes(option: str, text: str | None) -> int | None:
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
