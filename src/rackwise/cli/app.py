"""The application: its global options and its commands."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, NamedTuple

import typer

from rackwise.cli.shell import MAX_INPUT, Color, size_in_bytes, version


class Command(NamedTuple):
    """A command or group of commands: its module, and what it does in a few words."""

    module: str
    summary: str


COMMANDS = {
    "snapshot": Command("audit.snapshot", "Write a snapshot of a cluster to a file"),
    "audit": Command("audit.audit", "Judge placement, and what the loss of each rack does"),
    "plan": Command("plan.plan", "Plan the cheapest repair, with a proof that it is that"),
    "proof": Command("plan.proof", "Check a plan again: legal, fair, and the cheapest"),
    "diff": Command("plan.diff", "Compare replica lists and findings of two files"),
    "what-if": Command(
        "plan.what_if", "Suppose a change or a lost rack: what breaks, what it costs"
    ),
    "doctor": Command("audit.doctor", "Find what keeps clients from reading in their own rack"),
    "apply": Command("apply.commands", "Carry a plan out on its cluster"),
    "resume": Command("apply.resume", "Go on with a plan where it stands"),
    "cancel": Command("apply.cancel", "Cancel the moves of a plan that go on"),
    "rollback": Command("apply.rollback", "Take back what is done of a plan"),
    "status": Command("apply.status", "Say what of a plan is done, moving, or not begun"),
    "throttles": Command("apply.throttles", "List replication throttles, and those a run has left"),
    "place": Command("place.place", "Print where the replicas of a new topic would go"),
    "placers": Command("place.placers", "List what --placer may name"),
    "serve": Command("place.serve", "Answer where replicas go, to any Kafka client"),
    "analyze": Command("analyze.analyze", "Audit, plan and price a fleet on Spark, with a report"),
    "report": Command("analyze.report", "Render the report again, without Spark"),
    "stream": Command("analyze.stream", "Telemetry of Kafka clients into tables and daily bills"),
    "spark-check": Command(
        "analyze.spark_check", "Ask Spark's executors which rack they would tell Kafka"
    ),
    "generate": Command(
        "analyze.generate", "Write a made-up fleet: snapshots, flow logs, the truth"
    ),
    "sandbox": Command("sandbox", "Start a real Kafka cluster on loopback"),
    "topic": Command("place.topic", "Create or widen a topic, its replicas placed by racks"),
    "consumer": Command(
        "consumer.commands", "How local the reads of groups are, and how local they could be"
    ),
    "producer": Command("producer.commands", "What ways of choosing partitions would do"),
    "broker-id": Command("broker_id.commands", "Give a broker that lost its disk its own id back"),
    "upgrade": Command("audit.upgrade", "KIP-36's rolling upgrade of a cluster on ZooKeeper"),
}
"""In the order of the help."""

EPILOG = (
    "Global options may stand anywhere. Exit: 0 done, 1 error, 2 there is a difference, "
    "3 stopped half-way, 4 refused before the first write."
)


def app_of(*names: str) -> typer.Typer:
    """The application with these commands: a command that is started loads no other one."""
    made = _without_commands()
    for name in names:
        module = import_module(f"rackwise.cli.{COMMANDS[name].module}")
        if hasattr(module, "app"):
            made.add_typer(module.app, name=name)
        else:
            made.command(name)(getattr(module, name.replace("-", "_")))
    return made


def listing() -> typer.Typer:
    """The application for those who name no command: it knows what there is and loads nothing."""
    made = _without_commands()
    for name, command in COMMANDS.items():
        made.command(name, short_help=command.summary)(lambda: None)
    return made


def _without_commands() -> typer.Typer:
    made = typer.Typer(
        name="rackwise",
        help="Rack awareness for Apache Kafka: audit, plans with proof, placement, and the bill "
        "for bytes that cross racks.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        epilog=EPILOG,
    )
    made.callback()(options)
    return made


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"rackwise {version()}")
        raise typer.Exit


def options(
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No talk on stderr but warnings and errors.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks of internal errors.")] = False,
    color: Annotated[
        Color, typer.Option(help="When to use colour; NO_COLOR is respected.")
    ] = Color.AUTO,
    max_input: Annotated[
        str, typer.Option(metavar="SIZE", help="Largest input file, unpacked.")
    ] = MAX_INPUT,
    version: Annotated[  # noqa: ARG001 (its callback has done the work)
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Global options; `Shell.of` has read them already, this declares them for the help."""
    del json, quiet, debug, color
    size_in_bytes(max_input)
