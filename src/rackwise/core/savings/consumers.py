"""The savings of consumers: follower fetching, and the assignment of partitions to members.

Follower fetching. A client reads from a replica in exactly its own rack, else from the leader. This
is the rule of Kafka's selector: it compares whole racks and knows no levels.

Assignment. Each partition of a group goes to one member, so its bytes go to that member's rack:

```
out(p)        today read in    best assignment     stock assignor
orders-0  3   b                a  local            b  local
orders-1  3   a                b  local            c  local
orders-2  3   c                c  local            a  local
```

The best assignment is that of `assign_optimal`: even loads first, then the least crossing, then the
fewest moves. Three kinds of bytes stay where they are: those that a member without rack would read,
those of partitions that no member reads, and those of groups without members.

What this does not do: change how much is read of a partition; consider which replicas are in sync.

Source: KIP-392, KIP-881.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Protocol

from rackwise.core.assignors import ASSIGNORS, assign_optimal, simulate_assignor
from rackwise.core.savings.model import FETCH, UNATTRIBUTED, TrafficKey
from rackwise.core.traffic import apportion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from rackwise.core.assignors import Assignment, ReplicaRacks, Target
    from rackwise.core.savings.layout import GroupReaders, Layout
    from rackwise.core.savings.model import RackTraffic

    ReaderRacks: TypeAlias = Mapping[tuple[str, int], Mapping[str | None, int]]
    """(topic, pattern) -> rack of the member, None where not known -> partitions."""

STOCK_ASSIGNOR = "range"
"""The assignor of a classic group that names none."""
CLASSIC = "classic"


class AssignReaders(Protocol):
    """Assigns the partitions of a group; `target` is the replica that its members read."""

    def __call__(self, readers: GroupReaders, racks: ReplicaRacks, target: Target) -> Assignment:
        """Raises what the assignor raises."""


def apply_follower_fetch(traffic: RackTraffic, layout: Layout) -> RackTraffic:
    """The traffic where clients read from replicas in their own racks."""
    after = Counter[TrafficKey]()
    for key, bytes_ in traffic.items():
        after[_read_nearest(key, layout) if _is_read(key) else key] += bytes_
    return after


def _is_read(key: TrafficKey) -> bool:
    """Whether the bytes are reads of known partitions."""
    return key.kind == FETCH and key.pattern != UNATTRIBUTED


def _read_nearest(key: TrafficKey, layout: Layout) -> TrafficKey:
    """The key of the bytes where the client reads a replica in its own rack, else the leader."""
    racks = layout.racks[key.topic][key.pattern]
    return key._replace(near=key.far if key.far in racks else racks[0])


def optimal_assignment(readers: GroupReaders, racks: ReplicaRacks, target: Target) -> Assignment:
    """The best assignment. Raises `MissingDependency`, `OptimumTooLarge`."""
    return assign_optimal(readers.members, racks, target=target)


def stock_assignment(readers: GroupReaders, racks: ReplicaRacks, target: Target) -> Assignment:
    """The assignment of the group's own assignor, once it has settled."""
    name = readers.assignor if readers.assignor in ASSIGNORS else STOCK_ASSIGNOR
    return simulate_assignor(name, readers.members, racks, target=target).assignment


def reader_racks(
    assign: AssignReaders, layout: Layout, group: str, *, follows: bool
) -> ReaderRacks:
    """The racks that read the partitions of a group. Raises what the assignor raises."""
    readers = layout.groups[group]
    listed = {topic for member in readers.members.values() for topic in member.topics}
    numbers, racks = _replica_racks(layout, listed)
    assignment = assign(readers, racks, "follower" if follows else "leader")
    found: defaultdict[tuple[str, int], Counter[str | None]] = defaultdict(Counter)
    for member, partitions in [*assignment.partitions.items(), *_withheld(assignment)]:
        rack = readers.members[member].rack
        for topic, partition in partitions:
            found[topic, numbers[topic].get(partition, UNATTRIBUTED)][rack] += 1
    return found


def _withheld(assignment: Assignment) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    """(member, partitions) that the member gets in the next round."""
    return [(member, (partition,)) for partition, member in assignment.withheld.items()]


def _replica_racks(
    layout: Layout, topics: set[str]
) -> tuple[Mapping[str, Mapping[int, int]], ReplicaRacks]:
    """Topic -> partition -> pattern, and topic -> partition -> racks of the replicas."""
    numbers: dict[str, dict[int, int]] = {}
    for topic, partition, pattern in zip(
        layout.topic.tolist(), layout.partition.tolist(), layout.pattern.tolist(), strict=True
    ):
        name = layout.topics[topic]
        if name in topics:
            numbers.setdefault(name, {})[partition] = pattern
    racks = {
        name: [_racks_of(layout, name, patterns, number) for number in range(max(patterns) + 1)]
        for name, patterns in numbers.items()
    }
    return numbers, racks


def _racks_of(
    layout: Layout, topic: str, patterns: Mapping[int, int], partition: int
) -> tuple[str | None, ...]:
    pattern = patterns.get(partition, UNATTRIBUTED)
    return () if pattern == UNATTRIBUTED else layout.racks[topic][pattern]


def apply_assignment(
    traffic: RackTraffic,
    layout: Layout,
    readers: Mapping[str, ReaderRacks],
    follows: Mapping[str, bool],
) -> RackTraffic:
    """The traffic where the partitions of each group are read in the racks given.

    `follows`: group -> whether its members read from replicas in their racks.
    """
    after = Counter[TrafficKey]()
    for key, bytes_ in traffic.items():
        counts = readers.get(key.client_group, {}).get((key.topic, key.pattern))
        if counts and _is_read(key):
            _read_in_racks(after, key, bytes_, counts, layout, follows=follows[key.client_group])
        else:
            after[key] += bytes_
    return after


def unknown_readers(
    traffic: RackTraffic, readers: Mapping[str, ReaderRacks]
) -> Mapping[TrafficKey, int]:
    """The bytes that members with an unknown rack would read; `apply_assignment` leaves them."""
    found = Counter[TrafficKey]()
    for key, bytes_ in traffic.items():
        counts = readers.get(key.client_group, {}).get((key.topic, key.pattern))
        if counts and None in counts and _is_read(key):
            rows = _in_order(counts)
            shares = apportion(bytes_, [n for _, n in rows])
            found[key] = sum(
                share for (rack, _), share in zip(rows, shares, strict=True) if rack is None
            )
    return +found


def _in_order(counts: Mapping[str | None, int]) -> list[tuple[str | None, int]]:
    return sorted(counts.items(), key=lambda row: row[0] or "")


def _read_in_racks(
    after: Counter[TrafficKey],
    key: TrafficKey,
    bytes_: int,
    counts: Mapping[str | None, int],
    layout: Layout,
    *,
    follows: bool,
) -> None:
    """Add the bytes to `after`, divided by the number of partitions that each rack reads.

    `counts`: rack of the members, None where not known -> partitions of the pattern.
    """
    racks = layout.racks[key.topic][key.pattern]
    rows = _in_order(counts)
    for (rack, _), share in zip(rows, apportion(bytes_, [n for _, n in rows]), strict=True):
        if rack is None:
            after[key] += share
        else:
            near = rack if follows and rack in racks else racks[0]
            after[key._replace(near=near, far=rack)] += share
