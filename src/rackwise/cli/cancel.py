"""`rackwise cancel`: take back what a plan has under way; what it has done stays."""

from __future__ import annotations

import typer

from rackwise.cli.applied import at_site, check_begun, run, show, state_of
from rackwise.cli.apply_options import Bootstrap, PlanFile, Stall, Target
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig


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
    from rackwise.core.applying.values import Caps

    target = Target(path=plan, bootstrap=bootstrap_server, client_config=client_config)
    with at_site(shell, target) as site:
        check_begun(site, target)
        state = state_of(site, Caps(stall_ms=stall * 1000), mode="cancel")
        outcome, code = run(shell, site, state, label="cancel")
        show(shell, site, outcome, target, verb="cancel")
    return code
