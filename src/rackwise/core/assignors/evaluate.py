"""What an assignment costs: what is read in the own rack, what crosses, and what was moved.

Goals: measure any assignment, whoever made it, by the same rule; count what is left out.

Who is read. A member reads from the leader, unless the target knows better:

```
target     reads from                                           wants
leader     the leader                                           nothing
follower   a replica in exactly the member's rack, else the     RackAwareReplicaSelector on
           leader, however far                                  every broker (KIP-392)
nearest    the replica that shares most levels                  a selector that knows levels
```

Loss. With D levels in the deepest rack of a member, a read that shares k levels from the coarsest
on crosses the D - k finest; shorter paths are padded. A member without rack crosses all. A text
that is no path of levels, as any `client.rack` may be, is one level.

```
member /eu/a      leader /us/c   follower /eu/b          region  zone
leader            shares nothing: loss 2                 crosses crosses
follower          no replica in /eu/a, so the leader: 2  crosses crosses
nearest           /eu/b shares the region: loss 1        -       crosses
```

A partition is local where nothing is lost, cross where something is, unknown where its member has
no rack; the three sum up to all. One that is withheld counts for the member that gets it next.

Owned is a partition by the member that alone claims it at the highest generation claimed and still
lists its topic. A move is an owned partition that ends with another member.

What this does not do: look for a better assignment (give one as `best` to have the two compared),
or know which replicas are in sync.

Source: KIP-392 and KIP-881; KIP-792 (generations).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import (
    TARGETS,
    TopicPartition,
    rack_sets,
    sorted_partitions,
)
from rackwise.core.assignors.order import utf16_key
from rackwise.core.errors import InvalidConfig, InvalidMember, InvalidRack, InvalidWeights
from rackwise.core.racks import Rack, level_names, padded
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

    `topics`: listed by a member, without metadata. `owned`, `assigned`: partitions beyond the
    metadata. `unassigned`: partitions of listed topics that nobody has. `unweighted`: assigned, but
    without a weight, counted as 0 bytes_per_s.
    """

    topics: tuple[str, ...] = ()
    owned: tuple[TopicPartition, ...] = ()
    assigned: tuple[TopicPartition, ...] = ()
    unassigned: tuple[TopicPartition, ...] = ()
    unweighted: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentReport:
    """An assignment in numbers, all of them partitions.

    `smallest`, `largest`: what a member has. `cross_by_level`: coarsest first; members without rack
    cross every level. `moves`: owned partitions that end with another member. `withheld`: those
    that wait for the next round. `best_local`: local partitions of the best assignment, None where
    none was given. `by_rack`: by the members' racks, those without last.
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
) -> AssignmentReport:
    """Measure an assignment. `weights`: bytes_per_s of each partition, integers from 0 on.

    Raises `InvalidMember` (also for a partition given to a stranger), `InvalidReplicaRacks`,
    `InvalidWeights`, and `InvalidConfig` for an unknown target.
    """
    if target not in TARGETS:
        raise InvalidConfig(
            f'target must be one of {", ".join(TARGETS)}; "{target}" was given',
            wanted=", ".join(TARGETS),
            had=target,
            hint="follower is what brokers with RackAwareReplicaSelector do",
        )
    sets = rack_sets(members, racks)
    _check_weights(weights, racks)
    distance = _Distance.of(members, racks, target)
    given = list(_given(assignment, members))
    counted = [(tp, member) for tp, member in given if _exists(tp, sets)]
    losses = [distance.loss(members[member].rack, tp) for tp, member in counted]
    by_member = _reads(members, counted, losses)
    sums = _total(by_member.values())
    sizes = [reads.partitions for reads in by_member.values()]
    owners = _owners(members)
    return AssignmentReport(
        partitions=len(counted),
        smallest=min(sizes),
        largest=max(sizes),
        local=sums.local,
        cross=sums.cross,
        unknown=sums.unknown,
        cross_by_level=_crossings(counted, losses, distance.depth, weights),
        moves=sum(1 for tp, member in counted if owners.get(tp, member) != member),
        withheld=sum(1 for tp in assignment.withheld if _exists(tp, sets)),
        best_local=None if best is None else evaluate(best, members, racks, target=target).local,
        by_member=MappingProxyType(by_member),
        by_rack=_by_rack(members, by_member),
        skipped=_skipped(members, sets, given, weights),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Distance:
    """How many levels a read crosses. `known`: (member's rack, racks of replicas) -> loss."""

    racks: ReplicaRacks
    target: Target
    depth: int
    known: dict[tuple[str | None, tuple[str | None, ...]], int]

    @classmethod
    def of(cls, members: Members, racks: ReplicaRacks, target: Target) -> _Distance:
        """`depth`: levels of the deepest rack of a member, at least 1."""
        own = {member.rack for member in members.values() if member.rack is not None}
        depth = max((len(_levels(rack)) for rack in own), default=1)
        return cls(racks=racks, target=target, depth=max(depth, 1), known={})

    def loss(self, rack: str | None, tp: TopicPartition) -> int:
        """Of the levels of the deepest rack, how many the read crosses; the finest are meant."""
        replicas = tuple(self.racks[tp.topic][tp.partition])
        key = (rack, replicas)
        if key not in self.known:
            self.known[key] = self.depth - self._shared(rack, replicas)
        return self.known[key]

    def _shared(self, rack: str | None, replicas: Sequence[str | None]) -> int:
        if rack is None:
            return 0
        shared = [self._common(rack, replica) for replica in replicas]
        if self.target == "nearest" or (self.target == "follower" and rack in replicas):
            return max(shared, default=0)
        return shared[0] if shared else 0

    def _common(self, a: str, b: str | None) -> int:
        """Levels from the coarsest on that are the same, of as many as the deepest rack has."""
        if not b:
            return 0
        left, right = (padded(_levels(text), self.depth) for text in (a, b))
        common = 0
        while common < self.depth and left[common : common + 1] == right[common : common + 1]:
            common += 1
        return common


def _levels(text: str) -> tuple[str, ...]:
    try:
        return Rack(text).levels
    except InvalidRack:
        return (text,)


def _given(assignment: Assignment, members: Members) -> Iterator[tuple[TopicPartition, str]]:
    """Partitions with their members, the withheld ones with those that get them next."""
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
            f"a member of the group is wanted; {escaped(member)} was given partitions",
            wanted="a member of the group",
            had=member,
            hint="give the members that the assignment was made for",
        )


