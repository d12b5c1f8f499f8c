"""The flows that cross racks, the changes that save, and the row that one change saves.

```
saving          what changes                        who changes it           unit
follower-fetch  the replica that is read            brokers and clients      client group
assignment      the member that reads               the group                client group
producing       the leader that is written to       producers                topic
leader-moves    the leader itself                   the cluster              cluster
```

What this does not do: compute a saving.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    import numpy as np
    from numpy.typing import NDArray

FOLLOWER_FETCH: Final = "follower-fetch"
ASSIGNMENT: Final = "assignment"
PRODUCING: Final = "producing"
LEADER_MOVES: Final = "leader-moves"
SAVINGS: Final = (FOLLOWER_FETCH, ASSIGNMENT, PRODUCING, LEADER_MOVES)
"""The names of the savings, in the order of the waterfall."""

ALL: Final = "all"
"""The name of all savings together, in the view `TOTAL`."""

ALONE: Final = "alone"
WATERFALL: Final = "waterfall"
STOCK: Final = "stock"
TOTAL: Final = "total"
"""The views: against today; on top of the savings before; `assignment` by the stock assignor; all
savings of the waterfall together."""

EPS: Final = (0.0, 0.05, 0.1, 0.2, math.inf)
"""The bounds of `producing`: a rack receives at most 1 + eps times its even share."""
USUAL_EPS: Final = 0.1
"""The bound of `producing` in the waterfall, if it is one of the bounds."""

UNKNOWN_NAME: Final = "(unknown)"
"""The topic or the client group of a flow, where it is not known."""

PRODUCE: Final = "produce"
FETCH: Final = "fetch"
REPLICATE: Final = "replicate"

UNATTRIBUTED: Final = -1
"""The pattern, or the slot, of bytes whose partitions are not known; no saving moves them."""

CONDITIONS: Final[Mapping[str, str]] = {
    FOLLOWER_FETCH: "every broker has replica.selector.class=org.apache.kafka.common.replica."
    "RackAwareReplicaSelector; every client sets client.rack",
    ASSIGNMENT: "classic protocol only: group.protocol=consumer has no rack assignor; "
    "rack-optimal as partition.assignment.strategy",
    PRODUCING: "Java clients 4.4.0 or later with partitioner.rack.aware=true, or Rackwise's "
    "plug-ins; up to this much: records with a key do not move",
    LEADER_MOVES: "preferred leaders change; no replica moves",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowColumns:
    """Rows of the bill of one cluster, as columns: bytes of one day between two racks.

    Each column of codes is an index into the texts, or days, of the same name.
    """

    days: tuple[date, ...]
    kinds: tuple[str, ...]
    topics: tuple[str, ...]
    client_groups: tuple[str, ...]
    qualities: tuple[str, ...]
    racks: tuple[str | None, ...]
    """None: the rack is not known."""
    day: NDArray[np.int32]
    """[rows], like all columns below."""
    kind: NDArray[np.int32]
    topic: NDArray[np.int32]
    client_group: NDArray[np.int32]
    quality: NDArray[np.int32]
    from_rack: NDArray[np.int32]
    to_rack: NDArray[np.int32]
    bytes: NDArray[Any]
    """int64, or Python's integers; not negative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What one change saves of the crossing bytes of one topic and client group.

    Values below 0 are costs: some partitions cost more so that others save more. A saving that is
    known has `low == high`. See `potential` for what is known.
    """

    topic: str | None
    """None where the row is about all topics."""
    client_group: str | None
    """None where the row is about all client groups."""
    saving: str
    """One of `SAVINGS`; `ALL` in the view `TOTAL`."""
    view: str
    """`ALONE`, `WATERFALL`, `STOCK` or `TOTAL`."""
    eps: float | None
    """The bound of `producing`; None for other savings."""
    bytes_low: int | None
    """Bytes that no longer cross, at least; None where nothing is known."""
    bytes_high: int
    """Bytes that no longer cross, at most."""
    nano_low: int | None
    """Nano-dollars saved, at least; None where nothing is known."""
    nano_high: int | None
    """Nano-dollars saved, at most; None where a level that the bytes may cross has no price."""
    load_factor: float | None
    """`producing`: the load of the fullest rack divided by its even share."""
    condition: str
    """What the saving requires, or why it is not applied."""
    reasons: tuple[str, ...] = ()
    """Why the saving is not known, each with its cure; empty where it is known."""
