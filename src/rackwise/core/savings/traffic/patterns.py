"""The patterns of a layout as columns, with codes of racks, and what bytes can belong to them.

```
orders    pattern 0: leader in a, follower in b     racks 0 1 -2     three partitions
          pattern 1: leader in b, followers a, c    racks 1 0 2      one partition
slot      pattern * width + position of the follower (0 if the bytes are not replicated)
```

Patterns of all topics have one numbering, in order of the topics. Rows are padded with `PAD`, which
is no rack.

What this does not do: read a cluster (see `layout`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rackwise.core.savings.model import FETCH, PRODUCE, REPLICATE
from rackwise.core.savings.traffic.chunks import NO_RACK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.traffic.chunks import TrafficNames
    from rackwise.core.savings.traffic.columns import Codes

PAD: Final = -2
"""No replica, in a row of racks."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PatternRacks:
    """The racks of the replicas of patterns."""

    racks: NDArray[np.int32]
    """[patterns, width], leader first; `NO_RACK` where not known, `PAD` after the last replica."""

    @classmethod
    def of(cls, rows: Sequence[tuple[int, ...]]) -> PatternRacks:
        """From the codes of each pattern."""
        width = max(map(len, rows), default=1)
        padded = [(*row, *[PAD] * (width - len(row))) for row in rows]
        return cls(racks=np.array(padded, dtype=np.int32).reshape(-1, width))

    @property
    def width(self) -> int:
        """The most replicas of a pattern."""
        return int(self.racks.shape[1])

    @property
    def lengths(self) -> Codes:
        """The replicas of each pattern."""
        found: Codes = (self.racks != PAD).sum(axis=1)
        return found

    def has(self, pattern: Codes, rack: Codes) -> NDArray[np.bool_]:
        """Whether a replica of the pattern is in the rack."""
        found: NDArray[np.bool_] = (self.racks[pattern] == rack[:, None]).any(axis=1)
        return found

    def nearest(self, pattern: Codes, rack: Codes) -> Codes:
        """The rack that a client reads from: its own if it has a replica, else the leader's."""
        return np.where(self.has(pattern, rack), rack, self.racks[pattern, 0])


class PatternFinder:
    """Finds the patterns, and the position of the follower, that bytes can belong to."""

    def __init__(self, rows: Sequence[tuple[int, ...]], *, follows: bool) -> None:
        """`rows`: the racks of the replicas of each pattern, leader first."""
        self._rows = rows
        self._follows = follows
        # rack -> numbers of the patterns that have their leader, or any replica, there
        self._led: defaultdict[int, list[int]] = defaultdict(list)
        self._held: defaultdict[int, list[int]] = defaultdict(list)
        for number, racks in enumerate(rows):
            self._led[racks[0]].append(number)
            for rack in set(racks):
                self._held[rack].append(number)

    def of(self, kind: str, near: int, far: int) -> Iterator[tuple[int, int]]:
        """Number and position; none if a rack is not known. `near`: the broker's rack.

        `far`: the rack of the client or of the follower.
        """
        if NO_RACK in {near, far}:
            return
        with_leader = self._led.get(near, [])
        if kind == PRODUCE:
            yield from ((number, 0) for number in with_leader)
        elif kind == REPLICATE:
            for number in with_leader:
                followers = enumerate(self._rows[number][1:], start=1)
                yield from ((number, position) for position, rack in followers if rack == far)
        elif kind == FETCH:
            if self._follows:
                with_leader = [number for number in with_leader if far not in self._rows[number]]
            yield from ((number, 0) for number in with_leader or self._held.get(near, []))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Patterns:
    """All patterns of a layout; columns [patterns]."""

    table: PatternRacks
    topic: Codes
    """Code of the topic."""
    count: Codes
    """Partitions of the pattern."""
    first: Mapping[int, int]
    """Code of a topic -> its first pattern; topics that the layout does not have are left out."""
    rows: Mapping[int, Sequence[tuple[int, ...]]]
    """Code of a topic -> the codes of racks of its patterns."""

    @classmethod
    def of(cls, layout: Layout, names: TrafficNames) -> Patterns:
        """The patterns with the codes of `names`, which have all topics and racks of the layout."""
        codes = {name: code for code, name in enumerate(names.topics)}
        rack_codes: dict[str | None, int] = {rack: code for code, rack in enumerate(names.racks)}
        rack_codes[None] = NO_RACK
        first: dict[int, int] = {}
        rows: dict[int, Sequence[tuple[int, ...]]] = {}
        every: list[tuple[int, ...]] = []
        topic: list[int] = []
        count: list[int] = []
        for name in sorted(layout.racks):
            code = codes[name]
            first[code] = len(every)
            rows[code] = [tuple(rack_codes[rack] for rack in racks) for racks in layout.racks[name]]
            every += rows[code]
            topic += [code] * len(rows[code])
            count += layout.counts[name]
        return cls(
            table=PatternRacks.of(every),
            topic=np.array(topic, dtype=np.int64),
            count=np.array(count, dtype=np.int64),
            first=first,
            rows=rows,
        )

    def pattern(self, slot: Codes) -> Codes:
        """The patterns of slots."""
        return slot // self.table.width

    def follower(self, slot: Codes) -> Codes:
        """The positions of the followers of slots."""
        return slot % self.table.width

    def slot(self, pattern: int, follower: int) -> int:
        """The slot of a pattern, and of the position of a follower."""
        return pattern * self.table.width + follower
