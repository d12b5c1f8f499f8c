"""`rackwise apply`: carry a plan out, journalled, throttled, and never more than the plan."""

from __future__ import annotations

from typing import Annotated

import typer

from rackwise.cli.applied import Target, at_site, cleared, is_over, run, show, state_of
from rackwise.cli.apply_options import (
    AllowPartial,
    Alongside,
    AtOnce,
    Bootstrap,
    BytesInFlight,
    Down,
    First,
    NoElect,
    PerBroker,
    PlanFile,
    Stall,
    Throttle,
    ThrottleOver,
    wishes_of,
)
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig
from rackwise.core.text import counted

CHECKED = "rackwise.checked/1"


def apply(
    context: typer.Context,
    plan: PlanFile,
    bootstrap_server: Bootstrap,
    client_config: ClientConfig = None,
    throttle: Throttle = None,
    throttle_over: ThrottleOver = "keep",
    at_once: AtOnce = 200,
    per_broker: PerBroker = 5,
    bytes_in_flight: BytesInFlight = None,
    first: First = None,
    alongside: Alongside = False,
    allow_partial: AllowPartial = False,
    no_elect: NoElect = False,
    stall: Stall = 600,
    down: Down = 60,
    check: Annotated[
        bool, typer.Option("--check", help="Say whether it may run; write nothing.")
    ] = False,
) -> int:
    """Carry a plan out on its cluster. Killed, it is gone on with by rackwise resume.

    Exit: 0 done, 1 error, 3 stopped half-way, 4 refused before the first write.
    """
    shell: Shell = context.obj
    wishes = wishes_of(
        throttle=throttle,
        throttle_over=throttle_over,
        at_once=at_once,
        per_broker=per_broker,
        bytes_in_flight=bytes_in_flight,
        first=first,
        alongside=alongside,
        allow_partial=allow_partial,
        no_elect=no_elect,
        stall=stall,
        down=down,
    )
    target = Target(path=plan, bootstrap=bootstrap_server, client_config=client_config)
    with at_site(shell, target) as site:
        found = cleared(shell, site, wishes)
        is_done = found.is_done and is_over(site)
        if check or is_done:
            _show_check(shell, len(site.plan.moves), len(found.dropped), is_done=is_done)
            return 0
        state = state_of(site, wishes.caps, rate=wishes.rate, dropped=found.dropped)
        outcome, code = run(shell, site, state, label="apply")
        show(shell, site, outcome, target)
    return code


def _show_check(shell: Shell, moves: int, dropped: int, *, is_done: bool) -> None:
    if shell.is_json:
        shell.document({"format": CHECKED, "moves": moves, "dropped": dropped, "is_done": is_done})
        return
    left = f", {dropped} left out" if dropped else ""
    what = "nothing to do" if is_done else "may run"
    shell.text(f"{counted(moves, 'move')}{left}: {what}")
