"""The traffic of a cluster as columns, in chunks.

```
lane     what bytes share apart from racks: kind, topic, client group, day, quality
place    the topic and the client group of a lane: a row of the result
slot     the partitions that the bytes belong to: a pattern, and the position of the follower
key      lane, near, far, slot: the bytes of each key are one number
```

`near` is the rack of the broker that serves or receives the bytes, `far` the rack of the client or
of the follower. A row of the bill is a lane with two racks, so it has one key per slot.

A change moves bytes between racks and between slots, never between lanes. So the lanes are divided
into chunks, and each chunk is changed and priced on its own. What must be known of the whole
cluster (the saving of a unit, the load of a rack) is added up over the chunks first. A chunk has
lanes of one kind, because most changes move one kind; other chunks are then passed on as they are:

```
lanes    fetch    orders  readers   day 1    chunk 0: 16,384 flows or a little more
         fetch    orders  readers   day 2
         produce  orders  (unknown) day 1    chunk 1: another kind
```

Limits: the keys of a whole cluster are in memory, some 30 bytes each, three times at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.savings.traffic.columns import packed, run_starts, run_sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date
    from typing import TypeAlias

    from rackwise.core.savings.traffic.columns import Codes, Exact

    Traffic: TypeAlias = "Sequence[Chunk]"
    """In order of the lanes."""

CHUNK = 16_384
"""LanedFlows of a chunk; the lane of the last one may have more."""
NO_RACK = -1
"""The code of a rack that is not known."""
MOST_LANES = 2**31 - 1
"""Lanes and slots have codes of 31 bits."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrafficNames:
    """The texts of codes, each in rising order."""

    days: tuple[date, ...]
    kinds: tuple[str, ...]
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    racks: tuple[str, ...]

    def kind(self, name: str) -> int:
        """The code of a kind; `NO_KIND` if no flow has it."""
        return self.kinds.index(name) if name in self.kinds else NO_KIND

    def rack(self, code: int) -> str | None:
        """The text of a rack; None where it is not known."""
        return None if code == NO_RACK else self.racks[code]


NO_KIND = -1
"""The code of a kind that no flow has."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lanes:
    """The lanes, in order of kind, topic, client group, day and quality; all columns [lanes]."""

    kind: Codes
    topic: Codes
    group: Codes
    day: Codes
    place: Codes
    places: tuple[Codes, Codes]
    """Topic and group of each place, [places], in rising order."""


class Chunk(NamedTuple):
    """The bytes of some lanes of one kind, in order of lane, near, far and slot, each key once."""

    kind: int
    lane: Codes
    near: Codes
    """int32, like the other columns except `bytes`; `NO_RACK` where not known."""
    far: Codes
    slot: Codes
    """`UNATTRIBUTED` where the partitions are not known."""
    bytes: Exact

    def part(self, rows: Codes) -> Chunk:
        """Some rows of the chunk, in their order."""
        lane, near, far, slot, bytes_ = (column[rows] for column in self[1:])
        return Chunk(self.kind, lane, near, far, slot, bytes_)

    def stacked(self, *others: Chunk) -> Chunk:
        """The rows of several chunks, one after the other, not in order."""
        columns = zip(self[1:], *(other[1:] for other in others), strict=True)
        lane, near, far, slot, bytes_ = (np.concatenate(column) for column in columns)
        return Chunk(self.kind, lane, near, far, slot, bytes_)

    def joined(self, *others: Chunk) -> Chunk:
        """The bytes of several chunks of the same lanes; equal keys are added up."""
        return self.stacked(*others).added_up()

    def added_up(self) -> Chunk:
        """The rows in order, with one row for each key."""
        code = self.codes()
        order = np.argsort(code, kind="stable")
        starts = run_starts(code[order])
        keys = order[starts]
        lane, near, far, slot = (column[keys].astype(np.int32) for column in self[1:5])
        return Chunk(self.kind, lane, near, far, slot, run_sums(self.bytes[order], starts))

    def codes(self) -> Codes:
        """A code for each row, which rises with lane, near, far and slot."""
        lane = self.lane - self.lane.min(initial=MOST_LANES)
        columns = (lane, self.near + 1, self.far + 1, self.slot + 1)
        return packed(columns, [int(column.max(initial=0)) + 1 for column in columns])


class LanedFlows(NamedTuple):
    """LanedFlows with codes of `TrafficNames`, in order of their lanes; columns [flows]."""

    lane: Codes
    near: Codes
    far: Codes
    bytes: Exact

    def chunks(self, lanes: Lanes) -> Iterator[tuple[int, LanedFlows]]:
        """The flows of each chunk, with their kind."""
        first = run_starts(self.lane)
        kind, block = lanes.kind[self.lane[first]], first // CHUNK
        begins = run_starts(packed((block, kind), (len(self.lane) + 1, len(lanes.kind) + 1)))
        bounds = pairwise([*first[begins].tolist(), len(self.lane)])
        for (begin, end), known in zip(bounds, kind[begins].tolist(), strict=True):
            yield known, LanedFlows(*(column[begin:end] for column in self))
