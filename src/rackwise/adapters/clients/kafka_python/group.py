"""Rack-aware assignors for kafka-python, in one group with Java's members of the same name.

```python
from rackwise.kafka_python import RackOptimal, RackRange, rack_consumer

consumer = rack_consumer("orders", client_rack="use1-az1", group_id="billing",
                         partition_assignment_strategy=[RackOptimal, RackRange],
                         bootstrap_servers="broker:9092")
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
mode: classes that have both modes are cooperative, unless another assignor of the consumer is
eager. No other client supports `rack-optimal`: all members of its group need it.

One instance serves one consumer. `attach` joins the two; `rack_consumer` calls it. An attached
member has the rack of its consumer. It reports the partitions that the consumer really has, also
after it fell out of its group. Changes of the replicas' racks lead to a new assignment. The leader
requests the round that assigns the withheld partitions. Without `attach`, a cooperative member that
fell out of its group may leave partitions unread until the next join.

kafka-python discards a join that ends between two polls, and starts it again. Poll each consumer
from its own thread, for a second or so at a time. The log has a warning for a leader whose rounds
fail in this way, and for a member that was never attached.

Callbacks run on the client's network thread, do no input and output, and raise nothing.

Source: KIP-429, KIP-881; kafka-python 3.0.12, `AbstractPartitionAssignor`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rackwise.adapters.clients import private
from rackwise.adapters.clients.group import (
    AssignorRule,
    Mode,
    Participant,
    ReportedMember,
)
from rackwise.adapters.clients.optimum import Optimum
from rackwise.adapters.clients.rack import check_rack
from rackwise.adapters.clients.serving import (
    DecidesCooperativeSticky,
    DecidesOptimal,
    DecidesRange,
    DecidesRoundRobin,
    DecidesSticky,
    Serving,
    check_free,
    check_listed,
    check_strategy,
    check_topics,
    join_all,
)
from rackwise.core.assignors.members import TopicPartition
from rackwise.core.assignors.watch import MIN_INTERVAL_MS
from rackwise.core.errors import InvalidConfig, MissingClientError
from rackwise.core.override import override

CLIENT = "kafka-python"

try:
    from kafka import KafkaConsumer
    from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
    from kafka.version import __version__
except ModuleNotFoundError as error:
    raise MissingClientError.of("kafka-python", extra="kafka") from error
except ImportError as error:
    raise private.unsupported(CLIENT, "another version") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rackwise.adapters.clients.private import Theirs
    from rackwise.core.assignors.optimal.assign import BalanceScope

MODES: dict[Mode, RebalanceProtocol] = {
    "eager": RebalanceProtocol.EAGER,
    "cooperative": RebalanceProtocol.COOPERATIVE,
}


class RackAssignor(Serving, AbstractPartitionAssignor):
    """One member of a group. `clock`: monotonic seconds.

    `rack`: the rack of a member that nothing attaches to its consumer; `attach` takes the rack of
    the consumer. Subclasses define a `rule` and `decide`. `fallbacks`: the number of errors that
    did not reach the client; `last_error`: the last of them.
    """

    client = CLIENT
    has_modes: ClassVar[bool] = False
    """Whether the constructor takes a `mode`."""

    def __init__(
        self,
        rack: str | None = None,
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

    has_modes = True

    def __init__(
        self,
        rack: str | None = None,
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

    has_modes = True

    def __init__(
        self,
        rack: str | None = None,
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

    For a consumer that `rack_consumer` does not create. The assignors take the rack of the
    consumer. Raises `RackMismatch` for an assignor that was created with another rack,
    `InvalidConfig` for an assignor that is not the consumer's, or a rack that is None, and
    `UnsupportedClient` for a kafka-python version whose private names are not known.
    """
    private.check_version(CLIENT, __version__)
    private.cluster_of(consumer, CLIENT)
    if consumer.config["client_rack"] is None:
        check_rack(None, "KafkaConsumer")  # it would send only requests that fail, endlessly
    listed: Theirs = consumer.config["partition_assignment_strategy"]
    check_listed(assignors, listed)
    join_all(
        consumer,
        assignors,
        rack=_text(consumer.config["client_rack"]),
        instance_id=_text(consumer.config["group_instance_id"]),
        min_interval_ms=min_interval_ms,
    )


def rack_consumer(
    *topics: str,
    client_rack: str,
    partition_assignment_strategy: Sequence[Theirs] = (RackRange,),
    **configs: object,
) -> KafkaConsumer:
    """A consumer with a rack: it fetches from there and sends the rack to its group.

    `partition_assignment_strategy`: assignor classes or objects, best first. Assignors of
    kafka-python may be among them, as for a restart that changes the assignor. `configs`: all
    other options of KafkaConsumer. Raises as `attach` does, and `InvalidConfig` for a list that
    is none, or whose assignors have different modes.
    """
    private.check_version(CLIENT, __version__)
    check_topics(topics)
    check_rack(client_rack, "KafkaConsumer")
    assignors = _assignors(partition_assignment_strategy, client_rack)
    ours = [each for each in assignors if isinstance(each, RackAssignor)]
    check_free(ours, client_rack)
    consumer = KafkaConsumer(  # type: ignore[no-untyped-call]
        *topics, client_rack=client_rack, partition_assignment_strategy=assignors, **configs
    )
    attach(consumer, *ours)
    return consumer


def _assignors(strategy: Sequence[Theirs], rack: str) -> list[Theirs]:
    """The objects of a strategy; classes with two modes are created in the mode of the rest."""
    entries = check_strategy(strategy, AbstractPartitionAssignor, RackAssignor)
    made = [_fixed(each, rack) for each in entries]
    modes = {each.name: each.supported_protocols()[0] for each in made if each is not None}
    if len(set(modes.values())) > 1:
        had = ", ".join(f"{name} {mode.name.lower()}" for name, mode in modes.items())
        raise InvalidConfig(
            f"invalid partition_assignment_strategy: expected assignors of one mode, got {had}",
            wanted="assignors of one mode",
            had=had,
            hint="give the class RackOptimal, which takes the mode of the others, or "
            'RackOptimal(mode="eager")',
        )
    mode = "eager" if RebalanceProtocol.EAGER in modes.values() else "cooperative"
    return [
        entry(rack, mode=mode) if each is None else each
        for entry, each in zip(entries, made, strict=True)
    ]


def _fixed(entry: Theirs, rack: str) -> Theirs:
    """The object of an entry; None for a class whose mode is still open."""
    if not isinstance(entry, type):
        return entry
    if not issubclass(entry, RackAssignor):
        return entry()
    return None if entry.has_modes else entry(rack)


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
