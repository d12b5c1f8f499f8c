"""How far a member reads: the number of rack levels that one read crosses.

Goals: one rule for everything that measures or makes assignments.

The replica that is read. A member reads from the leader, unless the target allows another replica:

```
target     reads from                                           requires
leader     the leader                                           nothing
follower   a replica in exactly the member's rack, else the     RackAwareReplicaSelector on
           leader, however far                                  every broker (KIP-392)
nearest    the replica that shares most levels                  a selector that knows levels
```

Loss. Let D be the levels of the deepest rack of a member. A read that shares the k coarsest levels
crosses the D - k finest ones. Shorter paths are padded. A member without rack crosses all levels. A
text that is not a path of levels, as any `client.rack` may be, is one level.

```
member /eu/a      leader /us/c   follower /eu/b          region  zone
leader            shares nothing: loss 2                 crosses crosses
follower          no replica in /eu/a, so the leader: 2  crosses crosses
nearest           /eu/b shares the region: loss 1        -       crosses
```

What this does not do: know which replicas are in sync, or count partitions.

Source: KIP-392 and KIP-881.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.assignors.members import TARGETS
from rackwise.core.errors import InvalidConfig, InvalidRack, InvalidWeights
from rackwise.core.racks import Rack, padded
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.assignors.members import ReplicaRacks, Target, TopicPartition
    from rackwise.core.model import PartitionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """Computes how many levels a read crosses."""

    target: Target
    depth: int
    """The levels of the deepest rack of a member, at least 1."""
    cache: dict[tuple[str | None, tuple[str | None, ...]], int]
    """(member's rack, racks of replicas) -> loss."""

    @classmethod
    def of(cls, member_racks: Iterable[str | None], target: Target) -> Distance:
        """The distance for members in these racks."""
        racks = {rack for rack in member_racks if rack is not None}
        depth = max((len(_levels(rack)) for rack in racks), default=1)
        return cls(target=target, depth=max(depth, 1), cache={})

    def loss(self, rack: str | None, replicas: tuple[str | None, ...]) -> int:
        """The number of finest levels that the read crosses.

        `replicas`: the rack of each replica, leader first.
        """
        key = (rack, replicas)
        if key not in self.cache:
            self.cache[key] = self.depth - self._shared_levels(rack, replicas)
        return self.cache[key]

    def _shared_levels(self, rack: str | None, replicas: tuple[str | None, ...]) -> int:
        """The number of coarsest levels that the member shares with the replica that it reads."""
        if rack is None:
            return 0
        shared = [self._common_levels(rack, replica) for replica in replicas]
        if self.target == "nearest" or (self.target == "follower" and rack in replicas):
            return max(shared, default=0)
        return shared[0] if shared else 0

    def _common_levels(self, a: str, b: str | None) -> int:
        """The number of equal levels, from the coarsest on, of paths padded to `depth`."""
        if not b:
            return 0
        left, right = (padded(_levels(text), self.depth) for text in (a, b))
        common = 0
        while common < self.depth and left[common : common + 1] == right[common : common + 1]:
            common += 1
        return common


def rack_of_read_replica(
    rack: str | None, replicas: Sequence[str | None], target: Target
) -> str | None:
    """The rack of the replica that a member in `rack` reads; None if it is not known.

    `replicas`: the rack of each replica, leader first.
    """
    if not replicas or (target == "follower" and rack in replicas):
        return rack if replicas else None
    if target != "nearest":
        return replicas[0] or None
    distance = Distance.of([rack], target)
    return min(replicas, key=lambda each: distance.loss(rack, (each,))) or None


def check_target(target: object) -> None:
    """Reject an unknown target. Raises `InvalidConfig`."""
    if target not in TARGETS:
        raise InvalidConfig(
            f'invalid target: expected one of {", ".join(TARGETS)}, got "{target}"',
            wanted=", ".join(TARGETS),
            had=target,
            hint="use follower for brokers with RackAwareReplicaSelector",
        )


def check_weights(weights: Mapping[TopicPartition, int] | None, racks: ReplicaRacks) -> None:
    """Reject a weight that is not an integer >= 0, or of an unknown partition.

    Raises `InvalidWeights`.
    """
    for tp, weight in (weights or {}).items():
        check_weight(tp, weight)
        topic, partition = tp
        if topic not in racks or not 0 <= partition < len(racks[topic]):
            name = escaped(f"{topic}-{partition}")
            raise InvalidWeights(
                f"invalid weight of {name}: expected a partition with metadata, got an unknown one",
                wanted="a partition with metadata",
                had=name,
                hint="remove the weights of other topics",
                where=name,
            )


def check_weight(tp: PartitionId, weight: object) -> None:
    """Reject a weight that is not an integer >= 0. Raises `InvalidWeights`."""
    if type(weight) is not int or weight < 0:
        topic, partition = tp
        name = escaped(f"{topic}-{partition}")
        raise InvalidWeights(
            f"invalid weight of {name}: expected integer bytes_per_s >= 0, got "
            f"{escaped(repr(weight))}",
            wanted="integer bytes_per_s >= 0",
            had=weight,
            hint="round the weights to integers",
            where=name,
        )


def _levels(text: str) -> tuple[str, ...]:
    """The levels of a rack's text; a text that is not a path is one level."""
    try:
        return Rack(text).levels
    except InvalidRack:
        return (text,)
