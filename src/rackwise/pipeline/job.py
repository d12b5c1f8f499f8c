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

import platform
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession  # noqa: TC002 (says that PySpark is missing, where it is)

from rackwise.core.billed.comparison import notes as billed_notes
from rackwise.core.history import StandingDay, covered_time, merge_days, rename_clusters
from rackwise.core.inventory.addresses import RacksAtTimes
from rackwise.core.racks import level_names
from rackwise.core.subnets import length_classes, rack_of
from rackwise.core.text import counted
from rackwise.core.traffic import ANY, REGION, named_levels, prices_of, rates_of
from rackwise.pipeline import schemas
from rackwise.pipeline.audit.blast import blast_rows, blast_table
from rackwise.pipeline.audit.findings import audit_fleet, finding_table
from rackwise.pipeline.audit.ranked import findings_part
from rackwise.pipeline.audit.safe_days import safe_days, snapshot_days
from rackwise.pipeline.bill.billed.comparison import billed_part, billed_rows, compared
from rackwise.pipeline.bill.coded_fleet import CodedFleet
from rackwise.pipeline.bill.cost import Pricing
from rackwise.pipeline.bill.focus import focus_csv, left_out
from rackwise.pipeline.bill.gold import SCHEMAS as GOLD
from rackwise.pipeline.bill.gold import (
    Metered,
    ResultOptions,
    all_results,
    bill,
    check_conserved,
    cross_rack,
    first_look,
    save_rows,
    source_names,
    traffic_of,
)
from rackwise.pipeline.bill.history import history_csv
from rackwise.pipeline.bill.meter import (
    METERED_FLOW,
    MeterNames,
    meter_flows,
    meter_period,
    meter_runs,
    unmetered_rows,
)
from rackwise.pipeline.bill.rates import unknown_topics
from rackwise.pipeline.bill.reconciliation import reconcile
from rackwise.pipeline.bill.savings import SavingOptions
from rackwise.pipeline.bill.standing import read_standing
from rackwise.pipeline.columns.clock import day_number
from rackwise.pipeline.engines.spark import SessionEngine
from rackwise.pipeline.fleet.cluster_names import name_notes, names_by_text
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.layouts import layout_table
from rackwise.pipeline.fleet.members import zone_racks
from rackwise.pipeline.fleet.subnet_racks import subnet_buckets
from rackwise.pipeline.ingest.files import find_repeated
from rackwise.pipeline.ingest.formats.base import FactOptions
from rackwise.pipeline.ingest.names import FoundNames
from rackwise.pipeline.ingest.row_outcomes import RowOutcomes
from rackwise.pipeline.ingest.silver import write_silver
from rackwise.pipeline.plans.actions import actions_part
from rackwise.pipeline.plans.earlier import (
    read_earlier,
    with_earlier,
    with_earlier_findings,
    with_earlier_findings_csv,
    with_earlier_plans,
)
from rackwise.pipeline.plans.fleet_plans import PROOF, STEP, Plans, plan_clusters
from rackwise.pipeline.request import check_request, run_id
from rackwise.pipeline.runtime.failures import failures_told, removed_if_failed
from rackwise.pipeline.stream.table_formats import PARQUET
from rackwise.pipeline.summary import (
    EACH,
    LISTED,
    SHOWN,
    cross_by_cluster,
    document,
    month_seconds,
    plain,
    plans_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from rackwise.core.billed.comparison import BilledComparison
    from rackwise.core.model import Cluster, Group, GroupMember
    from rackwise.core.policy import Policy
    from rackwise.core.racks import Rack
    from rackwise.pipeline.audit.findings import ClusterFindings
    from rackwise.pipeline.bill.billed.cost_report import CostReport
    from rackwise.pipeline.bill.gold import Traffic
    from rackwise.pipeline.bill.meter import MeterRun
    from rackwise.pipeline.bill.model import Bill, CsvTable
    from rackwise.pipeline.engines.job_engine import JobEngine, OpenedFlows
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.silver import Silver
    from rackwise.pipeline.request import AnalyzeRequest
    from rackwise.pipeline.runtime.engine import Rows
    from rackwise.pipeline.runtime.running import Jobs

STEPS = (
    "snapshots",
    "bronze: flow files",
    "silver: flow facts",
    "gold: traffic",
    "gold: dollars",
    "gold: roll-ups and savings",
    "gold: findings",
    "gold: blast radius",
    *(STEP, PROOF),
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
    with failures_told(sorted(standing | earlier)), engine.watched() as jobs:
        request.watch(jobs)
        return _AnalyzeRun(engine, request.settled(), jobs).analysis()


class _AnalyzeRun:
    """One run, with the state that several steps share."""

    def __init__(self, engine: JobEngine, request: AnalyzeRequest, jobs: Jobs) -> None:
        self.engine = engine
        self.request = request
        self.jobs = jobs
        names = names_by_text(request.snapshots)
        self.rates = rates_of(
            replace(row, cluster=names.get(row.cluster, row.cluster)) for row in request.rates
        )
        self.prices = prices_of(request.prices, request.provider)
        self.notes = list(request.notes)

    def step(self, name: str, which: str = "") -> None:
        """Report the start of a step or of a part of it; a step without work is not reported."""
        self.request.progress(STEPS.index(name) + 1, len(STEPS), f"{name}{which}")
        self.jobs.begin_step()

    def analysis(self) -> Analysis:
        """Run all steps except the caller's; remove the folder of a run that fails."""
        request = self.request
        self.step("snapshots")
        check_request(request)
        self.engine.check(request)
        self._remove_unpublished()
        files = self.engine.list_flows(request.flows) if request.flows else ()
        report = self.engine.cost_report(request.billed, self.notes.append)
        run = run_id(request, files, report.files if report else ())
        folder = self.engine.claim(request.tables, run)
        is_stored = "://" in folder
        if is_stored:
            request.claim(folder)

        def remove() -> None:
            if self.engine.remove_run(folder) is None and is_stored:
                request.release(folder)

        with removed_if_failed(folder, remove):
            return self._run_steps(files, report, run, folder)

    def _remove_unpublished(self) -> None:
        """Remove the tables of killed runs; a note if one is left."""
        for uri in self.request.unpublished:
            if reason := self.engine.remove_run(uri):
                self.notes.append(f"the tables of a killed run at {uri} are not removed: {reason}")
            else:
                self.request.release(uri)

    def _run_steps(
        self, files: Sequence[FlowFile], report: CostReport | None, run: str, folder: str
    ) -> Analysis:
        flows = self._bronze(files, folder)
        fleet = self._fleet(flows.names() if flows else FoundNames(), folder)
        facts = self._silver(flows, fleet, files, folder)
        billed, days, levels = self._bill(facts, report, fleet, folder)
        against = billed.billed if billed else self._compared((), report, fleet, days, levels)
        if against is not None:
            self.notes += billed_notes(against)
            path = f"{folder}/gold/billed"
            save_rows(self.engine, billed_rows(against), path, schemas.BILLED)
        self.step("gold: findings")
        audits = audit_fleet(fleet, self.request.policy)
        earlier = read_earlier(
            self.engine, self.request.earlier, days, {*names_by_text(self.request.snapshots)}
        )
        path = f"{folder}/gold/finding"
        found_rows = with_earlier_findings(finding_table(audits), earlier)
        self.engine.save(found_rows, path, schemas.FINDING)
        ranked = findings_part(found_rows, most=SHOWN, each=EACH)
        del found_rows  # a large cluster has millions
        days = self._with_safety(days, folder, audits)
        self.step("gold: blast radius")
        losses = self._blast(fleet, billed)
        path = f"{folder}/gold/blast"
        self.engine.save(blast_table(losses), path, schemas.BLAST)
        own_plans = self._plans(fleet, folder)
        planned = with_earlier_plans(own_plans, earlier)
        csv = _csv(billed, audits, [*losses, *(earlier.blast if earlier else ())], planned)
        csv["findings"] = with_earlier_findings_csv(csv["findings"], earlier)
        if against is not None:
            csv["billed"] = _table(billed_rows(against), schemas.BILLED)
        csv["history"] = history_csv(days, billed.standings if billed else ())
        if self.request.table_format != PARQUET:
            self.step(STEPS[-1], f": {self.request.table_format} tables")
            self.engine.add_tables(self.request.table_format, folder)
        summary = document(
            run_id=run,
            fleet=fleet,
            snapshots=self.request.snapshots,
            levels=levels,
            audits=audits,
            ranked=ranked,
            blast=losses,
            bill=billed,
            days=days,
            outcomes=facts.outcomes if facts else RowOutcomes(),
            options=self.request.options,
            extrapolate=self.request.extrapolate,
            versions=self._versions(),
            failed=self.request.failed,
            notes=[*self._snapshot_notes(fleet), *self.notes],
        )
        return Analysis(
            summary=with_earlier(summary, earlier, cross_by_cluster(billed))
            | {
                "billed": billed_part(against, report),
                "plans": plans_part(planned),
                "actions": actions_part(fleet.latest, audits, losses, own_plans, billed),
                "csv": [f"csv/{name}.csv" for name in csv],
            },
            tables=folder,
            csv=csv,
            days=days,
            files=planned.files if planned else {},
        )

    def _plans(self, fleet: Fleet, folder: str) -> Plans | None:
        if self.request.planning is None:
            return None
        planning = replace(
            self.request.planning,
            policy=self._named_policy(),
            prices=tuple(self.prices),
            rack_of=self._member_rack(),
        )
        return plan_clusters(
            self.engine,
            fleet,
            planning,
            folder,
            snapshots=self.request.snapshots,
            begin=self.step,
        )

    def _bronze(self, files: Sequence[FlowFile], folder: str) -> OpenedFlows | None:
        if not files:
            return None
        self.step("bronze: flow files")
        for same in find_repeated(files):
            self.notes.append(
                f"{len(same)} flow files have equal name and size; all of them are read: "
                + ", ".join(file.path for file in same)
            )
        keep = f"{folder}/bronze/flow" if "bronze" in self.request.keep else None
        return self.engine.open_flows(files, self.request.flow_format, keep=keep)

    def _fleet(self, found: FoundNames, folder: str) -> Fleet:
        request = self.request
        racks = [*found.racks, *(subnet.rack for subnet in request.subnets)]
        racks += [row.rack for row in request.addresses]
        racks += zone_racks(found.zones, request.snapshots)
        racks += [rack for racks_of in request.clients.values() for rack in racks_of.values()]
        fleet = fleet_of_snapshots(
            request.snapshots,
            racks=racks,
            groups=[*found.groups, *(group for _, _, group in self.rates.outs)],
            topics=found.topics,
            keep=lambda name, table, schema: self.engine.save(
                table, f"{folder}/silver/{name}", schema
            ),
        )
        if missing := unknown_topics(fleet, self.rates):
            self.notes.append(
                f"rates of {counted(len(missing), 'topic')} are ignored: no snapshot has a "
                f"partition of them; the first is {missing[0][1]} of cluster {missing[0][0]}"
            )
        return fleet

    def _silver(
        self, flows: OpenedFlows | None, fleet: Fleet, files: Sequence[FlowFile], folder: str
    ) -> Silver | None:
        if flows is None:
            return None
        self.step("silver: flow facts")
        request = self.request
        options = FactOptions(
            side=request.side,
            days=self._requested_days(),
            clients=request.clients,
            is_exact=request.dedupe == "exact",
            count_rows=self.jobs.count_rows(),
        )
        buckets = subnet_buckets(request.subnets, fleet.codes.racks, request.addresses)
        silver = write_silver(
            self.engine,
            flows.fact_input(fleet, buckets, options),
            fleet,
            options,
            format=request.flow_format,
            files=files,
            folder=f"{folder}/silver",
            keeps_facts="facts" in request.keep,
        )
        self.jobs.end_rows(silver.outcomes.rows_in)
        silver.outcomes.check_quarantine(request.max_quarantine)
        return silver

    def _bill(
        self, facts: Silver | None, report: CostReport | None, fleet: Fleet, folder: str
    ) -> tuple[Bill | None, tuple[StandingDay, ...], tuple[str, ...]]:
        """The bill of all days of the result, these days, and the names of the levels."""
        names = self.request.levels or self.request.policy.racks.levels
        runs = self._meter_runs(facts, fleet)
        if facts or runs or self.rates.ins or self.rates.outs:
            self.step("gold: traffic")
        metered = self._meter(runs, fleet, f"{folder}/gold") if runs else None
        looks = first_look(self.engine, facts, metered)
        unmetered = unmetered_rows(looks.get("metered", {}).get("unmetered"))
        found = traffic_of(
            fleet,
            facts,
            self.rates,
            self._rate_days,
            looks=looks,
            rack_of=self._member_rack(),
            metered=metered,
        )
        if facts is not None and facts.period is None:
            self.notes.append("no row of the flow files is traffic of a broker in the snapshots")
        days = self._days(found, fleet, folder)
        earlier = [each for each in days if each.tables != folder]
        standing = read_standing(self.engine, earlier, self.prices)
        if all(each.tables is None for each in days):
            return None, days, level_names(fleet.names.depth, names)
        parts = [standing.rows] if standing else []
        if found is None:
            levels = level_names(fleet.names.depth, names)
        else:
            levels = named_levels(fleet.names.depth, names)
            parts.append(self._dollars(found, fleet, levels, f"{folder}/gold"))
        self.step("gold: roll-ups and savings")
        with_traffic = [each.day for each in earlier if each.tables is not None]
        last = max([*with_traffic, *(found.days if found else ())])
        tables = self._results(
            self.engine.union(parts),
            fleet,
            days,
            levels,
            last=last if standing else None,
            is_compared=report is not None,
        )
        if found is not None:
            check_conserved(tables.get("places", ()), fleet, found.billed)
        gold_folder = f"{folder}/gold"
        billed = bill(
            self.engine,
            tables,
            days=days,
            precedence=[source_names(fleet, one) for one in found.billed] if found else [],
            prices=[*dict.fromkeys([*self.prices, *(standing.prices if standing else ())])],
            folder=gold_folder,
        )
        if unknown := left_out(billed.standings):
            self.notes.append(
                f"csv/focus.csv leaves out {unknown} bytes whose racks or price are not known; "
                "give --subnets, --clients and --prices"
            )
        reconciled: list[dict[str, Any]] = []
        if found and metered and facts and facts.period:
            reconciled = reconcile(looks, fleet, period=facts.period)
        save_rows(self.engine, unmetered, f"{gold_folder}/unmetered", schemas.UNMETERED)
        save_rows(self.engine, reconciled, f"{gold_folder}/reconciliation", schemas.RECONCILIATION)
        billed = replace(
            billed,
            charges=focus_csv(tables.get("charges", ()), billed.prices),
            unmetered=unmetered,
            reconciliation=reconciled,
        )
        compared_tables = tables.get("compared", ())
        against = self._compared(compared_tables, report, fleet, days, levels, billed)
        return replace(billed, billed=against), days, levels

    def _results(
        self,
        whole: Rows,
        fleet: Fleet,
        days: Sequence[StandingDay],
        levels: tuple[str, ...],
        *,
        last: date | None,
        is_compared: bool,
    ) -> dict[str, list[pa.Table]]:
        """The results of each cluster; `last`: as in `ResultOptions`."""
        request = self.request
        covered = covered_time(days)
        options = ResultOptions(
            levels=levels,
            first=min(each.day for each in days) if request.keep_days else None,
            last=last,
            is_compared=is_compared,
            savings=SavingOptions(
                prices=tuple(self.prices),
                levels=levels,
                seconds=month_seconds(covered[2], extrapolate=request.extrapolate)
                if covered
                else None,
                racks=tuple(fleet.codes.racks),
                eps=tuple(request.eps),
                unkeyed=request.unkeyed,
            ),
        )
        layouts = layout_table(fleet.latest, self._member_rack())
        return all_results(self.engine, whole, layouts, options)

    def _compared(
        self,
        sums: Sequence[pa.Table],
        report: CostReport | None,
        fleet: Fleet,
        days: Sequence[StandingDay],
        levels: Sequence[str],
        billed: Bill | None = None,
    ) -> BilledComparison | None:
        """The traffic of all days against the provider's own bill; None if it is not given."""
        if report is None:
            return None
        return compared(
            sums,
            report,
            fleet,
            days=days,
            prices=billed.prices if billed else (),
            precedence=billed.precedence if billed else (),
            levels=levels,
            region=self.request.billed_region,
        )

    def _dollars(self, found: Traffic, fleet: Fleet, levels: tuple[str, ...], folder: str) -> Rows:
        """The rows of CROSS_RACK that this run computes."""
        used = [price for price in self.prices if price.level in {ANY, *levels}]
        if REGION not in levels and any(price.region != ANY for price in used):
            self.notes.append(
                "prices of single regions are not used because no rack level is called region; "
                "name the levels with --levels"
            )
        self.step("gold: dollars")
        pricing = Pricing.of(
            fleet,
            CodedFleet.of(fleet),
            prices=self.prices,
            levels=levels,
            days=found.days,
            owners=self.request.owners,
        )
        gold = cross_rack(self.engine, fleet, found, pricing, self.rates, folder=folder)
        self.notes += self.request.owners.notes(fleet.names.topics, fleet.names.clients)
        return gold

    def _days(self, found: Traffic | None, fleet: Fleet, folder: str) -> tuple[StandingDay, ...]:
        """The days of the result; the safety of those of this run is not known yet."""
        names = names_by_text(self.request.snapshots)
        ids = {one.name: one.cluster.cluster_id for one in fleet.latest}
        places = {source_names(fleet, one)[:2] for one in found.billed} if found else set()
        computed = [
            StandingDay(
                cluster=cluster,
                day=day,
                cluster_id=ids[cluster],
                tables=folder,
                name_in_tables=cluster,
                since=found.since,
                until=found.until,
            )
            for cluster, day in sorted(places)
            if found
        ]
        return merge_days(
            rename_clusters(self.request.standing, names),
            [*computed, *snapshot_days(self.request.snapshots)],
            keep=self.request.keep_days,
        )

    def _with_safety(
        self, days: tuple[StandingDay, ...], folder: str, audits: Sequence[ClusterFindings]
    ) -> tuple[StandingDay, ...]:
        """The days, with the safety of those that this run computed."""
        taken = {each.place for each in snapshot_days(self.request.snapshots)}
        own = {each.place for each in days if each.tables == folder or each.place in taken}
        snapshots, policy = self.request.snapshots, self.request.policy
        return merge_days(days, safe_days(own, snapshots, audits, policy))

    def _meter_runs(self, facts: Silver | None, fleet: Fleet) -> tuple[MeterRun, ...]:
        """The snapshots that are metered; a note if there are some that cannot be."""
        request = self.request
        runs = meter_runs(request.snapshots) if request.parse else ()
        names = request.levels or request.policy.racks.levels
        is_billed = facts or self.rates.ins or self.rates.outs
        if runs and not is_billed and len(names) < fleet.names.depth and fleet.names.depth > 1:
            self.notes.append(
                "the traffic between snapshots is not metered because the rack levels have no "
                "names to price them; name them with --levels, coarsest first"
            )
            return ()
        return runs

    def _meter(self, runs: Sequence[MeterRun], fleet: Fleet, folder: str) -> Metered:
        """What the meter finds, stored below `folder`."""
        parse = self.request.parse
        assert parse is not None, "runs exist only with a parser"  # noqa: S101
        flows = meter_flows(self.engine, runs, parse, self._member_rack())
        path = f"{folder}/metered_flow"
        self.engine.write(flows, path, METERED_FLOW)
        kept = self.engine.read_own(path, METERED_FLOW)
        days = self._requested_days()
        codes = MeterNames.of(fleet, (day_number(days[0]), day_number(days[1])) if days else None)
        start_s, end_s = meter_period(runs)
        period = (datetime.fromtimestamp(start_s, UTC), datetime.fromtimestamp(end_s, UTC))
        return Metered(flows=kept, codes=codes, period=period)

    def _requested_days(self) -> tuple[date, date] | None:
        first, last = self.request.first_day, self.request.last_day
        if first is None and last is None:
            return None
        return (first or date.min, last or date.max)

    def _rate_days(self, of_flows: Sequence[date]) -> Sequence[date]:
        """The days to model from rates: those requested, else those of the flows, else one day."""
        first, last = self.request.first_day, self.request.last_day
        if first and last:
            count = (last - first).days + 1
            return [first + timedelta(days=number) for number in range(count)]
        if of_flows:
            return of_flows
        return [first or last or self._last_snapshot_day()]

    def _last_snapshot_day(self) -> date:
        return max(snapshot.taken_at.date() for snapshot in self.request.snapshots)

    def _blast(self, fleet: Fleet, billed: Bill | None) -> list[dict[str, Any]]:
        days = [one.day for one in billed.standings] if billed else []
        return blast_rows(
            fleet,
            self._named_policy(),
            prices=self.prices,
            day=max(days, default=self._last_snapshot_day()),
            rack_of=self._member_rack(),
        )

    def _named_policy(self) -> Policy:
        """The policy with the names of `--levels`, which prices refer to."""
        policy, levels = self.request.policy, self.request.levels
        return replace(policy, racks=replace(policy.racks, levels=levels)) if levels else policy

    def _member_rack(self) -> RackOf:
        clients, classes = self.request.clients, length_classes(self.request.subnets)
        by_id, by_group = clients.get("client_id", {}), clients.get("client_group", {})
        addresses = RacksAtTimes(self.request.addresses)

        def rack(cluster: Cluster, group: Group, member: GroupMember) -> Rack | None:
            known = by_id.get(member.client_id) or by_group.get(group.group)
            if known or not member.address:
                return known or member.rack
            at = datetime.fromisoformat(cluster.taken_at)
            return (
                addresses.find(member.address, at)
                or member.rack
                or rack_of(member.address, classes)
            )

        return rack

    def _versions(self) -> dict[str, str]:
        return {
            "rackwise": self.request.version,
            **self.engine.versions(),
            "python": platform.python_version(),
        }

    def _snapshot_notes(self, fleet: Fleet) -> list[str]:
        return name_notes(self.request.snapshots) + [
            f"{snapshot.name}: {note.kind}: {note.text}"
            for snapshot in fleet.latest
            for note in snapshot.cluster.notes
        ]


def _csv(
    billed: Bill | None,
    audits: Sequence[ClusterFindings],
    losses: Sequence[Mapping[str, Any]],
    planned: Plans | None,
) -> dict[str, CsvTable]:
    tables = {name: _table(billed.roll_ups[name], GOLD[name]) for name in LISTED} if billed else {}
    if billed:
        tables["focus"] = billed.charges
        tables["savings"] = _table(billed.savings, schemas.SAVINGS)
        for name, found, schema in (
            ("unmetered", billed.unmetered, schemas.UNMETERED),
            ("reconciliation", billed.reconciliation, schemas.RECONCILIATION),
        ):
            if found:
                tables[name] = _table(found, schema)
    rows = (
        {"cluster": one.cluster, **finding.as_dict()} for one in audits for finding in one.findings
    )
    return tables | {
        "findings": _table(rows, schemas.FINDING),
        "blast": _table(losses, schemas.BLAST),
        **({"plans": _table(planned.rows, schemas.PLAN_SUMMARY)} if planned else {}),
    }


def _table(rows: Iterable[Mapping[str, Any]], schema: StructType) -> CsvTable:
    names = tuple(schema.fieldNames())
    return names, ([plain(row[name]) for name in names] for row in rows)
