"""Attributes the flows of a bill to partitions: bytes between two racks become traffic by pattern.

```
produce     client's rack -> leader's rack      partitions with their leader there, evenly
replicate   leader's -> follower's              those of them with a follower there, evenly
fetch       broker's -> client's                partitions with their leader there; where clients
                                                read followers, partitions with any replica there
                                                if the client is there too
```

Bytes are divided by the number of partitions, and sums stay exact. Bytes that no partition explains
(the leader moved since, or a rack or a topic is not known) are unattributed: no saving moves them.

What this does not do: know traffic by partition. A hot partition counts like every other partition
of its pattern.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.savings.model import FETCH, PRODUCE, REPLICATE, UNATTRIBUTED, Flow, TrafficKey
from rackwise.core.traffic import apportion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import RackTraffic

PatternCounts: TypeAlias = "tuple[list[tuple[int, int]], list[int]]"
"""Candidates (`pattern`, `follower`) for some bytes, and the partitions of each."""


def spread(flows: Iterable[Flow], layout: Layout) -> RackTraffic:
    """The traffic of all flows."""
    traffic = Counter[TrafficKey]()
    known: dict[tuple[str, str, str | None, str | None], PatternCounts] = {}
    for flow in flows:
        near, far = flow.from_rack, flow.to_rack
        if flow.kind == PRODUCE:
            near, far = far, near
        key = (flow.topic, flow.kind, near, far)
        if key not in known:
            known[key] = _pattern_counts(layout, *key)
        patterns, counts = known[key]
        shares = apportion(flow.bytes, counts)
        for (pattern, follower), share in zip(patterns, shares, strict=True):
            if share:
                traffic[_traffic_key(flow, near, far, pattern, follower)] += share
    return traffic


def _traffic_key(
    flow: Flow, near: str | None, far: str | None, pattern: int, follower: int
) -> TrafficKey:
    return TrafficKey(
        flow.day,
        flow.kind,
        flow.topic,
        flow.client_group,
        flow.quality,
        near,
        far,
        pattern,
        follower,
    )


def _pattern_counts(
    layout: Layout, topic: str, kind: str, near: str | None, far: str | None
) -> PatternCounts:
    """The candidates for bytes of this kind between these racks; unattributed if there are none."""
    racks_of = layout.racks.get(topic, ())
    patterns: list[tuple[int, int]] = []
    if near is not None and far is not None:
        patterns = list(candidates(racks_of, kind, near, far, follows=layout.follows))
    if not patterns:
        return [(UNATTRIBUTED, 0)], [1]
    return patterns, [layout.counts[topic][pattern] for pattern, _ in patterns]


def candidates(
    racks_of: Sequence[tuple[str | None, ...]],
    kind: str,
    near: str | None,
    far: str | None,
    *,
    follows: bool,
) -> Iterator[tuple[int, int]]:
    """The patterns, and the position of the follower, that such bytes can belong to.

    `racks_of`: for each pattern of the topic, the racks of its replicas, leader first. `near`: the
    broker's rack. `far`: the rack of the client or of the follower.
    """
    with_leader = [number for number, racks in enumerate(racks_of) if racks[0] == near]
    if kind == PRODUCE:
        yield from ((number, 0) for number in with_leader)
    elif kind == REPLICATE:
        for number in with_leader:
            followers = enumerate(racks_of[number][1:], start=1)
            yield from ((number, position) for position, rack in followers if rack == far)
    elif kind == FETCH:
        with_replica = [number for number, racks in enumerate(racks_of) if near in racks]
        if follows:
            with_leader = [number for number in with_leader if far not in racks_of[number]]
        yield from ((number, 0) for number in with_leader or with_replica)
