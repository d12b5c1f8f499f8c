"""A plan on a running cluster: its session, the run and its output."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from rackwise.cli.apply.journal_lines import read_lines
from rackwise.cli.apply.meter import RunMeter
from rackwise.cli.apply.text import budget_lines, outcome_document, outcome_text
from rackwise.cli.source import connected, utc_now
from rackwise.cli.usage.stdout import StdoutFailed, drop_stdout
from rackwise.cli.usage.stopping import STOPPED, Stopping
from rackwise.core.errors import InvalidPlan
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from rackwise.adapters.files.journal import Journal
    from rackwise.adapters.files.state_folder import RunLock
    from rackwise.adapters.kafka.applying.world import World
    from rackwise.cli.apply.budget import BudgetOptions, CommandStart
    from rackwise.cli.apply.options import ApplyOptions, Target
    from rackwise.cli.apply.window import Opening
    from rackwise.cli.shell import Shell
    from rackwise.core.applying.budget import Budget
    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import (
        ApplyState,
        Caps,
        Mode,
        Outcome,
        PartitionClass,
        RequestStatus,
    )
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Plan

REQUESTED_AGAIN: frozenset[PartitionClass] = frozenset(
    {"refused", "cancelled_externally", "target_dead"}
)
"""Classes of failed moves that the next run requests again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplySession:
    """A plan, its journal and its cluster, all open."""

    plan: Plan
    folder: Path
    """The state folder of the cluster."""
    journal: Journal
    world: World
    lock: RunLock | None = None
    """The lock of the cluster; None: the session only reads."""
    _lines: list[Line] = field(default_factory=list)
    """Lines of the journal that are parsed already."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the journal; each is parsed once. Raises `InvalidPlan`."""
        self._lines.extend(read_lines(self.journal, first=len(self._lines)))
        return tuple(self._lines)

    def lines_now(self) -> tuple[Line, ...]:
        """The lines that are on the disk now; another process may have added some.

        Of a journal that cannot be read, the lines that are known.
        """
        from rackwise.adapters.files.journal import open_journal

        known = self.lines
        try:
            journal = open_journal(self.folder, self.plan.sha256)
            return (*known, *read_lines(journal, first=len(known)))
        except InvalidPlan:
            return known

    def with_plan(self, plan: Plan) -> ApplySession:
        """A session on the same cluster with another plan, and that plan's own journal."""
        from rackwise.adapters.files.journal import open_journal

        journal = open_journal(self.folder, plan.sha256)
        return ApplySession(
            plan=plan, folder=self.folder, journal=journal, world=self.world, lock=self.lock
        )


@contextmanager
def open_session(
    shell: Shell, target: Target, *, command: str | None = None, may_replan: bool = False
) -> Iterator[ApplySession]:
    """Lock and open the journal of the plan, then connect to its cluster.

    `command`: that of this process, for those who find the lock held; None: the session only reads,
    without a lock, and a damaged journal causes a warning and is ignored. `may_replan`: a file with
    lists that somebody else chose is compared with the cluster again, unless a run of it is open.
    Raises `InvalidPlan`, `StalePlan`, `WrongCluster`, `Locked`, `JournalUnwritable`, `Unreachable`.
    """
    from rackwise.adapters.files import read_bytes
    from rackwise.adapters.files.plan.read import parse_plan
    from rackwise.adapters.files.plan.targets import is_plan, parse_targets
    from rackwise.core.applying.preflight import check_cluster, check_cluster_ids

    where, is_reading = str(target.plan), command is None
    data = read_bytes(target.plan, error=InvalidPlan, max_bytes=shell.max_input)
    with ExitStack() as stack:
        if is_plan(data):
            plan = parse_plan(data, where=where)
            check_cluster(plan, plan.cluster_id)
            folder, lock = _folder(stack, target, plan.cluster_id, command, plan=plan.sha256)
            journal, lines = _journal(shell, stack, folder, plan, is_reading=is_reading)
            world = _world(stack, target)
        else:
            from rackwise.cli.apply.foreign import find_plan

            targets = parse_targets(data, where=where)
            world = _world(stack, target)
            check_cluster_ids(targets.cluster_ids, world.cluster_id())
            folder, lock = _folder(stack, target, world.cluster_id(), command)
            plan = find_plan(shell, world, folder, targets.lists, may_replan=may_replan)
            if lock is not None:
                lock.write(plan=plan.sha256)
            journal, lines = _journal(shell, stack, folder, plan, is_reading=is_reading)
        check_cluster(plan, world.cluster_id())
        yield ApplySession(
            plan=plan, folder=folder, journal=journal, world=world, lock=lock, _lines=[*lines]
        )


