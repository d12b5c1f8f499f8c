"""A topic's leaders, their racks and the racks' weights, from a cluster's metadata.

```
orders   0 led by 1, 1 by 2, 2 by 1       broker 1 in a, 2 in b, 3 in b
leaders  a 2, b 1                         brokers  a 1, b 2
```

What this does not do: measure rates, or choose.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.core.errors import UnknownTopic
from rackwise.core.partitioner.choice.view import TopicView
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.model import Cluster

WeightBasis: TypeAlias = Literal["leaders", "brokers"]
"""The basis of a rack's weight: its leaders of the topic, or its live brokers."""


def topic_view(cluster: Cluster, topic: str) -> TopicView:
    """The leaders of a topic and the racks of all brokers. Raises `UnknownTopic`, `ViewError`."""
    if topic not in cluster.topics:
        raise UnknownTopic(
            f"topic {escaped(topic)} is not in the cluster",
            wanted="a topic of the cluster",
            had=topic,
            hint="check the spelling, and whether the principal may describe the topic",
        )
    leaders = {row.partition: row.leader for row in cluster.partitions if row.topic == topic}
    return TopicView(
        leaders=tuple(leaders.get(number) for number in range(max(leaders, default=-1) + 1)),
        racks=MappingProxyType(
            {
                broker.id: None if broker.rack is None else broker.rack.text
                for broker in cluster.brokers
            }
        ),
    )


def rack_weights(cluster: Cluster, view: TopicView, capacity: WeightBasis) -> Mapping[str, int]:
    """Rack -> weight, in the order of the racks; includes every rack with a live broker."""
    racks = [
        broker.rack.text
        for broker in cluster.brokers
        if broker.rack is not None and broker.is_live and broker.is_fenced is not True
    ]
    led = Counter(filter(None, map(view.leader_rack, range(len(view.leaders)))))
    counts = Counter(racks) if capacity == "brokers" else led
    return MappingProxyType({rack: counts[rack] for rack in sorted({*racks, *led})})


def leaders_without_rack(view: TopicView) -> int:
    """The number of partitions with a leader whose rack is unknown."""
    return sum(
        leader is not None and view.leader_rack(partition) is None
        for partition, leader in enumerate(view.leaders)
    )
