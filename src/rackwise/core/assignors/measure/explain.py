"""Why a group cannot read everything in its own racks, and how many members would change that.

Goals: the best locality that can be reached, the racks that limit it, and the smallest number of
members to add.

```
9 partitions in a, 3 in b, 3 in c      members: 1 in a, 2 in b, 2 in c      q = 3, e = 0

bottleneck   a        only_there  9    have replicas in a alone
                      capacity    3    1 member there holds 3
                      shortfall   6    so 9 of 15 are local at best
members_to_add        4                5 members in a: q = 1, e = 6, 5 + 5 places for 9 partitions
```

The algorithm. `best_local` finds the bottleneck. New members are added to its racks in turn. More
members make all loads smaller, so another set of racks may then fall short. A number of members is
computed in full only when no set of racks that fell short before falls short with it.

The sentence. The bottleneck has racks with members only. What they alone read near may have
replicas in racks without members too, so the sentence names these as well: outside of the racks
that it names, these partitions have no replica. Partitions that are not near any member follow
with their racks, then the members that are near nothing, with the setting to check.

Several levels. With `level`, a read is local that shares this many levels, from the coarsest on.
Racks are still those of the members: all that counts is which partitions each rack reads so near.

Where members subscribe to different topics, no single set of racks explains the result. The best is
then that of `assign_optimal`, coarsest level first, and no bottleneck is named.

What this does not do: consider what the group has now, or weights.

Source: KIP-881 ("prioritize balancing partitions over improving locality"); max-flow min-cut.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.assignors.distance import Distance, check_target
from rackwise.core.assignors.measure.local_bound import (
    best_local,
    has_equal_subscriptions,
    members_by_rack,
    rows_by_racks,
)
from rackwise.core.assignors.members import rack_rows, subscribers_of
from rackwise.core.assignors.optimal.assign import assign_optimal
from rackwise.core.assignors.order import utf16_key
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwise.core.assignors.members import Members, ReplicaRacks, Target

MOST_TO_ADD = 10
"""The search stops at this multiple of the present number of members."""

Row = tuple[str | None, ...]
"""The racks of the replicas of a partition that the target allows to read."""
RowCount = tuple[Row, int]
"""A row, and the partitions that have it."""
RackSetCounts = Counter[frozenset[str]]
"""Set of racks -> the partitions that exactly these racks read near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The best that a group can have; all numbers except `members_to_add` count partitions."""

    partitions: int
    best_local: int
    """The most local partitions that even loads in total allow, whatever crosses coarser levels;
    where subscriptions differ, those of the best assignment, coarsest level first."""
    reachable: int
    """Partitions with a replica near some member that may read them."""
    unreachable: int
    bottleneck: tuple[str, ...]
    """The racks of members that limit the best."""
    only_there: int | None
    """Partitions that no member outside of the bottleneck racks can read near, but those inside
    can; None if subscriptions differ."""
    capacity: int | None
    """Partitions that the members in these racks can hold; None if subscriptions differ."""
    shortfall: int
    """Reachable partitions that are not local at best."""
    members_to_add: int | None
    """Members, not partitions; None if subscriptions differ."""
    reason: str
    """One line."""

    @property
    def text(self) -> str:
        """`best 9 of 15 local`, then the reason why not all are."""
        lines = [f"best {self.best_local} of {counted(self.partitions, 'partition')} local"]
        if self.unreachable:
            lines.append(f"{counted(self.unreachable, 'partition')} not near any member")
        return "\n".join([*lines, self.reason])


def explain(
    members: Members, racks: ReplicaRacks, *, target: Target = "follower", level: int | None = None
) -> Explanation:
    """Explain what limits the locality of a group.

    `level`: the number of rack levels that a read must share to be local, by default all. Raises
    `InvalidMember`, `InvalidReplicaRacks`, `InvalidConfig` for an unknown target or level, and for
    differing subscriptions what `assign_optimal` raises, such as `MissingDependency`.
    """
    check_target(target)
    distance = Distance.of((member.rack for member in members.values()), target)
    if level is not None and not 1 <= level <= distance.depth:
        raise InvalidConfig(
            f"invalid level: expected 1 to {distance.depth}, got {level}",
            wanted=f"1 to {distance.depth}",
            had=level,
            hint="use 1 for the coarsest level of racks",
        )
    most = 0 if level is None else distance.depth - level
    if not has_equal_subscriptions(members, racks):
        return _explain_by_optimum(members, racks, distance, most)
    readable = 1 if target == "leader" else None
    rows = {
        near: [(row[:readable], count) for row, count in found.items()]
        for near, found in rows_by_racks(members, racks, distance, most=most).items()
    }
    return _explain_by_rows(rows, members, "leader" if target == "leader" else "replica")


def _explain_by_rows(
    rows: Mapping[frozenset[str], list[RowCount]], members: Members, what: str
) -> Explanation:
    counts = Counter({near: sum(count for _, count in found) for near, found in rows.items()})
    sizes = members_by_rack(members)
    rackless = len(members) - sizes.total()
    best, bottleneck = best_local(counts, sizes, rackless)
    unreachable = counts[frozenset()]
    to_add = _members_to_add(counts, sizes, rackless, bottleneck) if bottleneck else None
    only_there = _count_inside(counts, frozenset(bottleneck))
    capacity = _capacity(counts, len(members), sum(sizes[rack] for rack in bottleneck))
    texts = []
    if bottleneck:
        inside = [
            row
            for near, found in rows.items()
            if near and near <= {*bottleneck}
            for row, _ in found
        ]
        texts = [
            _limit_text(bottleneck, inside, sizes, _have_text(only_there, what), capacity),
            _more_text(bottleneck, inside, to_add, MOST_TO_ADD * len(members)),
        ]
        if unreachable:
            texts[-1] += " for these"
    if sizes:
        texts += _unreachable_texts(rows.get(frozenset(), []), what, rackless, is_first=not texts)
    if best < counts.total():
        texts += _stray_texts(sizes, frozenset().union(*counts), rackless, what)
    return Explanation(
        partitions=counts.total(),
        best_local=best,
        reachable=counts.total() - unreachable,
        unreachable=unreachable,
        bottleneck=bottleneck,
        only_there=only_there,
        capacity=capacity,
        shortfall=counts.total() - unreachable - best,
        members_to_add=to_add,
        reason="; ".join(texts) or "every partition can be local",
    )


def _explain_by_optimum(
    members: Members, racks: ReplicaRacks, distance: Distance, most: int
) -> Explanation:
    optimum = assign_optimal(members, racks, target=distance.target)
    numbers, rows = rack_rows(members, racks)
    readers = subscribers_of(members, list(members))
    reachable = 0
    for topic, found in numbers.items():
        reader_racks = {members[member].rack for member in readers[topic]}
        near = [any(distance.loss(rack, row) <= most for rack in reader_racks) for row in rows]
        reachable += sum(near[number] for number in found)
    best = sum(
        distance.loss(members[member].rack, tuple(racks[topic][partition])) <= most
        for member, given in optimum.partitions.items()
        for topic, partition in given
    )
    partitions = sum(map(len, optimum.partitions.values()))
    return Explanation(
        partitions=partitions,
        best_local=best,
        reachable=reachable,
        unreachable=partitions - reachable,
        bottleneck=(),
        only_there=None,
        capacity=None,
        shortfall=reachable - best,
        members_to_add=None,
        reason="members subscribe to different topics, so no set of racks explains the limit",
    )


def _count_inside(counts: RackSetCounts, inside: frozenset[str]) -> int:
    """The partitions that only racks of `inside` read near, and at least one of them."""
    return sum(count for racks, count in counts.items() if racks and racks <= inside)


def _capacity(counts: RackSetCounts, members: int, some: int) -> int:
    """The most partitions that `some` of the members hold when loads are even."""
    each, extra = divmod(counts.total(), members)
    return each * some + min(some, extra)


def _members_to_add(
    counts: RackSetCounts, sizes: Mapping[str, int], rackless: int, bottleneck: tuple[str, ...]
) -> int | None:
    """The fewest members to add to the bottleneck; None if no number up to the limit is enough."""
    members = sum(sizes.values()) + rackless
    reachable = counts.total() - counts[frozenset()]
    # set of racks that fell short -> the partitions that only these racks read near
    short = {frozenset(bottleneck): _count_inside(counts, frozenset(bottleneck))}
    for more in range(1, MOST_TO_ADD * members + 1):
        grown = _add_members(sizes, bottleneck, more)
        if any(
            _capacity(counts, members + more, sum(grown[rack] for rack in inside)) < needed
            for inside, needed in short.items()
        ):
            continue
        best, binding = best_local(counts, grown, rackless)
        if best == reachable:
            return more
        short[frozenset(binding)] = _count_inside(counts, frozenset(binding))
    return None


def _add_members(
    sizes: Mapping[str, int], bottleneck: tuple[str, ...], more: int
) -> dict[str, int]:
    """Rack -> members, with `more` members added to the racks of the bottleneck in turn."""
    each, extra = divmod(more, len(bottleneck))
    return dict(sizes) | {
        rack: sizes[rack] + each + (place < extra) for place, rack in enumerate(bottleneck)
    }


def _limit_text(
    bottleneck: tuple[str, ...],
    inside: list[Row],
    sizes: Mapping[str, int],
    have: str,
    capacity: int,
) -> str:
    """`inside`: the rows of what only racks of the bottleneck read near."""
    unknown = "" if all(map(all, inside)) else " or in unknown racks"
    members = counted(sum(sizes[rack] for rack in bottleneck), "member")
    racks = _racks_text(_racks_of(inside).union(bottleneck))
    return f"limited by {racks}: {have} only there{unknown}, {members} can hold {capacity}"


def _more_text(
    bottleneck: tuple[str, ...], inside: list[Row], to_add: int | None, most: int
) -> str:
    where = "there" if _racks_of(inside) <= {*bottleneck} else f"in {_racks_text(bottleneck)}"
    if to_add is None:
        return f"{most} more members {where} would not be enough"
    return f"{to_add} more {'member' if to_add == 1 else 'members'} {where} would be enough"


def _unreachable_texts(
    found: list[RowCount], what: str, rackless: int, *, is_first: bool
) -> Iterator[str]:
    """Name the racks of the partitions that are not near any member."""
    known = [row for row, _ in found if row and all(row)]
    count = sum(count for row, count in found if row and all(row))
    if known:
        nobody = "no member is known to be there" if rackless else "no member is there"
        yield (
            f"{'' if is_first else 'also '}limited by {_racks_text(_racks_of(known))}: "
            f"{_have_text(count, what)} only there, {nobody}"
        )
    others = sum(count for _, count in found) - count
    if others:
        verb = "has" if others == 1 else "have"
        yield f"{counted(others, 'partition')} {verb} no {what} that is known to be near a member"


def _stray_texts(
    sizes: Mapping[str, int], near: frozenset[str], rackless: int, what: str
) -> Iterator[str]:
    """Name the members that read nothing near, with the setting to check."""
    strays = {rack: size for rack, size in sizes.items() if rack not in near}
    if strays:
        count = sum(strays.values())
        verb = "is" if count == 1 else "are"
        yield (
            f"{counted(count, 'member')} {verb} in {_racks_text(strays)}, near no {what}: "
            "check client.rack"
        )
    if rackless:
        verb = "has" if rackless == 1 else "have"
        yield f"{counted(rackless, 'member')} {verb} no rack: set client.rack"


def _have_text(count: int, what: str) -> str:
    return f"{counted(count, 'partition')} {'has' if count == 1 else 'have'} {what}s"


def _racks_of(rows: Iterable[Row]) -> set[str]:
    return {rack for row in rows for rack in row if rack}


def _racks_text(racks: Iterable[str]) -> str:
    return ", ".join(map(escaped, sorted(racks, key=utf16_key)))
