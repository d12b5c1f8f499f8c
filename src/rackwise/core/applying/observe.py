"""The changes that one reading of the cluster makes: certain classes, bytes that arrived.

Goals, in order: do not believe one late answer; believe at once what is certain; journal each
change of class once.

The metadata of a broker lags behind the controller's. What the controller lists as reassigning is
certain. Otherwise:

```
the reading shows                          believed
= after                                    in the second equal reading, or from the controller
= before, and no request was sent          at once
= before after a request; another list;    from the controller, or equal for 3 s
  no topic
```

Example: a request was accepted, and the next reading still shows `before`, not reassigning.
Another tool may have cancelled it, or the broker does not know about it yet. The same reading for
3 s decides.

A partition whose request was not answered stays `intent` in the journal. If the request arrives
later, the move is still known as ours.

What this does not do: decide what to do next.

Source: KIP-455; `ReassignPartitionsCommand`, which believes one reading.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import PartitionLine
from rackwise.core.applying.model import FAILED, Baseline, Sample
from rackwise.core.applying.partition_class import classify, is_in_cancel_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.model import (
        ApplyState,
        Mode,
        ObservedPartition,
        PartitionClass,
        Progress,
        RequestStatus,
    )
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move

SETTLE_MS = 3_000
"""A broker that serves clients lags behind the controller by less than this."""

WINDOW_MS = 60_000
"""Rates are observed over this time."""

_ENOUGH_READINGS = 2
_JOURNALLED = FAILED | {"done", "cancelled"}


def apply_look(state: ApplyState, look: Looked) -> tuple[ApplyState, tuple[PartitionLine, ...]]:
    """The state after a reading, and the journal lines about what it settled."""
    lines: list[PartitionLine] = []
    partitions = dict(state.partitions)
    has_changed = False
    for partition in state.queried:
        before = partitions[partition]
        noted = _with_observation(before, look.partitions.get(partition), look)
        after = _with_class(state.moves[partition], noted, look, state.mode)
        has_changed |= after.class_ != before.class_
        if _is_news(before, after):
            after = replace(after, journalled_class=after.class_)
            lines.append(_partition_line(partition, after))
        partitions[partition] = after
    grown = add_sample(state, partitions, look)
    moved = grown.progress_ms if not has_changed else look.at_ms
    return (
        replace(
            grown,
            partitions=partitions,
            progress_ms=moved,
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


def _partition_line(partition: PartitionId, progress: Progress) -> PartitionLine:
    return PartitionLine(partition=partition, class_=progress.class_, code=progress.code)


def _is_news(before: Progress, after: Progress) -> bool:
    """Whether the journal needs a line: a final class, or the result of an unanswered request."""
    if not after.is_certain or after.journalled_class == after.class_:
        return False
    if after.class_ in _JOURNALLED:
        return True
    return before.sent == "intent" and not before.is_certain


def _with_observation(progress: Progress, seen: ObservedPartition | None, look: Looked) -> Progress:
    """The progress with the new observation, and since when it is the same."""
    is_same = progress.seen_ms is not None and _lists(progress.seen) == _lists(seen)
    if is_same and seen is not None and progress.seen is not None and not look.has_sizes:
        seen = replace(seen, adding_bytes=progress.seen.adding_bytes)
    return replace(
        progress,
        seen=seen,
        seen_ms=progress.seen_ms if is_same else look.at_ms,
        looks=progress.looks + 1 if is_same else 1,
    )


def _lists(seen: ObservedPartition | None) -> object:
    return seen and (seen.topic_id, seen.replicas, seen.adding, seen.removing)


def _with_class(move: Move, progress: Progress, look: Looked, mode: Mode) -> Progress:
    """The progress with the class that the observation shows, where it is believed."""
    shown = classify(move, progress.seen, progress.sent)
    if not _is_believed(shown, progress, look):
        return replace(progress, is_certain=False)
    sent = progress.sent
    if sent == "cancelling":
        shown, sent = _cancel_result(move, shown, progress, mode)
    elif shown == "moving":
        sent = "sent"
    elif shown == "not_started" and progress.sent == "none":
        return replace(progress, class_=shown, is_certain=True)
    is_elected = progress.is_elected or (shown == "done" and sent == "none")
    if shown == "done" and progress.seen is not None:
        is_elected = is_elected or progress.seen.leader == move.after[0]
    return replace(progress, class_=shown, sent=sent, is_certain=True, is_elected=is_elected)


def _is_believed(shown: PartitionClass, progress: Progress, look: Looked) -> bool:
    """Whether the class is certain, by the table at the head of this file."""
    if progress.seen is not None and progress.seen.is_reassigning:
        return True
    if look.by_controller or (shown == "not_started" and progress.sent == "none"):
        return True
    if progress.looks < _ENOUGH_READINGS:
        return False
    since = look.at_ms if progress.seen_ms is None else progress.seen_ms
    return shown == "done" or look.at_ms - since >= SETTLE_MS


def _cancel_result(
    move: Move, shown: PartitionClass, progress: Progress, mode: Mode
) -> tuple[PartitionClass, RequestStatus]:
    """The result of a cancel. A running move replaces a cancel of an earlier run."""
    is_asked = progress.cancels > 0 or mode == "cancel"
    if shown == "moving":
        return shown, "cancelling" if progress.cancels else "sent"
    if shown != "not_started":
        return shown, progress.sent
    if not is_asked:
        return "not_started", "intent"
    if progress.seen is not None and is_in_cancel_order(move, progress.seen):
        return "moving", progress.sent
    return ("cancelled" if mode == "cancel" else "target_dead"), "none"


def add_sample(
    state: ApplyState, partitions: Mapping[PartitionId, Progress], look: Looked
) -> ApplyState:
    """The state with the bytes that arrived since sizes were last read."""
    if not look.has_sizes:
        return state
    incoming: Counter[int] = Counter()
    outgoing: Counter[int] = Counter()
    for partition in state.queried:
        before, after = state.partitions[partition].seen, partitions[partition].seen
        if before is None or after is None:
            continue
        arrived = _arrived_bytes(state.moves[partition], before, after)
        incoming.update(arrived)
        if before.leader is not None and arrived:
            outgoing[before.leader] += sum(arrived.values())
    sample = Sample(
        from_ms=look.at_ms if state.sizes_read_ms is None else state.sizes_read_ms,
        at_ms=look.at_ms,
        incoming=dict(incoming),
        outgoing=dict(outgoing),
    )
    kept = tuple(each for each in state.samples if look.at_ms - each.from_ms <= WINDOW_MS)
    return replace(
        state,
        samples=(*kept, sample),
        sizes_read_ms=look.at_ms,
        progress_ms=look.at_ms if incoming else state.progress_ms,
    )


def _arrived_bytes(
    move: Move, before: ObservedPartition, after: ObservedPartition
) -> dict[int, int]:
    """Broker -> bytes that its adding replica received between two readings."""
    arrived: dict[int, int] = {}
    for broker in before.adding:
        earlier = before.adding_bytes.get(broker, 0)
        if broker in after.adding:
            now = after.adding_bytes.get(broker, earlier)
        else:
            # The replica is complete, or the move was cancelled.
            now = (move.bytes or 0) if broker in after.replicas else earlier
        if now > earlier:
            arrived[broker] = now - earlier
    return arrived
