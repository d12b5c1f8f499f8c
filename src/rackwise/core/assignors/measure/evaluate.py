"""What an assignment costs: reads in the own rack, reads that cross racks, and moves.

Goals: measure every assignment by the same rule, whatever created it; report what is not counted.

`distance` defines how many levels a read crosses.

A partition is local where its read crosses nothing, cross where it crosses a level, unknown where
its member has no rack, and unassigned where no member has it. The four add up to all partitions of
the topics that members list. A withheld partition counts for the member that gets it next. A
partition that two members have counts twice.

The owner of a partition is the only member that reports it in the highest generation that any
member reports for it. A member that no longer lists the topic does not count. A move is an owned
partition that ends with another member. What members owned that have left counts where the group
`before` is given.

The best is the assignment given as `best`, or else the formula of `best_local` for an even
assignment, where all members subscribe to the same topics and no weights are given.

What this does not do: look for a better assignment, or know which replicas are in sync.

Source: KIP-392 and KIP-881; KIP-792 (generations).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.assignors.distance import Distance, check_target, check_weights
from rackwise.core.assignors.measure.local_bound import (
    best_local,
    has_equal_subscriptions,
    members_by_rack,
    partitions_by_racks,
)
from rackwise.core.assignors.members import (
    TopicPartition,
    rack_sets,
    sorted_partitions,
)
from rackwise.core.assignors.order import utf16_key
from rackwise.core.errors import InvalidMember
from rackwise.core.racks import level_names
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rackwise.core.assignors.members import (
        Assignment,
        Member,
        Members,
        RackSets,
        ReplicaRacks,
        Target,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Numbers of partitions by where they are read."""

    local: int = 0
    """Read in the member's own rack."""
    cross: int = 0
    """Read across racks."""
    unknown: int = 0
    """Read by a member without rack."""

    @property
    def partitions(self) -> int:
        """The number of all partitions."""
        return self.local + self.cross + self.unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class RackReads:
    """The reads of all members of one rack."""

    rack: str | None
    """None for members without rack."""
    members: int
    reads: Reads


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCrossing:
    """What crosses one level of racks."""

    level: str
    partitions: int
    bytes_per_s: int | None
    """None without weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """What could not be counted."""

    topics: tuple[str, ...] = ()
    """Topics that a member lists, without metadata."""
    owned: tuple[TopicPartition, ...] = ()
    """Owned partitions that are not in the metadata, or of topics that no member lists."""
    assigned: tuple[TopicPartition, ...] = ()
    """Assigned partitions of listed topics that are not in the metadata."""
    unlisted: tuple[TopicPartition, ...] = ()
    """Assigned partitions of topics that no member lists."""
    unassigned: tuple[TopicPartition, ...] = ()
    """Partitions of listed topics that no member has."""
    unweighted: tuple[TopicPartition, ...] = ()
    """Assigned partitions without weight, which count as 0 bytes_per_s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentReport:
    """An assignment in numbers; all of them count partitions."""

    partitions: int
    """All partitions of the topics that members list, including unassigned ones."""
    smallest: int
    """The load of the member with the fewest partitions."""
    largest: int
    """The load of the member with the most partitions."""
    local: int
    cross: int
    unknown: int
    cross_by_level: tuple[LevelCrossing, ...]
    """Coarsest level first; members without rack cross every level."""
    moves: int
    """Owned partitions that end with another member."""
    withheld: int
    """Partitions that wait for the next round."""
    best_local: int | None
    """Local partitions of the best assignment; None where neither it nor a formula is known."""
    by_member: Mapping[str, Reads]
    by_rack: tuple[RackReads, ...]
    """By the members' racks; members without rack come last."""
    skipped: Skipped

    @property
    def unassigned(self) -> int:
        """The number of partitions that no member has."""
        return len(self.skipped.unassigned)

    @property
    def local_share(self) -> Fraction:
        """The share of local partitions; 1 where there are no partitions."""
        return Fraction(self.local, self.partitions) if self.partitions else Fraction(1)

    @property
    def gap(self) -> int | None:
        """How many more local partitions the best assignment has; it may be below 0."""
        return None if self.best_local is None else self.best_local - self.local


