"""What holds for the cluster or one of its brokers, not for a partition.

A throttle is left over when a replication rate or a list of throttled replicas is set and nothing
is reassigning: Kafka's own tool sets them and only `--verify` takes them away. A key that is set
to the empty text is not set.

What this does not do: tell whose throttle it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.findings import Batch
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.view import View

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Broker configurations that limit replication, KIP-73."""

LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Topic configurations that say which replicas are limited, KIP-73."""


def rack_missing(view: View) -> Iterator[Batch]:
    """Live brokers without a rack."""
    racks = {broker.id: broker.rack for broker in view.cluster.brokers if broker.is_live}
    bad = [broker for broker in view.tree.rackless if broker in racks]
    texts = [("a rack", "none" if (rack := racks[id_]) is None else rack.text) for id_ in bad]
    yield _of_brokers("rack-missing", bad, texts)


def rack_depth(view: View) -> Iterator[Batch]:
    """Brokers whose rack path is shorter than the deepest one."""
    racks = {broker.id: broker.rack for broker in view.cluster.brokers}
    texts = [
        (counted(view.tree.depth, "level"), f"{len(rack.levels)} in {rack.text}")
        for id_ in view.tree.padded
        if (rack := racks[id_]) is not None
    ]
    yield _of_brokers("rack-depth", view.tree.padded, texts)


def _of_brokers(rule: str, brokers: Sequence[int], texts: Sequence[tuple[str, str]]) -> Batch:
    return Batch(
        rule=rule,
        texts=texts,
        text=np.arange(len(brokers)),
        broker=np.array(brokers, dtype=np.int64),
    )


def throttle_left(view: View) -> Iterator[Batch]:
    """Throttles that are set while nothing is reassigning."""
    if len(view.table.adding.values) or len(view.table.removing.values):
        return
    configs = view.cluster.configs
    brokers = {id_: _set(configs.brokers[id_], RATES) for id_ in sorted(configs.brokers)}
    bad = [id_ for id_, keys in brokers.items() if keys]
    yield _of_brokers("throttle-left", bad, [("no throttle", brokers[id_]) for id_ in bad])
    topics = [_set(configs.topics.get(name, {}), LISTS) for name in view.table.topics]
    throttled = [topic for topic, keys in enumerate(topics) if keys]
    yield Batch(
        rule="throttle-left",
        texts=[("no throttle", topics[topic]) for topic in throttled],
        text=np.arange(len(throttled)),
        topic=np.array(throttled, dtype=np.int64),
    )


def _set(values: Mapping[str, str], keys: Sequence[str]) -> str:
    """The keys that are set, with their values."""
    return ", ".join(f"{key}={escaped(values[key])}" for key in keys if values.get(key))


def size_unknown(view: View) -> Iterator[Batch]:
    """How many partitions have no known size."""
    unknown = int((view.table.bytes < 0).sum())
    if unknown:
        yield _of_cluster(
            "size-unknown",
            f"the size of {counted(len(view.table), 'partition')}",
            f"{unknown} not known",
        )


def not_visible(view: View) -> Iterator[Batch]:
    """What the reader of the cluster could not see."""
    texts = sorted(note.text for note in view.cluster.notes if note.kind == "not-visible")
    if texts:
        yield _of_cluster("not-visible", "all of it visible", "; ".join(map(escaped, texts)))


def _of_cluster(rule: str, wanted: str, had: str) -> Batch:
    return Batch(rule=rule, texts=[(wanted, had)], text=np.zeros(1, dtype=np.int64))
