"""Members of a consumer group, the racks of the partitions they read, and their assignment.

```
members                              racks: topic -> partition -> rack of each replica
m1  topics t, u   rack a             t   0  a b      u   0  a
m2  topics t      rack b                 1  b c
m3  topics t      no rack
                                     Assignment.partitions: m1 (t-0, u-0)  m2 (t-1)  m3 ()
```

Racks are opaque texts that are equal or not, as `client.rack` and `broker.rack` are for Kafka. The
empty text means no rack, for members and for brokers. Only topics take part that a member lists and
that have partitions.

Assignors consider racks only where racks can make a difference: some member has a rack, members and
replicas share one, and not every partition is in all racks.

```
members in   partitions in            racks matter
a b          {a b c} {a b c}          no: every partition is everywhere
a b          {a} {b} {c}              yes
d            {a} {b} {c}              no: no member shares a rack with a replica
```

What this does not do: decide which member gets which partition.

Source: KIP-881; `ConsumerPartitionAssignor.Subscription` and
`AbstractPartitionAssignor.useRackAwareAssignment` (Kafka 3.5 and later).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from rackwise.core.assignors.order import utf16_key
from rackwise.core.errors import InvalidMember, InvalidReplicaRacks
from rackwise.core.override import override
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.core.model import Cluster

NO_GENERATION = -1
"""The generation of `owned` where it is not known."""

Target: TypeAlias = Literal["follower", "leader", "nearest"]
TARGETS: tuple[Target, ...] = ("follower", "leader", "nearest")
"""The replica that is read: one in the member's own rack (KIP-392), the leader, or the nearest."""


class TopicPartition(NamedTuple):
    """One partition of a topic; equal to, and sorted like, the plain pair `PartitionId`."""

    topic: str
    partition: int

    @override
    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What a member reports when it joins.

    Raises `InvalidMember` where topics are a single text, or owned are not pairs.

    Source: KIP-54, KIP-345, KIP-429, KIP-792, KIP-881 (fields of Subscription).
    """

    topics: tuple[str, ...]
    """The topics that it subscribes to; a topic may repeat."""
    rack: str | None = None
    """The raw text of `client.rack`; the empty text becomes None."""
    instance_id: str | None = None
    """`group.instance.id` of a static member."""
    owned: tuple[TopicPartition, ...] = ()
    """The partitions that it has, or had."""
    generation: int = NO_GENERATION
    """The generation in which it got `owned`."""
    released: bool = False
    """Whether `owned` is already revoked, as for an eager member."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "topics", _topic_tuple(self.topics))
        object.__setattr__(self, "rack", self.rack or None)
        object.__setattr__(self, "owned", _owned_pairs(self.owned))
        if type(self.generation) is int:
            object.__setattr__(self, "generation", max(self.generation, NO_GENERATION))


Members: TypeAlias = Mapping[str, Member]
"""member id -> member, in the order of the JoinGroup response."""

ReplicaRacks: TypeAlias = Mapping[str, Sequence[Sequence[str | None]]]
"""topic -> partition -> rack of each replica, leader first; None is a broker without rack."""

RackSets: TypeAlias = dict[str, tuple[frozenset[str], ...]]
"""topic -> partition -> racks that hold a replica; topics in Java's order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """member -> partitions."""

    partitions: Mapping[str, tuple[TopicPartition, ...]]
    """The partitions of every member, in topic and partition order."""
    withheld: Mapping[TopicPartition, str] = field(default_factory=lambda: MappingProxyType({}))
    """partition -> the member that gets it in the next round, after its present reader revokes it
    (KIP-429)."""

    @classmethod
    def of(
        cls,
        partitions: Mapping[str, Iterable[TopicPartition]],
        withheld: Mapping[TopicPartition, str] | None = None,
    ) -> Assignment:
        """An assignment from partitions in any order."""
        given = {member: sorted_partitions(tps) for member, tps in partitions.items()}
        kept = {} if withheld is None else {tp: withheld[tp] for tp in sorted_partitions(withheld)}
        return cls(partitions=MappingProxyType(given), withheld=MappingProxyType(kept))

    def by_topic(self, member: str) -> Mapping[str, tuple[int, ...]]:
        """The partitions of one member by topic. Raises `KeyError` for an unknown member."""
        found: dict[str, list[int]] = {}
        for topic, partition in self.partitions[member]:
            found.setdefault(topic, []).append(partition)
        return {topic: tuple(numbers) for topic, numbers in found.items()}


def sorted_partitions(partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Partitions in order of topic, as Java compares texts, then of number."""
    found = list(partitions)
    if all(topic.isascii() for topic in {tp.topic for tp in found}):
        return tuple(sorted(found))
    return tuple(sorted(found, key=lambda tp: (utf16_key(tp.topic), tp.partition)))


