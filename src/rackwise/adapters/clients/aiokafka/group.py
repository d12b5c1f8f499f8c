"""Rack-aware assignors for aiokafka, in one group with Java's members of the same name.

```python
from rackwise.aiokafka import RackOptimal, RackRange, rack_consumer

consumer = rack_consumer("orders", client_rack="use1-az1", group_id="billing",
                         partition_assignment_strategy=[RackOptimal, RackRange],
                         bootstrap_servers="broker:9092")
async with consumer:
    ...
```

aiokafka supports eager groups only, and its leader reads version 0 of the members' metadata: no
rack and no instance id. Two things mend this. The assignors of this module put both into the user
data, so any leader with one of these assignors reads all fields of such members. They also install
a decoder of version 3 in their process, so that their leader reads the racks of members of other
clients. Instance ids of members of other clients stay unknown.

```
class           name in the group    racks
RackRange       range                used
RackRoundRobin  roundrobin           told only
RackSticky      sticky               used
RackOptimal     rack-optimal         used
```

One instance serves one consumer. `attach` joins the two; `rack_consumer` calls it. An attached
assignor has the rack and the instance id of its consumer. It knows the generation of its member's
partitions, and changes of the replicas' racks lead to a new assignment.

Callbacks run in the event loop, do no input and output, and raise nothing.

Source: KIP-881; aiokafka 0.14.0, `AbstractPartitionAssignor`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rackwise.adapters.clients import private
from rackwise.adapters.clients.group import Participant, ReportedMember
from rackwise.adapters.clients.optimum import Optimum
from rackwise.adapters.clients.rack import check_rack
from rackwise.adapters.clients.serving import (
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
from rackwise.core.assignors.members import NO_GENERATION, TopicPartition
from rackwise.core.assignors.watch import MIN_INTERVAL_MS
from rackwise.core.errors import MissingClientError, RemoteProtocolError
from rackwise.core.override import override
from rackwise.core.wire.consumer import decode_subscription

CLIENT = "aiokafka"

try:
    from aiokafka import AIOKafkaConsumer, __version__
    from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
    from aiokafka.coordinator.protocol import ConsumerProtocol, ConsumerProtocolMemberMetadata
except ModuleNotFoundError as error:
    raise MissingClientError.of("aiokafka", extra="aiokafka") from error
except ImportError as error:
    raise private.unsupported(CLIENT, "another version") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rackwise.adapters.clients.private import Theirs
    from rackwise.core.assignors.optimal.assign import BalanceScope


class RackAssignor(Serving, AbstractPartitionAssignor):  # type: ignore[misc]
    """One member of a group. `clock`: monotonic seconds.

    `rack`: the rack of a member that nothing attaches to its consumer; `attach` takes the rack of
    the consumer. Subclasses define a `rule` and `decide`. Installs the decoder of version 3.
    """

    client = CLIENT

    def __init__(
        self,
        rack: str | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._participant = Participant(
            rule=self.rule, decide=self.decide, clock=clock, rack=rack or None
        )
        install_v3_decoder()

    @override
    def metadata(self, topics: Iterable[str]) -> bytes:
        """The user data that this member sends when it joins."""
        return self.user_data(topics)

    @override
    def assign(self, cluster: Theirs, members: Mapping[str, Theirs]) -> dict[str, bytes]:
        """The assignment of each member, computed by this member as the leader."""
        reported = (_reported_member(id_, metadata) for id_, metadata in members.items())
        return self.assign_members(cluster, list(members), reported)

    @override
    def on_assignment(self, assignment: Theirs) -> None:
        """Note the partitions that this member received."""
        self.note_assignment(assignment, None)

    @override
    def brokers_of(self, cluster: Theirs) -> Mapping[int, str | None]:
        """Broker id -> rack."""
        return {broker.nodeId: broker.rack or None for broker in cluster.brokers()}


class RackRange(DecidesRange, RackAssignor):
    """Kafka's "range": consecutive partitions of each topic per member, in its rack if possible."""


