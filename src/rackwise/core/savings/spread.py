"""From the flows of a bill to places: which partitions bytes between two racks belong to.

```
produce     client's rack -> leader's rack      partitions led there, evenly
replicate   leader's -> follower's              those led there with a follower there, evenly
fetch       broker's -> client's                those led there; where followers are read, those
                                                with a replica there, if the client is there too
```

Bytes are shared out by counts of partitions, the sums are kept exactly. What no partition explains
(a leader that has moved since, a rack that is not known, a topic that is not known) is loose: it
stays as it is whatever lever is pulled.

What this does not do: know traffic by partition; a hot partition counts as its equals do.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.savings.model import FETCH, LOOSE, PRODUCE, REPLICATE, Flow, Place
from rackwise.core.traffic import apportion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import State

Found: TypeAlias = "tuple[list[tuple[int, int]], list[int]]"
"""(`alike`, `follower`) of what bytes may belong to, and partitions of each."""


def spread(flows: Iterable[Flow], layout: Layout) -> State:
    """The places of all bytes of the flows."""
    state = Counter[Place]()
    known: dict[tuple[str, str, str | None, str | None], Found] = {}
    for flow in flows:
        near, far = flow.from_rack, flow.to_rack
        if flow.kind == PRODUCE:
            near, far = far, near
        question = (flow.topic, flow.kind, near, far)
        if question not in known:
            known[question] = _found(layout, *question)
        where, counts = known[question]
        shares = apportion(flow.bytes, counts)
        for (alike, follower), share in zip(where, shares, strict=True):
            if share:
                state[_place(flow, near, far, alike, follower)] += share
    return state


def _place(flow: Flow, near: str | None, far: str | None, alike: int, follower: int) -> Place:
    return Place(
        flow.day,
        flow.kind,
        flow.topic,
        flow.client_group,
        flow.quality,
        near,
        far,
        alike,
        follower,
    )


def _found(layout: Layout, topic: str, kind: str, near: str | None, far: str | None) -> Found:
    kinds = layout.racks.get(topic, ())
    where: list[tuple[int, int]] = []
    if near is not None and far is not None:
        where = list(_candidates(kinds, kind, near, far, follows=layout.follows))
    if not where:
        return [(LOOSE, 0)], [1]
    return where, [layout.counts[topic][alike] for alike, _ in where]


def _candidates(
    kinds: Sequence[tuple[str | None, ...]], kind: str, near: str, far: str, *, follows: bool
) -> Iterator[tuple[int, int]]:
    led = [number for number, racks in enumerate(kinds) if racks[0] == near]
    if kind == PRODUCE:
        yield from ((number, 0) for number in led)
    elif kind == REPLICATE:
        for number in led:
            followers = enumerate(kinds[number][1:], start=1)
            yield from ((number, place) for place, rack in followers if rack == far)
    elif kind == FETCH:
        held = [number for number, racks in enumerate(kinds) if near in racks]
        if follows:
            led = [number for number in led if far not in kinds[number]]
        yield from ((number, 0) for number in led or held)
