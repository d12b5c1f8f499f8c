"""Topic nodes: which ids replicas use, and who is in sync.

```
/brokers/topics/orders                       {"version":3,"partitions":{"4":[7,1]},..}
/brokers/topics/orders/partitions/4/state    {"version":1,"leader":7,"isr":[7,1],..}
```

While a reassignment runs `partitions` holds the union of old and new replicas; `adding_replicas`
and `removing_replicas` name parts of it (from version 2 on; versions 1 and 2 lack fields that are
not asked for here). A topic that is corrupt makes every answer about used ids incomplete, so it is
an error and never passed over.

What this does not do: read a store; say what is at risk.
Source: kafka.zk.TopicZNode and TopicPartitionStateZNode, KIP-455.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.identity import store
from rackwise.core.identity.node_json import read_fields
from rackwise.core.ids import GREATEST_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.identity.store import Node

TOPIC_BYTES = 4 * 2**20
STATE_BYTES = 64 * 2**10

NO_LEADER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """Who leads, `NO_LEADER` = nobody, and who is in sync."""

    leader: int
    isr: tuple[int, ...]


def parse_topic(node: Node, *, topic: str) -> dict[int, tuple[int, ...]]:
    """Partition -> replicas, those being added and removed with them. Raises `StoreCorrupt`."""
    fields = read_fields(node.data, path=f"{store.TOPICS}/{topic}", most=TOPIC_BYTES)
    fields.number("version", least=1)
    replicas = dict(fields.ids_by_number("partitions"))
    for name in ("adding_replicas", "removing_replicas"):
        if fields.members.get(name) is not None:
            for partition, ids in fields.ids_by_number(name):
                old = replicas.get(partition, ())
                replicas[partition] = old + tuple(id_ for id_ in ids if id_ not in old)
    return replicas


def used_ids(topics: Iterable[Mapping[int, tuple[int, ...]]]) -> frozenset[int]:
    """Ids that some replica of these topics has."""
    return frozenset(id_ for topic in topics for replicas in topic.values() for id_ in replicas)


def state_path(topic: str, partition: int) -> str:
    """Where the state of a partition stands."""
    return f"{store.TOPICS}/{topic}/partitions/{partition}/state"


def parse_state(node: Node, *, topic: str, partition: int) -> PartitionState:
    """Leader and in-sync replicas of a partition. Raises `StoreCorrupt`."""
    fields = read_fields(node.data, path=state_path(topic, partition), most=STATE_BYTES)
    return PartitionState(
        leader=fields.number("leader", least=NO_LEADER, most=GREATEST_ID), isr=fields.ids("isr")
    )
