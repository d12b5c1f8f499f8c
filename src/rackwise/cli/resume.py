"""`rackwise resume`: go on with a plan whose run was killed, interrupted or stopped."""

from __future__ import annotations

import typer

from rackwise.cli.applied import (
    Target,
    at_site,
    check_begun,
    cleared,
    run,
    show,
    state_of,
)
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


def resume(
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
) -> int:
    """Go on where the journal and the cluster say that a plan stands.

    Without --throttle the last run's holds. What others have changed meanwhile is told and left.
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
        check_begun(site, target)
        found = cleared(shell, site, wishes)
        state = state_of(site, wishes.caps, rate=wishes.rate, dropped=found.dropped)
        outcome, code = run(shell, site, state, label="resume")
        show(shell, site, outcome, target)
    return code
