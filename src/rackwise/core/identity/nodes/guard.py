"""The data guard: an id does not return to an empty disk that would lead with an empty log.

Kafka elects a returning ISR member. If it returns empty under its old id while no other ISR member
is alive, it leads with an empty log, and the other replicas truncate their logs to it. Giving the
id back then loses the data.

With eligible leader replicas (KIP-966, KRaft) the ISR may be empty: the last member that dies
becomes an eligible leader, and the controller remembers the last known leader. It may elect
either of them when it returns.

```
orders-4   replicas 7 1   isr 7 1   1 is alive     safe: 1 leads, 7 refills itself
orders-4   replicas 7 1   isr 7     1 is alive     at risk: 1 would truncate to nothing
orders-4   replicas 7 1   isr -     1 is alive,    at risk: the controller may elect 7
                          eligible 7
orders-4   replicas 7 1   isr 7 1   1 is dead      at risk
orders-4   replicas 7     isr 7                    lost already: a warning
orders-4   any, its directory on a second disk     safe
```

A partition is at risk of n if n is in its ISR or eligible, no other ISR member is registered, it
has more than one replica, and no log dir has a directory of its name.

What this does not do: lock. An ISR member may die right after the read; that window remains.

Source: Kafka's leader election from the ISR, KIP-966. KIP-426 does not mention it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReplicas:
    """One partition: its replicas, and those of them that are in sync."""

    topic: str
    partition: int
    replicas: frozenset[int]
    isr: frozenset[int]
    eligible: frozenset[int] = frozenset()
    """Replicas outside the ISR that the controller may elect: the eligible leader replicas and
    the last known leader. Read where the ISR is empty; without KIP-966 it never is."""

    @property
    def name(self) -> str:
        """The name of its directory, such as `orders-4`."""
        return f"{self.topic}-{self.partition}"


def at_risk(
    partitions: Iterable[PartitionReplicas],
    broker_id: int,
    *,
    registered: AbstractSet[int],
    present: AbstractSet[str],
) -> tuple[str, ...]:
    """Return the partitions that would lose records if this id returned with its disks as they are.

    `present`: names of the partition directories on its disks. Sorted by topic, then number.
    """
    others = registered - {broker_id}
    return _names(
        each
        for each in partitions
        if broker_id in each.isr | each.eligible
        and each.isr.isdisjoint(others)
        and len(each.replicas) > 1
        and each.name not in present
    )


def lost(
    partitions: Iterable[PartitionReplicas], broker_id: int, *, present: AbstractSet[str]
) -> tuple[str, ...]:
    """Return the partitions whose only replica had this id, and whose directory is gone."""
    return _names(
        each for each in partitions if each.replicas == {broker_id} and each.name not in present
    )


def _names(partitions: Iterable[PartitionReplicas]) -> tuple[str, ...]:
    ordered = sorted(partitions, key=lambda each: (each.topic, each.partition))
    return tuple(each.name for each in ordered)
