"""`rackwise rollback`: restore everything that a plan has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.apply.options import ApplyOptions, Target
from rackwise.cli.apply.run import (
    ApplySession,
    initial_state,
    journalled_requests,
    open_session,
    run,
    run_preflight,
    show,
    show_nothing,
)
from rackwise.cli.apply.text import name_of
from rackwise.core.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.cli.shell import Shell
    from rackwise.core.planning.model import Plan


@with_option_groups(without=("check",))
def rollback(context: typer.Context, target: Target, options: ApplyOptions) -> int:
    """Cancel running moves, then execute the reverse of the completed ones, with its own journal.

    If the run is killed, the same command continues it. Replicas that move back are copied in full.
    Exit codes: 0 all is as before the plan, 1 error, 3 stopped half-way, 4 rejected before any
    write.
    """
    shell: Shell = context.obj
    with open_session(shell, target) as session:
        if session.journal.entries:
            state = initial_state(session, options.caps, mode="cancel")
            outcome, code = run(shell, session, state, label="cancel")
            if code:
                show(shell, session, outcome, target, verb="rollback")
                return code
        unfinished = _unfinished_rollback(shell, session)
        if unfinished is not None:
            code = _execute(shell, unfinished, options, target)
            if code:
                return code
        back = _reverse(shell, session)
        _print_cost(shell, back)
        if not back.moves:
            show_nothing(shell, session, "0 moves: nothing to undo", mode="apply")
            return 0
        from rackwise.adapters.files.plan.write import write_plan

        write_plan(back, _reverse_path(session))
        return _execute(shell, session.with_plan(back), options, target)


def _reverse_path(session: ApplySession) -> Path:
    return session.folder / f"{session.plan.sha256}.rollback.json"


def _unfinished_rollback(shell: Shell, session: ApplySession) -> ApplySession | None:
    """The session of an earlier rollback that did not end; None if there is no such rollback."""
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
    from rackwise.report.formats import bytes_text

    totals = back.totals
    unknown = f", {totals.unknown_sizes} of unknown size" if totals.unknown_sizes else ""
    shell.note(
        f"rollback: {counted(len(back.moves), 'partition')}, "
        f"{counted(totals.moves, 'replica')} to copy, {bytes_text(totals.bytes)}{unknown}"
    )


def _execute(shell: Shell, session: ApplySession, options: ApplyOptions, target: Target) -> int:
    try:
        found = run_preflight(shell, session, options)
        state = initial_state(session, options.caps, rate=options.rate, dropped=found.dropped)
        outcome, code = run(shell, session, state, label="rollback")
        show(shell, session, outcome, target, verb="rollback")
    finally:
        session.journal.close()
    return code
