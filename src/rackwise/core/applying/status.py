"""The progress of a plan: from its journal and one or two readings, or from a run in progress.

Goals, in order: every partition of the plan is in one class; a lost journal makes the answer less
precise but not wrong (its moves count as foreign); nothing is written.

One reading shows how many bytes are left, two show how fast they arrive. The remaining time is
reported where a throttle is known, or where bytes arrived between the readings.

What this does not do: wait until one reading is certain. A broker with late metadata shows an
earlier state of a partition.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.applying.observe import add_sample
from rackwise.core.applying.partition_class import classify
from rackwise.core.applying.progress import eta, observed_rates, rates_of, remaining
from rackwise.core.applying.start import resume
from rackwise.core.applying.throttles.set import with_rates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import (
        ApplyState,
        Entry,
        PartitionClass,
        PartitionId,
        ThrottleKey,
    )
    from rackwise.core.applying.progress import Eta, Remaining
    from rackwise.core.planning.model import Plan

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
    throttles: Mapping[ThrottleKey, str] = _NOTHING_SET,
    dropped: Collection[PartitionId] = (),
) -> Status:
    """The status from a journal, which may be empty, and a reading of all partitions of the plan.

    `earlier`: a reading before `look`, both with sizes. `throttles`: the rates that the brokers
    have now; keys that are missing there are taken from the journal.
    """
    state = resume(plan, lines, dropped=dropped)
    included = [which for which, each in state.partitions.items() if each.class_ != "dropped"]
    journalled = {key: entry.ours[-1] for key, entry in state.ledger.items()}
    state = with_rates(replace(state, queried=tuple(included)), {**journalled, **throttles})
    for each in (earlier, look):
        state = state if each is None else _with_look(state, each)
    return status_of_run(state)


def _with_look(state: ApplyState, look: Looked) -> ApplyState:
    """The state as one reading shows it, believed at once."""
    partitions = dict(state.partitions)
    for which in state.queried:
        progress, seen = partitions[which], look.partitions.get(which)
        class_ = classify(state.moves[which], seen, progress.sent)
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
