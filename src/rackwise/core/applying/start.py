"""The first state of a run: from a plan alone, or from a plan and the journal of earlier runs.

Goals, in order: a move that was requested is known as ours, even without a journalled answer; no
throttle of this tool is forgotten; nothing else of an earlier run is kept, because the cluster is
read again.

Algorithm: the lines are folded in their order.

```
batch_intent move           intent            batch_intent cancel      cancelling
batch_result accepted       sent              ... accepted, unknown    cancelling
             rejected       intent            ... rejected             sent
partition moving            sent              partition cancelled, target_dead    none
                                              ... with an error: Kafka rejected the
                                              order of before                     cancelling
elect_result elected        the leader is not requested again
throttle_intent             a throttle of ours; the first old value is the one to restore
throttle_change             the throttle of the run that continues, too; with an error, the one
                            from before the change
throttle_restored           not ours any more
begin                       a killed run with the same budget is continued: its moves count
end                         the next run may request again what others cancelled; a done move
                            with its leader elected is not ours any more: it may be undone;
                            of a run that only sets or restores throttles it says nothing
```

Example, killed between `batch_intent` and its answer: the partition is `intent`. If it moves to the
target of the plan it is ours; if it has the list of before it is started again.

What this does not do: read files; check that the plan still fits the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import singledispatchmethod
from typing import TYPE_CHECKING

from rackwise.core.applying.budget import Budget
from rackwise.core.applying.journal.lines import (
    BatchIntent,
    BatchResult,
    Begin,
    ElectIntent,
    ElectResult,
    End,
    Line,
    PartitionLine,
    ThrottleChange,
    ThrottleIntent,
    ThrottleRestored,
)
from rackwise.core.applying.model import MOST_RATE, ApplyState, Caps, Entry, Progress
from rackwise.core.errors import InvalidConfig, InvalidPlan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rackwise.core.applying.model import Mode, RequestStatus, ThrottleKey
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move, Plan


# The runs that move partitions or cancel moves; the others only set or restore throttles.
_WHOLE: frozenset[Mode] = frozenset({"apply", "cancel"})


@dataclass(slots=True)
class History:
    """The result of folding the lines of a journal."""

    sent: dict[PartitionId, RequestStatus] = field(default_factory=dict)
    """Partition -> what was requested for it."""
    elected: set[PartitionId] = field(default_factory=set)
    """Partitions whose leader was elected on request."""
    ledger: dict[ThrottleKey, Entry] = field(default_factory=dict)
    """Throttles of this tool that were not restored."""
    external: set[PartitionId] = field(default_factory=set)
    """Partitions that others cancelled."""
    cancelled_outside: set[PartitionId] = field(default_factory=set)
    """Those of all runs that were not requested again since."""
    done: set[PartitionId] = field(default_factory=set)
    """Partitions that are done since their last request."""
    awaiting_election: set[PartitionId] = field(default_factory=set)
    """Partitions with an election that was requested and not granted."""
    batch: int = 0
    """Number of the last request."""
    begin: Begin | None = None
    """First line of the last run."""
    open_run: Begin | None = None
    """First line of the last run that moved partitions, if that run was killed."""
    begun: set[PartitionId] = field(default_factory=set)
    """Partitions that the last run requested, together with the killed runs that it continues."""
    budget: Budget = field(default_factory=Budget)
    """Budget of the last run that moved partitions."""
    throttle: int | None = None
    """Throttle of the last run that moved partitions."""
    throttle_before: int | None = None
    """The throttle that was set before a change that is requested and not set yet."""
    is_ended: bool = False
    """Whether the last run reached its end."""
    mode: Mode | None = None
    """Mode of the last run that did more than restore throttles."""
    end: End | None = None
    """End of that run; None: it did not reach its end."""

    @property
    def is_closed(self) -> bool:
        """Whether nothing is left open: no run began, or the last one completed.

        A run that only sets or restores throttles completes no other.
        """
        if self.begin is None:
            return True
        is_complete = self.is_ended and self.end is not None and self.end.stop is None
        return is_complete and not self.ledger

    @property
    def was_cancelled(self) -> bool:
        """Whether the last run cancelled moves."""
        return self.mode == "cancel"

    @property
    def is_finished(self) -> bool:
        """Whether the last run completed the whole plan, leaders too, and left no throttle."""
        if self.mode != "apply" or self.end is None or self.ledger or self.awaiting_election:
            return False
        missing = self.end.failed + self.end.skipped + self.end.dropped
        return self.end.stop is None and not missing

    def continues(self, budget: Budget) -> bool:
        """Whether a run with this budget continues the last one, which was killed."""
        return self.open_run is not None and self.open_run.budget.limits == budget.limits

    def begun_in(self, budget: Budget) -> frozenset[PartitionId]:
        """The partitions that count already for a run with this budget."""
        return frozenset(self.begun if self.continues(budget) else ())

    def kept_throttle(self, *, is_new: bool) -> int | None:
        """The throttle of a run that is given none.

        A new run keeps that of the last one only where throttles of it are still set.
        """
        return None if is_new and not self.ledger else self.throttle

    @singledispatchmethod
    def add(self, line: object) -> None:
        """Fold one more line; a line without state is ignored."""
        del line

    @add.register
    def _(self, line: Begin) -> None:
        self.begin, self.is_ended = line, False
        if line.mode in _WHOLE:
            self.mode, self.end = line.mode, None
        if line.mode in {"apply", "throttle"}:
            self.throttle = self.throttle_before = line.throttle
        if line.mode == "apply":
            if not self.continues(line.budget):
                self.begun.clear()
            self.budget = line.budget
            self.open_run = line
        elif line.mode == "cancel":
            self.open_run = None

    @add.register
    def _(self, line: BatchIntent) -> None:
        self.batch = max(self.batch, line.batch)
        sent: RequestStatus = "intent" if line.act == "move" else "cancelling"
        if line.act == "move":
            self.begun.update(line.partitions)
        self.sent.update(dict.fromkeys(line.partitions, sent))
        for each in (
            self.elected,
            self.external,
            self.cancelled_outside,
            self.done,
            self.awaiting_election,
        ):
            each.difference_update(line.partitions)

    @add.register
    def _(self, line: BatchResult) -> None:
        if line.act == "move":
            self.sent.update(dict.fromkeys(line.accepted, "sent"))
        elif line.act == "cancel":
            self.sent.update(dict.fromkeys((which for which, _ in line.refused), "sent"))

    @add.register
    def _(self, line: PartitionLine) -> None:
        if line.class_ == "moving":
            self.sent[line.partition] = "sent"
        elif line.class_ in {"cancelled", "target_dead"}:
            self.sent[line.partition] = "none" if line.code is None else "cancelling"
        elif line.class_ == "cancelled_externally":
            self.external.add(line.partition)
            self.cancelled_outside.add(line.partition)
        elif line.class_ == "done":
            self.done.add(line.partition)
        elif line.class_ == "refused":
            self.begun.discard(line.partition)

    @add.register
    def _(self, line: ElectIntent) -> None:
        self.awaiting_election.update(line.partitions)

    @add.register
    def _(self, line: ElectResult) -> None:
        self.elected.update(line.elected)
        self.awaiting_election.difference_update(line.elected)

    @add.register
    def _(self, line: ThrottleIntent) -> None:
        for setting in line.settings:
            before = self.ledger.get(setting.key)
            ours = before.ours if before else ()
            kept = tuple(each for each in ours if each != setting.ours)
            self.ledger[setting.key] = Entry(prior=setting.prior, ours=(*kept, setting.ours))

    @add.register
    def _(self, line: ThrottleChange) -> None:
        self.throttle = line.rate if line.error is None else self.throttle_before
        if line.is_set:
            self.throttle_before = line.rate

    @add.register
    def _(self, line: ThrottleRestored) -> None:
        for key in line.keys:
            self.ledger.pop(key, None)

    @add.register
    def _(self, line: End) -> None:
        self.is_ended = True
        if self.begin is not None and self.begin.mode not in _WHOLE:
            return
        self.end, self.open_run = line, None
        self.sent.update(dict.fromkeys(self.external, "intent"))
        self.external.clear()
        self.sent.update(dict.fromkeys(self.done - self.awaiting_election, "none"))


def history_of(lines: Iterable[Line]) -> History:
    """Fold these lines, the first one first."""
    history = History()
    for line in lines:
        history.add(line)
    return history


def start(
    plan: Plan,
    caps: Caps = Caps(),  # noqa: B008, it is frozen
    throttle: int | None = None,
    *,
    mode: Mode = "apply",
    dropped: Collection[PartitionId] = (),
    budget: Budget = Budget(),  # noqa: B008, it is frozen
) -> ApplyState:
    """The first state of a run without a journal.

    `throttle`: bytes per second; `dropped`: partitions to leave out. Raises `InvalidConfig` for a
    rate that Kafka does not accept.
    """
    return resume(plan, (), caps, throttle, mode=mode, dropped=dropped, budget=budget)


def resume(
    plan: Plan,
    lines: Iterable[Line],
    caps: Caps = Caps(),  # noqa: B008, it is frozen
    throttle: int | None = None,
    *,
    mode: Mode = "apply",
    dropped: Collection[PartitionId] = (),
    budget: Budget = Budget(),  # noqa: B008, it is frozen
    is_new: bool = False,
) -> ApplyState:
    """The first state of a run that continues from a journal.

    A killed run with the same budget is continued: its moves count. Without `throttle` the throttle
    of the last run is kept; if the run `is_new`, only where throttles of it are still set. Raises
    `InvalidConfig` for a rate that Kafka does not accept, `InvalidPlan` for a journal of another
    plan.
    """
    if throttle is not None and not 1 <= throttle <= MOST_RATE:
        raise InvalidConfig(
            f"invalid throttle: expected 1 to {MOST_RATE} bytes per second, got {throttle}",
            wanted=1,
            had=throttle,
        )
    history = history_of(lines)
    if history.begin is not None and history.begin.plan != plan.sha256:
        raise InvalidPlan(
            f"invalid journal: expected one of plan {plan.sha256}, got one of plan "
            f"{history.begin.plan}",
            wanted=plan.sha256,
            had=history.begin.plan,
        )
    if throttle is None:
        throttle = history.kept_throttle(is_new=is_new)
    moves = {(move.topic, move.partition): move for move in plan.moves}
    return ApplyState(
        plan=plan.sha256,
        moves=moves,
        caps=caps,
        mode=mode,
        rate=throttle if mode in {"apply", "throttle"} else None,
        partitions=_initial_progress(moves, history, caps, frozenset(dropped)),
        budget=budget,
        begun=history.begun_in(budget),
        ledger=history.ledger,
        batch=history.batch,
    )


def start_restore(lines: Iterable[Line]) -> ApplyState:
    """The first state of a run that only clears the throttles of a journal."""
    history = history_of(lines)
    plan = "" if history.begin is None else history.begin.plan
    return ApplyState(
        plan=plan,
        moves={},
        caps=Caps(),
        mode="restore",
        ledger=history.ledger,
        batch=history.batch,
    )


def _initial_progress(
    moves: Mapping[PartitionId, Move],
    history: History,
    caps: Caps,
    dropped: frozenset[PartitionId],
) -> dict[PartitionId, Progress]:
    """The first progress of every move, in the order of the plan."""
    progress = {}
    for partition in moves:
        each = Progress(
            sent=history.sent.get(partition, "none"),
            is_elected=not caps.elect or partition in history.elected,
        )
        progress[partition] = replace(each, class_="dropped") if partition in dropped else each
    return progress
