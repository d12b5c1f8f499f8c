"""A model of a cluster for a run: it takes requests, loses answers, copies bytes, dies, changes.

It is a model of the controller, not a mock: lists, in-sync replicas, leaders and configs change as
KIP-455, KIP-460 and KIP-73 say. Metadata of partitions that do not move is up to `lag_ms` old, as a
broker's may be. `execute` answers one action of a run.

`laws_applying` judges what a run requests; this model does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rackwise.core.applying.actions import (
    Action,
    Alter,
    Altered,
    AppendLine,
    Elect,
    Elected,
    Failed,
    Finish,
    Look,
    Looked,
    Observation,
    ReadThrottles,
    SetThrottles,
    ThrottlesRead,
    ThrottlesSet,
    Wait,
    Waited,
)
from rackwise.core.applying.model import ObservedPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.core.applying.journal.lines import Line
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move

RequestFate: TypeAlias = Literal["done", "lost", "unanswered", "partly"]
"""The fate of one request: executed and answered; never arrived; answer lost; half of it lost."""


@dataclass(slots=True, kw_only=True)
class Held:
    """One partition at the controller."""

    topic_id: str
    replicas: tuple[int, ...]
    isr: set[int]
    leader: int | None
    bytes: int
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    arrived: dict[int, int] = field(default_factory=dict)

    def seen(self, *, sizes: bool) -> ObservedPartition:
        """The partition as the controller shows it."""
        return ObservedPartition(
            topic_id=self.topic_id,
            replicas=self.replicas,
            adding=self.adding,
            removing=self.removing,
            leader=self.leader,
            isr=tuple(sorted(self.isr)),
            adding_bytes=dict(self.arrived) if sizes else {},
        )


@dataclass(slots=True, kw_only=True)
class ModelledKafka:
    """The cluster. `speed`: bytes per ms into each adding replica, 0 = only on request.

    `refusals`: partition -> error that answers its next request. `shown`: what late metadata shows,
    and until when.
    """

    brokers: frozenset[int]
    live: set[int]
    partitions: dict[PartitionId, Held]
    broker_configs: dict[int, dict[str, str]] = field(default_factory=dict)
    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    now_ms: int = 0
    speed: int = 0
    lag_ms: int = 0
    min_isr: int = 1
    by_controller: bool = False
    refusals: dict[PartitionId, str] = field(default_factory=dict)
    shown: dict[PartitionId, tuple[int, ObservedPartition]] = field(default_factory=dict)
    bad_dirs: set[tuple[int, str]] = field(default_factory=set)
    journal: list[Line] = field(default_factory=list)
    requests: list[Alter | Elect | SetThrottles] = field(default_factory=list)

    @classmethod
    def before(cls, moves: Iterable[Move], brokers: Iterable[int], **told: Any) -> ModelledKafka:
        """A healthy cluster in which every partition has the replicas from before its move."""
        partitions = {
            (move.topic, move.partition): Held(
                topic_id=move.topic_id or "",
                replicas=move.before,
                isr=set(move.before),
                leader=move.before[0],
                bytes=move.bytes or 0,
            )
            for move in moves
        }
        ids = frozenset(brokers)
        return cls(brokers=ids, live=set(ids), partitions=partitions, **told)

    def execute(self, action: Action, fate: RequestFate = "done") -> Observation | None:
        """Answer one action; a line of the journal and the end need no answer."""
        if isinstance(action, AppendLine):
            self.journal.append(action.line)
            return None
        if isinstance(action, Finish):
            return None
        if isinstance(action, Wait):
            self.pass_time(action.most_ms)
            return Waited(at_ms=self.now_ms)
        if fate == "lost":
            return Failed(at_ms=self.now_ms, text="the connection was closed")
        seen = self._answer(action, fate)
        if fate == "unanswered":
            return Failed(at_ms=self.now_ms, text="no answer came in time")
        return seen

    def _answer(self, action: Action, fate: RequestFate) -> Observation:
        if isinstance(action, Look):
            return self._look(action)
        if isinstance(action, ReadThrottles):
            return self._read(action)
        assert isinstance(action, Alter | Elect | SetThrottles)
        self.requests.append(action)
        if isinstance(action, SetThrottles):
            return self._set(action, fate)
        if isinstance(action, Alter):
            answers = {
                which: self._alter(which, target, action) for which, target in action.targets
            }
            return Altered(at_ms=self.now_ms, answers=_partly(answers, fate))
        answers = {which: self._elect(which) for which in action.partitions}
        return Elected(at_ms=self.now_ms, answers=_partly(answers, fate))

    def _look(self, action: Look) -> Looked:
        partitions = {
            which: self._shown(which, held, sizes=action.sizes)
            for which in action.partitions
            if (held := self.partitions.get(which)) is not None
        }
        asked = set(action.partitions)
        return Looked(
            at_ms=self.now_ms,
            partitions=partitions,
            live=frozenset(self.live),
            by_controller=self.by_controller,
            foreign={
                which: held.seen(sizes=False)
                for which, held in self.partitions.items()
                if which not in asked and (held.adding or held.removing)
            },
            offline=frozenset(w for w, held in self.partitions.items() if held.leader is None),
            under_min_isr=frozenset(
                which
                for which, held in self.partitions.items()
                if held.leader is not None and len(held.isr & self.live) < self.min_isr
            ),
            bad_dirs=frozenset(self.bad_dirs),
            has_sizes=action.sizes,
        )

    def _shown(self, which: PartitionId, held: Held, *, sizes: bool) -> ObservedPartition:
        """The controller lists a reassignment at once; all else may be late."""
        until_ms, late = self.shown.get(which, (0, None))
        if late is None or held.adding or held.removing or self.now_ms >= until_ms:
            return held.seen(sizes=sizes)
        return late

    def _changes(self, which: PartitionId) -> None:
        """The present state may stay visible for a while."""
        held = self.partitions[which]
        if self.lag_ms and not (held.adding or held.removing):
            self.shown[which] = (self.now_ms + self.lag_ms, held.seen(sizes=False))

    def _read(self, action: ReadThrottles) -> ThrottlesRead:
        topics = {topic for topic, _ in self.partitions}
        return ThrottlesRead(
            at_ms=self.now_ms,
            brokers={
                b: dict(self.broker_configs.get(b, {})) for b in action.brokers if b in self.live
            },
            topics={t: dict(self.topic_configs.get(t, {})) for t in action.topics if t in topics},
            gone=frozenset(action.topics) - topics,
        )

    def _set(self, action: SetThrottles, fate: RequestFate) -> ThrottlesSet:
        answers: dict[object, str | None] = {}
        for key, value in action.changes:
            if key.kind == "broker" and int(key.name) not in self.live:
                continue
            configs = (
                self.broker_configs.setdefault(int(key.name), {})
                if key.kind == "broker"
                else self.topic_configs.setdefault(key.name, {})
            )
            if value is None:
                configs.pop(key.key, None)
            else:
                configs[key.key] = value
            answers[key] = None
        return ThrottlesSet(at_ms=self.now_ms, answers=_partly(answers, fate))

    def _alter(
        self, which: PartitionId, target: tuple[int, ...] | None, action: Alter
    ) -> str | None:
        if which in self.refusals:
            return self.refusals.pop(which)
        held = self.partitions.get(which)
        if held is None:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        self._changes(which)
        if target is None:
            return self._cancel(which)
        placed = tuple(each for each in held.replicas if each not in held.adding)
        if not set(target) <= self.brokers:
            return "INVALID_REPLICA_ASSIGNMENT"
        old_length = len([each for each in held.replicas if each not in held.removing])
        if not action.allow_replication_factor_change and len(target) != old_length:
            return "INVALID_REPLICATION_FACTOR"
        held.removing = tuple(each for each in placed if each not in target)
        held.adding = tuple(each for each in target if each not in placed)
        held.replicas = (*target, *held.removing)
        held.arrived = {each: held.arrived.get(each, 0) for each in held.adding}
        self._complete(which)
        return None

    def _cancel(self, which: PartitionId) -> str | None:
        held = self.partitions[which]
        if not held.adding and not held.removing:
            return "NO_REASSIGNMENT_IN_PROGRESS"
        held.replicas = tuple(each for each in held.replicas if each not in held.adding)
        held.isr -= set(held.adding)
        held.adding, held.removing, held.arrived = (), (), {}
        self._lead(held)
        return None

    def _complete(self, which: PartitionId) -> None:
        held = self.partitions[which]
        filled = all(held.arrived[each] >= held.bytes for each in held.adding)
        if not filled or not set(held.adding) <= self.live:
            return
        self._changes(which)
        target = tuple(each for each in held.replicas if each not in held.removing)
        held.replicas, held.adding, held.removing, held.arrived = target, (), (), {}
        held.isr = {each for each in target if each in self.live}
        self._lead(held)

    def _lead(self, held: Held) -> None:
        able = [each for each in held.replicas if each in self.live and each in held.isr]
        if held.leader not in able:
            held.leader = able[0] if able else None

    def _elect(self, which: PartitionId) -> str | None:
        if which in self.refusals:
            return self.refusals.pop(which)
        held = self.partitions.get(which)
        if held is None:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        if held.leader == held.replicas[0]:
            return "ELECTION_NOT_NEEDED"
        if held.replicas[0] not in self.live or held.replicas[0] not in held.isr:
            return "PREFERRED_LEADER_NOT_AVAILABLE"
        held.leader = held.replicas[0]
        return None

    def pass_time(self, ms: int) -> None:
        """Time passes and bytes are copied."""
        self.now_ms += ms
        for which, held in self.partitions.items():
            if held.leader is None:
                continue
            for broker in held.adding:
                if broker in self.live:
                    held.arrived[broker] = min(held.bytes, held.arrived[broker] + self.speed * ms)
            if held.adding or held.removing:
                self._complete(which)

    def kill(self, broker: int) -> None:
        """A broker dies."""
        self.live.discard(broker)
        for held in self.partitions.values():
            if len(held.isr) > 1:
                held.isr.discard(broker)
            self._lead(held)

    def start(self, broker: int) -> None:
        """A broker comes back and catches up."""
        self.live.add(broker)
        for which, held in self.partitions.items():
            if broker in held.replicas and broker not in held.adding:
                held.isr.add(broker)
            self._lead(held)
            if held.adding or held.removing:
                self._complete(which)

    def cancel_from_outside(self, which: PartitionId) -> None:
        """Another tool cancels a reassignment."""
        self._changes(which)
        self._cancel(which)

    def configs(self) -> tuple[dict[int, dict[str, str]], dict[str, dict[str, str]]]:
        """All throttles that are set."""
        return (
            {broker: dict(keys) for broker, keys in self.broker_configs.items() if keys},
            {topic: dict(keys) for topic, keys in self.topic_configs.items() if keys},
        )

    def copy(self) -> ModelledKafka:
        """A copy of the cluster that changes independently."""
        partitions = {
            which: replace(held, isr=set(held.isr), arrived=dict(held.arrived))
            for which, held in self.partitions.items()
        }
        brokers, topics = self.configs()
        return replace(
            self,
            live=set(self.live),
            partitions=partitions,
            broker_configs=brokers,
            topic_configs=topics,
            refusals=dict(self.refusals),
            shown=dict(self.shown),
            bad_dirs=set(self.bad_dirs),
            journal=list(self.journal),
            requests=list(self.requests),
        )


def _partly(answers: dict, fate: RequestFate) -> dict:  # type: ignore[type-arg]
    """Every second answer, if a part of them is lost."""
    return dict(list(answers.items())[::2]) if fate == "partly" else answers
