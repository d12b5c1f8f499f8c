"""`rackwise throttle`: another throttle for the moves of a plan that are running.

```
a process runs the plan     ask it, by a file beside its journal, and wait for its answer there
a process runs another      refuse, and name that plan
no process, moves run       set the throttle here, and leave the moves alone
nothing moves               nothing to do
```

A rollback executes another plan, the reverse one, which has its own journal. The text of the
cluster's lock names it; if a rollback was killed, the state folder has it.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.apply.options import Target, parse_bytes
from rackwise.cli.apply.rollback import current_rollback
from rackwise.cli.apply.run import (
    ApplySession,
    has_ended,
    initial_state,
    open_session,
    run,
)
from rackwise.cli.apply.text import rate_text
from rackwise.cli.shell import Shell
from rackwise.cli.usage.stopping import STOPPED
from rackwise.core.errors import InvalidPlan, Locked, WorldError
from rackwise.core.json.strict import parse
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwise.adapters.files.state_folder import LockHolder
    from rackwise.core.applying.model import Entry, Outcome, ThrottleKey

PATIENCE_S = 60
"""How long a running process may take to set the throttle."""
BETWEEN_S = 0.1


@with_option_groups()
def throttle(
    context: typer.Context,
    target: Target,
    rate: Annotated[
        str,
        typer.Argument(metavar="RATE", help="Limit copying to this rate per second and broker."),
    ],
) -> int:
    """Change the throttle of the running moves of a plan, such as: throttle plan.json 80MB.

    A process that executes, cancels or rolls back the plan takes the rate and keeps it; so do
    rackwise resume and rollback. Rates that an operator has set are kept. The values from before
    the run are restored at its end. Exit codes: 0 set or nothing to do, 1 error, 3 not set on all
    brokers, 4 a process runs another plan on this cluster.
    """
    shell: Shell = context.obj
    wanted = parse_bytes("RATE", rate) or 0
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with open_session(shell, target, command="throttle") as session:
                rollback = current_rollback(shell, session)
                if rollback is None:
                    return _set_here(shell, session, wanted)
                with closing(rollback.journal):
                    return _set_here(shell, rollback, wanted)
        except Locked:
            with open_session(shell, target) as session:
                asked = _ask(session, wanted, deadline)
                if asked is not None:
                    running, error = asked
                    if error is not None:
                        return _not_set(shell, f" by process {running.process}: {error}")
                    _show(shell, session, wanted, running)
                    return 0


def _set_here(shell: Shell, session: ApplySession, rate: int) -> int:
    """Set the throttle of moves that no process watches."""
    from rackwise.core.applying.model import Caps
    from rackwise.core.applying.status import status_of

    if session.lock is not None:
        session.lock.write(executes=session.plan.sha256)
    look = session.world.look([(move.topic, move.partition) for move in session.plan.moves])
    status = status_of(session.plan, session.lines, look)
    if has_ended(session) or "moving" not in status.classes.values():
        _show(shell, session, None, None)
        return 0
    state = initial_state(session, Caps(), rate=rate, mode="throttle")
    outcome, _ = run(shell, session, state, label="throttle")
    if not outcome.is_reached:
        why = "" if outcome.text is None else f": {outcome.text}"
        return _not_set(shell, f", {outcome.stop}{why}")
    _show(shell, session, rate if holds(outcome) else None, None)
    return 0


def _not_set(shell: Shell, why: str) -> int:
    shell.warn(f"the throttle is not set on all brokers{escaped(why)}")
    return STOPPED


def holds(outcome: Outcome) -> bool:
    """Whether the rate holds after a run that set it: else all moves ended before it was set."""
    return outcome.has_written or "moving" in outcome.classes.values()


def _ask(session: ApplySession, rate: int, deadline: float) -> tuple[LockHolder, str | None] | None:
    """Ask the process that runs the plan; that process once it has answered, None if it ended.

    With the process, why it could not set the throttle; None: it is set. Also None where it
    continues in another journal, as a rollback does after its cancel. Raises `Locked` for a process
    that runs another plan, `WorldError` where there is no answer in time.
    """
    from rackwise.adapters.files.journal import journal_path
    from rackwise.adapters.files.state_folder import holder, lock_error
    from rackwise.adapters.files.throttle_request import (
        request_path,
        withdraw_request,
        write_request,
    )

    folder, plan = session.folder, session.plan.sha256
    running = holder(folder)
    if running is None:
        return None
    if not running.runs(plan):
        raise lock_error(folder, running, plan)
    journal = journal_path(folder, running.executes or plan)
    path = request_path(journal)
    written = journal.stat().st_size if journal.exists() else 0
    asked = write_request(path, rate, lasts_ms=PATIENCE_S * 1_000)
    try:
        while True:
            now = holder(folder)
            answer = _answer(journal, written, asked.request)
            if answer is not None:
                return running, answer.get("error")
            if now != running:
                return None
            if time.monotonic() > deadline:
                raise _unanswered(running, plan)
            time.sleep(BETWEEN_S)
    finally:
        withdraw_request(path, asked)


def _answer(journal: Path, written: int, request: str) -> Mapping[str, Any] | None:
    """The line of the journal after so many bytes that answers a request; None: there is none.

    It says that the rate is set, or has an error.
    """
    if not journal.exists():
        return None
    with journal.open("rb") as stream:
        stream.seek(written)
        *lines, _ = stream.read().split(b"\n")
    for line in lines:
        if f'"request":"{request}"'.encode() in line:
            fields: Any = parse(line, where=str(journal), error=InvalidPlan)
            if fields["is_set"] or "error" in fields:
                return dict(fields)
    return None


def _unanswered(running: LockHolder, plan: str) -> WorldError:
    return WorldError(
        f"expected process {running.process}, which has been {running.does(plan)} since "
        f"{running.began}, to set the throttle in {PATIENCE_S} seconds, got no answer in its "
        "journal",
        wanted="an answer",
        had=None,
        hint="the process cannot reach the brokers, or is about to end; run the same command again",
    )


def _show(shell: Shell, session: ApplySession, rate: int | None, asked: LockHolder | None) -> None:
    """Print the rate that is set; `asked`: the process that has set it, None: this one."""
    pid = None if asked is None else asked.pid or "unknown"
    executes = session.plan.sha256 if asked is None else asked.executes or session.plan.sha256
    kept = {} if rate is None else _kept(session, rate, _ledger(session, executes))
    if shell.is_json:
        from rackwise.cli.apply.documents import ThrottleChangeDocument

        shell.document(
            ThrottleChangeDocument(plan=session.plan.sha256, rate=rate, pid=pid, kept=kept)
        )
        return
    if rate is None:
        shell.text("no move of the plan is running: nothing to throttle")
        return
    by = "" if pid is None else f", set by process {escaped(pid)}"
    shell.text(f"throttle: {rate_text(rate)} at each broker{by}")
    for broker, keys in kept.items():
        for key, value in keys.items():
            shell.text(f"broker {broker} {key}  {escaped(value)}  kept, another rate holds")


def _ledger(session: ApplySession, plan: str) -> Mapping[ThrottleKey, Entry]:
    """The throttles of this tool in the journal of a plan as it is now."""
    from rackwise.adapters.files.journal import open_journal
    from rackwise.cli.apply.journal_lines import read_lines
    from rackwise.core.applying.start import history_of

    with closing(open_journal(session.folder, plan)) as journal:
        return history_of(read_lines(journal)).ledger


def _kept(
    session: ApplySession, rate: int, ledger: Mapping[ThrottleKey, Entry]
) -> dict[str, dict[str, str]]:
    """Broker -> key -> another rate that holds at a broker of the plan, and that is not ours."""
    brokers = {each for move in session.plan.moves for each in (*move.before, *move.after)}
    kept: dict[str, dict[str, str]] = {}
    for key, value in sorted(session.world.all_throttles().items()):
        is_ours = value == str(rate) or (key in ledger and value in ledger[key].ours)
        if key.kind == "broker" and int(key.name) in brokers and not is_ours:
            kept.setdefault(key.name, {})[key.key] = value
    return kept
