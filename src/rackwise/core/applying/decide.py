"""What a run does next, once it has looked.

Goals, in order: what is dead is let go of; throttles stand before anything moves; leaders come
where they belong; there is as much under way as the limits allow; the run ends by itself, and when
it ends with nothing under way nothing of ours is left on the cluster.

The first of these that applies is done:

```
apply    asked to stop                          wind down
         a target is dead for too long          cancel its partitions
         a throttle is wanted, none stands      put it on
         done, the preferred replica leads not  elect
         room, no pause                         begin
         something is open                      wait; not for ever where a pause stops all
         -                                      take throttles off, end
cancel   ours moves and may go back             cancel
         answers are out                        wait
         -                                      take throttles off, end
```

Winding down: while something of ours moves the throttle has to stay, and `resume` finishes; else it
is taken off.

What this does not do: begin anything while a guard holds; overwrite what others did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import PartitionLine
from rackwise.core.applying.observe import looked
from rackwise.core.applying.partition_class import is_turned
from rackwise.core.applying.requests import (
    MOST_ELECTIONS,
    Step,
    awaits_election,
    cancel,
    elect,
    finish,
    is_due,
    is_under_way,
    move,
    reorder,
    told,
    wait,
)
from rackwise.core.applying.stop_conditions import (
    brokers_down,
    cancellable,
    dead_targets,
    guarded,
    is_blocked,
)
from rackwise.core.applying.throttles.clear import take_off, wind_down
from rackwise.core.applying.throttles.set import lacks_throttle, put_on
from rackwise.core.applying.window import MOST_TRIES, is_pending, next_batch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import ApplyState, Class, PartitionId, Progress
    from rackwise.core.planning.model import Move

_TOO_MANY_DOWN = 2


def after_look(state: ApplyState, look: Looked) -> Step:
    """What a look tells, and what is done about it."""
    state, settled = looked(replace(state, failed_ms=None), look)
    state, changed = guarded(state, look)
    state, given_up = _given_up(state)
    lines: tuple[Line, ...] = (*settled, *changed, *given_up)
    decide = _apply if state.mode == "apply" else _cancel
    return told(lines, decide(state, look))


def _given_up(state: ApplyState) -> tuple[ApplyState, tuple[PartitionLine, ...]]:
    """What was asked for too often is refused; a leader that is dead is not waited for."""
    partitions = dict(state.partitions)
    lines: list[PartitionLine] = []
    for partition, progress in state.partitions.items():
        class_ = _given_up_as(state.moves[partition], progress)
        if class_ is not None:
            partitions[partition] = replace(progress, class_=class_, told=class_)
            line = PartitionLine(partition=partition, class_=class_, code=progress.code)
            lines.append(line)
        elif _has_dead_leader(state, partition) and not state.pauses:
            partitions[partition] = replace(progress, elections=MOST_ELECTIONS)
    return replace(state, partitions=partitions), tuple(lines)


def _given_up_as(move: Move, progress: Progress) -> Class | None:
    if progress.is_settled and progress.class_ == "not_started" and progress.tries >= MOST_TRIES:
        return "refused"
    if _has_turned(move, progress) and progress.cancels >= MOST_TRIES:
        return "diverged"
    return None


def _has_dead_leader(state: ApplyState, partition: PartitionId) -> bool:
    is_waiting = awaits_election(state.partitions[partition])
    return is_waiting and state.moves[partition].after[0] not in state.live


def _apply(state: ApplyState, look: Looked) -> Step:
    is_open = _is_open(state)
    if not is_open:
        return take_off(state)
    if state.is_stopping:
        return wind_down(state, "interrupted")
    back = _back(state, dead_targets(state, look.at_ms), look.at_ms)
    if back is not None:
        return back
    if lacks_throttle(state):
        return put_on(state)
    leaders = _leaders(state, look.at_ms)
    if leaders:
        return elect(state, leaders[: state.caps.elect_at_once], look.at_ms)
    if not state.pauses:
        batch, changes = next_batch(state, _ready(state, look.at_ms), look.foreign)
        if batch:
            return move(state, batch, look.at_ms, changes=changes)
    return wind_down(state, "paused") if _is_stuck(state, look.at_ms) else wait(state)


def _is_open(state: ApplyState) -> bool:
    """Something moves, is to be begun or elected, or is not certain yet."""
    return any(
        is_under_way(each)
        or is_pending(each)
        or awaits_election(each)
        or (not each.is_settled and each.class_ != "dropped")
        for each in state.partitions.values()
    )


def _ready(state: ApplyState, at_ms: int) -> tuple[PartitionId, ...]:
    """What may be begun, of what was just looked at."""
    return tuple(
        partition
        for partition in state.asked
        if (progress := state.partitions[partition]).is_settled
        and is_pending(progress)
        and not is_blocked(state, partition)
        and is_due(progress, progress.tries, at_ms)
    )


def _leaders(state: ApplyState, at_ms: int) -> tuple[PartitionId, ...]:
    """Those whose preferred replica can be made leader; with two brokers down, nobody's."""
    if len(brokers_down(state)) >= _TOO_MANY_DOWN:
        return ()
    return tuple(
        partition
        for partition, progress in state.partitions.items()
        if awaits_election(progress)
        and state.moves[partition].after[0] in state.live
        and is_due(progress, progress.elections, at_ms)
    )


