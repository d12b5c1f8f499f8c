"""Drives a night: starts what `core.nightly.due` says, records how it ended, reports changes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.adapters.clock import epoch_clock, shift_s
from rackwise.adapters.files.nightly import (
    dated_files,
    looks_in,
    made_folders,
    read_nightly,
    remove_files,
    write_nightly,
)
from rackwise.adapters.files.writing import write_bytes, write_text
from rackwise.adapters.nightly_steps import (
    NOT_STARTED,
    StepNotStarted,
    StepProcess,
    close_all,
    cluster_id_of,
)
from rackwise.cli.source import utc_now
from rackwise.core.errors import RackwiseError
from rackwise.core.nightly.commands import NightCluster, NightLayout, NightOptions
from rackwise.core.nightly.due import Job, NightSituation, due
from rackwise.core.nightly.night import LOOKS, NightlyState, StepRun
from rackwise.core.nightly.outcome import exit_code, failed, of_cluster, of_fleet
from rackwise.core.nightly.twins import with_failed_twins
from rackwise.core.nightly.window import expired
from rackwise.core.notices.changes import ClusterMemory, changes
from rackwise.core.notices.message import MOST_LISTED, message
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.cli.shell import Shell
    from rackwise.core.fleet_file import FleetCluster, FleetFile
    from rackwise.core.nightly.window import NightLook
    from rackwise.core.notices.changes import NightFacts, Notice
    from rackwise.core.secret import Secret

POLL_S = 0.05
"""How often the running steps are looked at."""
NOT_SENT = 1
"""Exit code of the step `notify` where the webhook took nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightSettings:
    """The checked options of a run."""

    root: Path
    fleet: FleetFile
    options: NightOptions
    webhook: Secret | None
    webhook_variable: str | None
    """The variable that has the URL of the webhook; None if a file has it."""
    limit_percent: int
    """A rise of the cost above this makes a notice."""
    parallel: int
    step_limit_ms: int
    refresh: bool = False
    """Whether to repeat the second looks of a night of this day."""


@dataclass(slots=True)
class Running:
    """A step that runs."""

    job: Job
    process: StepProcess
    began: str


def night_cluster(fleet: FleetFile, cluster: FleetCluster) -> NightCluster:
    """What the steps of a cluster need, from its part of the fleet file."""
    source = ("--fleet", fleet.name, "--cluster", cluster.name)
    bill: list[str] = []
    for option, value in (
        ("--subnets", cluster.subnets),
        ("--prices", cluster.prices),
        ("--provider", cluster.provider),
        ("--policy", cluster.policy),
        ("--flow-format", cluster.flow_format if cluster.flows else None),
    ):
        bill += [] if value is None else [option, value]
    for option, places in (("--addresses", cluster.addresses), ("--flows", cluster.flows)):
        for place in places:
            bill += [option, place]
    return NightCluster(name=cluster.name, source=source, bill=tuple(bill))


