"""The candidates of a window, and the draw among them, by the text of KIP-1123.

Goals, in order: a partition that can take records; near the producer; smaller backlogs likelier.

A partition is usable when it has a leader, the leader's node is not excluded, and fewer than
`backlog_cap_windows` windows are outstanding there. The candidates are the first tier that has any:

```
tier         partitions                                     client /eu/a/r7, leaders in
local        usable, leader's rack is the client's          0  /eu/a/r7
level-2      usable, two common leading levels              1  /eu/a/r8
level-1      usable, one                                    2  /eu/b/r7
all          usable                                         3  /us/a/r7   4 (no rack)
any-leader   with a leader
no-leader    all
```

With racks of one level this is the KIP: "select the next partition from those nearby partitions";
"from all partitions" where the client has no rack, no leader is there, or all of those "are
unavailable". A producer that is not rack-aware begins at `all`. Shares (of a split, or from the one
number `max_skew`) come before the tiers: the schedule's rack is used while it has a usable
partition.

A draw is one number of 31 bits, r. A candidate that is q windows behind has the weight m - q, where
m is one more than the greatest q of the candidates. The candidate that is drawn is the first one
whose running sum of weights is greater than r modulo the last sum:

```
q          0 3 1     m = 4
weights    4 1 3
sums       4 5 8     r = 4, 12, ..: the second
```

Even draws do not use r modulo the last sum, but r / 2^31 of the last sum. Their numbers are spaced
evenly: each one is a golden section after the one before it. Random windows come in clusters, which
fill one batch while others are empty. Even draws give each candidate its part of every few windows.

What this does not do: decide when a window ends. Source: KIP-1123, KIP-794.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate, repeat
from operator import mod
from typing import TYPE_CHECKING

from rackwise.core.partitioner.choice.rack_levels import is_blank
from rackwise.core.partitioner.choice.schedule import SplitSchedule
from rackwise.core.partitioner.choice.view import PartitionLoad
from rackwise.core.partitioner.split.split import uniform_local_weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rackwise.core.partitioner.choice.config import PartitionerConfig
    from rackwise.core.partitioner.choice.leaders import LeadersByRack
    from rackwise.core.partitioner.choice.view import UpstreamLoad

DRAW_BITS = 31
"""The bits of a draw: Java draws a non-negative `int`."""
NO_LOAD = PartitionLoad({})
FEW = 4
"""If fewer than one candidate in this many has a backlog, only those with one are scanned."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The partitions that the next window may use."""

    tier: str
    """local, level-N, all, any-leader or no-leader; split if shares name the rack."""
    partitions: tuple[int, ...]
    """Ascending."""
    reason: str | None = None
    """The reason of a fallback; None = no fallback."""


_NONE: frozenset[int] = frozenset()


