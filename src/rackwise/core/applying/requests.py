"""The questions and requests of a run: what is asked, what is journalled before, what is noted.

Each function gives the state that waits for the answer and the actions of the step, the journal's
line before the effect that it announces.

What this does not do: decide which of them is due.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.applying.actions import (
    Alter,
    Elect,
    Finish,
    Journal,
    Look,
    ReadThrottles,
    SetThrottles,
    Wait,
)
from rackwise.core.applying.journal.lines import BatchIntent, ElectIntent, End
from rackwise.core.applying.model import Outcome
from rackwise.core.applying.window import is_pending, is_unsettled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.applying.actions import Action
    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import (
        Act,
        ApplyState,
        PartitionId,
        Phase,
        Progress,
        ThrottleKey,
    )

Step: TypeAlias = "tuple[ApplyState, tuple[Action, ...]]"

LEAST_WAIT_MS = 50
MOST_WAIT_MS = 2_000
SIZES_EVERY_MS = 5_000
HORIZON = 1_000
"""So many partitions that are not begun are looked at, of which those that fit are begun."""

MOST_ELECTIONS = 3
AGAIN_MS = 1_000


def told(lines: Iterable[Line], step: Step) -> Step:
    """The step, with these lines journalled first."""
    state, actions = step
    return state, (*(Journal(line=line) for line in lines), *actions)


def look(state: ApplyState, at_ms: int) -> Step:
    """Ask how all stands that may change or is to be begun."""
    asked = tuple(_to_look_at(state))
    sizes = state.sized_ms is None or at_ms - state.sized_ms >= SIZES_EVERY_MS
    return replace(state, phase="looking", asked=asked), (Look(partitions=asked, sizes=sizes),)


def _to_look_at(state: ApplyState) -> Iterable[PartitionId]:
    pending = 0
    for partition, progress in state.partitions.items():
        if is_pending(progress) and progress.is_settled:
            pending += 1
            if pending > HORIZON:
                continue
        elif not _is_open(progress):
            continue
        yield partition


def _is_open(progress: Progress) -> bool:
    """Its class may change yet, or its leader is to be elected."""
    if progress.class_ in {"dropped", "refused", "target_dead", "cancelled"}:
        return False
    if not progress.is_settled or progress.class_ in {"moving", "foreign_moving"}:
        return True
    return awaits_election(progress)


def awaits_election(progress: Progress) -> bool:
    """Done, and its preferred replica does not lead."""
    return (
        progress.class_ == "done"
        and progress.is_settled
        and not progress.is_elected
        and progress.elections < MOST_ELECTIONS
    )


def is_due(progress: Progress, tries: int, at_ms: int) -> bool:
    """What was asked for before may be asked for again, each time a second later."""
    return tries == 0 or at_ms - progress.asked_ms >= tries * AGAIN_MS


def is_under_way(progress: Progress) -> bool:
    """Kafka moves it, or may do so."""
    return progress.class_ == "moving" or is_unsettled(progress)


def wait(state: ApplyState, phase: Phase = "waiting") -> Step:
    """Each time a little longer, while nothing changes."""
    wait_ms = min(MOST_WAIT_MS, max(LEAST_WAIT_MS, 2 * state.wait_ms))
    return replace(state, phase=phase, wait_ms=wait_ms), (Wait(most_ms=wait_ms),)


def move(state: ApplyState, batch: tuple[PartitionId, ...], at_ms: int, *, changes: bool) -> Step:
    """Begin these."""
    targets = tuple((each, state.moves[each].after) for each in batch)
    alter = Alter(targets=targets, allow_replication_factor_change=changes)
    return _ask(state, "move", alter, at_ms)


def cancel(state: ApplyState, batch: tuple[PartitionId, ...], at_ms: int) -> Step:
    """Take these back."""
    targets = tuple((each, None) for each in batch)
    alter = Alter(targets=targets, allow_replication_factor_change=True)
    return _ask(state, "cancel", alter, at_ms)


def reorder(state: ApplyState, batch: tuple[PartitionId, ...], at_ms: int) -> Step:
    """Give these, which were taken back, the order of before."""
    targets = tuple((each, state.moves[each].before) for each in batch)
    alter = Alter(targets=targets, allow_replication_factor_change=False)
    return _ask(state, "reorder", alter, at_ms)


def _ask(state: ApplyState, act: Act, alter: Alter, at_ms: int) -> Step:
    batch = tuple(partition for partition, _ in alter.targets)
    line = BatchIntent(batch=state.batch + 1, act=act, partitions=batch)
    partitions = dict(state.partitions)
    is_move = act == "move"
    for partition in batch:
        before = partitions[partition]
        partitions[partition] = replace(
            before,
            sent="intent" if is_move else "cancelling",
            tries=before.tries + is_move,
            cancels=before.cancels + (not is_move),
            asked_ms=at_ms,
            is_settled=False,
            seen_ms=None,
            looks=0,
        )
    asked = replace(
        state,
        phase="altering",
        partitions=partitions,
        batch=line.batch,
        act=act,
        asked=batch,
        wait_ms=0,
        has_written=True,
    )
    return asked, (Journal(line=line), alter)


def elect(state: ApplyState, batch: tuple[PartitionId, ...], at_ms: int) -> Step:
    """Ask for preferred elections."""
    line = ElectIntent(batch=state.batch + 1, partitions=batch)
    partitions = dict(state.partitions)
    for partition in batch:
        before = partitions[partition]
        partitions[partition] = replace(before, elections=before.elections + 1, asked_ms=at_ms)
    asked = replace(
        state,
        phase="electing",
        partitions=partitions,
        batch=state.batch + 1,
        asked=batch,
        has_written=True,
    )
    return asked, (Journal(line=line), Elect(partitions=batch))


def read_throttles(state: ApplyState, phase: Phase, keys: Iterable[ThrottleKey]) -> Step:
    """Ask what stands at these keys."""
    listed = list(keys)
    brokers = sorted({int(key.name) for key in listed if key.kind == "broker"})
    topics = sorted({key.name for key in listed if key.kind == "topic"})
    action = ReadThrottles(brokers=tuple(brokers), topics=tuple(topics))
    return replace(state, phase=phase), (action,)


def set_throttles(
    state: ApplyState, phase: Phase, changes: Mapping[ThrottleKey, str | None]
) -> Step:
    """Set these keys, in one order."""
    keys = tuple(sorted(changes))
    action = SetThrottles(changes=tuple((key, changes[key]) for key in keys))
    return replace(state, phase=phase, keys=keys, has_written=True), (action,)


def finish(state: ApplyState) -> Step:
    """The end: counts into the journal, and how it ended to the driver."""
    outcome = Outcome(
        mode=state.mode,
        classes={partition: each.class_ for partition, each in state.partitions.items()},
        codes={
            partition: each.code
            for partition, each in state.partitions.items()
            if each.code is not None
        },
        not_elected=tuple(
            partition
            for partition, each in state.partitions.items()
            if each.class_ == "done" and not each.is_elected and each.is_settled
        ),
        throttles_left=tuple(sorted(state.ledger)),
        throttles_changed=tuple(sorted(state.changed)),
        stop=state.stop,
        text=state.text,
        has_written=state.has_written,
    )
    line = End(
        done=len(outcome.done),
        failed=len(outcome.failed),
        skipped=len(outcome.skipped),
        dropped=len(outcome.dropped),
        stop=state.stop,
    )
    return replace(state, phase="over"), (Journal(line=line), Finish(outcome=outcome))
