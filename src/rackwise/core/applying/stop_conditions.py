"""The stop conditions of a run: the cluster became worse, or nothing moves any more.

Goals, in order: a cluster in trouble gets no new work from this tool; each reason names the
brokers, partitions and numbers behind it; trouble from before the run pauses nothing, because the
plan may repair it.

```
reason                        since the first reading of the run
broker 4 is down              it was live
orders-4 is offline           it had a leader
orders-4 is under min ISR     it was not
broker 4: log folder ...      it had no error
no byte in 600 s into 4, 5    some replica is being filled, and sizes are read
```

Kafka continues running moves in any case. No move to a dead broker is started: Kafka would accept
it, and then hang. If a target is dead for too long its partitions are cancelled, each only if a
replica of before is live and in sync.

What this does not do: end a run; see bytes where sizes cannot be read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import Go, Pause
from rackwise.core.applying.model import Baseline
from rackwise.core.applying.window import brokers_to_add, is_pending
from rackwise.core.text import are, counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.model import ApplyState, Caps
    from rackwise.core.model import PartitionId

LARGEST_FETCH = 10 * 2**20
"""Bytes of the largest fetch of a follower (`replica.fetch.response.max.bytes`); after it the
follower waits until its throttle allows more."""


def update_pauses(state: ApplyState, look: Looked) -> tuple[ApplyState, tuple[Pause | Go, ...]]:
    """The state with the reasons of its pause, and the journal line about a change."""
    reasons = tuple(_pause_reasons(state, look))
    dead = {
        broker: state.dead_since_ms.get(broker, look.at_ms)
        for broker in sorted((_targets(state) | _next_targets(state)) - look.live)
    }
    paused_since_ms = (
        (look.at_ms if state.paused_since_ms is None else state.paused_since_ms)
        if reasons
        else None
    )
    updated = replace(state, pauses=reasons, paused_since_ms=paused_since_ms, dead_since_ms=dead)
    if reasons == state.pauses:
        return updated, ()
    return updated, (Pause(reasons=reasons) if reasons else Go(),)


def brokers_down(state: ApplyState) -> frozenset[int]:
    """Brokers that were live in the first reading of the run, and are not live now."""
    return (state.baseline or Baseline()).live - state.live


def can_cancel(state: ApplyState, partition: PartitionId) -> bool:
    """Whether the move can be cancelled: a replica of before is live and in sync."""
    seen = state.partitions[partition].seen
    before = state.moves[partition].before
    return seen is not None and any(each in state.live and each in seen.isr for each in before)


def dead_targets(state: ApplyState, at_ms: int) -> tuple[PartitionId, ...]:
    """Partitions that move to a broker that has been dead for too long."""
    dead = {
        broker
        for broker, since in state.dead_since_ms.items()
        if at_ms - since >= state.caps.down_ms
    }
    return tuple(
        partition
        for partition, progress in state.partitions.items()
        if progress.class_ == "moving"
        and progress.seen is not None
        and dead.intersection(progress.seen.adding)
    )


def is_blocked(state: ApplyState, partition: PartitionId) -> bool:
    """Whether the partition is to be started and a broker of its copies is dead."""
    progress = state.partitions[partition]
    adding = brokers_to_add(state.moves[partition], progress.seen)
    return is_pending(progress) and not state.live.issuperset(adding)


def _targets(state: ApplyState) -> frozenset[int]:
    """Brokers that receive a partition of this plan."""
    return frozenset(
        broker
        for progress in state.partitions.values()
        if progress.class_ == "moving" and progress.seen is not None
        for broker in progress.seen.adding
    )


def _next_targets(state: ApplyState) -> frozenset[int]:
    """Brokers that would receive a partition that is started soon."""
    return frozenset(
        broker
        for partition in state.queried
        if is_pending(progress := state.partitions[partition])
        for broker in brokers_to_add(state.moves[partition], progress.seen)
    )


def _pause_reasons(state: ApplyState, look: Looked) -> Iterable[str]:
    base = state.baseline or Baseline()
    for broker in sorted(base.live - look.live):
        yield f"broker {broker} is down"
    yield from _describe_partitions(look.offline - base.offline, "offline")
    yield from _describe_partitions(look.under_min_isr - base.under_min_isr, "under min ISR")
    for broker, path in sorted(look.bad_dirs - base.bad_dirs):
        yield f"broker {broker}: log folder {escaped(path)} has an error"
    yield from _describe_stall(state, look)


def _describe_partitions(partitions: Collection[PartitionId], what: str) -> Iterable[str]:
    """One sentence about all of these partitions; the first ones by name."""
    if not partitions:
        return
    names = [f"{topic}-{number}" for topic, number in sorted(partitions)]
    yield f"{names_text(names)} {are(len(names))} {what}"


def _describe_stall(state: ApplyState, look: Looked) -> Iterable[str]:
    targets = sorted(_targets(state))
    still_ms = look.at_ms - state.progress_ms
    is_measured = state.sizes_read_ms is not None and state.sizes_read_ms > state.progress_ms
    if not targets or not is_measured or still_ms < state.caps.stall_ms:
        return
    brokers = ", ".join(map(str, targets))
    noun = "broker" if len(targets) == 1 else "brokers"
    came = (
        f"no byte came in {counted(state.caps.stall_ms // 1_000, 'second')} into {noun} {brokers}"
    )
    yield f"{came}; {_describe_throttle(state, targets)}"


def may_cause_stall(rate: int, caps: Caps) -> bool:
    """Whether a throttle of this rate can keep a broker without a byte for a stall.

    A follower that has fetched its maximum waits until its throttle allows more.
    """
    return rate * (caps.stall_ms // 1_000) <= LARGEST_FETCH


def _describe_throttle(state: ApplyState, targets: list[int]) -> str:
    """Whether a throttle may be the cause, and what to do then."""
    rates = {state.rates_in[each] for each in targets if each in state.rates_in}
    if not rates:
        return "no throttle of this run holds there: look at these brokers' logs and the leaders'"
    least = f"the throttle of {counted(min(rates), 'byte')}/s there"
    if not may_cause_stall(min(rates), state.caps):
        return f"{least} lets more through: look at these brokers' logs and the leaders'"
    if min(rates) == state.rate:
        return f"{least} may be why: run rackwise throttle with a larger rate"
    return (
        f"{least} may be why: interrupt, then rackwise resume with a larger --throttle and "
        "--throttle-over ours"
    )
