"""`rackwise apply`: execute a plan with a journal and throttles, and nothing but the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.apply.budget import BudgetOptions
from rackwise.cli.apply.options import ApplyOptions, Target
from rackwise.cli.apply.run import (
    has_ended,
    initial_state,
    open_session,
    run,
    run_preflight,
    show,
    show_check,
    start_budget,
)

if TYPE_CHECKING:
    from rackwise.cli.shell import Shell


@with_option_groups()
def apply(
    context: typer.Context, target: Target, options: ApplyOptions, budget: BudgetOptions
) -> int:
    """Execute a plan on its cluster. If the run is killed, rackwise resume continues it.

    PLAN may also be Kafka's reassignment JSON, or the JSON of rackwise place for one or more
    topics: it is checked, journalled and throttled in the same way, but its proof is not ours.
    With --next, --most-bytes, --until or --for, a run starts only a part of the moves; the same
    command continues later. Exit codes: 0 done, 1 error, 3 moves are left, 4 rejected before the
    first write.
    """
    shell: Shell = context.obj
    with open_session(shell, target, command="apply", may_replan=True) as session:
        found = run_preflight(shell, session, options)
        is_done = found.is_done and has_ended(session)
        if options.check or is_done:
            show_check(shell, len(session.plan.moves), len(found.dropped), is_done=is_done)
            return 0
        limits = start_budget(shell, session, budget)
        state = initial_state(
            session, options.caps, rate=options.rate, dropped=found.dropped, budget=limits
        )
        outcome, code = run(shell, session, state, label="apply")
        again = target.command("apply", options, budget) if limits.is_limited else None
        show(shell, session, outcome, target, again=again)
    return code
