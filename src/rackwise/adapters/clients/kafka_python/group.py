"""Rack-aware assignors for kafka-python, in one group with Java's members of the same name.

```python
from rackwise.adapters.clients.kafka_python.group import RackRange, rack_consumer

consumer = rack_consumer("orders", rack="use1-az1", assignor=RackRange("use1-az1"),
                         bootstrap_servers="broker:9092", group_id="billing")
```

kafka-python sends `client_rack` to the brokers that it reads from, but not to its group: its own
assignors never send a rack. The assignors here send it, and read the racks of Java and librdkafka
members.

```
class                  name in the group    racks       mode
RackRange              range                used        eager
RackRoundRobin         roundrobin           told only   eager
RackSticky             sticky               used        eager
RackCooperativeSticky  cooperative-sticky   used        cooperative, or eager
RackOptimal            rack-optimal         used        cooperative, or eager
```

Eager members give up all partitions before they join. All assignors of one consumer have the same
mode. No other client supports `rack-optimal`: all members of its group need it.

One instance serves one consumer. `attach` joins the two. An attached member reports the partitions
that the consumer really has, also after it fell out of its group. Changes of the replicas' racks
lead to a new assignment. The leader requests the round that assigns the withheld partitions.
Without `attach`, a cooperative member that fell out of its group may leave partitions unread until
the next join.

kafka-python discards a join that ends between two polls, and starts it again. Poll each consumer
from its own thread, for a second or so at a time. The log has a warning for a leader whose rounds
fail in this way, and for a cooperative member that was never attached.

Callbacks run on the client's network thread, do no input and output, and raise nothing.

Source: KIP-429, KIP-881; kafka-python 3.0.12, `AbstractPartitionAssignor`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.adapters.clients import private
from rackwise.adapters.clients.group import (
    AssignorRule,
    Mode,
    Participant,
    ReportedMember,
    mismatch,
)
from rackwise.adapters.clients.optimum import Optimum
from rackwise.adapters.clients.serving import (
    DecidesCooperativeSticky,
    DecidesOptimal,
    DecidesRange,
    DecidesRoundRobin,
    DecidesSticky,
    Serving,
    join_all,
)
from rackwise.core.assignors.members import TopicPartition
from rackwise.core.assignors.watch import MIN_INTERVAL_MS
from rackwise.core.errors import InvalidConfig, MissingDependency
from rackwise.core.override import override

CLIENT = "kafka-python"

try:
    from kafka import KafkaConsumer
    from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
    from kafka.version import __version__
except ModuleNotFoundError as error:
    raise MissingDependency(
        "kafka-python is not installed",
        wanted="kafka-python",
        had=None,
        hint="pip install 'rackwise[kafka]'",
    ) from error
except ImportError as error:
    raise private.unsupported(CLIENT, "another version") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rackwise.adapters.clients.private import Theirs
    from rackwise.core.assignors.optimal.assign import BalanceScope

MODES: dict[Mode, RebalanceProtocol] = {
    "eager": RebalanceProtocol.EAGER,
    "cooperative": RebalanceProtocol.COOPERATIVE,
}


class RackAssignor(Serving, AbstractPartitionAssignor):
    """One member of a group. `rack`: `client.rack`, None for none; `clock`: monotonic seconds.

    Subclasses define a `rule` and `decide`. `fallbacks`: the number of errors that did not reach
    the client; `last_error`: the last of them.
    """

    client = CLIENT

    def __init__(
        self,
        rack: str | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._participant = Participant(
            rule=self.rule, decide=self.decide, clock=clock, rack=rack or None
        )

    @override
    def supported_protocols(self) -> list[RebalanceProtocol]:
        """The single mode; a member that gives up all partitions must not report owned ones."""
        return [MODES[self._participant.rule.mode]]

    @override
    def metadata(self, topics: Iterable[str]) -> bytes:
        """The user data that this member sends when it joins."""
        return self.user_data(topics)

    @override
    def assign(self, cluster: Theirs, members: Iterable[Theirs]) -> dict[str, bytes]:
        """The assignment of each member, computed by this member as the leader."""
        each = list(members)
        return self.assign_members(
            cluster, [member.member_id for member in each], map(_reported_member, each)
        )

    @override
    def on_assignment(self, assignment: Theirs, generation: int) -> None:
        """Note the partitions that this member received."""
        self.note_assignment(assignment, generation)

    @override
    def join_to(self, consumer: KafkaConsumer, *, min_interval_ms: int) -> None:
        """Serve this consumer; `attach` calls this for each assignor."""
        self._participant.instance_id = _text(consumer.config["group_instance_id"])
        super().join_to(consumer, min_interval_ms=min_interval_ms)

    @override
    def brokers_of(self, cluster: Theirs) -> Mapping[int, str | None]:
        """Broker id -> rack."""
        return {broker.node_id: broker.rack or None for broker in cluster.brokers()}

    @override
    def current_partitions(self) -> list[TopicPartition] | None:
        """The attached consumer's partitions, also after it fell out of its group."""
        consumer = self.attached()
        if consumer is None:
            return None
        return [TopicPartition(*tp) for tp in consumer.assignment() or ()]


