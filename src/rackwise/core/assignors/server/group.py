"""A group as the group coordinator hands it to an assignor on the broker.

Goals: the order in which the coordinator visits members, topics and partitions, since its assignors
give what they visit first.

```
members      in the order of the coordinator's table, then of a hash map (`coordinator_order`)
topics       by the hash of the topic id; without ids by name
owned        by topic as above, the numbers of each topic in the order of a set of integers
```

A member takes part in the topics that it lists and that exist. Owned partitions that do not exist
are dropped. The coordinator gives a partition to one member only; of two that report it, the first
one in its order counts. All members subscribe equally if all of them list the same names, whether
these topics exist or not.

What this does not do: know what the coordinator keeps to itself, such as the order in which members
joined or the sizes that its sets once had. Two keys that share a bucket may then change places.

Source: `TargetAssignmentBuilder` and `GroupSpecImpl` of Kafka 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import rack_rows, sorted_partitions
from rackwise.core.assignors.order import (
    bucket_order,
    coordinator_order,
    topic_id_hash,
    topic_id_key,
    utf16_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.assignors.members import Members, ReplicaRacks, TopicPartition

NO_IDS: Mapping[str, str] = MappingProxyType({})
"""No topic id is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatedGroup:
    """What an assignor on the broker knows of a group."""

    members: tuple[str, ...]
    """In the order of the coordinator."""
    sizes: Mapping[str, int]
    """Topic -> number of partitions; the topics in the order of the coordinator."""
    topics: Mapping[str, tuple[str, ...]]
    """Member -> the topics that it reads, in the order of the coordinator."""
    owned: Mapping[str, Mapping[str, tuple[int, ...]]]
    """Member -> topic, read or not -> partitions, both in the order of the coordinator."""
    places: Mapping[str, int]
    """Topic -> place in the order of topic ids."""
    has_equal_topics: bool
    """Whether all members list the same names."""

    @classmethod
    def of(
        cls, members: Members, racks: ReplicaRacks, topic_ids: Mapping[str, str]
    ) -> CoordinatedGroup:
        """The group. Racks only say which partitions exist. Raises what `rack_rows` raises."""
        rows, _ = rack_rows(members, racks)
        # Without the id of every topic there is no order of ids.
        has_ids = all(topic in topic_ids for topic in rows)
        walk = [*rows]
        places = {topic: place for place, topic in enumerate(walk)}
        if has_ids:
            hashes = [topic_id_hash(topic_ids[topic]) for topic in walk]
            walk = [walk[place] for place in bucket_order(hashes, is_copied=True)]
            sorted_ids = sorted(rows, key=lambda topic: topic_id_key(topic_ids[topic]))
            places = {topic: place for place, topic in enumerate(sorted_ids)}
        listed = {key: frozenset(member.topics) for key, member in members.items()}
        order = coordinator_order(sorted(members, key=utf16_key))
        # partition -> the member that has it
        owners = {
            tp: key
            for key in reversed(order)
            for tp in members[key].owned
            if tp.topic in rows and tp.partition < len(rows[tp.topic])
        }
        owned: dict[str, list[TopicPartition]] = {key: [] for key in order}
        for tp in sorted_partitions(owners):
            owned[owners[tp]].append(tp)
        return cls(
            members=order,
            sizes={topic: len(rows[topic]) for topic in walk},
            topics={
                key: tuple(topic for topic in walk if topic in names)
                for key, names in listed.items()
            },
            owned={
                key: _by_topic(found, topic_ids if has_ids else NO_IDS)
                for key, found in owned.items()
            },
            places=places,
            has_equal_topics=len(set(listed.values())) == 1,
        )


def _by_topic(
    owned: Iterable[TopicPartition], topic_ids: Mapping[str, str]
) -> dict[str, tuple[int, ...]]:
    """Topic -> partitions, both in Java's order; `owned` is sorted."""
    found: dict[str, list[int]] = {}
    for topic, partition in owned:
        found.setdefault(topic, []).append(partition)
    walk = [*found]
    if topic_ids:
        hashes = [topic_id_hash(topic_ids[topic]) for topic in walk]
        walk = [walk[place] for place in bucket_order(hashes)]
    return {topic: _set_order(found[topic]) for topic in walk}


def _set_order(numbers: Sequence[int]) -> tuple[int, ...]:
    """Integers in the order of a Java set that is copied from them."""
    return tuple(numbers[place] for place in bucket_order(numbers, is_copied=True))
