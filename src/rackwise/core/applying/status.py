"""How far a plan is: from its journal and a look or two, or from a run that goes on.

Goals, in order: every partition of the plan is in one class; a journal that is lost makes the
answer poorer, not wrong (what moves then counts as foreign); nothing is written.

One look shows how many bytes are to come, two show how fast they come: the time left is told where
a throttle is known or something arrived between the looks.

What this does not do: wait until one look is certain. A broker whose metadata is late shows a
partition as it was a moment ago.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.applying.observe import sampled
from rackwise.core.applying.partition_class import classify
from rackwise.core.applying.progress import eta, observed, rates_of, remaining
from rackwise.core.applying.start import resume
from rackwise.core.applying.throttles.set import with_rates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rackwise.core.applying.actions import Looked
    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.applying.model import ApplyState, Class, Entry, PartitionId, ThrottleKey
    from rackwise.core.applying.progress import Eta, Remaining
    from rackwise.core.planning.model import Plan

_NOTHING_SET: Mapping[ThrottleKey, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far it is. `classes`: of every move, in the plan's order; `counts`: of those that occur.

    `bytes`: of all copies of the plan whose size is known; `left`: of them, what is to come.
    `bytes_per_s`: that came in the last minute, None = not known. `throttles`: ours that stand.
    """

    classes: Mapping[PartitionId, Class]
    bytes: int
    left: Remaining
    eta: Eta
    bytes_per_s: int | None
    throttles: Mapping[ThrottleKey, Entry]

    @property
    def counts(self) -> dict[Class, int]:
        """Class -> partitions."""
        return dict(Counter(self.classes.values()))

    @property
    def is_done(self) -> bool:
        """Every partition is as the plan wants it."""
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
    """From a journal, which may have no line, and a look at all partitions of the plan.

    `earlier`: a look before that one, both with sizes. `throttles`: the rates that stand at the
    brokers; what is not among them is taken from the journal.
    """
    state = resume(plan, lines, dropped=dropped)
    asked = [which for which, each in state.partitions.items() if each.class_ != "dropped"]
    journalled = {key: entry.ours[-1] for key, entry in state.ledger.items()}
    state = with_rates(replace(state, asked=tuple(asked)), {**journalled, **throttles})
    for each in (earlier, look):
        state = state if each is None else _shown(state, each)
    return status_of_run(state)


def _shown(state: ApplyState, look: Looked) -> ApplyState:
    """The state as one look shows it, believed at once."""
    partitions = dict(state.partitions)
    for which in state.asked:
        progress, seen = partitions[which], look.partitions.get(which)
        class_ = classify(state.moves[which], seen, progress.sent)
        partitions[which] = replace(progress, class_=class_, seen=seen)
    return replace(sampled(state, partitions, look), partitions=partitions, live=look.live)


def status_of_run(state: ApplyState) -> Status:
    """Of a run that goes on: what its bar shows."""
    seen = observed(state.samples)
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
