"""The replica that a consumer reads, by the rule of the partition's leader (KIP-392).

A consumer asks the leader. A leader with `RackAwareReplicaSelector` redirects it to a replica in
the consumer's rack:

```
replicas 1 (a, leader)  2 (b)  3 (c)  4 (b)       in sync: all
client rack   b        a        z        none     selector absent
reads from    2 or 4   1        1        1        1
```

Of several replicas the broker picks the one that has caught up most; here all are returned. Only
the leader redirects, so every broker needs the selector.

What this does not do: know levels of racks (the selector compares whole texts), or measure how far
a replica lags.

Source: KIP-392; `RackAwareReplicaSelector`, `ReplicaManager.findPreferredReadReplica`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

SELECTORS = ("rack-aware", "leader")


def read_replica(
    replicas: Sequence[int],
    leader: int | None,
    isr: Collection[int],
    broker_racks: Mapping[int, str | None],
    client_rack: str | None,
    *,
    selector: Literal["rack-aware", "leader"],
) -> tuple[int, ...]:
    """The brokers that the consumer may read from, in replica order; none without leader.

    `selector`: `rack-aware` where the leader has RackAwareReplicaSelector. Raises `InvalidConfig`
    for an unknown selector.
    """
    if selector not in SELECTORS:
        raise InvalidConfig(
            f'invalid selector: expected one of {", ".join(SELECTORS)}, got "{selector}"',
            wanted=", ".join(SELECTORS),
            had=selector,
            hint="use leader for brokers without replica.selector.class",
        )
    if leader is None:
        return ()
    if selector == "leader" or not client_rack or broker_racks.get(leader) == client_rack:
        return (leader,)
    near = tuple(
        broker for broker in replicas if broker in isr and broker_racks.get(broker) == client_rack
    )
    return near or (leader,)
