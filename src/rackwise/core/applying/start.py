"""A run begins: from a plan alone, or from a plan and what the journal of earlier runs tells.

Goals, in order: what was asked for is known as ours, also where no answer was journalled; no
throttle of ours is forgotten; nothing else of an earlier run holds, as the cluster is looked at
again.

Algorithm: the lines are folded, the first one first.

```
batch_intent move           intent            batch_intent cancel      cancelling
batch_result accepted       sent              ... accepted, unknown    cancelling
             refused        intent            ... refused              sent
partition moving            sent              partition cancelled, target_dead    none
elect_result elected        the leader is not asked for again
throttle_intent             a throttle of ours; what stood there first is what comes back
throttle_restored           ours no more
end                         what others cancelled may be asked for again by the next run; what was
                            done and led as wanted is known as ours no more: it may be undone
```

Example, killed between `batch_intent` and its answer: the partition is `intent`. If it moves to the
plan's target it is ours; if it stands as before it is begun anew.

What this does not do: read files; check that the plan still fits the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import singledispatchmethod
from typing import TYPE_CHECKING

from rackwise.core.applying.journal.lines import (
    BatchIntent,
    BatchResult,
    Begin,
    ElectIntent,
    ElectResult,
    End,
    Line,
    PartitionLine,
    ThrottleIntent,
    ThrottleRestored,
)
from rackwise.core.applying.model import ApplyState, Caps, Entry, Progress
from rackwise.core.errors import InvalidConfig, InvalidPlan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from rackwise.core.applying.model import Mode, PartitionId, Sent, ThrottleKey
    from rackwise.core.planning.model import Move, Plan

MOST_RATE = 2**63 - 1
"""Kafka keeps a rate as a signed 64-bit number."""


@dataclass(slots=True)
class History:
    """What the lines of a journal come to. `elected`: asked for and made leader.

    `done`: since they were asked for; `unled`: an election was asked for and not granted yet.
    `begin`: the last run's first line; `throttle`: of the last run that moved; `is_ended`: the last
    run came to its end. `mode`, `end`: of the last run that did more than put throttles back; no
    `end`: it did not come to one.
    """

    sent: dict[PartitionId, Sent] = field(default_factory=dict)
    elected: set[PartitionId] = field(default_factory=set)
    ledger: dict[ThrottleKey, Entry] = field(default_factory=dict)
    external: set[PartitionId] = field(default_factory=set)
    done: set[PartitionId] = field(default_factory=set)
    unled: set[PartitionId] = field(default_factory=set)
    batch: int = 0
    begin: Begin | None = None
    throttle: int | None = None
    is_ended: bool = False
    mode: Mode | None = None
    end: End | None = None

    @property
    def is_taken_back(self) -> bool:
        """What was done last was to take moves back."""
        return self.mode == "cancel"

    @property
    def is_finished(self) -> bool:
        """What was done last was the whole plan, leaders too, with no throttle left."""
        if self.mode != "apply" or self.end is None or self.ledger or self.unled:
            return False
        left = self.end.failed + self.end.skipped + self.end.dropped
        return self.end.stop is None and not left

    @singledispatchmethod
    def add(self, line: object) -> None:
        """One more line; what it does not tell about state is passed over."""
        del line

    @add.register
    def _(self, line: Begin) -> None:
        self.begin, self.is_ended = line, False
        if line.mode != "restore":
            self.mode, self.end = line.mode, None
        if line.mode == "apply":
            self.throttle = line.throttle

    @add.register
    def _(self, line: BatchIntent) -> None:
        self.batch = max(self.batch, line.batch)
        sent: Sent = "intent" if line.act == "move" else "cancelling"
        self.sent.update(dict.fromkeys(line.partitions, sent))
        for each in (self.elected, self.external, self.done, self.unled):
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
            self.sent[line.partition] = "none"
        elif line.class_ == "cancelled_externally":
            self.external.add(line.partition)
        elif line.class_ == "done":
            self.done.add(line.partition)

    @add.register
    def _(self, line: ElectIntent) -> None:
        self.unled.update(line.partitions)

    @add.register
    def _(self, line: ElectResult) -> None:
        self.elected.update(line.elected)
        self.unled.difference_update(line.elected)

    @add.register
    def _(self, line: ThrottleIntent) -> None:
        for setting in line.settings:
            before = self.ledger.get(setting.key)
            ours = before.ours if before else ()
            kept = tuple(each for each in ours if each != setting.ours)
            self.ledger[setting.key] = Entry(prior=setting.prior, ours=(*kept, setting.ours))

    @add.register
    def _(self, line: ThrottleRestored) -> None:
        for key in line.keys:
            self.ledger.pop(key, None)

    @add.register
    def _(self, line: End) -> None:
        self.is_ended = True
        if self.begin is not None and self.begin.mode != "restore":
            self.end = line
        self.sent.update(dict.fromkeys(self.external, "intent"))
        self.external.clear()
        self.sent.update(dict.fromkeys(self.done - self.unled, "none"))


def history_of(lines: Iterable[Line]) -> History:
    """What these lines come to, the first one first."""
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
) -> ApplyState:
    """A run without a journal. `throttle`: bytes per second; `dropped`: not to be touched.

    Raises `InvalidConfig` for a rate that Kafka does not take.
    """
    return resume(plan, (), caps, throttle, mode=mode, dropped=dropped)


def resume(
    plan: Plan,
    lines: Iterable[Line],
    caps: Caps = Caps(),  # noqa: B008, it is frozen
    throttle: int | None = None,
    *,
    mode: Mode = "apply",
    dropped: Collection[PartitionId] = (),
) -> ApplyState:
    """A run that goes on from a journal; without a throttle the last run's holds.

    Raises `InvalidConfig` for a rate that Kafka does not take, `InvalidPlan` for a journal of
    another plan.
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
        throttle = history.throttle
    moves = {(move.topic, move.partition): move for move in plan.moves}
    return ApplyState(
        plan=plan.sha256,
        moves=moves,
        caps=caps,
        mode=mode,
        rate=throttle if mode == "apply" else None,
        partitions=_partitions(moves, history, caps, frozenset(dropped)),
        ledger=history.ledger,
        batch=history.batch,
    )


def restoring(lines: Iterable[Line]) -> ApplyState:
    """A run that only takes off the throttles which a journal says are ours."""
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


def _partitions(
    moves: Mapping[PartitionId, Move],
    history: History,
    caps: Caps,
    dropped: frozenset[PartitionId],
) -> dict[PartitionId, Progress]:
    progress = {}
    for place, partition in enumerate(moves):
        is_out = partition in dropped or (caps.first is not None and place >= caps.first)
        each = Progress(
            sent=history.sent.get(partition, "none"),
            is_elected=not caps.elect or partition in history.elected,
        )
        progress[partition] = replace(each, class_="dropped") if is_out else each
    return progress
