"""`rackwise generate`: clusters, their flow logs, and the truth that `analyze` must find."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rackwise.cli.analyze.options import PriceTable, Provider, with_options
from rackwise.cli.shell import Shell
from rackwise.core.traffic import DEFAULT_PROVIDER


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """Options of `rackwise generate`; None where the generator's default applies."""

    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Write all files to this new or empty folder.")
    ]
    seed: Annotated[
        int, typer.Option(help="Generate from this seed; equal seeds give equal files.")
    ] = 7
    clusters: Annotated[
        int | None, typer.Option(help="Generate this number of clusters. [default: 1]")
    ] = None
    brokers: Annotated[
        int | None,
        typer.Option(help="Give each cluster this number of brokers. [default: 60]"),
    ] = None
    topics: Annotated[
        int | None,
        typer.Option(help="Give each cluster this number of topics. [default: 2000]"),
    ] = None
    racks: Annotated[
        str | None,
        typer.Option(
            metavar="RACKS",
            help="Spread brokers over these racks, separated by commas. "
            "[default: /eu/a,/eu/b,/eu/c]",
        ),
    ] = None
    rf: Annotated[
        int | None,
        typer.Option(help="Give each partition this number of replicas. [default: 3]"),
    ] = None
    shape: Annotated[
        str | None,
        typer.Option(
            metavar="SHAPE",
            help="Place replicas in this way: even, random, messy, grown, lost or uneven. "
            "[default: even]",
        ),
    ] = None
    violations: Annotated[
        float | None,
        typer.Option(help="Put this share of partitions into one rack on purpose. [default: 0.02]"),
    ] = None
    snapshot: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Generate flows of this existing cluster instead of a new one; repeatable.",
        ),
    ] = None
    addresses: Annotated[
        bool,
        typer.Option("--addresses", help="Generate addresses for the brokers of --snapshot."),
    ] = False
    first_day: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Start the flows on this day. "
            "[default: 2026-11-21, or the day after the last --snapshot]",
        ),
    ] = None
    days: Annotated[int, typer.Option(help="Generate flows of this number of days.")] = 1
    flows: Annotated[int, typer.Option(help="Generate this number of flows in all files.")] = (
        1_000_000
    )
    flow_format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="Write flows in this format: vpc (Parquet), vpc-text or canonical (Parquet).",
        ),
    ] = "vpc"
    log_version: Annotated[
        int,
        typer.Option(help="Write VPC flow logs of this version: 5, or 2, which has no direction."),
    ] = 5
    bad_rows: Annotated[
        float, typer.Option(help="Write this share of flows as malformed rows.")
    ] = 0.001
    duplicates: Annotated[float, typer.Option(help="Log this share of flows twice.")] = 0.05
    ipv6: Annotated[float, typer.Option(help="Give this share of clients an IPv6 address.")] = 0.02
    prices: PriceTable = None
    provider: Provider = DEFAULT_PROVIDER


@with_options(GenerateOptions)
def generate(context: typer.Context, options: GenerateOptions) -> int:
    """Write a generated fleet: snapshots, flow logs, tables, and truth.json.

    Every total that `analyze` computes from these files equals truth.json exactly.
    """
    from rackwise.cli.analyze import fleet_files

    shell: Shell = context.obj
    existing = fleet_files.read_snapshots(shell, options.snapshot or ())
    fleet = fleet_files.build_fleet(options, existing)
    prices = fleet_files.read_prices(shell, options.prices, options.provider)
    has_snapshots = options.addresses or not existing
    fleet_files.write_fleet(shell, fleet, options.out, prices, has_snapshots=has_snapshots)
    given = () if options.addresses else options.snapshot or ()
    fleet_files.show_fleet(shell, fleet, options.out, given)
    return 0
