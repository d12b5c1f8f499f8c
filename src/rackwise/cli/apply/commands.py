"""`rackwise apply`: execute a plan with a journal and throttles, and nothing but the plan."""

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
    run,
    show,
)
from rackwise.cli.apply.window import WindowOptions

if TYPE_CHECKING:
    from rackwise.cli.shell import Shell


@with_option_groups()
def apply(
    context: typer.Context,
    target: Target,
    options: ApplyOptions,
    budget: BudgetOptions,
    window: WindowOptions,
) -> int:
    """Execute a plan on its cluster. If the run is killed, rackwise resume continues it.

    PLAN may also be Kafka's reassignment JSON, or the JSON of rackwise place for one or more
    topics: it is checked, journalled and throttled in the same way, but its proof is not ours.
    With --next, --most-bytes, --until or --for, a run starts only a part of the moves; the same
    command continues later. Outside its --window nothing starts. Without --throttle there is no
    limit, except that of a killed run whose throttles are still set. Exit codes: 0 done, 1 error,
    3 moves are left, 4 rejected before the first write.
    """
    shell: Shell = context.obj
    start = CommandStart.read()
    opening = window.checked(shell, start.now, is_check=options.check)
    with open_session(shell, target, command="apply", may_replan=True) as session:
        limits = budget_of(session, budget, start, opening=opening)
        found = run_preflight(shell, session, options, limits, is_new=True)
        is_done = found.is_done and has_ended(session)
        if options.check or is_done:
            show_check(shell, len(session.plan.moves), found, is_done=is_done)
            return 0
        print_budget(shell, session, limits)
        state = initial_state(
            session,
            options.caps,
            rate=options.rate,
            dropped=found.dropped,
            budget=limits,
            is_new=True,
        )
        outcome, code = run(shell, session, state, label="apply")
        again = next_command(session, outcome, target, "apply", options, budget, limits)
        show(shell, session, outcome, target, again=again)
    return code
