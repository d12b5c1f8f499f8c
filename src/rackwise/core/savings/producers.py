"""The lever of producers: records without a key go to leaders in the producer's rack.

Per topic, what the clients of a rack may send anywhere is split over the racks of its leaders by
`split_by_balance`, for a bound on what a rack takes. Inside a rack leaders share evenly.

```
orders  clients in a send 9 GiB; leaders a 1, b 1, c 1      local    fullest rack
today   3 each                                              0.333    1
eps 0.1 3.3 may stay                                        0.367    1.1
no eps  all of it (KIP-1123)                                1        3
```

Records with a key stay where they are, and so does what clients of a rack without a leader send;
both fill the racks they go to. A topic whose racks are of different depths stays as it is.

What this does not do: see keys; the share of records without one is given.

Source: KIP-1123.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.errors import SplitError
from rackwise.core.partitioner import RackRates, split_by_balance
from rackwise.core.savings.model import LOOSE, PRODUCE, Place
from rackwise.core.traffic import apportion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.partitioner import Split
    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import State

FINE = 2**53
"""Shares are counted in parts of this: a float's own precision."""


class Produced(NamedTuple):
    """`state`: with the lever pulled; `load_factors`: topic -> fullest rack over its even part."""

    state: State
    load_factors: Mapping[str, float]


def produced_near(
    state: State, layout: Layout, eps: float, unkeyed: Mapping[str, float]
) -> Produced:
    """Records without a key near their producers. `unkeyed`: topic -> their share, else 1."""
    after = Counter[Place]()
    by_topic: defaultdict[str, list[tuple[Place, int]]] = defaultdict(list)
    for place, bytes_ in state.items():
        if place.kind == PRODUCE and place.alike != LOOSE:
            by_topic[place.topic].append((place, bytes_))
        else:
            after[place] += bytes_
    factors: dict[str, float] = {}
    for topic, rows in by_topic.items():
        ways = _Ways(layout, topic)
        free, pinned = ways.parted(rows, Fraction(str(unkeyed.get(topic, 1.0))))
        split = ways.split(free, pinned, eps)
        after.update(dict(rows) if split is None else pinned)
        if split is not None:
            factors[topic] = split.load_factor
            for place, bytes_ in _gathered(free).items():
                after.update(ways.sent(place, bytes_, split))
    return Produced(after, factors)


def _gathered(free: Mapping[Place, int]) -> Mapping[Place, int]:
    """What clients of a rack send, wherever it went."""
    whole = Counter[Place]()
    for place, bytes_ in free.items():
        whole[place._replace(near=None, alike=LOOSE)] += bytes_
    return whole


class _Ways:
    """Where the records of one topic may go: `led` is rack -> (`alike`, partitions)."""

    def __init__(self, layout: Layout, topic: str) -> None:
        self.led: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        kinds = zip(layout.racks[topic], layout.counts[topic], strict=True)
        for number, (racks, count) in enumerate(kinds):
            if racks[0] is not None:
                self.led[racks[0]].append((number, count))

    def parted(
        self, rows: Iterable[tuple[Place, int]], unkeyed: Fraction
    ) -> tuple[dict[Place, int], dict[Place, int]]:
        """Bytes that may go anywhere, and bytes that stay."""
        free: dict[Place, int] = {}
        stays: dict[Place, int] = {}
        for place, bytes_ in rows:
            may_go = int(bytes_ * unkeyed) if place.far in self.led else 0
            free[place], stays[place] = may_go, bytes_ - may_go
        return (
            {place: bytes_ for place, bytes_ in free.items() if bytes_},
            {place: bytes_ for place, bytes_ in stays.items() if bytes_},
        )

    def split(
        self, free: Mapping[Place, int], pinned: Mapping[Place, int], eps: float
    ) -> Split | None:
        """The split of the whole time that was seen; None where racks cannot be compared."""
        rates = RackRates(_sums(free, "far"), _sums(pinned, "near"))
        weights = {rack: sum(count for _, count in kinds) for rack, kinds in self.led.items()}
        try:
            return split_by_balance(rates, weights, eps)
        except SplitError:
            return None

    def sent(self, place: Place, bytes_: int, split: Split) -> Mapping[Place, int]:
        """The bytes of one rack's clients where the split has them."""
        row = split.shares[place.far or ""]
        racks = sorted(row)
        sent: dict[Place, int] = {}
        shares = apportion(bytes_, [round(row[rack] * FINE) for rack in racks])
        for rack, share in zip(racks, shares, strict=True):
            if share:
                kinds = self.led[rack]
                parts = apportion(share, [count for _, count in kinds])
                for (alike, _), part in zip(kinds, parts, strict=True):
                    sent[place._replace(near=rack, alike=alike)] = part
        return sent


def _sums(places: Mapping[Place, int], end: str) -> dict[str, float]:
    sums = Counter[str]()
    for place, bytes_ in places.items():
        sums[getattr(place, end)] += bytes_
    return {rack: float(bytes_) for rack, bytes_ in sums.items()}
