"""The base class of all assignors: it serves one consumer of any client.

```
client                 here                    group.Participant
metadata               user_data               subscription
assign                 assign_members          answer
on_assignment          note_assignment         settled, then perhaps private.request_rejoin
metadata of cluster    on_metadata             observe, then perhaps private.request_rejoin
```

No exception leaves a callback. Errors are counted and kept, and the client receives a usable
result. A plug-in adds the conversion of its client's members, brokers and partitions.

Source: KIP-881; `AbstractPartitionAssignor` of kafka-python and of aiokafka.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from rackwise.adapters.clients import private
from rackwise.adapters.clients.group import AssignorRule, Participant
from rackwise.core.assignors.kafka.cooperative import assign_cooperative
from rackwise.core.assignors.kafka.range import assign_range
from rackwise.core.assignors.kafka.roundrobin import assign_roundrobin
from rackwise.core.assignors.kafka.sticky import assign_sticky
from rackwise.core.assignors.members import TopicPartition
from rackwise.core.assignors.watch import RackView
from rackwise.core.errors import InvalidConfig, RackMismatch
from rackwise.core.text import escaped
from rackwise.core.wire.consumer import encode_assignment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.adapters.clients.group import ReportedMember
    from rackwise.adapters.clients.optimum import Optimum
    from rackwise.adapters.clients.private import Theirs
    from rackwise.core.assignors.measure.evaluate import AssignmentReport
    from rackwise.core.assignors.members import Assignment, Members, ReplicaRacks

VERSION = 3
"""The version of the bytes that are written: the newest, as Java does."""


class Serving(ABC):
    """One consumer's assignor."""

    client: ClassVar[str]
    """The client's name in `private`."""
    rule: ClassVar[AssignorRule]
    """The kind of the assignor."""
    _participant: Participant
    _consumer: weakref.ref[Theirs] | None = None

    @property
    def name(self) -> str:
        """The name that the group agrees on."""
        return self._participant.rule.name

    @property
    def rack(self) -> str | None:
        """The rack of this member."""
        return self._participant.rack

    @property
    def fallbacks(self) -> int:
        """The number of errors that did not reach the client."""
        return self._participant.fallbacks

    @property
    def last_error(self) -> BaseException | None:
        """The last error that did not reach the client."""
        return self._participant.last_error

    @property
    def last_report(self) -> AssignmentReport | None:
        """The evaluation of this member's last answer as a leader; None if it made none."""
        return self._participant.last_report

    @abstractmethod
    def decide(self, members: Members, racks: ReplicaRacks) -> Assignment:
        """The assignment. May raise: the group then continues without racks."""

    @abstractmethod
    def brokers_of(self, cluster: Theirs) -> Mapping[int, str | None]:
        """Broker id -> rack, for the brokers in the client's metadata."""

    def on_metadata(self, cluster: Theirs) -> None:
        """Check for changed racks of replicas; an attached consumer's metadata calls this."""
        try:
            consumer = self.attached()
            if not self._participant.is_watching:
                self._participant.saw(self.brokers_of(cluster))
            elif consumer is not None and self._participant.observe(self._view(cluster)):
                private.request_rejoin(consumer)
        except Exception as error:  # noqa: BLE001, nothing may leave a callback
            self._participant.failed(error)

    def join_to(
        self,
        consumer: Theirs,
        *,
        rack: str | None,
        instance_id: str | None,
        min_interval_ms: int,
    ) -> None:
        """Serve this consumer in its rack; `attach` calls this for each assignor."""
        part = self._participant
        part.rack, part.instance_id = rack, instance_id
        part.min_interval_ms, part.is_attached = min_interval_ms, True
        self._consumer = weakref.ref(consumer)
        private.listen(private.cluster_of(consumer, self.client), self.on_metadata)

    def attached(self) -> Theirs | None:
        """The attached consumer; None if there is none or it no longer exists."""
        return None if self._consumer is None else self._consumer()

    def current_partitions(self) -> Iterable[TopicPartition] | None:
        """The client's current partitions; None if they are unknown before it joins."""
        return None

    def user_data(self, topics: Iterable[str]) -> bytes:
        """The user data that this member sends when it joins."""
        listed = tuple(sorted(topics))
        try:
            return self._participant.subscription(listed, has=self.current_partitions())
        except Exception as error:  # noqa: BLE001, nothing may leave a callback
            self._participant.failed(error)
            return self._participant.plain_subscription(listed)

    def assign_members(
        self, cluster: Theirs, ids: Sequence[str], told: Iterable[ReportedMember]
    ) -> dict[str, bytes]:
        """The assignment of each member, computed by the leader; `told` is iterated here."""
        try:
            heard = list(told)
            self._participant.topics = frozenset(topic for each in heard for topic in each.topics)
            given = self._participant.answer(heard, self._view(cluster)).partitions
            note = self._participant.note_for
            return {each: encode_assignment(VERSION, given[each], note(each)) for each in ids}
        except Exception as error:  # noqa: BLE001, nothing may leave a callback
            self._participant.failed(error)
            return {each: encode_assignment(VERSION, ()) for each in ids}

    def note_assignment(self, assignment: Theirs, generation: int | None) -> None:
        """Note this member's partitions; generation None: the attached client knows it."""
        try:
            consumer, view = self.attached(), None
            if generation is None:
                generation = private.generation(consumer)
            if consumer is not None:
                view = self._view(private.cluster_of(consumer, self.client))
            partitions = [TopicPartition(*tp) for tp in assignment.partitions()]
            is_due = self._participant.settled(partitions, generation, view, assignment.user_data)
            if is_due and consumer is not None:
                private.request_rejoin(consumer)
        except Exception as error:  # noqa: BLE001, nothing may leave a callback
            self._participant.failed(error)

    def _view(self, cluster: Theirs) -> RackView:
        return RackView(
            brokers=self.brokers_of(cluster),
            replicas=private.replicas(cluster, self._participant.topics),
            now_ms=self._participant.now_ms(),
            in_sync=private.in_sync(cluster, self._participant.topics),
        )


