"""How many partitions can be read in the own rack, in closed form, and the racks that limit this.

Goals: the exact best without assigning anything; the racks where members should be added.

Assumptions. All members subscribe to the same topics, and loads are even: q = partitions div
members each, and e = partitions mod members of them hold one more. N(S) partitions have replicas in
the racks S, restricted to racks that have members. n(U) members are in the racks U.

The formula. Take any set U of racks. Partitions with a replica outside of U may all be local.
Partitions whose replicas are all within U can be read there by at most q n(U) + min(n(U), e) places
of members. So for each U at most

    sum of N(S), S not within U, S not empty  +  q n(U) + min(n(U), e)

partitions are local, and the least of these bounds is reached (max flow, min cut).

```
N(ab) = 60,000   N(ac) = 35,000   N(bc) = 5,000        members a 200, b 200, c 600: q = 100, e = 0
U = -        100,000 + 0         = 100,000
U = a        100,000 + 20,000    = 120,000
U = ab        40,000 + 40,000    =  80,000   the least: 60,000 have replicas only in a and b,
U = abc            0 + 100,000   = 100,000   whose members hold 40,000
```

The bottleneck is the smallest U with the least bound. It is unique, since minimum cuts are closed
under intersection. Up to `FEW_RACKS` racks all subsets are tried. With more racks a max flow
(Dinic) is computed from partitions over racks to places, and the bottleneck is what the source
still reaches.

What this does not do: consider levels of racks, weights, or members with different topics.

Source: KIP-881 ("prioritize balancing partitions over improving locality"); max-flow min-cut.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import rack_rows
from rackwise.core.assignors.order import utf16_key
from rackwise.core.max_flow import min_cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.assignors.distance import Distance
    from rackwise.core.assignors.members import Members, ReplicaRacks

FEW_RACKS = 16
"""The most racks of which all subsets are tried: 65,536 of them."""


def best_local(
    partitions_by_racks: Mapping[frozenset[str], int],
    members_by_rack: Mapping[str, int],
    rackless: int = 0,
) -> tuple[int, tuple[str, ...]]:
    """The local partitions of the best even assignment, and the racks that limit it.

    `partitions_by_racks`: racks with a replica -> partitions. `members_by_rack`: rack -> members.
    `rackless`: members without rack.
    """
    sizes = {rack: members_by_rack[rack] for rack in _sort_racks(members_by_rack)}
    members = sum(sizes.values()) + rackless
    if not sizes:
        return 0, ()
    each, extra = divmod(sum(partitions_by_racks.values()), members)
    if len(sizes) > FEW_RACKS:
        return _bound_by_flow(partitions_by_racks, sizes, each, extra)
    return _bound_by_subsets(partitions_by_racks, sizes, each, extra)


def has_equal_subscriptions(members: Members, racks: ReplicaRacks) -> bool:
    """Whether all members list the same topics, among those that have partitions."""
    lists = {member.topics for member in members.values()}
    return len({frozenset(topic for topic in topics if racks.get(topic)) for topics in lists}) == 1


def partitions_by_racks(
    members: Members, racks: ReplicaRacks, distance: Distance, *, most: int = 0
) -> Counter[frozenset[str]]:
    """Set of racks -> the partitions that exactly these racks of members read near.

    `most`: the greatest loss of a read that is near. Raises `InvalidMember` and
    `InvalidReplicaRacks`.
    """
    found = rows_by_racks(members, racks, distance, most=most)
    return Counter({near: rows.total() for near, rows in found.items()})


def rows_by_racks(
    members: Members, racks: ReplicaRacks, distance: Distance, *, most: int = 0
) -> dict[frozenset[str], Counter[tuple[str | None, ...]]]:
    """Set of racks -> the racks of replicas of what exactly these read near -> partitions.

    `most` and errors: as in `partitions_by_racks`.
    """
    numbers, rows = rack_rows(members, racks)
    # row -> the number of partitions that have it
    times = Counter(chain.from_iterable(numbers.values()))
    own = members_by_rack(members)
    found: dict[frozenset[str], Counter[tuple[str | None, ...]]] = {}
    for number, row in enumerate(rows):
        near = frozenset(rack for rack in own if distance.loss(rack, row) <= most)
        found.setdefault(near, Counter())[row] += times[number]
    return found


def members_by_rack(members: Members) -> Counter[str]:
    """Rack -> number of members; members without rack are left out."""
    return Counter(member.rack for member in members.values() if member.rack is not None)


def _sort_racks(members_by_rack: Mapping[str, int]) -> list[str]:
    racks = [rack for rack, count in members_by_rack.items() if count]
    if "".join(racks).isascii():
        return sorted(racks)
    return sorted(racks, key=utf16_key)


def _bound_by_subsets(
    partitions_by_racks: Mapping[frozenset[str], int],
    sizes: Mapping[str, int],
    each: int,
    extra: int,
) -> tuple[int, tuple[str, ...]]:
    """The formula over all subsets. A subset of racks is a number whose bits are racks."""
    bits: dict[str, int] = {}
    # [subsets], the members in the racks of each subset
    members_in = [0]
    for rack, size in sizes.items():
        bits[rack] = len(members_in)
        members_in += [size + other for other in members_in]
    # [subsets], at first the partitions with exactly these racks
    within = [0] * len(members_in)
    for racks, count in partitions_by_racks.items():
        number = 0
        for rack in racks:
            if rack in bits:
                number |= bits[rack]
        if number:
            within[number] += count
    # Sums over subsets, one bit at a time: after it, the partitions with all their racks in the
    # subset.
    for bit in bits.values():
        for start in range(bit, len(members_in), 2 * bit):
            for number in range(start, start + bit):
                within[number] += within[number - bit]
    reachable = within[-1]
    bounds = [
        reachable - inside + each * count + min(count, extra)
        for inside, count in zip(within, members_in, strict=True)
    ]
    best = min(bounds)
    if best == reachable:
        return best, ()
    # The subset with the fewest racks is the only smallest one; see the head of this file.
    smallest = min(
        (number for number, bound in enumerate(bounds) if bound == best), key=int.bit_count
    )
    return best, tuple([rack for rack, bit in bits.items() if smallest & bit])


def _bound_by_flow(
    partitions_by_racks: Mapping[frozenset[str], int],
    sizes: Mapping[str, int],
    each: int,
    extra: int,
) -> tuple[int, tuple[str, ...]]:
    """The formula as a min cut: source -> sets of racks -> rack -> places.

    The extra place of some members goes through one shared node.
    """
    counts = Counter[frozenset[str]]()
    for racks, count in partitions_by_racks.items():
        counts[racks.intersection(sizes)] += count
    del counts[frozenset()]
    # Nodes: source, sink, the shared node of extra places, the racks, then the sets of racks.
    source, sink, pool = 0, 1, 2
    node = {rack: number for number, rack in enumerate(sizes, start=pool + 1)}
    first = len(node) + pool + 1
    arcs = [(pool, sink, extra)]
    for rack, size in sizes.items():
        arcs += [(node[rack], sink, each * size), (node[rack], pool, size)]
    for set_node, (racks, count) in enumerate(counts.items(), start=first):
        arcs.append((source, set_node, count))
        arcs += [(set_node, node[rack], count) for rack in racks]
    best, reached = min_cut(first + len(counts), arcs, source, sink)
    return best, tuple(rack for rack in sizes if node[rack] in reached)
