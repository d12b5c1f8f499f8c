"""How far a plan is: from its journal and one look, or from a run that goes on.

Goals, in order: every partition of the plan is in one class; a journal that is lost makes the
answer poorer, not wrong (what moves then counts as foreign); nothing is written.

What this does not do: wait until one look is certain. A broker whose metadata is late shows a
partition as it was a moment ago.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rackwise.core.applying.classes import classify
from rackwise.core.applying.progress import Rates, eta, observed, rates_of, remaining
from rackwise.core.applying.starting import resume

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rackwise.core.applying.acts import Looked
    from rackwise.core.applying.lines import Line
    from rackwise.core.applying.progress import Eta, Remaining
    from rackwise.core.applying.values import ApplyState, Class, Entry, PartitionId, ThrottleKey
    from rackwise.core.planning.values import Plan

_NO_RATES = Rates(incoming={}, outgoing={})


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
    rates: Rates = _NO_RATES,
    dropped: Collection[PartitionId] = (),
) -> Status:
    """From a journal, which may have no line, and one look at all partitions of the plan."""
    state = resume(plan, lines, dropped=dropped)
    partitions = dict(state.partitions)
    for partition, progress in state.partitions.items():
        if progress.class_ != "dropped":
            seen = look.partitions.get(partition)
            shown = classify(state.moves[partition], seen, progress.sent)
            partitions[partition] = replace(progress, class_=shown, seen=seen)
    return _status(replace(state, partitions=partitions), rates, None)


def status_of_run(state: ApplyState) -> Status:
    """Of a run that goes on: what its bar shows."""
    seen = observed(state.samples)
    is_known = state.samples and state.samples[-1].at_ms > state.samples[0].from_ms
    rate = sum(seen.incoming.values()) if is_known else None
    return _status(state, rates_of(state), rate)


def _status(state: ApplyState, rates: Rates, bytes_per_s: int | None) -> Status:
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
        eta=eta(left, rates),
        bytes_per_s=bytes_per_s,
        throttles=state.ledger,
    )