def _folder(
    stack: ExitStack,
    target: Target,
    cluster_id: str | None,
    command: str | None,
    plan: str | None = None,
) -> tuple[Path, RunLock | None]:
    """The state folder of the cluster, and its lock unless it is only read."""
    from rackwise.adapters.files.state_folder import (
        cluster_folder,
        locked,
        made_folder,
        state_home,
    )

    home = state_home(os.environ)
    if command is None:
        return cluster_folder(home, cluster_id or ""), None
    folder = made_folder(home, cluster_id or "")
    lock = locked(folder, since=utc_now(), command=command, plan=plan, file=target.plan)
    return folder, stack.enter_context(lock)


def _journal(
    shell: Shell, stack: ExitStack, folder: Path, plan: Plan, *, is_reading: bool
) -> tuple[Journal, tuple[Line, ...]]:
    """The journal of the plan and its lines."""
    from rackwise.adapters.files.journal import journal_path, open_journal, parse_journal

    try:
        journal = open_journal(folder, plan.sha256)
        lines = read_lines(journal)
    except InvalidPlan as error:
        if not is_reading:
            raise
        shell.warn(escaped(error.message))
        journal, lines = parse_journal(b"", journal_path(folder, plan.sha256)), ()
    stack.enter_context(closing(journal))
    return journal, lines


def _world(stack: ExitStack, target: Target) -> World:
    """The cluster, connected."""
    admin = stack.enter_context(connected(target.bootstrap_server, target.command_config))
    from rackwise.adapters.kafka.applying.world import World

    return World(admin=admin)


def journalled_requests(session: ApplySession) -> Mapping[PartitionId, RequestStatus]:
    """The requests that the journal knows; empty without a journal."""
    from rackwise.core.applying.start import history_of

    return history_of(session.lines).sent


def initial_state(
    session: ApplySession,
    caps: Caps,
    *,
    rate: int | None = None,
    mode: Mode = "apply",
    dropped: Collection[PartitionId] = (),
    budget: Budget | None = None,
    is_new: bool = False,
) -> ApplyState:
    """The first state of a run, from the plan and its journal; without a budget it has no limit.

    `is_new`: of the throttle of an earlier run, only what is still set is kept.
    """
    from rackwise.core.applying.budget import Budget
    from rackwise.core.applying.start import resume

    return resume(
        session.plan,
        session.lines,
        caps,
        rate,
        mode=mode,
        dropped=dropped,
        budget=budget or Budget(),
        is_new=is_new,
    )


def budget_of(
    session: ApplySession,
    options: BudgetOptions,
    start: CommandStart,
    *,
    inherits: bool = False,
    opening: Opening | None = None,
) -> Budget:
    """The budget of the run of a command.

    `inherits`: without options, take the budget of a run that was killed, except the end of its
    window. `opening`: the window.
    """
    from rackwise.cli.apply.window import without_window
    from rackwise.core.applying.start import history_of

    killed = history_of(session.lines).open_run
    if killed is not None and inherits and killed.lasts_ms is None:
        killed = replace(killed, until=without_window(killed.budget).until)
    budget = options.budget(start.now, start.clock_ms, killed=killed, inherits=inherits)
    return budget if opening is None else opening.cut(budget, start)


def print_budget(shell: Shell, session: ApplySession, budget: Budget) -> None:
    """Print the budget of the run that begins, if it has any limit."""
    from rackwise.cli.apply.budget import budget_text
    from rackwise.core.applying.start import history_of

    if budget.is_limited:
        begun = len(history_of(session.lines).begun_in(budget))
        window = "" if budget.window is None else f"; window {budget.window}"
        shell.note(f"{budget_text(budget, datetime.fromisoformat(utc_now()), begun)}{window}")


