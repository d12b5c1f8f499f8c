"""The progress of a plan: from its journal and one or two readings, or from a run in progress.

Goals, in order: every partition of the plan is in one class; our own moves are never taken for
those of others while a run writes its journal; a lost journal makes the answer less precise but not
wrong (its moves count as foreign); nothing is written.

A run may go on while the cluster is read. The journal is therefore read before and after:

```
journal before    reading    journal after    class
nothing           moves      requested        moving: requested in between
requested         moves      ended            moving: it ended in between
requested         = before   requested        moving: the run does not say that others cancelled it
nothing           = before   requested        moving: requested after the reading
requested         both       any              moving: a broker does not know yet that it ended
```

One reading shows how many bytes are left, two show how fast they arrive. The remaining time is
reported where a throttle is known, or where bytes arrived between the readings.

What this does not do: wait until one reading is certain. A broker with late metadata shows an
earlier state of a partition.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import BatchIntent
from rackwise.core.applying.observe import add_sample
from rackwise.core.applying.partition_class import classify
from rackwise.core.applying.progress import eta, observed_rates, rates_of, remaining
from rackwise.core.applying.start import history_of, resume
from rackwise.core.applying.throttles.set import with_rates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import (
        ApplyState,
        Entry,
        ObservedPartition,
        PartitionClass,
        RequestStatus,
        ThrottleKey,
    )
    from rackwise.core.applying.progress import Eta, Remaining
    from rackwise.core.applying.start import History
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move, Plan

_ACCEPTED: frozenset[RequestStatus] = frozenset({"sent", "cancelling"})
_NOTHING_SET: Mapping[ThrottleKey, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The progress of a plan."""

    classes: Mapping[PartitionId, PartitionClass]
    """Class of every move, in the order of the plan."""
    bytes: int
    """Bytes of all copies whose size is known."""
    left: Remaining
    """What is still to be copied."""
    eta: Eta
    bytes_per_s: int | None
    """Observed in the last minute; None: unknown."""
    throttles: Mapping[ThrottleKey, Entry]
    """Throttles of this tool that are set."""
    leaders_down: Mapping[PartitionId, int] = field(default_factory=lambda: MappingProxyType({}))
    """Partition that is done -> its preferred leader, which is down and so does not lead."""

    @property
    def counts(self) -> dict[PartitionClass, int]:
        """Class -> number of partitions."""
        return dict(Counter(self.classes.values()))

    @property
    def is_done(self) -> bool:
        """Whether every partition has the list of the plan."""
        return all(each == "done" for each in self.classes.values())


def status_of(
    plan: Plan,
    lines: Iterable[Line],
    look: Looked,
    *,
    earlier: Looked | None = None,
    lines_before: Iterable[Line] | None = None,
    is_running: bool = False,
    throttles: Mapping[ThrottleKey, str] = _NOTHING_SET,
    dropped: Collection[PartitionId] = (),
) -> Status:
    """The status from a journal, which may be empty, and a reading of all partitions of the plan.

    `lines`: the journal as it was after `look`; `lines_before`: as it was before, if it may have
    grown since. `is_running`: whether a process runs the plan. `earlier`: a reading before `look`,
    both with sizes. `throttles`: the rates that the brokers
    have now; keys that are missing there are taken from the journal.
    """
    lines = tuple(lines)
    requests = _Requests.of(lines, lines if lines_before is None else tuple(lines_before))
    state = resume(plan, lines, dropped=dropped)
    included = [which for which, each in state.partitions.items() if each.class_ != "dropped"]
    journalled = {key: entry.ours[-1] for key, entry in state.ledger.items()}
    state = with_rates(replace(state, queried=tuple(included)), {**journalled, **throttles})
    for each in (earlier, look):
        state = state if each is None else _with_look(state, each, requests, is_running=is_running)
    return replace(status_of_run(state), leaders_down=_leaders_down(state))


def _leaders_down(state: ApplyState) -> dict[PartitionId, int]:
    return {
        which: preferred
        for which, progress in state.partitions.items()
        if progress.class_ == "done"
        and (preferred := state.moves[which].after[0]) not in state.live
        and progress.seen is not None
        and progress.seen.leader != preferred
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Requests:
    """What the journal says, before and after a reading."""

    after: History
    ours: frozenset[PartitionId]
    """Partitions that this tool requested at any time around the reading."""
    accepted: frozenset[PartitionId]
    """Partitions whose request was accepted before the reading, and not repeated since."""

    @classmethod
    def of(cls, lines: tuple[Line, ...], lines_before: tuple[Line, ...]) -> _Requests:
        before, after = history_of(lines_before), history_of(lines)
        new = frozenset(
            which
            for line in lines[len(lines_before) :]
            if isinstance(line, BatchIntent)
            for which in line.partitions
        )
        known = [
            which
            for history in (before, after)
            for which, sent in history.sent.items()
            if sent != "none"
        ]
        accepted = {which for which, sent in before.sent.items() if sent in _ACCEPTED}
        return cls(after=after, ours=new.union(known), accepted=frozenset(accepted) - new)


def _class_of(
    move: Move,
    seen: ObservedPartition | None,
    sent: RequestStatus,
    requests: _Requests,
    *,
    is_running: bool,
) -> PartitionClass:
    """The class of a partition, by the table at the head of this file."""
    which = (move.topic, move.partition)
    if seen is not None and seen.is_reassigning and sent == "none" and which in requests.ours:
        sent = "sent"
    class_ = classify(move, seen, sent)
    if class_ == "cancelled_externally":
        may_be_late = is_running or which not in requests.accepted
        return "moving" if may_be_late and which not in requests.after.external else class_
    if class_ == "diverged" and which in requests.ours and _is_half_way(move, seen):
        return "moving"
    if class_ == "not_started" and which in requests.after.cancelled_outside:
        return "cancelled_externally"
    return class_


def _is_half_way(move: Move, seen: ObservedPartition | None) -> bool:
    """Whether a broker shows the list of a running move, which the controller ended already."""
    return (
        seen is not None
        and not seen.is_reassigning
        and set(seen.replicas) == {*move.before, *move.after}
    )


def _with_look(
    state: ApplyState, look: Looked, requests: _Requests, *, is_running: bool
) -> ApplyState:
    """The state as one reading shows it, believed at once."""
    partitions = dict(state.partitions)
    for which in state.queried:
        progress, seen = partitions[which], look.partitions.get(which)
        class_ = _class_of(state.moves[which], seen, progress.sent, requests, is_running=is_running)
        partitions[which] = replace(progress, class_=class_, seen=seen)
    return replace(add_sample(state, partitions, look), partitions=partitions, live=look.live)


def status_of_run(state: ApplyState) -> Status:
    """The status of a running run, for its progress bar."""
    seen = observed_rates(state.samples)
    is_known = state.samples and state.samples[-1].at_ms > state.samples[0].from_ms
    rate = sum(seen.incoming.values()) if is_known else None
    pairs = [(state.moves[each], progress) for each, progress in state.partitions.items()]
    left = remaining(pairs)
    return Status(
        classes={each: progress.class_ for each, progress in state.partitions.items()},
        bytes=sum(
            (move.bytes or 0) * len(move.added)
            for move, progress in pairs
            if progress.class_ != "dropped"
        ),
        left=left,
        eta=eta(left, rates_of(state)),
        bytes_per_s=rate,
        throttles=state.ledger,
    )
