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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rackwise.core.assignors import ASSIGNORS, assign_optimal, simulate_assignor
from rackwise.core.savings.model import UNATTRIBUTED
from rackwise.core.savings.traffic.chunks import NO_RACK
from rackwise.core.savings.traffic.columns import Lists, apportion_rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from numpy.typing import NDArray

    from rackwise.core.assignors import Assignment, ReplicaRacks, Target
    from rackwise.core.model import PartitionId
    from rackwise.core.savings.layout import GroupReaders, Layout
    from rackwise.core.savings.traffic.chunks import Chunk, Lanes, TrafficNames
    from rackwise.core.savings.traffic.columns import Codes
    from rackwise.core.savings.traffic.patterns import Patterns

    ReaderRacks: TypeAlias = Mapping[tuple[str, int], Mapping[str | None, int]]
    """(topic, pattern) -> rack of the member, None where not known -> partitions."""

STOCK_ASSIGNOR = "range"
"""The assignor of a classic group that names none."""
CLASSIC = "classic"


class AssignReaders(Protocol):
    """Assigns the partitions of a group; `target` is the replica that its members read."""

    def __call__(self, readers: GroupReaders, racks: ReplicaRacks, target: Target) -> Assignment:
        """Raises what the assignor raises."""


def apply_follower_fetch(reads: Chunk, patterns: Patterns) -> Chunk:
    """The reads where clients read from replicas in their own racks."""
    rows = np.flatnonzero(reads.slot != UNATTRIBUTED)
    near = reads.near.copy()
    near[rows] = patterns.table.nearest(patterns.pattern(reads.slot[rows]), reads.far[rows])
    return reads._replace(near=near).added_up()


def optimal_assignment(readers: GroupReaders, racks: ReplicaRacks, target: Target) -> Assignment:
    """The best assignment. Raises `MissingDependency`, `OptimumTooLarge`."""
    return assign_optimal(readers.members, racks, target=target)


def stock_assignment(readers: GroupReaders, racks: ReplicaRacks, target: Target) -> Assignment:
    """The assignment of the group's own assignor, once it has settled."""
    name = readers.assignor if readers.assignor in ASSIGNORS else STOCK_ASSIGNOR
    return simulate_assignor(name, readers.members, racks, target=target).assignment


