"""`rackwise resume`: go on with a plan whose run was killed, interrupted or stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.apply.options import carries_out
from rackwise.cli.apply.run import (
    at_site,
    check_begun,
    cleared,
    is_over,
    run,
    show,
    show_check,
    state_of,
)
from rackwise.core.errors import NothingToResume

if TYPE_CHECKING:
    import typer

    from rackwise.cli.apply.options import Target, Wishes
    from rackwise.cli.apply.run import Site
    from rackwise.cli.shell import Shell


@carries_out(without=("check",))
def resume(context: typer.Context, target: Target, wishes: Wishes) -> int:
    """Go on where the journal and the cluster say that a plan stands.

    Without --throttle the last run's holds. What others have changed meanwhile is told and left.
    What was cancelled, rolled back or done is not begun again: that is rackwise apply.
    Exit: 0 done, 1 error, 3 stopped half-way, 4 refused before the first write.
    """
    shell: Shell = context.obj
    from rackwise.core.applying.start import history_of

    with at_site(shell, target) as site:
        check_begun(site, target)
        history = history_of(site.lines)
        if history.is_taken_back:
            raise _nothing(site, target, "undid it (rackwise cancel or rollback)")
        found = cleared(shell, site, wishes)
        if history.is_finished and is_over(site):
            if not found.is_done:
                raise _nothing(
                    site, target, "completed it, and replica lists changed since; it ended"
                )
            show_check(shell, len(site.plan.moves), len(found.dropped), is_done=True)
            return 0
        state = state_of(site, wishes.caps, rate=wishes.rate, dropped=found.dropped)
        outcome, code = run(shell, site, state, label="resume")
        show(shell, site, outcome, target)
    return code


def _nothing(site: Site, target: Target, had: str) -> NothingToResume:
    """What is raised where no run waits to be gone on with; `had`: what the last one did."""
    return NothingToResume(
        f"nothing to resume: the last run of the plan {had} at {site.journal.entries[-1].at}",
        wanted="an interrupted run",
        had=had,
        hint=f"to execute it again: {target.command('apply')}; to undo the rest of it: "
        f"{target.command('rollback')}",
        where=str(site.journal.path),
    )
