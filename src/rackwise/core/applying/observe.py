"""What one look at the cluster changes: classes that may be believed, bytes that arrived.

Goals, in order: nothing is believed on one late answer; what is certain is believed at once; each
change of class is told to the journal once.

A broker's metadata runs behind the controller's. What the controller lists as reassigning is
certain. Else:

```
shown                                       believed
= after                                     in the second equal look, or from the controller
= before, and nothing was ever asked        at once
= before, though asked; another list; gone  from the controller, or equal for 3 s
```

Example: a request was accepted, and the next look still shows `before`, not reassigning. It may
have been taken back, or the broker does not know yet; 3 s of the same tell.

A partition asked for without an answer stays `intent` in the journal. Should the request arrive
after all, it is known as ours.

What this does not do: decide what to do next.

Source: KIP-455; `ReassignPartitionsCommand`, which believes one look.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import PartitionLine
from rackwise.core.applying.model import FAILED, Baseline, Sample
from rackwise.core.applying.partition_class import classify, is_turned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.model import (
        ApplyState,
        Class,
        Mode,
        PartitionId,
        Progress,
        Seen,
        Sent,
    )
    from rackwise.core.planning.model import Move

SETTLE_MS = 3_000
"""A broker that serves clients is not further behind the controller than this."""

WINDOW_MS = 60_000
"""Rates are observed over this time."""

_TWICE = 2
_TOLD = FAILED | {"done", "cancelled"}


def looked(state: ApplyState, look: Looked) -> tuple[ApplyState, tuple[PartitionLine, ...]]:
    """The state after a look, and the lines that tell what it settled."""
    lines: list[PartitionLine] = []
    partitions = dict(state.partitions)
    has_changed = False
    for partition in state.asked:
        before = partitions[partition]
        noted = _noted(before, look.partitions.get(partition), look)
        after = _settled(state.moves[partition], noted, look, state.mode)
        has_changed |= after.class_ != before.class_
        if _is_told(before, after):
            after = replace(after, told=after.class_)
            lines.append(_line(partition, after))
        partitions[partition] = after
    grown = sampled(state, partitions, look)
    moved = grown.moved_ms if not has_changed else look.at_ms
    return (
        replace(
            grown,
            partitions=partitions,
            moved_ms=moved,
            wait_ms=0 if has_changed else state.wait_ms,
            live=look.live,
            baseline=state.baseline or _baseline(look),
        ),
        tuple(lines),
    )


def _baseline(look: Looked) -> Baseline:
    return Baseline(
        live=look.live,
        offline=look.offline,
        under_min_isr=look.under_min_isr,
        bad_dirs=look.bad_dirs,
    )


def _line(partition: PartitionId, progress: Progress) -> PartitionLine:
    return PartitionLine(partition=partition, class_=progress.class_, code=progress.code)


def _is_told(before: Progress, after: Progress) -> bool:
    """Ends are told, and what became of a request without an answer."""
    if not after.is_settled or after.told == after.class_:
        return False
    if after.class_ in _TOLD:
        return True
    return before.sent == "intent" and not before.is_settled


def _noted(progress: Progress, seen: Seen | None, look: Looked) -> Progress:
    """With what is shown now, and since when it is the same."""
    is_same = progress.seen_ms is not None and _shape(progress.seen) == _shape(seen)
    if is_same and seen is not None and progress.seen is not None and not look.has_sizes:
        seen = replace(seen, adding_bytes=progress.seen.adding_bytes)
    return replace(
        progress,
        seen=seen,
        seen_ms=progress.seen_ms if is_same else look.at_ms,
        looks=progress.looks + 1 if is_same else 1,
    )


def _shape(seen: Seen | None) -> object:
    return seen and (seen.topic_id, seen.replicas, seen.adding, seen.removing)


def _settled(move: Move, progress: Progress, look: Looked, mode: Mode) -> Progress:
    shown = classify(move, progress.seen, progress.sent)
    if not _is_believed(shown, progress, look):
        return replace(progress, is_settled=False)
    sent = progress.sent
    if sent == "cancelling":
        shown, sent = _cancelling(move, shown, progress, mode)
    elif shown == "moving":
        sent = "sent"
    elif shown == "not_started" and progress.sent == "none":
        return replace(progress, class_=shown, is_settled=True)
    is_elected = progress.is_elected or (shown == "done" and sent == "none")
    if shown == "done" and progress.seen is not None:
        is_elected = is_elected or progress.seen.leader == move.after[0]
    return replace(progress, class_=shown, sent=sent, is_settled=True, is_elected=is_elected)


def _is_believed(shown: Class, progress: Progress, look: Looked) -> bool:
    if progress.seen is not None and progress.seen.is_reassigning:
        return True
    if look.by_controller or (shown == "not_started" and progress.sent == "none"):
        return True
    if progress.looks < _TWICE:
        return False
    since = look.at_ms if progress.seen_ms is None else progress.seen_ms
    return shown == "done" or look.at_ms - since >= SETTLE_MS


def _cancelling(move: Move, shown: Class, progress: Progress, mode: Mode) -> tuple[Class, Sent]:
    """What became of a cancel; one that an earlier run asked for is forgotten by one that moves."""
    is_asked = progress.cancels > 0 or mode == "cancel"
    if shown == "moving":
        return shown, "cancelling" if progress.cancels else "sent"
    if shown != "cancelled_externally":
        return shown, progress.sent
    if not is_asked:
        return "not_started", "intent"
    if progress.seen is not None and is_turned(move, progress.seen):
        return "moving", progress.sent
    return ("cancelled" if mode == "cancel" else "target_dead"), "none"


def sampled(
    state: ApplyState, partitions: Mapping[PartitionId, Progress], look: Looked
) -> ApplyState:
    """With what arrived since sizes were read last."""
    if not look.has_sizes:
        return state
    incoming: Counter[int] = Counter()
    outgoing: Counter[int] = Counter()
    for partition in state.asked:
        before, after = state.partitions[partition].seen, partitions[partition].seen
        if before is None or after is None:
            continue
        arrived = _arrived(state.moves[partition], before, after)
        incoming.update(arrived)
        if before.leader is not None and arrived:
            outgoing[before.leader] += sum(arrived.values())
    sample = Sample(
        from_ms=look.at_ms if state.sized_ms is None else state.sized_ms,
        at_ms=look.at_ms,
        incoming=dict(incoming),
        outgoing=dict(outgoing),
    )
    kept = tuple(each for each in state.samples if look.at_ms - each.from_ms <= WINDOW_MS)
    return replace(
        state,
        samples=(*kept, sample),
        sized_ms=look.at_ms,
        moved_ms=look.at_ms if incoming else state.moved_ms,
    )


def _arrived(move: Move, before: Seen, after: Seen) -> dict[int, int]:
    """Broker -> bytes that came to an adding replica between two looks."""
    arrived: dict[int, int] = {}
    for broker in before.adding:
        had = before.adding_bytes.get(broker, 0)
        if broker in after.adding:
            now = after.adding_bytes.get(broker, had)
        else:
            now = (move.bytes or 0) if broker in after.replicas else had
        if now > had:
            arrived[broker] = now - had
    return arrived
