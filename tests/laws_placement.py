"""One helper per law of placements; each raises AssertionError naming it; none uses a placer.

Plain loops over rows, on purpose: the code that is judged here is vectorised.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise import Broker, Placement


def check_placement(
    p: Placement,
    brokers: Sequence[Broker],
    *,
    replication: int,
    racks: Literal["aware", "off"],
    partitions: int | None = None,
    first: int | None = None,
) -> None:
    """Every row has `replication` different brokers of the cluster, in as many racks as possible.

    "No rack" is one more rack. `partitions` and `first` are checked if they are given.
    """
    if partitions is not None:
        assert len(p) == partitions, f"law of rows: {partitions} were asked, {len(p)} made"
    if first is not None:
        assert p.first == first, f"law of rows: from {first} was asked, from {p.first} made"
    rack_of = {broker.id: broker.rack for broker in brokers}
    spread = min(replication, len(set(rack_of.values())))
    for partition in p:
        row = p[partition]
        told = f"partition {partition} is {row}"
        assert len(row) == replication, f"law of replication: {replication} was asked; {told}"
        assert len(set(row)) == len(row), f"law of distinct brokers: {told}"
        assert set(row) <= set(rack_of), f"law of known brokers: {told}"
        if racks == "aware":
            had = len({rack_of[id_] for id_ in row})
            assert had == spread, f"law of racks: expected {spread} racks, got {told}, {had} racks"


def leaders_of(p: Placement, brokers: Sequence[Broker]) -> list[int]:
    """Leaderships of each broker, in id order."""
    held = Counter(p[partition][0] for partition in p)
    return [held[broker.id] for broker in sorted(brokers, key=lambda broker: broker.id)]


def replicas_of(p: Placement, brokers: Sequence[Broker]) -> list[int]:
    """Replicas of each broker, in id order."""
    held = Counter(id_ for partition in p for id_ in p[partition])
    return [held[broker.id] for broker in sorted(brokers, key=lambda broker: broker.id)]


def check_equal_leaders(p: Placement, brokers: Sequence[Broker]) -> None:
    """Every broker leads the same number of partitions."""
    assert len(set(leaders_of(p, brokers))) == 1, f"law of leaders: {leaders_of(p, brokers)}"


def check_equal_replicas(p: Placement, brokers: Sequence[Broker]) -> None:
    """Every broker holds the same number of replicas."""
    assert len(set(replicas_of(p, brokers))) == 1, f"law of replicas: {replicas_of(p, brokers)}"


def check_prefix(start: Placement, whole: Placement) -> None:
    """The first rows of `whole` are those of `start`."""
    for partition in start:
        assert start[partition] == whole[partition], f"law of prefixes: partition {partition}"
