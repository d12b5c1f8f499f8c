"""`rackwise generate`: clusters, their flow logs, and the truth that `analyze` must find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rackwise.cli.shell import Shell

Out = Annotated[Path, typer.Option(metavar="DIR", help="A new or empty folder.")]
Seed = Annotated[int, typer.Option(help="Equal seeds give equal files.")]
Clusters = Annotated[int | None, typer.Option(help="Clusters. [default: 1]")]
Brokers = Annotated[int | None, typer.Option(help="Brokers each. [default: 60]")]
Topics = Annotated[int | None, typer.Option(help="Topics each. [default: 2000]")]
Racks = Annotated[
    str | None,
    typer.Option(metavar="RACKS", help="Comma between. [default: /eu/a,/eu/b,/eu/c]"),
]
Replication = Annotated[int | None, typer.Option(help="Replicas. [default: 3]")]
Shape = Annotated[
    str | None,
    typer.Option(metavar="SHAPE", help="even random messy grown lost uneven [default: even]"),
]
Violations = Annotated[
    float | None, typer.Option(help="Share of partitions in one rack. [default: 0.02]")
]
Snapshots = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Flows of an existing cluster instead; repeatable."),
]
Addresses = Annotated[
    bool, typer.Option("--addresses", help="Make up addresses for the brokers of --snapshot.")
]
FirstDay = Annotated[
    str | None,
    typer.Option(
        metavar="DATE", help="[default: 2026-11-21, or the day after the last --snapshot]"
    ),
]
Days = Annotated[int, typer.Option(help="Days of flows.")]
Flows = Annotated[int, typer.Option(help="Flows in all files.")]
Format = Annotated[
    str,
    typer.Option(metavar="FORMAT", help="vpc (Parquet), vpc-text or canonical (Parquet)"),
]
LogVersion = Annotated[int, typer.Option(help="VPC flow logs: 5, or 2 without direction.")]
BadRows = Annotated[float, typer.Option(help="Share of flows whose row is malformed.")]
Duplicates = Annotated[float, typer.Option(help="Share of flows that are logged twice.")]
Ipv6 = Annotated[float, typer.Option(help="Share of clients with IPv6.")]
Prices = Annotated[
    Path | None, typer.Option(metavar="CSV", help="Prices for the truth. [default: shipped]")
]
Provider = Annotated[str, typer.Option(help="Whose prices.")]


def generate(
    context: typer.Context,
    out: Out,
    seed: Seed = 7,
    clusters: Clusters = None,
    brokers: Brokers = None,
    topics: Topics = None,
    racks: Racks = None,
    rf: Replication = None,
    shape: Shape = None,
    violations: Violations = None,
    snapshot: Snapshots = None,
    addresses: Addresses = False,
    first_day: FirstDay = None,
    days: Days = 1,
    flows: Flows = 1_000_000,
    flow_format: Format = "vpc",
    log_version: LogVersion = 5,
    bad_rows: BadRows = 0.001,
    duplicates: Duplicates = 0.05,
    ipv6: Ipv6 = 0.02,
    prices: Prices = None,
    provider: Provider = "aws",
) -> int:
    """Write a fleet that never existed: snapshots, flow logs, tables, and truth.json.

    Every total that `analyze` gives for these files equals truth.json exactly.
    """
    from rackwise.cli.analyze import generated

    shell: Shell = context.obj
    known = generated.snapshots(shell, snapshot or ())
    options = generated.options(
        known,
        clusters=clusters,
        brokers=brokers,
        topics=topics,
        racks=racks,
        replication=rf,
        shape=shape,
        violations=violations,
        first_day=first_day,
        seed=seed,
        days=days,
        flows=flows,
        flow_format=flow_format,
        log_version=log_version,
        bad_rows=bad_rows,
        duplicates=duplicates,
        ipv6=ipv6,
    )
    fleet = generated.fleet(options, known, has_addresses=addresses)
    table = generated.price_table(shell, prices, provider)
    generated.write(shell, fleet, out, table, has_snapshots=addresses or not known)
    generated.show(shell, fleet, out, () if addresses else snapshot or ())
    return 0
