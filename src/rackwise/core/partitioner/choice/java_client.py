"""The candidates of a window, and the draw among them, exactly as kafka-clients 4.4.0 does both.

There are two tables of weights: of all partitions, and of those with a leader in the client's rack.
Each table uses only the sizes of its own partitions. The rack's table is used if it has an entry:

```
sizes  0 3 1    all       4 5 8    of partitions 0 1 2
racks  a b a    in a      2 3      of partitions 0 2       (4 and 7 with the maximum of all)
```

There is no table if fewer than two partitions were counted, no partition is left, or all sizes are
equal and no partition was excluded. The draw is then uniform among partitions with a leader in the
rack, else with any leader, else among all. A table is used as it is: later changes of leaders are
ignored, and a partition that has lost its leader is drawn until the next load.

Two points differ from the text of KIP-1123. If all nearby partitions are excluded, the table of all
partitions is used. If all partitions are excluded, the draw is uniform among the nearby ones,
including those of dead brokers.

Source: `BuiltInPartitioner.nextPartition`, `updatePartitionLoadStats` of kafka-clients 4.4.0.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from rackwise.core.errors import PartitionerConfigError
from rackwise.core.partitioner.choice.kip1123 import Candidates
from rackwise.core.partitioner.choice.view import UpstreamLoad

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.partitioner.choice.config import PartitionerConfig
    from rackwise.core.partitioner.choice.leaders import LeadersByRack
    from rackwise.core.partitioner.choice.view import PartitionLoad


@dataclass(frozen=True, slots=True)
class LoadTable:
    """Running sums of weights, and the partition of each entry."""

    sums: tuple[int, ...]
    """[entries], ascending."""
    partitions: tuple[int, ...]
    """[entries]."""

    @classmethod
    def of(cls, sizes: tuple[int, ...], partitions: tuple[int, ...]) -> LoadTable:
        """The table of queue sizes; each size weighs the greatest size + 1 minus itself."""
        full = max(sizes, default=0) + 1
        return cls(tuple(accumulate(full - size for size in sizes)), partitions)

    def at(self, number: int) -> int:
        """The partition at a number of 31 bits."""
        return self.partitions[bisect_right(self.sums, number % self.sums[-1])]


@dataclass(frozen=True, slots=True)
class LoadTables:
    """The load tables of one topic."""

    total: LoadTable
    """The load of all partitions."""
    in_rack: LoadTable | None
    """The load in the client's rack; None = not rack-aware."""


def load_tables(load: UpstreamLoad | None, rack: str | None) -> LoadTables | None:
    """The tables of a load; None = no weights. `rack`: None = not rack-aware."""
    if load is None or load.length < 1 or len(load.queue_sizes) < 2:  # noqa: PLR2004 (partitions)
        return None
    sizes, ids = load.queue_sizes[: load.length], load.partition_ids[: load.length]
    if len(set(sizes)) == 1 and load.length == len(load.queue_sizes):
        return None
    if rack is None:
        return LoadTables(LoadTable.of(sizes, ids), None)
    near = [slot for slot in range(load.length) if load.leader_racks[slot] == rack]
    local = LoadTable.of(tuple(sizes[slot] for slot in near), tuple(ids[slot] for slot in near))
    return LoadTables(LoadTable.of(sizes, ids), local)


class UpstreamChoice:
    """The candidates of one topic under semantics `upstream`."""

    __slots__ = ("_config", "_leaders", "_tables")

    def __init__(self, config: PartitionerConfig, leaders: LeadersByRack) -> None:
        self._config = config
        self._tables: LoadTables | None = None
        self._leaders = leaders

    def set_leaders(self, leaders: LeadersByRack) -> None:
        """Use other leaders."""
        self._leaders = leaders

    def set_load(self, load: PartitionLoad | UpstreamLoad | None) -> None:
        """Use another load. Raises `TypeError` for a load of the other semantics."""
        if load is not None and not isinstance(load, UpstreamLoad):
            raise TypeError(
                f"semantics upstream: expected an UpstreamLoad, got {type(load).__name__}"
            )
        rack = self._config.rack if self._config.rack_aware else None
        self._tables = load_tables(load, rack) if self._config.adaptive else None

    def set_split(self, shares: Mapping[str, float] | None, *, phase: int, stale: bool) -> None:  # noqa: ARG002
        """Reject shares, which upstream does not have: `PartitionerConfigError`."""
        if shares is not None:
            raise PartitionerConfigError(
                "invalid semantics: expected kip because a split is set, got upstream",
                wanted="semantics kip",
                had="semantics upstream",
                hint="set rackwise.semantics to kip",
                where="semantics",
            )

    def leaves(self, partition: int) -> bool:  # noqa: ARG002
        """False: upstream never leaves a partition before the window's end."""
        return False

    def window_done(self, size: int) -> None:
        """Do nothing: upstream has no schedule of shares."""

    def candidates(self) -> Candidates:
        """The candidates of the next window; changes nothing."""
        table, leaders = self._table(), self._leaders
        if table is not None:
            is_local = self._tables is not None and table is self._tables.in_rack
            tier = "local" if is_local else "all"
            return Candidates(tier, table.partitions, self._reason(tier))
        if not leaders.with_leader:
            return Candidates("no-leader", leaders.all, "no-leader")
        tier, partitions = leaders.tiers[0]
        return Candidates(tier, partitions, self._reason(tier))

    def draw(self, among: Candidates, number: int) -> int:
        """The candidate at a number of 31 bits."""
        table = self._table()
        if table is not None:
            return table.at(number)
        return among.partitions[number % len(among.partitions)]

    def _table(self) -> LoadTable | None:
        """The table of the next draw; None: the draw is uniform."""
        tables = self._tables
        if tables is None:
            return None
        return tables.in_rack if tables.in_rack and tables.in_rack.sums else tables.total

    def _reason(self, tier: str) -> str | None:
        """Why the tier is not local; None where it is, or where racks are ignored."""
        if tier == "local" or not self._config.rack_aware:
            return None
        if not self._leaders.is_matched:
            return "rack-unmatched"
        return "local-excluded" if self._leaders.local else "no-local-leader"
