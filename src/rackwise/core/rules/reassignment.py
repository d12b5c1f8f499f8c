"""Rules about running reassignments, and throttles that remain after one.

A throttle is left over if a replication rate or a list of throttled replicas is set while nothing
is reassigning. Kafka's tool `kafka-reassign-partitions` sets throttles and clears them only with
`--verify`. A key that is set to the empty text counts as not set.

What this does not do: say who set a throttle. Source: KIP-73, KIP-455.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.registry import rule
from rackwise.core.text import escaped
from rackwise.core.view import distinct, id_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.view import View

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Broker configurations that limit replication (KIP-73)."""
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Topic configurations that list the limited replicas (KIP-73)."""


def _has_no_configs(view: View) -> str | None:
    is_unread = any(note.kind == "no-configs" for note in view.cluster.notes)
    return "configurations were not read" if is_unread else None


@rule(
    "throttle-left",
    Severity.WARNING,
    "a replication throttle is set and nothing is reassigning",
    unless=_has_no_configs,
)
def throttle_left(view: View) -> Iterator[FindingBatch]:
    """Brokers and topics with a throttle while nothing is reassigning."""
    if len(view.table.adding.values) or len(view.table.removing.values):
        return
    configs = view.cluster.configs
    brokers = {id_: _set_keys(configs.brokers[id_], RATES) for id_ in sorted(configs.brokers)}
    bad = [id_ for id_, keys in brokers.items() if keys]
    texts = [("no throttle", brokers[id_]) for id_ in bad]
    yield FindingBatch.of_brokers("throttle-left", bad, texts)
    topics = [_set_keys(configs.topics.get(name, {}), LISTS) for name in view.table.topics]
    throttled = [topic for topic, keys in enumerate(topics) if keys]
    yield FindingBatch(
        rule="throttle-left",
        texts=[("no throttle", topics[topic]) for topic in throttled],
        text=np.arange(len(throttled)),
        topic=np.array(throttled, dtype=np.int64),
    )


def _set_keys(values: Mapping[str, str], keys: Sequence[str]) -> str:
    """The keys that are set, with their values."""
    return ", ".join(f"{key}={escaped(values[key])}" for key in keys if values.get(key))


@rule("reassigning", Severity.INFO, "replicas are being added or removed")
def reassigning(view: View) -> Iterator[FindingBatch]:
    """Partitions with replicas that a reassignment is adding or removing."""
    adding, removing = view.table.adding, view.table.removing
    rows = np.flatnonzero(adding.lengths + removing.lengths)
    if not len(rows):
        return
    added, add_texts = id_texts(adding.take(rows))
    removed, remove_texts = id_texts(removing.take(rows))
    text, examples = distinct([added, removed])
    texts = [
        ("nothing in motion", f"adding {add_texts[a]}, removing {remove_texts[r]}")
        for a, r in zip(added[examples].tolist(), removed[examples].tolist(), strict=True)
    ]
    yield FindingBatch(rule="reassigning", texts=texts, text=text, row=rows)
