"""When nothing new may be begun: the cluster became worse, or nothing moves any more.

Goals, in order: a cluster in trouble gets no more work from us; each reason is said with the names
and numbers that it rests on; what was bad before the run pauses nothing, as the plan may mend it.

```
reason                        since the first look of the run
broker 4 is down              it was live
orders-4 is offline           it had a leader
orders-4 is under min ISR     it was not
broker 4: log folder ...      it had no error
no byte in 600 s into 4, 5    some replica is being filled, and sizes are read
```

What moves already goes on in Kafka, whatever stands here. Nothing is begun towards a broker that is
dead: Kafka would take it, and then hang. A target that is dead for too long has
its partitions cancelled, each only if a replica of before is live and in sync.

What this does not do: end a run; see bytes where sizes cannot be read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import Go, Pause
from rackwise.core.applying.model import Baseline
from rackwise.core.applying.window import adding_of, is_pending
from rackwise.core.text import are, counted, escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.model import ApplyState, Caps, PartitionId

_NAMED = 3
LARGEST_FETCH = 10 * 2**20
"""Bytes that a follower may ask for at once (`replica.fetch.response.max.bytes`), and then waits
until its throttle has caught up."""


def guarded(state: ApplyState, look: Looked) -> tuple[ApplyState, tuple[Pause | Go, ...]]:
    """The state with why it pauses, and the line that tells a change of it."""
    reasons = tuple(_reasons(state, look))
    dead = {
        broker: state.dead_ms.get(broker, look.at_ms)
        for broker in sorted((_targets(state) | _wanted(state)) - look.live)
    }
    paused_ms = (look.at_ms if state.paused_ms is None else state.paused_ms) if reasons else None
    guarded = replace(state, pauses=reasons, paused_ms=paused_ms, dead_ms=dead)
    if reasons == state.pauses:
        return guarded, ()
    return guarded, (Pause(reasons=reasons) if reasons else Go(),)


def brokers_down(state: ApplyState) -> frozenset[int]:
    """Brokers that were live at the first look of the run, and are not."""
    return (state.baseline or Baseline()).live - state.live


def cancellable(state: ApplyState, partition: PartitionId) -> bool:
    """Whether the partition can go back: a replica of before is live and in sync."""
    seen = state.partitions[partition].seen
    before = state.moves[partition].before
    return seen is not None and any(each in state.live and each in seen.isr for each in before)


def dead_targets(state: ApplyState, at_ms: int) -> tuple[PartitionId, ...]:
    """Partitions that move to a broker which has been dead for too long."""
    dead = {
        broker for broker, since in state.dead_ms.items() if at_ms - since >= state.caps.down_ms
    }
    return tuple(
        partition
        for partition, progress in state.partitions.items()
        if progress.class_ == "moving"
        and progress.seen is not None
        and dead.intersection(progress.seen.adding)
    )


def is_blocked(state: ApplyState, partition: PartitionId) -> bool:
    """It is to be begun, and a broker that it would be copied to is dead."""
    progress = state.partitions[partition]
    adding = adding_of(state.moves[partition], progress.seen)
    return is_pending(progress) and not state.live.issuperset(adding)


def _targets(state: ApplyState) -> frozenset[int]:
    """Brokers that some partition of ours is being copied to."""
    return frozenset(
        broker
        for progress in state.partitions.values()
        if progress.class_ == "moving" and progress.seen is not None
        for broker in progress.seen.adding
    )


def _wanted(state: ApplyState) -> frozenset[int]:
    """Brokers that a partition which is to be begun soon would be copied to."""
    return frozenset(
        broker
        for partition in state.asked
        if is_pending(progress := state.partitions[partition])
        for broker in adding_of(state.moves[partition], progress.seen)
    )


def _reasons(state: ApplyState, look: Looked) -> Iterable[str]:
    base = state.baseline or Baseline()
    for broker in sorted(base.live - look.live):
        yield f"broker {broker} is down"
    yield from _partitions(look.offline - base.offline, "offline")
    yield from _partitions(look.under_min_isr - base.under_min_isr, "under min ISR")
    for broker, path in sorted(look.bad_dirs - base.bad_dirs):
        yield f"broker {broker}: log folder {escaped(path)} has an error"
    yield from _stall(state, look)


def _partitions(partitions: Collection[PartitionId], what: str) -> Iterable[str]:
    """One sentence for all of them, the first three by name."""
    if not partitions:
        return
    names = [f"{escaped(topic)}-{number}" for topic, number in sorted(partitions)]
    named = ", ".join(names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    yield f"{named}{more} {are(len(names))} {what}"


def _stall(state: ApplyState, look: Looked) -> Iterable[str]:
    targets = sorted(_targets(state))
    still_ms = look.at_ms - state.moved_ms
    is_measured = state.sized_ms is not None and state.sized_ms > state.moved_ms
    if not targets or not is_measured or still_ms < state.caps.stall_ms:
        return
    brokers = ", ".join(map(str, targets))
    noun = "broker" if len(targets) == 1 else "brokers"
    came = (
        f"no byte came in {counted(state.caps.stall_ms // 1_000, 'second')} into {noun} {brokers}"
    )
    yield f"{came}; {_throttled(state, targets)}"


def is_silent(rate: int, caps: Caps) -> bool:
    """Whether a throttle of so many bytes per second can keep a broker without a byte for a stall.

    A follower that has fetched as much as it may waits until its throttle has caught up.
    """
    return rate * (caps.stall_ms // 1_000) <= LARGEST_FETCH


def _throttled(state: ApplyState, targets: list[int]) -> str:
    """Whether a throttle may be why, and what to do then."""
    rates = {state.rates_in[each] for each in targets if each in state.rates_in}
    if not rates:
        return "no throttle of this run holds there: look at these brokers' logs and the leaders'"
    least = f"the throttle of {counted(min(rates), 'byte')}/s there"
    if not is_silent(min(rates), state.caps):
        return f"{least} lets more through: look at these brokers' logs and the leaders'"
    over = "" if min(rates) == state.rate else " and --throttle-over ours"
    return f"{least} may be why: interrupt, then rackwise resume with a larger --throttle{over}"