def _check_weights(weights: Mapping[TopicPartition, int] | None, racks: ReplicaRacks) -> None:
    for tp, weight in (weights or {}).items():
        topic, partition = tp
        name = escaped(f"{topic}-{partition}")
        if type(weight) is not int or weight < 0:
            raise InvalidWeights(
                f"{name}: integer bytes_per_s >= 0 is wanted; {escaped(repr(weight))} was given",
                wanted="integer bytes_per_s >= 0",
                had=weight,
                hint="round them",
                where=name,
            )
        if topic not in racks or not 0 <= partition < len(racks[topic]):
            raise InvalidWeights(
                f"{name}: a partition with metadata is wanted; it is not there",
                wanted="a partition with metadata",
                had=name,
                hint="leave out the weights of other topics",
                where=name,
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
    """Partition -> the one member that claims it at the highest generation and lists its topic."""
    claims: dict[TopicPartition, tuple[int, list[str]]] = {}
    for key, member in members.items():
        for tp in dict.fromkeys(member.owned):
            newest, claimants = claims.setdefault(tp, (member.generation, []))
            if member.generation > newest:
                claims[tp] = (member.generation, [key])
            elif member.generation == newest:
                claimants.append(key)
    listed = {key: frozenset(member.topics) for key, member in members.items()}
    return {
        tp: claimants[0]
        for tp, (_, claimants) in claims.items()
        if len(claimants) == 1 and tp.topic in listed[claimants[0]]
    }


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
        assigned=sorted_partitions(tp for tp in assigned if not _exists(tp, sets)),
        unassigned=tuple(tp for tp in every if tp not in assigned),
        unweighted=tuple(tp for tp in every if tp in assigned and tp not in weighed),
    )
