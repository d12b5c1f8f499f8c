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
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from rackwise.cli.shell import MAX_INPUT, Color, version
from rackwise.cli.usage.completion import SCRIPTS, CompletionShell
from rackwise.cli.usage.help import Command, GroupedHelp, Heading, examples_text
from rackwise.core.byte_sizes import size_in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


COMMANDS = {
    "snapshot": Command(
        "audit.snapshot",
        "Write a snapshot of a cluster to a file",
        Heading.LOOK,
        "snapshot --bootstrap-server kafka-1:9092 --out today.json.gz",
    ),
    "audit": Command(
        "audit.audit",
        "Check placement; report what the loss of each rack does",
        Heading.LOOK,
        "audit --snapshot today.json.gz",
    ),
    "diff": Command(
        "plan.diff",
        "Compare two snapshots, plans or reassignments",
        Heading.LOOK,
        "diff yesterday.json.gz today.json.gz",
    ),
    "what-if": Command(
        "plan.what_if",
        "Show what a change or a lost rack breaks and costs",
        Heading.LOOK,
        "what-if --snapshot today.json.gz --lose use1-az1",
    ),
    "upgrade": Command(
        "audit.upgrade",
        "Plan KIP-36's rolling upgrade of a ZooKeeper cluster",
        Heading.LOOK,
        "upgrade check --zookeeper zk-1:2181/kafka",
    ),
    "plan": Command(
        "plan.plan",
        "Plan the cheapest moves, with a proof that none are cheaper",
        Heading.REPAIR,
        "plan repair --snapshot today.json.gz --out plan.json",
        ("plan drain 4 --snapshot today.json.gz --out plan.json",),
    ),
    "proof": Command(
        "plan.proof",
        "Verify that a plan is legal, fair and the cheapest",
        Heading.REPAIR,
        "proof plan.json --snapshot today.json.gz",
    ),
    "explain": Command(
        "plan.explain",
        "Say why a plan moves a partition, or leaves it",
        Heading.REPAIR,
        "explain plan.json orders-1 --snapshot today.json.gz",
    ),
    "apply": Command(
        "apply.commands",
        "Execute a plan on its cluster",
        Heading.REPAIR,
        "apply plan.json --bootstrap-server kafka-1:9092 --throttle 50MB",
    ),
    "resume": Command(
        "apply.resume",
        "Continue a plan that was interrupted",
        Heading.REPAIR,
        "resume plan.json --bootstrap-server kafka-1:9092",
    ),
    "cancel": Command(
        "apply.cancel",
        "Cancel the running moves of a plan",
        Heading.REPAIR,
        "cancel plan.json --bootstrap-server kafka-1:9092",
    ),
    "rollback": Command(
        "apply.rollback",
        "Undo the finished moves of a plan",
        Heading.REPAIR,
        "rollback plan.json --bootstrap-server kafka-1:9092",
    ),
    "status": Command(
        "apply.status",
        "Show which moves of a plan are done, running or not started",
        Heading.REPAIR,
        "status plan.json --bootstrap-server kafka-1:9092",
    ),
    "throttle": Command(
        "apply.throttle",
        "Change the throttle of the running moves of a plan",
        Heading.REPAIR,
        "throttle plan.json 80MB --bootstrap-server kafka-1:9092",
    ),
    "throttles": Command(
        "apply.throttles",
        "List replication throttles, and those that a run left behind",
        Heading.REPAIR,
        "throttles --bootstrap-server kafka-1:9092",
    ),
    "place": Command(
        "place.place",
        "Print a placement for a new topic",
        Heading.PLACE,
        "place --snapshot today.json.gz \\\n  --partitions 12 --replication-factor 3",
    ),
    "placers": Command(
        "place.placers", "List the placers that --placer accepts", Heading.PLACE, "placers"
    ),
    "topic": Command(
        "place.topic",
        "Create or expand a topic with rack-aware placement",
        Heading.PLACE,
        "topic create orders --bootstrap-server kafka-1:9092 \\\n  "
        "--partitions 12 --replication-factor 3",
        (
            "topic alter orders --bootstrap-server kafka-1:9092 --partitions 24",
            (
                "topic ensure orders --bootstrap-server kafka-1:9092 \\\n  "
                "--partitions 24 --replication-factor 3"
            ),
        ),
    ),
    "serve": Command(
        "place.serve",
        "Serve placements to any Kafka client",
        Heading.PLACE,
        "serve --snapshot today.json.gz --seed 7",
    ),
    "scram-user": Command(
        "place.scram_user",
        "Make the login of a client of serve",
        Heading.PLACE,
        "scram-user alice",
    ),
    "doctor": Command(
        "audit.doctor",
        "Find why clients read from other racks",
        Heading.CLIENTS,
        "doctor --bootstrap-server kafka-1:9092 --client-rack use1-az1",
    ),
    "consumer": Command(
        "consumer.commands",
        "Measure how local the reads of consumer groups are",
        Heading.CLIENTS,
        "consumer evaluate --snapshot today.json.gz --group analytics",
        ("consumer simulate --snapshot today.json.gz --group analytics",),
    ),
    "producer": Command(
        "producer.commands",
        "Simulate partitioners and split traffic between racks",
        Heading.CLIENTS,
        "producer simulate --snapshot today.json.gz --rates rates.json",
        ("producer split --snapshot today.json.gz --rates rates.json",),
    ),
    "spark-check": Command(
        "analyze.spark_check",
        "Check which rack each Spark executor sends to Kafka",
        Heading.CLIENTS,
        "spark-check --bootstrap-server kafka-1:9092 --topic clicks",
    ),
    "analyze": Command(
        "analyze.analyze",
        "Audit, plan and price a fleet on Spark; write a report",
        Heading.COST,
        "analyze snapshots/ --flows flows/ --provider aws --out bill/",
    ),
    "nightly": Command(
        "fleet.nightly.nightly",
        "Run every night: snapshot, audit, plan and price a fleet",
        Heading.COST,
        "nightly --fleet rackwise.toml --out /data",
    ),
    "racks": Command(
        "analyze.racks.commands",
        "Write the racks of addresses, from Kubernetes or a cloud",
        Heading.COST,
        "racks kubernetes --out addresses.csv",
        (
            "racks aws subnets.json --out subnets.csv",
            "racks gcp instances.json --out addresses.csv",
            "racks azure nics.json --vms machines.json --out addresses.csv",
        ),
    ),
    "report": Command(
        "analyze.report",
        "Render the report of a result again, without Spark",
        Heading.COST,
        "report bill/",
    ),
    "stream": Command(
        "analyze.stream",
        "Write client telemetry to tables and bill it by day",
        Heading.COST,
        "stream run --bootstrap-server kafka-1:9092 \\\n  --out bill/ --checkpoint work/",
        ("stream compact snapshots/ --out bill/ --yesterday --provider aws",),
    ),
    "spark-cache": Command(
        "analyze.spark_cache",
        "Store the classes of Spark's Java, so that it starts sooner",
        Heading.COST,
        "spark-cache",
    ),
    "broker-id": Command(
        "broker_id.commands",
        "Keep a broker id when a broker loses its disk",
        Heading.IDENTITY,
        "broker-id acquire --server-properties server.properties \\\n  "
        "--key env:POD_NAME -- bin/kafka-server-start.sh server.properties",
        (
            "broker-id show --store zookeeper://zk-1:2181/kafka --key kafka-7",
            "broker-id init --store zookeeper://zk-1:2181/kafka",
            "broker-id adopt --all --key 'kafka-{broker.id}' \\\n  --store zookeeper://zk-1:2181/kafka",
            "broker-id list --store zookeeper://zk-1:2181/kafka",
            "broker-id missing --store zookeeper://zk-1:2181/kafka",
            "broker-id watch --store zookeeper://zk-1:2181/kafka",
            "broker-id assign kafka-7 7 --store zookeeper://zk-1:2181/kafka",
            "broker-id retire 7 --store zookeeper://zk-1:2181/kafka",
            "broker-id gc --store zookeeper://zk-1:2181/kafka",
        ),
    ),
    "sandbox": Command(
        "sandbox",
        "Start a real Kafka cluster on loopback",
        Heading.LAB,
        "sandbox --brokers 3 --racks a,b,c",
    ),
    "generate": Command(
        "analyze.generate",
        "Generate a fleet: snapshots, flow logs and the true bill",
        Heading.LAB,
        "generate --out fleet/ --seed 7 --flows 1000000",
    ),
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
        examples = COMMANDS[name].examples
        epilog = examples_text(name, examples)
        if hasattr(module, "app"):
            for each in module.app.registered_commands:
                own = each.name or each.callback.__name__.replace("_", "-")
                each.epilog = examples_text(f"{name} {own}", examples)
            app.add_typer(fleet.with_fleet_in_group(module.app, name), name=name, epilog=epilog)
        else:
            command = fleet.with_fleet(getattr(module, name.replace("-", "_")), name)
            app.command(name, epilog=epilog)(command)
    return app


def build_help_app() -> typer.Typer:
    """Build an application that lists every command and loads none of them, for `--help`."""
    app = _without_commands()
    for name, command in COMMANDS.items():
        app.command(
            name,
            short_help=command.summary,
            rich_help_panel=command.group,
            epilog=f"rackwise {command.example}",
        )(lambda: None)
    return app


def _without_commands() -> typer.Typer:
    app = typer.Typer(
        name="rackwise",
        cls=GroupedHelp,
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


def _print_completion(shell: CompletionShell | None) -> None:
    if shell is not None:
        print(SCRIPTS[shell], end="")
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
    show_completion: Annotated[  # noqa: ARG001 (its callback has done the work)
        CompletionShell | None,
        typer.Option(
            callback=_print_completion,
            is_eager=True,
            help="Print the script that completes commands and options in this shell, and exit.",
        ),
    ] = None,
) -> None:
    """Declare the global options for the help. `Shell.of` has read their values already."""
    del json, quiet, debug, color
    size_in_bytes(max_input)


def with_option_groups(
    *, without: Collection[str] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Replace each parameter of a command that is a group by the options of the group.

    `without`: fields that are no options of this command and keep their defaults. Another command
    may call this one: options that it does not give keep their defaults, too.
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
                given = {
                    each.name: values.pop(each.name) for each in options if each.name in values
                }
                values[name] = own[name].annotation(**given)
            return command(**values)

        # Typer reads the signature and the annotations of the function that it calls.
        run.__annotations__ = {each.name: each.annotation for each in shown}
        vars(run)["__signature__"] = Signature(shown, return_annotation=int)
        return run

    return decorate


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
