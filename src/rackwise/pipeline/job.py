"""Runs the whole pipeline of `analyze`, from files to a summary.

Goals, in order: nothing is published unless every byte is accounted for; the same input gives the
same tables and the same summary; few Spark actions, each over as few rows as possible.

```
1 snapshots                names, codes, frames            -> silver/broker, partition, ..
2 bronze: flow files       listed, columns checked                             -> bronze/ if kept
3 silver: flow facts       every row once, with its outcome; added up in tasks    -> silver/
4 gold: traffic            one packed key; precedence of sources
5 gold: dollars            topics, levels, prices, conservation                -> gold/cross_rack
6 gold: roll-ups and savings                                -> gold/by_*, matrix, savings
7 gold: findings                                                               -> gold/finding
8 gold: blast radius                                                           -> gold/blast
9 gold: plans              one per cluster, by tasks            -> silver/planned, gold/plan
10 gold: proofs            bounds of the plans, by tasks                       -> gold/plan_summary
11 report                  by the caller, which publishes the result
```

`_run` is these steps, from top to bottom. What a step does is in the room that it belongs to: files
and facts in `ingest`, codes in `fleet`, 4 to 6 in `bill.gold.result_bill`, 7 to 10 in
`plans.safety`, and what the report is made from in `summary`.

The tables of a run are in a folder of their own, `<tables>/runs/<run_id>[-N]`. They
are read only after the caller publishes a manifest that names the folder, so a run that fails or is
killed leaves the last result unchanged. A run that fails removes its folder, also from a store. The
caller remembers the URI of a run, so that the next one removes what a killed run has left there
(`AnalyzeRequest.unpublished`). The run id is a digest of all inputs, so equal inputs have
equal ids.

The days that an earlier run computed, and this one does not, stay in the result. Their rows are
read from the tables of that run (see `bill.standing`); all roll-ups are over all days.

What this does not do: read snapshots, prices or policies; write CSV files or the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession  # noqa: TC002 (says that PySpark is missing, where it is)

from rackwise.core.traffic import prices_of
from rackwise.pipeline.bill.gold.inputs import BillInputs
from rackwise.pipeline.bill.gold.result_bill import STEPS as BILL_STEPS
from rackwise.pipeline.bill.gold.result_bill import bill_result
from rackwise.pipeline.bill.rates import ignored_rates_notes, rates_by_name
from rackwise.pipeline.engines.spark import SessionEngine
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.members import zone_racks
from rackwise.pipeline.fleet.subnet_racks import subnet_buckets
from rackwise.pipeline.ingest.files import repeated_notes
from rackwise.pipeline.ingest.names import FoundNames
from rackwise.pipeline.ingest.silver import write_silver
from rackwise.pipeline.plans.safety import STEPS as SAFETY_STEPS
from rackwise.pipeline.plans.safety import SafetyInputs, judge_safety
from rackwise.pipeline.request import check_request, run_id
from rackwise.pipeline.runtime.failures import removed_if_failed, with_clear_failures
from rackwise.pipeline.stream.table_formats import PARQUET
from rackwise.pipeline.summary.csv_tables import csv_tables
from rackwise.pipeline.summary.document import EACH, SHOWN
from rackwise.pipeline.summary.run_summary import run_summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.history import StandingDay
    from rackwise.core.traffic import Price, Rates
    from rackwise.pipeline.bill.billed.cost_report import CostReport
    from rackwise.pipeline.bill.model import CsvTable
    from rackwise.pipeline.engines.job_engine import JobEngine, OpenedFlows
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.silver import Silver
    from rackwise.pipeline.request import AnalyzeRequest
    from rackwise.pipeline.runtime.running import Jobs

STEPS = (
    *("snapshots", "bronze: flow files", "silver: flow facts"),
    *BILL_STEPS,
    *SAFETY_STEPS,
    "report",
)
"""The steps of a run, in order; the caller performs the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The result of a run."""

    summary: Mapping[str, Any]
    tables: str
    """Folder or URI of its tables."""
    csv: Mapping[str, CsvTable]
    """Name of a CSV file -> its columns and rows."""
    days: tuple[StandingDay, ...]
    """All days of the result, by cluster and day."""
    files: Mapping[str, bytes]
    """Path -> content of the plan files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What a run works with; every step has it."""

    engine: JobEngine
    request: AnalyzeRequest
    jobs: Jobs
    rates: Rates
    """By the names of the clusters."""
    prices: tuple[Price, ...]
    """Of the provider."""

    def begin(self, step: str, which: str = "") -> None:
        """Report the start of a step or of a part of it; a step without work is not reported."""
        self.request.progress(STEPS.index(step) + 1, len(STEPS), f"{step}{which}")
        self.jobs.begin_step()


def analyze(spark: SparkSession, request: AnalyzeRequest) -> Analysis:
    """Run everything on Spark; see `analyze_on`."""
    return analyze_on(SessionEngine(spark), request)


def analyze_on(engine: JobEngine, request: AnalyzeRequest) -> Analysis:
    """Run everything; tables are written below `request.tables`, nothing is published.

    Raises `InvalidSnapshot` (none left, one name for two clusters, a broker without address where
    flow logs are read), `InvalidFlows`, `InvalidRates`, `InvalidPrices`, `InvalidSubnets`,
    `InvalidPolicy`, `InvalidConfig` for what the engine cannot do and for a damaged table of an
    earlier run; `ConnectorMissing`; `OutputNotShared`; `WorldError` where tasks or Spark were
    killed; `QuarantineExceeded` and `BytesLost`, after which nothing may be published.
    """
    standing = {each.tables for each in request.standing if each.tables is not None}
    earlier = {request.earlier.tables} if request.earlier else set()
    with with_clear_failures(sorted(standing | earlier)), engine.watched() as jobs:
        request.watch(jobs)
        return _analysis(_work(engine, request.settled(), jobs))


def _work(engine: JobEngine, request: AnalyzeRequest, jobs: Jobs) -> _Work:
    rates = rates_by_name(request.rates, request.snapshots)
    prices = prices_of(request.prices, request.provider)
    return _Work(engine=engine, request=request, jobs=jobs, rates=rates, prices=prices)


def _analysis(work: _Work) -> Analysis:
    """Check the request, claim a folder, run the steps; remove the folder of a run that fails."""
    engine, request, notes = work.engine, work.request, [*work.request.notes]
    work.begin("snapshots")
    check_request(request)
    engine.check(request)
    notes += _remove_unpublished(work)
    files = engine.list_flows(request.flows) if request.flows else ()
    report = engine.cost_report(request.billed, notes.append)
    run = run_id(request, files, report.files if report else ())
    folder = engine.claim(request.tables, run)
    is_stored = "://" in folder
    if is_stored:
        request.claim(folder)

    def remove() -> None:
        if engine.remove_run(folder) is None and is_stored:
            request.release(folder)

    with removed_if_failed(folder, remove):
        return _run(work, files, report, run, folder, notes)


def _remove_unpublished(work: _Work) -> list[str]:
    """Remove the tables of killed runs; a note for each that is left."""
    notes = []
    for uri in work.request.unpublished:
        if reason := work.engine.remove_run(uri):
            notes.append(f"the tables of a killed run at {uri} are not removed: {reason}")
        else:
            work.request.release(uri)
    return notes


def _run(
    work: _Work,
    files: Sequence[FlowFile],
    report: CostReport | None,
    run: str,
    folder: str,
    notes: Sequence[str],
) -> Analysis:
    """The steps, from flow files to the summary; tables are written below `folder`."""
    engine, request, begin = work.engine, work.request, work.begin
    flows = _opened_flows(work, files, folder) if files else None
    fleet = _fleet(work, flows.names() if flows else FoundNames(), folder)
    facts = _facts(work, flows, fleet, files, folder) if flows else None
    billed = bill_result(engine, fleet, facts, _bill_inputs(work, report), folder, begin=begin)
    inputs = _safety_inputs(work)
    safety = judge_safety(engine, fleet, billed, inputs, folder, begin=begin)
    csv = csv_tables(billed, safety)
    if request.table_format != PARQUET:
        begin(STEPS[-1], f": {request.table_format} tables")
        engine.add_tables(request.table_format, folder)
    told = [*notes, *repeated_notes(files), *ignored_rates_notes(fleet, work.rates), *billed.notes]
    summary = run_summary(
        request,
        run,
        fleet,
        facts.outcomes if facts else None,
        billed,
        safety,
        report=report,
        csv=csv,
        engine_versions=engine.versions(),
        notes=told,
    )
    plans = safety.all_plans
    return Analysis(
        summary=summary,
        tables=folder,
        csv=csv,
        days=safety.days,
        files=plans.files if plans else {},
    )


def _opened_flows(work: _Work, files: Sequence[FlowFile], folder: str) -> OpenedFlows:
    work.begin("bronze: flow files")
    keep = f"{folder}/bronze/flow" if "bronze" in work.request.keep else None
    return work.engine.open_flows(files, work.request.flow_format, keep=keep)


def _fleet(work: _Work, found: FoundNames, folder: str) -> Fleet:
    """The fleet; every rack, group and topic of another input has a code, too."""
    request = work.request
    zones = zone_racks(found.zones, request.snapshots)
    return fleet_of_snapshots(
        request.snapshots,
        racks=[*found.racks, *zones, *request.rack_tables.racks()],
        groups=[*found.groups, *(group for _, _, group in work.rates.outs)],
        topics=found.topics,
        keep=lambda name, table, schema: work.engine.save(table, f"{folder}/silver/{name}", schema),
    )


def _facts(
    work: _Work, flows: OpenedFlows, fleet: Fleet, files: Sequence[FlowFile], folder: str
) -> Silver:
    """The facts of the flow files. Raises `QuarantineExceeded`."""
    work.begin("silver: flow facts")
    request = work.request
    options = request.fact_options(work.jobs.count_rows())
    buckets = subnet_buckets(request.subnets, fleet.codes.racks, request.addresses)
    silver = write_silver(
        work.engine,
        flows.fact_input(fleet, buckets, options),
        fleet,
        options,
        format=request.flow_format,
        files=files,
        folder=f"{folder}/silver",
        keeps_facts="facts" in request.keep,
    )
    work.jobs.end_rows(silver.outcomes.rows_in)
    silver.outcomes.check_quarantine(request.max_quarantine)
    return silver


def _bill_inputs(work: _Work, report: CostReport | None) -> BillInputs:
    request = work.request
    return BillInputs(
        snapshots=request.snapshots,
        rates=work.rates,
        prices=work.prices,
        parse=request.parse,
        racks=request.rack_tables,
        owners=request.owners,
        level_names=request.level_names,
        days=request.days,
        standing=request.standing,
        keep_days=request.keep_days,
        eps=tuple(request.eps),
        unkeyed=request.unkeyed,
        extrapolate=request.extrapolate,
        report=report,
        billed_region=request.billed_region,
    )


def _safety_inputs(work: _Work) -> SafetyInputs:
    request = work.request
    return SafetyInputs(
        snapshots=request.snapshots,
        policy=request.policy,
        named_policy=request.named_policy,
        prices=work.prices,
        racks=request.rack_tables,
        earlier=request.earlier,
        planning=request.planning,
        most=SHOWN,
        each=EACH,
    )
