"""`rackwise generate`: clusters, their flow logs, and the truth that `analyze` must find."""

from __future__ import annotations

import typer

from rackwise.cli.analyze.options import GenerateOptions
from rackwise.cli.app import with_option_groups
from rackwise.cli.shell import Shell
from rackwise.cli.source import read_provider_prices


@with_option_groups()
def generate(context: typer.Context, options: GenerateOptions) -> int:
    """Write generated Kafka clusters: snapshots, flow logs, tables, and truth.json.

    Every total that `analyze` computes from these files equals truth.json exactly. With `--looks`,
    truth.json has the bytes of each topic and group, also where flow logs name neither.
    """
    from rackwise.cli.analyze import fleet_files

    shell: Shell = context.obj
    existing = fleet_files.read_snapshots(shell, options.snapshot or ())
    fleet = fleet_files.build_fleet(options, existing)
    prices = read_provider_prices(shell, options.prices, options.provider)
    has_snapshots = options.addresses or not existing or options.looks > 1
    fleet_files.write_fleet(shell, fleet, options.out, prices, has_snapshots=has_snapshots)
    given = () if has_snapshots else options.snapshot or ()
    fleet_files.show_fleet(shell, fleet, options.out, given)
    return 0
