"""The application: its global options and its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from rackwise.cli.analyze import analyze
from rackwise.cli.audit import audit
from rackwise.cli.broker_id import app as broker_id
from rackwise.cli.consumer import app as consumer
from rackwise.cli.doctor import doctor
from rackwise.cli.generate import generate
from rackwise.cli.place import place
from rackwise.cli.placers import placers
from rackwise.cli.producer import app as producer
from rackwise.cli.report import report
from rackwise.cli.sandbox import sandbox
from rackwise.cli.shell import MAX_INPUT, Color, size_in_bytes, version
from rackwise.cli.snapshot import snapshot
from rackwise.cli.topic import app as topic

app = typer.Typer(
    name="rackwise",
    help="Rack awareness for Apache Kafka: audit, placement, and the bill for bytes "
    "that cross racks.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="Global options may stand anywhere. Exit: 0 done, 1 error, 2 there is a difference, "
    "3 stopped half-way, 4 refused before the first write.",
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"rackwise {version()}")
        raise typer.Exit


@app.callback()
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


for command in (snapshot, audit, doctor, place, placers, analyze, report, generate, sandbox):
    app.command(command.__name__)(command)
app.add_typer(topic, name="topic")
app.add_typer(consumer, name="consumer")
app.add_typer(producer, name="producer")
app.add_typer(broker_id, name="broker-id")
