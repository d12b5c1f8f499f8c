"""What a group would read locally with Kafka's own assignors on the broker (KIP-848).

Goals: before a group changes to the consumer protocol, say what it loses; say so only where known;
never take a lucky order of members for a result.

A member gets a new id when it restarts, and the assignors on the broker order members by their ids.
So each subscriber of a topic is as likely as any other to get a partition, and the number of local
partitions is an average:

```
partition    replicas in    subscribers in     local with a chance of
t-0          a b            a b c              2/3
t-1          c              a b c              1/3
t-2          d              a b c              0          average: 1 of 3
```

The readers of a partition are a list of members, each of them equally likely:

```
range     members without instance id       all subscribers of the topic
          static members                    the member that gets it: their order does not change
uniform   all members list the same topics  all subscribers of the topic
          otherwise                         the members that get it with several sets of random ids
```

Lost reads are counted in bytes where weights are given, in partitions otherwise.

What this does not do: know how a rolling restart spreads over time. Members are taken to join at
once, so nobody owns anything before. Static members that restart one by one take over what they
had: they get this assignment when another member joins or leaves.

Source: KIP-848.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.assignors.distance import Distance, check_target
from rackwise.core.assignors.members import TopicPartition, rack_rows, subscribers_of
from rackwise.core.assignors.server.range import assign_server_range
from rackwise.core.assignors.server.uniform import assign_uniform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.assignors.members import Assignment, Members, ReplicaRacks, Target

MOST_DRAWS, LEAST_DRAWS = 32, 4
"""How often the members of a group with differing subscriptions get random ids."""
MOST_DRAWN = 400_000
"""Partitions in all draws, from which on there are fewer draws: they take seconds."""

LikelyReaders: TypeAlias = "Mapping[TopicPartition, tuple[str, ...]]"
"""Partition -> members, each of them equally likely to read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOutcome:
    """What one assignor on the broker gives after all members have restarted."""

    assignor: str
    """Kafka's name: `uniform` or `range`."""
    readers: LikelyReaders
    partitions: int
    """All partitions that the group reads."""
    local: Fraction | None
    """Local partitions, on average; None if the rack of a member is not known."""
    lost_share: Fraction | None
    """The share of the local reads of today that would cross racks; below 0 if more would be local.
    None if nothing is local today or the rack of a member is not known."""

    @property
    def is_average(self) -> bool:
        """Whether the ids of members decide."""
        return any(len(members) > 1 for members in self.readers.values())


def server_outcomes(
    assignment: Assignment,
    members: Members,
    racks: ReplicaRacks,
    *,
    target: Target = "follower",
    weights: Mapping[TopicPartition, int] | None = None,
) -> tuple[ServerOutcome, ...]:
    """The outcome of each of Kafka's own assignors, compared with the present assignment.

    Raises `InvalidMember`, `InvalidReplicaRacks`, and `InvalidConfig` for an unknown target.
    """
    check_target(target)
    distance = Distance.of((member.rack for member in members.values()), target)
    is_known = all(member.rack is not None for member in members.values())

    def local_of(readers: LikelyReaders, of: Mapping[TopicPartition, int] | None) -> Fraction:
        return sum(
            (
                amount
                for (rack, replicas), amount in likely_reads(readers, members, racks, of).items()
                if distance.loss(rack, replicas) == 0
            ),
            Fraction(0),
        )

    today = local_of(present_readers(assignment, racks), weights)
    subscribers = _subscribers(members, racks)
    outcomes = []
    for name, readers in (
        ("uniform", _readers_of_uniform(members, racks, subscribers)),
        ("range", _readers_of_range(members, racks, subscribers)),
    ):
        local = local_of(readers, None)
        kept = local if weights is None else local_of(readers, weights)
        outcomes.append(
            ServerOutcome(
                assignor=name,
                readers=readers,
                partitions=len(readers),
                local=local if is_known else None,
                lost_share=(today - kept) / today if is_known and today else None,
            )
        )
    return tuple(outcomes)


def present_readers(assignment: Assignment, racks: ReplicaRacks) -> LikelyReaders:
    """The members of the partitions that exist."""
    found: dict[TopicPartition, tuple[str, ...]] = {}
    for member, tps in assignment.partitions.items():
        alone = (member,)
        for tp in tps:
            if tp.topic in racks and tp.partition < len(racks[tp.topic]):
                found[tp] = alone
    return found


def likely_reads(
    readers: LikelyReaders,
    members: Members,
    racks: ReplicaRacks,
    weights: Mapping[TopicPartition, int] | None,
) -> dict[tuple[str | None, tuple[str | None, ...]], Fraction]:
    """(rack of members, racks of replicas) -> bytes_per_s, or partitions without weights."""
    # Most partitions share one list of readers: its racks are counted once.
    shares: dict[int, Counter[str | None]] = {}
    lengths: dict[int, int] = {}
    # (list of readers, racks of replicas) -> amount
    amounts: Counter[tuple[int, tuple[str | None, ...]]] = Counter()
    for tp, likely in readers.items():
        if id(likely) not in shares:
            shares[id(likely)] = Counter(members[member].rack for member in likely)
            lengths[id(likely)] = len(likely)
        amount = 1 if weights is None else weights.get(tp, 0)
        amounts[id(likely), tuple(racks[tp.topic][tp.partition])] += amount
    found: defaultdict[tuple[str | None, tuple[str | None, ...]], Fraction] = defaultdict(Fraction)
    for (key, replicas), amount in amounts.items():
        for rack, count in shares[key].items():
            found[rack, replicas] += Fraction(amount * count, lengths[key])
    return found


def _readers_of_range(
    members: Members, racks: ReplicaRacks, subscribers: LikelyReaders
) -> LikelyReaders:
    if all(member.instance_id is not None for member in members.values()):
        return present_readers(assign_server_range(members, racks), racks)
    return subscribers


def _readers_of_uniform(
    members: Members, racks: ReplicaRacks, subscribers: LikelyReaders
) -> LikelyReaders:
    if len({frozenset(member.topics) for member in members.values()}) == 1:
        return subscribers
    found: dict[TopicPartition, list[str]] = {}
    draws = min(MOST_DRAWS, max(LEAST_DRAWS, MOST_DRAWN // max(len(subscribers), 1)))
    for draw in range(draws):
        names = {sha256(f"{draw} {key}".encode()).hexdigest(): key for key in members}
        joining = {name: replace(members[key], owned=()) for name, key in names.items()}
        for name, tps in assign_uniform(joining, racks).partitions.items():
            for tp in tps:
                found.setdefault(tp, []).append(names[name])
    return {tp: tuple(likely) for tp, likely in found.items()}


def _subscribers(members: Members, racks: ReplicaRacks) -> LikelyReaders:
    rows, _ = rack_rows(members, racks)
    readers = subscribers_of(members, tuple(members))
    return {
        TopicPartition(topic, partition): readers[topic]
        for topic, found in rows.items()
        for partition in range(len(found))
    }
