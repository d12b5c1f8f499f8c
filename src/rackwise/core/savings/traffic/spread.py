"""Attributes the flows of a bill to partitions: bytes between two racks become traffic by slot.

```
produce     client's rack -> leader's rack      partitions with their leader there, evenly
replicate   leader's -> follower's              those of them with a follower there, evenly
fetch       broker's -> client's                partitions with their leader there; where clients
                                                read followers, partitions with any replica there
                                                if the client is there too
```

Bytes are divided by the number of partitions, flow by flow, and sums stay exact. Bytes that no
partition explains (the leader moved since, or a rack or a topic is not known) are unattributed: no
saving moves them.

The candidates of a topic, a kind and two racks are looked up once, however many days, groups and
qualities have flows between them.

What this does not do: know traffic by partition. A hot partition counts like every other partition
of its pattern.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.savings.model import PRODUCE, UNATTRIBUTED, UNKNOWN_NAME
from rackwise.core.savings.traffic.chunks import NO_RACK, Chunk, LanedFlows, Lanes, TrafficNames
from rackwise.core.savings.traffic.columns import Lists, apportion_rows, packed
from rackwise.core.savings.traffic.patterns import PatternFinder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import FlowColumns
    from rackwise.core.savings.traffic.chunks import Traffic
    from rackwise.core.savings.traffic.columns import Codes
    from rackwise.core.savings.traffic.patterns import Patterns


def names_of(flows: FlowColumns, layout: Layout) -> TrafficNames:
    """The names of the flows and of the layout.

    `UNKNOWN_NAME` is always a topic and a group.
    """
    racks = {rack for patterns in layout.racks.values() for each in patterns for rack in each}
    members = (member for group in layout.groups.values() for member in group.members.values())
    racks |= {*flows.racks, *(member.rack for member in members)}
    return TrafficNames(
        days=tuple(sorted(set(flows.days))),
        kinds=tuple(sorted(set(flows.kinds))),
        topics=tuple(sorted({*flows.topics, *layout.racks, UNKNOWN_NAME})),
        groups=tuple(sorted({*flows.client_groups, *layout.groups, UNKNOWN_NAME})),
        racks=tuple(sorted(rack for rack in racks if rack is not None)),
    )


def laned(flows: FlowColumns, names: TrafficNames) -> tuple[Lanes, LanedFlows]:
    """The lanes of flows, and the flows in order of the lanes, without those of 0 bytes."""
    some = np.flatnonzero(flows.bytes != 0)
    qualities = sorted(set(flows.qualities))
    columns = (
        _recoded(flows.kind[some], flows.kinds, names.kinds),
        _recoded(flows.topic[some], flows.topics, names.topics),
        _recoded(flows.client_group[some], flows.client_groups, names.groups),
        _recoded(flows.day[some], flows.days, names.days),
        _recoded(flows.quality[some], flows.qualities, qualities),
    )
    sizes = [len(each) for each in (names.kinds, names.topics, names.groups, names.days, qualities)]
    code = packed(columns, sizes)
    _, first, lane = np.unique(code, return_index=True, return_inverse=True)
    kind, topic, group, day = (column[first] for column in columns[:4])
    _, where, place = np.unique(
        packed((topic, group), (len(names.topics), len(names.groups))),
        return_index=True,
        return_inverse=True,
    )
    lanes = Lanes(
        kind=kind,
        topic=topic,
        group=group,
        day=day,
        place=place,
        places=(topic[where], group[where]),
    )
    order = np.argsort(lane, kind="stable")
    lane = lane[order].astype(np.int32)
    ends = [
        _recoded(column[some][order], flows.racks, names.racks)
        for column in (flows.from_rack, flows.to_rack)
    ]
    is_produced = kind[lane] == names.kind(PRODUCE)
    near, far = np.where(is_produced, ends[::-1], ends)
    return lanes, LanedFlows(lane, near, far, flows.bytes[some][order])


def _recoded(codes: Codes, old: Iterable[object], new: Iterable[object]) -> Codes:
    """Codes of the old names as codes of the new ones; `NO_RACK` for None."""
    code_of: dict[object, int] = {name: code for code, name in enumerate(new)}
    table = [code_of.get(name, NO_RACK) for name in old]
    return np.array(table, dtype=np.int32)[codes] if table else codes.astype(np.int32)


def spread(
    flows: LanedFlows, lanes: Lanes, layout: Layout, patterns: Patterns, names: TrafficNames
) -> Traffic:
    """The traffic of all flows."""
    routes = _Routes(layout, patterns, names)
    return [routes.chunk(kind, part, lanes.topic[part.lane]) for kind, part in flows.chunks(lanes)]


class _Routes:
    """Spreads flows; a route is a topic, a kind, and two racks."""

    def __init__(self, layout: Layout, patterns: Patterns, names: TrafficNames) -> None:
        self._patterns = patterns
        self._names = names
        self._candidates: Mapping[int, PatternFinder] = {
            topic: PatternFinder(rows, follows=layout.follows)
            for topic, rows in patterns.rows.items()
        }

    def chunk(self, kind: int, flows: LanedFlows, topic: Codes) -> Chunk:
        """The flows of one kind, spread over slots."""
        racks = len(self._names.racks) + 1
        code = packed(
            (topic, flows.near + 1, flows.far + 1), (len(self._names.topics), racks, racks)
        )
        _, first, route = np.unique(code, return_index=True, return_inverse=True)
        slots: list[int] = []
        counts: list[int] = []
        lengths = []
        rows = zip(
            *(column[first].tolist() for column in (topic, flows.near, flows.far)), strict=True
        )
        for one, near, far in rows:
            found = self._slots(self._names.kinds[kind], one, near, far)
            lengths.append(len(found))
            slots += [slot for slot, _ in found]
            counts += [count for _, count in found]
        lists = Lists.of(lengths).of_rows(route)
        row, entry = lists.expanded()
        share = apportion_rows(flows.bytes, lists.length, np.array(counts, dtype=np.int64)[entry])
        some = np.flatnonzero(share != 0)
        row = row[some]
        slot = np.array(slots, dtype=np.int32)[entry[some]]
        columns = (flows.lane[row], flows.near[row], flows.far[row], slot, share[some])
        return Chunk(kind, *columns).added_up()

    def _slots(self, kind: str, topic: int, near: int, far: int) -> list[tuple[int, int]]:
        """Slots and their partitions; unattributed if no partition explains the bytes."""
        patterns = self._patterns
        if topic not in patterns.first:
            return [(UNATTRIBUTED, 1)]
        first = patterns.first[topic]
        found = [
            (patterns.slot(first + number, follower), int(patterns.count[first + number]))
            for number, follower in self._candidates[topic].of(kind, near, far)
        ]
        return found or [(UNATTRIBUTED, 1)]