def evaluate(
    assignment: Assignment,
    members: Members,
    racks: ReplicaRacks,
    *,
    target: Target = "follower",
    weights: Mapping[TopicPartition, int] | None = None,
    best: Assignment | None = None,
    before: Members | None = None,
) -> AssignmentReport:
    """Measure an assignment. `weights`: bytes_per_s of each partition, integers >= 0.

    `before`: the group whose owned partitions moves are counted from, by default `members`. Raises
    `InvalidMember` (also for an assigned member that is not in the group), `InvalidReplicaRacks`,
    `InvalidWeights`, and `InvalidConfig` for an unknown target.
    """
    check_target(target)
    sets = rack_sets(members, racks)
    check_weights(weights, racks)
    distance = Distance.of((member.rack for member in members.values()), target)
    pairs = list(holders_of(assignment, members))
    counted = [(tp, member) for tp, member in pairs if _exists(tp, sets)]
    losses = [
        distance.loss(members[member].rack, tuple(racks[tp.topic][tp.partition]))
        for tp, member in counted
    ]
    by_member = _reads_by_member(members, counted, losses)
    sums = _sum_reads(by_member.values())
    sizes = [reads.partitions for reads in by_member.values()]
    owners = _owners(members if before is None else before)
    skipped = _find_skipped(members, sets, pairs, weights)
    return AssignmentReport(
        partitions=len(counted) + len(skipped.unassigned),
        smallest=min(sizes),
        largest=max(sizes),
        local=sums.local,
        cross=sums.cross,
        unknown=sums.unknown,
        cross_by_level=_crossings_by_level(counted, losses, distance.depth, weights),
        moves=sum(1 for tp, member in counted if owners.get(tp, member) != member),
        withheld=sum(1 for tp in assignment.withheld if _exists(tp, sets)),
        best_local=_local_bound(members, racks, distance)
        if best is None and weights is None
        else _count_local(best, members, racks, distance),
        by_member=MappingProxyType(by_member),
        by_rack=_reads_by_rack(members, by_member),
        skipped=skipped,
    )


def _count_local(
    best: Assignment | None, members: Members, racks: ReplicaRacks, distance: Distance
) -> int | None:
    """The local partitions of the assignment given as the best."""
    if best is None:
        return None
    sets = rack_sets(members, racks)
    return sum(
        distance.loss(members[member].rack, tuple(racks[tp.topic][tp.partition])) == 0
        for tp, member in holders_of(best, members)
        if _exists(tp, sets)
    )


def _local_bound(members: Members, racks: ReplicaRacks, distance: Distance) -> int | None:
    """The local partitions of the best even assignment, where a formula exists."""
    if not has_equal_subscriptions(members, racks):
        return None
    sizes = members_by_rack(members)
    counts = partitions_by_racks(members, racks, distance)
    return best_local(counts, sizes, len(members) - sizes.total())[0]


def holders_of(assignment: Assignment, members: Members) -> Iterator[tuple[TopicPartition, str]]:
    """Pairs of a partition and its member; a withheld one has the member that gets it next.

    Raises `InvalidMember` for a member that is not in the group.
    """
    for member, tps in assignment.partitions.items():
        _check_known(member, members)
        for tp in tps:
            yield tp, member
    for tp, member in assignment.withheld.items():
        _check_known(member, members)
        yield tp, member


def _check_known(member: str, members: Members) -> None:
    if member not in members:
        raise InvalidMember(
            f"invalid assignment: expected members of the group, got {escaped(member)}",
            wanted="a member of the group",
            had=member,
            hint="give the members that the assignment was computed for",
        )


def _exists(tp: TopicPartition, sets: RackSets) -> bool:
    return tp.topic in sets and 0 <= tp.partition < len(sets[tp.topic])