class ReplicaRacksOf:
    """The racks of the replicas of each topic of a layout, for assignors; each looked up once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        # topic -> partition -> pattern
        self.numbers: dict[str, dict[int, int]] = {}
        for topic, partition, pattern in zip(
            layout.topic.tolist(), layout.partition.tolist(), layout.pattern.tolist(), strict=True
        ):
            self.numbers.setdefault(layout.topics[topic], {})[partition] = pattern
        self._racks: dict[str, list[tuple[str | None, ...]]] = {}

    def of(self, topics: set[str]) -> ReplicaRacks:
        """Topic -> partition -> racks of the replicas; topics that do not exist are left out."""
        return {name: self._of(name) for name in self.numbers if name in topics}

    def _of(self, topic: str) -> list[tuple[str | None, ...]]:
        if topic not in self._racks:
            patterns, racks = self.numbers[topic], self._layout.racks[topic]
            found = (patterns.get(number, UNATTRIBUTED) for number in range(max(patterns) + 1))
            self._racks[topic] = [
                () if pattern == UNATTRIBUTED else racks[pattern] for pattern in found
            ]
        return self._racks[topic]


def reader_racks(
    assign: AssignReaders, layout: Layout, replicas: ReplicaRacksOf, group: str, *, follows: bool
) -> ReaderRacks:
    """The racks that read the partitions of a group. Raises what the assignor raises."""
    readers = layout.groups[group]
    listed = {topic for member in readers.members.values() for topic in member.topics}
    assignment = assign(readers, replicas.of(listed), "follower" if follows else "leader")
    found: defaultdict[tuple[str, int], Counter[str | None]] = defaultdict(Counter)
    for member, partitions in [*assignment.partitions.items(), *_withheld(assignment)]:
        rack = readers.members[member].rack
        for topic, partition in partitions:
            found[topic, replicas.numbers[topic].get(partition, UNATTRIBUTED)][rack] += 1
    return found


def _withheld(assignment: Assignment) -> list[tuple[str, tuple[PartitionId, ...]]]:
    """(member, partitions) that the member gets in the next round."""
    return [(member, (partition,)) for partition, member in assignment.withheld.items()]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Readers:
    """The racks that read each pattern, by client group."""

    codes: Codes
    """Group and pattern of each list, in rising order."""
    lists: Lists
    rack: Codes
    """Code of the rack of the members, in rising order within a list; `NO_RACK`: not known."""
    count: Codes
    """Partitions that they read."""
    patterns: Patterns

    @classmethod
    def of(
        cls, readers: Mapping[str, ReaderRacks], patterns: Patterns, names: TrafficNames
    ) -> Readers:
        """The readers of groups."""
        groups, topics, racks = (
            {name: code for code, name in enumerate(each)}
            for each in (names.groups, names.topics, names.racks)
        )
        found = sorted(
            (
                groups[group] * len(patterns.count) + patterns.first[topics[topic]] + pattern,
                sorted(
                    (NO_RACK if rack is None else racks[rack], count)
                    for rack, count in counts.items()
                ),
            )
            for group, by_pattern in readers.items()
            for (topic, pattern), counts in by_pattern.items()
            if pattern != UNATTRIBUTED
        )
        entries = [entry for _, counts in found for entry in counts]
        return cls(
            codes=np.array([code for code, _ in found], dtype=np.int64),
            lists=Lists.of([len(counts) for _, counts in found]),
            rack=np.array([rack for rack, _ in entries], dtype=np.int32),
            count=np.array([count for _, count in entries], dtype=np.int64),
            patterns=patterns,
        )

    def known(self, reads: Chunk, lanes: Lanes) -> tuple[NDArray[np.bool_], Codes]:
        """Whether the readers of each row are known, and the number of their list where they are.

        The list of other rows is any number.
        """
        group = lanes.group[reads.lane].astype(np.int64)
        code = group * len(self.patterns.count) + self.patterns.pattern(reads.slot)
        place = np.minimum(np.searchsorted(self.codes, code), max(0, len(self.codes) - 1))
        if not len(self.codes):
            return np.zeros(len(code), dtype=np.bool_), place
        return (self.codes[place] == code) & (reads.slot != UNATTRIBUTED), place


def apply_assignment(
    reads: Chunk, lanes: Lanes, readers: Readers, follows: NDArray[np.bool_]
) -> tuple[Chunk, Chunk]:
    """The reads where the partitions of each group are read in the racks of its members.

    Also the bytes that members with an unknown rack would read, with the keys that they have before
    and after. `follows`: group -> whether its members read from replicas in their racks.
    """
    is_known, place = readers.known(reads, lanes)
    moved = reads.part(np.flatnonzero(is_known))
    lists = readers.lists.of_rows(place[is_known])
    row, entry = lists.expanded()
    share = apportion_rows(moved.bytes, lists.length, readers.count[entry])
    parts = moved.part(row)._replace(bytes=share)
    rack = readers.rack[entry]
    has_rack = rack != NO_RACK
    table, pattern = readers.patterns.table, readers.patterns.pattern(parts.slot)
    near = np.where(
        follows[lanes.group[parts.lane]], table.nearest(pattern, rack), table.racks[pattern, 0]
    )
    after = parts._replace(
        near=np.where(has_rack, near, parts.near), far=np.where(has_rack, rack, parts.far)
    )
    stays = reads.part(np.flatnonzero(~is_known))
    return stays.joined(after), parts.part(np.flatnonzero(~has_rack & (share != 0)))
