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

aiokafka knows eager groups alone, and its leader reads version 0 of what members say: no rack and
no instance id. Ours travel in the user data, so members of ours are seen whole by any leader of
ours. Members of others look rackless to a leader in aiokafka, unless `install_v3_decoder` has been
called in its process, as `RackOptimal` does.

```
class           name in the group    racks
RackRange       range                used
RackRoundRobin  roundrobin           told only
RackSticky      sticky               used
RackOptimal     rack-optimal         used
```

One instance serves one consumer. `attach` joins the two: then the generation of what a member had
is known, and changes of the racks of replicas lead to a new assignment.

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
from rackwise.core.wire import decode_subscription

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
    """One member of a group. `rack`: `client.rack`, None for none; `clock`: seconds that only grow.

    `instance_id`: the consumer's `group_instance_id`, which aiokafka does not tell its leader.
    Subclasses give a `rule` and `decide`.
    """

    client = CLIENT

    def __init__(
        self,
        rack: str | None,
        *,
        instance_id: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._part = Participant(
            rule=self.rule,
            decide=self.decide,
            clock=clock,
            rack=rack or None,
            instance_id=instance_id,
        )

    @override
    def metadata(self, topics: Iterable[str]) -> bytes:
        """What this member says when it joins."""
        return self.said(topics)

    @override
    def assign(self, cluster: Theirs, members: Mapping[str, Theirs]) -> dict[str, bytes]:
        """What each member gets, as the leader of the group."""
        told = (_told(member_id, said) for member_id, said in members.items())
        return self.answered(cluster, list(members), told)

    @override
    def on_assignment(self, assignment: Theirs) -> None:
        """Take note of what this member was given."""
        self.taken(assignment, None)

    @override
    def brokers_of(self, cluster: Theirs) -> Mapping[int, str | None]:
        """Broker id -> rack."""
        return {broker.nodeId: broker.rack or None for broker in cluster.brokers()}


class RackRange(DecidesRange, RackAssignor):
    """Kafka's "range": a run of each topic for each member, in its rack where that can be."""


class RackRoundRobin(DecidesRoundRobin, RackAssignor):
    """Kafka's "roundrobin": members send their racks, and the leader ignores them."""


class RackSticky(DecidesSticky, RackAssignor):
    """Kafka's "sticky": even loads, near replicas, then what members had."""


class RackOptimal(DecidesOptimal, RackAssignor):
    """The most local assignment that is balanced, then the fewest moves; needs a solver.

    `balance`, `weights`: as `assign_optimal` takes them; all members of a group should agree.
    Installs the decoder of version 3, without which a leader here would give away what cooperative
    members of kafka-python go on reading. Raises `MissingDependency` without ortools.
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
    """Join assignors to the consumer that they were given to; before its start.

    Raises `RackMismatch` where the consumer fetches from another rack than an assignor tells, and
    `UnsupportedClient` for an aiokafka whose insides are not known.
    """
    private.check_version(CLIENT, __version__)
    fetched = private.client_rack(consumer)
    join_all(consumer, fetched, assignors, min_interval_ms=min_interval_ms)


class V3Metadata(ConsumerProtocolMemberMetadata):  # type: ignore[misc]
    """What a member said, with the fields that aiokafka does not read: owned, generation, rack."""

    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    rack: str | None = None

    @classmethod
    @override
    def decode(cls, data: bytes) -> V3Metadata:
        """By the layout of its version; what cannot be read so is read as aiokafka does."""
        found: V3Metadata = super().decode(data)
        try:
            said = decode_subscription(data)
        except RemoteProtocolError:
            return found
        found.owned, found.generation, found.rack = said.owned, said.generation, said.rack
        return found


def install_v3_decoder() -> None:
    """Let every leader of this process read racks of members that are not ours."""
    ConsumerProtocol.METADATA = V3Metadata


def _told(member_id: str, said: Theirs) -> ReportedMember:
    return ReportedMember(
        member_id=member_id,
        topics=tuple(said.subscription),
        user_data=said.user_data,
        owned=getattr(said, "owned", ()),
        generation=getattr(said, "generation", NO_GENERATION),
        rack=getattr(said, "rack", None),
    )
