"""Flows that cross racks, the levers that change them, and what each saves.

```
lever           what moves                          who can pull it          unit
follower-fetch  the replica that is read            brokers and clients      client group
assignment      the member that reads               the group                client group
producing       the leader that is written to       producers                topic
leader-moves    the leader itself                   the cluster              cluster
```

What this does not do: compute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

FOLLOWER_FETCH: Final = "follower-fetch"
ASSIGNMENT: Final = "assignment"
PRODUCING: Final = "producing"
LEADER_MOVES: Final = "leader-moves"
LEVERS: Final = (FOLLOWER_FETCH, ASSIGNMENT, PRODUCING, LEADER_MOVES)
"""In the order of the waterfall."""

ALONE: Final = "alone"
WATERFALL: Final = "waterfall"
STOCK: Final = "stock"
"""Against today; on top of the levers before; the step of `assignment` by the stock assignor."""

EPS: Final = (0.0, 0.05, 0.1, 0.2, math.inf)
"""Bounds of `producing`: a rack takes at most 1 + eps times its even part."""

PRODUCE: Final = "produce"
FETCH: Final = "fetch"
REPLICATE: Final = "replicate"

LOOSE: Final = -1
"""`alike` of bytes that no lever moves: nothing tells which partitions they belong to."""

CONDITIONS: Final[Mapping[str, str]] = {
    FOLLOWER_FETCH: "every broker has replica.selector.class=org.apache.kafka.common.replica."
    "RackAwareReplicaSelector; every client sets client.rack",
    ASSIGNMENT: "classic protocol only: group.protocol=consumer has no rack assignor; "
    "rack-optimal as partition.assignment.strategy",
    PRODUCING: "Java clients 4.4.0 or later with partitioner.rack.aware=true, or Rackwise's "
    "plug-ins; up to this much: records with a key do not move",
    LEADER_MOVES: "preferred leaders change; no replica moves",
}


class Flow(NamedTuple):
    """Bytes of one day between two racks, as the bill has them; a rack is None if not known."""

    day: date
    kind: str
    topic: str
    client_group: str
    quality: str
    from_rack: str | None
    to_rack: str | None
    bytes: int


class Place(NamedTuple):
    """Where bytes lie: `near` is the broker's rack, `far` the client's or the follower's.

    `alike`: which partitions of the topic, by `Layout.racks`; `follower`: which of their replicas
    receives, 0 for what is no replication.
    """

    day: date
    kind: str
    topic: str
    client_group: str
    quality: str
    near: str | None
    far: str | None
    alike: int
    follower: int

    @property
    def ends(self) -> tuple[str | None, str | None]:
        """Sender's and receiver's rack."""
        return (self.far, self.near) if self.kind == PRODUCE else (self.near, self.far)


State: TypeAlias = "Mapping[Place, int]"
"""Place -> bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What a lever saves of one topic's and client group's crossings.

    Topic and group are None where a row speaks of the whole cluster. `usd_nano`: None where nothing
    has a price. `eps` and `load_factor` are those of `producing`: the bound, and the fullest rack
    over its even part. Values below 0 cost: some partitions pay so that others save more.
    """

    topic: str | None
    client_group: str | None
    lever: str
    view: str
    eps: float | None
    bytes_saved: int
    usd_nano: int | None
    load_factor: float | None
    condition: str
