"""`rackwise rollback`: restore everything that a plan has changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.apply.budget import BudgetOptions, CommandStart
from rackwise.cli.apply.options import ApplyOptions, Target
from rackwise.cli.apply.preflight import run_preflight
from rackwise.cli.apply.run import (
    ApplySession,
    budget_of,
    initial_state,
    journalled_requests,
    next_command,
    open_session,
    print_budget,
    run,
    show,
    show_nothing,
)
from rackwise.cli.apply.text import name_of
from rackwise.cli.apply.window import RollbackWindow
from rackwise.cli.usage.stopping import STOPPED
from rackwise.core.errors import PartialFailure, RackwiseError
from rackwise.core.text import are, counted, escaped

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.cli.apply.window import Opening
    from rackwise.cli.shell import Shell
    from rackwise.core.applying.model import Outcome, Stop
    from rackwise.core.planning.model import Plan


@with_option_groups(without=("check", "ignore_window"))
def rollback(
    context: typer.Context,
    target: Target,
    options: ApplyOptions,
    budget: BudgetOptions,
    window: RollbackWindow,
) -> int:
    """Cancel running moves, then execute the reverse of the completed ones, with its own journal.

    If the run is killed, the same command continues it. Replicas that move back are copied in full.
    With --next, --most-bytes, --until, --for or --window, a run undoes only a part; the same
    command continues later. Outside its --window nothing starts. Exit codes: 0 all is as before the
    plan, 1 error, 3 moves are left, 4 rejected before any write.
    """
    shell: Shell = context.obj
    start = CommandStart.read()
    command = RollbackCommand(
        target=target,
        options=options,
        budget=budget,
        window=window,
        start=start,
        opening=window.checked(shell, start.now, is_check=False),
    )
    with open_session(shell, target, command="rollback") as session:
        cancelled = None
        if session.journal.entries:
            state = initial_state(session, options.caps, mode="cancel")
            cancelled, code = run(shell, session, state, label="cancel")
            if code:
                show(shell, session, cancelled, target, verb="rollback", again=command.text)
                return code
        try:
            return _undo(shell, session, command)
        except PartialFailure:
            raise
        except RackwiseError as error:
            if cancelled is None or not cancelled.has_written:
                raise
            _note_hint(shell, error)
            failed = replace(cancelled, stop="fatal", text=error.message)
            show(shell, session, failed, target, verb="rollback", again=command.text)
            return STOPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackCommand:
    """The arguments of the command, and when it began."""

    target: Target
    options: ApplyOptions
    budget: BudgetOptions
    window: RollbackWindow
    start: CommandStart
    opening: Opening | None
    """The window when the command began; None: it has none."""

    @property
    def has_limits(self) -> bool:
        """Whether a run may undo only a part."""
        return self.opening is not None or self.budget != BudgetOptions()

    @property
    def text(self) -> str:
        """The same command again."""
        return self.target.command("rollback", self.options, self.budget, self.window)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedRollback:
    """One or two executed reverse plans, and their outcome."""

    session: ApplySession
    outcome: Outcome
    code: int
    """Exit code."""
    again: str | None
    """The command that continues within the budget; None: the run had no budget."""

    def show(self, shell: Shell, target: Target) -> int:
        """Print the outcome, and return the exit code."""
        show(shell, self.session, self.outcome, target, verb="rollback", again=self.again)
        return self.code

    def and_then(self, second: ExecutedRollback) -> ExecutedRollback:
        """Join this reverse plan and the second one into one outcome."""
        from rackwise.core.applying.reverse import joined, joined_outcome

        return replace(
            second,
            session=replace(second.session, plan=joined(self.session.plan, second.session.plan)),
            outcome=joined_outcome(self.outcome, second.outcome),
        )

    def ended_by(self, error: RackwiseError) -> ExecutedRollback:
        """The same, but ended by an error of the cluster after the reverse plan."""
        outcome = replace(self.outcome, stop="fatal", text=error.message)
        return replace(self, outcome=outcome, code=STOPPED, again=None)

    def with_left(self, back: Plan, stop: Stop, text: str, again: str | None) -> ExecutedRollback:
        """The same, with the moves of a second reverse plan that was not begun, and the reason."""
        from rackwise.core.applying.model import Outcome
        from rackwise.core.applying.reverse import joined, joined_outcome

        left = Outcome(
            mode="apply",
            classes={(move.topic, move.partition): "not_started" for move in back.moves},
            codes={},
            stop=stop,
            text=text,
        )
        plan = replace(joined(self.session.plan, back), sha256=self.session.plan.sha256)
        return ExecutedRollback(
            session=replace(self.session, plan=plan),
            outcome=joined_outcome(self.outcome, left),
            code=STOPPED,
            again=again,
        )


def _reverse_path(session: ApplySession) -> Path:
    return session.folder / f"{session.plan.sha256}.rollback.json"


def open_rollback(shell: Shell, session: ApplySession) -> ApplySession | None:
    """The session of a rollback of the plan that did not end; None if there is no such rollback.

    Raises `InvalidPlan` where its plan or its journal is damaged.
    """
    from rackwise.adapters.files.plan.read import read_plan
    from rackwise.cli.apply.run import has_ended

    path = _reverse_path(session)
    if not path.exists():
        return None
    unfinished = session.with_plan(read_plan(path, max_bytes=shell.max_input))
    if has_ended(unfinished):
        unfinished.journal.close()
        return None
    return unfinished


def current_rollback(shell: Shell, session: ApplySession) -> ApplySession | None:
    """The same; None also if the plan was applied again since.

    A rollback begins with a cancel in the journal of the plan, so the last run of a plan that is
    being rolled back is no `apply`.
    """
    from rackwise.core.applying.start import history_of

    if history_of(session.lines).mode == "apply":
        return None
    return open_rollback(shell, session)


def _reverse(shell: Shell, session: ApplySession) -> Plan:
    """The plan that undoes completed moves; changes by others cause a warning and stay."""
    from rackwise.adapters.files.plan.write import sealed
    from rackwise.adapters.kafka.applying.preflight import read_facts
    from rackwise.core.applying.partition_class import classify
    from rackwise.core.applying.reverse import reverse_plan

    facts, sent = read_facts(session.world, session.plan), journalled_requests(session)
    done = set()
    for move in session.plan.moves:
        which = (move.topic, move.partition)
        class_ = classify(move, facts.partitions.get(which), sent.get(which, "none"))
        if class_ == "done":
            done.add(which)
        elif class_ not in {"not_started", "cancelled_externally"}:
            shell.warn(f"left as it is, {name_of(which)}: {class_}")
    return sealed(reverse_plan(session.plan, done))


def _print_cost(shell: Shell, back: Plan) -> None:
    from rackwise.report.formats import sizes_text

    totals = back.totals
    shell.note(
        f"rollback: {counted(len(back.moves), 'partition')}, "
        f"{counted(totals.moves, 'replica')} to copy: "
        f"{sizes_text(totals.bytes, totals.unknown_sizes)}"
    )


def _note_hint(shell: Shell, error: RackwiseError) -> None:
    """Print the hint of an error that is reported as the end of an outcome."""
    if error.hint is not None:
        shell.note(f"hint: {escaped(error.hint)}")


def _undo(shell: Shell, session: ApplySession, command: RollbackCommand) -> int:
    """Execute the reverse of what is done, print the outcome, and return the exit code."""
    unfinished = open_rollback(shell, session)
    if unfinished is not None:
        first = _execute(shell, unfinished, command)
        return _go_on(shell, session, first, command).show(shell, command.target)
    back = _reverse(shell, session)
    _print_cost(shell, back)
    if not back.moves:
        show_nothing(shell, session, "0 moves: nothing to undo", mode="apply")
        return 0
    return _begin(shell, session, back, command).show(shell, command.target)


def _go_on(
    shell: Shell, session: ApplySession, first: ExecutedRollback, command: RollbackCommand
) -> ExecutedRollback:
    """After a rollback that was open, undo what later runs did; a budget leaves that for later.

    An error before the first write of the second reverse plan ends both: the first one has written.
    """
    if first.code:
        return first
    try:
        back = _reverse(shell, session)
    except RackwiseError as error:
        _note_hint(shell, error)
        return first.ended_by(error)
    if not back.moves:
        return first
    if command.has_limits:
        left = f"{counted(len(back.moves), 'move')} of later runs"
        text = f"it covers one rollback; {left} {are(len(back.moves))} left to undo"
        return first.with_left(back, "budget", text, command.text)
    _print_cost(shell, back)
    try:
        second = _begin(shell, session, back, command)
    except PartialFailure:
        first.show(shell, command.target)
        raise
    except RackwiseError as error:
        _note_hint(shell, error)
        return first.with_left(back, "fatal", error.message, None)
    return first.and_then(second)


def _begin(
    shell: Shell, session: ApplySession, back: Plan, command: RollbackCommand
) -> ExecutedRollback:
    """Keep a reverse plan beside the journal, so that it can be continued, and run it."""
    from rackwise.adapters.files.plan.write import write_plan

    write_plan(back, _reverse_path(session))
    return _execute(shell, session.with_plan(back), command)


def _execute(shell: Shell, session: ApplySession, command: RollbackCommand) -> ExecutedRollback:
    """Run a reverse plan within the budget."""
    options = command.options
    if session.lock is not None:
        session.lock.write(executes=session.plan.sha256)
    try:
        limits = budget_of(session, command.budget, command.start, opening=command.opening)
        found = run_preflight(shell, session, options, limits)
        print_budget(shell, session, limits)
        state = initial_state(
            session, options.caps, rate=options.rate, dropped=found.dropped, budget=limits
        )
        outcome, code = run(shell, session, state, label="rollback")
        again = next_command(
            session, outcome, command.target, "rollback", options, command.budget, limits
        )
    finally:
        session.journal.close()
    return ExecutedRollback(session=session, outcome=outcome, code=code, again=again)
