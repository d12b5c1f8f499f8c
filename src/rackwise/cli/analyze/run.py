"""Runs the pipeline for `rackwise analyze`, publishes its result and prints the summary."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rackwise.adapters import files
from rackwise.adapters.files.publishing import known_tables
from rackwise.cli.analyze.days import (
    earlier_result,
    published_days,
    standing_days,
    tables_place,
)
from rackwise.cli.analyze.steps import shown_steps
from rackwise.cli.shell import installed, version
from rackwise.core.errors import JavaMissing, PlanFailures, RackwiseError
from rackwise.core.findings import Severity
from rackwise.core.text import escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rackwise.cli.analyze.inputs import Inputs
    from rackwise.cli.analyze.settings import Settings
    from rackwise.cli.analyze.steps import Steps
    from rackwise.cli.shell import Shell
    from rackwise.pipeline.engines.job_engine import JobEngine
    from rackwise.pipeline.job import Analysis
    from rackwise.pipeline.request import AnalyzeRequest

REPORT = "report.html"
SUMMARY = "summary.json"
SHOWN = 5
"""Clusters without a plan that are listed one by one."""


def run_analysis(shell: Shell, inputs: Inputs, settings: Settings) -> Analysis:
    """Run the pipeline and publish its result.

    Raises what `pipeline.job.analyze`, a session and publishing raise; then the previous result in
    `settings.out` stays as it is.
    """
    before = files.read_days(settings.out)
    with (
        installed("spark", "analyze"),
        files.table_claims(settings.out) as claims,
        shown_steps(shell) as steps,
    ):
        from rackwise.pipeline.job import STEPS, analyze_on
        from rackwise.pipeline.request import check_request
        from rackwise.report import html

        request = replace(
            _request(inputs, settings, steps),
            standing=standing_days(before.days, settings.out),
            earlier=earlier_result(shell, settings.out) if before.days else None,
            unpublished=claims.abandoned(),
            claim=claims.claim,
            release=claims.release,
        )
        check_request(request)
        with ENGINES[settings.engine](shell, inputs, settings, steps) as engine:
            analysis = analyze_on(engine, request)
        steps.begin(len(STEPS), len(STEPS), STEPS[-1])
        try:
            _publish(settings, analysis, html.render, before)
        except BaseException:
            _remove_tables(analysis.tables, settings.out)
            raise
        claims.release(analysis.tables)
        steps.end()
    return analysis


@contextmanager
def _spark(shell: Shell, inputs: Inputs, settings: Settings, steps: Steps) -> Iterator[JobEngine]:
    """Spark, started for the block."""
    from rackwise.pipeline.engines.spark import SessionEngine
    from rackwise.pipeline.runtime.running import ui_place
    from rackwise.pipeline.runtime.session import profile_for, session
    from rackwise.pipeline.stream.table_formats import lake_conf

    steps.wait_for("starting Spark")
    with ExitStack() as opened:
        started = session(
            master=settings.master,
            remote=settings.remote,
            profile=profile_for(inputs.input_bytes),
            conf=lake_conf(
                settings.table_format,
                settings.conf,
                master=settings.master,
                remote=settings.remote,
            ),
        )
        try:
            spark = opened.enter_context(started)
        except JavaMissing as error:
            raise JavaMissing(
                error.message,
                wanted=error.wanted,
                had=error.had,
                hint=f"{error.hint}, or run `rackwise analyze --engine local`: it needs no Java",
            ) from None
        steps.abandon()
        if place := ui_place(spark):
            shell.note(place)
        yield SessionEngine(spark)


@contextmanager
def _local(
    shell: Shell,  # noqa: ARG001 (of every engine)
    inputs: Inputs,  # noqa: ARG001
    settings: Settings,  # noqa: ARG001
    steps: Steps,  # noqa: ARG001
) -> Iterator[JobEngine]:
    """This process."""
    from rackwise.pipeline.engines.local import LocalEngine

    yield LocalEngine()


ENGINES: Mapping[str, Callable[..., AbstractContextManager[JobEngine]]] = {
    "spark": _spark,
    "local": _local,
}
"""The values of `--engine`."""


def _request(
    inputs: Inputs,
    settings: Settings,
    steps: Steps,
) -> AnalyzeRequest:
    from rackwise.adapters.memory import release_before
    from rackwise.core.solver import cheapest_flow
    from rackwise.pipeline.plans.task import Planning
    from rackwise.pipeline.request import AnalyzeRequest

    parse = partial(files.parse_snapshot, where="a snapshot")
    planning = None
    if settings.goal is not None:
        planning = Planning(
            goal_name=settings.goal,
            parse=parse,
            sealed=files.sealed_for,
            solve=release_before(cheapest_flow),
        )
    return AnalyzeRequest(
        version=version(),
        snapshots=inputs.snapshots,
        failed=inputs.failed,
        tables=settings.tables,
        table_format=settings.table_format,
        flows=inputs.flows,
        billed=inputs.billed,
        billed_region=settings.billed_region,
        flow_format=settings.flow_format,
        subnets=inputs.subnets,
        addresses=inputs.addresses,
        clients=inputs.clients,
        rates=inputs.rates,
        parse=parse,
        prices=inputs.prices,
        provider=settings.provider,
        notes=inputs.notes,
        owners=inputs.owners,
        policy=inputs.policy,
        levels=settings.levels,
        first_day=settings.first_day,
        last_day=settings.last_day,
        side=settings.side,
        dedupe=settings.dedupe,
        max_quarantine=settings.max_quarantine,
        keep_days=settings.keep_days,
        keep=settings.keep,
        eps=settings.eps,
        unkeyed=settings.unkeyed,
        extrapolate=settings.extrapolate,
        digests=inputs.digests,
        planning=planning,
        progress=steps.begin,
        watch=steps.watch,
    )


def _publish(
    settings: Settings,
    found: Analysis,
    render: Callable[[Mapping[str, object]], str],
    before: files.ResultDays,
) -> None:
    summary = found.summary
    text = json.dumps(summary, ensure_ascii=False, sort_keys=True, allow_nan=False, indent=1)
    content = {
        REPORT: render(summary).encode(),
        SUMMARY: f"{text}\n".encode(),
        **{f"csv/{name}.csv": files.csv_data(*table) for name, table in found.csv.items()},
    }
    files.publish(
        settings.out,
        run_id=summary["run_id"],
        files=content | dict(found.files),
        tables=tables_place(found.tables, settings.out),
        table_format=settings.table_format,
        days=published_days(found.days, settings.out),
        after=before,
    )


def _remove_tables(tables: str, out: Path) -> None:
    """Remove the tables of a run that is not published; the next run removes those of a store."""
    with suppress(RackwiseError, OSError):  # the error that ended the run counts
        if "://" not in tables and tables_place(tables, out) not in known_tables(out):
            shutil.rmtree(tables)


def _warn_unplanned(shell: Shell, plans: Mapping[str, Any] | None) -> None:
    """Warn about clusters without a plan, the first ones by name."""
    rows = [row for row in (plans["rows"] if plans else ()) if row["status"] != "planned"]
    for row in rows[:SHOWN]:
        advice = f"; {escaped(row['hint'])}" if row["hint"] else ""
        shell.warn(f"no plan for {escaped(row['cluster'])}: {escaped(row['reason'])}{advice}")
    if len(rows) > SHOWN:
        shell.warn(f"no plan for {len(rows) - SHOWN} more clusters; csv/plans.csv has the reasons")


def _check_planned(plans: Mapping[str, Any] | None) -> None:
    """Raise `PlanFailures` where a cluster has no plan."""
    if plans is None or plans["planned"] == plans["clusters"]:
        return
    planned = [row["cluster"] for row in plans["rows"] if row["status"] == "planned"]
    failed = [
        RackwiseError(row["reason"], hint=row["hint"], where=row["cluster"])
        for row in plans["rows"]
        if row["status"] != "planned"
    ]
    first = failed[0]
    names = names_text([each.where for each in failed], most=1)
    raise PlanFailures(
        f"no plan for {names}: {escaped(first.message)}",
        done=planned,
        failed=failed,
        hint="see csv/plans.csv for every reason, or use --no-plans; the report is published",
    )


def show(shell: Shell, found: Analysis, out: Path) -> None:
    """Print the summary on stdout, as a document or as text with the path of the report."""
    _warn_unplanned(shell, found.summary["plans"])
    if shell.is_json:
        shell.document(found.summary)
        return
    from rackwise.report import terminal

    shell.text(terminal.render(found.summary, width=shell.width, color=shell.has_color()))
    shell.data(escaped(str(out / REPORT)))


def exit_code(found: Analysis, inputs: Inputs, *, is_requested: bool) -> int:
    """2 when requested and a finding fails the policy or a plan moves something, else 0.

    Skipped snapshots do not change it. Raises `PlanFailures` where a cluster has no plan.
    """
    _check_planned(found.summary["plans"])
    order = [*map(str, Severity)]
    fail_on = inputs.policy.audit.fail_on
    failing = order[: order.index(fail_on) + 1] if fail_on in order else []
    is_failing = any(row["severity"] in failing for row in found.summary["findings"]["by_rule"])
    plans = found.summary["plans"]
    return 2 if is_requested and (is_failing or (plans and plans["moves"])) else 0
