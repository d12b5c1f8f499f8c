"""`rackwise resume`: continue a plan whose run was killed, interrupted or stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.apply.budget import BudgetOptions, CommandStart
from rackwise.cli.apply.options import ApplyOptions, Target
from rackwise.cli.apply.preflight import run_preflight, show_check
from rackwise.cli.apply.run import (
    budget_of,
    has_ended,
    initial_state,
    next_command,
    open_session,
    print_budget,
    require_journal,
    run,
    show,
)
from rackwise.cli.apply.window import WindowOptions
from rackwise.core.errors import NothingToResume

if TYPE_CHECKING:
    from rackwise.cli.apply.run import ApplySession
    from rackwise.cli.shell import Shell


@with_option_groups(without=("check",))
def resume(
    context: typer.Context,
    target: Target,
    options: ApplyOptions,
    budget: BudgetOptions,
    window: WindowOptions,
) -> int:
    """Continue a plan from its journal and the state of the cluster.

    Without --throttle, the throttle of the last run is kept. Without --next, --most-bytes, --until
    and --for, a run that was killed is continued within its own limits, and without --window in its
    own window. Outside the window, a run starts no move, and lets those in progress end. Changes by
    others are reported and not undone. A plan that was cancelled, rolled back or completed is not
    started again; use rackwise apply for that. Exit codes: 0 done, 1 error, 3 moves are left, 4
    rejected before the first write.
    """
    shell: Shell = context.obj
    from rackwise.core.applying.start import history_of

    start = CommandStart.read()
    with open_session(shell, target, command="resume") as session:
        require_journal(session, target)
        history = history_of(session.lines)
        if history.was_cancelled:
            raise _nothing(session, target, "undid it (rackwise cancel or rollback)")
        opening = window.inheriting(history.open_run).opening(start.now)
        limits = budget_of(session, budget, start, inherits=True, opening=opening)
        found = run_preflight(shell, session, options, limits)
        if history.is_finished and has_ended(session):
            if not found.is_done:
                raise _nothing(
                    session, target, "completed it, and replica lists changed since; it ended"
                )
            show_check(shell, len(session.plan.moves), found, is_done=True)
            return 0
        print_budget(shell, session, limits)
        state = initial_state(
            session, options.caps, rate=options.rate, dropped=found.dropped, budget=limits
        )
        outcome, code = run(shell, session, state, label="resume")
        again = next_command(session, outcome, target, "resume", options, budget, limits)
        show(shell, session, outcome, target, again=again)
    return code


def _nothing(session: ApplySession, target: Target, had: str) -> NothingToResume:
    """The error where no run is left to resume; `had`: what the last run did."""
    return NothingToResume(
        f"nothing to resume: the last run of the plan {had} at {session.journal.entries[-1].at}",
        wanted="an interrupted run",
        had=had,
        hint=f"to execute it again: {target.command('apply')}; to undo the rest of it: "
        f"{target.command('rollback')}",
        where=str(session.journal.path),
    )