class KipChoice:
    """The candidates of one topic under semantics `kip`."""

    __slots__ = (
        "_blocked",
        "_charged",
        "_config",
        "_excluded",
        "_fall",
        "_found",
        "_has_split",
        "_is_stale",
        "_leaders",
        "_load",
        "_phase",
        "_schedule",
        "_shares",
        "_weighed",
        "_weights",
        "_window_rack",
    )

    def __init__(self, config: PartitionerConfig, leaders: LeadersByRack) -> None:
        self._config = config
        # (number of 31 bits, total) -> place below total
        self._fall = fall_evenly if config.draws == "even" else mod
        self._load = NO_LOAD
        self._excluded = self._blocked = _NONE
        # the candidates without a schedule, until leaders, blocked partitions or a split change
        self._found: Candidates | None = None
        # the candidates whose weights by this load are known
        self._weighed: Candidates | None = None
        self._weights: _Weights | _FewWeights = _Weights((0,), {})
        self._has_split = False
        self._shares: Mapping[str, float] | None = None
        self._schedule: SplitSchedule | None = None
        # the schedule at the last draw, and the rack that the draw gave the window to
        self._charged: SplitSchedule | None = None
        self._window_rack = ""
        self._phase = 0
        self._is_stale = False
        self.set_leaders(leaders)

    def set_leaders(self, leaders: LeadersByRack) -> None:
        """Use other leaders."""
        self._leaders = leaders
        self._found = None
        self._find_blocked()
        self._renew_schedule()

    def set_load(self, load: PartitionLoad | UpstreamLoad | None) -> None:
        """Use another load. Raises `TypeError` for a load of the other semantics."""
        if load is not None and not isinstance(load, PartitionLoad):
            raise TypeError(f"semantics kip: expected a PartitionLoad, got {type(load).__name__}")
        self._load = load or NO_LOAD
        self._weighed = None
        self._find_blocked()

    def set_split(self, shares: Mapping[str, float] | None, *, phase: int, stale: bool) -> None:
        """Give windows to leader racks by share; None: no shares. Raises `SplitError`."""
        schedule = None if shares is None else self._new_schedule(shares, phase)
        self._has_split, self._phase, self._is_stale = shares is not None, phase, stale
        self._shares, self._schedule = shares, schedule
        self._found = None
        self._renew_schedule()

    def leaves(self, partition: int) -> bool:
        """Whether the partition can take no more records and another can."""
        is_usable = self._leaders.has_leader(partition) and partition not in self._blocked
        return not is_usable and len(self._blocked) < len(self._leaders.with_leader)

    def window_done(self, size: int) -> None:
        """Charge the last drawn window to the rack that got it, unless shares have changed."""
        if self._schedule is not None and self._schedule is self._charged:
            self._schedule.window_done(self._window_rack, size)

    def candidates(self) -> Candidates:
        """The candidates of the next window; changes nothing."""
        if self._found is not None and self._schedule is None:
            return self._found
        self._found = self._find_candidates()
        return self._found

    def _find_candidates(self) -> Candidates:
        leaders = self._leaders
        if not leaders.with_leader:
            return Candidates("no-leader", leaders.all, "no-leader")
        stale = "stale-split" if self._is_stale else None
        if self._schedule is not None:
            usable = self._usable(leaders.by_rack.get(self._schedule.next_rack(), ()))
            if usable:
                return Candidates("split", usable, stale)
        for tier, partitions in leaders.tiers:
            usable = self._usable(partitions)
            if usable:
                return Candidates(tier, usable, stale or self._reason(tier))
        return Candidates("any-leader", leaders.with_leader, stale or self._reason("any-leader"))

    def draw(self, among: Candidates, number: int) -> int:
        """The candidate at a number of 31 bits."""
        partitions, windows = among.partitions, self._load.windows
        if self._config.adaptive and windows and among.tier != "no-leader":
            if among is not self._weighed:
                self._weighed, self._weights = among, weigh(partitions, windows)
            drawn = self._weights.at(number, self._fall)
        else:
            drawn = partitions[self._fall(number, len(partitions))]
        self._charged = self._schedule
        if self._charged is not None:
            self._window_rack = self._leaders.rack(drawn) or ""
        return drawn

    def _usable(self, partitions: tuple[int, ...]) -> tuple[int, ...]:
        if not self._blocked:
            return partitions
        return tuple(p for p in partitions if p not in self._blocked)

    def _find_blocked(self) -> None:
        """Find the partitions that have a leader and are not usable."""
        cap, leaders = self._config.backlog_cap_windows, self._leaders
        windows, nodes = self._load.windows, self._load.excluded_nodes
        if not nodes and (not windows or not cap or max(windows.values()) < cap):
            # excluded: partitions of excluded nodes; blocked: these, and those at the backlog cap
            if self._blocked:
                self._excluded = self._blocked = _NONE
                self._found = None
            return
        self._found = None
        behind = (p for p, q in windows.items() if cap and q >= cap)
        self._excluded = frozenset(p for node in nodes for p in leaders.by_node.get(node, ()))
        self._blocked = self._excluded.union(p for p in behind if leaders.has_leader(p))

    def _reason(self, tier: str) -> str | None:
        """Why the tier is not local; a schedule without a usable rack is checked first."""
        if self._schedule is not None:
            return "split-rack-unavailable"
        if tier == "local" or not self._config.rack_aware:
            return None
        if is_blank(self._config.rack):
            return "blank-rack"
        if not self._leaders.is_matched:
            return "rack-unmatched"
        if not self._leaders.local:
            return "no-local-leader"
        is_excluded = not self._excluded.isdisjoint(self._leaders.local)
        return "local-excluded" if is_excluded else "local-backlog"

    def _renew_schedule(self) -> None:
        """Renew the schedule; `max_skew` keeps one fixed part local, the rest goes by weight."""
        if self._has_split:
            return
        shares = self._shares_of_max_skew()
        if shares != self._shares:
            self._shares = shares
            self._schedule = None if shares is None else self._new_schedule(shares, self._phase)

    def _new_schedule(self, shares: Mapping[str, float], phase: int) -> SplitSchedule:
        return SplitSchedule(shares, self._config.sticky_bytes, phase=phase)

    def _shares_of_max_skew(self) -> Mapping[str, float] | None:
        """Leader rack -> share, from the one number `max_skew`; None without it."""
        config, leaders = self._config, self._leaders
        if config.max_skew is None or not config.rack_aware or not leaders.local:
            return None
        kept = uniform_local_weight(config.max_skew, config.eps)
        local = set(leaders.local)
        return {
            rack: (1 - kept) * len(partitions) / len(leaders.with_leader)
            + kept * len(local.intersection(partitions)) / len(local)
            for rack, partitions in leaders.by_rack.items()
        }