class RackRange(DecidesRange, RackAssignor):
    """Kafka's "range": consecutive partitions of each topic per member, in its rack if possible."""


class RackRoundRobin(DecidesRoundRobin, RackAssignor):
    """Kafka's "roundrobin": members send their racks, and the leader ignores them."""


class RackSticky(DecidesSticky, RackAssignor):
    """Kafka's "sticky": even loads first, then near replicas, then the previous partitions."""


class RackCooperativeSticky(DecidesCooperativeSticky, RackAssignor):
    """Kafka's "cooperative-sticky": like sticky, and members keep reading their kept partitions.

    `mode`: use "eager" for the first of the two restarts that migrate an eager group.
    """

    def __init__(
        self,
        rack: str | None,
        *,
        mode: Mode = "cooperative",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(rack, clock=clock)
        self._participant.rule = _with_mode(self.rule, mode)


class RackOptimal(DecidesOptimal, RackAssignor):
    """The most local assignment that is balanced, then the fewest moves; needs a solver.

    `balance`, `weights`: as in `assign_optimal`; all members of a group should use the same values.
    Raises `MissingDependency` without ortools.
    """

    def __init__(
        self,
        rack: str | None,
        *,
        balance: BalanceScope = "total",
        weights: Mapping[TopicPartition, int] | None = None,
        mode: Mode = "cooperative",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._optimum = Optimum(balance=balance, weights=weights)
        super().__init__(rack, clock=clock)
        self._participant.rule = _with_mode(self.rule, mode)


def attach(
    consumer: KafkaConsumer, *assignors: RackAssignor, min_interval_ms: int = MIN_INTERVAL_MS
) -> None:
    """Join assignors to the consumer that uses them; call this before the first poll.

    Raises `RackMismatch` if the consumer fetches from another rack than an assignor sends,
    `InvalidConfig` for an assignor that is not the consumer's, or a rack that is None, and
    `UnsupportedClient` for a kafka-python version whose private names are not known.
    """
    private.check_version(CLIENT, __version__)
    private.cluster_of(consumer, CLIENT)
    _check_rack(consumer.config["client_rack"])
    listed: Theirs = consumer.config["partition_assignment_strategy"]
    for assignor in assignors:
        if not any(each is assignor for each in listed):
            raise InvalidConfig(
                f"this {assignor.name} is not in the partition_assignment_strategy of the consumer",
                wanted="the assignor that the consumer was made with",
                had=assignor.name,
                hint="give the same instance to both, or use rack_consumer",
            )
    fetched = _text(consumer.config["client_rack"])
    join_all(consumer, fetched, assignors, min_interval_ms=min_interval_ms)


def rack_consumer(
    *topics: str, rack: str, assignor: RackAssignor, **configs: object
) -> KafkaConsumer:
    """A consumer with a rack: it fetches from there, sends the rack to its group, and is attached.

    `configs`: all other options of KafkaConsumer. Raises as `attach` does.
    """
    private.check_version(CLIENT, __version__)
    _check_rack(rack or None)
    if assignor.rack != rack:
        raise mismatch(assignor.rack, rack)
    consumer = KafkaConsumer(  # type: ignore[no-untyped-call]
        *topics, client_rack=rack, partition_assignment_strategy=[assignor], **configs
    )
    try:
        attach(consumer, assignor)
    except BaseException:
        consumer.close()  # type: ignore[no-untyped-call]
        raise
    return consumer


def _reported_member(member: Theirs) -> ReportedMember:
    said = member.metadata
    return ReportedMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        topics=tuple(said.topics),
        user_data=said.user_data,
        owned=tuple(
            TopicPartition(each.topic, partition)
            for each in said.owned_partitions or ()
            for partition in each.partitions
        ),
        generation=max(said.generation_id, -1),
        rack=said.rack_id or None,
    )


def _check_rack(rack: object) -> None:
    """Reject `client_rack` None: kafka-python would then send only failing requests, endlessly."""
    if rack is None:
        raise InvalidConfig(
            "invalid client_rack: expected a rack, got None",
            wanted="a rack",
            had=None,
            hint="give the client.rack of this machine, or make a plain KafkaConsumer",
        )


def _text(config: object) -> str | None:
    return config if isinstance(config, str) and config else None


def _with_mode(rule: AssignorRule, mode: Mode) -> AssignorRule:
    if mode not in MODES:
        raise InvalidConfig(
            f'invalid mode: expected one of {", ".join(MODES)}, got "{mode}"',
            wanted=", ".join(MODES),
            had=mode,
        )
    return replace(rule, mode=mode)
