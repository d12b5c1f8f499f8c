"""`rackwise rollback`: everything that a plan has changed, back to what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.apply.options import carries_out
from rackwise.cli.apply.run import (
    Site,
    at_site,
    cleared,
    run,
    sent_of,
    show,
    show_nothing,
    state_of,
)
from rackwise.cli.apply.text import name_of
from rackwise.core.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    import typer

    from rackwise.cli.apply.options import Target, Wishes
    from rackwise.cli.shell import Shell
    from rackwise.core.planning.model import Plan


@carries_out(without=("first", "check"))
def rollback(context: typer.Context, target: Target, wishes: Wishes) -> int:
    """Cancel what goes on, then carry out the reverse of what is done, with a journal of its own.

    Killed, it is gone on with by the same command. Replicas that come back are copied whole.
    Exit: 0 all is as before the plan, 1 error, 3 stopped half-way, 4 refused before any write.
    """
    shell: Shell = context.obj
    with at_site(shell, target) as site:
        if site.journal.entries:
            state = state_of(site, wishes.caps, mode="cancel")
            outcome, code = run(shell, site, state, label="cancel")
            if code:
                show(shell, site, outcome, target, verb="rollback")
                return code
        begun = _begun(shell, site)
        if begun is not None:
            code = _carry_out(shell, begun, wishes, target)
            if code:
                return code
        back = _reverse(shell, site)
        _tell_cost(shell, back)
        if not back.moves:
            show_nothing(shell, site, "0 moves: nothing to undo", mode="apply")
            return 0
        from rackwise.adapters.files.plan.write import write_plan

        write_plan(back, _reverse_path(site))
        return _carry_out(shell, site.beside(back), wishes, target)


def _reverse_path(site: Site) -> Path:
    return site.folder / f"{site.plan.sha256}.rollback.json"


def _begun(shell: Shell, site: Site) -> Site | None:
    """The way back that an earlier rollback took and did not end; None where there is none."""
    from rackwise.adapters.files.plan.read import read_plan
    from rackwise.cli.apply.run import is_over

    path = _reverse_path(site)
    if not path.exists():
        return None
    begun = site.beside(read_plan(path, max_bytes=shell.max_input))
    if is_over(begun):
        begun.journal.close()
        return None
    return begun


def _reverse(shell: Shell, site: Site) -> Plan:
    """The plan that undoes what is done now; what others have changed is told and left."""
    from rackwise.adapters.files.plan.write import sealed
    from rackwise.adapters.kafka.applying.preflight import read_facts
    from rackwise.core.applying.partition_class import classify
    from rackwise.core.applying.reverse import reversed_plan

    facts, sent = read_facts(site.world, site.plan), sent_of(site)
    done = set()
    for move in site.plan.moves:
        which = (move.topic, move.partition)
        class_ = classify(move, facts.partitions.get(which), sent.get(which, "none"))
        if class_ == "done":
            done.add(which)
        elif class_ not in {"not_started", "cancelled_externally"}:
            shell.warn(f"left as it is, {name_of(which)}: {class_}")
    return sealed(reversed_plan(site.plan, done))


def _tell_cost(shell: Shell, back: Plan) -> None:
    from rackwise.report.formats import bytes_text

    totals = back.totals
    unknown = f", {totals.unknown_sizes} of unknown size" if totals.unknown_sizes else ""
    shell.note(
        f"the way back: {counted(len(back.moves), 'partition')}, "
        f"{counted(totals.moves, 'replica')} to copy, {bytes_text(totals.bytes)}{unknown}"
    )


def _carry_out(shell: Shell, site: Site, wishes: Wishes, target: Target) -> int:
    try:
        found = cleared(shell, site, wishes)
        state = state_of(site, wishes.caps, rate=wishes.rate, dropped=found.dropped)
        outcome, code = run(shell, site, state, label="rollback")
        show(shell, site, outcome, target, verb="rollback")
    finally:
        site.journal.close()
    return code