def join_all(
    consumer: Theirs,
    assignors: Sequence[Serving],
    *,
    rack: str | None,
    instance_id: str | None,
    min_interval_ms: int,
) -> None:
    """Join assignors to a consumer that fetches from a rack; raises as `check_free`."""
    check_free(assignors, rack, consumer)
    for assignor in assignors:
        assignor.join_to(
            consumer, rack=rack, instance_id=instance_id, min_interval_ms=min_interval_ms
        )


def check_free(
    assignors: Iterable[Serving], rack: str | None, consumer: Theirs | None = None
) -> None:
    """Check that each assignor may serve a consumer in this rack; None: one yet to be created.

    Raises `RackMismatch`, and `InvalidConfig` for an assignor that already serves another consumer.
    """
    for assignor in assignors:
        if assignor.rack not in {None, rack}:
            raise _mismatch(assignor.rack, rack)
        if assignor.attached() not in {None, consumer}:
            raise InvalidConfig(
                f"this {assignor.name} is already attached to another consumer",
                wanted="an assignor for each consumer",
                had=assignor.name,
                hint="give the class, or one object for each consumer: it remembers what its "
                "consumer has",
            )


def check_listed(assignors: Iterable[Serving], listed: Sequence[Theirs]) -> None:
    """Check that each assignor is one of a consumer's own list. Raises `InvalidConfig`."""
    for assignor in assignors:
        if not any(each is assignor for each in listed):
            raise InvalidConfig(
                f"this {assignor.name} is not in the partition_assignment_strategy of the consumer",
                wanted="the assignor that the consumer was made with",
                had=assignor.name,
                hint="give the same instance to both, or use rack_consumer",
            )


def check_topics(topics: Iterable[object]) -> None:
    """Check that each topic is a text. Raises `InvalidConfig`, for example for a dict of options.

    The error names the class of the object only: options may hold a password.
    """
    for topic in topics:
        if not isinstance(topic, str):
            had = f"an object of class {type(topic).__name__}"
            raise InvalidConfig(
                f"invalid topic: expected a text, got {had}",
                wanted="a text",
                had=had,
                hint="topics are arguments, options are keyword arguments: write "
                'rack_consumer("orders", client_rack="use1-az1", **options)',
            )


