"""Rules about how many replicas a partition has, and on which brokers.

A replica is on a dead broker if the broker is fenced or not listed. Where the policy gives no
replication, the topic is compared with itself: the number that most of its partitions have is
right, and of two equally common numbers the greater one:

```
orders    0: [1 2 3]   1: [2 3 1]   2: [3 1]     orders-2: wanted 3 replicas; had 2
```

What this does not do: count the replicas that a running reassignment adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.registry import rule
from rackwise.core.text import counted
from rackwise.core.view import distinct, id_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rackwise.core.view import View


@rule(
    "replication",
    Severity.ERROR,
    "a partition has another number of replicas than the policy or its topic",
)
def replication(view: View) -> Iterator[FindingBatch]:
    """Partitions with another number of replicas than the policy wants, or their topic has."""
    sizes = view.placed.lengths
    by_policy = np.array([rules.replication or 0 for rules in view.rules], dtype=np.int64)
    by_topic = by_policy[view.topic_rules]
    if not by_topic.all():
        by_topic = np.where(by_topic > 0, by_topic, _most_common(view.table.topic, sizes))
    wanted = by_topic[view.table.topic]
    rows = np.flatnonzero(sizes != wanted)
    yield from number_findings("replication", rows, wanted[rows], sizes[rows], _replicas)


def _replicas(number: int) -> str:
    return counted(number, "replica")


def _most_common(topic: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The size that most partitions of each topic have, int64 [topics]; of equals the greater."""
    code, example = distinct([topic, sizes])
    frequency = np.bincount(code)
    # The last of a topic's sizes in this order is written last below, so it wins.
    order = np.lexsort((sizes[example], frequency, topic[example]))
    best = np.zeros(int(topic.max()) + 1, dtype=np.int64)
    best[topic[example][order]] = sizes[example][order]
    return best


def number_findings(
    name: str,
    rows: NDArray[np.int64],
    wanted: NDArray[np.int64],
    had: NDArray[np.int64],
    wanted_text: Callable[[int], str],
) -> Iterator[FindingBatch]:
    """A finding for each row, with texts from the numbers wanted and had."""
    if not len(rows):
        return
    text, examples = distinct([wanted, had])
    texts = [
        (wanted_text(want), str(have))
        for want, have in zip(wanted[examples].tolist(), had[examples].tolist(), strict=True)
    ]
    yield FindingBatch(rule=name, texts=texts, text=text, row=rows)


@rule("dead-replica", Severity.ERROR, "a replica is on a broker that is not live")
def dead_replica(view: View) -> Iterator[FindingBatch]:
    """Replicas on brokers that are not live."""
    hit = ~view.live[view.placed_places]
    yield from _on_brokers(view, "dead-replica", hit, "live brokers only")


@rule("drained-broker", Severity.ERROR, "a replica is on a broker that should hold nothing")
def drained_broker(view: View) -> Iterator[FindingBatch]:
    """Replicas on brokers that should hold nothing."""
    hit = np.isin(view.placed.values, view.policy.brokers.drain)
    yield from _on_brokers(view, "drained-broker", hit, "no drained broker")


def _on_brokers(
    view: View, name: str, hit: NDArray[np.bool_], wanted: str
) -> Iterator[FindingBatch]:
    """Partitions with a placed replica in `hit`; the text lists the brokers of these replicas."""
    if not hit.any():
        return
    found = view.placed.keep(hit)
    rows = np.flatnonzero(found.lengths)
    text, lists = id_texts(found.take(rows))
    yield FindingBatch(rule=name, texts=[(wanted, had) for had in lists], text=text, row=rows)


@rule("pin", Severity.ERROR, "a broker that should hold a partition does not")
def pin(view: View) -> Iterator[FindingBatch]:
    """Partitions without one of the brokers that should hold them."""
    for number, rules in enumerate(view.rules):
        for partition, brokers in rules.pin:
            pinned = (view.table.partition == partition) & (view.row_rules == number)
            rows = np.flatnonzero(pinned)
            lists = view.placed.take(rows)
            lacking = np.zeros(len(rows), dtype=np.bool_)
            for broker in brokers:
                lacking |= view.sums(lists, lists.values == broker) == 0
            text, had = id_texts(lists.take(np.flatnonzero(lacking)))
            wanted = f"a replica on {', '.join(map(str, brokers))}"
            yield FindingBatch(
                rule="pin", texts=[(wanted, on) for on in had], text=text, row=rows[lacking]
            )
