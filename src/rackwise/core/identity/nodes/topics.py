"""Topic nodes: the ids that replicas use, and the in-sync replicas.

```
/brokers/topics/orders                       {"version":3,"partitions":{"4":[7,1]},..}
/brokers/topics/orders/partitions/4/state    {"version":1,"leader":7,"isr":[7,1],..}
```

An id that a reassignment adds or removes is used, too. A corrupt topic makes every answer about
used ids incomplete, so it is an error and never skipped.

What this does not do: parse a topic node (see `core.wire.topic_node`); read a store; say what is at
risk.

Source: kafka.zk.TopicZNode and TopicPartitionStateZNode, KIP-455.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.identity.nodes import store
from rackwise.core.identity.nodes.node_json import PartitionState, corrupt, read_node
from rackwise.core.identity.refusals import StoreCorrupt
from rackwise.core.wire.topic_node import NO_VERSION, read_topic_node

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.identity.nodes.store import StoredNode
    from rackwise.core.wire.topic_node import ReplicaSet

STATE_BYTES = 64 * 2**10


def parse_topic(node: StoredNode, *, topic: str) -> dict[int, tuple[int, ...]]:
    """Return partition -> replicas, with those being added and removed. Raises `StoreCorrupt`."""
    path = f"{store.TOPICS}/{topic}"
    try:
        read = read_topic_node(topic, node.data)
    except RemoteProtocolError as error:
        raise corrupt(path, node.data, str(error.wanted), StoreCorrupt) from None
    if read.version == NO_VERSION:
        raise corrupt(path, node.data, "a version from 1 on", StoreCorrupt)
    return {partition: _all_replicas(replicas) for partition, replicas in read.partitions.items()}


def used_ids(topics: Iterable[Mapping[int, tuple[int, ...]]]) -> frozenset[int]:
    """Return the ids of all replicas of these topics."""
    return frozenset(id_ for topic in topics for replicas in topic.values() for id_ in replicas)


def state_path(topic: str, partition: int) -> str:
    """Return the path of the state of a partition."""
    return f"{store.TOPICS}/{topic}/partitions/{partition}/state"


def parse_state(node: StoredNode, *, topic: str, partition: int) -> PartitionState:
    """Parse leader and in-sync replicas of a partition. Raises `StoreCorrupt`."""
    path = state_path(topic, partition)
    return read_node(PartitionState, node.data, path=path, most=STATE_BYTES)


def _all_replicas(replicas: ReplicaSet) -> tuple[int, ...]:
    return tuple(dict.fromkeys(replicas.replicas + replicas.adding + replicas.removing))
