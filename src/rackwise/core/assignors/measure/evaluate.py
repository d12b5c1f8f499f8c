"""What an assignment costs: what is read in the own rack, what crosses, and what was moved.

Goals: measure any assignment, whoever made it, by the same rule; count what is left out.

How many levels a read crosses is said in `distance`.

A partition is local where nothing is lost, cross where something is, unknown where its member has
no rack, unassigned where nobody has it; the four sum up to all of the topics that members list. One
that is withheld counts for the member that gets it next, one that two members have counts twice.

Owned is a partition by the member that alone claims it at the highest generation claimed. Who does
not list its topic any more claims nothing. A move is an owned partition that ends elsewhere; what
members own that have left counts where the group `before` is given.

The best is what an even assignment can have by the formula of `best_local`, where all subscribe to
the same topics and no weights are given; or the one given as `best`.

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
    """How many partitions are read in the own rack, across racks, and who knows where."""

    local: int = 0
    cross: int = 0
    unknown: int = 0

    @property
    def partitions(self) -> int:
        """All of them."""
        return self.local + self.cross + self.unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class RackReads:
    """The members of one rack together; `rack` None is those without."""

    rack: str | None
    members: int
    reads: Reads


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCrossing:
    """What crosses at one level of racks; `bytes_per_s` is None where no weights were given."""

    level: str
    partitions: int
    bytes_per_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """What could not be counted.

    `topics`: listed by a member, without metadata. `owned`: partitions beyond the metadata, or of
    topics that no member lists; of those that are assigned, `assigned` are beyond the metadata and
    `unlisted` of topics that no member lists. `unassigned`: partitions of listed topics that nobody
    has. `unweighted`: assigned, but without a weight, counted as 0 bytes_per_s.
    """

    topics: tuple[str, ...] = ()
    owned: tuple[TopicPartition, ...] = ()
    assigned: tuple[TopicPartition, ...] = ()
    unlisted: tuple[TopicPartition, ...] = ()
    unassigned: tuple[TopicPartition, ...] = ()
    unweighted: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentReport:
    """An assignment in numbers, all of them partitions.

    `partitions`: all of the topics that members list, those that nobody has too. `smallest`,
    `largest`: what a member has. `cross_by_level`: coarsest first; members without rack cross every
    level. `moves`: owned partitions that end with another member. `withheld`: those that wait for
    the next round. `best_local`: local partitions of the best assignment: of the one that was
    given, else by the formula, None for differing subscriptions and for weights. `by_rack`: by the
    members' racks, those without last.
    """

    partitions: int
    smallest: int
    largest: int
    local: int
    cross: int
    unknown: int
    cross_by_level: tuple[LevelCrossing, ...]
    moves: int
    withheld: int
    best_local: int | None
    by_member: Mapping[str, Reads]
    by_rack: tuple[RackReads, ...]
    skipped: Skipped

    @property
    def unassigned(self) -> int:
        """Partitions that nobody has: what local, cross and unknown leave of all."""
        return len(self.skipped.unassigned)

    @property
    def local_share(self) -> Fraction:
        """Local partitions of all; 1 where there are none."""
        return Fraction(self.local, self.partitions) if self.partitions else Fraction(1)

    @property
    def gap(self) -> int | None:
        """Local partitions that the best assignment has more; below 0 where it trades some away."""
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
    """Measure an assignment. `weights`: bytes_per_s of each partition, integers from 0 on.

    `before`: the group whose owned partitions moves are counted from, `members` by default.
    Raises `InvalidMember` (also for a partition given to a stranger), `InvalidReplicaRacks`,
    `InvalidWeights`, and `InvalidConfig` for an unknown target.
    """
    check_target(target)
    sets = rack_sets(members, racks)
    check_weights(weights, racks)
    distance = Distance.of((member.rack for member in members.values()), target)
    given = list(holders_of(assignment, members))
    counted = [(tp, member) for tp, member in given if _exists(tp, sets)]
    losses = [
        distance.loss(members[member].rack, tuple(racks[tp.topic][tp.partition]))
        for tp, member in counted
    ]
    by_member = _reads(members, counted, losses)
    sums = _total(by_member.values())
    sizes = [reads.partitions for reads in by_member.values()]
    owners = _owners(members if before is None else before)
    skipped = _skipped(members, sets, given, weights)
    return AssignmentReport(
        partitions=len(counted) + len(skipped.unassigned),
        smallest=min(sizes),
        largest=max(sizes),
        local=sums.local,
        cross=sums.cross,
        unknown=sums.unknown,
        cross_by_level=_crossings(counted, losses, distance.depth, weights),
        moves=sum(1 for tp, member in counted if owners.get(tp, member) != member),
        withheld=sum(1 for tp in assignment.withheld if _exists(tp, sets)),
        best_local=_most_local(members, racks, distance)
        if best is None and weights is None
        else _local(best, members, racks, distance),
        by_member=MappingProxyType(by_member),
        by_rack=_by_rack(members, by_member),
        skipped=skipped,
    )


def _local(
    best: Assignment | None, members: Members, racks: ReplicaRacks, distance: Distance
) -> int | None:
    """Local partitions of an assignment that was given to be compared with."""
    if best is None:
        return None
    sets = rack_sets(members, racks)
    return sum(
        distance.loss(members[member].rack, tuple(racks[tp.topic][tp.partition])) == 0
        for tp, member in holders_of(best, members)
        if _exists(tp, sets)
    )


def _most_local(members: Members, racks: ReplicaRacks, distance: Distance) -> int | None:
    """What an even assignment can have, as far as a formula tells."""
    if not has_equal_subscriptions(members, racks):
        return None
    sizes = members_by_rack(members)
    kinds = partitions_by_racks(members, racks, distance)
    return best_local(kinds, sizes, len(members) - sizes.total())[0]


def holders_of(assignment: Assignment, members: Members) -> Iterator[tuple[TopicPartition, str]]:
    """Partitions with their members, the withheld ones with those that get them next.

    Raises `InvalidMember` for a member that is not of the group.
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
            hint="give the members that the assignment was made for",
        )


