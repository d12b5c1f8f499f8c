"""`rackwise analyze`: findings of a fleet, plans, and the bill for bytes that cross racks."""

from __future__ import annotations

import typer

from rackwise.cli.analyze.options import AnalyzeOptions
from rackwise.cli.app import with_option_groups
from rackwise.cli.shell import Shell


@with_option_groups()
def analyze(context: typer.Context, options: AnalyzeOptions) -> int:
    """Audit snapshots on Spark, plan each cluster, and price the bytes that cross racks.

    Writes a report, tables, CSV files, and a plan with its proof for each cluster. A snapshot that
    cannot be read is skipped with a warning if another one can be read. A cluster that cannot be
    planned is listed with the reason. Exit codes: 0 everything was written; 1 error, nothing was
    published, or a cluster has no plan and the rest was published; 2 only with --exit-code; 4 too
    many malformed rows, or bytes are missing.
    """
    from rackwise.adapters.memory import return_memory

    if options.engine == "local":
        return_memory()  # before packages load, whose threads take heaps of their own
    from rackwise.cli.analyze.inputs import read_inputs
    from rackwise.cli.analyze.run import exit_code, run_analysis, show
    from rackwise.cli.analyze.settings import parse_settings

    shell: Shell = context.obj
    settings = parse_settings(options)
    inputs = read_inputs(shell, options)
    if options.explain_plan:
        from rackwise.cli.analyze.explain import explain_plan

        explain_plan(shell, inputs, settings)
        return 0
    analysis = run_analysis(shell, inputs, settings)
    show(shell, analysis, settings.out)
    return exit_code(analysis, inputs, is_requested=options.exit_code)
