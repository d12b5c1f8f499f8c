"""The levers of consumers: the replica they read, and the member that reads.

Follower fetching. A client reads from a replica in exactly its own rack, else from the leader, as
Kafka's selector has it: it compares whole racks and knows no levels.

Assignment. Every partition of a group goes to one member, so its bytes go to that member's rack:

```
out(p)        today read in    best assignment     stock assignor
orders-0  3   b                a  local            b  local
orders-1  3   a                b  local            c  local
orders-2  3   c                c  local            a  local
```

The best one is core's optimum: even first, then least crossing, then fewest moves. What a rackless
member would read stays where it is, and so do partitions that nobody reads and groups that nobody
is in.

What this does not do: change how much is read of a partition; heed which replicas are in sync.

Source: KIP-392, KIP-881.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Protocol

from rackwise.core.assignors import ASSIGNORS, assign_optimal, simulated
from rackwise.core.savings.model import FETCH, LOOSE, Place
from rackwise.core.traffic import apportion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from rackwise.core.assignors import Assignment, ReplicaRacks, Target
    from rackwise.core.savings.layout import Layout, Readers
    from rackwise.core.savings.model import State

    Dealt: TypeAlias = Mapping[tuple[str, int], Mapping[str | None, int]]
    """(topic, `alike`) -> rack of the member, None where none is known -> partitions."""

STOCK_ASSIGNOR = "range"
"""What a classic group has that names none."""
CLASSIC = "classic"


class Assign(Protocol):
    """Makes an assignment of a group whose members read from the leader or the near follower."""

    def __call__(self, readers: Readers, racks: ReplicaRacks, target: Target) -> Assignment:
        """Raises what the assignor raises."""


def followed(state: State, layout: Layout) -> State:
    """Reading from replicas in the reader's rack."""
    after = Counter[Place]()
    for place, bytes_ in state.items():
        after[_followed(place, layout) if _is_read(place) else place] += bytes_
    return after


def _is_read(place: Place) -> bool:
    return place.kind == FETCH and place.alike != LOOSE


def _followed(place: Place, layout: Layout) -> Place:
    racks = layout.racks[place.topic][place.alike]
    return place._replace(near=place.far if place.far in racks else racks[0])


def optimal(readers: Readers, racks: ReplicaRacks, target: Target) -> Assignment:
    """The best there is. Raises `MissingDependency`, `OptimumTooLarge`."""
    return assign_optimal(readers.members, racks, target=target)


def stock(readers: Readers, racks: ReplicaRacks, target: Target) -> Assignment:
    """What the group's own assignor makes of it, once it has settled."""
    name = readers.assignor if readers.assignor in ASSIGNORS else STOCK_ASSIGNOR
    return simulated(name, readers.members, racks, target=target).assignment


def dealt(assign: Assign, layout: Layout, group: str, *, follows: bool) -> Dealt:
    """Where an assignor has a group's partitions read. Raises what the assignor raises."""
    readers = layout.groups[group]
    listed = {topic for member in readers.members.values() for topic in member.topics}
    numbers, racks = _replica_racks(layout, listed)
    made = assign(readers, racks, "follower" if follows else "leader")
    found: defaultdict[tuple[str, int], Counter[str | None]] = defaultdict(Counter)
    for member, partitions in [*made.partitions.items(), *_held_back(made)]:
        rack = readers.members[member].rack
        for topic, partition in partitions:
            found[topic, numbers[topic].get(partition, LOOSE)][rack] += 1
    return found


def _held_back(made: Assignment) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    return [(member, (partition,)) for partition, member in made.withheld.items()]


def _replica_racks(
    layout: Layout, topics: set[str]
) -> tuple[Mapping[str, Mapping[int, int]], ReplicaRacks]:
    """Topic -> partition -> `alike`, and topic -> partition -> racks of the replicas."""
    numbers: dict[str, dict[int, int]] = {}
    for topic, partition, alike in zip(
        layout.topic.tolist(), layout.partition.tolist(), layout.alike.tolist(), strict=True
    ):
        name = layout.topics[topic]
        if name in topics:
            numbers.setdefault(name, {})[partition] = alike
    racks = {
        name: [_racks_of(layout, name, found, number) for number in range(max(found) + 1)]
        for name, found in numbers.items()
    }
    return numbers, racks


def _racks_of(
    layout: Layout, topic: str, numbers: Mapping[int, int], partition: int
) -> tuple[str | None, ...]:
    alike = numbers.get(partition, LOOSE)
    return () if alike == LOOSE else layout.racks[topic][alike]


def reassigned(
    state: State, layout: Layout, deals: Mapping[str, Dealt], follows: Mapping[str, bool]
) -> State:
    """Partitions of the groups in `deals` read where they are dealt to.

    `follows`: group -> whether its members read from replicas in their racks.
    """
    after = Counter[Place]()
    for place, bytes_ in state.items():
        ways = deals.get(place.client_group, {}).get((place.topic, place.alike))
        if ways and _is_read(place):
            _deal(after, place, bytes_, ways, layout, follows=follows[place.client_group])
        else:
            after[place] += bytes_
    return after


def _deal(
    after: Counter[Place],
    place: Place,
    bytes_: int,
    ways: Mapping[str | None, int],
    layout: Layout,
    *,
    follows: bool,
) -> None:
    racks = layout.racks[place.topic][place.alike]
    rows = sorted(ways.items(), key=lambda way: way[0] or "")
    for (rack, _), share in zip(rows, apportion(bytes_, [n for _, n in rows]), strict=True):
        if rack is None:
            after[place] += share
        else:
            near = rack if follows and rack in racks else racks[0]
            after[place._replace(near=near, far=rack)] += share
