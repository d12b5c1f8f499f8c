"""The application: its global options and its commands."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from rackwise.cli.shell import MAX_INPUT, Color, size_in_bytes, version

COMMANDS = {
    "snapshot": "snapshot",
    "audit": "audit",
    "plan": "plan",
    "proof": "proof",
    "diff": "diff",
    "what-if": "what_if",
    "doctor": "doctor",
    "apply": "apply",
    "resume": "resume",
    "cancel": "cancel",
    "rollback": "rollback",
    "status": "status",
    "throttles": "throttles",
    "place": "place",
    "placers": "placers",
    "serve": "serve",
    "analyze": "analyze",
    "report": "report",
    "stream": "stream",
    "spark-check": "spark_check",
    "generate": "generate",
    "sandbox": "sandbox",
    "topic": "topic",
    "consumer": "consumer",
    "producer": "producer",
    "broker-id": "broker_id",
    "upgrade": "upgrade",
}
"""Command or group of commands -> its module, in the order of the help."""

EPILOG = (
    "Global options may stand anywhere. Exit: 0 done, 1 error, 2 there is a difference, "
    "3 stopped half-way, 4 refused before the first write."
)


def app_of(*names: str) -> typer.Typer:
    """The application with these commands: a command that is started loads no other one."""
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
    for name in names:
        module = import_module(f"rackwise.cli.{COMMANDS[name]}")
        if hasattr(module, "app"):
            made.add_typer(module.app, name=name)
        else:
            made.command(name)(getattr(module, COMMANDS[name]))
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
