"""How many replicas a partition has, and on which brokers.

A replica is on a dead broker when the broker is fenced or not listed at all. Without a policy the
topic is its own measure: the number of replicas that most of its partitions have, the greater one
where two are as common:

```
orders    0: [1 2 3]   1: [2 3 1]   2: [3 1]     orders-2: wanted 3 replicas; had 2
```

What this does not do: count the replicas that a running reassignment adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.findings import Batch
from rackwise.core.text import counted
from rackwise.core.view import distinct, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rackwise.core.view import View


def replication(view: View) -> Iterator[Batch]:
    """Partitions with another number of replicas than the policy, or else their topic, wants."""
    sizes = view.placed.lengths
    said = np.array([rules.replication or 0 for rules in view.rules], dtype=np.int64)
    by_topic = said[view.topic_rules]
    if not by_topic.all():
        by_topic = np.where(by_topic > 0, by_topic, _most_common(view.table.topic, sizes))
    wanted = by_topic[view.table.topic]
    rows = np.flatnonzero(sizes != wanted)
    yield from numbers("replication", rows, wanted[rows], sizes[rows], _replicas)


def _replicas(number: int) -> str:
    return counted(number, "replica")


def _most_common(topic: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each topic the size that most of its partitions have, the greater one of two."""
    code, example = distinct([topic, sizes])
    often = np.bincount(code)
    order = np.lexsort((sizes[example], often, topic[example]))
    best = np.zeros(int(topic.max()) + 1, dtype=np.int64)
    best[topic[example][order]] = sizes[example][order]
    return best


def numbers(
    rule: str,
    rows: NDArray[np.int64],
    wanted: NDArray[np.int64],
    had: NDArray[np.int64],
    wanted_text: Callable[[int], str],
) -> Iterator[Batch]:
    """A finding for each row, its texts made from one number each."""
    if not len(rows):
        return
    text, examples = distinct([wanted, had])
    texts = [
        (wanted_text(want), str(have))
        for want, have in zip(wanted[examples].tolist(), had[examples].tolist(), strict=True)
    ]
    yield Batch(rule=rule, texts=texts, text=text, row=rows)


def dead_replica(view: View) -> Iterator[Batch]:
    """Replicas on brokers that are not live."""
    hit = ~view.live[view.placed_places]
    yield from _listed(view, "dead-replica", hit, "live brokers only")


def drained_broker(view: View) -> Iterator[Batch]:
    """Replicas on brokers that should hold nothing."""
    hit = np.isin(view.placed.values, view.policy.brokers.drain)
    yield from _listed(view, "drained-broker", hit, "no drained broker")


def _listed(view: View, rule: str, hit: NDArray[np.bool_], wanted: str) -> Iterator[Batch]:
    """Partitions with a placed replica that is hit; had lists the brokers."""
    if not hit.any():
        return
    found = view.placed.keep(hit)
    rows = np.flatnonzero(found.lengths)
    text, lists = joined(found.take(rows))
    yield Batch(rule=rule, texts=[(wanted, had) for had in lists], text=text, row=rows)


def pin(view: View) -> Iterator[Batch]:
    """Partitions without one of the brokers that should hold them."""
    for number, rules in enumerate(view.rules):
        for partition, brokers in rules.pin:
            pinned = (view.table.partition == partition) & (view.row_rules == number)
            rows = np.flatnonzero(pinned)
            lists = view.placed.take(rows)
            lacking = np.zeros(len(rows), dtype=np.bool_)
            for broker in brokers:
                lacking |= view.sums(lists, lists.values == broker) == 0
            text, had = joined(lists.take(np.flatnonzero(lacking)))
            wanted = f"a replica on {', '.join(map(str, brokers))}"
            yield Batch(
                rule="pin", texts=[(wanted, on) for on in had], text=text, row=rows[lacking]
            )


def reassigning(view: View) -> Iterator[Batch]:
    """Partitions to which replicas are being added, or from which they are being removed."""
    adding, removing = view.table.adding, view.table.removing
    rows = np.flatnonzero(adding.lengths + removing.lengths)
    if not len(rows):
        return
    added, add_texts = joined(adding.take(rows))
    removed, remove_texts = joined(removing.take(rows))
    text, examples = distinct([added, removed])
    texts = [
        ("nothing in motion", f"adding {add_texts[a]}, removing {remove_texts[r]}")
        for a, r in zip(added[examples].tolist(), removed[examples].tolist(), strict=True)
    ]
    yield Batch(rule="reassigning", texts=texts, text=text, row=rows)
