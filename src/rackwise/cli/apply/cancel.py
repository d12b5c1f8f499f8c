"""`rackwise cancel`: take back what a plan has under way; what it has done stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rackwise.cli.apply.options import Bootstrap, PlanFile, Stall, Target
from rackwise.cli.apply.run import (
    at_site,
    check_begun,
    is_over,
    run,
    show,
    show_nothing,
    state_of,
)
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig
from rackwise.core.text import counted

if TYPE_CHECKING:
    from rackwise.cli.apply.run import Site


def cancel(
    context: typer.Context,
    plan: PlanFile,
    bootstrap_server: Bootstrap,
    client_config: ClientConfig = None,
    stall: Stall = 600,
) -> int:
    """Cancel the moves of a plan that go on and are ours, and take its throttles off.

    A move is taken back only where a replica that it had before is live and in sync.
    Exit: 0 nothing moves any more, 1 error, 3 some moves or throttles are left.
    """
    shell: Shell = context.obj
    from rackwise.core.applying.model import Caps

    target = Target(path=plan, bootstrap=bootstrap_server, client_config=client_config)
    with at_site(shell, target) as site:
        check_begun(site, target)
        if is_over(site) and not _moves(site):
            moves = counted(len(site.plan.moves), "move")
            show_nothing(shell, site, f"{moves}: none goes on, nothing to cancel", mode="cancel")
            return 0
        state = state_of(site, Caps(stall_ms=stall * 1000), mode="cancel")
        outcome, code = run(shell, site, state, label="cancel")
        show(shell, site, outcome, target, verb="cancel")
    return code


def _moves(site: Site) -> bool:
    """Whether a partition of the plan is being reassigned, by whomever."""
    look = site.world.look([(move.topic, move.partition) for move in site.plan.moves])
    return any(seen.is_reassigning for seen in look.partitions.values())