class RackRoundRobin(DecidesRoundRobin, RackAssignor):
    """Kafka's "roundrobin": members send their racks, and the leader ignores them."""


class RackSticky(DecidesSticky, RackAssignor):
    """Kafka's "sticky": even loads first, then near replicas, then the previous partitions."""


class RackOptimal(DecidesOptimal, RackAssignor):
    """The most local assignment that is balanced, then the fewest moves; needs a solver.

    `balance`, `weights`: as in `assign_optimal`; all members of a group should use the same values.
    Raises `MissingDependency` without ortools.
    """

    def __init__(
        self,
        rack: str | None = None,
        *,
        balance: BalanceScope = "total",
        weights: Mapping[TopicPartition, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._optimum = Optimum(balance=balance, weights=weights)
        super().__init__(rack, clock=clock)


def attach(
    consumer: AIOKafkaConsumer, *assignors: RackAssignor, min_interval_ms: int = MIN_INTERVAL_MS
) -> None:
    """Join assignors to the consumer that uses them; call this before the consumer starts.

    For a consumer that `rack_consumer` does not create. The assignors take the rack of the
    consumer. Raises `RackMismatch` for an assignor that was created with another rack,
    `InvalidConfig` for an assignor that is not the consumer's, and `UnsupportedClient` for an
    aiokafka version whose private names are not known.
    """
    private.check_version(CLIENT, __version__)
    check_listed(assignors, private.assignors(consumer))
    join_all(
        consumer,
        assignors,
        rack=private.client_rack(consumer),
        instance_id=private.instance_id(consumer),
        min_interval_ms=min_interval_ms,
    )


def rack_consumer(
    *topics: str,
    client_rack: str,
    partition_assignment_strategy: Sequence[Theirs] = (RackRange,),
    **configs: object,
) -> AIOKafkaConsumer:
    """A consumer with a rack, not started: it fetches from there and sends the rack to its group.

    `partition_assignment_strategy`: assignor classes or objects, best first. Assignors of aiokafka
    may be among them, as for a restart that changes the assignor. `configs`: all other options of
    AIOKafkaConsumer. Call it where an event loop runs. Raises as `attach` does, and `InvalidConfig`
    without a rack, for a topic that is no text, or for a list that is none.
    """
    private.check_version(CLIENT, __version__)
    check_topics(topics)
    check_rack(client_rack, "AIOKafkaConsumer")
    entries = check_strategy(partition_assignment_strategy, AbstractPartitionAssignor, RackAssignor)
    assignors = [
        each(client_rack) if isinstance(each, type) and issubclass(each, RackAssignor) else each
        for each in entries
    ]
    ours = [each for each in assignors if isinstance(each, RackAssignor)]
    check_free(ours, client_rack)
    consumer = AIOKafkaConsumer(
        *topics, client_rack=client_rack, partition_assignment_strategy=assignors, **configs
    )
    attach(consumer, *ours)
    return consumer


class V3Metadata(ConsumerProtocolMemberMetadata):  # type: ignore[misc]
    """A member's metadata with the fields that aiokafka does not read: owned, generation, rack."""

    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    rack: str | None = None

    @classmethod
    @override
    def decode(cls, data: bytes) -> V3Metadata:
        """Decode by the layout of its version; fall back to aiokafka's decoder on an error."""
        found: V3Metadata = super().decode(data)
        try:
            said = decode_subscription(data)
        except RemoteProtocolError:
            return found
        found.owned, found.generation, found.rack = said.owned, said.generation, said.rack
        return found


def install_v3_decoder() -> None:
    """Let every leader of this process read the racks of members of other clients."""
    ConsumerProtocol.METADATA = V3Metadata


def _reported_member(member_id: str, metadata: Theirs) -> ReportedMember:
    return ReportedMember(
        member_id=member_id,
        topics=tuple(metadata.subscription),
        user_data=metadata.user_data,
        owned=getattr(metadata, "owned", ()),
        generation=getattr(metadata, "generation", NO_GENERATION),
        rack=getattr(metadata, "rack", None),
    )