def fall_evenly(number: int, total: int) -> int:
    """The place of a number of 31 bits among `total` places: below 0.5 in the first half."""
    return number * total >> DRAW_BITS


def weighted(
    partitions: tuple[int, ...],
    windows: Mapping[int, int],
    number: int,
    fall: Callable[[int, int], int] = mod,
) -> int:
    """The partition at a number; each weighs the greatest backlog + 1 minus its own backlog.

    `partitions`: in rising order. `windows`: partition -> backlog, absent = 0; other keys are
    ignored. `fall`: number and sum of weights -> place.
    """
    return weigh(partitions, windows).at(number, fall)


def weigh(partitions: tuple[int, ...], windows: Mapping[int, int]) -> _Weights | _FewWeights:
    """The weights of partitions, for several draws; the arguments are those of `weighted`."""
    if len(windows) * FEW < len(partitions):
        return _FewWeights(partitions, windows)
    return _Weights(partitions, windows)


class _Weights:
    """The running sum of weights at place i is (i + 1) * full - missing[i]."""

    __slots__ = ("_full", "_missing", "_partitions")

    def __init__(self, partitions: tuple[int, ...], windows: Mapping[int, int]) -> None:
        self._partitions = partitions
        behind = list(map(windows.get, partitions, repeat(0)))
        self._full = max(behind) + 1
        self._missing = list(accumulate(behind))

    def at(self, number: int, fall: Callable[[int, int], int]) -> int:
        """The partition at a number."""
        full, missing, count = self._full, self._missing, len(self._partitions)
        point = fall(number, count * full - missing[-1])
        place = bisect_right(
            range(count), point, key=lambda each: (each + 1) * full - missing[each]
        )
        return self._partitions[place]


class _FewWeights:
    """The same if few have a backlog: `place` skips full weights up to the next one of those."""

    __slots__ = ("_behind", "_full", "_partitions", "_total")

    def __init__(self, partitions: tuple[int, ...], windows: Mapping[int, int]) -> None:
        self._partitions = partitions
        self._behind = sorted(_places_behind(partitions, windows.items()))
        self._full = max((size for _, size in self._behind), default=0) + 1
        self._total = len(partitions) * self._full - sum(size for _, size in self._behind)

    def at(self, number: int, fall: Callable[[int, int], int]) -> int:
        """The partition at a number."""
        point, full, missing = fall(number, self._total), self._full, 0
        for place, size in self._behind:
            if point < (place + 1) * full - missing - size:
                break
            missing += size
        return self._partitions[(point + missing) // full]


def _places_behind(
    partitions: tuple[int, ...], windows: Iterable[tuple[int, int]]
) -> Iterable[tuple[int, int]]:
    """Place among `partitions` and backlog of each partition with a backlog."""
    for partition, size in windows:
        place = bisect_left(partitions, partition)
        if size and place < len(partitions) and partitions[place] == partition:
            yield place, size
