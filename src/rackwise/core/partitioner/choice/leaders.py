"""A topic's leaders grouped for a producer in one rack; rebuilt when metadata changes.

```
client /eu/a/r7, leaders in  0 /eu/a/r7   1 /eu/a/r8   2 /eu/b/r7   3 none, 4 no leader
common levels                3            2            1            -1      -1
tiers    local 0 | level-2 0 1 | level-1 0 1 2 | all 0 1 2 3
```

A draw costs the same for 6 partitions and for 1000, because it looks up a tuple.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rackwise.core.partitioner.choice.rack_levels import levels_of
from rackwise.core.partitioner.split.split import common_levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.partitioner.choice.config import PartitionerConfig
    from rackwise.core.partitioner.choice.view import TopicView

Key = TypeVar("Key", str, int | None)
UNKNOWN = -1
"""The number of common levels if the client, the leader or its broker has no rack."""


class LeadersByRack:
    """The leaders of one view, in groups."""

    __slots__ = (
        "_common",
        "_view",
        "all",
        "by_node",
        "by_rack",
        "is_matched",
        "local",
        "tiers",
        "with_leader",
    )

    def __init__(self, config: PartitionerConfig, view: TopicView) -> None:
        self._view = view
        whole = config.semantics == "upstream"
        client, depth = config.client_levels, config.local_depth
        near = {
            rack: common_levels(client, levels_of(rack, whole=whole)) if client else UNKNOWN
            for rack in {*view.racks.values()}
            if rack
        }
        racks = [view.leader_rack(partition) or "" for partition in range(len(view.leaders))]
        # [partitions], the common levels of the leader's rack and the client's, or `UNKNOWN`
        self._common = tuple(near.get(rack, UNKNOWN) for rack in racks)
        # every partition
        self.all = tuple(range(len(racks)))
        # the partitions with a leader
        self.with_leader = tuple(p for p in self.all if view.leaders[p] is not None)
        # the leader's rack, empty = none -> partitions
        self.by_rack = _group_by(racks, self.with_leader)
        # the leader's node -> partitions
        self.by_node = _group_by(view.leaders, self.with_leader)
        # whether a broker is in the client's rack
        self.is_matched = bool(client) and any(common >= depth for common in near.values())
        # the partitions with a leader in the client's rack
        self.local = self._at_least(depth) if client else ()
        finer = [("local", self.local)] + [
            (f"level-{level}", self._at_least(level)) for level in range(depth - 1, 0, -1)
        ]
        steps = finer if client and config.rack_aware else []
        # (name, partitions), nearest first, without empty ones; the last one is `all`
        self.tiers = tuple(
            (name, group) for name, group in [*steps, ("all", self.with_leader)] if group
        )

    def has_leader(self, partition: int) -> bool:
        """Whether the partition exists and has a leader."""
        leaders = self._view.leaders
        return 0 <= partition < len(leaders) and leaders[partition] is not None

    def rack(self, partition: int) -> str | None:
        """The rack of the partition's leader; None if it is unknown."""
        return self._view.leader_rack(partition)

    def common(self, partition: int) -> int:
        """How many leading levels the leader's rack shares with the client's; -1 = unknown."""
        return self._common[partition] if 0 <= partition < len(self._common) else UNKNOWN

    def _at_least(self, level: int) -> tuple[int, ...]:
        """The partitions whose leader's rack shares at least `level` levels with the client's."""
        return tuple(p for p in self.with_leader if self._common[p] >= level)


def _group_by(keys: Sequence[Key], partitions: tuple[int, ...]) -> dict[Key, tuple[int, ...]]:
    """Key -> partitions, keys in the order of their first partition."""
    found: dict[Key, list[int]] = {}
    for partition in partitions:
        found.setdefault(keys[partition], []).append(partition)
    return {key: tuple(each) for key, each in found.items()}
