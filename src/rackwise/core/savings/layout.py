"""What levers need of a cluster: which partitions are alike, who may lead them, who reads them.

Bytes are known by topic and racks, not by partition. Partitions of a topic whose replicas lie in
the same racks, leader first, share them evenly, so they are one:

```
orders    0 1 2 [1 2]   leader in a, follower in b      alike 0, three partitions
          3 [2 1]       leader in b, follower in a      alike 1, one
```

Followers go by rack, then by id. A partition without leader is alike to none.

What this does not do: know which replicas are in sync; a lever is a matter of weeks.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.assignors import Member, TopicPartition
from rackwise.core.fetch_diagnosis.facts import RACK_AWARE_SELECTOR, REPLICA_SELECTOR
from rackwise.core.model import Ragged
from rackwise.core.savings.model import LOOSE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rackwise.core.assignors import Members
    from rackwise.core.model import Cluster, Group, GroupMember
    from rackwise.core.racks import Rack


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """A consumer group's members; `protocol` and `assignor` are None where not known."""

    members: Members
    protocol: str | None
    assignor: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Partitions as rows, by topic and number.

    `topic`: index into `topics`; `alike`: which of `racks[topic]` the row is, -1 = none;
    `replicas`: broker ids, leader first. `racks`: topic -> for each kind of partition the racks of
    its replicas, leader first; `counts`: topic -> partitions of each kind. `may_lead`: brokers that
    live and have a rack. `follows`: whether brokers send readers to replicas in their racks.
    """

    topics: tuple[str, ...]
    topic: NDArray[np.int32]
    partition: NDArray[np.int32]
    alike: NDArray[np.int64]
    replicas: Ragged
    racks: Mapping[str, tuple[tuple[str | None, ...], ...]]
    counts: Mapping[str, tuple[int, ...]]
    may_lead: frozenset[int]
    groups: Mapping[str, Readers]
    follows: bool

    @classmethod
    def of(cls, cluster: Cluster, rack_of: Callable[[Group, GroupMember], Rack | None]) -> Layout:
        """From a cluster; `rack_of`: where a group's member is."""
        table, placed = cluster.partitions, cluster.partitions.placed
        racks = {b.id: None if b.rack is None else b.rack.text for b in cluster.brokers}
        numbers: list[dict[tuple[str | None, ...], int]] = [{} for _ in table.topics]
        alike, ordered = [], []
        for row, (topic, leader) in enumerate(
            zip(table.topic.tolist(), table.leader.tolist(), strict=True)
        ):
            ids = placed.row(row)
            if leader not in ids:
                alike.append(LOOSE)
                ordered.append(ids)
                continue
            rest = sorted((racks.get(id_) or "", id_) for id_ in ids if id_ != leader)
            ordered.append((leader, *(id_ for _, id_ in rest)))
            kind = tuple(racks.get(id_) for id_ in ordered[-1])
            alike.append(numbers[topic].setdefault(kind, len(numbers[topic])))
        found = Counter(zip(table.topic.tolist(), alike, strict=True))
        return cls(
            topics=table.topics,
            topic=table.topic,
            partition=table.partition,
            alike=np.array(alike, dtype=np.int64),
            replicas=Ragged.of(ordered),
            racks={name: tuple(kinds) for name, kinds in zip(table.topics, numbers, strict=True)},
            counts={
                name: tuple(found[index, number] for number in range(len(numbers[index])))
                for index, name in enumerate(table.topics)
            },
            may_lead=frozenset(b.id for b in cluster.brokers if b.is_live and b.rack is not None),
            groups={g.group: _readers(g, rack_of) for g in cluster.groups if g.members},
            follows=_follows(cluster),
        )


def _readers(group: Group, rack_of: Callable[[Group, GroupMember], Rack | None]) -> Readers:
    held = {topic for member in group.members for topic, _ in member.partitions}
    listed = {topic for member in group.members for topic in member.topics or ()}
    every = tuple(sorted(held | listed))
    members = {}
    for member in group.members:
        rack = rack_of(group, member)
        members[member.member_id] = Member(
            topics=every if member.topics is None else member.topics,
            rack=None if rack is None else rack.text,
            owned=tuple(TopicPartition(*pair) for pair in member.partitions),
            generation=member.generation or 0,
        )
    return Readers(members=members, protocol=group.protocol, assignor=group.assignor)


def _follows(cluster: Cluster) -> bool:
    """Whether every live broker has the selector; what did not tell its configs has not."""
    told = cluster.configs.brokers
    live = [broker.id for broker in cluster.brokers if broker.is_live]
    return bool(live) and all(
        told.get(id_, {}).get(REPLICA_SELECTOR) == RACK_AWARE_SELECTOR for id_ in live
    )
