"""Rack modes: which racks are kept or dropped before a placer receives the brokers.

Goal: handle clusters in which only some brokers have a rack in one place. The caller selects the
mode, and the placer does not.

```
mode        all have a rack   none has   some have
enforced    kept              kept       PartialRacks      tools: a mistake must be seen
safe        kept              kept       all dropped       auto-creation: must work mid-upgrade
disabled    dropped           dropped    dropped           --disable-rack-aware
one-rack    kept              kept       kept              no rack is one more rack, as in KRaft
```

A broker has a rack if its rack is not None. As in Kafka, the empty text is a rack.

KIP-36 allows automatic topic creation while only some brokers have racks. Kafka allows it up to
2.7. Kafka 2.8 to 3.9 reject it in ZooKeeper mode. The mode `safe` follows the KIP.

This module does not parse racks and does not exclude brokers.

Source: KIP-36 (proposed changes), Kafka's `RackAwareMode`.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidAssignment, PartialRacks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.model import Broker

ID_END = 2**31
REFUSAL = "org.apache.kafka.server.common.AdminOperationException"
TOOL_REFUSAL = (
    REFUSAL,
    (
        "Not all brokers have rack information. Add --disable-rack-aware in command line to make "
        "replica assignment without rack information."
    ),
)
"""What Kafka's tools throw where racks are partial."""


class RackMode(StrEnum):
    """What to do with racks; `safe` is the mode of auto-creation, `one-rack` that of KRaft."""

    ENFORCED = "enforced"
    SAFE = "safe"
    DISABLED = "disabled"
    ONE_RACK = "one-rack"


def apply_mode(
    brokers: Sequence[Broker],
    mode: RackMode,
    *,
    upstream: tuple[str, str] = TOOL_REFUSAL,
) -> tuple[Broker, ...]:
    """The brokers in id order with their racks after the rack mode.

    Raises `PartialRacks` (enforced; `upstream` is the text in the error) and `InvalidAssignment`
    for an invalid or repeated id.
    """
    ordered = by_id(brokers)
    without = [broker.id for broker in ordered if broker.rack is None]
    is_partial = 0 < len(without) < len(ordered)
    if mode is RackMode.ENFORCED and is_partial:
        raise PartialRacks(
            f"all brokers must have a rack; {len(without)} of {len(ordered)} have none: "
            f"{', '.join(map(str, without))}",
            wanted=len(ordered),
            had=len(ordered) - len(without),
            hint="set broker.rack on them, or place without racks: --disable-rack-aware",
            upstream=upstream,
        )
    if mode is RackMode.DISABLED or (mode is RackMode.SAFE and is_partial):
        return tuple(replace(broker, rack=None) for broker in ordered)
    return ordered


def by_id(brokers: Sequence[Broker]) -> tuple[Broker, ...]:
    """The brokers in id order. Raises `InvalidAssignment` for an invalid or repeated id."""
    for broker in brokers:
        if not 0 <= broker.id < ID_END:
            raise InvalidAssignment(
                f"invalid broker id: expected 0 to {ID_END - 1}, got {broker.id}",
                wanted=f"0 to {ID_END - 1}",
                had=broker.id,
            )
    ordered = sorted(brokers, key=lambda broker: broker.id)
    for before, after in pairwise(ordered):
        if before.id == after.id:
            raise InvalidAssignment(f"broker {after.id} appears twice", wanted=1, had=2)
    return tuple(ordered)