def _reads_by_member(
    members: Members, counted: Sequence[tuple[TopicPartition, str]], losses: Sequence[int]
) -> dict[str, Reads]:
    # (member, whether the read crosses a level) -> partitions
    crossing = Counter(
        (member, loss > 0) for (_, member), loss in zip(counted, losses, strict=True)
    )
    return {
        key: _classify_reads(member, crossing[key, False], crossing[key, True])
        for key, member in members.items()
    }


def _classify_reads(member: Member, near: int, far: int) -> Reads:
    return Reads(unknown=near + far) if member.rack is None else Reads(local=near, cross=far)


def _sum_reads(parts: Iterable[Reads]) -> Reads:
    listed = list(parts)
    return Reads(
        local=sum(reads.local for reads in listed),
        cross=sum(reads.cross for reads in listed),
        unknown=sum(reads.unknown for reads in listed),
    )


def _reads_by_rack(members: Members, by_member: Mapping[str, Reads]) -> tuple[RackReads, ...]:
    found: dict[str | None, list[Reads]] = {}
    for key, member in members.items():
        found.setdefault(member.rack, []).append(by_member[key])
    racks = sorted(found, key=lambda rack: (rack is None, utf16_key(rack or "")))
    return tuple(
        RackReads(rack=rack, members=len(found[rack]), reads=_sum_reads(found[rack]))
        for rack in racks
    )


def _crossings_by_level(
    counted: Sequence[tuple[TopicPartition, str]],
    losses: Sequence[int],
    depth: int,
    weights: Mapping[TopicPartition, int] | None,
) -> tuple[LevelCrossing, ...]:
    partitions = Counter(losses)
    bytes_per_s: Counter[int] = Counter()
    if weights is not None:
        for (tp, _), loss in zip(counted, losses, strict=True):
            bytes_per_s[loss] += weights.get(tp, 0)
    return tuple(
        LevelCrossing(
            level=level,
            partitions=sum(partitions[loss] for loss in range(finer, depth + 1)),
            bytes_per_s=None
            if weights is None
            else sum(bytes_per_s[loss] for loss in range(finer, depth + 1)),
        )
        for finer, level in zip(range(depth, 0, -1), level_names(depth), strict=True)
    )


def _owners(members: Members) -> dict[TopicPartition, str]:
    """Partition -> its owner: the only subscriber that reports it in the highest generation."""
    # partition -> the newest generation so far, and the members that report it there
    reports: dict[TopicPartition, tuple[int, list[str]]] = {}
    for key, member in members.items():
        listed = frozenset(member.topics)
        for tp in dict.fromkeys(tp for tp in member.owned if tp.topic in listed):
            newest, reporters = reports.setdefault(tp, (member.generation, []))
            if member.generation > newest:
                reports[tp] = (member.generation, [key])
            elif member.generation == newest:
                reporters.append(key)
    return {tp: reporters[0] for tp, (_, reporters) in reports.items() if len(reporters) == 1}


def _find_skipped(
    members: Members,
    sets: RackSets,
    pairs: Sequence[tuple[TopicPartition, str]],
    weights: Mapping[TopicPartition, int] | None,
) -> Skipped:
    listed = {topic for member in members.values() for topic in member.topics}
    owned = {tp for member in members.values() for tp in member.owned}
    assigned = {tp for tp, _ in pairs}
    every = [
        TopicPartition(topic, partition)
        for topic, partitions in sets.items()
        for partition in range(len(partitions))
    ]
    weighted = assigned if weights is None else weights
    return Skipped(
        topics=tuple(sorted(listed - sets.keys(), key=utf16_key)),
        owned=sorted_partitions(tp for tp in owned if not _exists(tp, sets)),
        assigned=sorted_partitions(
            tp for tp in assigned if tp.topic in listed and not _exists(tp, sets)
        ),
        unlisted=sorted_partitions(tp for tp in assigned if tp.topic not in listed),
        unassigned=tuple(tp for tp in every if tp not in assigned),
        unweighted=tuple(tp for tp in every if tp in assigned and tp not in weighted),
    )
