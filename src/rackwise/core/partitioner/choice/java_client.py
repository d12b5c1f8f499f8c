"""The partitions a window may go to, and the draw among them, as kafka-clients 4.4.0 does both.

Weights come in two tables, of all partitions and of those led from the client's rack; each is made
from the sizes of its own partitions alone, and the rack's is used wherever it has an entry:

```
sizes  0 3 1    all       4 5 8    of partitions 0 1 2
racks  a b a    in a      2 3      of partitions 0 2       (4 and 7 with the maximum of all)
```

There is no table where fewer than two partitions were counted, none is left, or all sizes are equal
and none was left out; then the draw is uniform among partitions with a leader in the rack, else
with a leader, else among all. A table is used as it is: leaders that changed since are not looked
at, and a partition without leader is drawn until the next load.

What differs from the text of KIP-1123: everything nearby excluded leads to the table of all
partitions, everything excluded to a uniform draw among the nearby ones, dead ones too.

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
    partitions: tuple[int, ...]

    @classmethod
    def of(cls, sizes: tuple[int, ...], partitions: tuple[int, ...]) -> LoadTable:
        """From queue sizes, each weighing the greatest + 1 less itself."""
        full = max(sizes, default=0) + 1
        return cls(tuple(accumulate(full - size for size in sizes)), partitions)

    def at(self, number: int) -> int:
        """The partition that a number of 31 bits falls on."""
        return self.partitions[bisect_right(self.sums, number % self.sums[-1])]


@dataclass(frozen=True, slots=True)
class LoadTables:
    """`total`: of all partitions. `in_rack`: of the client's rack, None = not rack-aware."""

    total: LoadTable
    in_rack: LoadTable | None


def load_tables(load: UpstreamLoad | None, rack: str | None) -> LoadTables | None:
    """The tables of a load; None = there are no weights. `rack`: None = not rack-aware."""
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
        """Look at other leaders."""
        self._leaders = leaders

    def set_load(self, load: PartitionLoad | UpstreamLoad | None) -> None:
        """Look at another load. Raises `TypeError` for one of the other semantics."""
        if load is not None and not isinstance(load, UpstreamLoad):
            raise TypeError(
                f"semantics upstream: expected an UpstreamLoad, got {type(load).__name__}"
            )
        rack = self._config.rack if self._config.rack_aware else None
        self._tables = load_tables(load, rack) if self._config.adaptive else None

    def set_split(self, shares: Mapping[str, float] | None, *, phase: int, stale: bool) -> None:  # noqa: ARG002
        """Refuse shares, which upstream does not have: `PartitionerConfigError`."""
        if shares is not None:
            raise PartitionerConfigError(
                "invalid semantics: expected kip because a split is set, got upstream",
                wanted="semantics kip",
                had="semantics upstream",
                hint="set rackwise.semantics to kip",
                where="semantics",
            )

    def leaves(self, partition: int) -> bool:  # noqa: ARG002
        """Never: upstream stays to the window's end."""
        return False

    def window_done(self, size: int) -> None:
        """Nothing is charged to anybody."""

    def candidates(self) -> Candidates:
        """Where the next window may go; changes nothing."""
        table, leaders = self._table(), self._leaders
        if table is not None:
            is_local = self._tables is not None and table is self._tables.in_rack
            tier = "local" if is_local else "all"
            return Candidates(tier, table.partitions, self._reason(tier))
        if not leaders.led:
            return Candidates("no-leader", leaders.all, "no-leader")
        tier, partitions = leaders.tiers[0]
        return Candidates(tier, partitions, self._reason(tier))

    def draw(self, among: Candidates, number: int) -> int:
        """The candidate that a number of 31 bits falls on."""
        table = self._table()
        if table is not None:
            return table.at(number)
        return among.partitions[number % len(among.partitions)]

    def _table(self) -> LoadTable | None:
        tables = self._tables
        if tables is None:
            return None
        return tables.in_rack if tables.in_rack and tables.in_rack.sums else tables.total

    def _reason(self, tier: str) -> str | None:
        if tier == "local" or not self._config.rack_aware:
            return None
        if not self._leaders.is_matched:
            return "rack-unmatched"
        return "local-excluded" if self._leaders.local else "no-local-leader"