class Driver:
    """A run of `nightly` on a locked folder; `state` is what `nightly.json` has."""

    def __init__(self, shell: Shell, settings: NightSettings) -> None:
        self.shell = shell
        self.settings = settings
        self.layout = NightLayout(root=str(settings.root))
        self.clusters = tuple(
            night_cluster(settings.fleet, each) for each in settings.fleet.clusters
        )
        self.sent = 0
        """Notices that the webhook has taken in this run."""
        self.ran = 0
        """Steps that ended in this run."""
        self._now_ms = epoch_clock(ahead_s=shift_s(os.environ))
        # No step posts to the webhook, so none gets its URL.
        self._environ = {
            key: value for key, value in os.environ.items() if key != settings.webhook_variable
        }
        self._path = Path(self.layout.state)
        day = utc_now()[:10]
        state = read_nightly(self._path, day=day, max_bytes=shell.max_input)
        night = state.night.of([each.name for each in self.clusters])
        if settings.refresh:
            night = night.to_refresh(day)
        self.start = night.started(day, utc_now()).starts
        """Number of this run; a step with a lower one is kept from an earlier run of the day."""
        self.state: NightlyState = replace(state, night=night)
        self._running: list[Running] = []
        self._looks: Mapping[str, tuple[NightLook, ...]] = {}
        self._day = day

    def run(self) -> int:
        """Run what is due, and return the exit code. Raises `WorldError` where the disk fails."""
        night = self.state.night
        if night.day == self._day and night.exit is not None and not self._is_due():
            return exit_code(night)
        began_ms = self._now_ms()
        self._begin()
        try:
            with self.shell.progress("steps of the night") as advance:
                self._loop(advance)
        finally:
            close_all([each.process for each in self._running])
        self._end(began_ms)
        return exit_code(self.state.night)

    def _is_due(self) -> bool:
        """Whether a start would run anything; a step that failed is repeated."""
        night = self.state.night
        self._find_looks()
        return bool(due(self._situation(starts=night.starts + 1)))

    def _begin(self) -> None:
        names = [each.name for each in self.clusters]
        kinds = ("snapshots", "audits", "plans")
        made_folders(self.settings.root, [f"{kind}/{name}" for kind in kinds for name in names])
        for own in (self._path, Path(self.layout.night_metrics)):
            # Under the lock nobody else writes them, so a killed run left these.
            remove_files(own.parent.glob(f".{own.name}.*.unfinished"))
        if self.state.night.day != self._day or self.state.night.starts == 0:
            self._prune()
        self._find_looks()
        known = {name: self.state.clusters.get(name, ClusterMemory()) for name in names}
        night = self.state.night.started(self._day, utc_now())
        self._write(replace(self.state, night=night, clusters=known))

    def _find_looks(self) -> None:
        self._looks = {
            each.name: looks_in(Path(self.layout.looks(each.name)), before=self._day)
            for each in self.clusters
        }

    def _situation(self, *, starts: int | None = None) -> NightSituation:
        night = self.state.night
        return NightSituation(
            night=night if starts is None else replace(night, starts=starts),
            clusters=self.clusters,
            layout=self.layout,
            options=self.settings.options,
            looks=self._looks,
            has_result=Path(self.layout.result, "manifest.json").exists(),
        )

    def _loop(self, advance: Callable[[int], None]) -> None:
        while jobs := due(self._situation()):
            if jobs[0].step == "notify":
                if self._running:  # of a name that has turned out to be a twin
                    advance(self._collect())
                    time.sleep(POLL_S)
                    continue
                self._notify(jobs[0])
                advance(1)
                continue
            self._start(jobs)
            ended = self._collect()
            advance(ended)
            if not ended:
                time.sleep(POLL_S)

    def _start(self, jobs: tuple[Job, ...]) -> None:
        keys = {(each.job.step, each.job.clusters) for each in self._running}
        now_ms = self._now_ms()
        for job in jobs:
            is_early = job.not_before_ms is not None and now_ms < job.not_before_ms
            is_full = len(self._running) >= self.settings.parallel
            if is_early or is_full or (job.step, job.clusters) in keys:
                continue
            words = ("--max-input", self.shell.max_input_text, *job.command)
            try:
                process = StepProcess(
                    words, environ=self._environ, scratch=self.settings.root, now_ms=now_ms
                )
            except StepNotStarted as error:
                run = self._step_run(job, utc_now(), NOT_STARTED, error.message, 0)
                self._record(replace(run, hint=error.hint))
                continue
            self._running.append(Running(job, process, utc_now()))

    def _collect(self) -> int:
        """Record the steps that have ended; return their number."""
        ended = 0
        for each in list(self._running):
            found = each.process.ended(self._now_ms(), limit_ms=self.settings.step_limit_ms)
            if found is None:
                continue
            self._running.remove(each)
            ended += 1
            run = self._step_run(each.job, each.began, found.exit, found.reason, found.took_ms)
            run = run if run.is_ok else replace(run, hint=found.hint)
            if run.is_ok and run.step in LOOKS:
                run = replace(run, cluster_id=cluster_id_of(found.stdout))
            if run.is_ok and each.job.stdout is not None:
                write_bytes(each.job.stdout, found.stdout)
            self._record(run)
        return ended

    def _step_run(
        self, job: Job, began: str, code: int, reason: str | None, took_ms: int
    ) -> StepRun:
        run = StepRun(
            step=job.step,
            clusters=job.clusters,
            command=job.command,
            exit=code,
            reason=None,
            began=began,
            took_ms=took_ms,
            start=self.state.night.starts,
        )
        return run if run.is_ok else replace(run, reason=reason)

    def _record(self, run: StepRun) -> None:
        self.ran += 1
        known = self.state.night.runs
        self._write(replace(self.state, night=with_failed_twins(self.state.night.with_run(run))))
        for each in failed(self.state.night.runs):
            if each not in known:
                who = ", ".join(map(escaped, each.clusters)) or "the fleet"
                why = escaped(each.reason or f"exit code {each.exit}")
                hint = "" if each.hint is None else f"; {escaped(each.hint)}"
                self.shell.warn(f"{each.step} of {who} failed: {why}{hint}")

    def _write(self, state: NightlyState) -> None:
        self.state = state
        write_nightly(self._path, state)

    def _notify(self, job: Job) -> None:
        """Find what changed, keep it, and send what the webhook has not taken yet."""
        began, began_ms = utc_now(), self._now_ms()
        self._write(self._with_changes())
        code, reason, hint = 0, None, None
        try:
            self._send()
        except RackwiseError as error:
            code, reason, hint = NOT_SENT, error.message, error.hint
        took_ms = max(0, self._now_ms() - began_ms)
        self._record(replace(self._step_run(job, began, code, reason, took_ms), hint=hint))

    def _send(self) -> None:
        from rackwise.adapters.webhook import post

        while self.state.outbox and self.settings.webhook is not None:
            some, rest = self.state.outbox[:MOST_LISTED], self.state.outbox[MOST_LISTED:]
            post(self.settings.webhook, message(some))
            self._write(replace(self.state, outbox=rest))
            self.sent += len(some)

    def _with_changes(self) -> NightlyState:
        from rackwise.cli.fleet.nightly.facts import cluster_facts, costs_of

        costs = costs_of(self.shell, Path(self.layout.result))
        found: list[Notice] = []
        memories = dict(self.state.clusters)
        for each in self.clusters:
            facts: NightFacts = cluster_facts(
                self.shell, self.layout, self.state.night, each.name, costs.get(each.name, ())
            )
            notices, memories[each.name] = changes(
                each.name,
                memories.get(each.name, ClusterMemory()),
                facts,
                day=self._day,
                limit_percent=self.settings.limit_percent,
            )
            found += notices
        # Without a webhook, what an earlier run could not send still waits.
        added = [] if self.settings.webhook is None else found
        outbox = (*self.state.outbox, *added)
        return replace(self.state, clusters=memories, outbox=outbox)

    def _end(self, began_ms: int) -> None:
        """Record the end, and write the metrics of the night."""
        from rackwise.cli.fleet.nightly.facts import night_figures
        from rackwise.report.metrics.nightly import nightly_metrics

        now = utc_now()
        night = replace(self.state.night, ended=now, exit=exit_code(self.state.night))
        memories = {
            name: memory
            if failed(of_cluster(night.runs, name))
            else replace(memory, last_success=now)
            for name, memory in self.state.clusters.items()
        }
        is_whole = not failed(night.runs)
        state = replace(
            self.state,
            night=night,
            clusters=memories,
            last_success=now if is_whole else self.state.last_success,
        )
        seconds = (self._now_ms() - began_ms) / 1000
        figures = night_figures(
            self.shell, self.layout, state, seconds=seconds, fleet=of_fleet(night.runs)
        )
        write_text(self.layout.night_metrics, nightly_metrics(figures))
        self._write(state)

    def _prune(self) -> None:
        """Remove what is older than `keep_days`, and what killed steps of earlier nights left."""
        kept = self.settings.options.keep_days
        remove_files(Path(self.layout.night_metrics).parent.glob(".*.unfinished"))
        for each in self.clusters:
            looks = Path(self.layout.looks(each.name))
            folders = [Path(self.layout.audit(each.name, "")).parent]
            folders.append(Path(self.layout.plan(each.name, "")).parent)
            for folder in (looks, *folders):
                remove_files(folder.glob(".*.unfinished"))
            if kept is None:
                continue
            oldest = (datetime.fromisoformat(self._day) - timedelta(days=kept - 1)).date()
            found = looks_in(looks, before=self._day)
            gone = expired(found, self._day, oldest.isoformat())
            remove_files(Path(look.file) for look in gone)
            for folder in folders:
                remove_files(dated_files(folder, before=oldest.isoformat()))
