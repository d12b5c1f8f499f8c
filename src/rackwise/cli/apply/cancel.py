"""`rackwise cancel`: undo the moves of a plan that are running; completed moves stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.apply.options import Target
from rackwise.cli.apply.run import (
    has_ended,
    initial_state,
    open_session,
    require_journal,
    run,
    show,
    show_nothing,
)
from rackwise.cli.shell import Shell
from rackwise.core.text import counted

if TYPE_CHECKING:
    from rackwise.cli.apply.run import ApplySession


@with_option_groups()
def cancel(
    context: typer.Context,
    target: Target,
    stall: Annotated[
        int,
        typer.Option(metavar="S", min=1, help="Stop if the cluster cannot be read for S seconds."),
    ] = 600,
) -> int:
    """Cancel the running moves of a plan, and clear its throttles.

    A move is cancelled only if one of its old replicas is live and in sync.
    Exit codes: 0 nothing moves any more, 1 error, 3 some moves or throttles are left.
    """
    shell: Shell = context.obj
    from rackwise.core.applying.model import Caps

    with open_session(shell, target, command="cancel") as session:
        require_journal(session, target)
        if has_ended(session) and not _moves(session):
            moves = counted(len(session.plan.moves), "move")
            show_nothing(
                shell, session, f"{moves}: none is running, nothing to cancel", mode="cancel"
            )
            return 0
        state = initial_state(session, Caps(stall_ms=stall * 1000), mode="cancel")
        outcome, code = run(shell, session, state, label="cancel")
        show(shell, session, outcome, target, verb="cancel")
    return code


def _moves(session: ApplySession) -> bool:
    """Whether a partition of the plan is being reassigned, by this tool or another."""
    look = session.world.look([(move.topic, move.partition) for move in session.plan.moves])
    return any(seen.is_reassigning for seen in look.partitions.values())
