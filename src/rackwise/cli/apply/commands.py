"""`rackwise apply`: carry a plan out, journalled, throttled, and never more than the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.apply.options import carries_out
from rackwise.cli.apply.run import at_site, cleared, is_over, run, show, show_check, state_of

if TYPE_CHECKING:
    import typer

    from rackwise.cli.apply.options import Target, Wishes
    from rackwise.cli.shell import Shell


@carries_out()
def apply(context: typer.Context, target: Target, wishes: Wishes) -> int:
    """Carry a plan out on its cluster. Killed, it is gone on with by rackwise resume.

    Exit: 0 done, 1 error, 3 stopped half-way, 4 refused before the first write.
    """
    shell: Shell = context.obj
    with at_site(shell, target) as site:
        found = cleared(shell, site, wishes)
        is_done = found.is_done and is_over(site)
        if wishes.is_check or is_done:
            show_check(shell, len(site.plan.moves), len(found.dropped), is_done=is_done)
            return 0
        state = state_of(site, wishes.caps, rate=wishes.rate, dropped=found.dropped)
        outcome, code = run(shell, site, state, label="apply")
        show(shell, site, outcome, target)
    return code
