"""`rackwise analyze`: findings of a fleet, and the bill for the bytes that cross racks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rackwise.cli.shell import Shell
from rackwise.pipeline.ingest.formats import DEFAULT, FORMATS

Snapshots = Annotated[
    list[str],
    typer.Argument(
        metavar="SNAPSHOT...", help="Files, folders or globs; several of one cluster: its history."
    ),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where the report and its files go.")]
Flows = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH", help="Flow files: paths, folders, globs, URIs; repeatable."),
]
FlowFormat = Annotated[
    str,
    typer.Option(
        metavar="FORMAT",
        help="Format of the flow files: "
        + ", ".join(f"{each.name} ({each.files})" for each in FORMATS.values())
        + ".",
    ),
]
Subnets = Annotated[
    Path | None, typer.Option(metavar="FILE", help="CSV cidr,rack, or rack@cidr<>rack@cidr.")
]
Clients = Annotated[
    Path | None,
    typer.Option(metavar="CSV", help="Racks of clients, by client_id, client_group or principal."),
]
Rates = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Bytes per second of topics, CSV or Parquet.")
]
Prices = Annotated[
    Path | None, typer.Option(metavar="CSV", help="A price table. [default: the shipped one]")
]
Provider = Annotated[str, typer.Option(metavar="NAME", help="Whose rows of the price table.")]
PolicyPath = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="What is wanted, TOML.")
]
Levels = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Names of the rack levels, coarsest first: region,zone."),
]
From = Annotated[
    str | None, typer.Option("--from", metavar="DATE", help="First day of traffic, UTC.")
]
To = Annotated[str | None, typer.Option("--to", metavar="DATE", help="Last day of traffic, UTC.")]
Side = Annotated[
    str,
    typer.Option(
        metavar="SIDE", help="Which of two logs of one flow counts: auto, egress or broker."
    ),
]
Dedupe = Annotated[
    str, typer.Option(metavar="HOW", help="side, or exact: equal rows count once as well.")
]
MaxQuarantine = Annotated[
    str, typer.Option(metavar="SHARE", help="Share of malformed rows that is allowed.")
]
Keep = Annotated[
    list[str] | None, typer.Option(metavar="WHAT", help="bronze: keep the rows as they were read.")
]
Eps = Annotated[
    list[str] | None,
    typer.Option(
        metavar="F",
        help="A rack may take 1 + F times its even part of produced bytes, or inf; repeatable. "
        "[default: 0, 0.05, 0.1, 0.2, inf]",
    ),
]
UnkeyedShare = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOPIC=F", help="Share of a topic's bytes whose records have no key; repeatable."
    ),
]
Tables = Annotated[
    str | None, typer.Option(metavar="URI", help="Where Parquet tables go. [default: DIR/tables]")
]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="Spark master. [default: local[*]]")
]
Remote = Annotated[
    str | None,
    typer.Option(metavar="URL", help="In place of a master, a server of Spark Connect: sc://HOST."),
]
Conf = Annotated[
    list[str] | None, typer.Option(metavar="K=V", help="Spark configuration; repeatable.")
]
ExitCode = Annotated[
    bool,
    typer.Option(
        "--exit-code", help="Exit 2 when there is a move, or a finding the policy fails on."
    ),
]
Goal = Annotated[
    str, typer.Option(metavar="GOAL", help="What each cluster is planned for: repair or balance.")
]
NoPlans = Annotated[bool, typer.Option("--no-plans", help="Plan nothing.")]


def analyze(
    context: typer.Context,
    snapshots: Snapshots,
    out: Out,
    flows: Flows = None,
    flow_format: FlowFormat = DEFAULT,
    subnets: Subnets = None,
    clients: Clients = None,
    rates: Rates = None,
    prices: Prices = None,
    provider: Provider = "aws",
    policy: PolicyPath = None,
    levels: Levels = None,
    from_: From = None,
    to: To = None,
    side: Side = "auto",
    dedupe: Dedupe = "side",
    max_quarantine: MaxQuarantine = "0.01",
    keep: Keep = None,
    eps: Eps = None,
    unkeyed_share: UnkeyedShare = None,
    tables: Tables = None,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    exit_code: ExitCode = False,
    goal: Goal = "repair",
    no_plans: NoPlans = False,
) -> int:
    """Audit snapshots on Spark, plan each cluster, and price the bytes that cross racks.

    Writes a report, tables, CSV files, and a plan per cluster with its proof. A snapshot that
    cannot be read is left out and told while another one can; a cluster that cannot be planned is
    shown with the reason. Exit: 0 everything was written; 1 error, nothing was published, or a
    cluster has no plan and all the rest was published; 2 only with --exit-code; 4 too many
    malformed rows, or bytes went missing.
    """
    from rackwise.cli.analyze import options as analyze_options
    from rackwise.cli.analyze import run as analyzed

    shell: Shell = context.obj
    wanted = analyze_options.wanted(
        flow_format=flow_format,
        levels=levels,
        first_day=from_,
        last_day=to,
        side=side,
        dedupe=dedupe,
        max_quarantine=max_quarantine,
        keep=keep or (),
        eps=eps or (),
        unkeyed=unkeyed_share or (),
        conf=conf or (),
        goal=goal,
        no_plans=no_plans,
    )
    given = analyzed.gathered(
        shell,
        snapshots,
        flows=flows or (),
        flow_format=wanted.flow_format,
        subnets=subnets,
        clients=clients,
        rates=rates,
        prices=prices,
        policy=policy,
    )
    made = analyzed.made(
        shell, given, wanted, out, provider=provider, tables=tables, master=master, remote=remote
    )
    analyzed.show(shell, made, out)
    return analyzed.exit_code(made, given, is_asked=exit_code)