def _cancellable(state: ApplyState, partition: PartitionId) -> bool:
    is_left = state.partitions[partition].cancels < MOST_TRIES
    return is_left and cancellable(state, partition)


def _back(state: ApplyState, ours: Iterable[PartitionId], at_ms: int) -> Step | None:
    """Take back those of `ours` that can go back, and put in order what a cancel left turned."""
    due = tuple(
        partition
        for partition in ours
        if state.partitions[partition].is_settled
        and _cancellable(state, partition)
        and _is_cancel_due(state, partition, at_ms)
    )
    if due:
        return cancel(state, due[: state.caps.per_request], at_ms)
    turned = tuple(
        partition
        for partition, progress in state.partitions.items()
        if _has_turned(state.moves[partition], progress) and _is_cancel_due(state, partition, at_ms)
    )
    return reorder(state, turned[: state.caps.per_request], at_ms) if turned else None


def _has_turned(move: Move, progress: Progress) -> bool:
    """It was taken back by us, and its order is not that of before yet."""
    return (
        progress.sent == "cancelling"
        and progress.is_settled
        and progress.class_ == "moving"
        and progress.seen is not None
        and is_turned(move, progress.seen)
    )


def _is_cancel_due(state: ApplyState, partition: PartitionId, at_ms: int) -> bool:
    progress = state.partitions[partition]
    return is_due(progress, progress.cancels, at_ms)


def _is_stuck(state: ApplyState, at_ms: int) -> bool:
    """Whether waiting is of no use: nothing moves but what cannot, and nothing may be begun."""
    dead = {each for each in dead_targets(state, at_ms) if not _cancellable(state, each)}
    for partition, progress in state.partitions.items():
        if partition in dead or progress.class_ == "dropped":
            continue
        if is_under_way(progress) or not progress.is_settled:
            return False
        is_later = is_pending(progress) and not is_due(progress, progress.tries, at_ms)
        if is_later and not is_blocked(state, partition):
            return False
    if state.paused_ms is not None:
        return at_ms - state.paused_ms >= state.caps.down_ms
    since_ms = max(state.dead_ms.values(), default=None)
    return since_ms is not None and at_ms - since_ms >= state.caps.down_ms


def _cancel(state: ApplyState, look: Looked) -> Step:
    """Take back what moves and is ours."""
    if state.is_stopping:
        return wind_down(state, "interrupted")
    moving = tuple(
        partition
        for partition, progress in state.partitions.items()
        if progress.class_ == "moving" and not _has_turned(state.moves[partition], progress)
    )
    back = _back(state, moving, look.at_ms)
    if back is not None:
        return back
    if any(_may_come_back(state, each) for each in state.partitions):
        return wait(state)
    if any(each.class_ == "moving" for each in state.partitions.values()):
        return finish(state)
    return take_off(state)


def _may_come_back(state: ApplyState, partition: PartitionId) -> bool:
    """It is not certain yet how it stands, or another request may take it back."""
    progress = state.partitions[partition]
    if not progress.is_settled:
        return progress.class_ != "dropped"
    if progress.class_ != "moving":
        return False
    return _has_turned(state.moves[partition], progress) or _cancellable(state, partition)
