"""What the commands that carry a plan out have in common: options, and the limits they make."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from rackwise.cli.apply.text import resume_line
from rackwise.cli.shell import UNITS, size_in_bytes
from rackwise.cli.source import ClientConfig
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from rackwise.core.applying.model import Caps

GREATEST = 2**63 - 1
"""Kafka keeps a rate in 64 bits."""
_LONGEST = 30

RateConflict = Literal["keep", "max", "ours"]
"""Where an operator has set a broker's rate: theirs, the larger one, ours."""

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A file of rackwise plan.")]
Bootstrap = Annotated[str, typer.Option(metavar="H:P", help="Brokers to ask, comma between.")]
Throttle = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="Bytes per second and broker, such as 50MB; else none."),
]
ThrottleOver = Annotated[
    RateConflict,
    typer.Option(help="A broker's rate that somebody has set: theirs, larger, or ours."),
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


Check = Annotated[bool, typer.Option("--check", help="Say whether it may run; write nothing.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The plan and the cluster as the user named them."""

    path: Path
    bootstrap: str
    client_config: Path | None

    def command(self, verb: str) -> str:
        """The line that goes on with it."""
        return resume_line(verb, self.path, self.bootstrap, self.client_config)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """What was asked for; `rate`: bytes per second and broker, None = no throttle."""

    caps: Caps
    rate: int | None = None
    alongside: bool = False
    allow_partial: bool = False
    is_check: bool = False


Command: TypeAlias = "Callable[[typer.Context, Target, ApplyOptions], int]"


def with_apply_options(*, without: Collection[str] = ()) -> Callable[[Command], Callable[..., int]]:
    """Give a command the options of `parse_options`, but those that it is `without`.

    The command itself is told what they come to.
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
    """What the options come to. Raises `InvalidConfig`."""
    from rackwise.core.applying.model import Caps

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
        size = size_in_bytes(text) if len(text) <= _LONGEST else GREATEST + 1
    except InvalidConfig:
        size = 0
    if 0 < size <= GREATEST:
        return size
    raise InvalidConfig(
        f"invalid {option}: expected 1 to {GREATEST} bytes, such as 50MB, got {escaped(text)!r}",
        wanted=units,
        had=text,
        hint=f"use one of the units {units}; a number without a unit is bytes, never bits",
        where=option,
    )
