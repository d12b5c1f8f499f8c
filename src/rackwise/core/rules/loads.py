"""Loads of brokers: against the fair range that a planner computed, and what racks force.

Fairness is over brokers, not racks, so a bigger rack may hold more. Where the rules give a small
rack a share that its brokers can only carry by holding more than the others, no plan can even it
out; one finding for the cluster says which rack that is:

```
3 replicas, even, 100 partitions      /a 2 brokers    /b 2 brokers    /c 1 broker      mean 60
least share of each rack              100             100             100
on each broker at least               50              50              100 <- forced
```

What this does not do: compute the fair range (a minimum cost flow; the caller gives it), or look at
weights of brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.boxes import boxes
from rackwise.core.findings import Batch
from rackwise.core.rules.spread import range_text
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.core.model import FairLoads
    from rackwise.core.view import View


def replica_balance(view: View, fair: FairLoads) -> Iterator[Batch]:
    """Brokers with more or fewer replicas than fair."""
    held = np.bincount(view.placed_places, minlength=len(view.live))
    yield from _outside(view, "replica-balance", held, fair.low, fair.high, "replica")


def leader_balance(view: View, fair: FairLoads) -> Iterator[Batch]:
    """Brokers that are preferred leader more or less often than fair."""
    preferred = view.preferred[view.preferred >= 0]
    led = np.bincount(view.tree.places(preferred), minlength=len(view.live))
    yield from _outside(
        view, "leader-balance", led, fair.leader_low, fair.leader_high, "preferred leadership"
    )


def _outside(
    view: View,
    rule: str,
    held: NDArray[np.int64],
    low: Mapping[int, int],
    high: Mapping[int, int],
    noun: str,
) -> Iterator[Batch]:
    """Brokers whose number, by place, is outside the range."""
    loads = dict(zip(view.tree.brokers.tolist(), held.tolist(), strict=False))
    bad = [
        (broker, low.get(broker, 0), high.get(broker), loads.get(broker, 0))
        for broker in sorted(low.keys() | high.keys())
    ]
    bad = [row for row in bad if not row[1] <= row[3] <= (row[3] if row[2] is None else row[2])]
    yield Batch(
        rule=rule,
        texts=[(_range(least, most, noun), str(load)) for _, least, most, load in bad],
        text=np.arange(len(bad)),
        broker=np.array([broker for broker, *_ in bad], dtype=np.int64),
    )


def _range(low: int, high: int | None, noun: str) -> str:
    return counted(low, noun) if low == high else f"{range_text(low, high)} {noun}s"


def topic_spread(view: View, fair: FairLoads) -> Iterator[Batch]:
    """Brokers with more replicas of a topic than its cap."""
    for topic, name in enumerate(view.table.topics):
        caps = fair.topic_caps.get(name)
        if caps is None:
            continue
        first, last = np.searchsorted(view.table.topic, [topic, topic + 1])
        start, stop = view.placed.offsets[[first, last]]
        brokers, counts = np.unique(view.placed.values[start:stop], return_counts=True)
        bad = [
            (broker, caps[broker], count)
            for broker, count in zip(brokers.tolist(), counts.tolist(), strict=True)
            if count > caps.get(broker, count)
        ]
        yield Batch(
            rule="topic-spread",
            texts=[(f"at most {counted(cap, 'replica')}", str(count)) for _, cap, count in bad],
            text=np.arange(len(bad)),
            topic=np.full(len(bad), topic, dtype=np.int64),
            broker=np.array([broker for broker, *_ in bad], dtype=np.int64),
        )


def unequal_racks(view: View) -> Iterator[Batch]:
    """The rack whose rules force the most on each of its brokers, if that is above the mean."""
    usable = [view.usable_below(level) for level in range(view.tree.depth)]
    forced = [np.zeros(len(nodes), dtype=np.int64) for nodes in usable]
    for block in view.rack_patterns:
        found = boxes(view.tree, usable, block.rules, block.nodes.shape[1])
        for level, box in enumerate(found or ()):
            forced[level] += box.low * len(block.rows)
    brokers = int(view.usable.sum())
    mean = -(-len(view.placed.values) // brokers) if brokers else 0
    worst: tuple[int, int, int] | None = None
    for level, least in enumerate(forced):
        each = -(-least // np.maximum(usable[level], 1))
        for node in np.flatnonzero(each > mean).tolist():
            if worst is None or each[node] > worst[0]:
                worst = (int(each[node]), level, node)
    if worst is not None:
        load, level, node = worst
        had = (
            f"{load} or more on a broker of {view.tree.names[level][node]}, "
            f"which has {usable[level][node]} of {counted(brokers, 'broker')}"
        )
        yield Batch(
            rule="unequal-racks",
            texts=[(f"{counted(mean, 'replica')} on a broker, the mean", had)],
            text=np.zeros(1, dtype=np.int64),
            level=level,
        )