def next_command(
    session: ApplySession,
    outcome: Outcome,
    target: Target,
    verb: str,
    options: ApplyOptions,
    limits: BudgetOptions,
    budget: Budget,
) -> str | None:
    """The command that continues a run with a budget; None: the run had no budget."""
    from rackwise.cli.apply.window import next_limits

    if not budget.is_limited:
        return None
    left = [
        move
        for move in session.plan.moves
        if outcome.classes[move.topic, move.partition] == "not_started"
    ]
    return target.command(verb, options, *next_limits(limits, budget, left))


def require_journal(session: ApplySession, target: Target) -> None:
    """Raise `InvalidPlan` for a plan without a journal here."""
    if not session.journal.entries:
        raise InvalidPlan(
            f"the plan has no journal here: {session.journal.path} does not exist",
            wanted="a journal",
            had=None,
            hint=f"to start it: {target.command('apply')}; rackwise status shows its progress",
            where=str(session.journal.path),
        )


def has_ended(session: ApplySession) -> bool:
    """Whether the journal leaves nothing open: empty, or its last run completed."""
    from rackwise.core.applying.start import history_of

    return history_of(session.lines).is_closed


def run(
    shell: Shell, session: ApplySession, state: ApplyState, *, label: str
) -> tuple[Outcome, int]:
    """Drive a state to its end; return the outcome and the exit code.

    Raises `JournalUnwritable`, `PartialFailure`, and the errors of the cluster before any write.
    """
    from rackwise.adapters.files.throttle_request import read_request, request_path
    from rackwise.adapters.kafka.applying.driver import drive

    had_begun = bool(session.journal.entries)
    meter = RunMeter(shell, label)
    with Stopping() as stop:
        try:
            outcome = drive(
                state,
                session.world,
                session.journal,
                stop=stop,
                at=utc_now,
                on_state=meter.update,
                throttle_request=partial(read_request, request_path(session.journal.path)),
            )
        finally:
            meter.close()
        return outcome, _code(outcome, stop, had_begun=had_begun)


def _code(outcome: Outcome, stop: Stopping, *, had_begun: bool) -> int:
    if outcome.is_reached:
        return 0
    if outcome.stop == "budget" or outcome.has_written or had_begun:
        return STOPPED
    return stop.code if stop.is_asked else 1


def show(
    shell: Shell,
    session: ApplySession,
    outcome: Outcome,
    target: Target,
    *,
    verb: str = "resume",
    again: str | None = None,
) -> None:
    """Print the outcome on stdout, and the next command on stderr.

    `again`: the command that continues a run with a budget; without a budget `verb` continues.
    """
    texts = session.world.texts
    onward = (again or target.command(verb)) if may_continue(outcome) else None
    try:
        if shell.is_json:
            shell.document(
                outcome_document(session.plan, outcome, texts, session.journal.path, onward)
            )
        else:
            lines = [outcome_text(outcome, texts)]
            if again is not None and outcome.mode == "apply":
                lines += budget_lines(session.plan, outcome, onward)
            shell.text("\n".join(lines))
    except StdoutFailed as failed:
        if not failed.is_closed:
            raise
        drop_stdout()
    if outcome.dropped:
        left = counted(len(outcome.dropped), "move")
        shell.note(f"{left} left out of this run; to see their state: {target.command('status')}")
    if outcome.is_reached or (outcome.stop == "budget" and not outcome.throttles_left):
        return
    if outcome.throttles_left and not outcome.skipped:
        left = counted(len(outcome.throttles_left), "throttle")
        shell.warn(f"{left} of this run could not be cleared: run rackwise throttles --restore")
    if onward is not None:
        shell.warn(f"to continue: {onward}")


def may_continue(outcome: Outcome) -> bool:
    """Whether another run of the plan can do more. What others changed is not requested again."""
    if outcome.is_reached:
        return False
    is_left = outcome.skipped or outcome.not_elected or outcome.of(REQUESTED_AGAIN)
    return bool(is_left) or outcome.stop is not None


def show_nothing(shell: Shell, session: ApplySession, text: str, *, mode: Mode) -> None:
    """Print that there was nothing to do."""
    if not shell.is_json:
        shell.text(text)
        return
    from rackwise.core.applying.model import Outcome

    outcome = Outcome(mode=mode, classes={}, codes={})
    shell.document(outcome_document(session.plan, outcome, {}, session.journal.path, None))
