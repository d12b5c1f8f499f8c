"""`rackwise report`: renders a published result again, as a report and as metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rackwise.cli.shell import Shell, installed
from rackwise.cli.source import utc_now
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

REPORT = "report.html"


def report(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of `rackwise analyze --out DIR`.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the report to this file. [default: DIR/report.html]"
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the main figures to this file, in the text format of Prometheus.",
        ),
    ] = None,
) -> int:
    """Render the report again, without Spark and without Java.

    Exit codes: 0 written, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.adapters import files

    with installed("report", "render a report"):
        from rackwise.report import html, terminal
        from rackwise.report.metrics.run import run_metrics

    published = files.read_published(folder, max_bytes=shell.max_input)
    page = html.render(published.summary)
    if metrics is not None:
        files.write_text(metrics, run_metrics(published.summary, now=utc_now()))
    if out is not None:
        files.write_text(out, page)
    else:
        content = {
            name: files.read_bytes(
                published.folder / name, error=InvalidConfig, max_bytes=shell.max_input
            )
            for name in published.files
        }
        files.publish(
            folder,
            run_id=published.run_id,
            files={**content, REPORT: page.encode()},
            tables=published.tables,
            days=published.days,
            after=files.ResultDays(days=published.days, version=published.version),
        )
    if shell.is_json:
        shell.document(published.summary)
        return 0
    shell.text(terminal.render(published.summary, width=shell.width, color=shell.has_color()))
    shell.data(escaped(str(out or folder / REPORT)))
    return 0
