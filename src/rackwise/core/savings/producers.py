"""The saving of producers: records without a key go to leaders in the producer's rack.

For each topic, `split_by_balance` splits the bytes that the clients of a rack may send anywhere.
It splits them over the racks of the topic's leaders, within a bound on what a rack receives. Inside
a rack all leaders get an even share.

```
orders  clients in a send 9 GiB; leaders a 1, b 1, c 1      local    fullest rack
today   3 each                                              0.333    1
eps 0.1 3.3 may stay                                        0.367    1.1
no eps  all of it (KIP-1123)                                1        3
```

Records with a key stay where they are, and so do the bytes of clients in a rack without a leader.
Both count towards the load of the racks that receive them. A topic whose racks have different
depths is left unchanged.

What this does not do: see keys. The share of records without a key is an input.

Source: KIP-1123.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.errors import SplitError
from rackwise.core.partitioner import RackRates, split_by_balance
from rackwise.core.savings.model import PRODUCE, UNATTRIBUTED, TrafficKey
from rackwise.core.traffic import apportion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.partitioner import Split
    from rackwise.core.savings.layout import Layout
    from rackwise.core.savings.model import RackTraffic

FINE = 2**53
"""The parts of a share, for whole numbers: the precision of a float."""


class PartitionedTraffic(NamedTuple):
    """The traffic after partitioning by rack."""

    traffic: RackTraffic
    load_factors: Mapping[str, float]
    """topic -> the load of the fullest rack divided by its even share."""


def apply_partitioning(
    traffic: RackTraffic, layout: Layout, eps: float, unkeyed: Mapping[str, float]
) -> PartitionedTraffic:
    """The traffic where records without a key stay in the racks of their producers.

    `eps`: the bound on a rack's load. `unkeyed`: topic -> share of records without a key, else 1.
    """
    after = Counter[TrafficKey]()
    by_topic: defaultdict[str, list[tuple[TrafficKey, int]]] = defaultdict(list)
    for key, bytes_ in traffic.items():
        if key.kind == PRODUCE and key.pattern != UNATTRIBUTED:
            by_topic[key.topic].append((key, bytes_))
        else:
            after[key] += bytes_
    factors: dict[str, float] = {}
    for topic, rows in by_topic.items():
        leaders = _TopicLeaders(layout, topic)
        free, pinned = leaders.separate(rows, Fraction(str(unkeyed.get(topic, 1.0))))
        split = leaders.split(free, pinned, eps)
        after.update(dict(rows) if split is None else pinned)
        if split is not None:
            factors[topic] = split.load_factor
            for key, bytes_ in _by_client_rack(free).items():
                after.update(leaders.distribute(key, bytes_, split))
    return PartitionedTraffic(after, factors)


def _by_client_rack(free: Mapping[TrafficKey, int]) -> Mapping[TrafficKey, int]:
    """The bytes that the clients of each rack send, whatever leader received them."""
    whole = Counter[TrafficKey]()
    for key, bytes_ in free.items():
        whole[key._replace(near=None, pattern=UNATTRIBUTED)] += bytes_
    return whole


class _TopicLeaders:
    """The leaders of one topic."""

    def __init__(self, layout: Layout, topic: str) -> None:
        # rack -> (pattern, number of partitions) of the leaders there
        self.patterns: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        patterns = zip(layout.racks[topic], layout.counts[topic], strict=True)
        for number, (racks, count) in enumerate(patterns):
            if racks[0] is not None:
                self.patterns[racks[0]].append((number, count))

    def separate(
        self, rows: Iterable[tuple[TrafficKey, int]], unkeyed: Fraction
    ) -> tuple[dict[TrafficKey, int], dict[TrafficKey, int]]:
        """The bytes that may go to any leader, and the bytes that stay."""
        free: dict[TrafficKey, int] = {}
        stays: dict[TrafficKey, int] = {}
        for key, bytes_ in rows:
            may_go = int(bytes_ * unkeyed) if key.far in self.patterns else 0
            free[key], stays[key] = may_go, bytes_ - may_go
        return (
            {key: bytes_ for key, bytes_ in free.items() if bytes_},
            {key: bytes_ for key, bytes_ in stays.items() if bytes_},
        )

    def split(
        self, free: Mapping[TrafficKey, int], pinned: Mapping[TrafficKey, int], eps: float
    ) -> Split | None:
        """The split for the whole observed period; None where racks cannot be compared."""
        rates = RackRates(_sums(free, "far"), _sums(pinned, "near"))
        weights = {
            rack: sum(count for _, count in patterns) for rack, patterns in self.patterns.items()
        }
        try:
            return split_by_balance(rates, weights, eps)
        except SplitError:
            return None

    def distribute(self, key: TrafficKey, bytes_: int, split: Split) -> Mapping[TrafficKey, int]:
        """The bytes of one rack's clients, distributed by the split."""
        row = split.shares[key.far or ""]
        racks = sorted(row)
        sent: dict[TrafficKey, int] = {}
        shares = apportion(bytes_, [round(row[rack] * FINE) for rack in racks])
        for rack, share in zip(racks, shares, strict=True):
            if share:
                patterns = self.patterns[rack]
                parts = apportion(share, [count for _, count in patterns])
                for (pattern, _), part in zip(patterns, parts, strict=True):
                    sent[key._replace(near=rack, pattern=pattern)] = part
        return sent


def _sums(keys: Mapping[TrafficKey, int], end: str) -> dict[str, float]:
    """Rack -> bytes, by the field `near` or `far` of the key."""
    sums = Counter[str]()
    for key, bytes_ in keys.items():
        sums[getattr(key, end)] += bytes_
    return {rack: float(bytes_) for rack, bytes_ in sums.items()}
