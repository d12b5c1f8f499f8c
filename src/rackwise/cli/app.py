"""The application: global options, the table of commands, and groups of options.

Several commands share a group of options. A group is a dataclass, and each of its fields is one
option. A command takes one object of it:

```
@dataclass(frozen=True)
class StoreOptions:
    store: Annotated[str | None, typer.Option(metavar="URL", help="..")] = None

@with_option_groups()
def gc(context: typer.Context, apply: Apply, options: StoreOptions) -> int: ...
```

The command line then shows `--apply` and `--store URL`. A group checks its values in
`__post_init__`.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from rackwise.cli.shell import MAX_INPUT, Color, version
from rackwise.core.byte_sizes import size_in_bytes
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence


class Command(NamedTuple):
    """A command or a group of commands."""

    module: str
    """Below `rackwise.cli`."""
    summary: str
    """One line of `rackwise --help`."""


COMMANDS = {
    "snapshot": Command("audit.snapshot", "Write a snapshot of a cluster to a file"),
    "audit": Command("audit.audit", "Check placement; report what the loss of each rack does"),
    "plan": Command("plan.plan", "Plan the cheapest moves, with a proof that none are cheaper"),
    "proof": Command("plan.proof", "Verify that a plan is legal, fair and the cheapest"),
    "explain": Command("plan.explain", "Say why a plan moves a partition, or leaves it"),
    "diff": Command("plan.diff", "Compare two snapshots, plans or reassignments"),
    "what-if": Command("plan.what_if", "Show what a change or a lost rack breaks and costs"),
    "doctor": Command("audit.doctor", "Find why clients read from other racks"),
    "apply": Command("apply.commands", "Execute a plan on its cluster"),
    "resume": Command("apply.resume", "Continue a plan that was interrupted"),
    "cancel": Command("apply.cancel", "Cancel the running moves of a plan"),
    "rollback": Command("apply.rollback", "Undo the finished moves of a plan"),
    "status": Command(
        "apply.status", "Show which moves of a plan are done, running or not started"
    ),
    "throttle": Command("apply.throttle", "Change the throttle of the running moves of a plan"),
    "throttles": Command(
        "apply.throttles", "List replication throttles, and those that a run left behind"
    ),
    "place": Command("place.place", "Print a placement for a new topic"),
    "placers": Command("place.placers", "List the placers that --placer accepts"),
    "serve": Command("place.serve", "Serve placements to any Kafka client"),
    "analyze": Command("analyze.analyze", "Audit, plan and price a fleet on Spark; write a report"),
    "nightly": Command(
        "fleet.nightly.nightly", "Run every night: snapshot, audit, plan and price a fleet"
    ),
    "report": Command("analyze.report", "Render the report of a result again, without Spark"),
    "stream": Command("analyze.stream", "Write client telemetry to tables and bill it by day"),
    "spark-check": Command(
        "analyze.spark_check", "Check which rack each Spark executor sends to Kafka"
    ),
    "spark-cache": Command(
        "analyze.spark_cache", "Store the classes of Spark's Java, so that it starts sooner"
    ),
    "generate": Command(
        "analyze.generate", "Generate a fleet: snapshots, flow logs and the true bill"
    ),
    "sandbox": Command("sandbox", "Start a real Kafka cluster on loopback"),
    "topic": Command("place.topic", "Create or expand a topic with rack-aware placement"),
    "consumer": Command("consumer.commands", "Measure how local the reads of consumer groups are"),
    "producer": Command(
        "producer.commands", "Simulate partitioners and split traffic between racks"
    ),
    "broker-id": Command("broker_id.commands", "Keep a broker id when a broker loses its disk"),
    "racks": Command("racks.commands", "Write the racks of addresses, from Kubernetes or a cloud"),
    "upgrade": Command("audit.upgrade", "Plan KIP-36's rolling upgrade of a ZooKeeper cluster"),
}
"""In the order of the help."""

EPILOG = (
    "Global options may be anywhere on the command line. Exit codes: 0 done, 1 error, "
    "2 differences found, 3 stopped after a part was written, 4 rejected before the first write."
)


def build_app(*names: str) -> typer.Typer:
    """Build the application with these commands only, so that no other command is loaded."""
    app = _without_commands()
    fleet = import_module("rackwise.cli.fleet.options")  # its commands import this module
    for name in names:
        module = import_module(f"rackwise.cli.{COMMANDS[name].module}")
        if hasattr(module, "app"):
            app.add_typer(fleet.with_fleet_in_group(module.app, name), name=name)
        else:
            app.command(name)(fleet.with_fleet(getattr(module, name.replace("-", "_")), name))
    return app


def build_help_app() -> typer.Typer:
    """Build an application that lists every command and loads none of them, for `--help`."""
    app = _without_commands()
    for name, command in COMMANDS.items():
        app.command(name, short_help=command.summary)(lambda: None)
    return app


def _without_commands() -> typer.Typer:
    app = typer.Typer(
        name="rackwise",
        help="Rack awareness for Apache Kafka: audits, plans with proofs, placements, and the "
        "bill for bytes that cross racks.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        epilog=EPILOG,
    )
    app.callback()(options)
    return app


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"rackwise {version()}")
        raise typer.Exit


def options(
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on stdout.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print only warnings and errors on stderr.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an internal error.")
    ] = False,
    color: Annotated[
        Color, typer.Option(help="Choose when to use colour. NO_COLOR is respected.")
    ] = Color.AUTO,
    max_input: Annotated[
        str, typer.Option(metavar="SIZE", help="Reject input files larger than this, unpacked.")
    ] = MAX_INPUT,
    version: Annotated[  # noqa: ARG001 (its callback has done the work)
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Declare the global options for the help. `Shell.of` has read their values already."""
    del json, quiet, debug, color
    size_in_bytes(max_input)


def with_option_groups(
    *, without: Collection[str] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Replace each parameter of a command that is a group by the options of the group.

    `without`: fields that are no options of this command and keep their defaults.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        own = signature(command, eval_str=True).parameters
        groups = {
            name: _options(each.annotation, without)
            for name, each in own.items()
            if is_dataclass(each.annotation)
        }
        shown: list[Parameter] = []
        for name, each in own.items():
            shown += groups.get(name, [each.replace(kind=Parameter.KEYWORD_ONLY)])

        @wraps(command)
        def run(**values: Any) -> int:  # noqa: ANN401 (values of any option)
            for name, options in groups.items():
                given = {each.name: values.pop(each.name) for each in options}
                values[name] = own[name].annotation(**given)
            return command(**values)

        # Typer reads the signature and the annotations of the function that it calls.
        run.__annotations__ = {each.name: each.annotation for each in shown}
        vars(run)["__signature__"] = Signature(shown, return_annotation=int)
        return run

    return decorate


def reject_combined(option: str, others: Sequence[str], *, hint: str) -> None:
    """Reject options that have no effect beside another one. Raises `InvalidConfig`.

    `others`: the names of the given options; none of them is no error.
    """
    if others:
        names = ", ".join(others)
        raise InvalidConfig(
            f"{option} cannot be combined with {names}",
            wanted=f"{option} alone",
            had=names,
            hint=hint,
        )


def _options(group: Any, without: Collection[str]) -> list[Parameter]:  # noqa: ANN401 (a dataclass)
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)
        if each.name not in without
    ]
