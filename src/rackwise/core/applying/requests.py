"""The requests of a run: the action, the journal line before it, and the state that waits for it.

Each function returns the state that waits for the observation, and the actions of the step. The
journal line comes before the action that it announces.

What this does not do: decide which request is due.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.applying.actions import (
    Alter,
    AppendLine,
    Elect,
    Finish,
    Look,
    ReadThrottles,
    SetThrottles,
    Wait,
)
from rackwise.core.applying.budget import room_of
from rackwise.core.applying.journal.lines import BatchIntent, ElectIntent, End
from rackwise.core.applying.model import Baseline, Outcome
from rackwise.core.applying.stop_conditions import is_blocked
from rackwise.core.applying.window import is_outcome_unknown, is_pending
from rackwise.core.text import are, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.applying.actions import Action
    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import ApplyState, Phase, Progress, RequestKind, ThrottleKey
    from rackwise.core.model import PartitionId

Step: TypeAlias = "tuple[ApplyState, tuple[Action, ...]]"

LEAST_WAIT_MS = 50
MOST_WAIT_MS = 2_000
"""Waits double between these two while nothing changes."""
SIZES_EVERY_MS = 5_000
"""The time between two readings of sizes, which need a request to every broker."""
HORIZON = 1_000
"""Partitions that may be started and that one reading covers; those that fit are started."""

MOST_ELECTIONS = 3
"""Elections requested for one partition before its leader is given up."""
AGAIN_MS = 1_000
"""The wait before a request is repeated, times the number of attempts so far."""


def journal_first(lines: Iterable[Line], step: Step) -> Step:
    """The step with these lines journalled before its actions."""
    state, actions = step
    return state, (*(AppendLine(line=line) for line in lines), *actions)


def look(state: ApplyState, at_ms: int) -> Step:
    """Read the partitions that may change or are to be started."""
    asked = tuple(_partitions_to_read(state, at_ms))
    sizes = state.sizes_read_ms is None or at_ms - state.sizes_read_ms >= SIZES_EVERY_MS
    return replace(state, phase="looking", queried=asked), (Look(partitions=asked, sizes=sizes),)


def _partitions_to_read(state: ApplyState, at_ms: int) -> Iterable[PartitionId]:
    """The open partitions, and the next `HORIZON` that may be started.

    A move that does not fit in the budget is not read; of those that wait for a broker, which are
    up to `HORIZON` more, no number holds up the others.
    """
    room = room_of(state.budget, state.begun, state.moves, at_ms)
    ready = waiting = 0
    for partition, progress in state.partitions.items():
        if is_pending(progress) and progress.is_certain:
            if ready == HORIZON or not room.fits(partition, state.moves[partition]):
                continue
            if not is_blocked(state, partition):
                ready += 1
            elif waiting < HORIZON:
                waiting += 1
            else:
                continue
        elif not _is_open(progress):
            continue
        yield partition


def _is_open(progress: Progress) -> bool:
    """Whether the class may still change, or a leader is to be elected."""
    if progress.class_ in {"dropped", "refused", "target_dead", "cancelled"}:
        return False
    if not progress.is_certain or progress.class_ in {"moving", "foreign_moving"}:
        return True
    return awaits_election(progress)


def awaits_election(progress: Progress) -> bool:
    """Whether the partition is done and its preferred replica is not the leader."""
    return (
        progress.class_ == "done"
        and progress.is_certain
        and not progress.is_elected
        and progress.elections < MOST_ELECTIONS
    )


def is_due(progress: Progress, tries: int, at_ms: int) -> bool:
    """Whether a request may be repeated; each attempt waits a second longer."""
    return tries == 0 or at_ms - progress.asked_ms >= tries * AGAIN_MS


def is_under_way(progress: Progress) -> bool:
    """Whether Kafka moves the partition, or may do so."""
    return progress.class_ == "moving" or is_outcome_unknown(progress)


def wait(state: ApplyState, phase: Phase = "waiting") -> Step:
    """Wait, a little longer each time while nothing changes."""
    wait_ms = min(MOST_WAIT_MS, max(LEAST_WAIT_MS, 2 * state.wait_ms))
    return replace(state, phase=phase, wait_ms=wait_ms), (Wait(most_ms=wait_ms),)


def move(state: ApplyState, batch: tuple[PartitionId, ...], at_ms: int, *, changes: bool) -> Step:
    """Start these moves."""
    targets = tuple((each, state.moves[each].after) for each in batch)
    alter = Alter(targets=targets, allow_replication_factor_change=changes)
    begun = state.begun.union(batch)
    return _request(replace(state, begun=begun), "move", alter, at_ms)


def cancel(state: ApplyState, batch: tuple[PartitionId, ...], at_ms: int) -> Step:
    """Cancel these moves."""
    targets = tuple((each, None) for each in batch)
    alter = Alter(targets=targets, allow_replication_factor_change=True)
    return _request(state, "cancel", alter, at_ms)


def reorder(state: ApplyState, batch: tuple[PartitionId, ...], at_ms: int) -> Step:
    """Restore the old order of these cancelled partitions."""
    targets = tuple((each, state.moves[each].before) for each in batch)
    alter = Alter(targets=targets, allow_replication_factor_change=False)
    return _request(state, "reorder", alter, at_ms)


def _request(state: ApplyState, act: RequestKind, alter: Alter, at_ms: int) -> Step:
    """Journal the request, then send it; until its result is read, nothing is certain."""
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
            is_certain=False,
            seen_ms=None,
            looks=0,
        )
    asked = replace(
        state,
        phase="altering",
        partitions=partitions,
        batch=line.batch,
        act=act,
        queried=batch,
        wait_ms=0,
        has_written=True,
    )
    return asked, (AppendLine(line=line), alter)


def elect(state: ApplyState, batch: tuple[PartitionId, ...], at_ms: int) -> Step:
    """Request preferred elections."""
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
        queried=batch,
        has_written=True,
    )
    return asked, (AppendLine(line=line), Elect(partitions=batch))


def read_throttles(state: ApplyState, phase: Phase, keys: Iterable[ThrottleKey]) -> Step:
    """Read the values of these throttle keys."""
    listed = list(keys)
    brokers = sorted({int(key.name) for key in listed if key.kind == "broker"})
    topics = sorted({key.name for key in listed if key.kind == "topic"})
    action = ReadThrottles(brokers=tuple(brokers), topics=tuple(topics))
    return replace(state, phase=phase), (action,)


def set_throttles(
    state: ApplyState, phase: Phase, changes: Mapping[ThrottleKey, str | None]
) -> Step:
    """Set these throttle keys, in a fixed order."""
    keys = tuple(sorted(changes))
    action = SetThrottles(changes=tuple((key, changes[key]) for key in keys))
    return replace(state, phase=phase, keys=keys, has_written=True), (action,)


def _why_not_elected(state: ApplyState, partition: PartitionId) -> str:
    """Why the preferred leader of a partition was not elected."""
    progress, preferred = state.partitions[partition], state.moves[partition].after[0]
    if preferred not in state.live:
        return f"broker {preferred} is down"
    if progress.seen is not None and preferred not in progress.seen.isr:
        return f"broker {preferred} is not in sync"
    if progress.code is not None:
        return f"Kafka rejected it, {progress.code}"
    down = sorted((state.baseline or Baseline()).live - state.live)
    if down:
        noun = "broker" if len(down) == 1 else "brokers"
        return f"{noun} {', '.join(map(str, down))} {are(len(down))} down"
    if progress.elections >= MOST_ELECTIONS:
        return f"no answer to {counted(MOST_ELECTIONS, 'request')}"
    return "the run ended before it"


def finish(state: ApplyState) -> Step:
    """End the run: counts for the journal, the outcome for the driver."""
    outcome = Outcome(
        mode=state.mode,
        classes={partition: each.class_ for partition, each in state.partitions.items()},
        codes={
            partition: each.code
            for partition, each in state.partitions.items()
            if each.code is not None
        },
        not_elected={
            partition: _why_not_elected(state, partition)
            for partition, each in state.partitions.items()
            if each.class_ == "done" and not each.is_elected and each.is_certain
        },
        throttles_left=tuple(sorted(state.ledger)),
        throttles_changed=tuple(sorted(state.changed_throttles)),
        begun=len(state.begun),
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
    return replace(state, phase="over"), (AppendLine(line=line), Finish(outcome=outcome))
