"""The decision that follows a reading of the cluster: what a run does next.

Goals, in order: give up moves to dead targets; set throttles before anything moves; elect the
leaders of the plan; keep as much in motion as the limits allow; end without outside help, and leave
nothing of this tool on the cluster when nothing moves any more.

The first row that applies is executed:

```
apply    a signal arrived                          wind down
         a target is dead for too long             cancel its partitions
         nothing moves, the budget is spent        clear throttles, end
         a throttle is requested and not set       set it
         done, the preferred replica is no leader  elect
         capacity is free, no pause                start moves
         something is open                         wait; not forever where a pause stops all
         -                                         clear throttles, end
throttle something moves, the throttle is not set  set it
         -                                         end
cancel   a move of ours can be cancelled           cancel
         a move goes on, a throttle is requested   set it; if that fails, go on without it
         answers are missing                       wait
         -                                         clear throttles, end
```

Winding down: while a partition of this plan moves the throttle stays, and `resume` finishes the
run; otherwise the throttle is cleared.

What this does not do: start a move while a stop condition holds; overwrite what others changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.budget import room_of, spent_text
from rackwise.core.applying.journal.lines import PartitionLine
from rackwise.core.applying.model import CANCELLED_AS
from rackwise.core.applying.observe import apply_look
from rackwise.core.applying.partition_class import is_in_cancel_order
from rackwise.core.applying.requests import (
    MOST_ELECTIONS,
    Step,
    awaits_election,
    cancel,
    elect,
    finish,
    is_due,
    is_under_way,
    journal_first,
    move,
    reorder,
    wait,
)
from rackwise.core.applying.responses import NO_ANSWER
from rackwise.core.applying.stop_conditions import (
    brokers_down,
    can_cancel,
    dead_targets,
    is_blocked,
    update_pauses,
)
from rackwise.core.applying.throttles.clear import begin_clearing, wind_down
from rackwise.core.applying.throttles.set import begin_setting, end_change, lacks_throttle
from rackwise.core.applying.window import MOST_TRIES, is_pending, next_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.budget import BudgetRoom
    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import ApplyState, Mode, PartitionClass, Progress
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move

# With this many brokers down no leader is elected.
_TOO_MANY_DOWN = 2


def after_look(state: ApplyState, look: Looked) -> Step:
    """Update the state from a reading, and decide what the run does."""
    state, classified = apply_look(replace(state, looks_fail_since_ms=None), look)
    state, changed = update_pauses(state, look)
    state, given_up = _give_up(state)
    lines: tuple[Line, ...] = (*classified, *changed, *given_up)
    return journal_first(lines, _DECISIONS[state.mode](state, look))


def _give_up(state: ApplyState) -> tuple[ApplyState, tuple[PartitionLine, ...]]:
    """Give up partitions after too many requests, and elections of dead leaders."""
    partitions = dict(state.partitions)
    lines: list[PartitionLine] = []
    begun = set(state.begun)
    for partition, progress in state.partitions.items():
        class_ = _give_up_class(state.moves[partition], progress, state.mode)
        if class_ is not None:
            code = progress.code or NO_ANSWER
            partitions[partition] = replace(
                progress, class_=class_, journalled_class=class_, code=code
            )
            lines.append(PartitionLine(partition=partition, class_=class_, code=code))
            if class_ == "refused":
                begun.discard(partition)
        elif _has_dead_leader(state, partition) and not state.pauses:
            partitions[partition] = replace(progress, elections=MOST_ELECTIONS)
    return replace(state, partitions=partitions, begun=frozenset(begun)), tuple(lines)


def _give_up_class(move: Move, progress: Progress, mode: Mode) -> PartitionClass | None:
    if progress.is_certain and progress.class_ == "not_started" and progress.tries >= MOST_TRIES:
        return "refused"
    if _needs_reorder(move, progress) and progress.cancels >= MOST_TRIES:
        return CANCELLED_AS[mode]
    return None


def _has_dead_leader(state: ApplyState, partition: PartitionId) -> bool:
    is_waiting = awaits_election(state.partitions[partition])
    return is_waiting and state.moves[partition].after[0] not in state.live


def _apply(state: ApplyState, look: Looked) -> Step:
    """Execute the first row of the table for mode `apply` that applies."""
    is_open = _has_open_work(state)
    if not is_open:
        return begin_clearing(state)
    if state.is_stopping:
        return wind_down(state, "interrupted")
    undo = _cancel_or_reorder(state, dead_targets(state, look.at_ms), look.at_ms)
    if undo is not None:
        return undo
    if _is_budget_spent(state, look.at_ms):
        left = [state.moves[each] for each in state.moves if is_pending(state.partitions[each])]
        why = spent_text(_budget_room(state, look.at_ms), state.budget, left)
        return wind_down(state, "budget", why)
    if lacks_throttle(state):
        return begin_setting(state)
    if state.rate_request is not None:
        state, line = end_change(state)
        return journal_first((line,), _elect_or_start(state, look))
    return _elect_or_start(state, look)


def _elect_or_start(state: ApplyState, look: Looked) -> Step:
    """Elect, start moves, or wait: the last rows of the table."""
    leaders = _electable(state, look.at_ms)
    if leaders:
        return elect(state, leaders[: state.caps.elect_at_once], look.at_ms)
    if not state.pauses:
        ready = _startable(state, look.at_ms)
        batch, changes = next_batch(state, ready, look.foreign, _budget_room(state, look.at_ms))
        if batch:
            return move(state, batch, look.at_ms, changes=changes)
    return wind_down(state, "paused") if _is_waiting_useless(state, look.at_ms) else wait(state)


def _has_open_work(state: ApplyState) -> bool:
    """Whether a partition moves, is to be started or elected, or is not certain yet."""
    return any(
        is_under_way(each)
        or is_pending(each)
        or awaits_election(each)
        or (not each.is_certain and each.class_ != "dropped")
        for each in state.partitions.values()
    )


def _budget_room(state: ApplyState, at_ms: int) -> BudgetRoom:
    return room_of(state.budget, state.begun, state.moves, at_ms)


def _is_budget_spent(state: ApplyState, at_ms: int) -> bool:
    """Whether nothing is under way, and no move that is left fits in the budget."""
    if not state.budget.is_limited:
        return False
    if any(
        is_under_way(each) or awaits_election(each) or (not each.is_certain)
        for each in state.partitions.values()
        if each.class_ != "dropped"
    ):
        return False
    room = _budget_room(state, at_ms)
    return not any(
        is_pending(progress) and room.fits(partition, state.moves[partition])
        for partition, progress in state.partitions.items()
    )


def _startable(state: ApplyState, at_ms: int) -> tuple[PartitionId, ...]:
    """Partitions of the last reading that may be started."""
    return tuple(
        partition
        for partition in state.queried
        if (progress := state.partitions[partition]).is_certain
        and is_pending(progress)
        and not is_blocked(state, partition)
        and is_due(progress, progress.tries, at_ms)
    )


def _electable(state: ApplyState, at_ms: int) -> tuple[PartitionId, ...]:
    """Partitions whose preferred replica can be elected; none while two brokers are down."""
    if len(brokers_down(state)) >= _TOO_MANY_DOWN:
        return ()
    return tuple(
        partition
        for partition, progress in state.partitions.items()
        if awaits_election(progress)
        and state.moves[partition].after[0] in state.live
        and is_due(progress, progress.elections, at_ms)
    )


def _may_cancel_again(state: ApplyState, partition: PartitionId) -> bool:
    has_tries_left = state.partitions[partition].cancels < MOST_TRIES
    return has_tries_left and can_cancel(state, partition)


def _cancel_or_reorder(state: ApplyState, ours: Iterable[PartitionId], at_ms: int) -> Step | None:
    """Cancel those of `ours` that can be cancelled; then restore the order of cancelled ones."""
    due = tuple(
        partition
        for partition in ours
        if state.partitions[partition].is_certain
        and _may_cancel_again(state, partition)
        and _is_cancel_due(state, partition, at_ms)
    )
    if due:
        return cancel(state, due[: state.caps.per_request], at_ms)
    reordered = tuple(
        partition
        for partition, progress in state.partitions.items()
        if _needs_reorder(state.moves[partition], progress)
        and _is_cancel_due(state, partition, at_ms)
    )
    return reorder(state, reordered[: state.caps.per_request], at_ms) if reordered else None


def _needs_reorder(move: Move, progress: Progress) -> bool:
    """Whether this tool cancelled the move and the order differs from that before."""
    return (
        progress.sent == "cancelling"
        and progress.is_certain
        and progress.class_ == "moving"
        and progress.seen is not None
        and is_in_cancel_order(move, progress.seen)
    )


def _is_cancel_due(state: ApplyState, partition: PartitionId, at_ms: int) -> bool:
    progress = state.partitions[partition]
    return is_due(progress, progress.cancels, at_ms)


def _is_waiting_useless(state: ApplyState, at_ms: int) -> bool:
    """Whether nothing can change by waiting: nothing moves, and nothing may be started."""
    dead = {each for each in dead_targets(state, at_ms) if not _may_cancel_again(state, each)}
    for partition, progress in state.partitions.items():
        if partition in dead or progress.class_ == "dropped":
            continue
        if is_under_way(progress) or not progress.is_certain:
            return False
        is_later = is_pending(progress) and not is_due(progress, progress.tries, at_ms)
        if is_later and not is_blocked(state, partition):
            return False
    if state.paused_since_ms is not None:
        return at_ms - state.paused_since_ms >= state.caps.down_ms
    since_ms = max(state.dead_since_ms.values(), default=None)
    return since_ms is not None and at_ms - since_ms >= state.caps.down_ms


def _cancel(state: ApplyState, look: Looked) -> Step:
    """Cancel the moves of this plan that are running."""
    if state.is_stopping:
        return wind_down(state, "interrupted")
    moving = tuple(
        partition
        for partition, progress in state.partitions.items()
        if progress.class_ == "moving" and not _needs_reorder(state.moves[partition], progress)
    )
    undo = _cancel_or_reorder(state, moving, look.at_ms)
    if undo is not None:
        return undo
    if state.rate_request is None:
        return _wait_or_end_cancel(state)
    if lacks_throttle(state):
        return begin_setting(state)
    if not state.is_throttled or state.throttled_rate != state.rate:
        return _wait_or_end_cancel(state)
    state, line = end_change(state)
    return journal_first((line,), _wait_or_end_cancel(state))


def _wait_or_end_cancel(state: ApplyState) -> Step:
    """The last rows of the table for mode `cancel`; what goes on keeps its throttle."""
    if any(_may_still_be_undone(state, each) for each in state.partitions):
        return wait(state)
    if any(each.class_ == "moving" for each in state.partitions.values()):
        return finish(state)
    return begin_clearing(state)


def _may_still_be_undone(state: ApplyState, partition: PartitionId) -> bool:
    """Whether the state is uncertain, or another request may cancel the move."""
    progress = state.partitions[partition]
    if not progress.is_certain:
        return progress.class_ != "dropped"
    if progress.class_ != "moving":
        return False
    return _needs_reorder(state.moves[partition], progress) or _may_cancel_again(state, partition)


def _set_throttle(state: ApplyState, _: Looked) -> Step:
    """Set the throttle of the moves that are running, and leave them alone."""
    if state.is_stopping:
        return finish(replace(state, stop="interrupted"))
    is_moving = any(is_under_way(each) for each in state.partitions.values())
    return begin_setting(state) if is_moving and lacks_throttle(state) else finish(state)


_DECISIONS: Mapping[Mode, Callable[[ApplyState, Looked], Step]] = {
    "apply": _apply,
    "cancel": _cancel,
    "throttle": _set_throttle,
}
