"""`rackwise status`: the state of every move of a plan; reads only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.apply.budget import BudgetOptions
from rackwise.cli.apply.meter import progress_text
from rackwise.cli.apply.options import Target
from rackwise.cli.apply.rollback import current_rollback
from rackwise.cli.apply.run import ApplySession, open_session
from rackwise.cli.apply.text import (
    class_lines,
    classes_text,
    key_text,
    name_of,
    partition_rows,
    rate_text,
)
from rackwise.cli.apply.window import WindowOptions, next_limits
from rackwise.cli.shell import Shell
from rackwise.core.applying.budget import Budget
from rackwise.core.applying.throttle_configs import bytes_per_s
from rackwise.core.errors import InvalidPlan
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.adapters.files.state_folder import LockHolder
    from rackwise.cli.apply.documents import OtherRunDocument, StatusDocument
    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.model import ObservedPartition, ThrottleKey
    from rackwise.core.applying.status import Status
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move

WATCHED_S = 2.0
"""Time for which running moves are observed to measure their rate."""
SHOWN = 5
"""Moves of one kind that are shown one by one; `--all` shows all."""
KINDS: tuple[Literal["broker", "topic"], ...] = ("broker", "topic")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStatus:
    """The state of a plan."""

    status: Status
    seen: Mapping[PartitionId, ObservedPartition]
    """Partitions that are reassigning."""
    holder: LockHolder | None
    """Process that runs the plan."""
    other: LockHolder | None
    """Process that runs another plan on the cluster."""
    plans: tuple[str, ...]
    """SHA-256 of the plan; and of its rollback, if that is open and described here."""
    is_open: bool
    """Whether the last run did not reach its end; without a holder it was interrupted."""
    has_journal: bool
    """Whether the plan has a journal here."""
    was_cancelled: bool
    """Whether the last run cancelled moves."""
    is_budget_spent: bool
    """Whether the last run ended because its budget was spent."""
    budget: Budget
    """Budget of the last run that moved partitions, without a limit if that was killed: `resume`
    then takes its budget from the journal."""

    @property
    def is_rollback(self) -> bool:
        """Whether this describes the open rollback of the plan."""
        return len(self.plans) > 1

    @property
    def has_work(self) -> bool:
        """Whether moves or throttles are left."""
        return self.is_rollback or not self.status.is_done or bool(self.status.throttles)


@with_option_groups()
def status(
    context: typer.Context,
    target: Target,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show every move and every throttle, not only the first.")
    ] = False,
) -> int:
    """Show how many moves of a plan are done, moving, not started, or changed by others.

    Running moves are observed for two seconds to compute the time left. Without a journal, every
    running move counts as a move of another tool. While a rollback of the plan is not complete, its
    moves are shown instead. Reads only. Exit codes: 0 all done, 2 moves or throttles are left, 1
    error.
    """
    shell: Shell = context.obj
    with open_session(shell, target) as opened:
        session = _described(shell, opened)
        found = _plan_status(session, opened.plan.sha256)
        if shell.is_json:
            shell.document(_document(session, target, found))
        else:
            shell.text(_text(session, found, name=shell.cluster_name, show_all=show_all))
            _print_next_command(shell, session, target, found)
    return 2 if found.has_work else 0


def _described(shell: Shell, session: ApplySession) -> ApplySession:
    """The session of the rollback that is open, else that of the plan."""
    try:
        return current_rollback(shell, session) or session
    except InvalidPlan as error:
        shell.warn(escaped(error.message))
        return session


def _plan_status(session: ApplySession, plan: str) -> PlanStatus:
    """The state of a plan, or of its rollback, from its journal and the cluster.

    `plan`: the SHA-256 of the plan itself.
    """
    from rackwise.adapters.files.state_folder import LockHolder, holder
    from rackwise.core.applying.start import history_of
    from rackwise.core.applying.status import status_of

    which = [(move.topic, move.partition) for move in session.plan.moves]
    lines_before = session.lines_now()
    look, earlier = session.world.look(which), None
    throttles: dict[ThrottleKey, str] = {}
    if any(seen.is_reassigning for seen in look.partitions.values()):
        throttles = _rates(session, look)
        time.sleep(WATCHED_S)
        lines_before = session.lines_now()
        look, earlier = session.world.look(which), look
    running = holder(session.folder)
    plans = tuple(dict.fromkeys((plan, session.plan.sha256)))
    ours = running if running is not None and running.runs(*plans) else None
    lines = session.lines_now()
    history = history_of(lines)
    is_open = not history.is_closed
    return PlanStatus(
        status=status_of(
            session.plan,
            lines,
            look,
            earlier=earlier,
            lines_before=lines_before,
            is_running=ours is not None,
            throttles=throttles,
        ),
        seen={key: seen for key, seen in look.partitions.items() if seen.is_reassigning},
        holder=ours if is_open or ours != LockHolder() else None,
        other=running if ours is None else None,
        plans=plans,
        is_open=is_open,
        has_journal=bool(lines),
        was_cancelled=history.was_cancelled,
        is_budget_spent=history.end is not None and history.end.stop == "budget",
        budget=Budget() if history.open_run and len(plans) == 1 else history.budget,
    )


def _rates(session: ApplySession, look: Looked) -> dict[ThrottleKey, str]:
    """The rates that the brokers have; empty without permission to read them."""
    from rackwise.core.applying.actions import ReadThrottles, ThrottlesRead
    from rackwise.core.applying.model import ThrottleKey

    read = session.world.answer(ReadThrottles(brokers=tuple(sorted(look.live)), topics=()))
    if not isinstance(read, ThrottlesRead):
        return {}
    return {
        ThrottleKey("broker", str(broker), key): value
        for broker, keys in read.brokers.items()
        for key, value in keys.items()
    }


def _text(session: ApplySession, found: PlanStatus, *, name: str | None, show_all: bool) -> str:
    """The counts, then the first moves of each kind; with `show_all` every move and throttle.

    `name`: that of the cluster in the fleet file, which stands above them.
    """
    from rackwise.cli.tables import cluster_title

    status = found.status
    classes = classes_text(status.classes.values())
    lines = [] if name is None else [cluster_title(session.plan.cluster_id, name)]
    lines += [f"rollback: {classes}" if found.is_rollback else classes, progress_text(status)]
    if found.holder is not None:
        lines.append(_process_text(found.holder, found))
    elif found.is_budget_spent and found.is_open:
        lines.append("no process is running it: the last run has used its budget")
    elif found.is_open:
        lines.append("no process is running it: the last run did not reach its end")
    if found.other is not None:
        lines.append(_process_text(found.other, found))
    most = None if show_all else SHOWN
    lines += _first(_moving_lines(session, found), "moving", most)
    shown = {key: each for key, each in status.classes.items() if each != "moving"}
    if show_all:
        lines += class_lines(shown, {}, {}, most_not_started=None)
    else:
        changed = {key: each for key, each in shown.items() if each != "not_started"}
        lines += _first(class_lines(changed, {}, {}), "changed by others", most)
    lines += _first(
        [f"? {name_of(each)}  leader not elected: {why}" for each, why in _not_elected(status)],
        "leaders not elected",
        most,
    )
    lines += _throttle_lines(status, show_all=show_all)
    return "\n".join(lines)


def _process_text(running: LockHolder, found: PlanStatus) -> str:
    """`process 412 has been executing this plan since 2026-11-22T15:24:23Z`."""
    return f"process {running.process} has been {running.does(*found.plans)} since {running.began}"


def _first(lines: list[str], what: str, most: int | None) -> list[str]:
    """The first lines, and how many there are beside them."""
    if most is None or len(lines) <= most:
        return lines
    return [*lines[:most], f"and {len(lines) - most} more {what}; --all shows them"]


def _not_elected(status: Status) -> list[tuple[PartitionId, str]]:
    return [(which, f"broker {down} is down") for which, down in status.leaders_down.items()]


def _throttle_lines(status: Status, *, show_all: bool) -> list[str]:
    """`throttle  50,000,000 bytes/s at 4 brokers, 2 topics`, or a line for each key."""
    if show_all:
        return [
            f"throttle  {key_text(key)}  {escaped(entry.ours[-1])}"
            for key, entry in sorted(status.throttles.items())
        ]
    rates = {entry.ours[-1] for key, entry in status.throttles.items() if key.kind == "broker"}
    if not status.throttles:
        return []
    names = {kind: {key.name for key in status.throttles if key.kind == kind} for kind in KINDS}
    numbers = sorted(map(bytes_per_s, rates))
    texts = dict.fromkeys(map(rate_text, (numbers[0], numbers[-1]))) if numbers else {}
    parts = [counted(len(names[kind]), kind) for kind in KINDS if names[kind]]
    return [f"throttle  {' to '.join(texts) or 'no rate'} at {', '.join(parts)}"]


def _moving_lines(session: ApplySession, found: PlanStatus) -> list[str]:
    """`~ orders-4  moving  1,2,4 -> 1,3,4  2.10 GiB of 12.4 GiB copied` for each running move."""
    from rackwise.cli.tables import aligned_lines, ids

    moves = {(move.topic, move.partition): move for move in session.plan.moves}
    rows = [
        (
            name_of(key),
            class_,
            f"{ids(moves[key].before)} -> {ids(moves[key].after)}",
            _copied(moves[key], found.seen.get(key)),
        )
        for key, class_ in found.status.classes.items()
        if class_ == "moving"
    ]
    return aligned_lines(rows, mark="~ ")


def _copied(move: Move, seen: ObservedPartition | None) -> str:
    """`2.10 GiB of 12.4 GiB copied`; empty where the sizes are unknown."""
    from rackwise.report.formats import bytes_text

    if move.bytes is None or seen is None or not move.added:
        return ""
    sizes = [
        min(move.bytes, seen.adding_bytes.get(broker, 0)) if broker in seen.adding else move.bytes
        for broker in move.added
    ]
    whole = move.bytes * len(move.added)
    return f"{bytes_text(sum(sizes))} of {bytes_text(whole)} copied"


def _next_command(session: ApplySession, target: Target, found: PlanStatus) -> str | None:
    """The command that continues within the limits of the last run; None: there is none.

    None also while a process runs the plan.
    """
    if found.holder is not None or not found.is_open:
        return None
    if found.was_cancelled and not found.is_rollback:
        return target.command("cancel")
    left = [
        move
        for move in session.plan.moves
        if found.status.classes[move.topic, move.partition] == "not_started"
    ]
    limits = next_limits(BudgetOptions(), found.budget, left)
    return target.command("rollback" if found.is_rollback else "resume", *limits)


def _print_next_command(
    shell: Shell, session: ApplySession, target: Target, found: PlanStatus
) -> None:
    """Print the command that continues the plan, unless a process is running it."""
    onward = _next_command(session, target, found)
    if onward is None:
        return
    if found.was_cancelled and not found.is_rollback:
        onward = f"{onward} or {target.command('rollback')}"
    elif found.budget.is_limited:
        verb = "rollback" if found.is_rollback else "resume"
        rest = target.command(verb, WindowOptions(window=found.budget.window))
        onward = onward if rest == onward else f"{onward}; all the rest: {rest}"
    shell.warn(f"to continue: {onward}")
    if found.status.throttles:
        left = counted(len(found.status.throttles), "throttle")
        verbs = "resume and cancel restore"
        if found.is_rollback:
            verbs = "rollback restores"
        elif found.was_cancelled:
            verbs = "cancel and rollback restore"
        shell.warn(f"{left} of that run left: {verbs} them")


def _document(session: ApplySession, target: Target, found: PlanStatus) -> StatusDocument:
    from rackwise.cli.apply.documents import StatusDocument

    status = found.status
    holder = found.holder
    return StatusDocument(
        plan=found.plans[0],
        rollback=found.plans[1] if found.is_rollback else None,
        cluster_id=session.plan.cluster_id,
        moves=len(status.classes),
        counts={str(class_): number for class_, number in status.counts.items()},
        partitions=partition_rows(status.classes, {}, {}),
        bytes=status.bytes,
        bytes_left=status.left.total,
        bytes_per_s=status.bytes_per_s,
        unknown_sizes=status.left.unknown,
        eta_s=status.eta.seconds,
        bound_by=status.eta.bound_by,
        throttles=tuple(sorted(status.throttles)),
        not_elected_because={name_of(each): why for each, why in _not_elected(status)},
        has_journal=found.has_journal,
        is_open=found.is_open,
        is_budget_spent=found.is_budget_spent,
        next_command=_next_command(session, target, found),
        pid=None if holder is None else holder.pid or "unknown",
        since=None if holder is None else holder.since or "unknown",
        command=None if holder is None else holder.command,
        other=_other_run(found.other),
    )


def _other_run(running: LockHolder | None) -> OtherRunDocument | None:
    from rackwise.cli.apply.documents import OtherRunDocument

    if running is None:
        return None
    return OtherRunDocument(
        pid=running.pid,
        since=running.since,
        command=running.command,
        plan=running.plan,
        file=running.file,
    )
