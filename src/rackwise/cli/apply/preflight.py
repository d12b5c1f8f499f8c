"""The check before a plan runs: whether it may, and how much it copies, how long, and where.

```
$ rackwise apply plan.json --bootstrap-server kafka-1:9092 --throttle 50MB --check
200 moves: may run
bytes    9.50 TiB to copy
time     29 hours or more at 50,000,000 bytes/s (47.7 MiB/s) at each broker
busiest  broker 4: 1.20 TiB into it
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.cli.apply.run import journalled_requests
from rackwise.cli.apply.text import rate_text, span_text, throttle_text
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.cli.apply.documents import CheckedDocument
    from rackwise.cli.apply.options import ApplyOptions
    from rackwise.cli.apply.run import ApplySession
    from rackwise.cli.shell import Shell
    from rackwise.core.applying.budget import Budget, BudgetRoom
    from rackwise.core.applying.preflight import ClusterFacts
    from rackwise.core.applying.progress import Remaining
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move

LONGEST_S = 30 * 86_400
"""A longer run is probably a mistake in the throttle, so it causes a warning."""
WAYS = {"incoming": "into it", "outgoing": "out of it"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """A plan that may run, and what the run has to copy."""

    dropped: tuple[PartitionId, ...]
    """Stale moves that are left out."""
    is_done: bool
    """Whether nothing is left to do."""
    left: Remaining
    """The copies that the run may begin, and those in progress."""
    rate: int | None
    """Throttle in bytes per second and broker; None: no throttle."""


def run_preflight(
    shell: Shell,
    session: ApplySession,
    options: ApplyOptions,
    budget: Budget,
    *,
    is_new: bool = False,
) -> Preflight:
    """Check whether the plan may run now; warn about each move that is left out.

    `budget`: of the run that follows. `is_new`: see `initial_state`.
    """
    from rackwise.adapters.files import plan_policy
    from rackwise.adapters.kafka.applying.preflight import READINGS, read_facts
    from rackwise.core.applying.foreign import NOT_OURS, is_foreign
    from rackwise.core.applying.preflight import check_plan, moves_to_copy
    from rackwise.core.applying.start import history_of

    with shell.progress("reading the cluster", total=READINGS) as advance:
        facts = read_facts(session.world, session.plan, progress=advance)
    found = check_plan(
        session.plan,
        facts,
        names=plan_policy(session.plan, where="the plan").racks.map,
        sent=journalled_requests(session),
        has_begun=_has_begun(session),
        allow_partial=options.allow_partial,
        alongside=options.alongside,
        room=_room(session, budget),
    )
    if is_foreign(session.plan):
        shell.note(f"proof    {NOT_OURS}")
    if session.plan.later:
        later = counted(len(session.plan.later), "move")
        shell.note(f"later    {later} of the goal: make the next plan from a new snapshot")
    for difference in found.differences:
        shell.warn(f"left out, {escaped(difference)}")
    kept = history_of(session.lines).kept_throttle(is_new=is_new)
    rate = kept if options.rate is None else options.rate
    gone = frozenset(found.dropped)
    moves = [each for each in session.plan.moves if (each.topic, each.partition) not in gone]
    left = _left_to_copy(moves_to_copy(moves, facts, _room(session, budget)), facts)
    if rate is not None:
        end_ms = budget.end_ms
        lasts_s = None if end_ms is None else max(0, end_ms - session.world.clock_ms()) / 1000
        _print_throttle(shell, options, rate, left, lasts_s)
    return Preflight(dropped=found.dropped, is_done=found.is_done, left=left, rate=rate)


def _room(session: ApplySession, budget: Budget) -> BudgetRoom:
    """What a run with this budget may begin now."""
    from rackwise.core.applying.budget import room_of
    from rackwise.core.applying.start import history_of

    begun = history_of(session.lines).begun_in(budget)
    moves = {(move.topic, move.partition): move for move in session.plan.moves}
    return room_of(budget, begun, moves, session.world.clock_ms())


def _left_to_copy(moves: Iterable[Move], facts: ClusterFacts) -> Remaining:
    """What these moves still have to copy."""
    from rackwise.core.applying.model import Progress
    from rackwise.core.applying.progress import remaining

    return remaining(
        (move, Progress(seen=facts.partitions.get((move.topic, move.partition)))) for move in moves
    )


def _print_throttle(
    shell: Shell,
    options: ApplyOptions,
    rate: int,
    left: Remaining,
    lasts_s: float | None,
) -> None:
    """Print the throttle with its unit, and the shortest time of the run.

    `lasts_s`: seconds in which the run starts moves; None: no limit.
    """
    from rackwise.core.applying.progress import eta_at
    from rackwise.core.applying.stop_conditions import may_cause_stall

    if not left.total and not left.unknown:
        return
    eta = eta_at(left, rate)
    has_end = lasts_s is not None and (eta.seconds or 0) > lasts_s
    text = throttle_text(rate, left, eta, in_one_run=not has_end)
    if may_cause_stall(rate, options.caps) or (eta.seconds or 0) > LONGEST_S:
        shell.warn(f"{text}; for more, set a larger rate with rackwise throttle")
    else:
        shell.note(text)


def _has_begun(session: ApplySession) -> bool:
    """Whether an earlier run did a part of the plan, and nothing undid it."""
    from rackwise.core.applying.start import history_of

    history = history_of(session.lines)
    return history.begin is not None and not history.was_cancelled and not history.is_finished


def show_check(shell: Shell, moves: int, found: Preflight, *, is_done: bool) -> None:
    """Print whether the plan may run and what it copies, or that nothing is left to do."""
    if shell.is_json:
        shell.document(_document(moves, found, is_done=is_done))
        return
    left = f", {len(found.dropped)} left out" if found.dropped else ""
    what = "nothing to do" if is_done else "may run"
    lines = [f"{counted(moves, 'move')}{left}: {what}"]
    shell.text("\n".join(lines if is_done else [*lines, *copy_lines(found.left, found.rate)]))


def copy_lines(left: Remaining, rate: int | None) -> list[str]:
    """The bytes to copy, the shortest time, and the broker with the most; none without copies."""
    from rackwise.core.applying.progress import busiest, eta_at
    from rackwise.report.formats import bytes_text, sizes_text

    if not left.total and not left.unknown:
        return []
    lines = [f"bytes    {sizes_text(left.total, left.unknown)} to copy"]
    most = busiest(left)
    if most is None:
        return [*lines, "time     not known"]
    if rate is None:
        lines.append("time     not known without a throttle: give --throttle")
    else:
        shortest = span_text(eta_at(left, rate).seconds or 0)
        lines.append(f"time     {shortest} or more at {rate_text(rate)} at each broker")
    lines.append(f"busiest  broker {most.broker}: {bytes_text(most.bytes)} {WAYS[most.way]}")
    return lines


def _document(moves: int, found: Preflight, *, is_done: bool) -> CheckedDocument:
    from rackwise.cli.apply.documents import BusiestDocument, CheckedDocument
    from rackwise.core.applying.progress import busiest, eta_at

    left, rate = found.left, found.rate
    most = busiest(left)
    return CheckedDocument(
        moves=moves,
        dropped=len(found.dropped),
        is_done=is_done,
        bytes_to_copy=left.total,
        unknown_sizes=left.unknown,
        throttle=rate,
        least_seconds=None if rate is None or most is None else eta_at(left, rate).seconds,
        busiest=None
        if most is None
        else BusiestDocument(broker=most.broker, way=most.way, bytes=most.bytes),
    )
