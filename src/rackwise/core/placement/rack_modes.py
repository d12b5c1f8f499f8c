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

A broker has a rack if its rack is not None. As in Kafka, any text is a rack, also the empty one. A
placer that reads levels of racks needs racks that are sound and of one form: for it, a broker whose
rack is odd (`core.odd_racks`) has no rack.

```
1 /eu/a    2 /eu/b    3 use1-az1         kip36: all have a rack    levels: brokers 1 and 2 have one
```

KIP-36 allows automatic topic creation while only some brokers have racks. Kafka allows it up to
2.7. Kafka 2.8 to 3.9 reject it in ZooKeeper mode. The mode `safe` follows the KIP.

This module does not exclude brokers.

Source: KIP-36 (proposed changes), KIP-879 (rack paths), Kafka's `RackAwareMode`.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidAssignment, PartialRacks
from rackwise.core.odd_racks import settle_racks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.model import Broker
    from rackwise.core.odd_racks import OddRack

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


ODD_CURE = "give all brokers racks of one form, or map them with --policy FILE ([racks.map])"
"""The cure of racks that do not count, for the command line."""


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
    has_levels: bool = False,
) -> tuple[Broker, ...]:
    """The brokers in id order with their racks after the rack mode.

    `has_levels`: whether the placer reads levels of racks; odd racks then count as none. Raises
    `PartialRacks` (enforced; `upstream` is the text in the error) and `InvalidAssignment` for an
    invalid or repeated id.
    """
    settled, odd = _settled(by_id(brokers), has_levels=has_levels)
    without = _without_rack(settled, odd)
    if mode is RackMode.ENFORCED and without:
        cure = ODD_CURE if odd else "set broker.rack on them"
        raise PartialRacks(
            f"all brokers must have a rack{' that counts' if odd else ''}; "
            f"{len(without)} of {len(settled)} have none: {', '.join(without)}",
            wanted=len(settled),
            had=len(settled) - len(without),
            hint=f"{cure}, or place without racks: --disable-rack-aware",
            upstream=upstream,
        )
    if mode is RackMode.DISABLED or (mode is RackMode.SAFE and without):
        return tuple(replace(broker, rack=None) for broker in settled)
    return settled


def brokers_without_rack(brokers: Sequence[Broker], *, has_levels: bool) -> tuple[str, ...]:
    """The ids of brokers without a rack if racks are partial, each with its rack if that is odd.

    Empty if no broker has a rack. `has_levels` and the errors are those of `apply_mode`.
    """
    return _without_rack(*_settled(by_id(brokers), has_levels=has_levels))


def _settled(
    brokers: tuple[Broker, ...], *, has_levels: bool
) -> tuple[tuple[Broker, ...], Mapping[int, OddRack]]:
    """The brokers with the racks that count, and the odd racks by broker."""
    if not has_levels:
        return brokers, {}
    found = settle_racks((broker.id, broker.rack) for broker in brokers)
    settled = tuple(replace(broker, rack=found.racks[broker.id]) for broker in brokers)
    return settled, {each.broker: each for each in found.odd}


def _without_rack(brokers: tuple[Broker, ...], odd: Mapping[int, OddRack]) -> tuple[str, ...]:
    without = [broker.id for broker in brokers if broker.rack is None]
    if not odd and len(without) == len(brokers):
        return ()
    return tuple(odd[id_].text if id_ in odd else f"{id_}" for id_ in without)


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