def check_strategy(strategy: object, known: type, ours: type) -> list[Theirs]:
    """The entries of a `partition_assignment_strategy`: assignor classes or objects.

    `known`: the client's base class of assignors; `ours`: that of the plug-in. Raises
    `InvalidConfig` for anything else, and for a list without an assignor of the plug-in.
    """
    entries: list[Theirs] = []
    if isinstance(strategy, Iterable) and not isinstance(strategy, str):
        entries = list(strategy)
    classes = [each if isinstance(each, type) else type(each) for each in entries]
    strange = [
        entry for entry, kind in zip(entries, classes, strict=True) if not issubclass(kind, known)
    ]
    if strange or not any(issubclass(kind, ours) for kind in classes):
        had = _called(strange[0] if strange else strategy)
        wanted = f"a list of assignors, at least one of them from {_front_door(ours)}"
        name = strategy.__name__ if isinstance(strategy, type) else "RackRange"
        raise InvalidConfig(
            f"invalid partition_assignment_strategy: expected {wanted}, got {had}",
            wanted=wanted,
            had=had,
            hint=f"write partition_assignment_strategy=[{name}]",
        )
    return entries


def _mismatch(told: str | None, fetched: str | None) -> RackMismatch:
    """The error for a client whose fetch rack differs from the rack that its assignor sends."""
    wanted, had = escaped(told or ""), escaped(fetched or "")
    return RackMismatch(
        f'invalid client_rack: expected "{wanted}" as the assignor reports it, got "{had}"',
        wanted=told,
        had=fetched,
        hint="give the rack once, as client_rack of rack_consumer",
    )


def _called(had: object) -> str:
    """A value as an error message shows it; of an assignor its class."""
    if isinstance(had, list | tuple):
        return f"[{', '.join(map(_called, had))}]"
    kind = had if isinstance(had, type) else type(had)
    if issubclass(kind, Serving):
        return f"{_front_door(kind)}.{kind.__name__}"
    return kind.__name__ if isinstance(had, type) else escaped(repr(had))


def _front_door(kind: type) -> str:
    """The module that users import an assignor from."""
    return f"rackwise.{kind.__module__.removeprefix(f'{__package__}.').partition('.')[0]}"


class DecidesRange:
    """Kafka's "range"."""

    rule = AssignorRule(name="range")

    def decide(self, members: Members, racks: ReplicaRacks) -> Assignment:
        """As Java's `RangeAssignor`."""
        return assign_range(members, racks)


class DecidesRoundRobin:
    """Kafka's "roundrobin"."""

    rule = AssignorRule(name="roundrobin")

    def decide(self, members: Members, racks: ReplicaRacks) -> Assignment:
        """As Java's `RoundRobinAssignor`."""
        return assign_roundrobin(members, racks)


class DecidesSticky:
    """Kafka's "sticky"."""

    rule = AssignorRule(name="sticky", travel="sticky")

    def decide(self, members: Members, racks: ReplicaRacks) -> Assignment:
        """As Java's `StickyAssignor`."""
        return assign_sticky(members, racks)


class DecidesCooperativeSticky:
    """Kafka's "cooperative-sticky"."""

    rule = AssignorRule(
        name="cooperative-sticky",
        travel="owned",
        mode="cooperative",
        has_java_generation=True,
        settles=True,
    )

    def decide(self, members: Members, racks: ReplicaRacks) -> Assignment:
        """As Java's `CooperativeStickyAssignor`."""
        return assign_cooperative(members, racks)


class DecidesOptimal:
    """The proven best."""

    rule = AssignorRule(name="rack-optimal", travel="owned")
    _optimum: Optimum

    def decide(self, members: Members, racks: ReplicaRacks) -> Assignment:
        """The proven best assignment, and the partitions of it that must wait a round."""
        return self._optimum.decide(members, racks)
