"""Rules about the load of brokers, compared with the fair range that a planner computed.

```
fair range of replicas       1: 4..5    2: 4..5    3: 4..5
held                         1: 5       2: 7       3: 3
replica-balance                         2: wanted 4..5 replicas; had 7     3: ...; had 3
```

What this does not do: compute the fair range (a minimum cost flow). The caller of the audit gives
it, so that the checker knows nothing of planning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.registry import rule
from rackwise.core.rules.spread import range_text
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rackwise.core.view import View


def _replicas_are_off(view: View) -> str | None:
    return "balance.replicas is off" if view.policy.balance.replicas == "off" else None


def _leaders_are_not_even(view: View) -> str | None:
    leaders = view.policy.balance.leaders
    return None if leaders == "even" else f"balance.leaders is {leaders}"


def _topic_spread_is_off(view: View) -> str | None:
    is_off = all(rules.topic_spread == "off" for rules in view.rules)
    return "topic_spread is off" if is_off else None


@rule(
    "replica-balance",
    Severity.WARNING,
    "a broker holds more or fewer replicas than its fair share",
    unless=_replicas_are_off,
    needs_fair_loads=True,
)
def replica_balance(view: View) -> Iterator[FindingBatch]:
    """Brokers with more or fewer replicas than their fair range."""
    fair, held = view.fair, np.bincount(view.placed_places, minlength=len(view.live))
    yield from _outside(view, "replica-balance", held, fair.low, fair.high, "replica")


@rule(
    "leader-balance",
    Severity.WARNING,
    "a broker is preferred leader more or less often than is fair",
    unless=_leaders_are_not_even,
    needs_fair_loads=True,
)
def leader_balance(view: View) -> Iterator[FindingBatch]:
    """Brokers that are preferred leader more or less often than their fair range."""
    fair, preferred = view.fair, view.preferred[view.preferred >= 0]
    counts = np.bincount(view.tree.places(preferred), minlength=len(view.live))
    yield from _outside(
        view,
        "leader-balance",
        counts,
        fair.leader_low,
        fair.leader_high,
        "preferred leadership",
    )


def _outside(
    view: View,
    name: str,
    held: NDArray[np.int64],
    low: Mapping[int, int],
    high: Mapping[int, int],
    noun: str,
) -> Iterator[FindingBatch]:
    """Brokers whose number is outside the range; `held`: int64 by place, `low`, `high`: by id."""
    # `held` has one more place, for brokers that are not listed; zip leaves it out.
    loads = dict(zip(view.tree.brokers.tolist(), held.tolist(), strict=False))
    bad = [
        (broker, low.get(broker, 0), high.get(broker), loads.get(broker, 0))
        for broker in sorted(low.keys() | high.keys())
    ]
    bad = [row for row in bad if not row[1] <= row[3] <= (row[3] if row[2] is None else row[2])]
    texts = [(_range_phrase(least, most, noun), str(load)) for _, least, most, load in bad]
    yield FindingBatch.of_brokers(name, [broker for broker, *_ in bad], texts)


def _range_phrase(low: int, high: int | None, noun: str) -> str:
    return counted(low, noun) if low == high else f"{range_text(low, high)} {noun}s"


@rule(
    "topic-spread",
    Severity.WARNING,
    "a broker holds more replicas of a topic than its fair share",
    unless=_topic_spread_is_off,
    needs_fair_loads=True,
)
def topic_spread(view: View) -> Iterator[FindingBatch]:
    """Brokers with more replicas of a topic than their cap."""
    for topic, name in enumerate(view.table.topics):
        caps = view.fair.topic_caps.get(name)
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
        yield FindingBatch(
            rule="topic-spread",
            texts=[(f"at most {counted(cap, 'replica')}", str(count)) for _, cap, count in bad],
            text=np.arange(len(bad)),
            topic=np.full(len(bad), topic, dtype=np.int64),
            broker=np.array([broker for broker, *_ in bad], dtype=np.int64),
        )
