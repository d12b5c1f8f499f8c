"""What savings need of a cluster: patterns of partitions, possible leaders, and readers of groups.

Bytes are known by topic and racks, not by partition. Partitions of a topic whose replicas lie in
the same racks, leader first, form one pattern and share its bytes evenly:

```
orders    0 1 2 [1 2]   leader in a, follower in b      pattern 0, three partitions
          3 [2 1]       leader in b, follower in a      pattern 1, one partition
```

Followers are ordered by rack, then by id. A partition without leader has no pattern.

What this does not do: know which replicas are in sync. A saving is about weeks, not minutes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.assignors import Member, TopicPartition
from rackwise.core.fetch_diagnosis.facts import RACK_AWARE_SELECTOR, REPLICA_SELECTOR
from rackwise.core.model import Ragged
from rackwise.core.savings.model import UNATTRIBUTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rackwise.core.assignors import Members
    from rackwise.core.model import Cluster, Group, GroupMember
    from rackwise.core.racks import Rack


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReaders:
    """The members of a consumer group."""

    members: Members
    protocol: str | None
    """`classic`, `consumer`, `share` or `streams`; None where not known."""
    assignor: str | None
    """The name of the group's assignor; None where not known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Partitions as rows, ordered by topic and number."""

    topics: tuple[str, ...]
    topic: NDArray[np.int32]
    """[rows], index into `topics`."""
    partition: NDArray[np.int32]
    """[rows], partition number."""
    pattern: NDArray[np.int64]
    """[rows], index into `racks[topic]`; `UNATTRIBUTED` where the partition has no leader."""
    replicas: Ragged
    """[rows], broker ids, leader first."""
    racks: Mapping[str, tuple[tuple[str | None, ...], ...]]
    """topic -> the racks of the replicas of each pattern, leader first."""
    counts: Mapping[str, tuple[int, ...]]
    """topic -> the partitions of each pattern."""
    may_lead: frozenset[int]
    """Brokers that are alive and have a rack."""
    groups: Mapping[str, GroupReaders]
    """group -> its members; groups without members are left out."""
    follows: bool
    """Whether brokers send readers to replicas in the reader's rack."""

    @classmethod
    def of(cls, cluster: Cluster, rack_of: Callable[[Group, GroupMember], Rack | None]) -> Layout:
        """The layout of a cluster; `rack_of` returns the rack of a group's member."""
        table, placed = cluster.partitions, cluster.partitions.placed
        racks = {b.id: None if b.rack is None else b.rack.text for b in cluster.brokers}
        # [topics], racks of the replicas, leader first -> number of the pattern
        numbers: list[dict[tuple[str | None, ...], int]] = [{} for _ in table.topics]
        pattern, ordered = [], []
        for row, (topic, leader) in enumerate(
            zip(table.topic.tolist(), table.leader.tolist(), strict=True)
        ):
            ids = placed.row(row)
            if leader not in ids:
                pattern.append(UNATTRIBUTED)
                ordered.append(ids)
                continue
            rest = sorted((racks.get(id_) or "", id_) for id_ in ids if id_ != leader)
            ordered.append((leader, *(id_ for _, id_ in rest)))
            replica_racks = tuple(racks.get(id_) for id_ in ordered[-1])
            pattern.append(numbers[topic].setdefault(replica_racks, len(numbers[topic])))
        counts = Counter(zip(table.topic.tolist(), pattern, strict=True))
        return cls(
            topics=table.topics,
            topic=table.topic,
            partition=table.partition,
            pattern=np.array(pattern, dtype=np.int64),
            replicas=Ragged.of(ordered),
            racks={name: tuple(known) for name, known in zip(table.topics, numbers, strict=True)},
            counts={
                name: tuple(counts[index, number] for number in range(len(numbers[index])))
                for index, name in enumerate(table.topics)
            },
            may_lead=frozenset(b.id for b in cluster.brokers if b.is_live and b.rack is not None),
            groups={g.group: _group_readers(g, rack_of) for g in cluster.groups if g.members},
            follows=_follows(cluster),
        )


def _group_readers(
    group: Group, rack_of: Callable[[Group, GroupMember], Rack | None]
) -> GroupReaders:
    assigned = {topic for member in group.members for topic, _ in member.partitions}
    listed = {topic for member in group.members for topic in member.topics or ()}
    # Stands for the topics of a member that does not report them.
    known_topics = tuple(sorted(assigned | listed))
    members = {}
    for member in group.members:
        rack = rack_of(group, member)
        members[member.member_id] = Member(
            topics=known_topics if member.topics is None else member.topics,
            rack=None if rack is None else rack.text,
            owned=tuple(TopicPartition(*pair) for pair in member.partitions),
            generation=member.generation or 0,
        )
    return GroupReaders(members=members, protocol=group.protocol, assignor=group.assignor)


def _follows(cluster: Cluster) -> bool:
    """Whether every live broker has the selector; a broker with unknown configs has none."""
    configs = cluster.configs.brokers
    live = [broker.id for broker in cluster.brokers if broker.is_live]
    return bool(live) and all(
        configs.get(id_, {}).get(REPLICA_SELECTOR) == RACK_AWARE_SELECTOR for id_ in live
    )
