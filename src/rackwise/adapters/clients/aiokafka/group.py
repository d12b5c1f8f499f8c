"""Rack-aware assignors for aiokafka, in one group with Java's members of the same name.

```python
from aiokafka import AIOKafkaConsumer
from rackwise.adapters.clients.aiokafka.group import RackRange, attach

assignor = RackRange("use1-az1")
consumer = AIOKafkaConsumer("orders", client_rack="use1-az1", group_id="billing",
                            partition_assignment_strategy=[assignor])
attach(consumer, assignor)
await consumer.start()
```

aiokafka supports eager groups only, and its leader reads version 0 of the members' metadata: no
rack and no instance id. The assignors of this module put both into the user data, so any leader
with one of these assignors reads all fields of such members. Other members look rackless to a
leader in aiokafka, unless `install_v3_decoder` was called in its process, as `RackOptimal` does.

```
class           name in the group    racks
RackRange       range                used
RackRoundRobin  roundrobin           told only
RackSticky      sticky               used
RackOptimal     rack-optimal         used
```

One instance serves one consumer. `attach` joins the two. An attached assignor knows the generation
of its member's partitions, and changes of the replicas' racks lead to a new assignment.

Callbacks run in the event loop, do no input and output, and raise nothing.

Source: KIP-881; aiokafka 0.14.0, `AbstractPartitionAssignor`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rackwise.adapters.clients import private
from rackwise.adapters.clients.group import Participant, ReportedMember
from rackwise.adapters.clients.optimum import Optimum
from rackwise.adapters.clients.serving import (
    DecidesOptimal,
    DecidesRange,
    DecidesRoundRobin,
    DecidesSticky,
    Serving,
    join_all,
)
from rackwise.core.assignors.members import NO_GENERATION, TopicPartition
from rackwise.core.assignors.watch import MIN_INTERVAL_MS
from rackwise.core.errors import MissingDependency, RemoteProtocolError
from rackwise.core.override import override
from rackwise.core.wire.consumer import decode_subscription

CLIENT = "aiokafka"

try:
    from aiokafka import __version__
    from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
    from aiokafka.coordinator.protocol import ConsumerProtocol, ConsumerProtocolMemberMetadata
except ModuleNotFoundError as error:
    raise MissingDependency(
        "aiokafka is not installed",
        wanted="aiokafka",
        had=None,
        hint="pip install 'rackwise[aiokafka]'",
    ) from error
except ImportError as error:
    raise private.unsupported(CLIENT, "another version") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from aiokafka import AIOKafkaConsumer

    from rackwise.adapters.clients.private import Theirs
    from rackwise.core.assignors.optimal.assign import BalanceScope


class RackAssignor(Serving, AbstractPartitionAssignor):  # type: ignore[misc]
    """One member of a group. `rack`: `client.rack`, None for none; `clock`: monotonic seconds.

    `instance_id`: the consumer's `group_instance_id`; aiokafka does not pass it to its leader.
    Subclasses define a `rule` and `decide`.
    """

    client = CLIENT

    def __init__(
        self,
        rack: str | None,
        *,
        instance_id: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._participant = Participant(
            rule=self.rule,
            decide=self.decide,
            clock=clock,
            rack=rack or None,
            instance_id=instance_id,
        )

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
    Installs the decoder of version 3. Without it a leader here would assign partitions that
    cooperative members of kafka-python still read. Raises `MissingDependency` without ortools.
    """

    def __init__(
        self,
        rack: str | None,
        *,
        balance: BalanceScope = "total",
        weights: Mapping[TopicPartition, int] | None = None,
        instance_id: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._optimum = Optimum(balance=balance, weights=weights)
        super().__init__(rack, instance_id=instance_id, clock=clock)
        install_v3_decoder()


def attach(
    consumer: AIOKafkaConsumer, *assignors: RackAssignor, min_interval_ms: int = MIN_INTERVAL_MS
) -> None:
    """Join assignors to the consumer that uses them; call this before the consumer starts.

    Raises `RackMismatch` if the consumer fetches from another rack than an assignor sends, and
    `UnsupportedClient` for an aiokafka version whose private names are not known.
    """
    private.check_version(CLIENT, __version__)
    fetched = private.client_rack(consumer)
    join_all(consumer, fetched, assignors, min_interval_ms=min_interval_ms)


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
    """Let every leader of this process read the racks of members with other assignors."""
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