def _exists(tp: TopicPartition, sets: RackSets) -> bool:
    return tp.topic in sets and 0 <= tp.partition < len(sets[tp.topic])


def _reads(
    members: Members, counted: Sequence[tuple[TopicPartition, str]], losses: Sequence[int]
) -> dict[str, Reads]:
    crossing = Counter(
        (member, loss > 0) for (_, member), loss in zip(counted, losses, strict=True)
    )
    return {
        key: _kinds(member, crossing[key, False], crossing[key, True])
        for key, member in members.items()
    }


def _kinds(member: Member, near: int, far: int) -> Reads:
    return Reads(unknown=near + far) if member.rack is None else Reads(local=near, cross=far)


def _total(several: Iterable[Reads]) -> Reads:
    listed = list(several)
    return Reads(
        local=sum(reads.local for reads in listed),
        cross=sum(reads.cross for reads in listed),
        unknown=sum(reads.unknown for reads in listed),
    )


def _by_rack(members: Members, by_member: Mapping[str, Reads]) -> tuple[RackReads, ...]:
    found: dict[str | None, list[Reads]] = {}
    for key, member in members.items():
        found.setdefault(member.rack, []).append(by_member[key])
    racks = sorted(found, key=lambda rack: (rack is None, utf16_key(rack or "")))
    return tuple(
        RackReads(rack=rack, members=len(found[rack]), reads=_total(found[rack])) for rack in racks
    )


def _crossings(
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
    """Partition -> the one member that claims it at the highest generation of its subscribers."""
    claims: dict[TopicPartition, tuple[int, list[str]]] = {}
    for key, member in members.items():
        listed = frozenset(member.topics)
        for tp in dict.fromkeys(tp for tp in member.owned if tp.topic in listed):
            newest, claimants = claims.setdefault(tp, (member.generation, []))
            if member.generation > newest:
                claims[tp] = (member.generation, [key])
            elif member.generation == newest:
                claimants.append(key)
    return {tp: claimants[0] for tp, (_, claimants) in claims.items() if len(claimants) == 1}


def _skipped(
    members: Members,
    sets: RackSets,
    given: Sequence[tuple[TopicPartition, str]],
    weights: Mapping[TopicPartition, int] | None,
) -> Skipped:
    listed = {topic for member in members.values() for topic in member.topics}
    owned = {tp for member in members.values() for tp in member.owned}
    assigned = {tp for tp, _ in given}
    every = [
        TopicPartition(topic, partition)
        for topic, partitions in sets.items()
        for partition in range(len(partitions))
    ]
    weighed = assigned if weights is None else weights
    return Skipped(
        topics=tuple(sorted(listed - sets.keys(), key=utf16_key)),
        owned=sorted_partitions(tp for tp in owned if not _exists(tp, sets)),
        assigned=sorted_partitions(
            tp for tp in assigned if tp.topic in listed and not _exists(tp, sets)
        ),
        unlisted=sorted_partitions(tp for tp in assigned if tp.topic not in listed),
        unassigned=tuple(tp for tp in every if tp not in assigned),
        unweighted=tuple(tp for tp in every if tp in assigned and tp not in weighed),
    )