def check_members(members: Members) -> None:
    """Reject an impossible group.

    Raises `InvalidMember` for no member, a topic, rack or id that is not a text, an owned partition
    that is not an integer >= 0, or a generation that is not an integer.
    """
    if not members:
        raise InvalidMember("expected at least 1 member, got 0", wanted="at least 1 member", had=0)
    for member_id, member in members.items():
        if not isinstance(member_id, str):
            raise _invalid_member(member_id, "id", "a text", member_id)
        _check_topics(member_id, member.topics)
        for what, name in (("rack", member.rack), ("instance id", member.instance_id)):
            if not isinstance(name, str | None):
                raise _invalid_member(member_id, what, "a text or None", name)
        if type(member.generation) is not int:
            raise _invalid_member(member_id, "generation", "an integer", member.generation)
        _check_owned(member_id, member.owned)


def rack_sets(members: Members, racks: ReplicaRacks) -> RackSets:
    """The racks of each partition that takes part, after `check_members`.

    Only topics that some member lists and that have partitions. Raises `InvalidMember`, and
    `InvalidReplicaRacks` where the racks of a partition are not a list of texts and None.
    """
    numbers, rows = rack_rows(members, racks)
    sets = [frozenset(rack for rack in row if rack) for row in rows]
    return {topic: tuple(map(sets.__getitem__, found)) for topic, found in numbers.items()}


def rack_rows(
    members: Members, racks: ReplicaRacks
) -> tuple[dict[str, list[int]], list[tuple[str | None, ...]]]:
    """Topic -> partition -> row number, and the distinct rows of racks, after `check_members`.

    Topics are in Java's order. Raises as `rack_sets` does.
    """
    check_members(members)
    listed = {topic for topics in _topic_lists(members) for topic in topics}
    known: dict[tuple[str | None, ...], int] = {}
    found = {
        topic: _number_rows(topic, racks[topic], known)
        for topic in sorted(listed & racks.keys(), key=utf16_key)
    }
    return {topic: numbers for topic, numbers in found.items() if numbers}, list(known)


