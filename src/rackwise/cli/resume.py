"""`rackwise resume`: go on with a plan whose run was killed, interrupted or stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.applied import at_site, check_begun, cleared, run, show, state_of
from rackwise.cli.apply_options import carries_out

if TYPE_CHECKING:
    import typer

    from rackwise.cli.apply_options import Target, Wishes
    from rackwise.cli.shell import Shell


@carries_out(without=("check",))
def resume(context: typer.Context, target: Target, wishes: Wishes) -> int:
    """Go on where the journal and the cluster say that a plan stands.

    Without --throttle the last run's holds. What others have changed meanwhile is told and left.
    Exit: 0 done, 1 error, 3 stopped half-way, 4 refused before the first write.
    """
    shell: Shell = context.obj
    with at_site(shell, target) as site:
        check_begun(site, target)
        found = cleared(shell, site, wishes)
        state = state_of(site, wishes.caps, rate=wishes.rate, dropped=found.dropped)
        outcome, code = run(shell, site, state, label="resume")
        show(shell, site, outcome, target)
    return code