def subscribers_of(members: Members, order: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Topic -> ids of the members that list it, in the given order; after `check_members`.

    Topics that the same members list share one tuple.
    """
    # topic -> numbers of the lists that contain it
    lists: dict[str, list[int]] = {}
    numbers = {topics: number for number, topics in enumerate(_topic_lists(members))}
    for topics, number in numbers.items():
        for topic in dict.fromkeys(topics):
            lists.setdefault(topic, []).append(number)
    of_member = {member: numbers[members[member].topics] for member in order}
    # numbers of lists -> the members with one of these lists
    known: dict[tuple[int, ...], tuple[str, ...]] = {}
    for found in lists.values():
        if tuple(found) not in known:
            some = set(found)
            known[tuple(found)] = tuple(member for member in order if of_member[member] in some)
    return {topic: known[tuple(found)] for topic, found in lists.items()}


def racks_matter(
    member_racks: Iterable[str | None],
    partition_racks: Iterable[frozenset[str]],
    *,
    force: bool = False,
) -> bool:
    """Whether racks can make a difference.

    `force`: racks matter even where every partition is in all racks.
    """
    in_use = set(member_racks) - {None}
    sets = set(partition_racks)
    union = frozenset().union(*sets)
    return not in_use.isdisjoint(union) and (force or sets != {union})


def replica_racks(cluster: Cluster, topics: Iterable[str]) -> ReplicaRacks:
    """The racks of the replicas of those topics that the cluster has; unknown brokers have none.

    The current leader comes first, or the preferred leader where there is none. As in Kafka's
    metadata, replicas count that are out of sync or that a running reassignment adds.
    """
    names = set(topics)
    racks = {broker.id: broker.rack.text for broker in cluster.brokers if broker.rack is not None}
    found: dict[str, list[tuple[str | None, ...]]] = {}
    table = cluster.partitions
    # [topics of the table], whether the topic is one of `topics`
    is_included = [name in names for name in table.topics]
    for row, (topic, partition, leader) in enumerate(
        zip(table.topic.tolist(), table.partition.tolist(), table.leader.tolist(), strict=True)
    ):
        if is_included[topic]:
            replicas = sorted(table.replicas.row(row), key=lambda broker: broker != leader)
            rows = found.setdefault(table.topics[topic], [])
            # A partition that is not in the table has no replicas.
            rows += [()] * (partition + 1 - len(rows))
            rows[partition] = tuple(racks.get(broker) for broker in replicas)
    return found


def _check_topics(member_id: str, topics: Sequence[str]) -> None:
    # The types are compared first because that is fast for a long list of topics.
    if set(map(type, topics)) != {str}:
        for topic in topics:
            if not isinstance(topic, str):
                raise _invalid_member(member_id, "topic", "a text", topic)


def _check_owned(member_id: str, owned: Iterable[TopicPartition]) -> None:
    for topic, partition in owned:
        if not isinstance(topic, str):
            raise _invalid_member(member_id, "owned topic", "a text", topic)
        if type(partition) is not int or partition < 0:
            raise _invalid_member(member_id, "owned partition", "an integer >= 0", partition)


def _topic_tuple(topics: Iterable[str]) -> tuple[str, ...]:
    if isinstance(topics, str):
        raise InvalidMember(
            f'invalid topics: expected a list, got the text "{escaped(topics)}"',
            wanted="a list of topics",
            had=topics,
            hint="write topics=(name,)",
        )
    return tuple(topics)


def _topic_lists(members: Members) -> dict[tuple[str, ...], None]:
    """The distinct lists of topics. There are few, even with many members."""
    return dict.fromkeys(member.topics for member in members.values())


def _owned_pairs(owned: Iterable[Iterable[object]]) -> tuple[TopicPartition, ...]:
    try:
        return tuple(map(TopicPartition._make, owned))
    except TypeError:
        raise InvalidMember(
            "invalid owned: expected pairs of topic and partition, got something else",
            wanted="pairs of topic and partition",
            had=owned,
            hint="write owned=((topic, 0), (topic, 1))",
        ) from None


def _invalid_member(member_id: object, field: str, wanted: str, had: object) -> InvalidMember:
    name = escaped(str(member_id))
    return InvalidMember(
        f"invalid {field} of member {name}: expected {wanted}, got {escaped(repr(had))}",
        wanted=wanted,
        had=had,
        where=f"member {name}",
    )


def _number_rows(
    topic: str,
    partitions: Sequence[Sequence[str | None]],
    known: dict[tuple[str | None, ...], int],
) -> list[int]:
    """The number of each partition's row; only new rows are checked."""
    if not _is_list(partitions):
        raise _invalid_racks(topic, "a list of partitions", partitions)
    if not set(map(type, partitions)) <= {list, tuple}:
        for partition, replicas in enumerate(partitions):
            if not _is_list(replicas):
                raise _invalid_racks(f"{topic}[{partition}]", "a list of racks", replicas)
    rows = list(map(tuple, partitions))
    try:
        new = [row for row in dict.fromkeys(rows) if row not in known]
    except TypeError:
        new = rows
    if not all(isinstance(rack, str | None) for row in new for rack in row):
        raise _invalid_row(topic, rows)
    known.update((row, number) for number, row in enumerate(new, len(known)))
    return list(map(known.__getitem__, rows))


def _invalid_row(topic: str, rows: Iterable[Iterable[object]]) -> InvalidReplicaRacks:
    path, rack = next(
        (f"{topic}[{partition}][{place}]", rack)
        for partition, row in enumerate(rows)
        for place, rack in enumerate(row)
        if not isinstance(rack, str | None)
    )
    return _invalid_racks(path, "a text or None", rack)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _invalid_racks(path: str, wanted: str, had: object) -> InvalidReplicaRacks:
    return InvalidReplicaRacks(
        f"invalid {escaped(path)}: expected {wanted}, got {escaped(repr(had))}",
        wanted=wanted,
        had=had,
        where=path,
    )
